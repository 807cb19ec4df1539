"""Clauses that share a literal and need different codes of one attribute: at most one of them can be true.

They are found by sorting, and arranged so that no row is longer than it must be and every clause that has such a
companion stands in some row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpopt.models.best_responses.row_blocks import Flags, Indices, Numbers

REPEATS = 4
"""A clause stands in at most so many rows of one literal and one attribute. It is there more than once only because
another code of the attribute has more clauses; each repetition makes such a row tighter."""


@dataclass(frozen=True, slots=True, eq=False)
class ExclusiveClauses:
    """Rows of clauses; within a row all have one literal in common, and each needs another code of some attribute.

    Parameters
    ----------
    literal : (r,) int64
        Key of the literal that the clauses of each row have in common.
    row, clause, place : (e,) int64
        Entries, by row: the row, the clause, and the place of the common literal in the clause.
    """

    literal: Indices
    row: Indices
    clause: Indices
    place: Indices


def exclusive_clauses(
    keys: Indices, chosen: Flags, weights: Numbers, attribute_of_column: Indices
) -> ExclusiveClauses:
    """Return rows of two or more clauses each; the heaviest clauses of each code stand together.

    Parameters
    ----------
    keys : (m, k) int64
        Keys of the literals of conjunctions (`literal_keys`); -1 is padding.
    chosen : (m,) bool
        Which clauses to arrange.
    weights : (m,) float64
        What each clause is worth.
    attribute_of_column : (columns,) int64
        Attribute of each flat column.
    """
    m, k = keys.shape
    columns = attribute_of_column.size
    rank = np.empty(m, dtype=np.int64)
    by_weight = np.argsort(-weights, kind="stable")
    rank[by_weight] = np.arange(m)
    if m * k * columns * columns >= 2**61:
        return _NONE
    # One number for (common literal, column of the needed code, rank, place of the literal), so that one sort does.
    found = [np.zeros(0, dtype=np.int64)]
    for common in range(k):
        for needed in range(k):
            if common != needed:
                at = np.flatnonzero(
                    chosen & (keys[:, common] >= 0) & (keys[:, needed] % 2 == 1) & (keys[:, needed] >= 0)
                )
                cell = keys[at, common] * columns + keys[at, needed] // 2
                found.append((cell * m + rank[at]) * k + common)
    packed = np.sort(np.concatenate(found))
    place, cell, clause = packed % k, packed // (m * k), by_weight[packed // k % m]
    return _arranged(cell, clause, place, columns, attribute_of_column)


_NONE = ExclusiveClauses(*(np.zeros(0, dtype=np.int64) for _ in range(4)))


def _arranged(
    cell_of: Indices, clause: Indices, place: Indices, columns: int, attribute_of_column: Indices
) -> ExclusiveClauses:
    """Arrange clauses that are sorted by cell (literal, code): row i of a group has the i-th clause of every code."""
    if cell_of.size == 0:
        return _NONE
    starts = np.flatnonzero(np.diff(cell_of, prepend=-1))
    sizes = np.diff(starts, append=cell_of.size)
    cell = cell_of[starts]
    literal, attribute = cell // columns, attribute_of_column[cell % columns]
    new = np.concatenate(
        (np.ones(1, dtype=np.bool_), (literal[1:] != literal[:-1]) | (attribute[1:] != attribute[:-1]))
    )
    group = np.cumsum(new) - 1
    heights = np.maximum.reduceat(sizes, np.flatnonzero(new))  # rows of the group
    first_row = np.cumsum(heights) - heights
    length = np.minimum(heights[group], REPEATS * sizes)
    step = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    entry = np.repeat(starts, length) + step % np.repeat(sizes, length)
    row = np.repeat(first_row[group], length) + step
    return _without_repetitions(np.repeat(literal[new], heights), row, clause[entry], place[entry])


def _without_repetitions(literal: Indices, row: Indices, clause: Indices, place: Indices) -> ExclusiveClauses:
    """Drop rows of one clause, and rows that repeat another (found through two attributes)."""
    counts = np.bincount(row, minlength=literal.size)
    # A sum of whole numbers below 2**53 that nearly tells sets apart: two rows that it confuses cost one of them.
    mark = (
        np.arange(int(clause.max(initial=0)) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    ) >> np.uint64(28)
    marks = np.bincount(row, weights=mark[clause].astype(np.float64), minlength=literal.size)
    order = np.lexsort((marks, literal))
    again = np.zeros(literal.size, dtype=np.bool_)
    again[order[1:]] = (np.diff(literal[order]) == 0) & (np.diff(marks[order]) == 0)
    kept = (counts > 1) & ~again
    number = np.cumsum(kept) - 1
    entries = np.flatnonzero(kept[row])
    entries = entries[np.argsort(row[entries], kind="stable")]
    return ExclusiveClauses(literal[kept], number[row[entries]], clause[entries], place[entries])
