"""Histograms of several columns under wrong input, damaged files and labels with marks in them; errors of boxes at the ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import DpoptError, PlanError, WorkloadError
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.grids import block_of_cells, blocks_shape
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
from dpopt.synopses.histograms.grids.grid_plan import GridPlan, plan_grid
from dpopt.synopses.histograms.grids.release_grid import release_grid
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.histograms.histogram_plan import plan_blocks
from dpopt.synopses.histograms.release_histogram import release_histogram
from dpopt.synopses.histograms.sorted.release_sorted import plan_sorted, release_sorted
from dpopt.synopses.histograms.sorted.sorted_counts import SortedCountsRelease
from tests.cli.command_line import refuse, succeed
from tests.noises import NoNoise

ADD_REMOVE, REPLACE = NeighbouringRelation.ADD_REMOVE, NeighbouringRelation.REPLACE_ONE
PURE = Budget(1.0, 0.0, None, Accountant.PURE)
ZCDP = Budget(None, 1e-9, 0.05, Accountant.ZCDP)
AGE = Bins.of_attribute(Attribute("age", AttributeKind.NUMERIC, edges=(0, 18, 65), integer=True, missing="?"))
PAY = Bins("pay", 4, ("0-1,000", "1,000-2,000", "from 8:00", "[/]"))
CELLS = np.array([[0, 7, 1, 2], [3, 0, 9, 0], [5, 0, 0, 40]])
THOUSANDS_OF_DIGITS = "9" * 5000


@pytest.fixture(scope="module")
def grid() -> GridHistogram:
    counts = BinCounts.from_counts(CELLS.reshape(-1))
    return release_grid(counts, plan_grid(CELLS.shape, PURE), (AGE, PAY), noise=NoNoise())


@pytest.fixture(scope="module")
def histogram() -> Histogram:
    counts = BinCounts.from_counts(np.array([10, 20, 70]))
    return release_histogram(counts, plan_blocks(3, PURE), AGE, noise=NoNoise())


@pytest.fixture(scope="module")
def ranked() -> SortedCountsRelease:
    counts = BinCounts.from_counts(np.array([1, 5, 9]))
    return release_sorted(counts, plan_sorted(3, PURE, graph=False), noise=NoNoise())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":,:", CELLS.sum()),
        ("0:,:", CELLS[:2].sum()),
        ("missing:missing,:", CELLS[2].sum()),
        ("18:missing,:", CELLS[1:].sum()),
        ("missing:,[/]:[/]", 40),
        (":18,from 8:00:from 8:00", 1),
        (":65,0-1,000:1,000-2,000", 10),
    ],
)
def test_missing_values_and_labels_with_marks_are_named(grid: GridHistogram, text: str, expected: int) -> None:
    assert grid.answer(text).value == pytest.approx(expected)


def test_quantiles_of_numbers_leave_missing_values_out(histogram: Histogram) -> None:
    assert histogram.answer(":").value == pytest.approx(100)
    assert histogram.bins.label(histogram.quantile(1.0)) == "[18, 65]"
    assert histogram.bins.label(histogram.quantile(0.3)) == "[0, 18)"


def test_a_range_that_can_be_read_in_two_ways_is_refused() -> None:
    bins = Bins("c", 3, ("a", "a:a", "b"))
    assert bins.range_of("a:b") == (0, 3)
    with pytest.raises(WorkloadError, match="two ends and a colon"):
        bins.range_of("a:a:a")


@pytest.mark.parametrize("edges", [(0.0, 2.0, 1.0), (0.0, float("nan"), 2.0), (0.0,), (0.0, 1.0, 2.0, 3.0)])
def test_edges_that_are_none_are_refused(edges: tuple[float, ...]) -> None:
    with pytest.raises(WorkloadError, match="edges for 2 bins"):
        Bins("age", 2, None, edges)


DAMAGES: list[tuple[tuple[Any, ...], Any]] = [
    (("scale",), 0),
    (("scale",), -1.0),
    (("scale",), 1e-308),
    (("scale",), 1e308),
    (("scale",), float("nan")),
    (("size",), 10**30),
]


@pytest.mark.parametrize(("place", "value"), DAMAGES)
def test_damaged_plans_are_refused(
    grid: GridHistogram, histogram: Histogram, place: tuple[Any, ...], value: Any
) -> None:
    for released in (grid, histogram):
        given = json.loads(json.dumps(released.to_json()))
        within, key = (given["plan"]["scales"], 0) if place == ("scale",) else (given["plan"], place[0])
        within[key] = value
        with pytest.raises(DpoptError):
            type(released).from_json(given)


@pytest.mark.parametrize(
    ("name", "value"),
    [("scale", 0), ("scale", 1e308), ("largest", 10**30), ("total", 10**400), ("noisy", []), ("what", "sums")],
)
def test_damaged_sorted_counts_are_refused(ranked: SortedCountsRelease, name: str, value: Any) -> None:
    with pytest.raises(DpoptError):
        SortedCountsRelease.from_json({**json.loads(json.dumps(ranked.to_json())), name: value})


@pytest.mark.parametrize("size", [-5, 2**63, None])
def test_a_plan_under_replace_needs_a_number_of_records(size: int | None) -> None:
    for plan in (
        lambda: plan_grid((5, 7), PURE, relation=REPLACE, size=size),
        lambda: plan_blocks(5, PURE, relation=REPLACE, size=size),
    ):
        with pytest.raises(PlanError, match="which is public under replace-one: give it"):
            plan()


@pytest.mark.parametrize("budget", [PURE, ZCDP], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("shape", [(5, 7), (1, 9), (3, 4, 5)])
def test_a_public_total_has_no_error(shape: tuple[int, ...], budget: Budget) -> None:
    cells = np.arange(np.prod(shape)).reshape(shape)
    plan = plan_grid(shape, budget, relation=REPLACE, size=int(cells.sum()))
    found = release_grid(BinCounts.from_counts(cells.reshape(-1)), plan).box(*((0, bins) for bins in shape))
    assert found.standard_error == 0.0
    assert found.low == pytest.approx(cells.sum())
    assert found.high == pytest.approx(cells.sum())


@pytest.mark.parametrize("budget", [PURE, ZCDP], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("shape", [(5, 7), (3, 2, 3), (1, 9)])
def test_stated_errors_bound_every_box(shape: tuple[int, ...], relation: NeighbouringRelation, budget: Budget) -> None:
    """Against the covariance of least squares, by dense linear algebra."""
    plan = plan_grid(shape, budget, shapes="cubes", relation=relation, size=12 if relation is REPLACE else None)
    exact = covariance(plan)
    corners = np.array(list(np.ndindex(*(bins * (bins + 1) // 2 for bins in shape))))
    starts, stops = np.empty_like(corners), np.empty_like(corners)
    for axis, bins in enumerate(shape):
        pairs = np.array([(low, high) for low in range(bins) for high in range(low + 1, bins + 1)])
        starts[:, axis], stops[:, axis] = pairs[corners[:, axis]].T
    inside = np.ones((len(corners), *shape), dtype=bool)
    for axis, places in enumerate(np.ogrid[tuple(slice(bins) for bins in shape)]):
        ends = [side[:, axis].reshape([-1] + [1] * len(shape)) for side in (starts, stops)]
        inside &= (places >= ends[0]) & (places < ends[1])
    boxes = inside.reshape(len(corners), -1).astype(np.float64)
    variances = np.einsum("qi,ij,qj->q", boxes, exact, boxes)
    noisy = tuple(np.zeros(blocks_shape(shape, level), dtype=np.int64) for level in plan.levels)
    axes = tuple(Bins(f"column {place}", bins) for place, bins in enumerate(shape))
    answers = GridHistogram(axes, plan, noisy, {}).boxes_from(starts, stops)
    stated = np.array([answer.standard_error**2 for answer in answers])
    assert (stated >= variances - 1e-9 * variances.max()).all()
    assert stated.mean() < 1.5 * variances.mean()


def covariance(plan: GridPlan) -> NDArray[np.float64]:
    cells = int(np.prod(plan.shape))
    precision = np.zeros((cells, cells))
    for level, own in plan.precisions.items():
        blocks = block_of_cells(plan.shape, level)
        precision += own * (blocks[:, None] == blocks[None, :])
    found = np.linalg.inv(precision)
    if plan.size is not None:
        of_total = found.sum(axis=1)
        found = found - np.outer(of_total, of_total) / of_total.sum()
    return np.asarray(found)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_sums_over_one_of_two_values_are_about_as_accurate_as_by_least_squares(place: int) -> None:
    """Over many nearly empty cells, of which one value has four times as many records as the other."""
    random = np.random.default_rng(5)
    cells = np.moveaxis(random.poisson([0.4, 0.1], (64, 64, 2)), 2, place)
    plan = plan_grid(cells.shape, Budget(None, 1e-9, 0.1, Accountant.ZCDP), shapes="rectangles")
    noisy = []
    for level, scale in zip(plan.levels, plan.scales, strict=True):
        blocks = blocks_shape(cells.shape, level)
        exact = np.bincount(block_of_cells(cells.shape, level), cells.reshape(-1)).astype(np.int64)
        noisy.append((exact + np.rint(random.normal(0.0, scale, exact.size)).astype(np.int64)).reshape(blocks))
    axes = tuple(Bins(f"column {axis}", bins) for axis, bins in enumerate(cells.shape))
    found = GridHistogram(axes, plan, tuple(noisy), {})
    for value in (0, 1):
        sides = [(0, bins) for bins in cells.shape]
        sides[place] = (value, value + 1)
        answer = found.box(*sides)
        assert abs(answer.value - cells.take(value, place).sum()) < 4 * answer.standard_error


def test_a_plan_is_made_from_declared_columns(tmp_path: Path) -> None:
    numbers = {"type": "numeric", "integer": True}
    schema = tmp_path / "schema.json"
    schema.write_text(
        json.dumps(
            {
                "dpopt_schema": 1,
                "draft": False,
                "attributes": [
                    {"name": "age", "edges": [0, 20, 40, 60], **numbers},
                    {"name": "hours", "edges": [0, 10, 20, 30, 40, 50], **numbers},
                ],
            }
        )
    )
    columns = ["--schema", schema, "--columns", "age,hours"]
    plan = ["grid", "plan", "--epsilon", 1, "--json"]
    assert json.loads(succeed(*plan, *columns)) == json.loads(succeed(*plan, "--bins", "3x5"))
    for wrong in ([], [*columns, "--bins", "3x5"], columns[2:], columns[:2]):
        assert "name the bins" in refuse(*plan, *wrong)
    assert "give two or more" in refuse(*plan, *columns[:2], "--columns", "age")
    assert "give two or more" in refuse(*plan, "--bins", "4")


@pytest.mark.parametrize(
    "arguments",
    [
        ["grid", "plan", "--bins", THOUSANDS_OF_DIGITS + "x2"],
        ["grid", "plan", "--bins", "5x7", "--ranges", f"sizes:{THOUSANDS_OF_DIGITS}x1"],
        ["grid", "plan", "--bins", "5x7", "--ranges", "sizes:6x1"],
        ["histogram", "plan", "--bins", 7, "--ranges", f"sizes:{THOUSANDS_OF_DIGITS}"],
        ["degrees", "release", "edges.txt", "--nodes", THOUSANDS_OF_DIGITS, "-o", "new.json"],
    ],
)
def test_long_and_large_numbers_are_refused_in_a_line(arguments: list[object]) -> None:
    assert len(refuse(*arguments, "--epsilon", 1)) < 300


def test_confidence_and_small_budgets_are_shown_as_they_are(tmp_path: Path) -> None:
    table, out = tmp_path / "counts.csv", tmp_path / "out.json"
    table.write_text("n\n3\n5\n")
    text = succeed("histogram", "release", table, "--counts", "n", "--epsilon", 1e-5, "-o", out)
    assert "epsilon = 1e-05, pure (rho = 5e-11)" in text
    assert "99.9% interval" in succeed("histogram", "answer", out, "--confidence", 0.999)
    assert "95% interval" in succeed("histogram", "answer", out)
