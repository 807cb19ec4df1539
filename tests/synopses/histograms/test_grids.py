"""Histograms of several columns: plans held against dense least squares, and from exact counts to answers and refusals."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, PrivateDataError, WorkloadError
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.grids import block_of_cells, blocks_shape, grid_levels
from dpopt.synopses.histograms.grids.box_workload import BoxWorkload, cubes
from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
from dpopt.synopses.histograms.grids.grid_plan import GridPlan, blocks_name, plan_grid
from dpopt.synopses.histograms.grids.release_grid import release_grid
from dpopt.synopses.histograms.histogram_plan import plan_blocks
from tests.noises import NoNoise

ADD_REMOVE, REPLACE = NeighbouringRelation.ADD_REMOVE, NeighbouringRelation.REPLACE_ONE
PURE = Budget(1.0, 0.0, None, Accountant.PURE)
ZCDP = Budget(None, 1e-9, 0.5, Accountant.ZCDP)
HALF, SMALL = Budget(0.5, 0.0, None, Accountant.PURE), Budget(None, 1e-9, 0.05, Accountant.ZCDP)
CELLS = np.array([[0, 0, 12, 40, 7], [0, 0, 3, 0, 0], [25, 1, 0, 0, 8]])
RELATIONS = [(ADD_REMOVE, None), (REPLACE, int(CELLS.sum()))]


def released(
    noise: Any = None, budget: Budget = PURE, cells: NDArray[np.int64] = CELLS, **options: Any
) -> GridHistogram:
    plan = plan_grid(cells.shape, budget, **options)
    axes = (Bins("age", 3, ("young", "grown", "old")), Bins("income", 5, None, (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)))
    return release_grid(BinCounts.from_counts(cells.reshape(-1)), plan, axes if cells is CELLS else None, noise=noise)


@pytest.mark.parametrize("shapes", ["auto", "cubes", "rectangles", "cells"])
@pytest.mark.parametrize(("relation", "size"), RELATIONS)
def test_without_noise_the_counts_are_exact(relation: NeighbouringRelation, size: int | None, shapes: str) -> None:
    found = released(NoNoise(), relation=relation, size=size, shapes=shapes)
    assert found.counts == pytest.approx(CELLS, abs=1e-9)
    assert found.least_squares == pytest.approx(CELLS, abs=1e-9)
    assert found.total == pytest.approx(CELLS.sum())
    assert found.box((0, 2), (2, 4)).value == pytest.approx(55)
    assert found.whole_counts().tolist() == CELLS.tolist()
    assert not found.privacy["private"]


def test_boxes_are_named_by_a_range_for_each_column() -> None:
    found = released(NoNoise())
    assert found.answer("young:grown,2:8").value == pytest.approx(55)
    assert found.answer(":,:").value == pytest.approx(CELLS.sum())
    with pytest.raises(WorkloadError, match="expected 2 ranges with commas between them, for age, income"):
        found.answer("young:old")
    with pytest.raises(WorkloadError, match="'baby' is not one of its values"):
        found.answer("baby:old,:")
    with pytest.raises(WorkloadError, match="confidence"):
        found.box((0, 1), (0, 1), confidence=1.0)


@pytest.mark.parametrize("budget", [PURE, ZCDP], ids=["Laplace", "Gaussian"])
def test_a_private_release_is_consistent_and_not_negative(budget: Budget) -> None:
    found = released(budget=budget)
    assert found.privacy["private"]
    assert found.counts.min() >= 0.0
    whole, left, right = (found.box(*sides).value for sides in (((0, 3), (0, 5)), ((0, 3), (0, 2)), ((0, 3), (2, 5))))
    assert whole == pytest.approx(left + right)
    assert found.whole_counts().sum() == round(found.total)
    assert "'age' (3) x 'income' (5)" in repr(found)


def test_standard_errors_are_those_of_many_releases() -> None:
    """16 x 8 cells, 500 releases: the mean squared error of the least-squares estimate of a box is its stated variance.

    Its relative standard deviation is below .08 (Laplace noise: at most kurtosis 6); the test allows .32, four of them, so that
    it fails by chance in fewer than 1 of 10,000 runs. A variance that is off by a factor of 2 would always be found.
    """
    cells = np.arange(128).reshape(16, 8)
    plan = plan_grid(cells.shape, PURE, shapes="rectangles")
    sides = ((3, 11), (1, 6))
    exact = cells[3:11, 1:6].sum()
    counts = BinCounts.from_counts(cells.reshape(-1))
    errors, stated = [], 0.0
    for _ in range(500):
        one = release_grid(counts, plan)
        errors.append(one.least_squares[3:11, 1:6].sum() - exact)
        stated = one.box(*sides).standard_error
    assert np.mean(np.square(errors)) == pytest.approx(stated**2, rel=0.32)


def test_what_does_not_fit_is_refused() -> None:
    plan = plan_grid((4, 4), PURE)
    counts = BinCounts.from_counts(np.ones(16, dtype=np.int64))
    with pytest.raises(PlanError, match="for a plan of"):
        release_grid(counts, plan, (Bins("a", 4), Bins("b", 5)))
    with pytest.raises(PrivateDataError, match="16 bins, and 15 were counted"):
        release_grid(BinCounts.from_counts(np.ones(15, dtype=np.int64)), plan)
    replaced = plan_grid((4, 4), PURE, relation=REPLACE, size=17)
    with pytest.raises(PrivateDataError):
        release_grid(counts, replaced)


def dense_mean_variance(plan: GridPlan) -> float:
    """Return the mean variance of all boxes by dense generalised least squares; no formula of the page."""
    rows = [
        (np.arange(np.prod(blocks_shape(plan.shape, level)))[:, None] == block_of_cells(plan.shape, level)[None, :])
        * precision**0.5
        for level, precision in plan.precisions.items()
    ]
    information = sum(row.T @ row for row in rows)
    covariance = np.linalg.inv(np.asarray(information))
    total, number = 0.0, 0
    sides = [[(start, stop) for start in range(bins) for stop in range(start + 1, bins + 1)] for bins in plan.shape]
    for one in sides[0]:
        for other in sides[1]:
            box = np.zeros(plan.shape)
            box[one[0] : one[1], other[0] : other[1]] = 1.0
            total += float(box.reshape(-1) @ covariance @ box.reshape(-1))
            number += 1
    return total / number


@pytest.mark.parametrize("budget", [HALF, SMALL], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("shapes", ["cubes", "rectangles", "cells", "auto"])
@pytest.mark.parametrize("shape", [(4, 4), (8, 2)])
def test_predicted_variances_are_of_dense_least_squares(shape: tuple[int, ...], shapes: str, budget: Budget) -> None:
    plan = plan_grid(shape, budget, shapes=shapes)
    assert plan.predicted["all boxes"] == pytest.approx(dense_mean_variance(plan), rel=2e-3)


@pytest.mark.parametrize("budget", [HALF, SMALL], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("ranges", ["all", "sizes:1x1,4x4"])
def test_more_shapes_are_never_predicted_to_be_worse(ranges: str, budget: Budget) -> None:
    """But for levels that are left out because they hardly count: 2 per cent."""
    predicted = {
        shapes: plan_grid((16, 16), budget, ranges=ranges, shapes=shapes) for shapes in ("cells", "cubes", "rectangles")
    }
    workload = BoxWorkload.parse(ranges, (16, 16))
    every = grid_levels((16, 16))
    program = workload.program(
        every, amount=0.5 if budget is HALF else 0.05, sensitivity=1, gaussian=budget is SMALL, known_total=False
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
    found = plan_grid(shape, SMALL, shapes="rectangles").predicted["all boxes"]
    assert float(reference.value) * (1 - 1e-6) <= found <= float(reference.value) * 1.01


def test_one_column_is_planned_as_by_the_plan_of_one_column() -> None:
    grid, line = plan_grid((64,), HALF), plan_blocks(64, HALF)
    assert grid.predicted["all boxes"] == pytest.approx(line.predicted["all ranges"], rel=1e-2)


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("budget", [HALF, SMALL], ids=["Laplace", "Gaussian"])
def test_a_plan_spends_its_budget(budget: Budget, relation: NeighbouringRelation) -> None:
    size = None if relation is NeighbouringRelation.ADD_REMOVE else 100
    plan = plan_grid((8, 8), budget, relation=relation, size=size)
    assert budget.allows(plan.charges())
    spent = sum(charge.parameter for charge in plan.charges())
    assert spent == pytest.approx(0.5 if budget is HALF else 0.05, rel=1e-6)


def test_rectangles_are_taken_where_they_are_better_by_a_fifth() -> None:
    """With Gaussian noise products of trees are far better than quadtrees; with Laplace noise they hardly are."""
    assert all(len(set(level)) == 1 for level in plan_grid((64, 64), HALF, modelled=True).levels)
    assert any(len(set(level)) > 1 for level in plan_grid((64, 64), SMALL).levels)


def test_cubes_end_at_the_whole_of_a_short_column() -> None:
    assert cubes((16, 4)) == [(0, 0), (1, 1), (2, 2), (3, 2), (4, 2)]


def test_a_public_total_is_not_bought() -> None:
    plan = plan_grid((8, 8), SMALL, relation=NeighbouringRelation.REPLACE_ONE, size=7)
    assert (3, 3) not in plan.levels
    assert plan.part_variances[-1, -1] == 0.0


def test_blocks_have_names() -> None:
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
def test_what_cannot_be_planned_is_refused(shape: tuple[int, ...], arguments: dict[str, str], message: str) -> None:
    with pytest.raises((PlanError, WorkloadError), match=message):
        plan_grid(shape, HALF, **arguments)  # type: ignore[arg-type]
