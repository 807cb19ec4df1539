"""Column generation: optima of a general solver, proofs, gaps, rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.errors import ProgramError, SolverUnavailableError
from dpopt.inference.records.columns.column_generation import generate_columns
from dpopt.inference.records.columns.pricing import Enumeration
from dpopt.inference.records.fit import fit
from dpopt.inference.records.problem import FitProblem, FitSettings, Fitted
from dpopt.models.records.projection import projection
from dpopt.programs import SolveLimits
from dpopt.programs.conic import PointProgram
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit
from dpopt.solvers.registry import get_solver
from tests.inference.fits import RULED, RULES, answers, domains_of, feasible_records, mixed_problem, objective
from tests.lying_solvers import POINTS, Lie, Lying

SEEDS = pytest.mark.parametrize("seed", range(4))


def optimum(problem: FitProblem) -> float:
    """Return the least f, by Clarabel over all feasible records."""
    records = feasible_records(problem)
    truth = np.concatenate([answers(term.queries, records) for term in problem.terms]) > 0.5
    values = np.concatenate([term.values for term in problem.terms])
    weights = np.concatenate([np.full(term.values.size, term.weight) for term in problem.terms])
    program = projection(truth, values, weights).program
    result = get_solver("clarabel").solve(program, SolveLimits(seconds=60))
    point = np.maximum(np.asarray(result.require_solution(), dtype=np.float64), 0)
    return program.evaluate(point / point.sum())


def check(problem: FitProblem, fitted: Fitted) -> None:
    """Check what every fit promises."""
    assert not problem.infeasible(fitted.records).any()
    assert len(np.unique(fitted.records, axis=0)) == len(fitted.records)
    assert fitted.objective == pytest.approx(objective(problem, fitted.records, fitted.weights), rel=1e-9)


@SEEDS
@RULED
@pytest.mark.solver("clarabel")
def test_the_optimum_is_that_of_a_general_solver_over_all_records(seed: int, rules: ThresholdCircuit) -> None:
    allowed = domains_of([(0, 2), (0, 1), (1, 2, 3), (0, 1, 2)]) if seed == 3 else None
    problem = mixed_problem(seed, rules=rules, allowed=allowed)
    fitted = fit(problem, FitSettings(records=10, sweeps=2, rounds=100, seed=seed))
    check(problem, fitted)
    best = optimum(problem)
    assert fitted.objective == pytest.approx(best, rel=1e-6)
    assert fitted.lower_bound is not None
    assert fitted.gap is not None
    assert fitted.lower_bound <= best * (1 + 1e-7)
    assert fitted.gap <= 1e-6 * best
    assert fitted.proof.startswith("enumeration")


@SEEDS
@RULED
@pytest.mark.solver("clarabel")
def test_the_search_alone_finds_the_same_records_on_small_problems(
    seed: int, rules: ThresholdCircuit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Enumeration, "possible", staticmethod(lambda _: False))
    problem = mixed_problem(seed, rules=rules)
    fitted = fit(problem, FitSettings(records=10, sweeps=2, rounds=100, seed=seed))
    check(problem, fitted)
    assert fitted.objective == pytest.approx(optimum(problem), rel=1e-6)
    assert (fitted.lower_bound, fitted.gap, fitted.pricing_gap, fitted.proof) == (None, None, None, "")
    assert fitted.frank_wolfe_gap == pytest.approx(0, abs=1e-8)


@RULED
@pytest.mark.parametrize("name", ["cp-sat", "highs"])
def test_a_solver_proves_a_bound(name: str, rules: ThresholdCircuit, monkeypatch: pytest.MonkeyPatch) -> None:
    if not get_solver(name).availability().available:
        pytest.skip(f"{name} is not available")
    problem = mixed_problem(1, rules=rules)
    exact = fit(problem, FitSettings(records=10, rounds=100))
    monkeypatch.setattr(Enumeration, "possible", staticmethod(lambda _: False))
    fitted = fit(problem, FitSettings(records=10, rounds=100, proof=name, seconds=120))
    check(problem, fitted)
    assert fitted.lower_bound is not None
    assert fitted.gap is not None
    assert fitted.lower_bound <= exact.objective * (1 + 1e-9)
    if name == "cp-sat":
        assert fitted.gap <= 1e-5 * fitted.objective
        assert "reported and not checked" in fitted.proof
    else:
        assert "exact arithmetic" in fitted.proof
    assert fitted.frank_wolfe_gap is not None
    assert fitted.pricing_gap is not None
    assert fitted.gap <= fitted.frank_wolfe_gap + fitted.pricing_gap + 1e-12


BY_SOLVER = FitSettings(records=10, sweeps=2, rounds=100, seconds=120)


@RULED
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.solver(name)) for name in ("clarabel", "osqp", "scs")]
)
def test_a_named_solver_weighs_the_records_to_the_same_optimum(name: str, rules: ThresholdCircuit) -> None:
    problem = mixed_problem(1, rules=rules)
    own = fit(problem, replace(BY_SOLVER, solver=None))
    fitted = fit(problem, replace(BY_SOLVER, solver=name))
    check(problem, fitted)
    assert fitted.gap is not None
    assert own.lower_bound is not None
    assert fitted.gap <= 1e-5 * own.objective
    assert own.lower_bound * (1 - 1e-9) <= fitted.objective <= own.objective + fitted.gap
    falling = [one.objective for one in fitted.history if one.stage in {"merge", "round"}]
    assert falling == sorted(falling, reverse=True)


LIES: dict[str, tuple[Lie, str]] = {
    "worst record": (lambda program: _corner(program, np.argmax), "found no better weights"),
    **{name: (point, "found no") for name, point in POINTS.items()},
}


def _corner(program: PointProgram, choose: Callable[[list[float]], np.intp]) -> NDArray[np.float64]:
    corners = np.eye(program.number_of_variables)
    chosen: NDArray[np.float64] = corners[choose([program.evaluate(one) for one in corners])]
    return chosen


@pytest.mark.parametrize("lie", LIES)
def test_a_solver_that_lies_ends_the_fit_and_the_certificate_stays_true(lie: str) -> None:
    problem = mixed_problem(1)
    exact = fit(problem, replace(BY_SOLVER, solver=None))
    start = fit(problem, replace(BY_SOLVER, rounds=0))
    point, reason = LIES[lie]
    fitted = fit(problem, replace(BY_SOLVER, solver=Lying(point)))
    check(problem, fitted)
    assert reason in fitted.stopped
    assert fitted.objective == pytest.approx(start.objective, rel=1e-9)
    assert fitted.lower_bound is not None
    assert fitted.gap is not None
    assert fitted.lower_bound <= exact.objective * (1 + 1e-9)
    assert fitted.gap >= fitted.objective - exact.objective - 1e-9


@pytest.mark.solver("clarabel")
def test_a_solver_that_gives_up_in_a_later_round_leaves_no_record_without_weight() -> None:
    honest = iter([True])

    def point(program: PointProgram) -> NDArray[np.float64] | None:
        if not next(honest, False):
            return None
        return np.asarray(get_solver("clarabel").solve(program).require_solution(), dtype=np.float64)

    problem = mixed_problem(1)
    fitted = fit(problem, replace(BY_SOLVER, sweeps=0, solver=Lying(point)))
    check(problem, fitted)
    assert "found no" in fitted.stopped
    assert [one.moved > 0 for one in fitted.history if one.stage == "round"] == [True]


@pytest.mark.solver("clarabel")
def test_too_many_coefficients_for_solvers_end_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpopt.models.model.LARGEST_FOR_SOLVERS", 10)
    fitted = fit(mixed_problem(1), replace(BY_SOLVER, solver="clarabel"))
    assert "solvers are handed 10 at most" in fitted.stopped


def test_equal_records_are_merged_and_their_weights_improved() -> None:
    problem = mixed_problem(2)
    records = feasible_records(problem)[[0, 5, 9, 5]]
    start = objective(problem, records, np.full(4, 0.25))
    fitted = generate_columns(problem, FitSettings(rounds=0), records)
    check(problem, fitted)
    assert len(fitted.records) <= 3
    assert fitted.history[0].objective < start


def test_many_records_are_weighed_without_a_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = mixed_problem(0)
    settings = FitSettings(records=200, sweeps=0, rounds=60)
    exact = fit(problem, settings)
    monkeypatch.setattr("dpopt.inference.records.columns.column_generation.MATRIX_UP_TO", 5)
    fitted = fit(problem, settings)
    check(problem, fitted)
    assert fitted.lower_bound is not None
    assert fitted.lower_bound <= exact.objective * (1 + 1e-9)
    assert fitted.objective == pytest.approx(exact.objective, rel=1e-3)


def test_it_ends_by_the_gap_by_the_clock_and_by_the_rounds() -> None:
    problem = mixed_problem(3)
    settings = FitSettings(records=5, sweeps=0, rounds=100)
    loose = fit(problem, replace(settings, gap=0.5))
    assert loose.stopped == "the gap is small enough"
    assert loose.gap is not None
    assert loose.gap <= 0.5
    assert fit(problem, replace(settings, rounds=1)).stopped == "all rounds done"
    assert fit(problem, replace(settings, seconds=1e-9)).stopped == "time is up"
    full = fit(problem, settings)
    assert full.stopped.startswith("no record was found")
    assert [one.stage for one in full.history[:2]] == ["start", "merge"]
    assert full.history[-1].stage == "end"


def test_unknown_solvers_and_infeasible_records_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Enumeration, "possible", staticmethod(lambda _: False))
    problem = mixed_problem(0, rules=RULES)
    with pytest.raises(SolverUnavailableError, match="nobody"):
        fit(problem, FitSettings(records=5, rounds=1, proof="nobody"))
    with pytest.raises(ProgramError, match="feasible"):
        generate_columns(problem, FitSettings(rounds=1), np.zeros((1, 4), dtype=np.int32))
