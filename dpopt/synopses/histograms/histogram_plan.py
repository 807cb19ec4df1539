"""The plan of a histogram: which levels of blocks are measured with how much noise; made from public numbers alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.arrays import freeze
from dpopt.models.model_size import ModelSize
from dpopt.models.noise_budgets.budget_program import LevelBudgets
from dpopt.models.noise_budgets.level_budgets import LevelProgram, best_level_budgets
from dpopt.programs.solver import Solver
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.grids import Level
from dpopt.queries.ranges.tree import Tree
from dpopt.queries.ranges.weighted_ranges import height_of
from dpopt.synopses.histograms.counts_plan import LevelNoise, OnSolved, check_rising, check_scales, discard, is_gaussian
from dpopt.synopses.histograms.in_rounds import budgets_of_rounds
from dpopt.synopses.histograms.range_workload import ALL, PREFIXES, WORST, RangeWorkload, worst_ranges
from dpopt.synopses.histograms.tree_plan import SINGLE_BINS, MeasuredLevel, TreePlan, check_bins

_WORST_ROUNDS, _WORST_AT_ONCE, _WORST_ENOUGH = 30, 4, 1.01  # of ranges that join; how much worse they are
_BETTER = 0.995  # what a search from all starts has to reach
_LEAST_HEIGHT = 3  # of the largest blocks: rounds save little where no block of 8 bins is measured
_LEAST_START = 1e-4  # share of a level: from 0 it could not rise


@dataclass(frozen=True, eq=False, kw_only=True)
class HistogramPlan(TreePlan):
    """The plan of a release of a histogram over blocks of 1, 2, 4, ... bins."""

    heights: tuple[int, ...]
    """Measured levels, from single bins (0) up: level h has blocks of 2^h bins."""
    rounds: bool = False
    """Whether they are measured from the highest down, and blocks with few records divided no further
    (`dpopt.synopses.histograms.in_rounds`). The predicted variance is then that where all blocks are divided: an upper
    bound."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rising("levels", self.heights, range(1), range(height_of(self.bins) + 1))
        check_scales(self.scales, self.heights)

    @cached_property
    def levels(self) -> tuple[MeasuredLevel, ...]:
        """The measured levels, from single bins up."""
        lowest = len(self.tree.levels) - 1
        return tuple(
            MeasuredLevel(level_name(height), lowest - above, scale)
            for above, (height, scale) in enumerate(zip(self.heights, self.scales, strict=True))
        )

    def model_sizes(self) -> dict[str, ModelSize]:
        """Return kind and size of the models of a release; none of one in rounds."""
        return {} if self.rounds else super().model_sizes()

    @property
    def round_levels(self) -> tuple[Level, ...]:
        """The heights of the measured blocks, if they are measured in rounds; otherwise none."""
        return tuple((height,) for height in self.heights) if self.rounds else ()

    @cached_property
    def tree(self) -> Tree:
        """The measured levels as a tree; above the highest one stands a root, if that has more than one block."""
        widths = [-(-self.bins // (1 << height)) for height in self.heights]
        levels: list[NDArray[np.int64]] = [np.zeros(widths[0], dtype=np.int64)]
        for below, above, low, high in zip(widths, widths[1:], self.heights, self.heights[1:], strict=False):
            counts = np.full(above, 2 ** (high - low), dtype=np.int64)
            counts[-1] = below - (above - 1) * 2 ** (high - low)
            levels.append(counts)
        if widths[-1] > 1:
            levels.append(np.array([widths[-1]], dtype=np.int64))
        return Tree.of_levels([level.tolist() for level in reversed(levels)])


def level_name(height: int) -> str:
    """Return a level in words; it names the measurement and its charge."""
    return SINGLE_BINS if height == 0 else f"blocks of {2**height:,} bins"


def plan_blocks(
    bins: int | Bins,
    budget: Budget,
    *,
    ranges: str | RangeWorkload = "all",
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    size: int | None = None,
    rounds: bool | None = False,
    solver: str | Solver | None = None,
    on_solved: OnSolved = discard,
) -> HistogramPlan:
    """Return the plan with the least predicted variance of ranges that the budget covers.

    minimize max_g (1 / r_g) sum_h c_gh / lambda_h over the parts b_h of the budget (models/level_budgets, LB-1 to LB-4)

    `ranges` are "all" (the mean over all ranges), "prefixes" (over those that begin with the first bin),
    "sizes:1,64,1024" (each size, divided by the variance of the best simple strategy), "worst" (the largest variance of
    any range), or "file:PATH" (the weighted mean over the ranges that a file declares), for which alone it matters what
    the bins are. `rounds`: whether blocks are measured in rounds; None: for "all" or "prefixes" with Laplace noise, if
    blocks of 8 bins or more are planned and no solver is named. A solver spreads the budget in place of our own method,
    for Gaussian noise; `on_solved` receives how both compare, and the gap.
    """
    number = bins.number if isinstance(bins, Bins) else bins
    check_bins(number)
    noise = LevelNoise(budget, relation)
    asked = RangeWorkload.parse(ranges, bins) if isinstance(ranges, str) else ranges
    workload, found = _spread(asked, number, noise, solver)
    on_solved(found.solved, found.gap)
    measured = np.flatnonzero(found.amounts).tolist()
    if rounds is None:
        suited = workload.text in {ALL, PREFIXES} and not (is_gaussian(budget) or solver)
        rounds = suited and measured[-1] >= _LEAST_HEIGHT
    if rounds:
        found = budgets_of_rounds(found, workload.program(**noise.program(), known_total=noise.known_total))
    return HistogramPlan(
        bins=number,
        heights=tuple(measured),
        rounds=rounds,
        ranges=workload.text,
        **noise.plan(found.amounts, measured, size),
        predicted=_predicted(workload, found),
    )


def _predicted(workload: RangeWorkload, found: LevelBudgets) -> dict[str, float]:
    """Return the variance of each group; of the worst ranges that were found on the way only the worst."""
    predicted = dict(zip(workload.names, found.variances.tolist(), strict=True))
    if workload.text != WORST:
        return predicted
    worst = max(predicted, key=lambda name: predicted[name])
    return {name: predicted[name] for name in (workload.names[0], worst)}


def _spread(
    workload: RangeWorkload, bins: int, noise: LevelNoise, solver: str | Solver | None
) -> tuple[RangeWorkload, LevelBudgets]:
    """Return the budgets of the levels, and the workload with the worst ranges as groups where they are asked for."""

    def program_of(groups: RangeWorkload) -> LevelProgram:
        return groups.program(**noise.program(), known_total=noise.known_total)

    program = program_of(workload)
    if workload.text != WORST:
        return workload, best_level_budgets(program, solver=solver)
    chosen = workload.with_ranges(_bad_ranges(program, bins), bins)
    workload, best = _spread_for_the_worst(chosen, bins, program_of)
    if solver is None:
        return workload, best
    return workload, best_level_budgets(program_of(workload), solver=solver)


def _spread_for_the_worst(
    workload: RangeWorkload, bins: int, program_of: Callable[[RangeWorkload], LevelProgram]
) -> tuple[RangeWorkload, LevelBudgets]:
    """Return the budgets whose worst range is best, and the workload with the ranges that were worst on the way.

    Ranges that are worse than all groups join them, and each program starts from the budgets of the one before. Where
    no range is worse, a search from all starts has its say: if it finds better budgets for these groups, the same
    begins from them.
    """
    program = program_of(workload)
    found = best_level_budgets(program)
    best, least = found, np.inf
    searched = True
    for _ in range(_WORST_ROUNDS):
        objective = program.objective(found.amounts)
        worst = worst_ranges(program, found.amounts, bins, _WORST_AT_ONCE)
        if max(objective, worst[0][2]) < least:
            best, least = found, max(objective, worst[0][2])
        worse = [(start, stop) for start, stop, variance in worst if variance > _WORST_ENOUGH * objective]
        if worse:
            workload, searched = workload.with_ranges(worse, bins), program.gaussian
            program = program_of(workload)
            found = best_level_budgets(program, [np.maximum(program.shares(found.amounts), _LEAST_START)])
            continue
        if searched:
            break
        found, searched = best_level_budgets(program), True
        if program.objective(found.amounts) >= _BETTER * least:
            break
    return workload, LevelBudgets(best.amounts, freeze(program.variances(best.amounts)), best.gap)


def _bad_ranges(program: LevelProgram, bins: int) -> list[tuple[int, int]]:
    """Return ranges that are among the worst where every d-th level gets the same, for each d."""
    levels = program.blocks.size
    found: set[tuple[int, int]] = set()
    for step in range(1, levels + 1):
        amounts = np.zeros(levels)
        amounts[::step] = program.amount / len(range(0, levels, step))
        worst = worst_ranges(program, amounts, bins, _WORST_AT_ONCE)
        found.update((start, stop) for start, stop, _ in worst)
    return sorted(found)
