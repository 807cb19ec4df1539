"""Fits of equally weighted records: refusals, exact counters, descent, local optimality, the distribution at a temperature."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dpopt.arrays import freeze
from dpopt.errors import ProgramError, SchemaError, WorkloadError
from dpopt.inference.records import bookkeeping
from dpopt.inference.records.fit import COARSE_IMPROVEMENT, COARSER, LEAST_COARSE, Pool, fit_records
from dpopt.inference.records.layouts import are_worthwhile
from dpopt.inference.records.problem import FitProblem, FitProgress, FitSettings, Fitted, FitTerm
from dpopt.inference.records.start import draw_records, estimated_one_way
from dpopt.inference.records.team import BLOCKS
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from tests.circuits import among, circuit_of, some
from tests.inference.fits import (
    RULED,
    RULES,
    SIZES,
    all_codes,
    domains_of,
    equal_objective,
    feasible_records,
    mixed_problem,
)

TWO = np.array([2, 3], dtype=np.int32)
MARGINALS = MarginalSet(all_codes([2, 3]), np.array([[0, 1]], dtype=np.int32))
TERM = FitTerm(MARGINALS, np.zeros(6))


@pytest.mark.parametrize(
    ("values", "weight", "message"),
    [
        (np.zeros(5), 1.0, "6 queries and values of shape"),
        (np.zeros((6, 1)), 1.0, "6 queries and values of shape"),
        (np.array([0, 0, 0, 0, 0, np.inf]), 1.0, "must be finite"),
        (np.zeros(6), 0.0, "number above 0, found 0.0"),
        (np.zeros(6), np.nan, "number above 0, found nan"),
    ],
)
def test_a_term_needs_a_finite_value_for_every_query(values: np.ndarray, weight: float, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        FitTerm(MARGINALS, values, weight)


GOOD = FitProblem(TWO, (TERM,), NO_RULES, all_codes([2, 3]))
WIDE = MarginalSet(all_codes([2, 4]), np.array([[1]], dtype=np.int32))
FAR = Clauses.conjunctions([[1]], [[3]], [[True]])


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"sizes": np.zeros(0, dtype=np.int32)}, ProgramError, "one attribute"),
        ({"domains": all_codes([2])}, ProgramError, "over 1 attributes"),
        ({"domains": domains_of([(0, 1), ()])}, ProgramError, "no code of attribute 1"),
        ({"domains": domains_of([(0, 1), (0, 3)])}, ProgramError, "does not exist"),
        ({"terms": (FitTerm(WIDE, np.zeros(4)),)}, ProgramError, "term 0"),
        ({"terms": (FitTerm(FAR, np.zeros(1)),)}, WorkloadError, "code 3"),
        ({"rules": circuit_of({"far": [some(among(2, [0], [2, 3, 2]))]})}, SchemaError, "outside"),
    ],
)
def test_a_problem_needs_parts_that_fit_together(changes: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        replace(GOOD, **changes)


@pytest.mark.parametrize(
    ("weights", "bound", "says"),
    [(np.ones(1), None, "each record"), (np.ones(2), None, "sum to 1"), (np.full(2, 0.5), 0.5, "comes with")],
)
def test_what_a_fit_gives_is_checked(weights: np.ndarray, bound: float | None, says: str) -> None:
    with pytest.raises(ProgramError, match=says):
        Fitted(np.zeros((2, 2), dtype=np.int32), weights, 1.0, bound, None, None, "", ())


def test_feasible_records_have_allowed_codes_and_obey_the_rules() -> None:
    rules = circuit_of({"one": [some(among(0, [1], [2, 3]), among(1, [2], [2, 3]))]})
    problem = FitProblem(TWO, (TERM,), rules, domains_of([(0, 1), (0, 2)]))
    records = np.array([[0, 0], [0, 2], [1, 0], [1, 1], [2, 0], [0, -1], [1, 3]], dtype=np.int32)
    assert problem.infeasible(records).tolist() == [True, False, False, True, True, True, True]
    with pytest.raises(ProgramError, match="record 0"):
        problem.require_feasible(records)
    with pytest.raises(ProgramError, match="2 attributes"):
        problem.infeasible(records[:, :1])


@pytest.mark.parametrize(
    "wrong",
    [
        {"records": 0},
        {"records": 10**9},
        {"sweeps": -1},
        {"rounds": -1},
        {"seed": 2**31},
        {"threads": 0},
        {"smoothing": -1.0},
        {"smoothing": np.inf},
        {"improvement": np.nan},
        {"seconds": 0.0},
        {"seconds": np.nan},
        {"gap": -1.0},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ProgramError, match=next(iter(wrong))):
        FitSettings(**wrong)  # type: ignore[arg-type]


ALLOWED = domains_of([(0, 2), (0, 1), (1, 2, 3), (0, 1, 2)])
SEEDS = pytest.mark.parametrize("seed", range(6))


def best_single_change(problem: FitProblem, records: np.ndarray) -> float:
    """Return the least f that one change of one code of one record to a feasible one gives, by trying all."""
    best = np.inf
    for row in range(len(records)):
        for attribute, size in enumerate(problem.sizes.tolist()):
            for code in range(size):
                changed = records.copy()
                changed[row, attribute] = code
                if not problem.infeasible(changed[row : row + 1])[0]:
                    best = min(best, equal_objective(problem, changed))
    return best


@pytest.fixture(params=[True, False], ids=["sums over conditions", "lists of clauses"])
def _layout(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bookkeeping, "are_worthwhile", lambda _: request.param)


def test_sums_over_conditions_are_kept_where_they_cost_less() -> None:
    cases = (
        (41, 10, 50_000, True),  # few attributes of many codes: a record has two columns of few clauses
        (41, 2, 50_000, False),  # of two codes: of most
        (200, 10, 2_000, False),  # more pairs of attributes than clauses
        (210, 10, 500_000, False),  # no room for pairs of columns
    )
    for attributes, codes, number, expected in cases:
        sizes = np.full(attributes, codes, dtype=np.int32)
        random = np.random.default_rng(1)
        three = np.argsort(random.random((number, attributes)), axis=1)[:, :3].astype(np.int32)
        signs = np.ones((number, 3), dtype=np.bool_)
        clauses = Clauses.conjunctions(freeze(three), freeze(np.ones_like(three)), freeze(signs))
        problem = FitProblem(
            sizes, (FitTerm(clauses, np.zeros(number), 1.0),), NO_RULES, domains_of([tuple(range(codes))] * attributes)
        )
        assert are_worthwhile(problem) is expected


@SEEDS
@RULED
@pytest.mark.usefixtures("_layout")
def test_the_objective_that_is_kept_is_that_of_the_records(seed: int, rules: ThresholdCircuit) -> None:
    problem = mixed_problem(seed, rules=rules)
    fitted = fit_records(problem, FitSettings(records=17, sweeps=3, seed=seed))
    assert fitted.objective == pytest.approx(equal_objective(problem, fitted.records), rel=1e-12)
    objectives = [one.objective for one in fitted.history]
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(objectives))
    assert objectives[-1] < objectives[0]


@SEEDS
@RULED
@pytest.mark.usefixtures("_layout")
def test_a_search_that_ends_by_itself_ends_where_no_change_of_a_code_helps(seed: int, rules: ThresholdCircuit) -> None:
    problem = mixed_problem(seed, rules=rules, allowed=ALLOWED if seed % 2 else None)
    fitted = fit_records(problem, FitSettings(records=11, sweeps=100, seed=seed))
    assert fitted.stopped.startswith("no single change")
    assert not problem.infeasible(fitted.records).any()
    assert best_single_change(problem, fitted.records) >= fitted.objective - 1e-4 / 11**2


@SEEDS
@pytest.mark.parametrize(("rules", "smoothing"), [(NO_RULES, 0.0), (NO_RULES, 0.01), (RULES, 0.0)])
def test_clauses_listed_one_by_one_give_the_same_records_as_sums_over_conditions(
    seed: int, rules: ThresholdCircuit, smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = mixed_problem(seed, rules=rules)
    settings = FitSettings(records=20, sweeps=4, seed=seed, smoothing=smoothing)
    monkeypatch.setattr(bookkeeping, "are_worthwhile", lambda _: True)
    first = fit_records(problem, settings)
    monkeypatch.setattr(bookkeeping, "are_worthwhile", lambda _: False)
    second = fit_records(problem, settings)
    np.testing.assert_array_equal(first.records, second.records)
    assert first.objective == pytest.approx(second.objective, rel=1e-12)


def test_many_records_for_clauses_begin_as_fewer_that_were_fitted_each_several_times() -> None:
    problem = mixed_problem(1)
    settings = FitSettings(records=COARSER * LEAST_COARSE, sweeps=2, threads=1)
    fitted = fit_records(problem, settings)
    fewer = fit_records(problem, replace(settings, records=LEAST_COARSE, improvement=COARSE_IMPROVEMENT))
    assert fitted.history[0].objective == pytest.approx(fewer.objective, rel=1e-9)
    assert fitted.objective <= fewer.objective < fit_records(problem, replace(settings, sweeps=0)).objective
    again = fit_records(problem, replace(settings, threads=2))
    np.testing.assert_array_equal(fitted.records, again.records)


@pytest.mark.parametrize("scale", [1e-6, 1e12])
def test_the_scale_of_the_weights_does_not_matter(scale: float) -> None:
    problem = mixed_problem(1, rules=RULES)
    scaled = replace(problem, terms=tuple(replace(term, weight=term.weight * scale) for term in problem.terms))
    one, other = (fit_records(p, FitSettings(records=30, sweeps=3)) for p in (problem, scaled))
    assert other.objective == pytest.approx(scale * one.objective, rel=1e-9)


@pytest.mark.usefixtures("_layout")
def test_draws_at_a_temperature_follow_their_distribution() -> None:
    """The shares of 30,000 sweeps of one record against prior * exp(-f / tau), by enumeration."""
    problem = mixed_problem(2, sizes=(2, 3, 2, 2))
    distributions = estimated_one_way(problem)
    temperature = 2.0
    records = feasible_records(problem)
    offsets = problem.offsets()[:-1]
    prior = np.maximum(distributions, 1e-9)[records + offsets].prod(axis=1)
    f = np.array([equal_objective(problem, record[None, :]) for record in records])
    distribution = prior * np.exp(-(f - f.min()) / temperature)
    distribution /= distribution.sum()
    pool = Pool(problem, records[:1], distributions, seed=3)
    counts = np.zeros(len(records))
    place = {tuple(record): i for i, record in enumerate(records.tolist())}
    for _ in range(30_000):
        pool.sweep(temperature)
        counts[place[tuple(pool.records[0].tolist())]] += 1
    assert 0.5 * np.abs(counts / counts.sum() - distribution).sum() < 0.02
    assert distribution.max() < 0.8


def test_a_temperature_near_zero_does_what_zero_does() -> None:
    problem = mixed_problem(4)
    cold = fit_records(problem, FitSettings(records=15, sweeps=20, smoothing=1e-12))
    exact = fit_records(problem, FitSettings(records=15, sweeps=20))
    assert cold.objective == pytest.approx(exact.objective, rel=0.05)


def test_the_distributions_of_noiseless_marginals_are_the_one_way_shares() -> None:
    problem = mixed_problem(3, noise=0.0)
    problem = replace(problem, terms=problem.terms[:1])
    distributions, exact = estimated_one_way(problem), problem.terms[0].values
    np.testing.assert_allclose(distributions[:3], exact[:24].reshape(3, 8).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(distributions[5:9], exact[-4:], atol=1e-12)
    np.testing.assert_allclose(distributions[9:], exact[24:30].reshape(2, 3).sum(axis=0), atol=1e-12)


def test_distributions_are_probabilities_on_allowed_codes_whatever_the_noise() -> None:
    for seed in range(5):
        problem = mixed_problem(seed, noise=5.0, allowed=ALLOWED)
        distributions = estimated_one_way(problem)
        assert (distributions >= 0).all()
        assert not distributions[~problem.allowed_columns()].any()
        np.testing.assert_allclose(np.add.reduceat(distributions, problem.offsets()[:-1]), 1.0)
    without = replace(problem, terms=())
    np.testing.assert_allclose(estimated_one_way(without)[:3], [0.5, 0, 0.5])


def test_records_are_drawn_as_often_as_their_distributions_say() -> None:
    problem = mixed_problem(0)
    distributions = np.array([0.5, 0.25, 0.25, 1, 0, 0.1, 0.2, 0.3, 0.4, 0, 0, 1])
    records = draw_records(problem, distributions, 40, 1)
    assert np.bincount(records[:, 0]).tolist() == [20, 10, 10]
    assert np.bincount(records[:, 2]).tolist() == [4, 8, 12, 16]
    assert set(records[:, 1]) == {0}
    assert set(records[:, 3]) == {2}
    assert (draw_records(problem, distributions, 40, 2) != records).any()


@pytest.mark.parametrize("rules", [NO_RULES, RULES], ids=["free", "rules"])
@pytest.mark.parametrize("smoothing", [0.0, 0.001])
def test_a_seed_gives_the_same_records_with_any_number_of_threads(rules: ThresholdCircuit, smoothing: float) -> None:
    problem = mixed_problem(1, rules=rules)
    problem = replace(problem, terms=problem.terms[:1])  # marginals alone: with clauses a fit has one thread
    # Blocks of six records, so that three threads have two each.
    settings = FitSettings(records=6 * BLOCKS + 5, sweeps=2, smoothing=smoothing, seed=5, threads=1)
    first = fit_records(problem, settings)
    for threads in (2, 3):
        again = fit_records(problem, replace(settings, threads=threads))
        assert again.records.tobytes() == first.records.tobytes()
        assert again.objective == first.objective
    assert first.objective == pytest.approx(equal_objective(problem, first.records), rel=1e-9)
    assert (first.records != fit_records(problem, replace(settings, seed=6)).records).any()


def test_a_start_is_kept_repeated_or_thinned_out() -> None:
    problem = mixed_problem(0, rules=RULES)
    feasible = feasible_records(problem)[:6]
    still = FitSettings(records=6, sweeps=0)
    np.testing.assert_array_equal(fit_records(problem, still, start=feasible).records, feasible)
    for number in (3, 15):
        rows = fit_records(problem, replace(still, records=number), start=feasible).records
        _, counts = np.unique(rows, axis=0, return_counts=True)
        assert counts.sum() == number
        assert counts.max() - counts.min() <= 1
    with pytest.raises(ProgramError, match="records"):
        fit_records(problem, still, start=feasible[:0])
    with pytest.raises(ProgramError, match="record 0"):
        fit_records(problem, still, start=np.array([[0, 0, 0, 1]], dtype=np.int32))


def test_a_search_stops_and_says_why() -> None:
    problem, reported = mixed_problem(0), list[FitProgress]()
    settings = FitSettings(records=30, sweeps=50)
    assert fit_records(problem, replace(settings, sweeps=1)).stopped == "all sweeps done"
    assert fit_records(problem, replace(settings, improvement=0.5)).stopped.startswith("a sweep improved by less")
    assert fit_records(problem, replace(settings, seconds=1e-9)).stopped == "time is up"
    fitted = fit_records(problem, settings, progress=reported.append)
    assert tuple(reported) == fitted.history
    assert [one.step for one in reported] == list(range(len(reported)))


def test_distributions_that_do_not_fit_are_refused() -> None:
    problem = mixed_problem(0, allowed=ALLOWED)
    good = estimated_one_way(problem)
    forbidden = good.copy()
    forbidden[:3] = [0.0, 1.0, 0.0]
    for wrong, message in (
        (good[1:], "one number for each"),
        (good * 2, "sum to 1"),
        (np.where(np.arange(12) == 0, np.nan, good), "sum to 1"),
        (forbidden, "may not have"),
    ):
        with pytest.raises(ProgramError, match=message):
            fit_records(problem, FitSettings(records=3), one_way=wrong)


def test_rules_that_no_record_obeys_are_said_so() -> None:
    never = circuit_of({"both": [some(among(0, [1], SIZES)), some(among(0, [2], SIZES))]})
    problem = replace(mixed_problem(0), rules=never)
    with pytest.raises(ProgramError, match="obeys"):
        fit_records(problem, FitSettings(records=5))


def test_values_far_beyond_every_share_are_held_exactly_or_refused() -> None:
    problem = mixed_problem(0)
    term = problem.terms[0]
    for size, refused in ((1e6, False), (1e17, True)):
        huge = replace(problem, terms=(replace(term, values=term.values * size),))
        settings = FitSettings(records=300, sweeps=3)
        if refused:
            with pytest.raises(ProgramError, match="fit"):
                fit_records(huge, settings)
        else:
            fitted = fit_records(huge, settings)
            assert fitted.objective == pytest.approx(equal_objective(huge, fitted.records), rel=1e-12)
