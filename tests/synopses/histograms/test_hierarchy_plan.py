"""Histograms over declared hierarchies: what is measured, what it costs, exact errors, files, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant, columns_of
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import DpoptError, PlanError, TranscriptError, WorkloadError
from dpopt.inference.histograms.tree_least_squares import range_variances
from dpopt.private.measurements.bin_measurement import GroupSums
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.tree import Tree, hierarchy_of
from dpopt.synopses.histograms.estimates import Estimate
from dpopt.synopses.histograms.hierarchy_plan import HierarchyPlan, plan_hierarchy
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.histograms.range_workload import MOST_OF_A_KIND, all_ranges, ranges_of_nodes, ranges_of_sizes
from dpopt.synopses.histograms.release_histogram import release_histogram
from tests.noises import NoNoise

ADD_REMOVE, REPLACE = NeighbouringRelation.ADD_REMOVE, NeighbouringRelation.REPLACE_ONE
PURE = Budget(1.0, 0.0, None, Accountant.PURE)
ZCDP = Budget(None, 1e-9, 0.5, Accountant.ZCDP)
UNEVEN = hierarchy_of([[0, [1, 2, 3]], 4, [[5, 6], [7], 8, [9, 10]]], Bins("bins", 11))
COUNTS = np.array([0, 0, 12, 40, 7, 0, 0, 3, 0, 0, 25])
RELATIONS = [(ADD_REMOVE, None), (REPLACE, int(COUNTS.sum()))]
EVERYWHERE = pytest.mark.parametrize(("relation", "size"), RELATIONS)


def measured_everywhere(relation: NeighbouringRelation, size: int | None) -> HierarchyPlan:
    """Return a plan of Gaussian noise, which pays at every level."""
    plan = plan_hierarchy(UNEVEN, ZCDP, relation=relation, size=size)
    assert len(plan.depths) == (4 if size is None else 3)
    return plan


@pytest.mark.parametrize("budget", [PURE, ZCDP])
@EVERYWHERE
@pytest.mark.parametrize("ranges", ["nodes", "all", "sizes:1,4"])
def test_a_plan_spends_its_budget(
    budget: Budget, relation: NeighbouringRelation, size: int | None, ranges: str
) -> None:
    plan = plan_hierarchy(UNEVEN, budget, ranges=ranges, relation=relation, size=size)
    charges = plan.charges()
    assert budget.allows(charges)
    assert len({charge.label for charge in charges}) == len(charges)
    if budget is PURE:
        assert 0.999999 < columns_of(charges).epsilon(Accountant.PURE, 0.0) <= 1.0
    else:
        assert sum(charge.parameter for charge in charges) == pytest.approx(0.5, rel=1e-6)
    found = release_histogram(BinCounts.from_counts(COUNTS), plan)
    assert found.privacy["private"]
    assert [charge["label"] for charge in found.privacy["charges"]] == [level.name for level in plan.levels]
    again = Histogram.from_json(json.loads(json.dumps(found.to_json())))
    assert isinstance(again.plan, HierarchyPlan)
    assert again.plan.to_json() == plan.to_json()
    assert again.counts == pytest.approx(found.counts)


@EVERYWHERE
def test_a_record_lies_in_one_group_of_each_measured_level(relation: NeighbouringRelation, size: int | None) -> None:
    """Over all neighbours of a table: what the charge of a level is computed from."""
    plan = measured_everywhere(relation, size)
    measurements = [one for one in plan.measurements() if isinstance(one, GroupSums)]
    assert len(measurements) == len(plan.levels)
    exact = [one.exact(BinCounts.from_counts(COUNTS)) for one in measurements]
    moves = [np.eye(11, dtype=np.int64)[place] for place in range(11)]
    if relation is REPLACE:
        moves = [moves[one] - moves[other] for one, other in combinations(range(11), 2)]
    worst = np.zeros(len(measurements))
    for move in moves:
        counts = COUNTS + 1 + move
        for place, one in enumerate(measurements):
            change = one.exact(BinCounts.from_counts(counts)) - one.exact(BinCounts.from_counts(COUNTS + 1))
            assert np.abs(change).max() <= 1
            worst[place] = max(worst[place], np.abs(change).sum())
    assert worst.tolist() == [plan.sensitivity] * len(measurements)
    assert exact[0].tolist() == COUNTS.tolist()
    assert exact[1].tolist() == [0, 52, 7, 0, 3, 0, 25]
    assert exact[2].tolist() == [52, 7, 28]


@EVERYWHERE
def test_without_noise_every_estimate_is_exact(relation: NeighbouringRelation, size: int | None) -> None:
    plan = measured_everywhere(relation, size)
    found = release_histogram(BinCounts.from_counts(COUNTS), plan, noise=NoNoise())
    assert not found.privacy["private"]
    for estimate in (Estimate.DIVIDED, Estimate.LEAST_SQUARES, Estimate.ZEROING):
        assert found.estimate(estimate) == pytest.approx(COUNTS, abs=1e-9), estimate
    assert found.solved_by("clarabel").estimate("nonnegative") == pytest.approx(COUNTS, abs=1e-3)
    with pytest.raises(PlanError, match="shrunken without rounds.* removed"):
        found.estimate(Estimate.SHRUNKEN)
    assert found.range(0, 4).value == pytest.approx(52)


@pytest.mark.parametrize("budget", [PURE, ZCDP])
@EVERYWHERE
def test_predictions_are_what_answers_state(budget: Budget, relation: NeighbouringRelation, size: int | None) -> None:
    plan = plan_hierarchy(UNEVEN, budget, relation=relation, size=size)
    found = release_histogram(BinCounts.from_counts(COUNTS), plan)
    groups = [(0, 11)], [(0, 4), (4, 5), (5, 11)], [(0, 1), (1, 4), (5, 7), (7, 8), (8, 9), (9, 11)]
    means = [np.mean([answer.standard_error**2 for answer in found.ranges(level)]) for level in groups]
    lowest = [(place, place + 1) for place in (1, 2, 3, 5, 6, 7, 9, 10)]
    means.append(np.mean([answer.standard_error**2 for answer in found.ranges(lowest)]))
    assert plan.predicted["groups of all levels"] == pytest.approx(np.mean(means))
    for name, mean in zip(("all bins", "groups of depth 1", "groups of depth 2"), means, strict=False):
        assert plan.predicted[name] == pytest.approx(mean), name
    every = [answer.standard_error**2 for answer in found.ranges([(place, place + 1) for place in range(11)])]
    assert plan.predicted["single bins"] == pytest.approx(np.mean(every))


@pytest.mark.statistics
@EVERYWHERE
def test_standard_errors_are_right(relation: NeighbouringRelation, size: int | None) -> None:
    """400 releases, groups of every level and a range across them: the mean squared error of least squares over its variance
    lies in 1 +- 5 sqrt(2 / 400) (Gaussian noise); false alarms below 1e-5. A wrong group or a factor 2 is seen for certain."""
    plan = measured_everywhere(relation, size)
    wanted = [(0, 1), (4, 5), (1, 4), (0, 4), (5, 11), (3, 8)]
    truth = np.array([COUNTS[start:stop].sum() for start, stop in wanted])
    squares = np.zeros(len(wanted))
    for _ in range(400):
        found = release_histogram(BinCounts.from_counts(COUNTS), plan)
        answers = found.ranges(wanted, estimate="least-squares")
        squares += [((one.value - exact) / one.standard_error) ** 2 for one, exact in zip(answers, truth, strict=True)]
    assert np.all(np.abs(squares / 400 - 1) < 5 * np.sqrt(2 / 400))


@pytest.mark.parametrize("budget", [PURE, ZCDP])
@pytest.mark.parametrize("kind", ["nodes", "all", "sizes:1,8"])
def test_each_plan_is_the_best_for_its_ranges(budget: Budget, kind: str) -> None:
    plans = {ranges: plan_hierarchy(UNEVEN, budget, ranges=ranges) for ranges in ("nodes", "all", "sizes:1,8")}
    wanted = {"nodes": ranges_of_nodes(UNEVEN), "all": all_ranges(11), "sizes:1,8": ranges_of_sizes([1, 8], 11)}[kind]
    means = {
        ranges: float(wanted.shares @ range_variances(plan.tree, plan.variances, wanted.starts, wanted.stops))
        for ranges, plan in plans.items()
    }
    assert means[kind] <= min(means.values()) * (1 + 1e-3)


def test_ranges_that_stand_for_all() -> None:
    few = all_ranges(30)
    starts, stops = np.triu_indices(30)
    assert sorted(zip(few.starts.tolist(), few.stops.tolist(), strict=True)) == list(
        zip(starts.tolist(), (stops + 1).tolist(), strict=True)
    )
    many = all_ranges(5000)
    assert many.starts.size == MOST_OF_A_KIND
    assert (many.stops - many.starts).mean() == pytest.approx(5002 / 3, rel=0.02)
    sizes = ranges_of_sizes([1, 4000], 5000)
    assert [(sizes.weights[sizes.stops - sizes.starts == size]).sum() for size in (1, 4000)] == pytest.approx(
        [0.5, 0.5]
    )
    nodes = ranges_of_nodes(Tree.balanced(5000, 10))
    assert nodes.starts.size < 5000
    assert nodes.shares[nodes.stops - nodes.starts == 1].sum() == pytest.approx(0.2)


def test_single_bins_always_get_their_share() -> None:
    plan = plan_hierarchy(UNEVEN, ZCDP, ranges="sizes:11")
    assert plan.levels[0].name == "single bins"
    assert plan.charges()[0].parameter >= 0.02 * 0.5 * (1 - 1e-9)
    alone = plan_hierarchy(hierarchy_of([0], Bins("x", 1)), PURE, relation=REPLACE, size=5)
    assert release_histogram(BinCounts.from_counts([5]), alone).range(0, 1).value == 5
    known = plan_hierarchy(UNEVEN, PURE, ranges="sizes:11", relation=REPLACE, size=5)
    assert known.depths == (3,)


def test_a_balanced_hierarchy_has_the_errors_of_blocks() -> None:
    """The same noise at the same levels: one theory of blocks, one of any tree."""
    tree = Tree.balanced(64, 4)
    plan = plan_hierarchy(tree, ZCDP)
    found = release_histogram(BinCounts.from_counts(np.zeros(64)), plan)
    information = sum(
        np.kron(np.eye(64 // width), np.ones((width, width))) / level.scale**2
        for level, width in zip(plan.levels, (1, 4, 16, 64), strict=True)
    )
    covariance = np.linalg.inv(information)
    for start, stop in ((0, 16), (3, 4), (5, 50)):
        query = ((np.arange(64) >= start) & (np.arange(64) < stop)).astype(float)
        assert found.range(start, stop).standard_error ** 2 == pytest.approx(query @ covariance @ query)


@pytest.mark.parametrize(
    ("error", "message", "options"),
    [
        (WorkloadError, "expected nodes, all, sizes:1,64,1024, or file", {"ranges": "worst"}),
        (WorkloadError, "a range of 12 bins; the domain has 11", {"ranges": "sizes:12"}),
        (WorkloadError, "whole numbers of bins", {"ranges": "sizes:x"}),
        (PlanError, "no figure for the noise of counts", {"budget": Budget(1.0, 1e-6, None, Accountant.GDP)}),
        (PlanError, "is public under replace-one", {"relation": REPLACE}),
        (PlanError, "leaves nothing", {"budget": Budget(0.0, 0.0, None, Accountant.PURE)}),
        (PlanError, "a hierarchy of 11 bins for 12", {"bins": Bins("x", 12)}),
    ],
)
def test_a_plan_that_cannot_be_made_is_refused(error: type[DpoptError], message: str, options: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"budget": PURE, **options}
    with pytest.raises(error, match=message):
        plan_hierarchy(UNEVEN, asked.pop("budget"), **asked)


def test_a_plan_that_contradicts_itself_is_refused() -> None:
    plan = measured_everywhere(ADD_REMOVE, None)
    for depths in ((), (2, 1), (3, 3, 1, 0), (3, 2, 1, -1)):
        with pytest.raises(PlanError, match="expected decreasing ones from 3 to at least 0"):
            replace(plan, depths=depths)
    with pytest.raises(PlanError, match="found 1 scales for 4 levels"):
        replace(plan, scales=(1.0,))
    with pytest.raises(PlanError, match="a hierarchy of 11 bins for 12"):
        replace(plan, bins=12)
    with pytest.raises(PlanError, match="to at least 1"):
        replace(plan, relation=REPLACE, size=10)
    good = release_histogram(BinCounts.from_counts(COUNTS), plan).to_json()
    damages: list[dict[str, Any]] = [
        {"plan": {**good["plan"], "hierarchy": {"children": [2, 0, 0]}}},
        {"plan": {**good["plan"], "hierarchy": {"children": [[2], [0], [0]]}}},
        {"plan": {**good["plan"], "hierarchy": 3}},
        {"noisy": good["noisy"][:-1]},
        {"noisy": [*good["noisy"][:-1], [1, 2]]},
    ]
    for damage in damages:
        with pytest.raises(TranscriptError):
            Histogram.from_json({**good, **damage})


@EVERYWHERE
@pytest.mark.parametrize("budget", [PURE, ZCDP])
@pytest.mark.parametrize("branching", [2, 3, 16])
def test_trees_of_equal_budgets_are_those_of_the_paper(
    branching: int, budget: Budget, relation: NeighbouringRelation, size: int | None
) -> None:
    """Hay et al. 2010: all levels of a k-ary tree with the same noise, and H-bar, the least-squares answers of theorem 3.

    Under add-remove l levels take Laplace noise of scale l / epsilon. Under replace-one the root is known, and a record
    that is replaced changes two nodes of each other level. The predicted variances are those of dense least squares.
    """
    bins = 11
    tree = Tree.balanced(bins, branching)
    plan = plan_hierarchy(tree, budget, ranges="all", relation=relation, size=size, uniform=True)
    levels, moved = (len(tree.levels), 1) if size is None else (len(tree.levels) - 1, 2)
    assert len(plan.depths) == levels
    expected = moved * levels / 1.0 if budget is PURE else np.sqrt(moved * levels / (2 * 0.5))
    assert plan.scales == pytest.approx([expected] * levels, rel=1e-6)
    assert budget.allows(plan.charges())

    nodes = [np.arange(start, start + size) for start, size in zip(tree.start, tree.size, strict=True)]
    rows = np.array([np.isin(np.arange(bins), node) for node in nodes], dtype=np.float64)
    precisions = 1.0 / np.maximum(plan.variances, 1e-6)  # the root's is 0 where it is known
    covariance = np.linalg.inv(rows.T @ (precisions[:, None] * rows))
    each = [covariance[low:high, low:high].sum() for low, high in combinations(range(bins + 1), 2)]
    assert plan.predicted["all ranges"] == pytest.approx(np.mean(each), rel=1e-5)
