"""Estimates of a histogram by name: each is what it says, and answers, quantiles and tables follow the one asked for."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, WorkloadError
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.tree import Tree
from dpopt.synopses.histograms.estimates import Estimate
from dpopt.synopses.histograms.hierarchy_plan import plan_hierarchy
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.histograms.histogram_plan import HistogramPlan, plan_blocks
from dpopt.synopses.histograms.release_histogram import release_histogram
from dpopt.synopses.histograms.released_counts import write_cells

BUDGET = Budget(None, 1e-9, 0.02, Accountant.ZCDP)
NAMES = ["divided", "least-squares", "nonnegative"]
"""Those of blocks, the last one by a solver."""
COUNTS = np.zeros(64, dtype=np.int64)
COUNTS[[3, 4, 20, 50]] = [30, 12, 7, 90]


class Shaken:
    """Noise that is the same in every run, of both signs, never private."""

    is_private = False

    def __init__(self) -> None:
        self.generator = np.random.default_rng(5)

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return counts + np.rint(self.generator.normal(0, scale, counts.size)).astype(np.int64)

    def discrete_laplace(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return counts + np.rint(self.generator.laplace(0, scale, counts.size)).astype(np.int64)


def released(size: int | None = None, counts: NDArray[np.int64] = COUNTS) -> Histogram:
    relation = NeighbouringRelation.ADD_REMOVE if size is None else NeighbouringRelation.REPLACE_ONE
    plan = plan_blocks(counts.size, BUDGET, relation=relation, size=size)
    return release_histogram(BinCounts.from_counts(counts), plan, noise=Shaken()).solved_by("clarabel")


def distance(found: Histogram, counts: NDArray[np.float64]) -> float:
    """Return the weighted squared distance of consistent counts to the noisy ones, from the plan's blocks alone."""
    assert isinstance(found.plan, HistogramPlan)
    total = 0.0
    for height, noisy, level in zip(found.plan.heights, found.noisy, found.plan.levels, strict=True):
        sums = np.add.reduceat(counts, np.arange(0, counts.size, 2**height))
        variance = found.plan.variances[found.plan.nodes(level)][0]
        total += float(((sums - noisy) ** 2).sum() / variance)
    return total


@pytest.mark.parametrize("size", [None, int(COUNTS.sum())])
def test_each_estimate_is_what_it_says(size: int | None) -> None:
    found = released(size)
    estimates = {name: found.estimate(name) for name in NAMES}
    assert estimates["least-squares"].min() < 0
    assert estimates["divided"].min() >= 0
    assert estimates["nonnegative"].min() >= -1e-6
    least = {name: distance(found, estimates[name]) for name in NAMES}
    assert least["least-squares"] < least["nonnegative"] < least["divided"]
    if size is not None:
        for name in NAMES:
            assert estimates[name].sum() == pytest.approx(size), name


def test_zeroing_is_least_squares_with_what_is_not_positive_made_zero() -> None:
    """Of a declared hierarchy, as the paper's trees are."""
    plan = plan_hierarchy(Tree.balanced(64, 4), BUDGET)
    found = release_histogram(BinCounts.from_counts(COUNTS), plan, noise=Shaken())
    unbiased, zeroed = found.estimate("least-squares"), found.estimate("zeroing")
    assert zeroed.min() >= 0 > unbiased.min()
    assert np.all((zeroed == unbiased) | (zeroed == 0))
    assert np.all(zeroed[unbiased <= 0] == 0)


def test_an_estimate_is_computed_once_and_cannot_be_changed() -> None:
    found = released()
    assert found.estimate("nonnegative") is found.estimate(Estimate.NONNEGATIVE) is found.counts
    assert found.least_squares is found.estimate("least-squares")
    with pytest.raises(ValueError, match="read-only"):
        found.counts[0] = 1.0


@pytest.mark.parametrize("name", NAMES)
def test_answers_and_quantiles_follow_the_estimate(name: str) -> None:
    found = released()
    counts, plain = found.estimate(name), found.range(3, 21)
    answer = found.range(3, 21, estimate=name)
    assert answer.value == pytest.approx(counts[3:21].sum())
    assert answer.standard_error == plain.standard_error
    assert (answer.low, answer.high) == (plain.low, plain.high)
    assert found.answer("3:21", estimate=name) == answer
    sums = np.cumsum(counts)
    for share in (0.0, 0.2, 0.7, 1.0):
        first = next(place for place in range(64) if sums[place] >= (share - 1e-9) * sums[-1])
        assert found.quantile(share, estimate=name) == first
    assert found.whole_counts(name).sum() == round(sums[-1])


@pytest.mark.parametrize("name", NAMES)
def test_tables_follow_the_estimate(name: str, tmp_path: Path) -> None:
    found = released()
    write_cells(found, tmp_path / "table.csv", estimate=name)
    rows = list(csv.DictReader((tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()))
    assert [float(row["count"]) for row in rows] == pytest.approx(found.estimate(name), rel=1e-5, abs=1e-9)
    write_cells(found, tmp_path / "whole.csv", estimate=name, whole=True)
    rows = list(csv.DictReader((tmp_path / "whole.csv").read_text(encoding="utf-8").splitlines()))
    assert [int(row["count"]) for row in rows] == found.whole_counts(name).tolist()


def test_large_whole_counts_keep_their_digits(tmp_path: Path) -> None:
    found = released(counts=np.array([123_456_789, 0, 5, 987_654_321]))
    write_cells(found, tmp_path / "table.csv", whole=True)
    rows = list(csv.DictReader((tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()))
    assert [int(row["count"]) for row in rows] == found.whole_counts().tolist()


def test_what_there_is_not_is_refused() -> None:
    found = released()
    message = "is one of divided, least-squares, nonnegative, zeroing, shrunken; found 'best'"
    for ask in (found.estimate, found.whole_counts):
        with pytest.raises(PlanError, match=message):
            ask("best")
    with pytest.raises(PlanError, match=message):
        found.range(0, 3, estimate="best")
    for name, instead in (("whole", "rounded"), ("shrunken", "rounds"), ("zeroing", "hierarchy")):
        with pytest.raises(PlanError, match=f"{name}.* removed .*{instead}"):
            found.range(0, 3, estimate=name)
    unsolved = release_histogram(BinCounts.from_counts(COUNTS), found.plan, noise=Shaken())
    with pytest.raises(PlanError, match="'nonnegative' is a model for solvers: name one"):
        unsolved.estimate("nonnegative")
    below = released(counts=np.zeros(64, dtype=np.int64))
    name = next(name for name in NAMES if below.estimate(name).sum() <= 0)
    with pytest.raises(WorkloadError, match="no quantiles"):
        below.quantile(0.5, estimate=name)


def test_a_branching_beyond_all_bins_joins_them_at_once() -> None:
    for branching in (9, 10**23):
        assert Tree.balanced(8, branching).levels == Tree.balanced(8, 8).levels
