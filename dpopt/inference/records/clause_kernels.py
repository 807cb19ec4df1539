"""Residuals of general clauses, and what a column costs in them. Compiled; importing this module imports numba.

As for the tables of marginals, every clause has a *price*: SCALE * (count - target + 1/2) in whole numbers, without the record
under consideration what f changes by if the clause is true of it. With a_t = 1 if clause j accepts t true literals and r_j
the number of true literals on the other attributes, a column c = (attribute, code) costs, up to a constant for each attribute,

    cost[c] = sum over clauses j with a literal at c of (+1 for "=", -1 for "!=") * price_j * (a_{r_j + 1} - a_{r_j}).

One pass over the clauses gives the costs of all columns, each literal looked at once; a change of code touches the
clauses with a literal at the old or at the new column only. Between two passes nothing is kept for a record: the memory
is that of the clauses.

A literal is kept as its column for "=", as ~column for "!="; so is the clause of an entry of a column. Padding, and literals on
codes that no record may have, point to a spare column, which is never taken.
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
