"""The predicted errors of a tree of counts with the same budget, for comparison with intervals or boxes."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.synopses.histograms.counts_plan import is_gaussian, whole_amount
from dpopt.synopses.histograms.grids.grid_plan import plan_grid
from dpopt.synopses.histograms.histogram_plan import HistogramPlan, plan_blocks
from dpopt.synopses.histograms.range_workload import RangeWorkload, worst_ranges
from dpopt.synopses.intervals.partition_plan import PartitionPlan
from dpopt.synopses.summaries.noise_bounds import reach_of_variance


@dataclass(frozen=True, slots=True)
class TreeBeside:
    """The prediction for a tree of counts."""

    command: str
    """The command that releases it."""
    standard_error: float
    """Root of the mean variance over all ranges or boxes, in records."""
    bound: float
    """A bound on the errors of all ranges together with the plan's probability: by the worst standard error for one
    column; by the mean one, which is no bound of all boxes, for several. In records."""
    own: float
    """The error of the compared plan: proven for one column, expected for several. In records."""

    @property
    def better(self) -> bool:
        """Whether the tree is predicted to be better."""
        return self.bound < self.own


def tree_beside(plan: PartitionPlan) -> TreeBeside:
    """Predict the error of a tree of counts with a plan's budget, with Laplace noise where that is better.

    Of several columns cubes of cells are taken for the blocks, which are planned in a moment; `dpopt grid` may find
    better ones. Bounds under Laplace noise hold for any weights of noisy counts with this variance (`noise_bounds`),
    which makes them a little larger than they are.
    """
    budget, budgets = plan.budget, [plan.budget]
    if plan.gaussian and budget.epsilon is not None:
        budgets.append(Budget.of(budget.epsilon, 0.0, None, rows_per_person=budget.rows_per_person))
    return min((_tree_with(plan, one) for one in budgets), key=lambda tree: tree.standard_error)


def _tree_with(plan: PartitionPlan, budget: Budget) -> TreeBeside:
    gaussian = is_gaussian(budget)
    size = plan.size if plan.relation is NeighbouringRelation.REPLACE_ONE else None
    if len(plan.shape) == 1:
        (bins,) = plan.shape
        tree = plan_blocks(bins, budget, relation=plan.relation, size=size)
        mean, worst = max(tree.predicted.values()), _worst_variance(tree)
        queries, command = bins * (bins + 1) // 2, "dpopt histogram"
    else:
        grid = plan_grid(plan.shape, budget, shapes="cubes", relation=plan.relation, size=size)
        mean = worst = max(grid.predicted.values())
        queries, command = 1, "dpopt grid"  # one, as for the expected bound that it stands beside
    scale = sqrt(worst if gaussian else worst / 2.0)
    bound = reach_of_variance(scale, 1.0, plan.beta, gaussian=gaussian, queries=queries)
    return TreeBeside(command, sqrt(mean), bound, plan.expected_error)


def _worst_variance(tree: HistogramPlan) -> float:
    """Return the largest variance of a range that a search finds, under the noise of a plan."""
    sensitivity = tree.sensitivity
    program = RangeWorkload.parse("all", tree.bins).program(
        amount=whole_amount(tree.budget), sensitivity=sensitivity, gaussian=tree.gaussian, known_total=sensitivity == 2
    )
    amounts = np.zeros(program.blocks.size)
    for height, scale in zip(tree.heights, tree.scales, strict=True):
        amounts[height] = sensitivity / (2 * scale**2) if tree.gaussian else sensitivity / scale
    return worst_ranges(program, amounts, tree.bins, 1)[0][2]
