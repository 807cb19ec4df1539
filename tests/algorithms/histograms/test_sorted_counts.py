"""Sorted counts from a budget to estimates: charges, lengths, bounds, files."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant, total_epsilon
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.histograms.release_sorted import plan_sorted, release_sorted
from dpopt.algorithms.histograms.sorted_counts import SortedCountsRelease
from dpopt.errors import PlanError, PrivateDataError, TranscriptError
from dpopt.inference.histograms.degree_sequences import is_graphical
from dpopt.private.bin_counts import BinCounts

ADD_REMOVE, REPLACE = NeighbouringRelation.ADD_REMOVE, NeighbouringRelation.REPLACE_ONE
PURE = Budget(1.0, 0.0, None, Accountant.PURE)
ZCDP = Budget(None, 1e-9, 0.5, Accountant.ZCDP)
EDGES = [(0, 1), (0, 2), (0, 3), (1, 2), (4, 5)]
DEGREES = np.bincount(np.array(EDGES).reshape(-1), minlength=8).astype(np.int64)


class Silence:
    """Noise of zero, never private."""

    is_private = False

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return counts

    def discrete_laplace(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return counts


def graph() -> BinCounts:
    return BinCounts.of_degrees(DEGREES, len(EDGES))


def released(
    length: int | None = 8, budget: Budget = PURE, noise: Any = None, **options: Any
) -> SortedCountsRelease:
    plan = plan_sorted(length, budget, graph=True, **options)
    return release_sorted(graph(), plan, what="degrees", noise=noise)


@pytest.mark.parametrize("budget", [PURE, ZCDP])
@pytest.mark.parametrize("length", [8, None])
@pytest.mark.parametrize(("relation", "size"), [(ADD_REMOVE, None), (REPLACE, 5)])
def test_a_release_spends_its_budget_and_no_more(
    budget: Budget, length: int | None, relation: NeighbouringRelation, size: int | None
) -> None:
    found = released(length, budget, relation=relation, size=size)
    charges = found.privacy["charges"]
    assert found.privacy["private"]
    assert len(charges) == (1 if length else 2)
    spent = sum(charge["parameter"] for charge in charges)
    assert spent == pytest.approx(1.0 if budget is PURE else 0.5, rel=1e-6)
    assert found.privacy["epsilon"] <= 1.0 or budget is ZCDP


def test_an_edge_costs_twice_a_record_of_a_table() -> None:
    of_graph = plan_sorted(8, PURE, graph=True)
    of_table = plan_sorted(8, PURE, graph=False)
    assert of_graph.scale == pytest.approx(2 * of_table.scale)
    counts = BinCounts.from_counts([1, 2, 3])
    plan = plan_sorted(3, PURE, graph=False)
    found = release_sorted(counts, plan)
    assert found.largest is None
    assert total_epsilon([], Accountant.PURE, 0.0) == 0.0
    assert found.privacy["epsilon"] == pytest.approx(1.0)


def test_declared_nodes_without_edges_count_as_zeros_and_the_rest_is_exact_without_noise() -> None:
    found = released(10, noise=Silence())
    assert found.noisy.tolist() == [0, 0, *sorted(DEGREES.tolist())]
    assert found.isotonic.tolist() == found.noisy.tolist()
    assert found.largest == 9
    assert not found.privacy["private"]


def test_the_number_of_nodes_is_bought_and_not_read() -> None:
    exact = released(None, noise=Silence())
    assert exact.noisy.size == np.count_nonzero(DEGREES)
    assert exact.noisy_length
    sizes = {released(None, Budget(0.05, 0.0, None, Accountant.PURE)).noisy.size for _ in range(10)}
    assert len(sizes) > 1
    assert min(sizes) >= 2


def test_estimates_do_not_fall_and_stay_within_bounds_and_are_read_back() -> None:
    found = released(budget=Budget(5.0, 0.0, None, Accountant.PURE))
    for counts in (found.counts, found.isotonic):
        assert np.all(np.diff(counts) >= 0)
        assert counts.min() >= 0
        assert counts.max() <= 7
    assert found.frequencies().sum() == 8
    again = SortedCountsRelease.from_json(json.loads(json.dumps(found.to_json())))
    assert again.counts.tolist() == found.counts.tolist()
    assert repr(again) == repr(found)
    near = found.graphical
    assert is_graphical(near.degrees)
    assert sorted(np.bincount(near.edges().reshape(-1), minlength=8).tolist()) == near.degrees.tolist()


def test_what_cannot_be_planned_or_released_is_refused() -> None:
    with pytest.raises(PlanError, match="1 to 4,194,304, found 0"):
        plan_sorted(0, PURE, graph=True)
    with pytest.raises(PlanError, match="only that of nodes can be bought"):
        plan_sorted(None, PURE, graph=False)
    with pytest.raises(PlanError, match="leaves nothing"):
        plan_sorted(8, Budget(0.0, 0.0, None, Accountant.PURE), graph=True)
    with pytest.raises(PrivateDataError, match="n = 4"):
        released(relation=REPLACE, size=4)
    good = released().to_json()
    with pytest.raises(TranscriptError, match="of this version"):
        SortedCountsRelease.from_json({})
    with pytest.raises(TranscriptError, match="damaged"):
        SortedCountsRelease.from_json({**good, "noisy": None})
