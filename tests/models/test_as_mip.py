"""AsMip: a solver of mixed-integer programs answers a MaxCsp; its word is checked on the way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from dpopt.errors import ProgramError
from dpopt.models import AsMip, Formulation, accepting_max_csp, point_from_record
from dpopt.models.best_responses.presolved import Presolved
from dpopt.programs import (
    NO_LIMITS,
    Availability,
    AvailabilityStatus,
    Capability,
    Limit,
    MaxCsp,
    MixedIntegerProgram,
    Point,
    Program,
    SolveLimits,
    SolveResult,
    Termination,
)
from tests.circuits import Gate, among, circuit_of, outside, some
from tests.strategies import clauses_of

SIZES = [2, 9, 3, 4]
PROBLEM = MaxCsp(
    np.array(SIZES),
    clauses_of([([(0, 1, True), (2, 2, True)], 4), ([(2, 0, True)], 2), ([(0, 1, True)], 2)]),
    np.array([5, -2, 1]),
)


@dataclass
class Scripted:
    """A solver that answers what it is told to."""

    answer: Callable[[MixedIntegerProgram], SolveResult]
    capabilities: frozenset[Capability] = frozenset({Capability.MIP, Capability.WARM_START})
    name: str = "scripted"
    seen: list[tuple[SolveLimits, Point | None]] = field(default_factory=list)

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "here")

    def solve(
        self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None
    ) -> SolveResult:
        assert isinstance(program, MixedIntegerProgram)
        self.seen.append((limits, hint))
        return self.answer(program)


def found(
    codes: list[int], bound: float | None, termination: Termination, limit: Limit | None
) -> Callable[[MixedIntegerProgram], SolveResult]:
    """Answer with the record of the reduced problem, attributes 0 (2 codes) and 2 (3 codes)."""

    def answer(mip: MixedIntegerProgram) -> SolveResult:
        point = np.zeros(mip.number_of_variables)
        point[[codes[0], 2 + codes[1]]] = 0.9999999
        return SolveResult(termination, limit, point, -77.0, bound, "scripted", "1", "native", 0.0)

    return answer


def test_the_record_is_read_back_and_evaluated_exactly() -> None:
    solver = AsMip(Scripted(found([0, 1], 6.0000001, Termination.OPTIMAL, None)))
    result = solver.solve(PROBLEM, hint=np.array([0, 8, 0, 3], dtype=np.int32))
    # Reduced attribute 0 has code 1 first, then 0; reduced attribute 2 has 0, 2, then one that stands for 1.
    assert result.require_solution().tolist() == [1, 8, 2, 3]
    assert (result.objective, result.bound, result.termination) == (6.0, 6.0, Termination.OPTIMAL)
    assert (result.solver, result.native_status) == ("scripted", "native")


def test_a_gap_below_one_proves_optimality_of_whole_objectives() -> None:
    inner = Scripted(found([0, 1], 6.9, Termination.LIMIT, Limit.GAP))
    result = AsMip(inner).solve(PROBLEM)
    assert (result.termination, result.bound) == (Termination.OPTIMAL, 6.0)
    (limits, _) = inner.seen[0]
    assert limits.gap is not None
    assert 0.99 < limits.gap < 1


def test_a_wider_gap_of_the_caller_is_kept() -> None:
    inner = Scripted(found([0, 1], 9.0, Termination.LIMIT, Limit.GAP))
    result = AsMip(inner).solve(PROBLEM, SolveLimits(gap=3.0))
    assert (result.termination, result.limit, result.bound) == (Termination.LIMIT, Limit.GAP, 9.0)
    assert inner.seen[0][0].gap == 3.0


def test_the_hint_becomes_a_point_of_the_reduced_program() -> None:
    inner = Scripted(found([0, 0], None, Termination.LIMIT, Limit.TIME))
    AsMip(inner).solve(PROBLEM, hint=np.array([1, 4, 2, 0], dtype=np.int32))
    hint = inner.seen[0][1]
    assert hint is not None
    assert hint.tolist() == [1, 0, 0, 1, 0, 1, 0, 1]


def test_a_result_without_a_solution_is_passed_on() -> None:
    empty = SolveResult(Termination.LIMIT, Limit.TIME, None, None, 7.0, "scripted", "1", "no incumbent", 0.0)
    result = AsMip(Scripted(lambda _: empty)).solve(PROBLEM)
    assert (result.termination, result.limit, result.solution, result.bound) == (
        Termination.LIMIT,
        Limit.TIME,
        None,
        7.0,
    )


def test_without_a_literal_nothing_is_solved() -> None:
    def fail(_: MixedIntegerProgram) -> SolveResult:
        raise AssertionError("called")

    problem = MaxCsp(np.array([3, 4]), clauses_of([([], 1)]), np.array([-5]))
    hint = np.array([2, 3], dtype=np.int32)
    result = AsMip(Scripted(fail)).solve(problem, hint=hint)
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, -5.0, -5.0)
    assert result.require_solution().tolist() == [2, 3]


def test_a_solver_that_presolves_is_left_as_it_is_and_one_that_does_not_gets_what_is_left() -> None:
    answer = found([0, 0], None, Termination.LIMIT, Limit.TIME)
    plain = Scripted(answer, frozenset({Capability.MAX_CSP}))
    assert accepting_max_csp(plain) == Presolved(plain)
    assert accepting_max_csp(Presolved(plain)) == Presolved(plain)
    itself = Scripted(answer, frozenset({Capability.MAX_CSP, Capability.PRESOLVES}))
    assert accepting_max_csp(itself) is itself


def test_a_solver_of_mixed_integer_programs_is_wrapped_behind_presolve() -> None:
    inner = Scripted(found([0, 0], None, Termination.LIMIT, Limit.TIME))
    wrapped = accepting_max_csp(inner, Formulation.AGGREGATED)
    assert wrapped == Presolved(AsMip(inner, Formulation.AGGREGATED))
    assert wrapped.name == "scripted"
    assert wrapped.capabilities == {Capability.MAX_CSP, Capability.RULES, Capability.WARM_START}
    assert wrapped.availability().available


def test_a_solver_of_neither_is_refused() -> None:
    inner = Scripted(found([0, 0], None, Termination.LIMIT, Limit.TIME), frozenset({Capability.LP}))
    with pytest.raises(ProgramError, match="does not take mixed-integer programs"):
        AsMip(inner)


def test_a_mixed_integer_program_is_refused() -> None:
    from tests.programs.test_mixed_integer import PROGRAM

    with pytest.raises(ProgramError, match="takes a MaxCsp"):
        AsMip(Scripted(found([0, 0], None, Termination.LIMIT, Limit.TIME))).solve(PROGRAM)


def test_a_hint_that_is_no_record_is_refused() -> None:
    solver = AsMip(Scripted(found([0, 0], None, Termination.LIMIT, Limit.TIME)))
    with pytest.raises(ProgramError):
        solver.solve(PROBLEM, hint=np.array([0, 9, 0, 0], dtype=np.int32))
    with pytest.raises(ProgramError):
        point_from_record(PROBLEM, np.array([0, 0, 3, 0], dtype=np.int32))


RULED = MaxCsp(
    PROBLEM.sizes,
    PROBLEM.clauses,
    PROBLEM.weights,
    circuit_of({"no third code": [some(outside(2, [2], SIZES))]}),
)


@pytest.mark.parametrize("formulation", Formulation)
def test_rules_are_rows_and_the_point_of_a_hint_has_every_variable(formulation: Formulation) -> None:
    parity = ([(0, 1, True), (1, 4, True), (2, 0, True), (3, 2, True)], 0b01010)
    either = Gate(1, (Gate(2, (among(0, [1], SIZES), among(2, [0], SIZES))), among(3, [1, 2], SIZES)))
    problem = MaxCsp(
        np.array(SIZES),
        clauses_of([parity, ([(0, 1, True)], 2)]),
        np.array([3, 1]),
        circuit_of({"r": [either]}),
    )
    seen: list[MixedIntegerProgram] = []

    def fail(mip: MixedIntegerProgram) -> SolveResult:
        seen.append(mip)
        return SolveResult(Termination.LIMIT, Limit.TIME, None, None, None, "scripted", "1", "native", 0.0)

    inner = Scripted(fail)
    AsMip(inner, formulation).solve(problem, hint=np.array([1, 8, 1, 2], dtype=np.int32))
    hint = inner.seen[0][1]
    assert hint is not None
    assert seen[0].violation(hint.astype(np.float64)) == 0


def test_a_hint_that_breaks_a_rule_is_not_passed_on() -> None:
    inner = Scripted(found([0, 0], None, Termination.LIMIT, Limit.TIME))
    AsMip(inner).solve(RULED, hint=np.array([1, 4, 2, 0], dtype=np.int32))
    assert inner.seen[0][1] is None
    AsMip(inner).solve(RULED, hint=np.array([1, 4, 1, 0], dtype=np.int32))
    assert inner.seen[1][1] is not None


def test_a_record_that_breaks_a_rule_is_refused() -> None:
    def broken(mip: MixedIntegerProgram) -> SolveResult:
        point = np.zeros(mip.number_of_variables)
        point[[0, 3]] = 1  # attribute 2 has its second code of the reduced problem, which is code 2
        return SolveResult(Termination.OPTIMAL, None, point, 5.0, 5.0, "scripted", "1", "native", 0.0)

    result = AsMip(Scripted(broken)).solve(RULED)
    assert (result.termination, result.solution) == (Termination.IMPRECISE, None)
    assert "breaks the rule 'no third code'" in result.native_status


def test_a_rule_that_nothing_can_obey_is_infeasible_without_a_solver() -> None:
    problem = MaxCsp(
        np.array([3, 4]), clauses_of([([], 1)]), np.array([-5]), circuit_of({"never": [Gate(1, ())]})
    )
    result = AsMip(Scripted(found([0, 0], None, Termination.LIMIT, Limit.TIME))).solve(problem)
    assert (result.termination, result.solution, result.bound) == (Termination.INFEASIBLE, None, None)
