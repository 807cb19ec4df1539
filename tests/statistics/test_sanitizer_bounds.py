"""Bounds of released polynomials hold as often as they say, with OpenDP's noise; wrong scales are noticed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.queries.conjunctions.monomials import POWERS, SETS
from dpopt.synopses.sanitizers.release_sanitizer import release_sanitizer
from dpopt.synopses.sanitizers.sanitizer_plan import SanitizerPlan, plan_sanitizer
from tests.exact_sanitizer_loss import symmetric
from tests.synopses.sanitizers.test_sanitizer_plan import PURE, RHO
from tests.tiny_runs import REPLACE, bits_schema

pytestmark = pytest.mark.statistics

RUNS, CONFIDENCE, FALSE_ALARM, MISSED = 900, 0.9, 1e-6, 1e-6
LIMIT = int(stats.binom.isf(FALSE_ALARM, RUNS, 1 - CONFIDENCE))
"""How many of the runs may be beyond a bound that holds with probability 0.9: more are seen with probability 1e-6 at most."""
BUDGETS = {True: RHO, False: PURE}
RECORDS = 300
LITERALS = ChosenLiterals.of(bits_schema(3), None, "positive")
BITS = (np.random.default_rng(9).random((RECORDS, 3)) < [0.8, 0.5, 0.3]).astype(np.int64)
WEIGHTS = (1.0, -0.5)


def plan_of(basis: str, *, gaussian: bool) -> SanitizerPlan:
    family = replace(symmetric(LITERALS, basis, WEIGHTS), constant=0.0)
    return plan_sanitizer(family, BUDGETS[gaussian], size=RECORDS, relation=REPLACE)


def truth(basis: str) -> float:
    """Return the mean over the records of the polynomial at the point of the first two bits."""
    true = BITS[:, :2].sum(axis=1)
    raised = true * (true - 1) / 2 if basis == SETS else true**2
    return float((WEIGHTS[0] * true + WEIGHTS[1] * raised).mean())


def beyond(plan: SanitizerPlan, basis: str, factor: float = 1.0) -> int:
    """Return how many releases are off by more than a bound, or a part of it."""
    dataset, exact, found = PrivateDataset.from_codes(LITERALS.schema, list(BITS.T)), truth(basis), 0
    for _ in range(RUNS):
        answer = release_sanitizer(dataset, plan).answer([0, 1], confidence=CONFIDENCE)
        found += abs(answer.value - exact) > factor * answer.bound
    return found


@pytest.mark.parametrize(("basis", "gaussian"), [(SETS, False), (POWERS, True)])
def test_bounds_hold_as_often_as_stated(basis: str, gaussian: bool) -> None:
    """900 releases; beyond the bound in at most so many that chance explains it but once in a million."""
    assert beyond(plan_of(basis, gaussian=gaussian), basis) <= LIMIT


def test_noise_of_twice_the_scale_would_be_noticed() -> None:
    """Half of a Gaussian bound is passed so often that the test above misses it with probability below 1e-6."""
    basis = SETS
    plan = plan_of(basis, gaussian=True)
    answer = release_sanitizer(PrivateDataset.from_codes(LITERALS.schema, list(BITS.T)), plan).answer(
        [0, 1], confidence=CONFIDENCE
    )
    passed = 2 * stats.norm.sf(answer.bound / 2 / answer.standard_error)
    assert stats.binom.cdf(LIMIT, RUNS, passed) < MISSED
    assert beyond(plan, basis, 0.5) > LIMIT
