"""Tables of pairs of codes: one variable y[(a, v), (b, w)] for the share of records with code v of a and code w of b.

Page: models/best_response_pairwise_bound (PB-2 to PB-5). A table covers the codes of a and of b that clauses over both name:

    y >= 0                                                                            PB-2
    sum_w y[(a, v), (b, w)] <= x[a, v],  with equality if all codes of b are named    PB-3
    sum_v y[(a, v), (b, w)] <= x[b, w],  with equality if all codes of a are named    PB-4
    sum of all y >= sum_v x[a, v] + sum_w x[b, w] - 1                                 PB-5

Of an attribute with two codes only code 1 is named: x[a, 0] = 1 - x[a, 1].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpopt.models.best_responses.row_blocks import Flags, Indices, Numbers, RowBlock
from dpopt.programs.max_csp import MaxCsp


@dataclass(frozen=True, slots=True, eq=False)
class PairTables:
    """Tables of some pairs of attributes, each with its named columns on both sides.

    Parameters
    ----------
    columns : int
        Number of flat columns of x.
    pairs : (p,) int64
        a * d + b of each pair of attributes a < b, increasing.
    left, right : (l,) and (r,) int64
        number of the pair * columns + named column of a (of b), increasing.
    left_starts, right_starts : (p + 1,) int64
        Where the named columns of each pair begin.
    first_cell : (p + 1,) int64
        Variable of the first cell of each table, and where the last table ends.
    attribute_of_column : (columns,) int64
        Attribute of each flat column.
    """

    columns: int
    pairs: Indices
    left: Indices
    right: Indices
    left_starts: Indices
    right_starts: Indices
    first_cell: Indices
    attribute_of_column: Indices

    def cells(self, one: Indices, other: Indices) -> Indices:
        """Return the variable y of each two columns of x, in any order; both must be named by a table of theirs."""
        low, high = np.minimum(one, other), np.maximum(one, other)
        pair = np.searchsorted(self.pairs, pair_keys(low, high, self.attribute_of_column))
        row = np.searchsorted(self.left, pair * self.columns + low) - self.left_starts[pair]
        column = np.searchsorted(self.right, pair * self.columns + high) - self.right_starts[pair]
        cells: Indices = self.first_cell[pair] + row * np.diff(self.right_starts)[pair] + column
        return cells

    def rows(self, program: MaxCsp) -> list[RowBlock]:
        """Return PB-3 to PB-5."""
        heights, widths = np.diff(self.left_starts), np.diff(self.right_starts)
        d = max(program.sizes.size, 1)
        left_all = heights == program.sizes[self.pairs // d]
        right_all = widths == program.sizes[self.pairs % d]
        pair = np.repeat(np.arange(self.pairs.size), heights * widths)
        cell = self.first_cell[0] + np.arange(pair.size)
        place = cell - self.first_cell[pair]
        left = self.left_starts[pair] + place // widths[pair]
        right = self.right_starts[pair] + place % widths[pair]
        open_pairs = ~left_all & ~right_all
        number = np.cumsum(open_pairs) - 1
        in_open = open_pairs[pair]
        left_pair, right_pair = self.left // self.columns, self.right // self.columns
        open_left, open_right = open_pairs[left_pair], open_pairs[right_pair]
        count = int(open_pairs.sum())
        return [
            self._sums(left, cell, self.left, right_all[left_pair]),
            self._sums(right, cell, self.right, left_all[right_pair]),
            RowBlock(
                np.concatenate(
                    (number[pair[in_open]], number[left_pair[open_left]], number[right_pair[open_right]])
                ),
                np.concatenate(
                    (
                        cell[in_open],
                        (self.left % self.columns)[open_left],
                        (self.right % self.columns)[open_right],
                    )
                ),
                np.concatenate(
                    (np.ones(int(in_open.sum())), -np.ones(int(open_left.sum()) + int(open_right.sum())))
                ),
                -np.ones(count),
                np.full(count, np.inf),
            ),
        ]

    def _sums(self, line: Indices, cell: Indices, named: Indices, complete: Flags) -> RowBlock:
        """Return for every line of the tables that its cells add up to the share of its code, or to less."""
        return RowBlock(
            np.concatenate((line, np.arange(named.size))),
            np.concatenate((cell, named % self.columns)),
            np.concatenate((np.ones(cell.size), -np.ones(named.size))),
            np.where(complete, 0.0, -np.inf),
            np.zeros(named.size),
        )


def pair_keys(low: Indices, high: Indices, attribute_of_column: Indices) -> Indices:
    """Return a * d + b for the attributes a < b of columns low < high."""
    d = int(attribute_of_column.max(initial=0)) + 1
    keys: Indices = attribute_of_column[low] * d + attribute_of_column[high]
    return keys


def pair_tables(one: Indices, other: Indices, attribute_of_column: Indices, first_cell: int) -> PairTables:
    """Return the tables that hold a cell for each two columns; their variables start at column `first_cell`."""
    columns = attribute_of_column.size
    low, high = np.minimum(one, other), np.maximum(one, other)
    pairs, pair = np.unique(pair_keys(low, high, attribute_of_column), return_inverse=True)
    left, right = np.unique(pair * columns + low), np.unique(pair * columns + high)
    bounds = np.arange(pairs.size + 1) * columns
    left_starts, right_starts = np.searchsorted(left, bounds), np.searchsorted(right, bounds)
    cells = np.diff(left_starts) * np.diff(right_starts)
    firsts = first_cell + np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(cells)))
    return PairTables(columns, pairs, left, right, left_starts, right_starts, firsts, attribute_of_column)


def heaviest_pairs(keys: Indices, weights: Numbers, number: int | None) -> Indices:
    """Return the pairs of attributes that weigh most, increasing; all of them if `number` is None.

    Parameters
    ----------
    keys : (n,) int64
        Pairs of attributes that clauses use, repeated.
    weights : (n,) float64
        Weight of the clause behind each.
    number
        How many pairs at most.
    """
    pairs, place = np.unique(keys, return_inverse=True)
    if number is None or pairs.size <= number:
        return pairs
    total = np.bincount(place, weights=weights, minlength=pairs.size)
    return np.sort(pairs[np.argsort(-total, kind="stable")[:number]])
