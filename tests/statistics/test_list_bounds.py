"""Bounds of decision lists hold as often as they say, over many releases with OpenDP's noise; wrong scales are noticed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.private.tables.list_table import PrivateLists
from dpopt.synopses.decision_lists.list_plan import ListPlan, plan_lists
from dpopt.synopses.decision_lists.release_lists import release_lists
from tests.tiny_lists import family_of, output_at, points_of, private, rows_of

pytestmark = pytest.mark.statistics

RUNS, CONFIDENCE, FALSE_ALARM, MISSED = 1500, 0.9, 1e-6, 1e-6
LIMIT = int(stats.binom.isf(FALSE_ALARM, RUNS, 1 - CONFIDENCE))
"""How many of the runs may be beyond a bound that holds with probability 0.9: more are seen with probability 1e-6 at most."""
BUDGETS = {True: Budget(None, 1e-9, 2.0, Accountant.ZCDP), False: Budget(20.0, 0.0, None, Accountant.PURE)}
NUMBER = 300
FAMILY = family_of(3, 2)


@cache
def plan_of(*, gaussian: bool) -> ListPlan:
    return plan_lists(FAMILY, BUDGETS[gaussian], size=NUMBER)


@cache
def table() -> tuple[PrivateLists, NDArray[np.float64]]:
    """Return rows, and which share gives 1 at each of the 8 points."""
    every = rows_of(FAMILY)
    rows = [every[number] for number in np.random.default_rng(2).integers(0, len(every), NUMBER)]
    exact = np.mean([[output_at(row, point) for point in points_of(FAMILY)] for row in rows], axis=0)
    return private(FAMILY, rows), exact


@cache
def errors(*, gaussian: bool) -> NDArray[np.float64]:
    """Return the errors at all points of all releases, (runs, 8)."""
    rows, exact = table()
    points = np.array(points_of(FAMILY))
    return np.array(
        [release_lists(rows, plan_of(gaussian=gaussian)).answers(points, cut=False) - exact for _ in range(RUNS)]
    )


@pytest.mark.parametrize("gaussian", [False, True])
def test_bounds_of_single_answers_hold_as_often_as_stated(gaussian: bool) -> None:
    """1,500 releases; each point beyond its bound in at most so many that chance explains it but once in a million."""
    plan = plan_of(gaussian=gaussian)
    assert plan.approximation < 1e-4
    bound = plan.approximation + plan.noise(1 - CONFIDENCE)
    assert (np.abs(errors(gaussian=gaussian)) > bound).sum(axis=0).max() <= LIMIT


@pytest.mark.parametrize("gaussian", [False, True])
def test_all_points_together_are_within_the_prediction_as_often_as_stated(gaussian: bool) -> None:
    plan = plan_of(gaussian=gaussian)
    bound = plan.approximation + plan.noise(1 - CONFIDENCE, len(points_of(FAMILY)))
    assert (np.abs(errors(gaussian=gaussian)).max(axis=1) > bound).sum() <= LIMIT


@pytest.mark.parametrize("gaussian", [False, True])
def test_the_standard_error_is_that_of_the_noise_and_half_of_it_would_be_noticed(gaussian: bool) -> None:
    """By the variance of 1,500 errors at one point, which is known to 15 % with probability 1 - 1e-6 (kurtosis below 6).

    A plan with half the scales would be beyond its bound too often, with probability 1 - 1e-6.
    """
    plan = plan_of(gaussian=gaussian)
    rows, _ = table()
    stated = release_lists(rows, plan).answer("010").standard_error
    found = errors(gaussian=gaussian)
    spread = (found - found.mean(axis=0)).std(axis=0)
    assert np.abs(spread / stated - 1).max() < 0.16
    halved = replace(plan, scales=tuple(scale / 2 for scale in plan.scales))
    bound = halved.approximation + halved.noise(1 - CONFIDENCE)
    beyond = (np.abs(found) > bound).sum(axis=0)
    tail = 2 * stats.norm.sf(bound / stated)
    if gaussian:
        assert stats.binom.cdf(LIMIT, RUNS, tail) < MISSED
    assert beyond.min() > LIMIT
