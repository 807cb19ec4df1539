"""Plans of splits: how often each axis is cut at noisy medians, with how much noise, and how boxes are counted.

A plan is that of the least expected or proven errors for a number of records and a budget.

Every box of the partition is cut along axis 1, then its parts along axis 2, and so on, each axis `rounds` times: 2^G
boxes, G = rounds D. Writing t for what the noise of no comparison exceeds with probability 1 - beta, and n for the
number of records:

    a part of a box with m records has at most (m + t) / 2, without the bins on which the cut falls                 (1)
    so that a box has at most M = n / 2^G + t (1 - 2^-G)
    a face of a box that is asked for crosses at most 2^(rounds (D - 1)) boxes: at each cut along its axis it goes   (2)
    one way, at the others both
    an answer is off by at most 2 D 2^(rounds (D - 1)) M + r, where r is the noise of the sums of boxes              (3)

(1) holds where few records share a value; the bounds of answers do not count on it, they come from the measured sums.

Source: Blum, Ligett and Roth 2013, section 4 says that intervals extend to rectangles, and leaves it there; this is our
own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import log2, prod, sqrt
from typing import Literal

import numpy as np

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.private.curators.searching_curator import MedianCut, comparisons_needed
from dpopt.synopses.histograms.counts_plan import is_gaussian, node_sensitivity, noise_variance, whole_amount
from dpopt.synopses.histograms.grids.grid_plan import LARGEST_GRID, GridPlan, plan_grid
from dpopt.synopses.intervals.interval_plan import BETA
from dpopt.synopses.intervals.partition import LARGEST_PARTITION
from dpopt.synopses.intervals.partition_plan import PartitionPlan, check_records, check_unit
from dpopt.synopses.summaries.noise_bounds import noise_bound, one_sided_reach


@dataclass(frozen=True, kw_only=True)
class SplitPlan(PartitionPlan):
    """The plan of a release of boxes; its proven error holds where few records share a value."""

    parts = "boxes"
    proven_for = ", if few records share a value"
    kind: Literal["split"] = "split"
    rounds: int
    """How often each axis is cut, at least 1."""
    mass_depths: tuple[int, ...]
    """The levels whose boxes are counted, as numbers of cuts, increasing; the last one is that of the boxes, all
    cuts."""
    expected: float
    """The bound of a large box, in records, with noise of its usual size: no theorem."""

    def __post_init__(self) -> None:
        check_grid(self.shape)
        super().__post_init__()
        if self.rounds < 1 or self.depth > log2(LARGEST_PARTITION):
            raise PlanError(
                f"found {self.rounds} cuts of each of {len(self.shape)} axes; expected 1 or more, and at most "
                f"{LARGEST_PARTITION:,} boxes"
            )
        rising = all(low < high for low, high in zip(self.mass_depths, self.mass_depths[1:], strict=False))
        if not self.mass_depths or not rising or self.mass_depths[0] < 0 or self.mass_depths[-1] != self.depth:
            raise PlanError(
                f"found counts of the boxes after {self.mass_depths} cuts; expected increasing numbers that end with "
                f"{self.depth}"
            )
        if len(self.mass_scales) != len(self.mass_depths):
            raise PlanError(f"found {len(self.mass_scales)} scales for {len(self.mass_depths)} levels")

    @property
    def depth(self) -> int:
        """How many cuts lead to a box, G."""
        return self.rounds * len(self.shape)

    @property
    def expected_error(self) -> float:
        """The error to expect, in records."""
        return self.expected

    @cached_property
    def cuts(self) -> tuple[MedianCut, ...]:
        """The cuts in their order: axis 0, 1, ..., and again."""
        return tuple(
            MedianCut(number + 1, comparisons, self.scale, self.gaussian, axis)
            for number, (axis, comparisons) in enumerate(cuts_of(self.shape, self.rounds))
        )

    def charges(self) -> list[Charge]:
        """Return all charges: all cuts, then the counts of boxes, level by level."""
        searches = [cut.charge(self.relation) for cut in self.cuts]
        found = [charge for charge in searches if charge is not None]
        return found + self.charges_of_sums([boxes_after(depth) for depth in self.mass_depths])

    def in_words(self) -> list[str]:
        """Return how boxes are cut and counted."""
        steps = sum(cut.comparisons for cut in self.cuts)
        levels = ", ".join(
            f"{depth} (scale {scale:,.4g})" for depth, scale in zip(self.mass_depths, self.mass_scales, strict=True)
        )
        searched = (
            f"each column is cut {self.rounds} times, into {2**self.depth:,} boxes: {steps} comparisons of all boxes, "
            f"with {self.noise_in_words}"
        )
        expected = (
            f"expected bound of a large box: {self.expected:,.0f} records ({self.expected / self.size:.3g} of all); "
            f"the bound of an answer comes from the counts of boxes"
        )
        return [searched, f"boxes are counted after these numbers of cuts: {levels}", expected]


def check_grid(shape: tuple[int, ...]) -> None:
    """Refuse grids that are none, or too large."""
    if len(shape) < 2 or min(shape) < 2 or prod(shape) > LARGEST_GRID:
        raise PlanError(
            f"boxes are of 2 columns or more with 2 bins or more each, and of at most {LARGEST_GRID:,} cells; found "
            f"{' x '.join(f'{bins:,}' for bins in shape) or 'no column'}"
        )


def cuts_of(shape: tuple[int, ...], rounds: int) -> list[tuple[int, int]]:
    """Return the axis of each cut, and how many comparisons it may take.

    After k cuts along an axis of N bins a box has at most N - k of them, and may be cut at N - k - 1 places.
    """
    return [
        (axis, comparisons_needed(max(bins - before - 1, 1)))
        for before in range(rounds)
        for axis, bins in enumerate(shape)
    ]


def boxes_after(depth: int) -> str:
    """Return the name of a measurement of boxes; it is the label of its charge."""
    return f"records in each box after {depth} cuts"


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
    """Return the plan with the least expected bounds of large boxes, or with a wanted error the least proven one.

    minimize 2 D 2^(rounds (D - 1)) M + r over the number of cuts of each axis, and the share of the budget for counts

    M is what a box holds at most (`split_plan`, 1), where it is to be proven, with noise that no comparison exceeds;
    else with the standard deviation of the noise in its place. The first is far from what happens: it counts on the
    worst noise at every cut, and since boxes are counted afterwards no answer has to rely on it.

    All comparisons share their part equally. The counts of boxes share theirs as cubes of a grid of 2^rounds bins on
    each axis would (`plan_grid`): after every D cuts, boxes lie to each other as these do. The user may fix the number
    of cuts (`rounds`). A plan whose proven error is above `error`, a share of the records, is refused.
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
            f"{budget.describe()}: the best plan has {best.error / size:.3g} ({best.error:,.0f} records). Ask for a "
            f"larger error, or take 'dpopt grid'"
        )
    return best.plan()


@dataclass(frozen=True, slots=True)
class _Given:
    """The inputs."""

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
        self.scale = measurement_scale(sensitivity, amount=amount * (1.0 - share) / steps, gaussian=self.gaussian)
        tests = max(sum(needed << depth for depth, needed in enumerate(comparisons)), 1)
        reach = one_sided_reach(self.scale, given.beta * _FAILURES / tests, gaussian=self.gaussian)
        boxes, axes = 2 ** (rounds * len(given.shape)), len(given.shape)
        crossed = min(2 * axes * 2 ** (rounds * (axes - 1)), boxes)
        usual = sqrt(noise_variance(self.scale, gaussian=self.gaussian))
        every = prod(bins * (bins + 1) // 2 for bins in given.shape)
        self.error = crossed * (given.size / boxes + reach) + self._reach_of_boxes(boxes, every)
        self.expected = crossed * (given.size / boxes + usual) + self._reach_of_boxes(boxes, 1)

    def _reach_of_boxes(self, boxes: int, queries: int) -> float:
        """Return a bound on the noise of this number of sums of boxes, if boxes alone were counted."""
        scale = measurement_scale(node_sensitivity(self.given.relation), amount=self.for_counts, gaussian=self.gaussian)
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
