"""The plan of a histogram: which levels of blocks are measured with how much noise; made from public numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import amount_for, measurement_charge, measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.histograms.range_workload import WORST, RangeWorkload, worst_range
from dpopt.errors import PlanError
from dpopt.formulations.level_budgets import LevelBudgets, LevelProgram, best_level_budgets
from dpopt.queries.arrays import freeze
from dpopt.queries.range_loads import height_of
from dpopt.queries.tree import Tree

LARGEST_DOMAIN = 2**22
LEAST_SHARE_OF_BINS = 0.02
"""Single bins always get at least this share of the budget: without them only wide ranges would have an answer."""

_LEAST_VARIANCE = 1e-12  # 0 would stand for a count that is known exactly
_WORST_ROUNDS, _WORST_ENOUGH = 12, 1.02


@dataclass(frozen=True, eq=False)
class HistogramPlan:
    """What a release of a histogram measures.

    Attributes
    ----------
    bins : int
    relation : NeighbouringRelation
    budget : Budget
    gaussian : bool
    heights : tuple of int
        Measured levels, from single bins (0) up: level h has blocks of 2^h bins.
    scales : tuple of float
        Scale of the noise of each, in records.
    ranges : str
        For which ranges the budget was spread.
    size : int or None
        The public number of records under replace-one; None under add-remove, where nobody needs to know it.
    predicted : Mapping
        Mean variance of each group of ranges, in records squared, as the program of models/level_budgets predicts it.
    """

    bins: int
    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    heights: tuple[int, ...]
    scales: tuple[float, ...]
    ranges: str
    size: int | None
    predicted: Mapping[str, float]

    def __post_init__(self) -> None:
        if not 1 <= self.bins <= LARGEST_DOMAIN:
            raise PlanError(f"a histogram has 1 to {LARGEST_DOMAIN:,} bins, found {self.bins:,}")
        rising = all(low < high for low, high in zip(self.heights, self.heights[1:], strict=False))
        if not self.heights or self.heights[0] != 0 or not rising or self.heights[-1] > height_of(self.bins):
            raise PlanError(
                f"found the levels {self.heights}; expected increasing ones from 0 to at most {height_of(self.bins)}"
            )
        if len(self.scales) != len(self.heights):
            raise PlanError(f"found {len(self.scales)} scales for {len(self.heights)} levels")
        if (self.size is None) != (self.relation is NeighbouringRelation.ADD_REMOVE):
            raise PlanError(
                "the number of records is public under replace-one, and is not used under add-remove"
            )

    @property
    def moved(self) -> int:
        """In how many blocks of a level two neighbours differ."""
        return 1 if self.relation is NeighbouringRelation.ADD_REMOVE else 2

    @property
    def neighbours(self) -> str:
        """The neighbouring relation in words."""
        if self.relation is NeighbouringRelation.ADD_REMOVE:
            return "add-remove: one record more or less"
        return self.relation.describe()

    def charges(self) -> list[Charge]:
        """Return what each level costs, in the order of the levels."""
        return [
            measurement_charge(
                level_name(height), self.moved, scale, gaussian=self.gaussian, relation=self.relation
            )
            for height, scale in zip(self.heights, self.scales, strict=True)
        ]

    def blocks(self, height: int) -> int:
        """Return how many blocks a level has."""
        return -(-self.bins // (1 << height))

    @cached_property
    def tree(self) -> Tree:
        """The measured levels as a tree; above the highest one stands a root, if that has more than one block."""
        widths = [self.blocks(height) for height in self.heights]
        levels: list[NDArray[np.int64]] = [np.zeros(widths[0], dtype=np.int64)]
        for below, above, low, high in zip(widths, widths[1:], self.heights, self.heights[1:], strict=False):
            counts = np.full(above, 2 ** (high - low), dtype=np.int64)
            counts[-1] = below - (above - 1) * 2 ** (high - low)
            levels.append(counts)
        if widths[-1] > 1:
            levels.append(np.array([widths[-1]], dtype=np.int64))
        return Tree.of_levels([level.tolist() for level in reversed(levels)])

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        """Variance of the noise of each node of the tree, (v,): inf where it is not measured, 0 for a public total."""
        found = np.full(len(self.tree), np.inf)
        for level, scale in zip(reversed(self.tree.levels), self.scales, strict=False):
            found[level] = noise_variance(scale, gaussian=self.gaussian)
        if self.size is not None:
            found[0] = 0.0
        return freeze(found)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {
            "bins": self.bins,
            "relation": self.relation.value,
            "neighbours": self.neighbours,
            "budget": self.budget.to_json(),
            "noise": "discrete Gaussian" if self.gaussian else "discrete Laplace",
            "levels": [
                {"blocks_of": 2**height, "blocks": self.blocks(height), "scale": scale}
                for height, scale in zip(self.heights, self.scales, strict=True)
            ],
            "ranges": self.ranges,
            "size": self.size,
            "predicted_variances": dict(self.predicted),
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> HistogramPlan:
        """Read what `to_json` gave."""
        return cls(
            bins=int(given["bins"]),
            relation=NeighbouringRelation(given["relation"]),
            budget=Budget.from_json(given["budget"]),
            gaussian=given["noise"] == "discrete Gaussian",
            heights=tuple(int(level["blocks_of"]).bit_length() - 1 for level in given["levels"]),
            scales=tuple(float(level["scale"]) for level in given["levels"]),
            ranges=str(given["ranges"]),
            size=None if given["size"] is None else int(given["size"]),
            predicted={str(name): float(value) for name, value in given["predicted_variances"].items()},
        )


def level_name(height: int) -> str:
    """Return a level in words; it names the measurement and its charge."""
    return "single bins" if height == 0 else f"blocks of {2**height:,} bins"


def noise_variance(scale: float, *, gaussian: bool) -> float:
    """Return the variance of discrete Gaussian (an upper bound) or discrete Laplace noise."""
    if gaussian:
        return max(scale * scale, _LEAST_VARIANCE)
    ratio = exp(-1.0 / scale)
    return max(2.0 * ratio / (1.0 - ratio) ** 2, _LEAST_VARIANCE)


def plan_histogram(
    bins: int,
    budget: Budget,
    *,
    ranges: str = "all",
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    size: int | None = None,
) -> HistogramPlan:
    """Return the plan with the least predicted variance of ranges that the budget covers.

    minimize max_g (1 / r_g) sum_h c_gh / lambda_h over the parts b_h of the budget (models/level_budgets, LB-1 to LB-4)

    Parameters
    ----------
    bins : int
        From 1 to 4,194,304.
    budget : Budget
        With the accountant `PURE`: Laplace noise; with `ZCDP`: Gaussian noise.
    ranges : str
        "all" (the mean over all ranges), "sizes:1,64,1024" (each size held against what the best plain strategy has there), or
        "worst" (the largest variance of any range).
    relation : NeighbouringRelation
    size : int, optional
        The number of records, under replace-one.

    Raises
    ------
    PlanError
        If bins or size are out of range, or the accountant has no figure for either noise.
    WorkloadError
        If the ranges are none of the above.
    AccountingError
        If the budget is too small for any noise.
    """
    if not 1 <= bins <= LARGEST_DOMAIN:
        raise PlanError(f"a histogram has 1 to {LARGEST_DOMAIN:,} bins, found {bins:,}")
    gaussian = is_gaussian(budget)
    amount = amount_for(budget, gaussian=gaussian)
    if not amount > 0:
        raise PlanError(f"{budget.describe()} leaves nothing to measure with; raise the budget")
    moved = 1 if relation is NeighbouringRelation.ADD_REMOVE else 2
    workload, found = _spread(RangeWorkload.parse(ranges, bins), bins, amount, moved, gaussian=gaussian)
    measured = np.flatnonzero(found.amounts).tolist()
    return HistogramPlan(
        bins=bins,
        relation=relation,
        budget=budget,
        gaussian=gaussian,
        heights=tuple(measured),
        scales=tuple(
            measurement_scale(moved, amount=float(found.amounts[height]), gaussian=gaussian)
            for height in measured
        ),
        ranges=ranges,
        size=size,
        predicted=dict(zip(workload.names, found.variances.tolist(), strict=True)),
    )


def is_gaussian(budget: Budget) -> bool:
    """Return which noise a budget pays for.

    Raises
    ------
    PlanError
        If it is for draws of queries.
    """
    if budget.accountant not in {Accountant.PURE, Accountant.ZCDP}:
        raise PlanError(
            f"the accountant {budget.accountant.value!r} has no figure for the noise of counts; use 'pure' or 'zcdp'"
        )
    return budget.accountant is Accountant.ZCDP


def _spread(
    workload: RangeWorkload, bins: int, amount: float, moved: int, *, gaussian: bool
) -> tuple[RangeWorkload, LevelBudgets]:
    """Return the budgets of the levels, and the workload with the worst ranges as groups where they are asked for."""
    known_total = moved == 2

    def spread() -> tuple[LevelProgram, LevelBudgets]:
        program = workload.program(amount=amount, moved=moved, gaussian=gaussian, known_total=known_total)
        return program, _with_single_bins(program, best_level_budgets(program))

    program, found = spread()
    for _ in range(_WORST_ROUNDS if workload.text == WORST else 0):
        start, stop, variance = worst_range(program, found.amounts, bins)
        if variance <= _WORST_ENOUGH * float(found.variances.max()):
            break
        workload = workload.with_range(start, stop, bins)
        program, found = spread()
    return workload, found


def _with_single_bins(program: LevelProgram, found: LevelBudgets) -> LevelBudgets:
    least = LEAST_SHARE_OF_BINS * program.amount
    if found.amounts[0] >= least:
        return found
    amounts = found.amounts * ((program.amount - least) / (program.amount - found.amounts[0]))
    amounts[0] = least
    return LevelBudgets(freeze(amounts), freeze(program.variances(amounts)), None)
