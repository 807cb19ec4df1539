"""Solvers from outside: every kind of problem and way of failing is found by one trial, at every door, with the same words."""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.comparison.compare import run
from dpopt.comparison.parts import Case, Contestant
from dpopt.errors import AccuracyWarning, PlanError, ProgramError, SolverUnavailableError
from dpopt.models.histograms.isotonic_regression import isotonic_regression
from dpopt.polynomials import Target, best_polynomial, least_coefficients, least_degree
from dpopt.polynomials.coefficient_budgets import sensitivity_weights
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import NO_LIMITS, Limit, Point, Progress, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Availability, AvailabilityStatus, Capability, Program
from dpopt.releases.solver_choice import require_solver
from dpopt.solvers import get_solver, outside
from dpopt.solvers.outside import answer, tiny_clauses, tiny_problem, tried
from tests.own_solvers import EVERYTHING, Mine, OwnSolver, raising

KINDS = {
    Capability.MAX_CSP: "local-search",
    Capability.LP: "highs",
    Capability.MIP: "highs",
    Capability.WHOLE: "cp-sat",
    Capability.CONVEX_QP: "clarabel",
    Capability.CONES: "clarabel",
}


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Wait for a fifth of a second, and let what hangs end with the test."""
    over.clear()
    monkeypatch.setattr(outside, "PATIENCE", 0.2)
    monkeypatch.setattr(outside, "TRIAL_OF_OTHERS", 0.01)
    yield
    over.set()


over = threading.Event()


def hangs(program: Program) -> object:
    over.wait(60)
    return None


def claims(number: float) -> Callable[[Program], object]:
    """Return a solver's act: the same number everywhere, called optimal."""

    def act(program: Program) -> SolveResult:
        size = program.sizes.size if isinstance(program, MaxCsp) else program.number_of_variables
        point: Point = np.full(size, float(number))
        if isinstance(program, MaxCsp) and np.isfinite(number):
            point = point.astype(np.int32)
        return SolveResult(Termination.OPTIMAL, None, point, 1.0, None, "mine")

    return act


def states_a_false_bound(program: Program) -> SolveResult:
    """Answer rightly, and state a bound that the optimum disproves."""
    capability = Capability.MAX_CSP if isinstance(program, MaxCsp) else Capability.CONVEX_QP
    point = np.array([1, 2], np.int32) if capability is Capability.MAX_CSP else np.array([2.0, 1.0])
    bound = -50.0 if capability is Capability.MAX_CSP else 50.0
    return SolveResult(Termination.OPTIMAL, None, point, 0.0, bound, "mine")


FAILS: dict[str, tuple[Callable[[Program], object], str]] = {
    "raises": (raising(TypeError("my bug")), "the solver broke down: TypeError: my bug"),
    "exits": (raising(SystemExit(3)), "the solver broke down: SystemExit: 3"),
    "is interrupted": (raising(KeyboardInterrupt()), "it was interrupted"),
    "answers with nothing": (lambda program: None, "answered with NoneType"),
    "gives up": (lambda program: SolveResult(Termination.FAILED, solver="mine"), "ended 'failed' without a solution"),
    "is wrong": (lambda program: claims(0 if isinstance(program, MaxCsp) else 4.0)(program), "the optimum is"),
    "gives no number": (claims(np.nan), "the answer was refused"),
    "breaks the constraints": (claims(-1), "the answer was refused"),
    "states a false bound": (states_a_false_bound, "bound "),
}


@pytest.mark.parametrize("way", FAILS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_way_of_failing_is_found_at_each_kind_of_problem(kind: Capability, way: str) -> None:
    act, said = FAILS[way]
    with pytest.warns(AccuracyWarning, match=said) as caught:
        tried(Mine(act), kind)
    assert f"tried on a problem of two variables ({kind.value})" in str(caught[0].message)


@pytest.mark.parametrize("kind", KINDS)
def test_a_solver_that_hangs_is_refused(kind: Capability, short: None) -> None:
    with pytest.raises(SolverUnavailableError, match=r"'mine' did not answer within 0\.2 s.*it was tried on"):
        tried(Mine(hangs), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_solver_that_works_passes_once_without_a_word(kind: Capability) -> None:
    inner, seen = get_solver(KINDS[kind]), []
    if not inner.availability().available:
        pytest.skip(f"{inner.name} cannot run here")

    def act(program: Program) -> SolveResult:
        seen.append(program)
        return inner.solve(program)

    with warnings.catch_warnings(action="error"):
        mine = Mine(act)
        for _ in range(3):
            assert tried(mine, kind) is mine
    assert len(seen) == 1
    program, best = tiny_problem(kind)
    assert inner.solve(program).objective == pytest.approx(best, abs=1e-4)


def slow(seen: list[SolveLimits], takes: float = 0.0, **claims: Any) -> Any:
    """Return a solver that takes its time, answers every problem with a record of zeros, and makes other claims."""

    class Slow(OwnSolver):
        capabilities = frozenset({Capability.MAX_CSP, Capability.PRESOLVES})

        def __init__(self) -> None:
            pass

        def availability(self) -> Availability:
            return Availability(AvailabilityStatus.AVAILABLE, "")

        def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
            assert isinstance(program, MaxCsp)
            seen.append(limits)
            time.sleep(takes)
            zeros = np.zeros(program.sizes.size, np.int32)
            value = program.objective(zeros)
            return SolveResult(Termination.LIMIT, Limit.TIME, zeros, value, solver=self.name, **claims)

    return Slow()


@pytest.mark.parametrize("claimed", [0.0, -5.0, 1e6, float("nan")])
def test_seconds_are_those_of_the_call(claimed: float) -> None:
    """Whatever a solver says of them; values are not found before it begins, nor after it ends."""
    history = (Progress(-1.0, 1.0, None), Progress(0.01, 1.0, None), Progress(70.0, 2.0, None))
    found = answer(slow([], 0.15, seconds=claimed, history=history), tiny_problem(Capability.MAX_CSP)[0])
    assert isinstance(found, SolveResult)
    assert 0.15 <= found.seconds < 5
    assert [one.seconds for one in found.history] == [0.01, found.seconds]
    row = run(Case("one", tiny_clauses()), Contestant("mine", slow([], 0.15)), SolveLimits(seconds=1.0))
    assert row.seconds >= 0.15
    assert row.at_mark == ((0.1, None), (1.0, row.value)) or row.trajectory[0][0] >= 0.1


def test_a_trial_is_short_and_made_once() -> None:
    """It has a part of the user's limit, and in a comparison of many problems one solver is warmed up once."""
    seen: list[SolveLimits] = []
    mine = slow(seen)
    for _ in range(2):
        tried(mine, Capability.MAX_CSP)
    assert [one.seconds for one in seen] == [outside.TRIAL_OF_OTHERS]
    seen.clear()
    dpopt.compare([tiny_clauses()] * 3, [mine], seconds=0.05)
    assert [one.seconds for one in seen] == [0.05] * 4
    assert outside.TRIAL_OF_OTHERS <= 2


def test_a_gap_is_refused_where_a_solver_states_no_bound() -> None:
    """Local search of one's own; with a bound, or without a gap, it is taken."""
    asked: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "n0": 54, "predict": False}
    for claims, gap in [({}, 0.1), ({"bound": 2.0}, 0.1), ({}, None)]:
        chosen = dpopt.DualQuery(solver=slow([], **claims), rounds=2, gap=gap)
        refused = gap is not None and not claims
        with pytest.raises(PlanError, match="'mine' states none") if refused else contextlib.nullcontext():
            dpopt.plan(SCHEMA, "marginals:2", algorithm=chosen, **asked)


def test_what_is_part_of_dpopt_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "solver_result", lambda *_, **__: pytest.fail("asked"))
    tried(get_solver("local-search"), Capability.MAX_CSP)
    require_solver("highs")


def test_a_solver_that_overran_is_not_asked_until_it_is_back(short: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by a wrapper of dpopt's, nor for longer than it is away."""
    asked: list[Program] = []

    def act(program: Program) -> object:
        asked.append(program)
        return hangs(program)

    mine, tiny = Mine(act), tiny_problem(Capability.MAX_CSP)[0]
    with pytest.raises(SolverUnavailableError, match=r"did not answer within 0\.2 s, at a limit of 0\.01 s"):
        answer(mine, tiny, SolveLimits(seconds=0.01))
    monkeypatch.setattr(outside, "PATIENCE", 600.0)  # one that is waited for ends after a minute, and raises nothing
    with pytest.raises(SolverUnavailableError, match="is still at it"):
        answer(mine, tiny, SolveLimits(seconds=0.01))
    assert len(asked) == 1
    over.set()
    for _ in range(3000):
        try:
            assert answer(mine, tiny) is None
            return
        except SolverUnavailableError:
            time.sleep(0.02)
    pytest.fail("it is back, and not asked")


def test_what_hangs_in_a_round_costs_its_record(short: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers the trial, and then no more: one wait, and the fallback answers all rounds."""
    local, solved = get_solver("local-search"), []
    local.solve(tiny_clauses())  # compiled, which takes longer than the wait
    monkeypatch.setattr(outside, "PATIENCE", 2.0)

    def act(program: Program) -> object:
        solved.append(program)
        return local.solve(program) if len(solved) == 1 else hangs(program)

    mine = Mine(act, frozenset({Capability.MAX_CSP, Capability.RULES}))
    chosen = dpopt.DualQuery(solver=mine, rounds=5, seconds=0.05)
    made = dpopt.release(
        TABLE, SCHEMA, "marginals:2", algorithm=chosen, epsilon=1, delta=1e-6, n0=54, predict=False, out=tmp_path / "r"
    )
    assert len(solved) == 2
    assert made.statement["certificates"]["fallback_reasons"] == [
        "mine ended 'failed' without a solution (did not answer)"
    ]
    assert "did not answer" in " ".join((tmp_path / "r" / "README.txt").read_text().split())


@pytest.mark.parametrize("models", [False, True])
def test_a_comparison_goes_on_without_a_solver_that_hangs(models: bool, short: None) -> None:
    problem = isotonic_regression([2.0, 1.0]) if models else tiny_clauses()
    contestant = Contestant("mine", Mine(hangs))
    row = run(Case("one", problem), contestant, SolveLimits(seconds=0.01))
    assert (row.status, row.value) == ("refused", None)
    assert "did not answer within 0.2 s" in row.detail


def test_what_is_read_from_a_solver_is_the_solver_s_own_interruption() -> None:
    with pytest.raises(KeyboardInterrupt):
        answer(Mine(raising(KeyboardInterrupt())), tiny_problem(Capability.LP)[0])


def test_the_user_s_interruption_ends_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(outside, "answer", pressed)
    with pytest.raises(KeyboardInterrupt):
        tried(Mine(hangs), Capability.LP)


def test_a_thread_serves_a_solver_again_and_the_context_goes_with_it() -> None:
    """What a solver starts may end with the thread that started it, so that one thread serves many questions."""
    threads = set()

    def act(program: Program) -> object:
        threads.add(threading.get_ident())
        return np.geterr()["over"]

    for number in range(5):
        with np.errstate(over="raise" if number % 2 else "ignore"):
            assert answer(Mine(act), tiny_problem(Capability.LP)[0]) == ("raise" if number % 2 else "ignore")
    assert len(threads) == 1
    assert threading.get_ident() not in threads


SCHEMA = dpopt.Schema(
    (
        dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=tuple(range(0, 81, 20))),
        dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),
        dpopt.Attribute("ill", dpopt.AttributeKind.BOOLEAN),
    )
)
TABLE = pd.DataFrame(
    {"age": [3, 12, 33, 33, 34, 61] * 9, "smoker": [True, False, False] * 18, "ill": [True, False] * 27}
)
EDGES = pd.DataFrame({"from": [0, 0, 0, 1, 1, 2, 5], "to": [1, 2, 3, 2, 3, 3, 6]})


def played(algorithm: Any, **more: Any) -> Callable[[Any], dpopt.SyntheticRelease]:
    return lambda solver: dpopt.release(
        TABLE, SCHEMA, "marginals:2", algorithm=algorithm(solver=solver, **more), epsilon=1, delta=1e-6, n0=54,
        predict=False,
    )  # fmt: skip


TARGET = Target.disjunction(6)
DOORS: dict[str, Callable[[Any], object]] = {
    "dualquery": played(dpopt.DualQuery, rounds=2),
    "fem": played(dpopt.FEM, rounds=2),
    "projection": played(dpopt.Projection),
    "mwem": played(dpopt.MWEM, rounds=2),
    "pmw": played(dpopt.PMW, rounds=2),
    "synthesizer": lambda solver: dpopt.Synthesizer(
        SCHEMA, algorithm=dpopt.DualQuery(solver=solver, rounds=2), epsilon=1, delta=1e-6, n0=54
    ).fit(TABLE),
    "plan": lambda solver: dpopt.plan(
        SCHEMA, "marginals:2", algorithm=dpopt.DualQuery(solver=solver, rounds=2), epsilon=1, delta=1e-6, n0=54
    ),
    "reweight": lambda solver: dpopt.reweight_release(played(dpopt.DualQuery, rounds=2)("auto"), solver=solver),
    "histogram": lambda solver: dpopt.histogram(TABLE, SCHEMA, "age", epsilon=1, solver=solver),
    "grid": lambda solver: dpopt.grid(TABLE, SCHEMA, ("age", "smoker"), epsilon=1, solver=solver),
    "sorted": lambda solver: dpopt.sorted_counts(TABLE, SCHEMA, "age", epsilon=1, solver=solver),
    "degrees": lambda solver: dpopt.degrees(EDGES, 8, columns=("from", "to"), epsilon=1, solver=solver),
    "intervals": lambda solver: dpopt.intervals(TABLE, SCHEMA, "age", intervals=3, n0=54, epsilon=1, solver=solver),
    "summary": lambda solver: dpopt.summary(TABLE, SCHEMA, 2, epsilon=5, n0=54, solver=solver),
    "answers of a summary": lambda solver: dpopt.summary(TABLE, SCHEMA, 2, epsilon=5, n0=54).answer(
        "smoker=true,ill=true", solver=solver
    ),
    "polynomials of a summary": lambda solver: dpopt.summary(TABLE, SCHEMA, 2, epsilon=5, n0=54).answer(
        "smoker=true,ill=true", estimate="polynomial", solver=solver
    ),
    "lists": lambda solver: dpopt.decision_lists(["x1:1, else:0"] * 40, "x1,x2", 1, n0=40, epsilon=1, solver=solver),
    "best polynomial": lambda solver: best_polynomial(TARGET, 3, solver=solver),
    "least degree": lambda solver: least_degree(TARGET, Fraction(1, 20), solver=solver),
    "least coefficients": lambda solver: least_coefficients(
        TARGET, 4, Fraction(1, 10), sensitivity_weights(9, 4), solver=solver
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_tries_a_solver_of_ones_own(door: str) -> None:
    """Where nothing stands in, the call is refused after the warning."""
    with (
        pytest.warns(AccuracyWarning, match=r"tried on.*TypeError: my bug"),
        contextlib.suppress(ProgramError, PlanError),
    ):
        DOORS[door](Mine(raising(TypeError("my bug"))))


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_a_solver_that_hangs(door: str, short: None) -> None:
    with pytest.raises(SolverUnavailableError, match="did not answer.*tried on"):
        DOORS[door](Mine(hangs))


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_what_is_no_solver(door: str) -> None:
    with pytest.raises(PlanError):
        DOORS[door](Mine(hangs, name=None))  # type: ignore[arg-type]


def test_a_model_is_solved_by_one_s_own_solver_within_its_time(short: None) -> None:
    """Nothing is spent, so that the model itself is the trial."""
    model = isotonic_regression([2.0, 1.0])
    with pytest.raises(ProgramError, match="mine found no answer to isotonic_regression.*TypeError: my bug"):
        model.solve(Mine(raising(TypeError("my bug"))))
    with pytest.raises(SolverUnavailableError, match="did not answer"):
        model.solve(Mine(hangs), seconds=0.01)


def test_a_solver_that_wraps_one_of_dpopt_s_is_asked_all_the_same() -> None:
    assert OwnSolver().capabilities <= EVERYTHING | get_solver("local-search").capabilities
    result = answer(OwnSolver(), tiny_problem(Capability.MAX_CSP)[0])
    assert isinstance(result, SolveResult)
    assert result.solver == "mine"
