"""Which split is expected to have the least errors for a number of records and a budget, or is proven to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2, prod, sqrt

import numpy as np

from dpopt.accounting.budget import Budget
from dpopt.accounting.measurements import measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.synopses.histograms.counts_plan import is_gaussian, node_sensitivity, noise_variance, whole_amount
from dpopt.synopses.histograms.grids.grid_plan import GridPlan, plan_grid
from dpopt.synopses.intervals.interval_planning import BETA
from dpopt.synopses.intervals.partition import LARGEST_PARTITION
from dpopt.synopses.intervals.partition_plan import check_records, check_unit
from dpopt.synopses.intervals.split_plan import SplitPlan, check_grid, cuts_of
from dpopt.synopses.summaries.noise_bounds import noise_bound, one_sided_reach

_SHARES = tuple(np.geomspace(0.02, 0.7, 9).tolist())  # of the budget, for the counts of boxes
_FAILURES = 0.5  # share of beta for the comparisons


def plan_split(
    shape: tuple[int, ...],
    budget: Budget,
    size: int | None,
    *,
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    rounds: int | None = None,
    error: float | None = None,
    beta: float = BETA,
) -> SplitPlan:
    """Return the plan that is expected to give large boxes the least bounds, or with a wanted error the least proven one.

    minimize 2 D 2^(rounds (D - 1)) M + r over the number of cuts of each axis, and the share of the budget for counts

    M is what a box holds at most (`split_plan`, 1), where it is to be proven, with noise that no comparison exceeds; else with
    the standard deviation of the noise in its place. The first is far from what happens: it counts on the worst noise at every
    cut, and since boxes are counted afterwards no answer has to rely on it.

    All comparisons share their part equally. The counts of boxes share theirs as cubes of a grid of 2^rounds bins on each axis
    would (`plan_grid`): after every D cuts, boxes lie to each other as these do.

    Parameters
    ----------
    shape : tuple of int
        Bins of each column, two columns or more; at most 4,194,304 cells.
    budget : Budget
        With the accountant `PURE`: Laplace noise; with `ZCDP`: Gaussian noise.
    size : int
        The number of records, or under add-remove a public number near it.
    rounds : int, optional
        How often each axis is cut, where the user fixes it.
    error : float, optional
        The largest error allowed, as a share of the records; a plan with a larger proven error is refused.
    beta : float
        With which probability the error may be exceeded.

    Raises
    ------
    PlanError
        If a number is out of range, or the wanted error is not proven.
    AccountingError
        If the budget is too small for any noise.
    """
    check_grid(shape)
    check_records(size)
    check_unit("beta", beta)
    if error is not None:
        check_unit("the wanted error", error)
    assert size is not None  # noqa: S101  checked above; for the type checker
    most = min(int(log2(LARGEST_PARTITION)) // len(shape), max((bins - 1).bit_length() for bins in shape))
    if rounds is not None and not 1 <= rounds <= most:
        raise PlanError(f"found {rounds} cuts of each axis; expected 1 to {most}")
    given = _Given(shape, budget, size, relation, beta)
    tried = [
        _Trial(given, number, share)
        for number in ([rounds] if rounds is not None else range(1, most + 1))
        for share in _SHARES
    ]
    best = min(tried, key=lambda trial: trial.expected if error is None else trial.error)
    if error is not None and best.error > error * size:
        raise PlanError(
            f"an error of {error:g} of the records ({error * size:,.0f}) is not proven for n = {size:,} and "
            f"{budget.describe()}: the best plan has {best.error / size:.3g} ({best.error:,.0f} records). Ask for a larger "
            "error, or take 'dpopt grid'"
        )
    return best.plan()


@dataclass(frozen=True, slots=True)
class _Given:
    """What is given."""

    shape: tuple[int, ...]
    budget: Budget
    size: int
    relation: NeighbouringRelation
    beta: float


class _Trial:
    """One number of cuts and one share of the budget for counts."""

    def __init__(self, given: _Given, rounds: int, share: float) -> None:
        self.given, self.rounds = given, rounds
        self.gaussian, amount = is_gaussian(given.budget), whole_amount(given.budget)
        self.for_counts = amount * share
        comparisons = [needed for _, needed in cuts_of(given.shape, rounds)]
        steps = max(sum(comparisons), 1)
        sensitivity = 1 if given.relation is NeighbouringRelation.ADD_REMOVE else (4 if self.gaussian else 2)
        self.scale = measurement_scale(
            sensitivity, amount=amount * (1.0 - share) / steps, gaussian=self.gaussian
        )
        tests = max(sum(needed << depth for depth, needed in enumerate(comparisons)), 1)
        reach = one_sided_reach(self.scale, given.beta * _FAILURES / tests, gaussian=self.gaussian)
        boxes, axes = 2 ** (rounds * len(given.shape)), len(given.shape)
        crossed = min(2 * axes * 2 ** (rounds * (axes - 1)), boxes)
        usual = sqrt(noise_variance(self.scale, gaussian=self.gaussian))
        every = prod(bins * (bins + 1) // 2 for bins in given.shape)
        self.error = crossed * (given.size / boxes + reach) + self._reach_of_boxes(boxes, every)
        self.expected = crossed * (given.size / boxes + usual) + self._reach_of_boxes(boxes, 1)

    def _reach_of_boxes(self, boxes: int, queries: int) -> float:
        """Return what the noise of none of so many sums of boxes exceeds, if boxes alone were counted."""
        scale = measurement_scale(
            node_sensitivity(self.given.relation), amount=self.for_counts, gaussian=self.gaussian
        )
        return noise_bound(
            np.array([scale]),
            np.array([float(boxes)]),
            self.given.beta * (1.0 - _FAILURES),
            gaussian=self.gaussian,
            queries=queries,
        )

    def plan(self) -> SplitPlan:
        axes = len(self.given.shape)
        counts = self._counts()
        depths = [axes * (self.rounds - level[0]) for level in counts.levels]
        order = np.argsort(depths)
        return SplitPlan(
            shape=self.given.shape,
            relation=self.given.relation,
            budget=self.given.budget,
            gaussian=self.gaussian,
            size=self.given.size,
            rounds=self.rounds,
            scale=self.scale,
            mass_depths=tuple(depths[place] for place in order),
            mass_scales=tuple(counts.scales[place] for place in order),
            beta=self.given.beta,
            error=self.error,
            expected=self.expected,
        )

    def _counts(self) -> GridPlan:
        """Return how the counts of boxes share their part of the budget."""
        if self.gaussian:
            part = replace(self.given.budget, epsilon=None, rho=self.for_counts, earlier=())
        else:
            part = replace(self.given.budget, epsilon=self.for_counts, earlier=())
        return plan_grid(
            (2**self.rounds,) * len(self.given.shape),
            part,
            shapes="cubes",
            relation=self.given.relation,
            size=None if self.given.relation is NeighbouringRelation.ADD_REMOVE else self.given.size,
        )
