"""The ways to write a best response as a mixed-integer program.

Rows of a mixed-integer program, collected block by block as flat arrays.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.programs.mixed_integer import MixedIntegerProgram


class Formulation(enum.Enum):
    """How the rows of clauses and rules are written; each has the same optimum, the later the better relaxation."""

    AGGREGATED = "aggregated"
    """One row per clause, every variable whole; as in the paper."""
    PER_LITERAL = "per-literal"
    """One row per literal that binds a clause alone, variables continuous where the rows leave no choice."""
    CLIQUE = "clique"
    """PER_LITERAL, and what follows from "one code per attribute" for clauses that share a literal."""


Indices = NDArray[np.int64]
Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """Rows  lower <= sum of value * variable <= upper,  entry by entry.

    Parameters
    ----------
    row : (e,) int64
        Row of each entry, 0 .. r - 1; entries in any order. Entries of one variable in one row add up; 0 is left out.
    column : (e,) int64
        Variable of each entry.
    value : (e,) float64
        Coefficient of each entry.
    lower, upper : (r,) float64
        Bounds of each row.
    """

    row: Indices
    column: Indices
    value: Numbers
    lower: Numbers
    upper: Numbers

    @property
    def number_of_rows(self) -> int:
        """Number of rows r."""
        return self.lower.size


@dataclass(frozen=True, slots=True, eq=False)
class Variables:
    """Variables of a program: objective, bounds and which are whole, four arrays (n,)."""

    objective: Numbers
    lower: Numbers
    upper: Numbers
    integrality: Flags


def table_block(columns: Indices, values: Numbers, lower: Numbers, upper: Numbers) -> RowBlock:
    """Return the rows of a table: row i has the entries values[i, :] at columns[i, :], two arrays (r, k)."""
    rows, width = columns.shape
    return RowBlock(
        np.repeat(np.arange(rows, dtype=np.int64), width),
        columns.reshape(-1),
        values.reshape(-1),
        lower,
        upper,
    )


def stacked(blocks: Sequence[RowBlock]) -> RowBlock:
    """Return the rows of all blocks, one block after the other."""
    firsts = np.cumsum([0, *(block.number_of_rows for block in blocks)])[:-1]
    return RowBlock(
        np.concatenate(
            [np.zeros(0, dtype=np.int64), *(b.row + f for b, f in zip(blocks, firsts, strict=True))]
        ),
        np.concatenate([np.zeros(0, dtype=np.int64), *(block.column for block in blocks)]),
        np.concatenate([np.zeros(0), *(block.value for block in blocks)]),
        np.concatenate([np.zeros(0), *(block.lower for block in blocks)]),
        np.concatenate([np.zeros(0), *(block.upper for block in blocks)]),
    )


def placed(blocks: Sequence[RowBlock], places: Sequence[Indices]) -> RowBlock:
    """Return the rows of all blocks, row i of a block at the place that stands for it; places are 0 .. r - 1 in all."""
    rows = stacked(blocks)
    place = np.concatenate([np.zeros(0, dtype=np.int64), *places])
    lower, upper = np.empty(place.size), np.empty(place.size)
    lower[place], upper[place] = rows.lower, rows.upper
    return RowBlock(place[rows.row], rows.column, rows.value, lower, upper)


def assembled(variables: Variables, blocks: Sequence[RowBlock]) -> MixedIntegerProgram:
    """Return the program that maximizes the objective of the variables over the rows of the blocks, in their order."""
    rows, size = stacked(blocks), variables.objective.size
    keys = rows.row * size + rows.column
    values = rows.value
    if keys.size and (np.diff(keys) <= 0).any():
        order = np.argsort(keys, kind="stable")
        keys, values = keys[order], values[order]
        first = np.flatnonzero(np.concatenate((np.ones(1, dtype=np.bool_), np.diff(keys) > 0)))
        if first.size < keys.size:
            keys, values = keys[first], np.add.reduceat(values, first)
    kept = values != 0
    if not kept.all():
        keys, values = keys[kept], values[kept]
    row_of = keys // size if size else keys
    counts = np.bincount(row_of, minlength=rows.number_of_rows)
    return MixedIntegerProgram(
        maximize=True,
        objective=freeze(variables.objective),
        row_starts=freeze(np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)))),
        columns=freeze((keys - row_of * size).astype(np.int32)),
        coefficients=freeze(values),
        row_lower=freeze(rows.lower),
        row_upper=freeze(rows.upper),
        lower=freeze(variables.lower),
        upper=freeze(variables.upper),
        integrality=freeze(variables.integrality),
    )
