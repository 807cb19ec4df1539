"""Plans of several columns: variances are those of dense least squares, and budgets are the best and no more than allowed."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, WorkloadError
from dpopt.queries.ranges.grids import block_of_cells, blocks_shape, grid_levels
from dpopt.synopses.histograms.grids.box_workload import BoxWorkload, cubes
from dpopt.synopses.histograms.grids.grid_plan import GridPlan, blocks_name, plan_grid
from dpopt.synopses.histograms.histogram_plan import plan_histogram

PURE, ZCDP = Budget(0.5, 0.0, None, Accountant.PURE), Budget(None, 1e-9, 0.05, Accountant.ZCDP)


def dense_mean_variance(plan: GridPlan) -> float:
    """Return the mean variance of all boxes by dense generalised least squares; no formula of the page."""
    rows = [
        (
            np.arange(np.prod(blocks_shape(plan.shape, level)))[:, None]
            == block_of_cells(plan.shape, level)[None, :]
        )
        * precision**0.5
        for level, precision in plan.precisions.items()
    ]
    information = sum(row.T @ row for row in rows)
    covariance = np.linalg.inv(np.asarray(information))
    total, number = 0.0, 0
    sides = [
        [(start, stop) for start in range(bins) for stop in range(start + 1, bins + 1)] for bins in plan.shape
    ]
    for one in sides[0]:
        for other in sides[1]:
            box = np.zeros(plan.shape)
            box[one[0] : one[1], other[0] : other[1]] = 1.0
            total += float(box.reshape(-1) @ covariance @ box.reshape(-1))
            number += 1
    return total / number


@pytest.mark.parametrize("budget", [PURE, ZCDP], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("shapes", ["cubes", "rectangles", "cells", "auto"])
@pytest.mark.parametrize("shape", [(4, 4), (8, 2)])
def test_predicted_variances_are_those_of_dense_least_squares(
    shape: tuple[int, ...], shapes: str, budget: Budget
) -> None:
    plan = plan_grid(shape, budget, shapes=shapes)
    assert plan.predicted["all boxes"] == pytest.approx(dense_mean_variance(plan), rel=2e-3)


@pytest.mark.parametrize("budget", [PURE, ZCDP], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("ranges", ["all", "sizes:1x1,4x4"])
def test_more_shapes_are_never_predicted_to_be_worse(ranges: str, budget: Budget) -> None:
    """But for levels that are left out because they hardly count: 2 per cent."""
    predicted = {
        shapes: plan_grid((16, 16), budget, ranges=ranges, shapes=shapes)
        for shapes in ("cells", "cubes", "rectangles")
    }
    workload = BoxWorkload.parse(ranges, (16, 16))
    every = grid_levels((16, 16))
    program = workload.program(
        every,
        amount=0.5 if budget is PURE else 0.05,
        sensitivity=1,
        gaussian=budget is ZCDP,
        known_total=False,
    )
    ratios = {
        shapes: float((np.array(list(plan.predicted.values())) / program.references).max())
        for shapes, plan in predicted.items()
    }
    assert ratios["cubes"] <= ratios["cells"] * 1.02
    assert ratios["rectangles"] <= ratios["cubes"] * 1.02


def test_gaussian_budgets_of_rectangles_are_those_of_a_cone_program() -> None:
    import cvxpy

    shape = (8, 4)
    workload = BoxWorkload.parse("all", shape)
    levels = grid_levels(shape)
    program = workload.program(levels, amount=0.05, sensitivity=1, gaussian=True, known_total=False)
    shares = cvxpy.Variable(len(levels), nonneg=True)
    gathered = (program.informative * program.blocks * 2.0 * 0.05) @ shares
    objective = program.loads[0] @ cvxpy.inv_pos(gathered)
    reference = cvxpy.Problem(cvxpy.Minimize(objective), [cvxpy.sum(shares) == 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference.solve(solver=cvxpy.CLARABEL)
    found = plan_grid(shape, ZCDP, shapes="rectangles").predicted["all boxes"]
    assert float(reference.value) * (1 - 1e-6) <= found <= float(reference.value) * 1.01


def test_one_column_is_planned_as_by_the_plan_of_one_column() -> None:
    grid, line = plan_grid((64,), PURE), plan_histogram(64, PURE)
    assert grid.predicted["all boxes"] == pytest.approx(line.predicted["all ranges"], rel=1e-2)


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("budget", [PURE, ZCDP], ids=["Laplace", "Gaussian"])
def test_a_plan_spends_its_budget_and_no_more(budget: Budget, relation: NeighbouringRelation) -> None:
    size = None if relation is NeighbouringRelation.ADD_REMOVE else 100
    plan = plan_grid((8, 8), budget, relation=relation, size=size)
    assert budget.allows(plan.charges())
    spent = sum(charge.parameter for charge in plan.charges())
    assert spent == pytest.approx(0.5 if budget is PURE else 0.05, rel=1e-6)


def test_rectangles_are_taken_where_they_are_better_by_a_fifth() -> None:
    """With Gaussian noise products of trees are far better than quadtrees; with Laplace noise they hardly are."""
    assert all(len(set(level)) == 1 for level in plan_grid((64, 64), PURE).levels)
    assert any(len(set(level)) > 1 for level in plan_grid((64, 64), ZCDP).levels)


def test_cubes_end_at_the_whole_of_a_short_column() -> None:
    assert cubes((16, 4)) == [(0, 0), (1, 1), (2, 2), (3, 2), (4, 2)]


def test_a_public_total_is_not_bought() -> None:
    plan = plan_grid((8, 8), ZCDP, relation=NeighbouringRelation.REPLACE_ONE, size=7)
    assert (3, 3) not in plan.levels
    assert plan.part_variances[-1, -1] == 0.0


def test_a_plan_survives_its_file() -> None:
    plan = plan_grid((6, 9, 4), ZCDP, ranges="sizes:1x1x1,2x3x4")
    again = GridPlan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again.to_json() == plan.to_json()
    assert again.levels == plan.levels
    assert blocks_name((0, 0, 0)) == "single cells"
    assert blocks_name((1, 0, 3)) == "blocks of 2 x 1 x 8"


@pytest.mark.parametrize(
    ("shape", "arguments", "message"),
    [
        ((0, 4), {}, "found 0 x 4"),
        ((), {}, "found no column"),
        ((4096, 4096), {}, "found 4,096 x 4,096"),
        ((8,) * 7, {}, "at most 1,000 shapes of blocks"),
        ((4, 4), {"shapes": "round"}, "found the shapes 'round'; expected one of auto, cubes"),
        ((4, 4), {"ranges": "worst"}, "a grid takes all, or sizes such as sizes:16x16"),
        ((4, 4), {"ranges": "sizes:4"}, "found the size '4'; expected 2 whole numbers"),
        ((4, 4), {"ranges": "sizes:5x1"}, "found the size '5x1' for a grid of 4 x 4 cells"),
    ],
)
def test_what_cannot_be_planned_is_refused(
    shape: tuple[int, ...], arguments: dict[str, str], message: str
) -> None:
    with pytest.raises((PlanError, WorkloadError), match=message):
        plan_grid(shape, PURE, **arguments)  # type: ignore[arg-type]
