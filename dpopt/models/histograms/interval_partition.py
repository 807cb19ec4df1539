"""The best partition of bins into a number of intervals: a shortest path with a given number of arcs, as an LP.

Problem (models/interval_partition): for values x_1, ..., x_n and a number K, with y_ijk = 1 where the k-th interval
holds the values i + 1, ..., j,

    minimize    sum_ijk w(i, j) y_ijk                                                     IV-1
    subject to  sum_i y_ijk = sum_l y_jl(k+1)  for each place j after k < K intervals,    IV-2
                one unit leaves place 0 and reaches place n after K intervals,  y >= 0
    w(i, j) = sum_(i < b <= j) (x_b - m)^2, m the mean of these values   (by error)       IV-3
    w(i, j) = (sum_(i < b <= j) x_b)^2                                   (by depth)       IV-4

The rows are those of a flow in a network without cycles, so that a vertex is a path and y is whole. w grows with the
interval (IV-5), which is why dynamic programming (IV-6, `dpopt.inference.histograms.interval_partition`) is quick: the
closed form. Other conditions on intervals can be added to the program.

Source: Jagadish et al. 1998 for the v-optimal histogram; the network is textbook material.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.errors import ProgramError
from dpopt.models.model import Model, Solution, computed_by
from dpopt.programs.building import Builder
from dpopt.programs.results import Termination

MOST_VARIABLES = 2_000_000


def interval_costs(values: ArrayLike, *, by_depth: bool = False) -> NDArray[np.float64]:
    """Return w(i, j) for 0 <= i < j <= n, (n + 1, n + 1); inf elsewhere (IV-3, IV-4)."""
    given = np.asarray(values, dtype=np.float64)
    used = given if by_depth else given - given.mean()
    sums, squares = (np.concatenate(([0.0], np.cumsum(part))) for part in (used, used**2))
    totals = sums[None, :] - sums[:, None]
    lengths = np.arange(sums.size)[None, :] - np.arange(sums.size)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        costs = totals**2 if by_depth else squares[None, :] - squares[:, None] - totals**2 / lengths
    return np.where(lengths > 0, np.maximum(costs, 0.0), np.inf)


def interval_partition(values: ArrayLike, intervals: int, *, by_depth: bool = False) -> Model:
    """Return IV-1 and IV-2 in the variables y_ijk that lie on a path from 0 to n; see `interval_arcs`.

    Parameters
    ----------
    values : (n,)
        x.
    intervals
        K, from 1 to n.
    by_depth
        Whether IV-4 is the cost, and not IV-3.

    Examples
    --------
    >>> interval_partition([1, 1, 5, 6], 2).solve().objective
    0.5
    """
    given = np.asarray(values, dtype=np.float64)
    number = given.size
    first, last, place = interval_arcs(number, intervals)
    costs = interval_costs(given, by_depth=by_depth)
    size = (intervals + 1) * (number + 1)
    # a row for each place and number of intervals so far: what reaches it less what leaves it
    balance = np.zeros(size)
    balance[0], balance[-1] = -1.0, 1.0
    build = Builder()
    y = build.variables(
        "y",
        first.size,
        upper=1.0,
        objective=costs[first, last],
        inside=lambda: (f"{i},{j},{k}" for i, j, k in np.stack((first, last, place), axis=1).tolist()),
    )
    build.rows(
        "IV-2",
        size,
        (place * (number + 1) + last, y, 1.0),
        ((place - 1) * (number + 1) + first, y, -1.0),
        lower=balance,
        upper=balance,
        inside=lambda: [f"{j},{k}" for k in range(intervals + 1) for j in range(number + 1)],
    )
    return Model.of(
        "interval_partition",
        build,
        closed_form=computed_by(
            "dpopt.inference.histograms.closed_forms:interval_partition", given, intervals, by_depth=by_depth
        ),
    )


def interval_arcs(number: int, intervals: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return i, j and k of each variable y_ijk; only those that lie on a path from 0 to n."""
    if not 1 <= intervals <= number:
        raise ProgramError(f"found {intervals:,} intervals for {number:,} values; expected 1 to {number:,}")
    if number * (number + 1) // 2 * intervals > MOST_VARIABLES:
        raise ProgramError(
            f"the program of {number:,} values and {intervals:,} intervals would have more than {MOST_VARIABLES:,} "
            f"variables; take dynamic programming"
        )
    first, last = np.triu_indices(number + 1, 1)
    place = np.repeat(np.arange(1, intervals + 1), first.size)
    first, last = np.tile(first, intervals), np.tile(last, intervals)
    before, after = place - 1, intervals - place
    kept = (first >= before) & ((first == 0) == (before == 0)) & (number - last >= after)
    kept &= (last == number) == (after == 0)
    return first[kept].astype(np.int64), last[kept].astype(np.int64), place[kept].astype(np.int64)


def places_of(solution: Solution, number: int, intervals: int) -> NDArray[np.int64]:
    """Return the ends of the intervals, (K + 1,) from 0 to n, that a solution of `interval_partition` chooses."""
    first, last, place = interval_arcs(number, intervals)
    chosen = np.rint(solution.value["y"]) == 1
    if solution.termination is not Termination.OPTIMAL or not np.array_equal(
        np.sort(place[chosen]), np.arange(1, intervals + 1)
    ):
        raise ProgramError(
            f"{solution.result.solver} found no best intervals: {solution.termination.value}, {int(chosen.sum()):,} of "
            f"{intervals:,} intervals; leave the solver out, or give one that ends at vertices, such as highs"
        )
    ends = np.zeros(intervals + 1, dtype=np.int64)
    ends[place[chosen]] = last[chosen]
    if not np.array_equal(ends[place[chosen] - 1], first[chosen]) or ends[-1] != number:
        raise ProgramError(f"{solution.result.solver} found intervals that do not join; leave the solver out")
    return ends
