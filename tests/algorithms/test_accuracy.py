"""What accuracy theorems promise of a plan, and of a finished run with the gaps of its rounds."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.algorithms.dualquery.accuracy import parameters_for_accuracy, proven_error
from dpopt.algorithms.dualquery.rounds import RoundGaps, certified_accuracy, gaps_of
from dpopt.errors import PlanError
from dpopt.models.best_responses.presolved import SETTLED
from tests.algorithms.small_runs import SCHEMA, job, small_release

USUAL: dict[str, Any] = {"rounds": 100, "draws": 200, "step": 1.4, "queries": 500, "log_universe": 20.0}


def ln(value: Decimal | int) -> Decimal:
    return Decimal(value).ln()


@given(
    rounds=st.integers(1, 10_000),
    draws=st.integers(1, 10**6),
    step=st.decimals("0.001", 10, places=3),
    queries=st.integers(1, 10**7),
    universe=st.integers(2, 10**30),
    beta=st.decimals("0.001", "0.999", places=3),
    gap=st.decimals(0, 1, places=3),
)
def test_the_bound_is_the_formula_of_its_docstring(
    rounds: int, draws: int, step: Decimal, queries: int, universe: int, beta: Decimal, gap: Decimal
) -> None:
    """Computed again in decimal arithmetic, with |Q| and |X| as whole numbers."""
    found = proven_error(
        rounds=rounds,
        draws=draws,
        step=float(step),
        queries=queries,
        log_universe=float(ln(universe)),
        failure=float(beta),
        solver_gap=float(gap),
    )
    signed = 2 * queries
    regret = ln(signed) / (step * rounds) + step / 2
    at_response = (ln(2 * universe * rounds / beta) / (2 * draws)).sqrt()
    at_data = (ln(2 / beta) / (2 * draws * rounds)).sqrt()
    assert found.learning == pytest.approx(float(regret), rel=1e-12)
    assert found.sampling == pytest.approx(float(at_response + at_data), rel=1e-12)
    assert found.solver == float(gap)
    assert found.bound == pytest.approx(float(regret + at_response + at_data + gap), rel=1e-12)


@pytest.mark.parametrize(
    ("name", "values", "rises"),
    [
        ("draws", [1, 10, 100, 10_000], False),
        ("queries", [1, 10, 10_000], True),
        ("log_universe", [1.0, 10.0, 100.0], True),
        ("failure", [0.5, 0.1, 1e-9], True),
        ("solver_gap", [0.0, 0.1, 0.2], True),
    ],
)
def test_the_bound_moves_the_right_way(name: str, values: list[Any], rises: bool) -> None:
    bounds = [proven_error(**{**USUAL, name: value}).bound for value in values]
    assert all((one < other) == rises for one, other in pairwise(bounds))


def test_more_rounds_learn_more_and_cost_a_little_in_the_union() -> None:
    few, many = proven_error(**USUAL), proven_error(**{**USUAL, "rounds": 400})
    assert many.learning < few.learning
    assert many.bound < few.bound


def test_a_bound_of_one_or_more_is_said_to_say_nothing() -> None:
    weak = proven_error(**{**USUAL, "rounds": 1}).to_json()
    strong = proven_error(**{**USUAL, "rounds": 10_000, "draws": 10_000, "step": 0.05}).to_json()
    assert (weak["says_something"], strong["says_something"]) == (False, True)
    assert weak["bound"] >= 1 > strong["bound"]
    assert strong["bound"] == pytest.approx(strong["learning"] + strong["sampling"] + strong["mean_solver_gap_assumed"])
    assert strong["failure_probability"] == 0.05


def test_the_parameters_are_those_of_algorithm_2() -> None:
    """|Q| = 2000, |X| = 2**10, alpha = 1/10, beta = 1/20: T = 16 ln|Q| / alpha^2, s = 48 ln(2 |X| T / beta) / alpha^2."""
    rounds, draws, step = parameters_for_accuracy(0.1, failure=0.05, queries=1000, log_universe=float(ln(2**10)))
    assert rounds - 1 < 16 * 100 * ln(2000) <= rounds
    assert draws - 1 < 48 * 100 * ln(2 * 2**10 * rounds * 20) <= draws
    assert step == Decimal("0.025")


@given(alpha=st.floats(0.01, 0.99), beta=st.floats(0.001, 0.9), queries=st.integers(1, 10**6))
def test_the_parameters_of_algorithm_2_meet_the_sharpened_bound_too(alpha: float, beta: float, queries: int) -> None:
    rounds, draws, step = parameters_for_accuracy(alpha, failure=beta, queries=queries, log_universe=30.0)
    proven = proven_error(
        rounds=rounds,
        draws=draws,
        step=float(step),
        queries=queries,
        log_universe=30.0,
        failure=beta,
        solver_gap=alpha / 4,
    )
    assert proven.bound < alpha


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        *(({"alpha": alpha}, "the largest error allowed") for alpha in (0.0, 1.0, -0.1, 2.0, float("nan"))),
        *(
            ({"failure": beta}, "the failure probability .* lies between 0 and 1")
            for beta in (0.0, 1.0, -0.5, float("nan"))
        ),
    ],
    ids=str,
)
def test_errors_and_probabilities_that_are_none_are_refused(wrong: dict[str, float], message: str) -> None:
    asked: dict[str, Any] = {"alpha": 0.1, "failure": 0.05, "queries": 10, "log_universe": 1.0, **wrong}
    with pytest.raises(PlanError, match=message):
        parameters_for_accuracy(asked.pop("alpha"), **asked)
    if "failure" in wrong:
        with pytest.raises(PlanError, match=message):
            proven_error(**USUAL, failure=wrong["failure"])


def test_the_figures_are_the_theorem_with_the_mean_gaps() -> None:
    made = job()
    found = certified_accuracy(made, [RoundGaps(4, None), RoundGaps(2, 1), RoundGaps(0, 5)])
    assert found is not None
    usual: dict[str, Any] = {
        "rounds": 3,
        "draws": 8,
        "step": 1.4,
        "queries": len(made.workload),
        "log_universe": math.fsum(math.log(size) for size in SCHEMA.sizes.tolist()),
    }
    for name, gaps in (("by_proven_bounds", [4, 2, 0]), ("by_reported_bounds", [4, 1, 0])):
        mean = float(Fraction(sum(gaps), 3 * 8))
        expected = proven_error(**usual, solver_gap=mean)
        assert found[name]["bound"] == pytest.approx(expected.bound, rel=1e-12)
        assert found[name]["mean_gap_over_draws"] == mean
        assert found[name]["largest_gap_over_draws"] == max(gaps) / 8
        assert found[name]["says_something"] == (expected.bound < 1)
        assert found[name]["rounds"] == 3
    assert found["by_reported_bounds"]["rounds_with_a_reported_bound"] == 2
    assert "proven" in found["by_proven_bounds"]["kind"]
    assert "no proofs" in found["by_reported_bounds"]["kind"]


def test_a_smaller_proven_gap_is_not_spoiled_by_a_larger_reported_one() -> None:
    assert RoundGaps(3, 7).by_any_word == 3
    assert RoundGaps(7, 3).by_any_word == 3
    assert RoundGaps(7, None).by_any_word == 7


def test_without_rounds_there_is_no_statement() -> None:
    assert certified_accuracy(job(), []) is None


def test_a_release_states_what_its_rounds_prove_and_what_was_reported() -> None:
    finished = small_release(solver="cp-sat", seconds=20.0)
    certified = finished.statement["accuracy"]["certified"]
    proven = [done.certificate.proven_gap for done in finished.played]
    reported = [done.certificate.gap for done in finished.played if done.solver != SETTLED]
    assert None not in proven
    expected = sum(gap for gap in proven if gap is not None) / (6 * 8)
    assert certified["by_proven_bounds"]["mean_gap_over_draws"] == expected
    assert certified["by_reported_bounds"]["rounds_with_a_reported_bound"] == sum(gap is not None for gap in reported)
    assert certified["by_reported_bounds"]["mean_gap_over_draws"] <= expected
    assert finished.statement["certificates"]["rounds_with_a_bound_reported_by_the_solver"] == len(reported)
    json.dumps(finished.statement, allow_nan=False)


def test_what_presolve_settled_no_solver_reported() -> None:
    """Presolve answers a round whose parts it enumerates: no solver is asked, so that none states its bound."""
    (*_, last) = small_release(solver="cp-sat", seconds=20.0).played
    settled = replace(
        last, solver=SETTLED, certificate=replace(last.certificate, bound=last.certificate.objective, gap=0)
    )
    asked = replace(settled, solver="cp-sat 9")
    assert (gaps_of(settled).reported, gaps_of(asked).reported) == (None, 0)
    assert gaps_of(settled).proven == gaps_of(asked).proven
