"""Presolved: the same optimum in smaller parts; records, objectives, bounds, limits and endings are put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given

from dpopt.errors import ProgramError
from dpopt.models.best_responses.presolved import SHORTEST, Presolved
from dpopt.programs import (
    NO_LIMITS,
    Availability,
    AvailabilityStatus,
    Capability,
    Limit,
    MaxCsp,
    Point,
    Program,
    Progress,
    SolveLimits,
    SolveResult,
    Termination,
)
from dpopt.programs.enumeration import best_record
from dpopt.queries import Clauses
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit
from tests.circuits import among, best_legal_value, circuit_of, circuits, some
from tests.programs.test_mixed_integer import PROGRAM
from tests.strategies import Row, clause_lists, clauses_of

SIZES = (2, 3, 2, 3, 2)
Answer = Callable[[MaxCsp], SolveResult]


@dataclass
class Scripted:
    """A solver that answers what it is told to, and remembers what it was asked."""

    answer: Answer
    capabilities: frozenset[Capability] = frozenset({Capability.MAX_CSP, Capability.RULES})
    name: str = "scripted"
    seen: list[tuple[MaxCsp, SolveLimits, Point | None]] = field(default_factory=list)

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "here")

    def solve(
        self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None
    ) -> SolveResult:
        assert isinstance(program, MaxCsp)
        self.seen.append((program, limits, hint))
        return self.answer(program)


def ended(
    termination: Termination,
    limit: Limit | None,
    slack: float | None,
    record: Callable[[MaxCsp], Point | None],
) -> Answer:
    """Answer with this record, and a bound that is slack above its objective."""

    def answer(program: MaxCsp) -> SolveResult:
        point = record(program)
        value = None if point is None else float(program.objective(point.astype(np.int32)))
        bound = None if slack is None else slack + (value or 0.0)
        history = (Progress(0.5, value, bound),)
        return SolveResult(
            termination,
            limit,
            point,
            value,
            bound,
            "scripted",
            "7",
            "native",
            1.0,
            {"nodes": 3},
            history=history,
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


@given(clause_lists(SIZES, max_size=5, widest=3), circuits(SIZES))
def test_the_optimum_is_found_whatever_is_left_for_the_solver(
    clauses: Clauses, rules: ThresholdCircuit
) -> None:
    weights = np.where(np.arange(len(clauses)) % 3, 2, -3)
    program = MaxCsp(np.array(SIZES), clauses, weights, rules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpopt.models.best_responses.presolved.is_small", lambda _: False)
        for solver in (Presolved(Scripted(PROVEN)), Presolved(Scripted(_or_infeasible(PROVEN)))):
            best = best_legal_value(program)
            if best is None and solver.inner.answer is PROVEN:  # type: ignore[attr-defined]
                continue
            result = solver.solve(program)
            assert result.objective == best
            assert result.termination is (Termination.INFEASIBLE if best is None else Termination.OPTIMAL)
            assert result.bound == best


def _or_infeasible(answer: Answer) -> Answer:
    nothing = SolveResult(Termination.INFEASIBLE, None, None, None, None, "scripted", "7", "none", 0.0)
    return lambda program: nothing if optimum(program) is None else answer(program)


def test_parts_are_solved_apart_small_ones_first_and_added_up() -> None:
    inner = Scripted(ended(Termination.LIMIT, Limit.TIME, 4.0, zeros))
    result = Presolved(inner).solve(two_parts())
    assert [len(program.clauses) for program, _, _ in inner.seen] == [11, 15]
    assert (result.termination, result.limit) == (Termination.LIMIT, Limit.TIME)
    assert (result.objective, result.bound) == (5.0, 5.0 + 4.0 + 4.0)  # attribute 28 is decided by presolve
    assert result.require_solution().tolist() == [1] * 29
    assert (result.solver, result.version, result.native_status) == ("scripted", "7", "native")
    assert result.report == {
        "nodes": 3,
        "parts": 2,
        "parts enumerated": 0,
        "attributes left": 28,
        "clauses left": 26,
    }


def test_the_history_is_that_of_the_largest_part_on_top_of_the_others() -> None:
    inner = Scripted(ended(Termination.LIMIT, Limit.TIME, 4.0, zeros))
    (entry,) = Presolved(inner).solve(two_parts()).history
    assert (entry.objective, entry.bound) == (5.0, 13.0)
    assert entry.seconds > 0.5
    inner = Scripted(ended(Termination.LIMIT, Limit.TIME, None, zeros))
    (entry,) = Presolved(inner).solve(two_parts()).history
    assert (entry.objective, entry.bound) == (5.0, None)


def test_time_work_and_gap_are_shared_by_the_number_of_clauses() -> None:
    inner = Scripted(ended(Termination.LIMIT, Limit.TIME, 4.0, zeros))
    Presolved(inner).solve(two_parts(), SolveLimits(seconds=100.0, work=280, gap=2.8, seed=3))
    (first, second) = [limits for _, limits, _ in inner.seen]
    assert (first.work, second.work) == (120, 160)
    assert (first.gap, second.gap) == pytest.approx((1.2, 1.6))
    assert first.seconds == pytest.approx(100 * 12 / 28, rel=0.05)
    assert second.seconds == pytest.approx(100.0, rel=0.05)  # nothing was spent: all that is left
    assert (first.seed, second.seed) == (3, 3)


def test_every_part_gets_some_time() -> None:
    inner = Scripted(ended(Termination.LIMIT, Limit.TIME, 4.0, zeros))
    Presolved(inner).solve(two_parts(), SolveLimits(seconds=1e-9))
    assert [limits.seconds for _, limits, _ in inner.seen] == [SHORTEST, SHORTEST]


def test_a_hint_is_handed_to_the_parts_and_improved_where_presolve_can() -> None:
    inner = Scripted(ended(Termination.LIMIT, Limit.TIME, None, zeros))
    hint = np.array([1, 0] * 14 + [0], dtype=np.int32)
    Presolved(inner).solve(two_parts(), hint=hint)
    assert [np.asarray(seen).tolist() for _, _, seen in inner.seen] == [[0, 1] * 6, [0, 1] * 8]
    Presolved(inner).solve(two_parts())
    assert [hint for _, _, hint in inner.seen[2:]] == [None, None]


def test_a_legal_hint_stands_in_for_a_part_without_a_solution() -> None:
    inner = Scripted(ended(Termination.LIMIT, Limit.WORK, None, lambda _: None))
    hint = np.array([1, 0] * 14 + [0], dtype=np.int32)
    result = Presolved(inner).solve(two_parts(), hint=hint)
    assert result.require_solution().tolist() == [1, 0] * 14 + [1]
    assert (result.limit, result.objective, result.bound) == (
        Limit.WORK,
        float(two_parts().objective(hint) + 5),
        None,
    )
    assert Presolved(inner).solve(two_parts()).solution is None


def test_a_hint_that_breaks_a_rule_does_not() -> None:
    rules = circuit_of({"one": [some(among(1, [0], [2] * 29), among(3, [0], [2] * 29))]})
    inner = Scripted(ended(Termination.LIMIT, Limit.WORK, None, lambda _: None))
    result = Presolved(inner).solve(two_parts(rules), hint=np.ones(29, dtype=np.int32))
    assert (result.termination, result.solution) == (Termination.LIMIT, None)


def test_the_worst_ending_of_a_part_is_that_of_the_whole() -> None:
    def second_fails(program: MaxCsp) -> SolveResult:
        if len(program.clauses) == 11:
            return PROVEN(program)
        return SolveResult(Termination.FAILED, None, None, None, None, "scripted", "7", "crashed", 0.0)

    result = Presolved(Scripted(second_fails)).solve(two_parts(), hint=np.zeros(29, dtype=np.int32))
    assert (result.termination, result.solution) == (Termination.FAILED, None)
    assert result.native_status == "native; crashed"


def test_after_an_interruption_no_further_part_is_begun() -> None:
    inner = Scripted(ended(Termination.LIMIT, Limit.INTERRUPTED, None, zeros))
    result = Presolved(inner).solve(two_parts(), hint=np.zeros(29, dtype=np.int32))
    assert (len(inner.seen), result.limit) == (1, Limit.INTERRUPTED)
    assert result.require_solution().tolist() == [1] * 12 + [0] * 16 + [1]


def test_small_parts_are_enumerated() -> None:
    clauses = clauses_of([*parities(0, 3), *parities(5, 3)])
    program = MaxCsp(np.full(9, 2), clauses, np.ones(6, dtype=np.int64))

    def fail(_: MaxCsp) -> SolveResult:
        raise AssertionError("called")

    result = Presolved(Scripted(fail)).solve(program)
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, 6.0, 6.0)
    assert result.native_status == "settled by presolve"
    assert result.report["parts enumerated"] == 2


def test_a_problem_that_presolve_settles_is_not_handed_on() -> None:
    def fail(_: MaxCsp) -> SolveResult:
        raise AssertionError("called")

    program = MaxCsp(np.array([3, 4]), clauses_of([([], 1), ([(0, 2, True)], 2)]), np.array([-5, 2]))
    result = Presolved(Scripted(fail)).solve(program, hint=np.array([0, 3], dtype=np.int32))
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, -3.0, -3.0)
    assert result.require_solution().tolist() == [2, 3]


def test_where_nothing_is_gained_the_solver_gets_the_problem_as_it_came() -> None:
    program = MaxCsp(np.full(16, 2), clauses_of(parities(0, 15)), np.ones(15, dtype=np.int64))
    inner = Scripted(ended(Termination.LIMIT, Limit.TIME, 0.0, zeros))
    limits, hint = SolveLimits(seconds=2.0), np.zeros(16, dtype=np.int32)
    result = Presolved(inner).solve(program, limits, hint=hint)
    assert inner.seen == [(program, limits, hint)]
    assert result.report == {"nodes": 3}


def test_rules_that_exclude_each_other_are_infeasible() -> None:
    rules = circuit_of({"on": [some(among(0, [1], [2] * 29))], "off": [some(among(0, [0], [2] * 29))]})
    result = Presolved(Scripted(PROVEN)).solve(two_parts(rules))
    assert (result.termination, result.solution) == (Termination.INFEASIBLE, None)
    assert "no record obeys the rule" in result.native_status


def test_a_part_that_no_record_obeys_is_infeasible() -> None:
    sizes = [2] * 29
    pairs = [(a, b) for a in (0, 1) for b in (0, 1)]
    gates = [
        some(among(0, [a], sizes), among(1, [b], sizes)) for a, b in pairs
    ]  # each pair is excluded by one
    result = Presolved(Scripted(_or_infeasible(PROVEN))).solve(two_parts(circuit_of({"none": gates})))
    assert (result.termination, result.solution) == (Termination.INFEASIBLE, None)


def test_a_record_that_is_wrong_is_refused() -> None:
    rules = circuit_of({"one": [some(among(1, [0], [2] * 29), among(3, [0], [2] * 29))]})
    inner = Scripted(ended(Termination.LIMIT, Limit.TIME, None, zeros))
    result = Presolved(inner).solve(two_parts(rules))
    assert (result.termination, result.solution) == (Termination.IMPRECISE, None)


def test_it_is_the_inner_solver_to_everyone_else() -> None:
    inner = Scripted(PROVEN)
    solver = Presolved(inner)
    assert (solver.name, solver.capabilities) == ("scripted", inner.capabilities)
    assert solver.availability().available


def test_solvers_and_programs_of_other_kinds_are_refused() -> None:
    with pytest.raises(ProgramError, match="takes no MaxCsp"):
        Presolved(Scripted(PROVEN, frozenset({Capability.MIP})))
    with pytest.raises(ProgramError, match="takes a MaxCsp"):
        Presolved(Scripted(PROVEN)).solve(PROGRAM)
    with pytest.raises(ProgramError):
        Presolved(Scripted(PROVEN)).solve(two_parts(), hint=np.full(29, 2, dtype=np.int32))
