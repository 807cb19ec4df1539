"""Histograms of several columns from exact counts to answers: consistency, errors as stated, files, and what is refused."""

from __future__ import annotations

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
from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
from dpopt.synopses.histograms.grids.grid_plan import plan_grid
from dpopt.synopses.histograms.grids.release_grid import release_grid
from tests.noises import NoNoise

ADD_REMOVE, REPLACE = NeighbouringRelation.ADD_REMOVE, NeighbouringRelation.REPLACE_ONE
PURE = Budget(1.0, 0.0, None, Accountant.PURE)
ZCDP = Budget(None, 1e-9, 0.5, Accountant.ZCDP)
CELLS = np.array([[0, 0, 12, 40, 7], [0, 0, 3, 0, 0], [25, 1, 0, 0, 8]])
RELATIONS = [(ADD_REMOVE, None), (REPLACE, int(CELLS.sum()))]


def released(
    noise: Any = None, budget: Budget = PURE, cells: NDArray[np.int64] = CELLS, **options: Any
) -> GridHistogram:
    plan = plan_grid(cells.shape, budget, **options)
    axes = (
        Bins("age", 3, ("young", "grown", "old")),
        Bins("income", 5, None, (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)),
    )
    return release_grid(
        BinCounts.from_counts(cells.reshape(-1)), plan, axes if cells is CELLS else None, noise=noise
    )


@pytest.mark.parametrize("shapes", ["auto", "cubes", "rectangles", "cells"])
@pytest.mark.parametrize(("relation", "size"), RELATIONS)
def test_without_noise_the_counts_are_exact(
    relation: NeighbouringRelation, size: int | None, shapes: str
) -> None:
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
    with pytest.raises(WorkloadError, match="'baby' is none of its values"):
        found.answer("baby:old,:")
    with pytest.raises(WorkloadError, match="confidence"):
        found.box((0, 1), (0, 1), confidence=1.0)


@pytest.mark.parametrize("budget", [PURE, ZCDP], ids=["Laplace", "Gaussian"])
def test_a_private_release_is_consistent_and_not_negative(budget: Budget) -> None:
    found = released(budget=budget)
    assert found.privacy["private"]
    assert found.counts.min() >= 0.0
    whole, left, right = (
        found.box(*sides).value for sides in (((0, 3), (0, 5)), ((0, 3), (0, 2)), ((0, 3), (2, 5)))
    )
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
