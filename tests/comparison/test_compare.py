"""Contestants on cases, each in a process of its own or in this one: one row each, whatever happens."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpopt.comparison.compare import contestant_named, in_child, run_comparison
from dpopt.comparison.parts import FALSE, Case, Comparison, Contestant, Row, claims_what_is_not_so
from dpopt.comparison.problems import posed
from dpopt.errors import PlanError, SolverUnavailableError
from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.models.catalogue import build_model
from dpopt.programs import (
    NO_LIMITS,
    Availability,
    AvailabilityStatus,
    Capability,
    MaxCsp,
    MixedIntegerProgram,
    Point,
    Program,
    Progress,
    SolveLimits,
    SolveResult,
)
from dpopt.programs.solver import Solver
from dpopt.schema.rules.threshold_circuit import NO_RULES
from dpopt.solvers.process.child_process import InChildProcess
from dpopt.solvers.registry import get_solver
from tests.circuits import among, circuit_of, some
from tests.comparison.scripted_contestants import Right, best_of_few
from tests.solvers.test_local_search import random_problem
from tests.strategies import clauses_of

HERE = Availability(AvailabilityStatus.AVAILABLE, "here")
PROBLEM = MaxCsp(
    np.array([2, 3, 2]),
    clauses_of([([(0, 1, True), (1, 2, True)], 4), ([(1, 0, True)], 2), ([(2, 1, True), (0, 0, True)], 4)]),
    np.array([5, -2, 4]),
)
CASE = Case("one", PROBLEM)
_, BEST = best_of_few(PROBLEM)
LIMITS = SolveLimits(seconds=1.0)


class Scripted:
    """Makes contestants whose children are ended after the test."""

    def __init__(self) -> None:
        self.made: list[InChildProcess] = []

    def __call__(self, adapter: str, grace: float = 60.0, availability: Availability = HERE) -> Contestant:
        solver = InChildProcess(
            f"scripted_contestants:{adapter}",
            name=adapter.lower(),
            capabilities=frozenset({Capability.MAX_CSP, Capability.PRESOLVES}),
            availability=lambda: availability,
            grace=grace,
        )
        self.made.append(solver)
        return Contestant(solver.name, solver)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    made = Scripted()
    yield made
    for solver in made.made:
        solver.close()


def rows_of(*contestants: Contestant, limits: SolveLimits = LIMITS, case: Case = CASE) -> dict[str, Row]:
    return {row.solver: row for row in run_comparison([case], contestants, limits).rows}


def test_a_row_has_the_exact_value_the_bound_and_the_memory(scripted: Scripted) -> None:
    row = rows_of(scripted("Right"))["right"]
    assert (row.value, row.reported_bound, row.status) == (BEST, BEST, "optimal")
    assert row.version == "1"
    assert row.values_from == "separate runs"
    assert dict(row.at_mark)[1.0] == BEST
    assert not claims_what_is_not_so(row)


def test_the_memory_is_that_of_the_child_and_not_of_whoever_started_it(scripted: Scripted) -> None:
    ballast = np.ones(50_000_000)  # 400 MB here
    rows = rows_of(scripted("Right"), scripted("Hungry"))
    light, heavy = rows["right"].peak_memory_mb, rows["hungry"].peak_memory_mb
    assert light is not None
    assert heavy is not None
    assert 10 < light < ballast.nbytes / 1e6
    assert heavy > light + 200


def test_every_row_has_a_child_of_its_own(scripted: Scripted) -> None:
    right = scripted("Right")
    cases = [CASE, Case("two", PROBLEM)]
    found = run_comparison(cases, [right], LIMITS)
    assert len({row.detail for row in found.rows}) == 2
    assert right.inner._child is None  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("adapter", "status", "word"),
    [("Crashing", "failed", "signal 11"), ("Raising", "failed", "ZeroDivisionError: the library is unhappy")],
)
def test_a_breakdown_costs_its_row_and_not_the_run(scripted: Scripted, adapter: str, status: str, word: str) -> None:
    rows = rows_of(scripted(adapter), scripted("Right"))
    row = rows[adapter.lower()]
    assert (row.status, row.value) == (status, None)
    assert word in row.detail
    assert rows["right"].value == BEST


def test_a_hang_ends_with_its_limit_and_costs_its_row(scripted: Scripted) -> None:
    rows = rows_of(scripted("Hanging", grace=2.0), scripted("Right"))
    assert (rows["hanging"].status, rows["hanging"].value) == ("time limit", None)
    assert "killed" in rows["hanging"].detail
    assert rows["right"].value == BEST


def test_claims_that_are_not_so_are_marked_whoever_comes_first(scripted: Scripted) -> None:
    liars = ["Boasting", "Giving", "Inventing", "Right", "Denying", "Exaggerating"]
    rows = rows_of(*map(scripted, liars))
    reached = f"and {BEST} is reached"
    expected = {
        "boasting": ["claimed the value 1e+06; its answer is worth -2"],
        "giving": [f"states the bound -2, {reached}", f"claims that -2 is optimal, {reached}"],
        "inventing": ["the answer was refused: a code that does not exist; its answer is worth nothing"],
        "right": [],
        "denying": [f"claims that the problem is infeasible, {reached}"],
        "exaggerating": [f"stated the value {BEST + 5} on its way; its answer is worth {BEST}"],
    }
    for name, claims in expected.items():
        false = [remark for remark in rows[name].remarks if remark.startswith(FALSE)]
        assert len(false) == len(claims), name
        assert all(remark.endswith(claim) for remark, claim in zip(false, claims, strict=True)), false
        assert claims_what_is_not_so(rows[name]) == bool(claims)


def test_a_value_over_time_comes_from_the_history_where_there_is_one(scripted: Scripted) -> None:
    row = rows_of(scripted("Telling"))["telling"]
    assert row.values_from == "history"
    assert [value for _, value in row.trajectory] == [BEST - 2, BEST]
    assert list(row.at_mark) == [(0.1, BEST - 2), (1.0, BEST)]
    assert row.reported_bound == min(BEST + 3, PROBLEM.upper_bound())


def test_without_a_history_shorter_runs_tell(scripted: Scripted) -> None:
    row = rows_of(scripted("Slow"))["slow"]
    assert row.values_from == "separate runs"
    worst = min(PROBLEM.objective(np.array(r, np.int32)) for r in np.ndindex(2, 3, 2))
    assert list(row.at_mark) == [(0.1, worst), (1.0, BEST)]
    assert row.trajectory == ((0.1, worst), (1.0, BEST))


def test_a_solver_that_is_not_there_is_a_row_with_the_remedy(scripted: Scripted) -> None:
    missing = Availability(AvailabilityStatus.NOT_INSTALLED, "run: pip install example")
    row = rows_of(scripted("Right", availability=missing))["right"]
    assert (row.status, row.detail, row.value) == ("unavailable", "run: pip install example", None)


def test_a_solver_that_cannot_take_a_case_is_a_row_with_the_reason() -> None:
    continuous = InChildProcess("m:C", name="lp", capabilities=frozenset({Capability.LP}), availability=lambda: HERE)
    row = rows_of(Contestant("lp", continuous, Formulation.CLIQUE))["lp"]
    assert row.status == "refused"
    assert "does not take mixed-integer programs" in row.detail


def test_a_solver_from_outside_that_raises_has_failed() -> None:
    class Outside:
        name = "outside"
        capabilities = frozenset({Capability.MAX_CSP, Capability.PRESOLVES})

        def availability(self) -> Availability:
            return HERE

        def solve(self, *arguments: object, **options: object) -> object:
            raise OSError("no disk")

    solver: Solver = Outside()  # type: ignore[assignment]
    row = rows_of(Contestant("outside", solver))["outside"]
    assert (row.status, row.detail) == ("failed", "raised OSError: no disk")


def test_what_is_known_beforehand_counts_as_reached(scripted: Scripted) -> None:
    known = Case("known", PROBLEM, best_known=BEST)
    row = rows_of(scripted("Giving"), case=known)["giving"]
    assert claims_what_is_not_so(row)


def test_an_optimum_on_file_that_is_exceeded_is_marked(scripted: Scripted) -> None:
    wrong = Case("wrong", PROBLEM, best_known=BEST - 1, bound=BEST - 1)
    row = rows_of(scripted("Right"), case=wrong)["right"]
    assert any("the file states that no record exceeds" in remark for remark in row.remarks)


@pytest.mark.solver("highs")
def test_a_case_has_one_proven_bound_for_all(scripted: Scripted) -> None:
    found = run_comparison([CASE], [scripted("Right")], LIMITS)
    (facts,) = found.facts
    assert (facts.size, facts.best_value) == ({"attributes": 3, "clauses": 3}, BEST)
    assert facts.proven_bound is not None
    assert BEST <= facts.proven_bound <= PROBLEM.upper_bound()
    if facts.proven_bound == BEST:
        assert "proven optimal" in found.rows[0].remarks


def test_rows_are_reported_as_they_come(scripted: Scripted) -> None:
    seen: list[int] = []

    def tell(comparison: Comparison) -> None:
        seen.append(len(comparison.rows))
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_comparison([CASE, Case("two", PROBLEM)], [scripted("Right")], LIMITS, on_row=tell)
    assert seen == [1, 2]


@pytest.mark.solver("highs")
@pytest.mark.solver("cp-sat")
def test_solvers_of_every_kind_agree_on_a_small_problem() -> None:
    names = ["local-search", "cp-sat", "highs:per-literal", "highs:clique", "highs:aggregated"]
    rows = rows_of(*map(contestant_named, names), limits=SolveLimits(seconds=2.0))
    assert list(rows) == names
    assert {row.value for row in rows.values()} == {BEST}
    assert not any(claims_what_is_not_so(row) for row in rows.values())


def test_the_local_search_runs_in_a_child_and_uses_all_of_its_time() -> None:
    contestant = contestant_named("local-search")
    assert isinstance(contestant.inner, InChildProcess)
    assert contestant.inner is not get_solver("local-search")
    assert isinstance(in_child("auto"), InChildProcess)
    found = run_comparison([CASE], [contestant], SolveLimits(seconds=0.2)).rows[0]
    assert (found.value, found.status) == (BEST, "optimal" if PROBLEM.upper_bound() == BEST else "time limit")


def test_a_contestant_is_named_by_solver_and_formulation() -> None:
    assert contestant_named("highs").label == "highs:per-literal"
    assert contestant_named(" highs:clique ").formulation is Formulation.CLIQUE
    with pytest.raises(PlanError, match="takes weighted clauses as they are; leave ':clique' out"):
        contestant_named("cp-sat:clique")
    with pytest.raises(PlanError, match="a formulation is one of"):
        contestant_named("highs:best")
    with pytest.raises(SolverUnavailableError, match="no solver 'nobody'"):
        contestant_named("nobody")


class Watched:
    """A solver of mixed-integer programs, and the sizes of what it was asked."""

    def __init__(self, name: str) -> None:
        self._inner = get_solver(name)
        self.asked: list[int] = []

    name = property(lambda self: self._inner.name)
    capabilities = property(lambda self: self._inner.capabilities)

    def availability(self) -> Availability:
        return self._inner.availability()

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        assert isinstance(program, MixedIntegerProgram)
        self.asked.append(program.number_of_variables)
        return self._inner.solve(program, limits, hint=hint)


@pytest.mark.solver("highs")
def test_a_solver_behind_presolve_has_loaded_its_library_before_the_clock_starts() -> None:
    watched = Watched("highs")
    row = rows_of(
        Contestant("highs:clique", watched, Formulation.CLIQUE), case=Case("hard", random_problem([3] * 8, 60, 1))
    )
    assert row["highs:clique"].status == "optimal"
    warm_up, *problems = watched.asked
    assert warm_up < 10 < min(problems)


_, BEST = best_of_few(PROBLEM)


class Here(Right):
    """Right, in this process."""

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "here")

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        return super().solve(program, limits, hint=hint)


class Asked(Here):
    """Right, and what it was asked."""

    def __init__(self) -> None:
        self.programs: list[Program] = []

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        self.programs.append(program)
        return get_solver("local-search").solve(program, limits, hint=hint)


def test_kernels_of_rules_are_compiled_before_the_clock_starts() -> None:
    """A first problem with rules took 9 seconds more than its limit of 2 where nothing was compiled."""
    problem = random_problem([3] * 4, 9, 1)
    sizes = problem.sizes.tolist()
    rule = circuit_of({"one": [some(among(0, [1], sizes), among(1, [0], sizes))]})
    for rules in (NO_RULES, rule):
        asked = Asked()
        posed(replace(problem, rules=rules)).warm_up(Contestant("asked", asked), SolveLimits(seconds=1))
        (tiny,) = asked.programs
        assert isinstance(tiny, MaxCsp)
        assert tiny.rules.number_of_rules == rules.number_of_rules


class Unsure(Here):
    def availability(self) -> Availability:
        raise RuntimeError("who knows")


class Unwilling(Here):
    def availability(self) -> Any:
        return None


class Nameless(Here):
    def __getattribute__(self, key: str) -> Any:
        if key == "name":
            raise SystemExit(3)
        return super().__getattribute__(key)


class Answers(Here):
    """Answers what a function makes of the right answer."""

    def __init__(self, change: Callable[[SolveResult, MaxCsp], Any]) -> None:
        super().__init__()
        self.answer = change

    def change(self, claimed: SolveResult, program: MaxCsp, limits: SolveLimits) -> SolveResult:
        found: SolveResult = self.answer(claimed, program)
        return found


def _raise(error: BaseException) -> Any:
    raise error


def _overwrite(claimed: SolveResult, program: MaxCsp) -> SolveResult:
    object.__setattr__(program, "weights", program.weights * 10)
    return claimed


def contestant(label: str, solver: Any) -> Contestant:
    return Contestant(label, solver)


def rows(solver: Any) -> tuple[Row, Row]:
    """Return the row of a solver, and that of a good one that runs after it."""
    pair = [contestant("bad", solver), contestant("good", Here())]
    bad, good = run_comparison([Case("one", PROBLEM)], pair, SolveLimits(seconds=1.0)).rows
    return bad, good


@pytest.mark.parametrize(
    "solver",
    [
        Unsure(),
        Unwilling(),
        Nameless(),
        Here(capabilities=None),  # type: ignore[arg-type]
        Answers(lambda claimed, _: _raise(SystemExit(0))),
        Answers(lambda claimed, _: _raise(GeneratorExit())),
        Answers(lambda claimed, _: _raise(MemoryError())),
        Answers(lambda claimed, _: None),
        Answers(lambda claimed, _: replace(claimed, report={"peak_memory_mb": "much"})),
        Answers(lambda claimed, _: replace(claimed, history=(Progress(0.1, float("nan"), None),))),
        Answers(lambda claimed, _: replace(claimed, history=(Progress(0.1, "much", None),))),  # type: ignore[arg-type]
        Answers(_overwrite),
    ],
)
def test_whatever_a_solver_in_this_process_does_costs_its_own_row(solver: Any) -> None:
    bad, good = rows(solver)
    assert bad.value is None
    assert good.value == BEST
    assert bad.status == "failed"


def test_what_a_solver_in_this_process_prints_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    def printing(claimed: SolveResult, program: MaxCsp) -> SolveResult:
        sys.stdout.write("hello\n")
        return claimed

    bad, _ = rows(Answers(printing))
    assert bad.value == BEST
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "hello\n")


def test_the_problem_of_the_comparison_is_never_the_one_that_is_handed_out() -> None:
    seen: list[MaxCsp] = []

    def keeping(claimed: SolveResult, program: MaxCsp) -> SolveResult:
        seen.append(program)
        return claimed

    rows(Answers(keeping))
    assert seen
    assert all(not np.shares_memory(program.weights, PROBLEM.weights) for program in seen)
    assert Capability.MAX_CSP in Here().capabilities


@pytest.mark.parametrize("name", ["projection", "minimax_polynomial"])
def test_what_is_written_to_any_part_of_a_model_is_noticed(name: str) -> None:
    model = build_model(name)
    handed = deepcopy(model)
    assert posed(handed).fingerprint() == posed(model).fingerprint()
    object.__setattr__(handed.linear, "lower", handed.linear.lower - 1)
    assert posed(handed).fingerprint() != posed(model).fingerprint()
