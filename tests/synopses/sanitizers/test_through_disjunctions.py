"""Queries "at least r of k" from disjunctions: right without noise, within their bounds, and worse than asked directly."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.errors import PolynomialError, WorkloadError
from dpopt.polynomials.targets import disjunction_weights
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.queries.conjunctions.monomials import SETS
from dpopt.synopses.sanitizers.release_sanitizer import release_sanitizer
from dpopt.synopses.sanitizers.sanitizer_plan import plan_sanitizer
from dpopt.synopses.summaries.release_summary import release_summary
from dpopt.synopses.summaries.summary import Summary
from dpopt.synopses.summaries.summary_plan import SummaryPlan, plan_summary
from experiments.papers_sanitizer.best_degree import plan_symmetric
from experiments.papers_sanitizer.disjunctions import (
    of_polynomial,
    of_summary,
    predicted_through_disjunctions,
    predicted_through_polynomial,
    through_disjunctions,
)
from tests.exact_sanitizer_loss import random_table
from tests.synopses.sanitizers.test_sanitizer_plan import PURE
from tests.tiny_runs import REPLACE, bits_schema, dataset_of

BITS = ChosenLiterals.of(bits_schema(5), None, "positive")
RECORDS = np.random.default_rng(2).integers(0, 2, (2000, 5))
TABLE = tuple(map(tuple, RECORDS.tolist()))
PLENTY = Budget(None, 1e-9, 1e6, Accountant.ZCDP)
RHO = Budget(None, 1e-9, 0.5, Accountant.ZCDP)
EVERY = np.array(list(combinations(range(5), 4)))


def share(columns: NDArray[np.int64], needed: int) -> NDArray[np.float64]:
    return np.array([(RECORDS[:, one].sum(axis=1) >= needed).mean() for one in columns])


def summary_plan(budget: Budget = RHO, predicate: str = "or") -> SummaryPlan:
    return plan_summary(BITS, 4, budget, size=2000, predicate=predicate, relation=REPLACE)


def summary(budget: Budget = RHO) -> Summary:
    return release_summary(dataset_of(BITS.schema, TABLE), summary_plan(budget))


@pytest.mark.parametrize("needed", [1, 2, 3, 4])
def test_without_noise_answers_are_those_of_the_records(needed: int) -> None:
    made = summary(PLENTY)
    values, bound = through_disjunctions(of_summary(made), EVERY, needed)
    assert values == pytest.approx(share(EVERY, needed), abs=1e-3)
    assert 0 < bound < 0.02
    plan = plan_symmetric(BITS, 4, PLENTY, size=2000, basis=SETS, relation=REPLACE)
    polynomial = release_sanitizer(dataset_of(BITS.schema, TABLE), plan)
    values, bound = through_disjunctions(of_polynomial(polynomial), EVERY, needed)
    assert values == pytest.approx(share(EVERY, needed), abs=1e-3)
    assert 0 < bound < 0.02


def test_bounds_are_sums_of_weights_times_those_of_disjunctions() -> None:
    asked: list[tuple[tuple[int, ...], float]] = []

    def noting(literals: NDArray[np.int64], confidence: float) -> tuple[NDArray[np.float64], float]:
        asked.append((literals.shape, confidence))
        return np.zeros(len(literals)), 10.0 ** -literals.shape[1]

    values, bound = through_disjunctions(noting, EVERY, 2, confidence=0.9)
    # Of 4 literals at least 2: the four disjunctions of 3, less three times that of all 4.
    assert bound == pytest.approx(4 * 1e-3 + 3 * 1e-4)
    assert [shape for shape, _ in asked] == [(5, 3)] * 4 + [(5, 4)]
    assert [confidence for _, confidence in asked] == pytest.approx([1 - 0.1 / 5] * 5)
    assert values.tolist() == [0.0] * 5


def test_one_of_k_is_a_disjunction() -> None:
    made = summary()
    values, bound = through_disjunctions(of_summary(made), EVERY, 1)
    direct, of_it = made.conjunctions_of(EVERY, "or")
    assert values.tolist() == direct.tolist()
    assert bound == of_it


@pytest.mark.parametrize("budget", [RHO, PURE])
@pytest.mark.parametrize("needed", [2, 3])
def test_what_is_predicted_is_more_than_for_the_query_itself(needed: int, budget: Budget) -> None:
    """And at least so many times what is predicted for disjunctions as the weights say, but for their numbers."""
    through = predicted_through_disjunctions(summary_plan(budget), needed)
    assert through > summary_plan(budget, f"atleast:{needed}").predicted
    plan = plan_symmetric(BITS, 4, budget, size=2000, basis=SETS, relation=REPLACE)
    direct = plan_symmetric(
        BITS, 4, budget, size=2000, basis=SETS, relation=REPLACE, predicate=f"atleast:{needed}"
    )
    combined = predicted_through_polynomial(plan.figures, needed)
    assert combined > direct.predicted
    weights = enumerate(disjunction_weights(needed, 4))
    assert combined < sum(abs(weight) * comb(4, size) for size, weight in weights) * plan.predicted * 1.5


def test_predictions_for_one_of_k_are_those_of_disjunctions() -> None:
    plan = plan_symmetric(BITS, 4, RHO, size=2000, basis=SETS, relation=REPLACE)
    assert predicted_through_polynomial(plan.figures, 1) == pytest.approx(plan.predicted)
    assert predicted_through_disjunctions(summary_plan(), 1) == pytest.approx(
        summary_plan().predicted, rel=0.01
    )


@pytest.mark.parametrize("needed", [2, 3])
def test_errors_stay_within_what_is_predicted(needed: int) -> None:
    """Of five releases, each beyond it with probability 5 % at most: four or more are beyond with probability 3e-5."""
    beyond = 0
    for _ in range(5):
        values, _ = through_disjunctions(of_summary(summary()), EVERY, needed)
        off = np.abs(values - share(EVERY, needed)).max()
        beyond += off > predicted_through_disjunctions(summary_plan(), needed)
    assert beyond < 4


def test_what_makes_no_sense_is_refused() -> None:
    made = summary()
    for needed in (0, 5):
        with pytest.raises(PolynomialError, match=f"at least {needed} of 4"):
            through_disjunctions(of_summary(made), EVERY, needed)
        with pytest.raises(PolynomialError, match=f"at least {needed} of 4"):
            predicted_through_disjunctions(summary_plan(), needed)
    for confidence in (0.0, 1.0):
        with pytest.raises(WorkloadError, match="between 0 and 1"):
            through_disjunctions(of_summary(made), EVERY, 2, confidence=confidence)
    anything = plan_sanitizer(replace(random_table(), width=None), PURE, size=10)
    with pytest.raises(WorkloadError, match="any number of variables"):
        predicted_through_polynomial(anything.figures, 1)
