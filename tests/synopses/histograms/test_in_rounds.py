"""Histograms and grids whose blocks are measured in rounds: what is measured and costs, how near and sure answers are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.errors import PlanError, TranscriptError
from dpopt.inference.histograms.halves_in_rounds import Round, first_nodes, groups_of, halves_in_rounds, next_nodes
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.grids import sums_before, sums_of_boxes
from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
from dpopt.synopses.histograms.grids.grid_plan import plan_grid
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.histograms.histogram_plan import plan_blocks
from dpopt.synopses.histograms.in_rounds import next_round, rounds_of
from dpopt.synopses.histograms.release_histogram import planned_histogram
from dpopt.synopses.histograms.released_counts import spread_boxes
from dpopt.synopses.release import Request

Counts = np.ndarray[tuple[int], np.dtype[np.int64]]
PURE = Budget(1.0, 0.0, None, Accountant.PURE)
SPARSE = np.zeros(512, dtype=np.int64)
SPARSE[[3, 4, 5, 300]] = 4_000, 2_500, 900, 1_200
WIDE = np.concatenate((SPARSE, np.zeros(7 * 512, dtype=np.int64)))


def released(counts: Counts, measure: str = "rounds", **how: Any) -> Histogram:
    how = how or {"epsilon": 0.5}
    return dpopt.histogram(pd.DataFrame({"n": counts}), counts="n", measure=measure, **how)


def grid_of(cells: np.ndarray[tuple[int, int], np.dtype[np.int64]], shapes: str = "auto", **how: Any) -> GridHistogram:
    axes = tuple(
        dpopt.Attribute(name, dpopt.AttributeKind.NUMERIC, edges=tuple(range(side + 1)))
        for name, side in zip("ab", cells.shape, strict=True)
    )
    places = np.repeat(np.arange(cells.size), cells.reshape(-1))
    table = pd.DataFrame(dict(zip("ab", np.unravel_index(places, cells.shape), strict=True)))
    return dpopt.grid(table, dpopt.Schema(axes), ("a", "b"), shapes=shapes, **how)


def test_empty_blocks_stay_whole_and_get_what_is_left_of_the_budget() -> None:
    found = released(WIDE)
    assert len(found.noisy) == 3
    groups = [groups_of(WIDE.shape, nodes) for nodes, _ in found.noisy[::-1]]
    assert groups[0].min() == 0
    for (nodes, _), each in zip(found.noisy[::-1], groups, strict=True):
        assert np.unique(each[each >= 0]).size == len(nodes)
    assert np.mean(groups[-1] < 0) > 0.5  # measured for the last time before
    assert len(found.noisy[0][0]) < 100  # bins of one block or a few, beside larger blocks
    epsilons = np.zeros(WIDE.size)
    for one, each in zip(rounds_of(found.plan, found.noisy), groups, strict=True):
        variances = np.append(np.broadcast_to(one.variance, one.nodes.shape), np.inf)[each]
        epsilons += np.arccosh(1 + 1 / variances)  # of discrete Laplace noise of this variance
    np.testing.assert_allclose(epsilons, 0.5, rtol=1e-6)
    assert found.privacy["epsilon"] == pytest.approx(0.5)


def test_files_whose_rounds_do_not_fit_together_are_refused() -> None:
    found = released(WIDE)
    cells, blocks, first = found.noisy
    back, whole = (np.stack((np.arange(n, 2 * n), np.zeros(n, np.int64))) for n in (WIDE.size, 1))
    for broken in ((back, blocks[:, :-1], first), (cells[:, 1:], blocks, first), (cells, whole, first)):
        with pytest.raises(TranscriptError, match="last time"):
            rounds_of(found.plan, broken)
    with pytest.raises(TranscriptError, match="first round"):
        rounds_of(found.plan, (cells[:, :0], blocks[:, :0], first[:, :1]))
    every = (back, *(np.stack((np.arange(n, 2 * n), np.ones(n, np.int64))) for n in (WIDE.size >> 4, WIDE.size >> 8)))
    assert not any(
        np.any(one.last) for one in rounds_of(found.plan, every)
    )  # files of before have all cells in all rounds


def test_answers_are_nearer_than_those_of_all_blocks_where_most_bins_are_empty() -> None:
    """Twenty releases each: the geometric mean of squared errors is 5 to 15 times smaller; false alarms below 1e-5.

    The logarithm of the squared error of a release has a standard deviation of 1.1, so that of the difference of means is .35.
    """
    ends = np.random.default_rng(0).integers(0, 513, (400, 2))
    ends = np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1)
    sums = np.concatenate(([0], np.cumsum(SPARSE)))
    truth = sums[ends[:, 1]] - sums[ends[:, 0]]
    wanted = [(int(low), int(high)) for low, high in ends]
    logs: dict[str, list[float]] = {"blocks": [], "rounds": []}
    held = []
    for measure, found in logs.items():
        for _ in range(20):
            answers = released(SPARSE, measure).ranges(wanted)
            found.append(np.log(sum((one.value - true) ** 2 for one, true in zip(answers, truth, strict=True))))
            if measure == "rounds":
                held += [one.low <= true <= one.high for one, true in zip(answers, truth, strict=True)]
    assert np.mean(logs["rounds"]) < np.mean(logs["blocks"])
    assert np.mean(held) > 0.8


@pytest.mark.parametrize("how", [{"rho": 0.5}, {"epsilon": 1.0, "neighbours": "replace"}])
def test_gaussian_noise_and_a_public_number_of_records(how: dict[str, Any], tmp_path: Path) -> None:
    found = released(SPARSE, **how)
    assert found.range(0, 512).value == pytest.approx(SPARSE.sum(), abs=100 if "rho" in how else 1e-3)
    found.write(tmp_path / "one.npz")
    again = Histogram.read(tmp_path / "one.npz")
    assert again.range(2, 9) == found.range(2, 9)
    np.testing.assert_array_equal(again.counts, found.counts)


@pytest.mark.parametrize("bins", [1, 2, 3, 5, 37, 100])
def test_any_number_of_bins(bins: int) -> None:
    counts = np.arange(bins, dtype=np.int64) * 100
    found = released(counts, epsilon=1000.0)
    np.testing.assert_allclose(found.counts, counts, atol=2)


def test_columns_of_any_sizes(tmp_path: Path) -> None:
    cells = np.zeros((5, 12), dtype=np.int64)
    cells[1:3, 4:9] = 300
    found = grid_of(cells, "rounds", epsilon=50.0)
    np.testing.assert_allclose(found.counts, cells, atol=3)
    assert found.box((1, 3), (4, 9)).low <= 3_000 <= found.box((1, 3), (4, 9)).high
    found.write(tmp_path / "grid.npz")
    assert GridHistogram.read(tmp_path / "grid.npz").box((0, 2), (3, 7)) == found.box((0, 2), (3, 7))


def test_exact_rounds_give_the_exact_cells() -> None:
    first = Round(np.array([2, 3]), np.array([100, 40]), 0.0)
    nodes = next_nodes((4,), [first], 2, 0.0)
    np.testing.assert_array_equal(nodes, [4, 5, 6, 7])
    cells = halves_in_rounds((4,), [first, Round(nodes, np.array([90, 10, 0, 40]), 0.0)]).cells
    np.testing.assert_allclose(cells, [90, 10, 0, 40], atol=1e-3)


def test_no_box_is_stated_without_an_error_where_few_records_lie_beside_many() -> None:
    """Fixed draws: 94 % of 400 boxes are covered; 84 %, some without an error, while a share cut to 0 had no variance."""
    draws, shape = np.random.default_rng(3), (64, 64)
    cells = draws.poisson(0.02, shape)
    cells[[5, 20, 21], [40, 9, 9]] = 3_000, 2_000, 700
    found: list[Round] = []
    for depth in (6, 12):
        nodes = next_nodes(shape, found, depth, 8.0) if found else first_nodes(shape, depth)
        sums = np.bincount(groups_of(shape, nodes), weights=cells.reshape(-1))
        found.append(Round(nodes, np.rint(sums + draws.laplace(scale=2.0, size=sums.size)).astype(np.int64), 8.0))
    ends = draws.integers(0, 64, (2, 400, 2))
    starts, stops = ends.min(axis=0), ends.max(axis=0) + 1
    release = halves_in_rounds(shape, found)
    errors = np.sqrt(release.variances(starts, stops))
    answers, truth = (
        sums_of_boxes(sums_before(one), starts, stops) for one in (release.cells, cells.astype(np.float64))
    )
    missed = np.abs(answers - truth)
    assert errors.min() > 0.01
    assert (missed <= 1.96 * errors).mean() > 0.9


def test_blocks_that_hold_few_records_together_are_one_again() -> None:
    first = Round(np.arange(8, 16), np.array([100, 0, 0, 1, 2, 0, -1, 0]), 1.0)
    np.testing.assert_array_equal(next_nodes((8,), [first], 3, 1.0), [8, 9, 5, 3])


def test_only_quiet_rounds_let_a_block_have_its_last_time() -> None:
    first = Round(np.arange(8, 16), np.array([1000, 0, 0, 1, 2, 0, -1, 0]), 1.0)
    for scale, sure in ((5.0, True), (30.0, False)):
        nodes, last = next_round((64,), [first], (1,), (scale, 4.0, 2.0), gaussian=True)
        np.testing.assert_array_equal(nodes, [32, 33, 34, 35, 9, 5, 3])
        np.testing.assert_array_equal(last, [False] * 4 + [sure] * 3)


def test_a_block_of_a_last_time_is_left_out_and_its_parts_are_not_joined() -> None:
    first = Round(np.array([2, 3]), np.array([100, 0]), 1.0)
    second = Round(np.array([4, 5, 3]), np.array([95, 0, 0]), np.array([1.0, 1.0, 0.3]), np.array([False, False, True]))
    np.testing.assert_array_equal(next_nodes((16,), [first, second], 4, 1.0), [16, 17, 18, 19, 5])
    np.testing.assert_array_equal(groups_of((16,), np.array([4, 5])), [0] * 4 + [1] * 4 + [-1] * 8)
    everything = replace(first, last=np.ones(2, dtype=np.bool_))
    assert next_nodes((16,), [everything], 4, 1.0).size == 0
    assert halves_in_rounds((16,), [first, second, Round(np.zeros(0, np.int64), np.zeros(0, np.int64), 1.0)]).total > 0


def test_a_block_that_turns_out_to_hold_many_is_divided_to_the_level() -> None:
    """It was measured whole; its parts, of which nothing is known, are divided though each may hold few."""
    rounds = [Round(np.array([2, 3]), np.array([4, 60]), 1.0), Round(np.array([2, 6, 7]), np.array([40, 30, 30]), 1.0)]
    np.testing.assert_array_equal(next_nodes((16,), rounds, 4, 1.0), np.arange(16, 32))


def test_other_estimates_models_and_options_are_refused() -> None:
    found = released(SPARSE)
    for name in ("divided", "least-squares", "nonnegative", "zeroing"):
        with pytest.raises(PlanError, match="rounds"):
            found.estimate(name)
    with pytest.raises(PlanError, match="rounds"):
        found.model()
    assert found.inferences() == {}
    with pytest.raises(PlanError, match="hierarchy"):
        dpopt.histogram(pd.DataFrame({"n": SPARSE}), counts="n", measure="rounds", hierarchy="h.json", epsilon=1)
    cells = np.full((4, 4), 20)
    grid = grid_of(cells, "rounds", epsilon=1.0)
    for name in ("divided", "least-squares"):
        with pytest.raises(PlanError, match="rounds"):
            grid.box((0, 1), (0, 1), estimate=name)
    with pytest.raises(PlanError, match="rounds"):
        grid.model()


def test_two_columns_are_measured_in_rounds_by_default() -> None:
    """Where there are several rounds, noise is Laplace's, and nothing asks for what rounds do not have."""
    plan = plan_grid((64, 64), PURE)
    assert plan.rounds
    assert plan.levels == plan_grid((64, 64), PURE, shapes="rounds").levels
    assert plan.scales == plan_grid((64, 64), PURE, shapes="rounds").scales
    assert not plan_grid((4, 8), PURE).rounds  # one round
    assert not plan_grid((64, 64), PURE, modelled=True).rounds
    assert not plan_grid((64, 64), PURE, shapes="cubes").rounds
    assert not plan_grid((64, 64), PURE, ranges="sizes:1x1").rounds
    assert not plan_grid((16, 16, 16), PURE).rounds
    assert not plan_grid((64, 64), Budget(None, 1e-9, 0.5, Accountant.ZCDP)).rounds


def test_one_column_is_measured_in_rounds_by_default() -> None:
    """Where large blocks are planned, noise is Laplace's, and nothing asks for what rounds do not have."""

    def plan(bins: int, *, budget: Budget = PURE, **how: Any) -> Any:
        return planned_histogram(Bins("bins", bins), Request(epsilon=1.0, delta=0), budget, **how)

    chosen = plan(100)
    assert chosen.rounds
    assert plan(100, measure="rounds").to_json() == chosen.to_json()
    assert plan(4096, ranges="prefixes").rounds
    assert not plan(33).rounds  # one round
    small = plan(3, budget=Budget(1_000.0, 0.0, None, Accountant.PURE))
    assert len(small.heights) > 1
    assert not small.rounds
    for how in ({"ranges": "worst"}, {"ranges": "sizes:64"}, {"modelled": True}):
        assert not plan(64, **how).rounds
    assert not plan(100, budget=Budget(None, 1e-9, 0.5, Accountant.ZCDP)).rounds
    assert not getattr(plan(100, branching=2), "rounds", False)


@pytest.mark.parametrize(
    ("budget", "power", "amount"), [(PURE, 1, 1.0), (Budget(None, 1e-9, 0.5, Accountant.ZCDP), 2, 0.5)]
)
def test_each_round_gets_more_than_the_one_after_it_beside_the_best_budgets_of_all_blocks(
    budget: Budget, power: int, amount: float
) -> None:
    rounds, blocks = plan_blocks(4096, budget, rounds=True), plan_blocks(4096, budget)
    assert rounds.heights == blocks.heights
    more = (np.array(blocks.scales) / np.array(rounds.scales)) ** power  # single bins first
    np.testing.assert_allclose(more[1:] / more[:-1], 1.2, rtol=1e-6)
    assert rounds.predicted["all ranges"] > blocks.predicted["all ranges"]
    for scales in (rounds.scales, plan_grid((64, 64), budget, shapes="rounds").scales):
        paid = sum(1 / scale**power / power for scale in scales)
        assert paid <= amount
        assert paid == pytest.approx(amount, rel=1e-9)


@pytest.mark.parametrize("shape", [(2,), (512,), (1000,), (64, 64), (20, 300), (8, 9, 10)])
def test_the_verdict_has_the_stated_error_of_all_boxes_and_not_that_of_full_blocks(shape: tuple[int, ...]) -> None:
    cells = np.zeros(shape, dtype=np.int64)
    cells.flat[:: max(1, cells.size // 9)] = 3_000
    plan = plan_grid(shape, PURE, shapes="rounds")
    axes = tuple(
        dpopt.Attribute(f"c{place}", dpopt.AttributeKind.NUMERIC, edges=tuple(range(side + 1)))
        for place, side in enumerate(shape)
    )
    places = np.repeat(np.arange(cells.size), cells.reshape(-1))
    rows = pd.DataFrame(dict(zip((one.name for one in axes), np.unravel_index(places, shape), strict=True)))
    names = [one.name for one in axes]
    found = dpopt.grid(rows, dpopt.Schema(axes), names, shapes="rounds", epsilon=1, delta=0)
    ends = np.random.default_rng(0).integers(0, np.add(shape, 1), (40_000, 2, len(shape)))
    ends = np.sort(ends[(ends[:, 0] != ends[:, 1]).all(axis=1)], axis=1)
    stated = found.boxes_from(ends[:2000, 0], ends[:2000, 1])
    which, error, _ = found._error()
    assert which == "counts of all boxes"
    assert error == pytest.approx(np.sqrt(np.mean([one.standard_error**2 for one in stated])), rel=0.2)
    if cells.size > 500:
        assert error < 0.7 * plan.predicted["all boxes"] ** 0.5
    starts, stops = spread_boxes(shape)
    assert ((starts >= 0) & (starts < stops) & (stops <= shape)).all()


def test_single_bins_of_rounds_get_their_least_share() -> None:
    """Seventeen rounds, each with 1.2 times the one after it, would leave single bins .9 % of this budget."""
    epsilons = 1 / np.array(plan_blocks(2**16, replace(PURE, epsilon=1_000.0), rounds=True).scales)
    assert epsilons.size > 16
    assert epsilons[0] == pytest.approx(0.02 * epsilons.sum())
    np.testing.assert_allclose(epsilons[3:] / epsilons[2:-1], 1.2, rtol=1e-6)


def test_a_named_solver_measures_what_it_can_solve() -> None:
    with pytest.raises(PlanError, match="rounds have no solver"):
        plan_grid((64, 64), Budget(None, 1e-9, 0.5, Accountant.ZCDP), shapes="rounds", solver="clarabel")
    by_solver = dpopt.histogram(pd.DataFrame({"n": SPARSE}), counts="n", epsilon=0.5, delta=0, solver="closed-form")
    assert not by_solver.plan.round_levels
    assert released(SPARSE, "auto", epsilon=0.5, delta=0).plan.round_levels
    cells = np.full((64, 64), 2)
    assert grid_of(cells, epsilon=0.5).plan.rounds
    solved = grid_of(cells, epsilon=0.5, solver="closed-form")
    assert not solved.plan.rounds
    assert solved.box((0, 9), (3, 20)).value == pytest.approx(solved.least_squares[:9, 3:20].sum(), abs=1e-3)


def test_nodes_that_do_not_divide_all_bins_are_refused() -> None:
    given = released(SPARSE).to_json()
    given["noisy"][0][0][0] += 1
    with pytest.raises(TranscriptError):
        Histogram.from_json(given)
    given["noisy"][0] = [1, 2]
    with pytest.raises(TranscriptError, match="two rows"):
        Histogram.from_json(given)
