"""The plan of a histogram over a declared hierarchy: which of its levels are measured with how much noise; without data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.inference.histograms.mean_variance import MeanVariance
from dpopt.inference.histograms.tree_least_squares import range_variances
from dpopt.models.model import Model
from dpopt.models.noise_budgets.hierarchy_budgets import HierarchyProgram, hierarchy_budgets
from dpopt.models.noise_budgets.level_descent import best_budgets
from dpopt.programs.solver import Solver
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.tree import Tree, deepened
from dpopt.queries.ranges.weighted_ranges import WeightedRanges
from dpopt.synopses.histograms.counts_plan import LevelNoise, OnSolved, check_scales, discard
from dpopt.synopses.histograms.range_workload import NODES, parse_hierarchy_ranges
from dpopt.synopses.histograms.tree_plan import SINGLE_BINS, MeasuredLevel, TreePlan, check_bins


@dataclass(frozen=True, eq=False, kw_only=True)
class HierarchyPlan(TreePlan):
    """The plan of a release of a histogram over the groups of a declared hierarchy.

    A bin that stands beside groups is measured with them, too: as a group of its own on every level below. So a level
    divides all bins, and a record lies in one group of it.
    """

    hierarchy: Tree
    """As it was declared; its root is depth 0."""
    depths: tuple[int, ...]
    """Measured levels, from single bins up: decreasing, the first is the lowest."""

    def __post_init__(self) -> None:
        super().__post_init__()
        lowest = len(self.hierarchy.levels) - 1
        falling = all(low > high for low, high in zip(self.depths, self.depths[1:], strict=False))
        highest = 0 if self.size is None else 1
        if not self.depths or self.depths[0] != lowest or not falling or self.depths[-1] < highest:
            raise PlanError(
                f"found the depths {self.depths}; expected decreasing ones from {lowest} to at least {highest}"
            )
        check_scales(self.scales, self.depths)
        if self.hierarchy.bins != self.bins:
            raise PlanError(f"found a hierarchy of {self.hierarchy.bins:,} bins for {self.bins:,}")

    @cached_property
    def levels(self) -> tuple[MeasuredLevel, ...]:
        """The measured levels, from single bins up."""
        lowest = self.depths[0]
        return tuple(
            MeasuredLevel(depth_name(depth, lowest), depth, scale)
            for depth, scale in zip(self.depths, self.scales, strict=True)
        )

    @cached_property
    def tree(self) -> Tree:
        """The hierarchy with all bins on its lowest level."""
        return deepened(self.hierarchy)


def depth_name(depth: int, lowest: int) -> str:
    """Return a level in words; it names the measurement and its charge."""
    if depth == lowest:
        return SINGLE_BINS
    return "all bins" if depth == 0 else f"groups of depth {depth}"


def plan_hierarchy(
    hierarchy: Tree,
    budget: Budget,
    *,
    bins: Bins | None = None,
    ranges: str = NODES,
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    size: int | None = None,
    uniform: bool = False,
    solver: str | Solver | None = None,
    on_solved: OnSolved = discard,
) -> HierarchyPlan:
    """Return the plan with the least mean variance of a hierarchy's groups, or of ranges, that the budget covers.

    minimize sum_q w_q Var(q) over the parts b_d of the budget (models/hierarchy_budgets, HB-1 to HB-5)

    `ranges` are "nodes" (each level's mean over its groups), "all", "sizes:1,64,1024" (each size's mean), or
    "file:PATH", for which alone it matters what the bins are. If `uniform`, each level that is not known gets the same
    part of the budget, as in Hay et al. 2010 for their trees (`Tree.balanced`), and nothing is optimized. A solver, as
    of `plan_blocks`, takes "nodes" of a hierarchy whose bins all have the same depth.
    """
    named = Bins("bins", hierarchy.bins) if bins is None else bins
    check_bins(named.number)
    if named.number != hierarchy.bins:
        raise PlanError(f"found a hierarchy of {hierarchy.bins:,} bins for {named.number:,}")
    noise = LevelNoise(budget, relation)
    text, words, wanted = parse_hierarchy_ranges(ranges, hierarchy, named)
    tree = deepened(hierarchy)
    program = HierarchyProgram(
        MeanVariance(tree, wanted, noise.known_total),
        levels=len(tree.levels),
        first=1 if noise.known_total else 0,
        **noise.program(),
    )
    if uniform:
        amounts = np.full(program.levels, program.amount / (program.levels - program.first))
        amounts[: program.first] = 0.0
    else:
        model = None if solver is None else _model(hierarchy, text, program)
        found = best_budgets(program, solver=solver, model=model)
        on_solved(found.solved, found.gap)
        amounts = found.amounts
    depths = tuple(np.flatnonzero(amounts)[::-1].tolist())
    plan = HierarchyPlan(
        bins=named.number,
        **noise.plan(amounts, depths, size),
        ranges=text,
        predicted={},
        hierarchy=hierarchy,
        depths=depths,
    )
    return replace(plan, predicted=_predicted(plan, words, wanted))


def _model(hierarchy: Tree, ranges: str, program: HierarchyProgram) -> Model:
    """Return the model of a program for the groups of a hierarchy, which solvers take."""
    even = len(deepened(hierarchy)) == len(hierarchy)
    if ranges != NODES or not even or not program.gaussian:
        raise PlanError(
            "--solver spreads a budget of Gaussian noise (rho, or epsilon and delta), for the ranges 'nodes', over a "
            "hierarchy whose bins have one depth; leave it out"
        )
    return hierarchy_budgets(
        [hierarchy.size[level].tolist() for level in hierarchy.levels],
        program.amount,
        sensitivity=program.sensitivity,
        least=program.least,
        known_total=bool(program.first),
    )


def _predicted(plan: HierarchyPlan, words: str, wanted: WeightedRanges) -> dict[str, float]:
    """Return the mean variance of the ranges that matter, and of the groups of each level; exact for the plan's noise."""

    def variances(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
        return range_variances(plan.tree, plan.variances, starts, stops)

    hierarchy, lowest = plan.hierarchy, len(plan.hierarchy.levels) - 1
    each = variances(hierarchy.start, hierarchy.start + hierarchy.size)
    of_levels = {depth_name(depth, lowest): float(each[level].mean()) for depth, level in enumerate(hierarchy.levels)}
    if plan.ranges == NODES:
        mean = sum(of_levels.values()) / len(of_levels)
    else:
        mean = float(wanted.shares @ variances(wanted.starts, wanted.stops))
    of_levels[SINGLE_BINS] = float(each[hierarchy.leaf_of_bin].mean())
    return {words: mean, **of_levels}
