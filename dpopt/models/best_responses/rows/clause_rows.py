"""Rows of conjunctions, disjunctions, "at least r of w", and of the negations of all of these.

Pages: models/best_response (BR-3 to BR-6, BR-8, BR-9) and models/best_response_thresholds (TH-1 to TH-4). In terms of
`RewardedClauses` all of them are one: u_j asks for at least b of w literals, and for a set S of s of its literals

    (s - w + b) u_j <= sum of lit over S,      w - b < s <= w                      TH-1 to TH-3

holds, since at most w - s of the b literals that u_j = 1 needs lie outside S. The sets of the smallest size
s = w - b + 1 alone tie u_j to the truth wherever x is whole (TH-1, coefficient 1); the largest set, s = w, does so if
u_j is whole (TH-2); the sizes between make the relaxation as tight as one clause allows (TH-3).

    AGGREGATED    s = w, u_j whole.                                                BR-8, BR-9, TH-2
    PER_LITERAL   all sets of size w - b + 1, and s = w.                           BR-3 to BR-6, TH-1, TH-2
    CLIQUE        all sizes from w - b + 1 to w.                                   TH-1 to TH-3

A clause with more than `MOST_ROWS` such sets falls back: CLIQUE to PER_LITERAL, that to AGGREGATED with u_j whole (TH-4).

Rows and further variables of clauses with any mask: a choice of the number of true literals.

Page: models/best_response_thresholds (TH-5 to TH-8). With w literals and y_(j,t) = 1 if t of them are true, t = 0, ..., w:

    sum_t y_(j,t) = 1                                   TH-5
    sum lit = sum_t t y_(j,t)                           TH-6
    c_j = sum of y_(j,t) over the accepted t            TH-7
    y_(j,t) whole                                       TH-8

The same for every formulation; c_j need not be whole.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from dpopt.models.best_responses.formulation import Formulation
from dpopt.models.best_responses.rewarded_clauses import Kind, RewardedClauses
from dpopt.programs.building import Flags, Indices, Numbers, RowBlock, placed, table_block


def counted_columns(rewarded: RewardedClauses) -> Indices:
    """Return the clause of each y, in the order of the clauses and, within each, of t; all are whole, between 0 and 1."""
    clauses = rewarded.of_kind(Kind.COUNTED)
    return np.repeat(clauses, rewarded.widths[clauses] + 1)


def counted_values(rewarded: RewardedClauses, x: Numbers) -> Numbers:
    """Return the values of all y where x is whole."""
    clauses = rewarded.of_kind(Kind.COUNTED)
    literals = rewarded.constants[clauses] + rewarded.sides[clauses] * x[rewarded.columns[clauses]]
    length = rewarded.widths[clauses] + 1
    values = np.zeros(int(length.sum()))
    values[np.cumsum(length) - length + np.rint(literals.sum(axis=1)).astype(np.int64)] = 1.0
    return values


def counted_rows(rewarded: RewardedClauses, first_clause: int, first_further: int) -> list[RowBlock]:
    """Return TH-5, TH-6 and TH-7 for each width; the variables y start at column `first_further`."""
    clauses = rewarded.of_kind(Kind.COUNTED)
    length = rewarded.widths[clauses] + 1
    first = first_further + np.cumsum(length) - length
    blocks = []
    for width in np.unique(rewarded.widths[clauses]).tolist():
        those = np.flatnonzero(rewarded.widths[clauses] == width)
        one, n = clauses[those], those.size
        t = np.arange(width + 1)
        y = first[those][:, None] + t
        # The mask is of what the weight rewards: u = c, or u = 1 - c.
        accepted = (rewarded.accepted[one][:, None] >> t & 1) == (rewarded.signs[one] > 0)[:, None]
        literals = slice(0, width)
        constant = -rewarded.constants[one].sum(axis=1)
        zeros, ones = np.zeros(n), np.ones(n)
        blocks += [
            table_block(y, np.ones(y.shape), ones, ones),
            table_block(
                np.column_stack((rewarded.columns[one, literals], y)),
                np.column_stack(
                    (rewarded.sides[one, literals], np.broadcast_to(-t.astype(np.float64), y.shape))
                ),
                constant,
                constant,
            ),
            table_block(
                np.column_stack((first_clause + one, y)),
                np.column_stack((ones, -accepted.astype(np.float64))),
                zeros,
                zeros,
            ),
        ]
    return blocks


MOST_ROWS = 20
"""No threshold has more rows than this; C(6, 3) = 20."""

Family = tuple[int, int]
"""A size s of the sets S and the coefficient of u_j."""


def threshold_rows(
    rewarded: RewardedClauses, formulation: Formulation, first_clause: int, without: Flags
) -> tuple[RowBlock, Flags]:
    """Return the rows of the thresholds, clause by clause, and which clause variables must be whole.

    Parameters
    ----------
    rewarded
        The clauses.
    formulation
        Which sets of literals get a row.
    first_clause
        Column of c_0.
    without : (m,) bool
        Clauses whose rows are written elsewhere.

    Returns
    -------
    rows : RowBlock
    whole : (m,) bool
    """
    chosen = rewarded.of_kind(Kind.THRESHOLD)
    widths, bounds = rewarded.widths[chosen], rewarded.bounds[chosen]
    shape = widths * (widths.max(initial=0) + 2) + bounds
    families: list[tuple[int, Indices, list[Family]]] = []
    counts = np.zeros(rewarded.widths.size, dtype=np.int64)
    whole = np.zeros(rewarded.widths.size, dtype=np.bool_)
    for number in np.unique(shape, return_index=True)[1].tolist():  # one turn per pair (w, b)
        width, bound = int(widths[number]), int(bounds[number])
        clauses = chosen[shape == shape[number]]
        sets, exact = set_families(width, bound, formulation)
        whole[clauses] = not exact
        clauses = clauses[~without[clauses]]
        counts[clauses] = sum(comb(width, size) for size, _ in sets)
        families.append((width, clauses, sets))
    firsts = np.cumsum(counts) - counts
    blocks, places = [], []
    for width, clauses, sets in families:
        first = firsts[clauses]
        for size, coefficient in sets:
            literals = np.array(list(combinations(range(width), size)), dtype=np.int64)
            literals = literals.reshape(comb(width, size), size)
            blocks.append(_rows_of_sets(rewarded, clauses, literals, coefficient, first_clause))
            places.append((first[:, None] + np.arange(len(literals))).reshape(-1))
            first = first + len(literals)
    return placed(blocks, places), whole


def set_families(width: int, bound: int, formulation: Formulation) -> tuple[list[Family], bool]:
    """Return the sizes of the sets that get rows, with u's coefficient, and whether they leave u no choice where x is whole.

    Parameters
    ----------
    width, bound
        u asks for at least `bound` of `width` literals, 0 <= bound <= width + 1.
    formulation
        AGGREGATED, PER_LITERAL or CLIQUE.
    """
    if not 0 < bound <= width:  # always true: nothing binds u; or never true
        return ([(0, 1)] if bound else []), True
    smallest = width - bound + 1
    if formulation is Formulation.AGGREGATED:
        return [(width, bound)], bound == 1
    if bound in {
        1,
        width,
    }:  # a disjunction has one set; for a conjunction the larger sets only add up the smaller
        return [(smallest, 1)], True
    if comb(width, smallest) + 1 > MOST_ROWS:
        return [(width, bound)], False
    sizes = range(smallest, width + 1)
    if formulation is Formulation.PER_LITERAL or sum(comb(width, size) for size in sizes) > MOST_ROWS:
        return [(smallest, 1), (width, bound)], True
    return [(size, size - width + bound) for size in sizes], True


def _rows_of_sets(
    rewarded: RewardedClauses, clauses: Indices, literals: Indices, coefficient: int, first_clause: int
) -> RowBlock:
    """Return the rows  coefficient * u <= sum of the literals, for each clause and each set of places of literals (n, s)."""
    rows, size = clauses.size * len(literals), literals.shape[1]
    sign = np.repeat(rewarded.signs[clauses], len(literals))
    sides = rewarded.sides[clauses][:, literals].reshape(rows, size)
    constant = rewarded.constants[clauses][:, literals].sum(axis=2).reshape(rows)
    # u = c: coefficient c - sides x <= constant. u = 1 - c: coefficient c + sides x >= coefficient - constant.
    columns = rewarded.columns[clauses][:, literals].reshape(rows, size)
    c = first_clause + np.repeat(clauses, len(literals))
    return table_block(
        np.column_stack((columns, c)),
        np.column_stack((-sign[:, None] * sides, np.full(rows, float(coefficient)))),
        np.where(sign > 0, -np.inf, coefficient - constant),
        np.where(sign > 0, constant, np.inf),
    )
