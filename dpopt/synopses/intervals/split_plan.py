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
from functools import cached_property, partial
from math import log2, prod, sqrt
from typing import Literal

import numpy as np

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.private.curators.searching_curator import MedianCut, comparisons_needed
from dpopt.synopses.histograms.counts_plan import (
    check_rising,
    check_scales,
    is_gaussian,
    node_sensitivity,
    noise_variance,
    whole_amount,
)
from dpopt.synopses.histograms.grids.grid_plan import LARGEST_GRID, plan_grid
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
        check_rising("cuts", self.mass_depths, range(self.depth + 1), range(self.depth, self.depth + 1))
        check_scales(self.mass_scales, self.mass_depths)

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
    records = check_records(size)
    check_unit("beta", beta)
    check_unit("the wanted error", error)
    most = min(int(log2(LARGEST_PARTITION)) // len(shape), max((bins - 1).bit_length() for bins in shape))
    if rounds is not None and not 1 <= rounds <= most:
        raise PlanError(f"found {rounds} cuts of each axis; expected 1 to {most}")
    tried = [
        _counted_once(shape, budget, records, relation, beta, rounds=number, share=share)
        for number in ([rounds] if rounds is not None else range(1, most + 1))
        for share in _SHARES
    ]
    best, share = min(tried, key=lambda each: each[0].expected if error is None else each[0].error)
    if error is not None and best.error > error * records:
        raise PlanError(
            f"an error of {error:g} of the records ({error * records:,.0f}) {best.not_proven}. Ask for a larger error, or take "
            f"'dpopt grid'"
        )
    return _counted_as_cubes(best, whole_amount(budget) * share)


def _counted_once(
    shape: tuple[int, ...],
    budget: Budget,
    size: int,
    relation: NeighbouringRelation,
    beta: float,
    *,
    rounds: int,
    share: float,
) -> tuple[SplitPlan, float]:
    """Return the plan with this number of cuts that counts boxes alone, with this share of the budget; and the share."""
    gaussian, amount = is_gaussian(budget), whole_amount(budget)
    comparisons = [needed for _, needed in cuts_of(shape, rounds)]
    steps = max(sum(comparisons), 1)
    sensitivity = 1 if relation is NeighbouringRelation.ADD_REMOVE else (4 if gaussian else 2)
    scale = measurement_scale(sensitivity, amount=amount * (1.0 - share) / steps, gaussian=gaussian)
    tests = max(sum(needed << depth for depth, needed in enumerate(comparisons)), 1)
    reach = one_sided_reach(scale, beta * _FAILURES / tests, gaussian=gaussian)
    boxes, axes = 2 ** (rounds * len(shape)), len(shape)
    crossed = min(2 * axes * 2 ** (rounds * (axes - 1)), boxes)
    mass_scale = measurement_scale(node_sensitivity(relation), amount=amount * share, gaussian=gaussian)
    of_sums = partial(noise_bound, np.array([mass_scale]), np.array([float(boxes)]), beta * (1.0 - _FAILURES))
    every = prod(bins * (bins + 1) // 2 for bins in shape)
    plan = SplitPlan(
        shape=shape,
        relation=relation,
        budget=budget,
        gaussian=gaussian,
        size=size,
        rounds=rounds,
        scale=scale,
        mass_depths=(rounds * axes,),
        mass_scales=(mass_scale,),
        beta=beta,
        error=crossed * (size / boxes + reach) + of_sums(gaussian=gaussian, queries=every),
        expected=crossed * (size / boxes + sqrt(noise_variance(scale, gaussian=gaussian))) + of_sums(gaussian=gaussian),
    )
    return plan, share


def _counted_as_cubes(plan: SplitPlan, amount: float) -> SplitPlan:
    """Return the plan with its amount for counts shared as by cubes of a grid."""
    axes, size = len(plan.shape), plan.size if plan.total_is_public else None
    budget = replace(
        plan.budget, earlier=(), **({"epsilon": None, "rho": amount} if plan.gaussian else {"epsilon": amount})
    )
    counts = plan_grid((2**plan.rounds,) * axes, budget, size, shapes="cubes", relation=plan.relation)
    levels = sorted(
        (axes * (plan.rounds - level[0]), scale) for level, scale in zip(counts.levels, counts.scales, strict=True)
    )
    depths, scales = zip(*levels, strict=True)
    return replace(plan, mass_depths=depths, mass_scales=scales)
