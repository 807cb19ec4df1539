"""Literals as numbers, so that clauses with a literal in common are found by sorting.

A literal that the rows of `clique_rows` and `pairwise_lifting` speak of is a key: 2 * column + 1 for "a = v", 2 * column
for "a != v", where column is that of x[a, v]. Over an attribute with two codes "a != v" is written as "a = the other
code", which is the same number by BR-2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpopt.models.best_responses.rewarded_clauses import RewardedClauses
from dpopt.models.best_responses.row_blocks import Indices, Numbers
from dpopt.programs.max_csp import MaxCsp


@dataclass(frozen=True, slots=True, eq=False)
class LiteralKeys:
    """Keys of the literals of some clauses, and of their complements.

    Parameters
    ----------
    keys : (m, k) int64
        Key of each literal as the weight rewards it; -1 beyond a clause's width.
    complements : (m, k) int64
        Key of the complement of each literal; -1 beyond a clause's width.
    attribute_of_column : (columns,) int64
        Attribute of each flat column.
    """

    keys: Indices
    complements: Indices
    attribute_of_column: Indices


def literal_keys(program: MaxCsp, rewarded: RewardedClauses, widest: int) -> LiteralKeys:
    """Return the keys of the literals that the weights of a program reward, the first `widest` of each clause."""
    attribute = np.repeat(np.arange(program.sizes.size, dtype=np.int64), program.sizes)
    offsets = program.offsets()
    columns, sides = rewarded.columns[:, :widest], rewarded.sides[:, :widest]
    used, equal = sides != 0, sides > 0
    of = attribute[columns] if attribute.size else columns
    two = used & (program.sizes[of] == 2 if attribute.size else used)
    other = 2 * offsets[of] + 1 - columns
    keys = np.where(two, 2 * np.where(equal, columns, other) + 1, 2 * columns + equal)
    complements = np.where(two, 2 * np.where(equal, other, columns) + 1, 2 * columns + ~equal)
    return LiteralKeys(np.where(used, keys, -1), np.where(used, complements, -1), attribute)


def as_terms(keys: Indices) -> tuple[Indices, Numbers, Numbers]:
    """Return column, side and constant of literals given as keys: constant + side * x[column], arrays of their shape."""
    equal = keys % 2 == 1
    return keys // 2, np.where(equal, 1.0, -1.0), (~equal).astype(np.float64)
