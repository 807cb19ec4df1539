"""Rows of clauses: conjunctions, disjunctions, "at least r of w" and their negations; any mask; parities.

Thresholds: conjunctions, disjunctions, "at least r of w", and the negations of all of these (`threshold_rows`). Pages:
models/best_response (BR-3 to BR-6, BR-8, BR-9) and models/best_response_thresholds (TH-1 to TH-4). In terms of
`RewardedClauses` all of them are one: u_j asks for at least b of w literals, and for a set S of s of its literals

    (s - w + b) u_j <= sum of lit over S,      w - b < s <= w                      TH-1 to TH-3

holds, since at most w - s of the b literals that u_j = 1 needs lie outside S. The sets of the smallest size s = w - b +
1 alone tie u_j to the truth wherever x is whole (TH-1, coefficient 1); the largest set, s = w, does so if u_j is whole
(TH-2); the sizes between make the relaxation as tight as one clause allows (TH-3).

    AGGREGATED    s = w, u_j whole.                                                BR-8, BR-9, TH-2
    PER_LITERAL   all sets of size w - b + 1, and s = w.                           BR-3 to BR-6, TH-1, TH-2
    CLIQUE        all sizes from w - b + 1 to w.                                   TH-1 to TH-3

A clause with more than `MOST_ROWS` such sets falls back: CLIQUE to PER_LITERAL, that to AGGREGATED with u_j whole
(TH-4).

Any mask: a choice of the number of true literals, with further variables (`counted_rows`). Page:
models/best_response_thresholds (TH-5 to TH-8). With w literals and y_(j,t) = 1 if t of them are true, t = 0, ..., w:

    sum_t y_(j,t) = 1                                   TH-5
    sum lit = sum_t t y_(j,t)                           TH-6
    c_j = sum of y_(j,t) over the accepted t            TH-7
    y_(j,t) whole                                       TH-8

The same for every formulation; c_j need not be whole.

Parities: true of an odd (or of an even) number of their literals, with further variables (`parity_rows`). Page:
models/best_response_parities (PA-1 to PA-6). Write w for the number of literals.

AGGREGATED, with a whole z_j between 0 and w / 2, and c_j whole:

    odd:  sum lit = 2 z_j + c_j         even:  sum lit = 2 z_j + 1 - c_j                     PA-1, PA-2

PER_LITERAL and CLIQUE, no further whole variable. With u_j = c_j or 1 - c_j, whichever the weight rewards, for every
set S of the literals whose number of elements has the parity that u_j = 0 stands for:

    w <= 4:  u_j <= sum over S of (1 - lit) + sum over the others of lit                     PA-3

    w > 4:   links p_2, ..., p_(w-1) between 0 and 1, p_1 = the first literal; for i = 2, ..., w - 1
             p_i <= p_(i-1) + lit_i,          p_i <= 2 - p_(i-1) - lit_i,                    PA-4
             p_i >= p_(i-1) - lit_i,          p_i >= lit_i - p_(i-1)                         PA-5
             and PA-3 for the two literals p_(w-1) and lit_w                                 PA-6

Source: the program with z_j is that of Gaboardi et al. (2014), section 6, with its sums taken over one query each; PA-3
are the facets of the parity polytope (Jeroslow 1975), PA-4 to PA-6 the same polytope with links (Yannakakis 1991).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from dpopt.models.best_responses.rewarded_clauses import Formulation, Kind, RewardedClauses
from dpopt.programs.building import Flags, Indices, Numbers, RowBlock, placed, table_block

WIDEST_WITHOUT_LINKS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Literals or links as constants + sides * variable at columns: three arrays of one shape."""

    columns: Indices
    sides: Numbers
    constants: Numbers


def parity_columns(rewarded: RewardedClauses, formulation: Formulation) -> tuple[Indices, Numbers, Flags]:
    """Return for the further variables of parities, in the order of the clauses: clause, upper bound, whether whole.

    AGGREGATED has z_j, the others the links of clauses of more than `WIDEST_WITHOUT_LINKS` literals.
    """
    clauses = rewarded.of_kind(Kind.PARITY)
    widths = rewarded.widths[clauses]
    if formulation is Formulation.AGGREGATED:
        return clauses, (widths // 2).astype(np.float64), np.ones(clauses.size, dtype=np.bool_)
    links = np.where(widths > WIDEST_WITHOUT_LINKS, widths - 2, 0)
    owners = np.repeat(clauses, links)
    return owners, np.ones(owners.size), np.zeros(owners.size, dtype=np.bool_)


def parity_values(rewarded: RewardedClauses, formulation: Formulation, x: Numbers) -> Numbers:
    """Return the values of the further variables where x is whole: half the even part of the sums, or the links."""
    clauses = rewarded.of_kind(Kind.PARITY)
    literals = rewarded.constants[clauses] + rewarded.sides[clauses] * x[rewarded.columns[clauses]]
    if formulation is Formulation.AGGREGATED:
        halves: Numbers = np.floor(literals.sum(axis=1) / 2)
        return halves
    widths = rewarded.widths[clauses]
    place = np.arange(literals.shape[1])
    linked = (place > 0) & (place < widths[:, None] - 1) & (widths[:, None] > WIDEST_WITHOUT_LINKS)
    links: Numbers = (np.cumsum(literals, axis=1) % 2)[linked]
    return links


def parity_rows(
    rewarded: RewardedClauses, formulation: Formulation, first_clause: int, first_further: int
) -> list[RowBlock]:
    """Return the rows of the parities; their further variables start at column `first_further`."""
    clauses = rewarded.of_kind(Kind.PARITY)
    if clauses.size == 0:
        return []
    if formulation is Formulation.AGGREGATED:
        return [_with_whole_halves(rewarded, clauses, first_clause, first_further)]
    widths = rewarded.widths[clauses]
    blocks = []
    for width in range(2, min(int(widths.max()), WIDEST_WITHOUT_LINKS) + 1):
        same = clauses[widths == width]
        those = np.s_[same, :width]
        terms = Terms(rewarded.columns[those], rewarded.sides[those], rewarded.constants[those])
        blocks += _cuts(rewarded, same, terms, first_clause)
    wide = clauses[widths > WIDEST_WITHOUT_LINKS]
    return blocks + (_linked(rewarded, wide, first_clause, first_further) if wide.size else [])


def _with_whole_halves(rewarded: RewardedClauses, clauses: Indices, first_clause: int, first_further: int) -> RowBlock:
    """Return PA-1 and PA-2: sum of sides x - 2 z -+ c = [even] - constants."""
    odd = _asks_for_odd(rewarded, clauses) == (rewarded.signs[clauses] > 0)
    columns = np.column_stack(
        (rewarded.columns[clauses], first_further + np.arange(clauses.size), first_clause + clauses)
    )
    values = np.column_stack((rewarded.sides[clauses], np.full(clauses.size, -2.0), np.where(odd, -1.0, 1.0)))
    side = ~odd - rewarded.constants[clauses].sum(axis=1)
    return table_block(columns, values, side, side)


def _asks_for_odd(rewarded: RewardedClauses, clauses: Indices) -> Flags:
    """Return whether u asks for an odd number of true literals."""
    odd: Flags = (rewarded.accepted[clauses] & 2) != 0
    return odd


def _cuts(rewarded: RewardedClauses, clauses: Indices, terms: Terms, first_clause: int) -> list[RowBlock]:
    """Return PA-3 for clauses with these terms (n, w)."""
    width, odd = terms.columns.shape[1], _asks_for_odd(rewarded, clauses)
    blocks = []
    for size in range(width + 1):
        those = np.flatnonzero(odd == (size % 2 == 0))
        for picked in combinations(range(width), size):
            turned = np.ones(width)
            turned[list(picked)] = -1.0  # the literals of S count by how far they are from 1
            sign = rewarded.signs[clauses[those]]
            upper = size + terms.constants[those] @ turned - (sign < 0)
            blocks.append(
                table_block(
                    np.column_stack((terms.columns[those], first_clause + clauses[those])),
                    np.column_stack((-terms.sides[those] * turned, sign)),
                    np.full(those.size, -np.inf),
                    upper,
                )
            )
    return blocks


def _linked(rewarded: RewardedClauses, clauses: Indices, first_clause: int, first_further: int) -> list[RowBlock]:
    """Return PA-4 to PA-6 for clauses of many literals."""
    widths = rewarded.widths[clauses]
    first_link = first_further + np.cumsum(widths - 2) - (widths - 2)
    blocks = []
    for place in range(1, int(widths.max()) - 1):
        those = np.flatnonzero(widths > place + 1)
        owner, link = clauses[those], first_link[those] + place - 1
        left = _left_term(rewarded, owner, link - 1, first=place == 1)
        right = _literal(rewarded, owner, np.full(those.size, place))
        for a, b, c in ((1, 1, 0), (-1, -1, 2), (1, -1, 0), (-1, 1, 0)):
            # The link is at most, or (where a and b differ) at least, a * left + b * right + c.
            side = a * left.constants + b * right.constants + c
            blocks.append(
                table_block(
                    np.column_stack((link, left.columns, right.columns)),
                    np.column_stack((np.ones(those.size), -a * left.sides, -b * right.sides)),
                    np.full(those.size, -np.inf) if a == b else side,
                    side if a == b else np.full(those.size, np.inf),
                )
            )
    last = _left_term(rewarded, clauses, first_link + widths - 3, first=False)
    end = _literal(rewarded, clauses, widths - 1)
    pairs = Terms(
        np.column_stack((last.columns, end.columns)),
        np.column_stack((last.sides, end.sides)),
        np.column_stack((last.constants, end.constants)),
    )
    return blocks + _cuts(rewarded, clauses, pairs, first_clause)


def _literal(rewarded: RewardedClauses, clauses: Indices, places: Indices) -> Terms:
    """Return one literal of each clause."""
    return Terms(
        rewarded.columns[clauses, places], rewarded.sides[clauses, places], rewarded.constants[clauses, places]
    )


def _left_term(rewarded: RewardedClauses, clauses: Indices, link: Indices, *, first: bool) -> Terms:
    """Return p_(i-1): the first literal, or a link."""
    if first:
        return _literal(rewarded, clauses, np.zeros(clauses.size, dtype=np.int64))
    return Terms(link, np.ones(link.size), np.zeros(link.size))


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
                np.column_stack((rewarded.sides[one, literals], np.broadcast_to(-t.astype(np.float64), y.shape))),
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

    Both (m,); `first_clause` is the column of c_0, and the rows of clauses `without` (m,) are written elsewhere.
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

    u asks for at least `bound` of `width` literals, 0 <= bound <= width + 1.
    """
    if not 0 < bound <= width:  # always true: nothing binds u; or never true
        return ([(0, 1)] if bound else []), True
    smallest = width - bound + 1
    if formulation is Formulation.AGGREGATED:
        return [(width, bound)], bound == 1
    if bound in {1, width}:  # a disjunction has one set; for a conjunction the larger sets only add up the smaller
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
