"""Bounds of summaries hold as often as they say, over many releases with OpenDP's noise; wrong scales are noticed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.programs.solver import Solver
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.solvers.process.child_process import InChildProcess
from dpopt.synopses.summaries.release_summary import release_summary
from dpopt.synopses.summaries.summary import Summary
from dpopt.synopses.summaries.summary_plan import SummaryPlan, plan_summary
from tests.synopses.summaries.tiny_summaries import PRIVACY, PURE, RHO, remember_polynomials
from tests.tiny_runs import ADD_REMOVE, bits_schema

pytestmark = pytest.mark.statistics

CONFIDENCE, FALSE_ALARM, MISSED = 0.9, 1e-6, 1e-6
RUNS = {True: 510, False: 1200}
"""The fewest that miss noise of twice the scale once in a million times are 502 Gaussian ones and 1,173 of Laplace."""
LIMITS = {gaussian: int(stats.binom.isf(FALSE_ALARM, runs, 1 - CONFIDENCE)) for gaussian, runs in RUNS.items()}
"""How many of the runs may be beyond a bound that holds with probability 0.9: more are seen with probability 1e-6 at most."""
BUDGETS = {True: RHO, False: PURE}
RECORDS = 300
QUERIES = {"a=true": 1, "a=true,b=true": 2, "a=true,b=true,c=true": 3}


@cache
def adapter(name: str) -> Solver:
    module, _, kind = name.partition(":")
    solver: Solver = getattr(import_module(module), kind)()
    return solver


@pytest.fixture(autouse=True)
def remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each polynomial be searched once, and each end of an interval be solved for without a child process."""
    remember_polynomials(monkeypatch)
    monkeypatch.setattr(
        InChildProcess, "solve", lambda self, *given, **more: adapter(self.adapter).solve(*given, **more)
    )


def bits(number: int) -> np.ndarray:
    """Return records, (n, d), the same each time: the first bits often all true."""
    generator = np.random.default_rng(9)
    return (generator.random((RECORDS, number)) < np.linspace(0.9, 0.3, number)).astype(np.int64)


def plan_of(number: int, width: int, *, gaussian: bool, budget: Budget | None = None) -> SummaryPlan:
    literals = ChosenLiterals.of(bits_schema(number), None, "positive")
    return plan_summary(literals, width, budget or BUDGETS[gaussian], size=RECORDS, relation=ADD_REMOVE)


def released(plan: SummaryPlan, records: np.ndarray) -> Summary:
    return release_summary(PrivateDataset.from_codes(plan.literals.schema, list(records.T)), plan)


def pretending(plan: SummaryPlan, factor: float, made: Summary) -> Summary:
    """Return the release as if its noise was smaller by a factor than what was drawn."""
    scales = tuple(scale / factor for scale in plan.scales)
    return Summary(replace(plan, scales=scales), made.noisy, PRIVACY)


@pytest.mark.parametrize("gaussian", [False, True])
def test_bounds_of_single_answers_hold_as_often_as_stated(gaussian: bool) -> None:
    """510 or 1,200 releases; each query beyond its bound in at most so many that chance explains it but once in a million."""
    records = bits(4)
    plan = plan_of(4, 3, gaussian=gaussian)
    beyond = dict.fromkeys(QUERIES, 0)
    for _ in range(RUNS[gaussian]):
        made = released(plan, records)
        for query, conditions in QUERIES.items():
            answer = made.answer(query, confidence=CONFIDENCE, estimate="polynomial")
            truth = records[:, :conditions].all(axis=1).mean()
            beyond[query] += abs(answer.value - truth) > answer.bound
    assert max(beyond.values()) <= LIMITS[gaussian], beyond


CONSISTENT = 170  # the fewest that miss a share of 0.4 once in a million times
CONSISTENT_LIMIT = int(stats.binom.isf(FALSE_ALARM, CONSISTENT, 1 - CONFIDENCE))


@pytest.mark.parametrize("gaussian", [False, True])
def test_consistent_intervals_hold_the_truth_as_often_as_stated(gaussian: bool) -> None:
    """170 releases, conjunction and disjunction of three, of which two are often true; ends and distance both.

    Intervals as if the noise was an eighth of what was drawn are noticed: intervals that miss the truth in two of five releases
    stay below the limit once in a million times at most, and these miss it oftener.
    """
    records = bits(4)
    plan = plan_of(4, 3, gaussian=gaussian)
    shares = {"and": records[:, :3].all(axis=1).mean(), "or": records[:, :3].any(axis=1).mean()}
    beyond, narrow = dict.fromkeys(shares, 0), 0
    assert stats.binom.cdf(CONSISTENT_LIMIT, CONSISTENT, 0.4) < MISSED
    for _ in range(CONSISTENT):
        made = released(plan, records)
        for predicate, truth in shares.items():
            answer = made.answer("a=true,b=true,c=true", predicate, confidence=CONFIDENCE)
            held = answer.low <= truth <= answer.high and abs(answer.value - truth) <= answer.bound
            beyond[predicate] += not held
        if narrow <= 0.4 * CONSISTENT:  # more would change nothing
            fooled = pretending(plan, 8.0, made).answer("a=true,b=true,c=true", confidence=CONFIDENCE)
            narrow += not fooled.low <= shares["and"] <= fooled.high
    assert max(beyond.values()) <= CONSISTENT_LIMIT, beyond
    assert narrow > 0.4 * CONSISTENT


def tail(plan: SummaryPlan, bound: float) -> float:
    """Return how likely noise on one count of single literals goes beyond a bound, by the distribution of the noise."""
    scale = plan.scales[0]
    values = np.arange(-int(60 * scale) - 1, int(60 * scale) + 2)
    weights = np.exp(-(values**2) / (2 * scale**2) if plan.gaussian else -np.abs(values) / scale)
    return float(weights[np.abs(values) > bound * RECORDS].sum() / weights.sum())


@pytest.mark.parametrize("gaussian", [False, True])
def test_noise_of_twice_the_scale_would_be_noticed(gaussian: bool) -> None:
    """The same test of one count: such noise is missed with a probability below 1e-6, exactly computed, and is not missed."""
    plan = plan_of(1, 1, gaussian=gaussian)
    records, beyond, bound = bits(1), 0, 0.0
    for _ in range(RUNS[gaussian]):
        answer = pretending(plan, 2.0, released(plan, records)).answer("a=true", confidence=CONFIDENCE)
        assert answer.approximation == 0
        assert 0 < answer.value < 1
        bound = answer.bound
        beyond += abs(answer.value - records.mean()) > bound
    assert stats.binom.cdf(LIMITS[gaussian], RUNS[gaussian], tail(plan, bound)) < MISSED
    assert beyond > LIMITS[gaussian]
    assert tail(plan, 2 * bound) <= 1 - CONFIDENCE


TOGETHER, WIDTH, COLUMNS = 400, 3, 6
LARGE = {True: Budget(None, 1e-9, 3.0, Accountant.ZCDP), False: Budget(30.0, 0.0, None, Accountant.PURE)}
TOGETHER_LIMIT = int(stats.binom.isf(FALSE_ALARM, TOGETHER, 0.05))


def worst(made: Summary, records: np.ndarray) -> float:
    """Return the largest error of all queries of the planned kind."""
    chosen = np.array(list(combinations(range(COLUMNS), WIDTH)))
    truth = records[:, chosen].all(axis=2).mean(axis=0)
    values, _ = made.conjunctions_of(chosen, confidence=0.999)
    return float(np.abs(values - truth).max())


@pytest.mark.parametrize("gaussian", [False, True])
def test_all_queries_together_are_within_the_prediction_as_often_as_stated(gaussian: bool) -> None:
    """400 releases, 20 queries each; a prediction for a third of the noise would be beyond what chance explains."""
    records, plan = bits(COLUMNS), plan_of(COLUMNS, WIDTH, gaussian=gaussian, budget=LARGE[gaussian])
    assert plan.approximation < 0.2 * plan.predicted
    errors = np.array([worst(released(plan, records), records) for _ in range(TOGETHER)])
    assert int((errors > plan.predicted).sum()) <= TOGETHER_LIMIT
    noise = plan.predicted - plan.approximation
    assert int((errors > plan.approximation + noise / 3).sum()) > TOGETHER_LIMIT
