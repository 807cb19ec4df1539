"""Compiled counts of clauses and costs of columns in them: any clause from its literals, narrow ones as polynomials.

Importing this module imports numba.

General clauses (`Listed`). As for the tables of marginals, each has a *price*: SCALE * (count - target + 1/2) in whole
numbers, without the record under consideration what f changes by if the clause is true of it. With a_t = 1 if clause j
accepts t true literals and r_j the number of true literals on the other attributes, a column c = (attribute, code)
costs, up to a constant for each attribute,

    cost[c] = sum over clauses j with a literal at c of (+1 for "=", -1 for "!=") * price_j * (a_{r_j + 1} - a_{r_j}).

One pass over the clauses gives the costs of all columns, each literal looked at once; a change of code touches the
clauses with a literal at the old or at the new column only. Between two passes nothing is kept for a record: the memory
is that of the clauses.

A literal is kept as its column for "=", as ~column for "!="; so is the clause of an entry of a column. Padding, and
literals on codes that no record may have, point to a spare column, which is never taken.

Clauses of at most three literals (`Monomials`). With z_c = 1 if the record has column c, each is a polynomial

    q_j(x) = sum over T of  a_{j,T} prod_{c in T} z_c,        T a set of its columns,

with small whole coefficients. So the slope of f, sum_j weight_j R_j q_j(x) with R_j = count - target, needs one number
for each column, one for each pair of columns, and a visit of those clauses alone of which two columns are the record's:
of 500,000 clauses over 41 attributes some ten thousand, where looking at each literal would take a hundred times as
long.

The record counts in R_j itself. If an attribute leaves column c for column c', f changes by

    slope(c') - slope(c) + (flips(c') + flips(c)) / 2,

where flips(c) is the weight of the clauses with a literal at c whose truth depends on it, given the other attributes:
again a polynomial, with coefficients that do not change. (A clause has no literal on one attribute twice.)

Counts are whole numbers (times SCALE) and do not drift; the sums over columns and pairs are made anew before every
sweep.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import lean_kernel, part


class Listed(NamedTuple):
    """m clauses laid out for the search: c flat columns, e literals."""

    prices: NDArray[np.int32]  # (m,); int64 where int32 does not hold them
    scale: int
    term_start: NDArray[np.int64]  # (terms + 1,) clauses of each term
    weights: NDArray[np.float64]  # (terms,) what a unit of price counts, already divided by SCALE
    literals: NDArray[np.int32]  # (m, k)
    accepted: NDArray[np.uint32]  # (m,) bit t: true with t true literals
    column_start: NDArray[np.int64]  # (c + 1,) entries of each column
    entries: NDArray[np.int32]  # (e,) clause of each literal (complemented for "!="), sorted by column


class Truth(NamedTuple):
    """The clauses that are true of one record."""

    taken: NDArray[np.uint8]  # (c + 1,) 1 for the columns of its codes; the spare one is 0
    true_literals: NDArray[np.int8]  # (m,)
    at_home: NDArray[np.uint8]  # (m,) 1 if the clause is true of the record as it is counted
    costs: NDArray[np.float64]  # (c + 1,) the spare column collects rubbish


@part
def look(listed: Listed | None, truth: Truth | None, chosen: NDArray[np.int64], own: int) -> None:
    """Let a record be at home at these flat columns (d,); it counts there in the prices if `own` is 1."""
    if listed is None or truth is None or not truth.at_home.size:
        return
    truth.taken[:] = 0
    truth.costs[:] = 0.0
    for attribute in range(chosen.size):
        truth.taken[chosen[attribute]] = 1
    out = np.int64(listed.scale * own)
    width = listed.literals.shape[1]
    for term in range(listed.weights.size):
        weight = listed.weights[term]
        for clause in range(listed.term_start[term], listed.term_start[term + 1]):
            number = 0
            for i in range(width):
                literal = np.int64(listed.literals[clause, i])
                mark = literal >> 31
                number += truth.taken[literal ^ mark] ^ (mark & 1)
            truth.true_literals[clause] = number
            mask = np.int64(listed.accepted[clause])
            near = (mask << 1) >> number & 7  # one literal less, as it is, one literal more
            truth.at_home[clause] = near >> 1 & 1
            if near in (0, 7):
                continue
            price = weight * (listed.prices[clause] - (near >> 1 & 1) * out)
            for i in range(width):
                literal = np.int64(listed.literals[clause, i])
                mark = literal >> 31
                column = literal ^ mark
                others = number - (truth.taken[column] ^ (mark & 1))
                step = (mask >> (others + 1) & 1) - (mask >> others & 1)
                truth.costs[column] += (1 + 2 * mark) * step * price


@part
def begin_costs(truth: Truth | None, first: int, costs: NDArray[np.float64]) -> None:
    """Write the costs of each code of the attribute whose columns begin at `first` in these clauses."""
    if truth is None or not truth.at_home.size:
        costs[:] = 0.0
        return
    for code in range(costs.size):
        costs[code] = truth.costs[first + code]


@part
def turn(listed: Listed | None, truth: Truth | None, old: int, new: int, own: int) -> None:
    """Let the record leave one column for another; it stays counted at home."""
    if listed is None or truth is None or not truth.at_home.size:
        return
    width = listed.literals.shape[1]
    out = np.int64(listed.scale * own)
    for side in range(2):  # "=" literals at the old column turn false, those at the new one true; "!=" the other way
        moving = new if side else old
        term = 0
        for entry in range(listed.column_start[moving], listed.column_start[moving + 1]):
            place = np.int64(listed.entries[entry])
            clause = place ^ (place >> 31)
            while clause >= listed.term_start[term + 1]:
                term += 1  # the entries of a column are in the order of the clauses
            before = np.int64(truth.true_literals[clause])
            after = before + (2 * side - 1) * (1 + 2 * (place >> 31))
            truth.true_literals[clause] = after
            mask = np.int64(listed.accepted[clause])
            price = listed.weights[term] * (listed.prices[clause] - np.int64(truth.at_home[clause]) * out)
            if (mask << 1) >> min(before, after) & 15 in (0, 15):
                continue  # no literal more or less matters, before or after
            for i in range(width):
                literal = np.int64(listed.literals[clause, i])
                mark = literal >> 31
                column = literal ^ mark
                if column != moving:  # the costs of the moving attribute itself stay
                    own = truth.taken[column] ^ (mark & 1)
                    step_after = (mask >> (after - own + 1) & 1) - (mask >> (after - own) & 1)
                    step_before = (mask >> (before - own + 1) & 1) - (mask >> (before - own) & 1)
                    truth.costs[column] += (1 + 2 * mark) * (step_after - step_before) * price
    truth.taken[old] = 0
    truth.taken[new] = 1


@part
def enter_clauses(listed: Listed | None, truth: Truth | None) -> None:
    """Count the record where it stands, and no more where it was at home."""
    if listed is None or truth is None or not truth.at_home.size:
        return
    for clause in range(listed.accepted.size):
        now = np.int64(listed.accepted[clause]) >> np.int64(truth.true_literals[clause]) & 1
        listed.prices[clause] += (now - np.int64(truth.at_home[clause])) * listed.scale


class Monomials(NamedTuple):
    """m clauses laid out for the search: c flat columns, p = number of kinds (literals' signs and mask), e literals."""

    residuals: NDArray[np.int32]  # (m,) SCALE * (count - target); int64 where int32 does not hold them
    scale: int
    weights: NDArray[np.float64]  # (m,) what a unit of residual counts
    coefficients: NDArray[np.float64]  # (p, 8) a_T for the sets T as bits
    columns: NDArray[np.int32]  # (m, 3) column of each literal; c (never taken) in padding
    kinds: NDArray[np.int32]  # (m,)
    truths: NDArray[np.int64]  # (p,) bit z0 + 2 z1 + 4 z2: true for these conditions
    column_start: NDArray[np.int64]  # (c + 1,) literals at each column
    entries: NDArray[np.int64]  # (e,) 4 * clause + place of the literal
    partners: NDArray[np.int16]  # (e, 2) columns of the clause's other literals, that at the next place first
    patterns: NDArray[np.uint8]  # (e,) bit a + 2 b: the literal matters with partners of which these are taken
    pair_start: NDArray[np.int64]  # (c * c + 1,) clauses of three literals at each two columns, the smaller one first
    thirds: NDArray[np.int16]  # column of the third literal
    pulls: NDArray[
        np.float64
    ]  # (pairs, 2) what the clause adds to its slope and flips where both columns are the record's
    places: NDArray[np.int32]  # (m, 3) where a clause of three literals stands among these pairs; -1 for others
    single: NDArray[np.float64]  # (2 (c + 1),) slope and flips by column, one after the other
    pair: NDArray[
        np.float64
    ]  # (c + 1, 2 (c + 1)) slope by two columns, symmetric; flips of the second due to the first


class Sight(NamedTuple):
    """The clauses of one record, which is counted at home."""

    taken: NDArray[np.uint8]  # (c + 1,)
    slope: NDArray[np.float64]  # (2 (c + 1),) slope as if the record was counted where it stands, and flips
    changes: NDArray[np.int8]  # (m,) by how much truth differs from that at home
    trail: NDArray[np.int32]  # (m,) the clauses where it has differed, length[0] of them
    length: NDArray[np.int64]  # (1,)


@lean_kernel
def gather(monomials: Monomials) -> None:
    """Compute the slopes by column, by pair and by clause anew from the residuals."""
    for column in range(monomials.pair.shape[0]):
        monomials.single[2 * column] = 0.0
        for other in range(monomials.pair.shape[0]):
            monomials.pair[column, 2 * other] = 0.0
    for entry in range(monomials.thirds.size):
        monomials.pulls[entry, 0] = 0.0
    for clause in range(monomials.residuals.size):
        spread(monomials, clause, monomials.residuals[clause] * monomials.weights[clause])


@part
def spread(monomials: Monomials, clause: int, amount: float) -> None:
    """Add a change of one clause's slope to those of its columns and pairs."""
    kind = monomials.kinds[clause]
    for i in range(3):
        one = monomials.columns[clause, i]
        monomials.single[2 * one] += amount * monomials.coefficients[kind, 1 << i]
        for k in range(i):
            other = monomials.columns[clause, k]
            share = amount * monomials.coefficients[kind, (1 << i) | (1 << k)]
            monomials.pair[one, 2 * other] += share
            monomials.pair[other, 2 * one] += share
        if monomials.places[clause, i] >= 0:
            monomials.pulls[monomials.places[clause, i], 0] += amount * monomials.coefficients[kind, 7]


@part
def see(monomials: Monomials | None, sight: Sight | None, chosen: NDArray[np.int64]) -> None:
    """Let a record be at home at these columns (d,)."""
    if monomials is None or sight is None or not sight.changes.size:
        return
    for i in range(sight.length[0]):
        sight.changes[sight.trail[i]] = 0
    if sight.length[0] == sight.trail.size:
        sight.changes[:] = 0
    sight.length[0] = 0
    sight.taken[:] = 0
    for place in range(sight.slope.size):
        sight.slope[place] = monomials.single[place]
    for attribute in range(chosen.size):
        add_column(monomials, sight, chosen[attribute], 1.0)
        for other in range(attribute):
            see_pair(monomials, sight, chosen[other], chosen[attribute], 1.0)
        sight.taken[chosen[attribute]] = 1


@part
def add_column(monomials: Monomials, sight: Sight, column: int, sign: float) -> None:
    """Add (or take away) the contributions of pairs with one column of the record to all others."""
    slopes = monomials.pair[column]
    for place in range(slopes.size):  # one loop: several numbers at a time
        sight.slope[place] += sign * slopes[place]


@part
def see_pair(monomials: Monomials, sight: Sight, low: int, high: int, sign: float) -> None:
    """Add (or take away) the contributions of clauses with these two columns of the record, low < high."""
    key = low * (monomials.pair.shape[0] - 1) + high
    first, last = np.uint64(monomials.pair_start[key]), np.uint64(monomials.pair_start[key + 1])
    for entry in range(first, last):  # unsigned: with signed places numba allows for negative ones
        place = np.uint64(2) * np.uint64(monomials.thirds[entry])
        sight.slope[place] += sign * monomials.pulls[entry, 0]
        sight.slope[place + np.uint64(1)] += sign * monomials.pulls[entry, 1]


@part
def add_slopes(
    monomials: Monomials | None, sight: Sight | None, here: int, first: int, own: int, costs: NDArray[np.float64]
) -> None:
    """Add the cost of each code of the attribute at the column `here` to `costs`, others unchanged; up to a constant.

    The columns of the attribute begin at `first`; with `own` 1 the record counts in the residuals.
    """
    if monomials is None or sight is None or not sight.changes.size:
        return
    half = 0.5 * monomials.scale * own
    for i in range(costs.size):
        costs[i] += sight.slope[2 * (first + i)] + half * sight.slope[2 * (first + i) + 1]
    costs[here - first] -= 2.0 * half * sight.slope[2 * here + 1]


@part
def leave(
    monomials: Monomials | None, sight: Sight | None, chosen: NDArray[np.int64], attribute: int, new: int, own: int
) -> None:
    """Let the attribute of a record at columns `chosen` (d,) leave its column for another; `chosen` is kept."""
    if monomials is None or sight is None or not sight.changes.size:
        return
    for side in range(2):
        column = new if side else chosen[attribute]
        sign = 2.0 * side - 1.0
        add_column(monomials, sight, column, sign)
        for other in range(chosen.size):
            if other != attribute:
                low, high = min(column, chosen[other]), max(column, chosen[other])
                see_pair(monomials, sight, low, high, sign)
        if own:
            for entry in range(monomials.column_start[column], monomials.column_start[column + 1]):
                pattern = sight.taken[monomials.partners[entry, 0]]
                pattern += 2 * sight.taken[monomials.partners[entry, 1]]
                clause = monomials.entries[entry] >> 2
                if monomials.patterns[entry] >> pattern & 1 or (sight.length[0] and sight.changes[clause]):
                    flip_at(monomials, sight, monomials.entries[entry], 2 * side - 1)
        sight.taken[column] = side


@part
def flip_at(monomials: Monomials, sight: Sight, entry: int, step: int) -> None:
    """Update the record's own counts for a clause of which one condition turns true (`step` 1) or false (-1)."""
    clause, place = entry >> 2, entry & 3
    others = 0
    for i in range(3):
        if i != place:
            others += (1 << i) * sight.taken[monomials.columns[clause, i]]
    on = others | 1 << place
    truth = monomials.truths[monomials.kinds[clause]]
    before = np.int64(sight.changes[clause])
    after = before + step * ((truth >> on & 1) - (truth >> others & 1))
    if before == 0 and after == 0:
        return
    if before == 0 and sight.length[0] < sight.trail.size:
        sight.trail[sight.length[0]] = clause
        sight.length[0] += 1
    sight.changes[clause] = after
    old, new = (others, on) if step > 0 else (on, others)
    unit = monomials.scale * monomials.weights[clause]
    for i in range(3):
        bit = 1 << i
        slope_after = (truth >> (new | bit) & 1) - (truth >> (new & ~bit) & 1)
        slope_before = (truth >> (old | bit) & 1) - (truth >> (old & ~bit) & 1)
        column = monomials.columns[clause, i]
        sight.slope[2 * column] += unit * (after * slope_after - before * slope_before)


@part
def enter_monomials(monomials: Monomials | None, sight: Sight | None) -> None:
    """Count the record where it stands, and no more where it was at home."""
    if monomials is None or sight is None or not sight.changes.size:
        return
    if sight.length[0] == sight.trail.size:  # it may be incomplete
        for clause in range(sight.changes.size):
            enter_clause(monomials, sight, clause)
    for i in range(sight.length[0]):
        enter_clause(monomials, sight, int(sight.trail[i]))


@part
def enter_clause(monomials: Monomials, sight: Sight, clause: int) -> None:
    """Count a clause whose truth differs from that at home."""
    step = np.int64(sight.changes[clause]) * monomials.scale
    if step:
        sight.changes[clause] = 0
        monomials.residuals[clause] += step
        spread(monomials, clause, step * monomials.weights[clause])
