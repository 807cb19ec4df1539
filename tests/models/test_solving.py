"""From draws to a problem to a record: best responses, programs behind presolve, readings; a solver's word is checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import ProgramError, WorkloadError
from dpopt.models import AsMip, Formulation, accepting_max_csp, point_from_record, read_record, round_program
from dpopt.models.best_responses.presolved import SHORTEST, Presolved
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
    Progress,
    SolveLimits,
    SolveResult,
    Termination,
)
from dpopt.programs.presolve import best_record
from dpopt.queries import Clauses
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit
from dpopt.transcript.released import SampledQueries
from tests.circuits import Gate, among, best_feasible_value, circuit_of, circuits, outside, some
from tests.models.catalogue import all_records
from tests.programs.test_mixed_integer import PROGRAM
from tests.strategies import Row, clause_lists, clauses_of, naive_truth

OF_DRAWS = np.array([2, 3, 2], dtype=np.int32)
CHARGE = Charge("a draw", ChargeKind.BOUNDED_RANGE, 0.5, 1, NeighbouringRelation.REPLACE_ONE, "a theorem")


def sampled(net: NDArray[np.int64]) -> SampledQueries:
    """Return the draw with these net counts."""
    queries = np.flatnonzero(net).astype(np.int64)
    return SampledQueries(3, queries, net[queries], CHARGE)


@given(clause_lists((2, 3, 2), min_size=5, max_size=5), st.lists(st.integers(0, 9), min_size=5, max_size=5))
def test_the_objective_is_the_number_of_true_draws_up_to_a_constant(workload: Clauses, draws: list[int]) -> None:
    """Queries 0 .. 4 and, from 5 on, their negations, drawn one after another."""
    net = np.zeros(5, dtype=np.int64)
    for draw in draws:
        net[draw % 5] += 1 if draw < 5 else -1
    program = round_program(workload, OF_DRAWS, sampled(net))
    records = all_records(OF_DRAWS)
    truth = naive_truth(workload, records)
    score = np.array([[truth[draw % 5] if draw < 5 else ~truth[draw % 5]] for draw in draws]).sum(axis=(0, 1))
    objectives = np.array([program.objective(record) for record in records])
    assert len(set((score - objectives).tolist())) == 1


def test_a_query_drawn_as_often_as_its_negation_leaves_no_clause() -> None:
    workload = Clauses.conjunctions([[0], [1]], [[1], [2]], [[True], [False]])
    program = round_program(workload, OF_DRAWS, sampled(np.array([0, -2])))
    assert (len(program.clauses), program.weights.tolist()) == (1, [-2])
    empty = round_program(workload, OF_DRAWS, sampled(np.array([0, 0])))
    assert len(empty.clauses) == 0


def test_a_draw_from_another_workload_and_a_workload_of_another_schema_are_refused() -> None:
    with pytest.raises(ProgramError, match="workload"):
        round_program(Clauses.conjunctions([[0]], [[1]], [[True]]), OF_DRAWS, sampled(np.array([0, 1])))
    with pytest.raises(WorkloadError):
        round_program(Clauses.conjunctions([[2]], [[5]], [[True]]), OF_DRAWS, sampled(np.array([1])))


SMALL = MaxCsp(np.array([2, 3]), clauses_of([([(0, 1, True)], 2)]), np.array([5]))


def answered(solution: Point | None) -> SolveResult:
    objective = None if solution is None else 5.0
    return SolveResult(Termination.LIMIT, Limit.TIME, solution, objective, None, "s", "", "", 0.0)


def test_a_record_is_read_without_a_reason() -> None:
    record, reason = read_record(SMALL, answered(np.array([1, 2], dtype=np.int32)))
    assert record is not None
    assert (record.tolist(), reason) == ([1, 2], None)


HOWS = {
    "ProgramError: mine found no answer to a problem: the solver broke down: OSError: /folder/of/mine": " (OSError)",
    "ProgramError: my own word": " (ProgramError)",
    "ValueError: of a child, in /folder/of/mine": " (ValueError)",
    "ProgramError: a problem: the solver mine answered with list; expected SolveResult": " (list)",
    "SolverUnavailableError: the solver 'mine' did not answer within 60 s": " (did not answer)",
    "numerical trouble: /folder/of/mine": "",
}


@pytest.mark.parametrize("said", HOWS)
def test_a_reason_names_the_type_of_an_error_and_none_of_its_words(said: str) -> None:
    failed = SolveResult(Termination.FAILED, solver="s", native_status=said)
    assert read_record(SMALL, failed) == (None, f"s ended 'failed' without a solution{HOWS[said]}")


@pytest.mark.parametrize(
    ("solution", "says"),
    [
        (None, "s ended 'limit' without a solution"),
        (np.array([1.0, 2.0]), "wrong shape or type"),
        (np.array([1], dtype=np.int32), "wrong shape or type"),
        (np.array([1, 3], dtype=np.int32), "does not exist"),
        (np.array([-1, 2], dtype=np.int32), "does not exist"),
    ],
)
def test_what_is_no_record_gives_a_reason(solution: Point | None, says: str) -> None:
    record, reason = read_record(SMALL, answered(solution))
    assert record is None
    assert reason is not None
    assert says in reason


SIZES = [2, 9, 3, 4]
PROBLEM = MaxCsp(
    np.array(SIZES),
    clauses_of([([(0, 1, True), (2, 2, True)], 4), ([(2, 0, True)], 2), ([(0, 1, True)], 2)]),
    np.array([5, -2, 1]),
)


@dataclass
class Scripted:
    """A solver that answers as scripted, and remembers what it was asked."""

    answer: Callable[[Any], SolveResult]
    capabilities: frozenset[Capability] = frozenset({Capability.MIP, Capability.WARM_START})
    name: str = "scripted"
    seen: list[tuple[Program, SolveLimits, Point | None]] = field(default_factory=list)

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "here")

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        self.seen.append((program, limits, hint))
        return self.answer(program)


def fail(_: Program) -> SolveResult:
    raise AssertionError("called")


def of_max_csp(answer: Callable[[MaxCsp], SolveResult]) -> Scripted:
    """Return a scripted solver that takes problems as they are."""
    return Scripted(answer, frozenset({Capability.MAX_CSP, Capability.RULES}))


def found(
    codes: list[int], bound: float | None, termination: Termination, limit: Limit | None
) -> Callable[[MixedIntegerProgram], SolveResult]:
    """Answer with the record of the reduced problem, attributes 0 (2 codes) and 2 (3 codes)."""

    def answer(mip: MixedIntegerProgram) -> SolveResult:
        point = np.zeros(mip.number_of_variables)
        point[[codes[0], 2 + codes[1]]] = 0.9999999
        return SolveResult(termination, limit, point, -77.0, bound, "scripted", "1", "native", 0.0)

    return answer


IDLE = found([0, 0], None, Termination.LIMIT, Limit.TIME)


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
    limits = inner.seen[0][1]
    assert limits.gap is not None
    assert 0.99 < limits.gap < 1


def test_a_wider_gap_of_the_caller_is_kept() -> None:
    inner = Scripted(found([0, 1], 9.0, Termination.LIMIT, Limit.GAP))
    result = AsMip(inner).solve(PROBLEM, SolveLimits(gap=3.0))
    assert (result.termination, result.limit, result.bound) == (Termination.LIMIT, Limit.GAP, 9.0)
    assert inner.seen[0][1].gap == 3.0


def test_the_hint_becomes_a_point_of_the_reduced_program() -> None:
    inner = Scripted(IDLE)
    AsMip(inner).solve(PROBLEM, hint=np.array([1, 4, 2, 0], dtype=np.int32))
    hint = inner.seen[0][2]
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
    problem = MaxCsp(np.array([3, 4]), clauses_of([([], 1)]), np.array([-5]))
    hint = np.array([2, 3], dtype=np.int32)
    result = AsMip(Scripted(fail)).solve(problem, hint=hint)
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, -5.0, -5.0)
    assert result.require_solution().tolist() == [2, 3]


def test_a_solver_that_presolves_is_left_as_it_is_and_one_that_does_not_gets_what_is_left() -> None:
    plain = Scripted(IDLE, frozenset({Capability.MAX_CSP}))
    assert accepting_max_csp(plain) == Presolved(plain)
    assert accepting_max_csp(Presolved(plain)) == Presolved(plain)
    itself = Scripted(IDLE, frozenset({Capability.MAX_CSP, Capability.PRESOLVES}))
    assert accepting_max_csp(itself) is itself


def test_a_solver_of_mixed_integer_programs_is_wrapped_behind_presolve() -> None:
    inner = Scripted(IDLE)
    wrapped = accepting_max_csp(inner, Formulation.AGGREGATED)
    assert wrapped == Presolved(AsMip(inner, Formulation.AGGREGATED))
    assert wrapped.name == "scripted"
    assert wrapped.capabilities == {Capability.MAX_CSP, Capability.RULES, Capability.WARM_START}
    assert wrapped.availability().available


def test_solvers_programs_and_hints_of_another_kind_are_refused() -> None:
    with pytest.raises(ProgramError, match="mixed-integer"):
        AsMip(Scripted(IDLE, frozenset({Capability.LP})))
    with pytest.raises(ProgramError, match="MaxCsp"):
        AsMip(Scripted(IDLE)).solve(PROGRAM)
    with pytest.raises(ProgramError):
        AsMip(Scripted(IDLE)).solve(PROBLEM, hint=np.array([0, 9, 0, 0], dtype=np.int32))
    with pytest.raises(ProgramError):
        point_from_record(PROBLEM, np.array([0, 0, 3, 0], dtype=np.int32))


RULED = MaxCsp(
    PROBLEM.sizes, PROBLEM.clauses, PROBLEM.weights, circuit_of({"no third code": [some(outside(2, [2], SIZES))]})
)


@pytest.mark.parametrize("formulation", Formulation)
def test_rules_are_rows_and_the_point_of_a_hint_has_every_variable(formulation: Formulation) -> None:
    parity = ([(0, 1, True), (1, 4, True), (2, 0, True), (3, 2, True)], 0b01010)
    either = Gate(1, (Gate(2, (among(0, [1], SIZES), among(2, [0], SIZES))), among(3, [1, 2], SIZES)))
    problem = MaxCsp(
        np.array(SIZES), clauses_of([parity, ([(0, 1, True)], 2)]), np.array([3, 1]), circuit_of({"r": [either]})
    )
    empty = SolveResult(Termination.LIMIT, Limit.TIME, None, None, None, "scripted", "1", "native", 0.0)
    inner = Scripted(lambda _: empty)
    AsMip(inner, formulation).solve(problem, hint=np.array([1, 8, 1, 2], dtype=np.int32))
    mip, _, hint = inner.seen[0]
    assert isinstance(mip, MixedIntegerProgram)
    assert hint is not None
    assert mip.violation(hint.astype(np.float64)) == 0


def test_a_hint_that_breaks_a_rule_is_not_passed_on() -> None:
    inner = Scripted(IDLE)
    AsMip(inner).solve(RULED, hint=np.array([1, 4, 2, 0], dtype=np.int32))
    assert inner.seen[0][2] is None
    AsMip(inner).solve(RULED, hint=np.array([1, 4, 1, 0], dtype=np.int32))
    assert inner.seen[1][2] is not None


def test_a_record_that_breaks_a_rule_is_refused() -> None:
    def broken(mip: MixedIntegerProgram) -> SolveResult:
        point = np.zeros(mip.number_of_variables)
        point[[0, 3]] = 1  # attribute 2 has its second code of the reduced problem, which is code 2
        return SolveResult(Termination.OPTIMAL, None, point, 5.0, 5.0, "scripted", "1", "native", 0.0)

    result = AsMip(Scripted(broken)).solve(RULED)
    assert (result.termination, result.solution) == (Termination.IMPRECISE, None)
    assert "breaks the rule 'no third code'" in result.native_status


def test_a_rule_that_nothing_can_obey_is_infeasible_without_a_solver() -> None:
    problem = MaxCsp(np.array([3, 4]), clauses_of([([], 1)]), np.array([-5]), circuit_of({"never": [Gate(1, ())]}))
    result = AsMip(Scripted(IDLE)).solve(problem)
    assert (result.termination, result.solution, result.bound) == (Termination.INFEASIBLE, None, None)


FIVE = (2, 3, 2, 3, 2)
Answer = Callable[[MaxCsp], SolveResult]


def ended(
    termination: Termination, limit: Limit | None, slack: float | None, record: Callable[[MaxCsp], Point | None]
) -> Answer:
    """Answer with this record, and a bound that is slack above its objective."""

    def answer(program: MaxCsp) -> SolveResult:
        point = record(program)
        value = None if point is None else float(program.objective(point.astype(np.int32)))
        bound = None if slack is None else slack + (value or 0.0)
        history = (Progress(0.5, value, bound),)
        return SolveResult(
            termination, limit, point, value, bound, "scripted", "7", "native", 1.0, {"nodes": 3}, history=history
        )

    return answer


def optimum(program: MaxCsp) -> Point | None:
    return best_record(program, np.zeros(program.sizes.size, dtype=np.int32))


def zeros(program: MaxCsp) -> Point:
    """Return reduced codes 0: code 1 everywhere, the one that the clauses of these tests name."""
    return np.zeros(program.sizes.size, dtype=np.int32)


PROVEN = ended(Termination.OPTIMAL, None, 0.0, optimum)


def parities(first: int, number: int) -> list[Row]:
    """Return parities of neighbours in a row of attributes: nothing that presolve could decide."""
    return [([(first + i, 1, True), (first + i + 1, 1, True)], 0b010) for i in range(number)]


def two_parts(rules: ThresholdCircuit | None = None) -> MaxCsp:
    """Return attributes 0 to 11 (11 clauses) and 12 to 27 (15 clauses), all with 2 codes, and attribute 28."""
    clauses = clauses_of([*parities(0, 11), *parities(12, 15), ([(28, 1, True)], 2)])
    weights = np.array([1, 2] * 13 + [5])
    return MaxCsp(np.full(29, 2), clauses, weights, *([rules] if rules else []))


@given(clause_lists(FIVE, max_size=5, widest=3), circuits(FIVE))
def test_the_optimum_is_found_whatever_is_left_for_the_solver(clauses: Clauses, rules: ThresholdCircuit) -> None:
    weights = np.where(np.arange(len(clauses)) % 3, 2, -3)
    program = MaxCsp(np.array(FIVE), clauses, weights, rules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpopt.models.best_responses.presolved.is_small", lambda _: False)
        for solver in (Presolved(of_max_csp(PROVEN)), Presolved(of_max_csp(or_infeasible(PROVEN)))):
            best = best_feasible_value(program)
            if best is None and solver.inner.answer is PROVEN:  # type: ignore[attr-defined]
                continue
            result = solver.solve(program)
            assert result.objective == best
            assert result.termination is (Termination.INFEASIBLE if best is None else Termination.OPTIMAL)
            assert result.bound == best


def or_infeasible(answer: Answer) -> Answer:
    nothing = SolveResult(Termination.INFEASIBLE, None, None, None, None, "scripted", "7", "none", 0.0)
    return lambda program: nothing if optimum(program) is None else answer(program)


def test_parts_are_solved_apart_small_ones_first_and_added_up() -> None:
    inner = of_max_csp(ended(Termination.LIMIT, Limit.TIME, 4.0, zeros))
    result = Presolved(inner).solve(two_parts())
    assert [isinstance(one, MaxCsp) and len(one.clauses) for one, _, _ in inner.seen] == [11, 15]
    assert (result.termination, result.limit) == (Termination.LIMIT, Limit.TIME)
    assert (result.objective, result.bound) == (5.0, 5.0 + 4.0 + 4.0)  # attribute 28 is decided by presolve
    assert result.require_solution().tolist() == [1] * 29
    assert (result.solver, result.version, result.native_status) == ("scripted", "7", "native")
    assert result.report == {"nodes": 3, "parts": 2, "parts enumerated": 0, "attributes left": 28, "clauses left": 26}


def test_the_history_is_that_of_the_largest_part_on_top_of_the_others() -> None:
    inner = of_max_csp(ended(Termination.LIMIT, Limit.TIME, 4.0, zeros))
    (entry,) = Presolved(inner).solve(two_parts()).history
    assert (entry.objective, entry.bound) == (5.0, 13.0)
    assert entry.seconds > 0.5
    inner = of_max_csp(ended(Termination.LIMIT, Limit.TIME, None, zeros))
    (entry,) = Presolved(inner).solve(two_parts()).history
    assert (entry.objective, entry.bound) == (5.0, None)


def test_time_work_and_gap_are_shared_by_the_number_of_clauses_and_every_part_gets_some_time() -> None:
    inner = of_max_csp(ended(Termination.LIMIT, Limit.TIME, 4.0, zeros))
    Presolved(inner).solve(two_parts(), SolveLimits(seconds=100.0, work=280, gap=2.8, seed=3))
    (first, second) = [limits for _, limits, _ in inner.seen]
    assert (first.work, second.work) == (120, 160)
    assert (first.gap, second.gap) == pytest.approx((1.2, 1.6))
    assert first.seconds == pytest.approx(100 * 12 / 28, rel=0.05)
    assert second.seconds == pytest.approx(100.0, rel=0.05)  # nothing was spent: all that is left
    assert (first.seed, second.seed) == (3, 3)
    Presolved(inner).solve(two_parts(), SolveLimits(seconds=1e-9))
    assert [limits.seconds for _, limits, _ in inner.seen[2:]] == [SHORTEST, SHORTEST]


def test_a_hint_is_handed_to_the_parts_and_improved_where_presolve_can() -> None:
    inner = of_max_csp(ended(Termination.LIMIT, Limit.TIME, None, zeros))
    hint = np.array([1, 0] * 14 + [0], dtype=np.int32)
    Presolved(inner).solve(two_parts(), hint=hint)
    assert [np.asarray(seen).tolist() for _, _, seen in inner.seen] == [[0, 1] * 6, [0, 1] * 8]
    Presolved(inner).solve(two_parts())
    assert [hint for _, _, hint in inner.seen[2:]] == [None, None]


def test_a_feasible_hint_stands_in_for_a_part_without_a_solution() -> None:
    inner = of_max_csp(ended(Termination.LIMIT, Limit.WORK, None, lambda _: None))
    hint = np.array([1, 0] * 14 + [0], dtype=np.int32)
    result = Presolved(inner).solve(two_parts(), hint=hint)
    assert result.require_solution().tolist() == [1, 0] * 14 + [1]
    assert (result.limit, result.objective, result.bound) == (Limit.WORK, float(two_parts().objective(hint) + 5), None)
    assert Presolved(inner).solve(two_parts()).solution is None


def test_a_hint_that_breaks_a_rule_does_not() -> None:
    rules = circuit_of({"one": [some(among(1, [0], [2] * 29), among(3, [0], [2] * 29))]})
    inner = of_max_csp(ended(Termination.LIMIT, Limit.WORK, None, lambda _: None))
    result = Presolved(inner).solve(two_parts(rules), hint=np.ones(29, dtype=np.int32))
    assert (result.termination, result.solution) == (Termination.LIMIT, None)


def test_the_worst_ending_of_a_part_is_that_of_the_whole() -> None:
    def second_fails(program: MaxCsp) -> SolveResult:
        if len(program.clauses) == 11:
            return PROVEN(program)
        return SolveResult(Termination.FAILED, None, None, None, None, "scripted", "7", "crashed", 0.0)

    result = Presolved(of_max_csp(second_fails)).solve(two_parts(), hint=np.zeros(29, dtype=np.int32))
    assert (result.termination, result.solution) == (Termination.FAILED, None)
    assert result.native_status == "native; crashed"


def test_after_an_interruption_no_further_part_is_begun() -> None:
    inner = of_max_csp(ended(Termination.LIMIT, Limit.INTERRUPTED, None, zeros))
    result = Presolved(inner).solve(two_parts(), hint=np.zeros(29, dtype=np.int32))
    assert (len(inner.seen), result.limit) == (1, Limit.INTERRUPTED)
    assert result.require_solution().tolist() == [1] * 12 + [0] * 16 + [1]


def test_small_parts_are_enumerated() -> None:
    clauses = clauses_of([*parities(0, 3), *parities(5, 3)])
    program = MaxCsp(np.full(9, 2), clauses, np.ones(6, dtype=np.int64))

    result = Presolved(of_max_csp(fail)).solve(program)
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, 6.0, 6.0)
    assert result.native_status == "settled by presolve"
    assert result.report["parts enumerated"] == 2


def test_a_problem_that_presolve_settles_is_not_handed_on() -> None:
    program = MaxCsp(np.array([3, 4]), clauses_of([([], 1), ([(0, 2, True)], 2)]), np.array([-5, 2]))
    result = Presolved(of_max_csp(fail)).solve(program, hint=np.array([0, 3], dtype=np.int32))
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, -3.0, -3.0)
    assert result.require_solution().tolist() == [2, 3]


def test_where_nothing_is_gained_the_solver_gets_the_problem_as_it_came() -> None:
    program = MaxCsp(np.full(16, 2), clauses_of(parities(0, 15)), np.ones(15, dtype=np.int64))
    inner = of_max_csp(ended(Termination.LIMIT, Limit.TIME, 0.0, zeros))
    limits, hint = SolveLimits(seconds=2.0), np.zeros(16, dtype=np.int32)
    result = Presolved(inner).solve(program, limits, hint=hint)
    assert inner.seen == [(program, limits, hint)]
    assert result.report == {"nodes": 3}


def test_rules_that_exclude_each_other_are_infeasible() -> None:
    rules = circuit_of({"on": [some(among(0, [1], [2] * 29))], "off": [some(among(0, [0], [2] * 29))]})
    result = Presolved(of_max_csp(PROVEN)).solve(two_parts(rules))
    assert (result.termination, result.solution) == (Termination.INFEASIBLE, None)
    assert "no record obeys the rule" in result.native_status


def test_a_part_that_no_record_obeys_is_infeasible() -> None:
    sizes = [2] * 29
    pairs = [(a, b) for a in (0, 1) for b in (0, 1)]
    gates = [some(among(0, [a], sizes), among(1, [b], sizes)) for a, b in pairs]  # each pair is excluded by one
    result = Presolved(of_max_csp(or_infeasible(PROVEN))).solve(two_parts(circuit_of({"none": gates})))
    assert (result.termination, result.solution) == (Termination.INFEASIBLE, None)


def test_a_record_that_is_wrong_is_refused() -> None:
    rules = circuit_of({"one": [some(among(1, [0], [2] * 29), among(3, [0], [2] * 29))]})
    inner = of_max_csp(ended(Termination.LIMIT, Limit.TIME, None, zeros))
    result = Presolved(inner).solve(two_parts(rules))
    assert (result.termination, result.solution) == (Termination.IMPRECISE, None)


def test_it_is_the_inner_solver_to_everyone_else() -> None:
    inner = of_max_csp(PROVEN)
    solver = Presolved(inner)
    assert (solver.name, solver.capabilities) == ("scripted", inner.capabilities)
    assert solver.availability().available


def test_solvers_and_programs_of_other_kinds_are_refused() -> None:
    with pytest.raises(ProgramError, match="MaxCsp"):
        Presolved(Scripted(PROVEN, frozenset({Capability.MIP})))
    with pytest.raises(ProgramError, match="MaxCsp"):
        Presolved(of_max_csp(PROVEN)).solve(PROGRAM)
    with pytest.raises(ProgramError):
        Presolved(of_max_csp(PROVEN)).solve(two_parts(), hint=np.full(29, 2, dtype=np.int32))
