"""Tables of pairs of codes: one variable y[(a, v), (b, w)] for the share of records with code v of a and code w of b.

Page: models/best_response_pairwise_bound (PB-2 to PB-5). A table covers the codes of a and of b that clauses over both
name:

    y >= 0                                                                            PB-2
    sum_w y[(a, v), (b, w)] <= x[a, v],  with equality if all codes of b are named    PB-3
    sum_v y[(a, v), (b, w)] <= x[b, w],  with equality if all codes of a are named    PB-4
    sum of all y >= sum_v x[a, v] + sum_w x[b, w] - 1                                 PB-5

Of an attribute with two codes only code 1 is named: x[a, 0] = 1 - x[a, 1].

A linear program whose optimum is an upper bound on a MaxCsp, tighter than any relaxation by rows alone.

Problem (page: models/best_response_pairwise_bound, PB-1 to PB-10): maximize sum_j w_j c_j over the linear relaxation of
the CLIQUE form and, for every two attributes that a clause names together, a table y of shares of records
(`pair_tables`, PB-2 to PB-5). The tables say what pairs of literals share: for lit_1 = p + q x[a, v] and lit_2 = r + s
x[b, w]

    both(1, 2) = p r + q r x[a, v] + p s x[b, w] + q s y[(a, v), (b, w)].

    2 literals, any mask:    c_j = a_0 + (a_1 - a_0) sum lit + (a_2 - 2 a_1 + a_0) both(1, 2)                      PB-6
    3 literals, any mask:    the same with the sum of both over the three pairs, + (a_3 - 3 a_2 + 3 a_1 - a_0) all_j
                                                                                                                   PB-7
                             all_j >= 0, all_j >= both(i, k) + both(i, l) - lit_i,                                 PB-8
                             all_j <= both(i, k), all_j <= 1 - sum lit + sum both                                  PB-9
    conjunctions of 4 to 8:  u_j <= both(i, k);  disjunctions: 1 - u_j >= sum_k both'(i, k) - (w - 2) (1 - lit_i)  PB-10

where a_t = 1 if the clause accepts t true literals, all_j is the share of records with all three literals, both' is of
the complements, and u_j is what the weight rewards (`RewardedClauses`). Every record is a feasible point of the same
objective, with y = x x and all_j = lit_1 lit_2 lit_3, so the optimum is a bound; it is that of a pairwise local
polytope, with the distribution of every clause of 2 or 3 literals added.

Source: Sherali and Adams (1990), level 2 and 3 restricted to the pairs and triples that occur; Wainwright and Jordan
(2008), section 4.1, for the local polytope.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dpopt.models.best_responses.max_csp_as_mip import mip_parts
from dpopt.models.best_responses.rewarded_clauses import Formulation, RewardedClauses
from dpopt.programs.building import Flags, Indices, Numbers, RowBlock, Variables, assembled, table_block
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram


@dataclass(frozen=True, slots=True, eq=False)
class PairTables:
    """Tables of some pairs of attributes, each with its named columns on both sides."""

    columns: int
    """Number of flat columns of x."""
    pairs: Indices
    """Shape (p,). a * d + b of each pair of attributes a < b, increasing."""
    left: Indices
    right: Indices
    """Shapes (l,) and (r,). Number of the pair * columns + named column of a (of b), increasing."""
    left_starts: Indices
    right_starts: Indices
    """Shape (p + 1,). Where the named columns of each pair begin."""
    first_cell: Indices
    """Shape (p + 1,). Variable of the first cell of each table, and where the last table ends."""
    attribute_of_column: Indices
    """Shape (columns,). Attribute of each flat column."""

    def cells(self, one: Indices, other: Indices) -> Indices:
        """Return the variable y of each two columns of x, in any order; both must be named by a table of theirs."""
        low, high = np.minimum(one, other), np.maximum(one, other)
        pair = np.searchsorted(self.pairs, pair_keys(low, high, self.attribute_of_column))
        row = np.searchsorted(self.left, pair * self.columns + low) - self.left_starts[pair]
        column = np.searchsorted(self.right, pair * self.columns + high) - self.right_starts[pair]
        cells: Indices = self.first_cell[pair] + row * np.diff(self.right_starts)[pair] + column
        return cells

    def lines(self) -> tuple[Indices, Indices, Indices, Indices]:
        """Return of each cell: its pair, its variable, and its places in `left` and in `right`; four arrays (cells,)."""
        widths = np.diff(self.right_starts)
        pair = np.repeat(np.arange(self.pairs.size), np.diff(self.left_starts) * widths)
        cell = self.first_cell[0] + np.arange(pair.size)
        place = cell - self.first_cell[pair]
        left = self.left_starts[pair] + place // widths[pair]
        right = self.right_starts[pair] + place % widths[pair]
        return pair, cell, left, right

    def rows(self, program: MaxCsp) -> list[RowBlock]:
        """Return PB-3 to PB-5."""
        heights, widths = np.diff(self.left_starts), np.diff(self.right_starts)
        d = max(program.sizes.size, 1)
        left_all = heights == program.sizes[self.pairs // d]
        right_all = widths == program.sizes[self.pairs % d]
        pair, cell, left, right = self.lines()
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
                np.concatenate((number[pair[in_open]], number[left_pair[open_left]], number[right_pair[open_right]])),
                np.concatenate(
                    (cell[in_open], (self.left % self.columns)[open_left], (self.right % self.columns)[open_right])
                ),
                np.concatenate((np.ones(int(in_open.sum())), -np.ones(int(open_left.sum()) + int(open_right.sum())))),
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


WIDEST = 8
"""Conjunctions and disjunctions of more literals keep their rows alone."""


def pairwise_lifting(program: MaxCsp) -> MixedIntegerProgram:
    """Return the linear program; its optimum, and the value of any dual point, bounds the program's optimum from above.

    Columns: those of `max_csp_as_mip` with CLIQUE, then y, then all_j. Reduce the problem first (`reduce_max_csp`), since
    the size grows with the codes that clauses name.
    """
    return lifting(program).program()


@dataclass(frozen=True, slots=True, eq=False)
class Lifting:
    """Variables and rows of the linear program, and its tables, for programs that add to them."""

    variables: Variables
    blocks: list[RowBlock]
    tables: PairTables

    def program(self) -> MixedIntegerProgram:
        """Return the linear program."""
        return assembled(self.variables, self.blocks)


def lifting(program: MaxCsp) -> Lifting:
    """Return the linear program of `pairwise_lifting` in parts."""
    parts = mip_parts(program, Formulation.CLIQUE)
    terms = _terms(program, parts.rewarded)
    lifted = _lifted(parts.rewarded, terms)
    base = parts.variables.objective.size
    one, other = _pairs(terms, lifted)
    tables = pair_tables(one, other, terms.attribute_of_column, base)
    end = int(tables.first_cell[-1])
    first_clause = int(program.offsets()[-1])
    pairs = np.flatnonzero(lifted & (terms.widths == 2))
    triples = np.flatnonzero(lifted & (terms.widths == 3))
    blocks = [*parts.blocks, *tables.rows(program)]
    if pairs.size:
        blocks.append(_distribution(program, terms, tables, pairs, first_clause, None))
    if triples.size:
        blocks.append(_distribution(program, terms, tables, triples, first_clause, end))
        blocks += _triples(terms, tables, triples, end)
    for width in range(4, min(WIDEST, program.clauses.width) + 1):
        blocks += _wide(parts.rewarded, terms, tables, lifted & (terms.widths == width), width, first_clause)
    more = end - base + triples.size
    return Lifting(_with_further(parts.variables, more), blocks, tables)


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Literals of clauses as constants + sides * x[columns]; of an attribute with two codes only code 1 is used.

    Those of clauses with 2 or 3 literals are the clauses' own, the others are what the weight rewards. Arrays (m, k).
    """

    columns: Indices
    sides: Numbers
    constants: Numbers
    widths: Indices
    weights: Numbers
    attribute_of_column: Indices


def _terms(program: MaxCsp, rewarded: RewardedClauses) -> Terms:
    attribute = np.repeat(np.arange(program.sizes.size, dtype=np.int64), program.sizes)
    clauses = program.clauses
    used = clauses.attributes >= 0
    own = (rewarded.widths <= 3)[:, None]
    sides = np.where(own, np.where(clauses.signs, 1.0, -1.0), rewarded.sides) * used
    flipped = used & (clauses.values == 0)
    if program.sizes.size:
        flipped &= program.sizes[clauses.attributes] == 2
    sides = np.where(flipped, -sides, sides)
    room = ((0, 0), (0, max(0, 3 - clauses.width)))  # triples are read off all the same where there are none
    sides = np.pad(sides, room)
    return Terms(
        np.pad(rewarded.columns + flipped, room),
        sides,
        (sides < 0).astype(np.float64),
        rewarded.widths,
        rewarded.weights,
        attribute,
    )


def _lifted(rewarded: RewardedClauses, terms: Terms) -> Flags:
    """Return which clauses get pairs, (m,)."""
    narrow = (terms.widths == 2) | (terms.widths == 3)
    wide = (terms.widths > 3) & (terms.widths <= WIDEST)
    lifted: Flags = narrow | (wide & (rewarded.conjunctions() | rewarded.disjunctions()))
    return lifted


def _pairs(terms: Terms, lifted: Flags) -> tuple[Indices, Indices]:
    """Return the two columns of every pair of literals of the lifted clauses."""
    one, other = [_EMPTY], [_EMPTY]
    for i, k in combinations(range(min(terms.columns.shape[1], WIDEST)), 2):
        those = np.flatnonzero(lifted & (terms.widths > k))
        one.append(terms.columns[those, i])
        other.append(terms.columns[those, k])
    return np.concatenate(one), np.concatenate(other)


_EMPTY = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Sum:
    """A linear expression for each of n clauses: constant + sum of values * variable; arrays (n, t), (n, t), (n,)."""

    columns: Indices
    values: Numbers
    constant: Numbers

    def plus(self, other: _Sum, factor: Numbers | float = 1.0) -> _Sum:
        scale = np.broadcast_to(np.asarray(factor, dtype=np.float64), self.constant.shape)
        return _Sum(
            np.column_stack((self.columns, other.columns)),
            np.column_stack((self.values, other.values * scale[:, None])),
            self.constant + other.constant * scale,
        )

    def at_least(self, bound: float) -> RowBlock:
        low = bound - self.constant
        return table_block(self.columns, self.values, low, np.full(low.size, np.inf))

    def equal_to_zero(self) -> RowBlock:
        return table_block(self.columns, self.values, -self.constant, -self.constant)


def _literal(terms: Terms, clauses: Indices, place: int) -> _Sum:
    return _Sum(terms.columns[clauses, place, None], terms.sides[clauses, place, None], terms.constants[clauses, place])


def _variable(column: Indices) -> _Sum:
    return _Sum(column[:, None], np.ones((column.size, 1)), np.zeros(column.size))


def _both(terms: Terms, tables: PairTables, clauses: Indices, i: int, k: int, *, complements: bool = False) -> _Sum:
    """Return both(i, k): the share of records for which both literals (or both complements) are true."""
    turn = -1.0 if complements else 1.0
    q, s = turn * terms.sides[clauses, i], turn * terms.sides[clauses, k]
    p, r = (q < 0).astype(np.float64), (s < 0).astype(np.float64)
    one, other = terms.columns[clauses, i], terms.columns[clauses, k]
    return _Sum(np.column_stack((one, other, tables.cells(one, other))), np.column_stack((q * r, p * s, q * s)), p * r)


def _distribution(
    program: MaxCsp, terms: Terms, tables: PairTables, clauses: Indices, first_clause: int, first_all: int | None
) -> RowBlock:
    """Return PB-6, or with `first_all`, the column of all_j of the first of these clauses, PB-7."""
    accepts = (program.clauses.accepted[clauses].astype(np.int64)[:, None] >> np.arange(4) & 1).astype(np.float64)
    a = accepts.T
    width = 2 if first_all is None else 3
    total = _variable(first_clause + clauses)
    for i in range(width):
        total = total.plus(_literal(terms, clauses, i), a[0] - a[1])
    for i, k in combinations(range(width), 2):
        total = total.plus(_both(terms, tables, clauses, i, k), 2 * a[1] - a[2] - a[0])
    if first_all is not None:
        total = total.plus(_variable(first_all + np.arange(clauses.size)), a[0] - 3 * a[1] + 3 * a[2] - a[3])
    return _Sum(total.columns, total.values, total.constant - a[0]).equal_to_zero()


def _triples(terms: Terms, tables: PairTables, clauses: Indices, first_all: int) -> list[RowBlock]:
    """Return PB-8 and PB-9."""
    every = _variable(first_all + np.arange(clauses.size))  # all_j
    both = {pair: _both(terms, tables, clauses, *pair) for pair in combinations(range(3), 2)}
    none = every.plus(every, -2.0)  # minus all_j
    blocks = [both_of.plus(every, -1.0).at_least(0.0) for both_of in both.values()]
    for i in range(3):
        row = every.plus(_literal(terms, clauses, i))
        for pair, both_of in both.items():
            row = row.plus(both_of, -1.0) if i in pair else row
        blocks.append(row.at_least(0.0))
        none = none.plus(_literal(terms, clauses, i), -1.0)
    for both_of in both.values():
        none = none.plus(both_of)
    return [*blocks, none.at_least(-1.0)]


def _wide(
    rewarded: RewardedClauses, terms: Terms, tables: PairTables, chosen: Flags, width: int, first_clause: int
) -> list[RowBlock]:
    """Return PB-10 for the chosen clauses, all of one width."""
    blocks = []
    conjunctions = np.flatnonzero(chosen & rewarded.conjunctions())
    disjunctions = np.flatnonzero(chosen & rewarded.disjunctions())
    minus_u = _rewarded(rewarded, conjunctions, first_clause)
    for i, k in combinations(range(width), 2):
        blocks.append(_both(terms, tables, conjunctions, i, k).plus(minus_u).at_least(0.0))
    minus_u = _rewarded(rewarded, disjunctions, first_clause)
    for i in range(width):
        # (1 - u) - sum of both' + (w - 2) (1 - lit_i) >= 0
        row = minus_u.plus(_literal(terms, disjunctions, i), -(width - 2.0))
        for k in range(width):
            if k != i:
                row = row.plus(_both(terms, tables, disjunctions, i, k, complements=True), -1.0)
        blocks.append(row.at_least(-(width - 1.0)))
    return blocks


def _rewarded(rewarded: RewardedClauses, clauses: Indices, first_clause: int) -> _Sum:
    """Return -u: -c, or c - 1."""
    sign = rewarded.signs[clauses]
    return _Sum((first_clause + clauses)[:, None], -sign[:, None], -(sign < 0).astype(np.float64))


def _with_further(variables: Variables, number: int) -> Variables:
    """Return the variables without integrality, and this number of further ones between 0 and 1."""
    zeros = np.zeros(number)
    return Variables(
        np.concatenate((variables.objective, zeros)),
        np.concatenate((variables.lower, zeros)),
        np.concatenate((variables.upper, zeros + 1.0)),
        np.zeros(variables.objective.size + number, dtype=np.bool_),
    )
