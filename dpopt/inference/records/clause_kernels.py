"""Compiled counts of clauses and what a column costs in them: any clause from its literals, narrow ones as polynomials.

Importing this module imports numba.

General clauses (`Listed`). As for the tables of marginals, each has a *price*: SCALE * (count - target + 1/2) in whole
numbers, without the record under consideration what f changes by if the clause is true of it. With a_t = 1 if clause j
accepts t true literals and r_j the number of true literals on the other attributes, a column c = (attribute, code) costs, up
to a constant for each attribute,

    cost[c] = sum over clauses j with a literal at c of (+1 for "=", -1 for "!=") * price_j * (a_{r_j + 1} - a_{r_j}).

One pass over the clauses gives the costs of all columns, each literal looked at once; a change of code touches the
clauses with a literal at the old or at the new column only. Between two passes nothing is kept for a record: the memory
is that of the clauses.

A literal is kept as its column for "=", as ~column for "!="; so is the clause of an entry of a column. Padding, and literals on
codes that no record may have, point to a spare column, which is never taken.

Clauses of at most three literals (`Monomials`). With z_c = 1 if the record has column c, each is a polynomial

    q_j(x) = sum over T of  a_{j,T} prod_{c in T} z_c,        T a set of its columns,

with small whole coefficients. So the slope of f, sum_j weight_j R_j q_j(x) with R_j = count - target, needs one number for
each column, one for each pair of columns, and a visit of those clauses alone of which two columns are the record's: of
500,000 clauses over 41 attributes some ten thousand, where looking at each literal would take a hundred times as long.

The record counts in R_j itself. If an attribute leaves column c for column c', f changes by

    slope(c') - slope(c) + (flips(c') + flips(c)) / 2,

where flips(c) is the weight of the clauses with a literal at c whose truth depends on it, given the other attributes: again a
polynomial, with coefficients that do not change. (A clause has no literal on one attribute twice.)

Counts are whole numbers (times SCALE) and do not drift; the sums over columns and pairs are made anew before every sweep.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


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
    """What is true of one record."""

    taken: NDArray[np.uint8]  # (c + 1,) 1 for the columns of its codes; the spare one is 0
    true_literals: NDArray[np.int8]  # (m,)
    costs: NDArray[np.float64]  # (c + 1,) the spare column collects rubbish


@kernel
def look(listed: Listed, truth: Truth, chosen: NDArray[np.int64], own: int) -> None:
    """Find the truth of a record at these flat columns (d,), which counts in the prices if `own` is 1."""
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


@kernel
def turn(listed: Listed, truth: Truth, old: int, new: int, amount: int) -> None:
    """Let the record leave one column for another; if it counts in the prices (`amount` times), count it anew."""
    width = listed.literals.shape[1]
    out = np.int64(listed.scale * amount)
    for side in range(
        2
    ):  # "=" literals at the old column turn false, those at the new one true; "!=" the other way
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
            was, now = mask >> before & 1, mask >> after & 1
            price = listed.weights[term] * (listed.prices[clause] - was * out)
            listed.prices[clause] += (now - was) * out
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


class Monomials(NamedTuple):
    """m clauses laid out for the search: c flat columns, p = number of kinds (literals' signs and mask)."""

    residuals: NDArray[np.int32]  # (m,) SCALE * (count - target); int64 where int32 does not hold them
    scale: int
    weights: NDArray[np.float64]  # (m,) what a unit of residual counts
    columns: NDArray[np.int32]  # (m, 3) column of each literal; c (never taken) in padding
    kinds: NDArray[np.int32]  # (m,)
    truths: NDArray[np.int64]  # (p,) bit z0 + 2 z1 + 4 z2: true for these conditions
    coefficients: NDArray[np.float64]  # (p, 8) a_T for the sets T as bits
    column_start: NDArray[np.int64]  # (c + 1,) literals at each column
    entries: NDArray[np.int64]  # 4 * clause + place of the literal
    pair_start: NDArray[
        np.int64
    ]  # (c * c + 1,) clauses of three literals at each two columns, the smaller one first
    thirds: NDArray[np.int32]  # column of the third literal
    owners: NDArray[np.int32]  # the clause
    full: NDArray[np.float64]  # weight * coefficient of all three conditions
    bends: NDArray[np.float64]  # the same of the flips of the third literal
    single: NDArray[np.float64]  # (c + 1,) slope by column
    pair: NDArray[np.float64]  # (c + 1, c + 1) slope by two columns, symmetric
    single_flips: NDArray[np.float64]  # (c + 1,)
    pair_flips: NDArray[np.float64]  # (c + 1, c + 1) flips of the second column due to the first


class Sight(NamedTuple):
    """What the clauses of three literals add for one record."""

    taken: NDArray[np.uint8]  # (c + 1,)
    slope: NDArray[np.float64]  # (c + 1,)
    flips: NDArray[np.float64]  # (c + 1,)


@kernel
def gather(monomials: Monomials) -> None:
    """Compute the slopes by column and by pair anew from the residuals."""
    monomials.single[:] = 0.0
    monomials.pair[:] = 0.0
    for clause in range(monomials.residuals.size):
        amount = monomials.residuals[clause] * monomials.weights[clause]
        spread(monomials, clause, amount)


@kernel
def spread(monomials: Monomials, clause: int, amount: float) -> None:
    """Add a change of one clause's slope to those of its columns and pairs."""
    kind = monomials.kinds[clause]
    for i in range(3):
        one = monomials.columns[clause, i]
        monomials.single[one] += amount * monomials.coefficients[kind, 1 << i]
        for k in range(i):
            other = monomials.columns[clause, k]
            share = amount * monomials.coefficients[kind, (1 << i) | (1 << k)]
            monomials.pair[one, other] += share
            monomials.pair[other, one] += share


@kernel
def see(monomials: Monomials, sight: Sight, chosen: NDArray[np.int64]) -> None:
    """Find what the clauses add for a record at these columns (d,)."""
    sight.taken[:] = 0
    sight.slope[:] = 0.0
    sight.flips[:] = 0.0
    for attribute in range(chosen.size):
        for other in range(attribute):
            see_pair(monomials, sight, chosen[other], chosen[attribute], 1.0)
        sight.taken[chosen[attribute]] = 1


@kernel
def see_pair(monomials: Monomials, sight: Sight, low: int, high: int, sign: float) -> None:
    """Add (or take away) what clauses add of which the record has these two columns, low < high."""
    key = low * (monomials.single.size - 1) + high
    for entry in range(monomials.pair_start[key], monomials.pair_start[key + 1]):
        third = monomials.thirds[entry]
        residual = monomials.residuals[monomials.owners[entry]]
        sight.slope[third] += sign * monomials.full[entry] * residual
        sight.flips[third] += sign * monomials.bends[entry]


@kernel
def add_slopes(
    monomials: Monomials,
    sight: Sight,
    chosen: NDArray[np.int64],
    attribute: int,
    first: int,
    own: int,
    costs: NDArray[np.float64],
) -> None:
    """Add to `costs` what each code of the attribute costs, the others as they are; up to a constant.

    With `own` 1 the record, at these columns (d,), counts in the residuals.
    """
    half = 0.5 * monomials.scale * own
    here = chosen[attribute] - first
    for i in range(costs.size):
        column = first + i
        costs[i] += monomials.single[column] + sight.slope[column]
    for other in range(chosen.size):
        if other != attribute:
            row = monomials.pair[chosen[other], first : first + costs.size]
            for i in range(costs.size):
                costs[i] += row[i]
    if own == 0:
        return
    stays = 0.0
    for i in range(costs.size):
        flips = monomials.single_flips[first + i] + sight.flips[first + i]
        costs[i] += half * flips
        if i == here:
            stays = flips
    for other in range(chosen.size):
        if other != attribute:
            row = monomials.pair_flips[chosen[other], first : first + costs.size]
            for i in range(costs.size):
                costs[i] += half * row[i]
            stays += row[here]
    costs[here] -= 2.0 * half * stays


@kernel
def leave(
    monomials: Monomials, sight: Sight, chosen: NDArray[np.int64], attribute: int, new: int, amount: int
) -> None:
    """Let the attribute of a record at columns `chosen` (d,) leave its column for another; `chosen` is left as it is.

    If the record counts in the residuals (`amount` times), it is counted anew.
    """
    old = chosen[attribute]
    sight.taken[old] = 0
    for other in range(chosen.size):
        if other != attribute:
            low, high = min(old, chosen[other]), max(old, chosen[other])
            see_pair(monomials, sight, low, high, -1.0)
    if amount:
        for side in range(2):
            column = new if side else old
            step = (2 * side - 1) * amount * monomials.scale
            for place in range(monomials.column_start[column], monomials.column_start[column + 1]):
                flip_at(monomials, sight, monomials.entries[place], step)
    sight.taken[new] = 1
    for other in range(chosen.size):
        if other != attribute:
            low, high = min(new, chosen[other]), max(new, chosen[other])
            see_pair(monomials, sight, low, high, 1.0)


@kernel
def flip_at(monomials: Monomials, sight: Sight, entry: int, step: int) -> None:
    """Count a clause of which one condition turns true (`step` > 0) or false, the moving attribute having no column yet."""
    clause, place = entry >> 2, entry & 3
    pattern = 0
    for i in range(3):
        if i != place:
            pattern += (1 << i) * sight.taken[monomials.columns[clause, i]]
    truth = monomials.truths[monomials.kinds[clause]]
    turn = (truth >> (pattern | 1 << place) & 1) - (truth >> pattern & 1)
    if turn == 0:
        return
    monomials.residuals[clause] += turn * step
    amount = turn * step * monomials.weights[clause]
    spread(monomials, clause, amount)
    others = 7 ^ (1 << place)
    if pattern == others:
        full = monomials.coefficients[monomials.kinds[clause], 7]
        sight.slope[monomials.columns[clause, place]] += amount * full
