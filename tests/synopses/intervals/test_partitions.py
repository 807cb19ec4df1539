"""Released intervals and boxes: where they end without noise, their answers and bounds, their files and records."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, PrivateDataError, TranscriptError, WorkloadError
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.bins import Bins
from dpopt.synopses.histograms.histogram_plan import plan_blocks
from dpopt.synopses.histograms.release_histogram import release_histogram
from dpopt.synopses.intervals.interval_plan import IntervalPlan, plan_intervals
from dpopt.synopses.intervals.joined_bins import join_bins, write_joined
from dpopt.synopses.intervals.partition import Partition
from dpopt.synopses.intervals.partition_release import PartitionRelease, synthetic_cells, write_boxes, write_records
from dpopt.synopses.intervals.release_intervals import release_partition
from dpopt.synopses.intervals.split_plan import plan_split
from tests.noises import NoNoise
from tests.tiny_runs import ADD_REMOVE, REPLACE

PURE, RHO = Budget(1.0, 0.0, None, Accountant.PURE), Budget(None, 1e-9, 0.5, Accountant.ZCDP)


def column() -> NDArray[np.int64]:
    return np.repeat([40, 0, 5], [30, 10, 60]).astype(np.int64)


def grid() -> NDArray[np.int64]:
    return np.random.default_rng(7).poisson(np.add.outer(np.arange(16), np.arange(12))).astype(np.int64)


def intervals(relation: NeighbouringRelation = ADD_REMOVE, **more: object) -> PartitionRelease:
    counts = column()
    plan = plan_intervals(100, PURE, int(counts.sum()), relation=relation, intervals=6, **more)  # type: ignore[arg-type]
    return release_partition(BinCounts.from_counts(counts), plan, noise=NoNoise())


def boxes(relation: NeighbouringRelation = ADD_REMOVE, budget: Budget = PURE) -> PartitionRelease:
    cells = grid()
    plan = plan_split(cells.shape, budget, int(cells.sum()), relation=relation, rounds=2)
    return release_partition(BinCounts.from_counts(cells.reshape(-1)), plan, noise=NoNoise())


def test_without_noise_intervals_end_where_the_threshold_is_reached() -> None:
    released = intervals()
    assert isinstance(released.plan, IntervalPlan)
    counts, threshold = column(), released.plan.threshold
    start, expected = 0, [0, counts.size - 1]
    for _ in range(5):
        reached = np.flatnonzero(np.cumsum(counts[start:]) >= threshold)
        if not reached.size or start + reached[0] == counts.size - 1:
            break
        end = start + int(reached[0])
        expected += [end, end + 1]
        start = end + 1
    assert released.partition.starts[:, 0].tolist() == sorted(set(expected))
    exact = np.add.reduceat(counts, released.partition.starts[:, 0])
    np.testing.assert_allclose(released.weights, exact)


def test_without_noise_boxes_are_halves_of_halves_and_their_counts_exact() -> None:
    for relation in (ADD_REMOVE, REPLACE):
        for budget in (PURE, RHO):
            released = boxes(relation, budget)
            partition, cells = released.partition, grid()
            assert len(partition) == 16
            sums = [
                cells[a:b, c:d].sum()
                for (a, c), (b, d) in zip(partition.starts.tolist(), partition.stops.tolist(), strict=True)
            ]
            np.testing.assert_allclose(released.weights, sums)
            assert max(sums) - min(sums) < 0.08 * cells.sum()
            assert released.total == pytest.approx(cells.sum())


@pytest.mark.parametrize("kind", ["intervals", "boxes"])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_the_truth_lies_within_the_bounds(kind: str, relation: NeighbouringRelation) -> None:
    """Without noise always, with noise at the stated confidence: 0.95 each, of 60 fewer than 40 less likely than 1e-15."""
    generator = np.random.default_rng(2)
    exact = column() if kind == "intervals" else grid()
    size = int(exact.sum())
    if kind == "intervals":
        plan = plan_intervals(100, PURE, size, relation=relation)
        noisy = release_partition(BinCounts.from_counts(exact), plan)
    else:
        split = plan_split(exact.shape, PURE, size, relation=relation)
        noisy = release_partition(BinCounts.from_counts(exact.reshape(-1)), split)
    quiet = intervals(relation) if kind == "intervals" else boxes(relation)
    asked = []
    for _ in range(60):
        ends = [sorted(generator.choice(side + 1, 2, replace=False).tolist()) for side in exact.shape]
        asked.append([(low, high) for low, high in ends])
    true = [int(exact[tuple(slice(*side) for side in sides)].sum()) for sides in asked]
    for released, least in ((quiet, 60), (noisy, 40)):
        answers = released.boxes(asked)
        held = sum(one.low - 1e-6 <= value <= one.high + 1e-6 for one, value in zip(answers, true, strict=True))
        assert held >= least
        for one in answers:
            assert one.low <= one.high
            assert one.bound == pytest.approx(max(one.value - one.low, one.high - one.value))


def test_the_bound_counts_the_noise_of_least_squares_exactly() -> None:
    """The standard deviation that the weights of noisy counts give is that of 2,000 drawn tables of noise (5 % at 6 sigma)."""
    released = boxes(REPLACE, RHO)
    generator, tree = np.random.default_rng(3), released.partition.tree
    chosen = np.zeros((1, len(released.partition)), dtype=bool)
    chosen[0, 3:9] = True
    values = np.zeros((len(tree), 1))
    values[tree.leaf_of_bin] = chosen.T * released._variances[tree.leaf_of_bin, None]
    covariances = released._gains.fit(values)
    predicted = float((covariances[tree.leaf_of_bin] * chosen.T).sum())
    weights = covariances[1:, 0] / released._variances[1:]
    assert float((weights**2 * released._variances[1:]).sum()) == pytest.approx(predicted)
    noise = np.zeros((len(tree), 2_000))
    noise[1:] = generator.normal(size=(len(tree) - 1, 2_000)) * np.sqrt(released._variances[1:, None])
    found = released._gains.fit(noise)[tree.leaf_of_bin][chosen[0]].sum(axis=0)
    assert found.std() == pytest.approx(np.sqrt(predicted), rel=6 / np.sqrt(2 * 2_000))
    np.testing.assert_allclose(found, weights @ noise[1:], atol=1e-8)


def test_ranges_and_boxes_are_named_as_elsewhere() -> None:
    assert intervals().answer("30:40").value == intervals().boxes([[(30, 40)]])[0].value
    assert boxes().answer("2:5,:").value == boxes().boxes([[(2, 5), (0, 12)]])[0].value
    with pytest.raises(WorkloadError, match="expected 2 ranges"):
        boxes().answer("1:2")
    with pytest.raises(WorkloadError, match="expected 0 <= start < stop"):
        intervals().boxes([[(5, 5)]])
    with pytest.raises(WorkloadError, match="confidence"):
        intervals().boxes([[(5, 6)]], confidence=1.5)


@pytest.mark.parametrize("make", [intervals, boxes, lambda: intervals(REPLACE)])
def test_damage_is_noticed(make: object) -> None:
    released: PartitionRelease = make()  # type: ignore[operator]
    kept = json.loads(json.dumps(released.to_json()))
    deeper: list[Any] = [[[one] for one in level] for level in kept["noisy"]]
    for change, message in (
        ({"noisy": [[1]]}, "found noisy sums"),
        ({"noisy": deeper}, "found noisy sums"),
        ({"partition": {**kept["partition"], "shape": [7]}}, "outside the grid|of 1 axes|found boxes"),
        ({"axes": kept["axes"][:1] * 3}, "found columns of"),
        ({"plan": {}}, "as 'kind', expected one of intervals, split"),
    ):
        with pytest.raises(TranscriptError, match=message):
            PartitionRelease.from_json({**kept, **change})
    partition = {**kept["partition"], "stops": [[1]] * len(kept["partition"]["stops"])}
    with pytest.raises(TranscriptError):
        PartitionRelease.from_json({**kept, "partition": partition})


def test_sizes_that_nothing_can_have_are_refused_before_anything_has_them() -> None:
    kept = json.loads(json.dumps(boxes().to_json()))
    for key in ("rounds", "shape"):
        huge = {**kept["plan"], key: 10**15 if key == "rounds" else [10**15] * 2}
        with pytest.raises(TranscriptError, match="at most"):
            PartitionRelease.from_json({**kept, "plan": huge})
    with pytest.raises(TranscriptError, match="at most"):
        PartitionRelease.from_json({**kept, "partition": {**kept["partition"], "shape": [2**31, 12]}})


def test_groups_that_do_not_divide_each_other_are_refused() -> None:
    starts, stops = np.array([[0], [2], [4]]), np.array([[2], [4], [6]])
    ones = np.ones(3, dtype=np.int64)
    assert len(Partition((6,), starts, stops, (np.array([1, 2]), ones)).tree) == 6
    with pytest.raises(TranscriptError, match="level above"):
        Partition((6,), starts, stops, (np.array([1, 2]), np.array([2, 1]), ones))
    with pytest.raises(TranscriptError, match="do not divide the 3 boxes"):
        Partition((6,), starts, stops, (np.array([1, 1]),))
    with pytest.raises(TranscriptError, match="lowest level"):
        Partition((6,), starts, stops, (np.array([1, 2]),))
    with pytest.raises(TranscriptError, match="do not divide the grid"):
        Partition((6,), starts, np.array([[2], [5], [6]]), ())


def test_plans_and_tables_that_do_not_fit_are_refused() -> None:
    plan = plan_intervals(100, PURE, 1500)
    with pytest.raises(PrivateDataError, match="made for 100 bins, and 99 were counted"):
        release_partition(BinCounts.from_counts(column()[1:]), plan)
    with pytest.raises(PlanError, match="found 99 bins"):
        release_partition(BinCounts.from_counts(column()), plan, (Bins("x", 99),))
    with pytest.raises(PrivateDataError, match="plan was made for n = 7"):
        release_partition(BinCounts.from_counts(column()), plan_intervals(100, PURE, 7, relation=REPLACE))
    split = plan_split((16, 12), PURE, 1500)
    with pytest.raises(PrivateDataError, match="made for 192"):
        release_partition(BinCounts.from_counts(column()), split)
    with pytest.raises(PlanError, match="found 16 x 13 bins"):
        release_partition(BinCounts.from_counts(column()), split, (Bins("x", 16), Bins("y", 13)))


def test_an_empty_table_and_two_bins_can_be_released() -> None:
    for relation in (ADD_REMOVE,):
        plan = plan_intervals(2, PURE, 10, relation=relation)
        released = release_partition(BinCounts.from_counts([0, 0]), plan)
        assert released.weights.min() >= 0
        split = release_partition(BinCounts.from_counts([0] * 4), plan_split((2, 2), PURE, 10, relation=relation))
        assert len(split.partition) == 4


def test_tables_and_records_are_written(tmp_path: Path) -> None:
    released = boxes()
    write_boxes(released, tmp_path / "boxes.csv")
    with (tmp_path / "boxes.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["column 0 first", "column 0 last", "column 1 first", "column 1 last", "weight"]
    assert len(rows) == 17
    write_records(released, tmp_path / "records.csv", 500)
    with (tmp_path / "records.csv").open(newline="") as file:
        records = np.array(list(csv.reader(file))[1:], dtype=np.int64)
    assert records.shape == (500, 2)
    np.testing.assert_array_equal(records, synthetic_cells(released, 500))
    found = np.zeros(16)
    for number, (start, stop) in enumerate(zip(released.partition.starts, released.partition.stops, strict=True)):
        found[number] = ((records >= start) & (records < stop)).all(axis=1).sum()
    assert np.abs(np.cumsum(found) - np.cumsum(released.weights) * 500 / released.total).max() <= 0.5 + 1e-9
    with pytest.raises(WorkloadError, match="0 records to share"):
        released.whole_counts(0)
    with pytest.raises(PlanError, match="at most 10,000,000"):
        write_records(released, tmp_path / "many.csv", 10**8)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["boxes.csv", "records.csv"]


def test_bins_of_a_histogram_are_joined(tmp_path: Path) -> None:
    plan = plan_blocks(100, Budget(1e4, 0.0, None, Accountant.PURE))
    histogram = release_histogram(BinCounts.from_counts(column()), plan)
    joined = join_bins(histogram, 3)
    assert joined.starts.tolist() == [0, 30, 40]
    assert joined.weights == pytest.approx([1200, 0, 300], abs=1)
    assert joined.root_mean_square < 1
    assert join_bins(histogram, 3, by="depth").weights.max() < 540
    write_joined(histogram, joined, tmp_path / "joined.csv")
    assert (tmp_path / "joined.csv").read_text().splitlines()[0] == "first,last,first_label,last_label,weight"
    with pytest.raises(PlanError, match="one of error, depth"):
        join_bins(histogram, 3, by="width")
