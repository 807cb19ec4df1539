"""Consistent answers: intervals that hold the truth whenever all bands hold, whatever a solver says."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import DpoptError, PolynomialError, SolverUnavailableError, WorkloadError
from dpopt.polynomials.targets import Target
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.results import NO_LIMITS, Limit, Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Availability, AvailabilityStatus, Capability, Program
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.solvers.registry import get_solver
from dpopt.synopses.summaries.consistent_interval import consistent_interval
from dpopt.synopses.summaries.summary import CONTRADICTION, ESTIMATES, Summary
from dpopt.synopses.summaries.summary_plan import SummaryPlan
from dpopt.synopses.summaries.ways import Way, ways_of
from tests.exact_summary_loss import tiny_plan
from tests.synopses.summaries.tiny_summaries import CONDITIONS, PRIVACY, SCHEMA, Asked, silent, true_share
from tests.tiny_runs import ADD_REMOVE, REPLACE, Table, bits_schema, universe

EVERY, POSITIVE = (ChosenLiterals.of(SCHEMA, None, which) for which in ("all", "positive"))
GENERATOR = np.random.default_rng(7)
TABLES: list[Table] = [
    tuple(universe(SCHEMA)[at] for at in GENERATOR.integers(0, len(universe(SCHEMA)), 3)) for _ in range(4)
]
QUERIES: list[tuple[Asked, ...]] = [
    (CONDITIONS[0][0], CONDITIONS[1][1]),
    (CONDITIONS[0][1], CONDITIONS[2][0]),
    (CONDITIONS[0][0], CONDITIONS[1][3], CONDITIONS[2][1]),
]


def words(query: Iterable[Asked]) -> str:
    return ",".join(one.text for one in query)


def with_noise(plan: SummaryPlan, table: Table, errors: list[np.ndarray]) -> Summary:
    exact = silent(plan, table)
    noisy = tuple(counts + error for counts, error in zip(exact.noisy, errors, strict=True))
    return Summary(plan, noisy, PRIVACY)


@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE])
@pytest.mark.parametrize("literals", [EVERY, POSITIVE], ids=["all", "positive"])
@pytest.mark.parametrize("sizes", [(1, 2), (1, 3)])
def test_the_truth_is_in_every_interval_where_noise_is_within_its_bounds(
    sizes: tuple[int, ...], literals: ChosenLiterals, relation: NeighbouringRelation
) -> None:
    """Noise as large as is likely, all predicates, several values, both signs; missing records under add-remove."""
    size = 3 if relation is REPLACE else 5
    plan = tiny_plan(literals, relation, gaussian=True, sizes=sizes, scales=(0.8, 0.9), width=3, size=size)
    for table in TABLES:
        errors = [GENERATOR.integers(-1, 2, literals.groups.conjunctions(one)).astype(np.int64) for one in sizes]
        made = with_noise(plan, table, errors)
        for query in QUERIES:
            for predicate in ("and", "or"):
                truth = true_share(table, query, predicate, size)
                found = made.answer(words(query), predicate, confidence=0.999)
                plain = made.answer(words(query), predicate, confidence=0.999, estimate="polynomial")
                assert found.estimate == "consistent"
                for one in (found, plain):
                    assert one.low - 1e-9 <= truth <= one.high + 1e-9, (table, words(query), predicate)
                    assert one.low <= one.value <= one.high
                    assert abs(one.value - truth) <= one.bound + 1e-9
                assert found.bound == max(found.value - found.low, found.high - found.value)


def test_rare_conjunctions_are_bounded_by_what_counts_leave_possible() -> None:
    """Two singles whose sum is below one: the conjunction of both is at most the smaller, which no polynomial says."""
    bits = ChosenLiterals.of(bits_schema(3), None, "positive")
    plan = tiny_plan(bits, REPLACE, gaussian=True, sizes=(1,), scales=(5.0,), width=3, size=1000)
    made = Summary(plan, (np.array([60, 900, 500]),), PRIVACY)
    found, plain = (made.answer("a=true,b=true", estimate=one) for one in ESTIMATES)
    assert plain.bound > 0.24
    assert found.bound < 0.07
    assert found.low == 0
    assert found.high == pytest.approx(0.06, abs=0.03)


def test_many_queries_are_answered_as_single_ones() -> None:
    bits = ChosenLiterals.of(bits_schema(4), None, "positive")
    plan = tiny_plan(bits, REPLACE, gaussian=False, sizes=(1, 2), scales=(3.0, 6.0), width=3, size=200)
    counts = tuple(GENERATOR.integers(20, 90, bits.groups.conjunctions(one)) for one in (1, 2))
    made = Summary(plan, counts, PRIVACY)
    values, bound = made.conjunctions_of(np.array([[0, 1, 2], [1, 2, 3]]))
    for value, row in zip(values.tolist(), ("abc", "bcd"), strict=True):
        one = made.answer(",".join(f"{name}=true" for name in row), estimate="polynomial")
        assert one.value == pytest.approx(min(1.0, max(0.0, value)))
        assert one.bound == bound
    with pytest.raises(WorkloadError, match="this summary answers 1 to 3"):
        made.conjunctions_of(np.array([[0, 1, 2, 3]]))
    with pytest.raises(WorkloadError, match="expected consistent or polynomial"):
        made.answer("a=true", estimate="best")


def test_counts_that_no_records_have_are_said_to_contradict() -> None:
    """More records have both than either: the polynomial's answer at its part of the confidence, and a note."""
    bits = ChosenLiterals.of(bits_schema(2), None, "positive")
    plan = tiny_plan(bits, REPLACE, gaussian=True, sizes=(1, 2), scales=(2.0, 2.0), width=2, size=1000)
    made = Summary(plan, (np.array([10, 10]), np.array([900])), PRIVACY)
    found = made.answer("a=true,b=true")
    assert (found.estimate, found.note) == ("polynomial", CONTRADICTION)
    assert found == made.answer("a=true,b=true")
    part = made.answer("a=true,b=true", confidence=1 - 0.05 * 0.9, estimate="polynomial")
    assert found.value == part.value
    assert found.bound == pytest.approx(part.bound)
    assert part.note == ""


def test_where_noise_is_most_of_the_bound_consistent_answers_are_hardly_worse() -> None:
    """All sizes are counted, and the exact answer is in the middle: counts of others say nothing."""
    bits = ChosenLiterals.of(bits_schema(3), None, "positive")
    plan = tiny_plan(bits, REPLACE, gaussian=True, scales=(40.0, 40.0, 10.0), width=3, size=1000)
    made = silent(plan, [(1, 1, 1)] * 500 + [(0, 0, 0)] * 500)
    found, plain = (made.answer("a=true,b=true,c=true", estimate=one) for one in ESTIMATES)
    assert plain.approximation <= 0.1 * plain.bound
    assert found.bound <= 1.02 * plain.bound


def test_a_single_condition_is_answered_by_its_count() -> None:
    bits = ChosenLiterals.of(bits_schema(2), None, "positive")
    plan = tiny_plan(bits, REPLACE, gaussian=True, sizes=(1, 2), scales=(2.0, 2.0), width=2, size=100)
    made = Summary(plan, (np.array([10, 30]), np.array([5])), PRIVACY)
    found = made.answer("a=true")
    assert found.estimate == "polynomial"
    assert found.value == pytest.approx(0.1)


class Lying:
    """A solver that answers as scripted."""

    name = "lying"
    capabilities = frozenset({Capability.LP, Capability.DUALS})

    def __init__(self, termination: Termination, seed: int | None, scale: float = 1.0) -> None:
        self.termination, self.seed, self.scale = termination, seed, scale

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "")

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        duals, point = None, None
        if self.seed is not None:
            assert isinstance(program, MixedIntegerProgram)
            generator = np.random.default_rng(self.seed)
            point = generator.normal(size=program.number_of_variables)
            duals = self.scale * generator.normal(size=program.number_of_rows)
        return SolveResult(
            termination=self.termination,
            limit=Limit.TIME if self.termination is Termination.LIMIT else None,
            solution=point,
            objective=None if point is None else 0.0,
            bound=None,
            solver=self.name,
            version="",
            native_status="",
            seconds=0.0,
            report={},
            duals=duals,
        )


def way_of(query: str, predicate: str, literals: ChosenLiterals) -> Way:
    conditions = literals.conditions(query)
    target = Target.named(predicate, len(conditions)).values
    return ways_of(conditions, target, literals, 2, fixed_size=True)[0]


@pytest.mark.parametrize("scale", [0.01, 1.0, 1e6, 1e300])
def test_a_solver_that_lies_makes_intervals_wider_and_none_wrong(scale: float) -> None:
    plan = tiny_plan(EVERY, REPLACE, gaussian=True, sizes=(1, 2), scales=(0.3, 0.3), width=3, size=3)
    for table in TABLES:
        made = silent(plan, table)
        for query in QUERIES:
            truth = true_share(table, query, "and", 3)
            way = way_of(words(query), "and", EVERY)
            honest = consistent_interval(way, plan, made.noisy, 0.05)
            for seed in range(5):
                found = consistent_interval(way, plan, made.noisy, 0.05, solver=Lying(Termination.OPTIMAL, seed, scale))
                assert found.low - 1e-9 <= truth <= found.high + 1e-9
                assert found.low <= honest.low + 1e-5
                assert found.high >= honest.high - 1e-5


@pytest.mark.parametrize("termination", [Termination.FAILED, Termination.LIMIT, Termination.INFEASIBLE])
def test_a_solver_without_multipliers_leaves_the_polynomials_answer(termination: Termination) -> None:
    plan = tiny_plan(EVERY, REPLACE, gaussian=True, sizes=(1, 2), scales=(0.3, 0.3), width=3, size=3)
    made = silent(plan, TABLES[0])
    solver: Any = Lying(termination, None)
    half = made.answer(words(QUERIES[0]), confidence=0.975, estimate="polynomial")
    assert half.approximation > 0.1 * half.bound
    found = made.answer(words(QUERIES[0]), solver=solver)
    assert (found.low, found.high) == pytest.approx((half.low, half.high))
    assert ("it found no point" in found.note) == (termination is not Termination.INFEASIBLE)
    assert (found.note == CONTRADICTION) == (termination is Termination.INFEASIBLE)


def test_wide_queries_are_answered_by_numbers_alone() -> None:
    """Twelve conditions: rows for sums of each size; the interval holds the truth and is narrower than the polynomial's."""
    schema = Schema(tuple(Attribute(f"x{at}", AttributeKind.BOOLEAN) for at in range(12)))
    bits = ChosenLiterals.of(schema, None, "positive")
    plan = tiny_plan(bits, REPLACE, gaussian=True, sizes=(1, 2, 3), scales=(4.0,) * 3, width=12, size=2000)
    records = (GENERATOR.random((2000, 12)) < 0.4).astype(int)
    made = silent(plan, [tuple(row) for row in records.tolist()])
    query = ",".join(f"{name}=true" for name in plan.literals.schema.names)
    found, plain = (made.answer(query, "or", estimate=one) for one in ESTIMATES)
    truth = float(records.any(axis=1).mean())
    assert found.low <= truth <= found.high
    assert found.high - found.low < plain.high - plain.low


def test_every_pair_of_tiny_tables_with_equal_counts_is_within_the_interval_of_the_other() -> None:
    """What counts leave possible, and no less: tables that agree on all counts are not told apart."""
    bits = ChosenLiterals.of(bits_schema(2), None, "positive")
    plan = tiny_plan(bits, REPLACE, gaussian=True, sizes=(1,), scales=(1e-4,), width=2, size=2)
    tables = list(combinations_with_replacement(universe(bits.schema), 2))
    for table in tables:
        made = silent(plan, table)
        found = made.answer("a=true,b=true")
        alike = [
            sum(a and b for a, b in other) / 2
            for other in tables
            if made.noisy[0].tolist() == silent(plan, other).noisy[0].tolist()
        ]
        assert found.low == pytest.approx(min(alike), abs=1e-3)
        assert found.high == pytest.approx(max(alike), abs=1e-3)


@pytest.mark.parametrize("name", ["glop", "clarabel", "glpk"])
def test_another_solver_proves_the_same_ends_and_says_how_near_its_points_are(name: str) -> None:
    if not get_solver(name).availability().available:
        pytest.skip(f"{name} cannot run here")
    plan = tiny_plan(EVERY, REPLACE, gaussian=True, sizes=(1, 2), scales=(0.3, 0.3), width=3, size=3)
    made = silent(plan, TABLES[0])
    own, found = (made.answer(words(QUERIES[0]), solver=solver) for solver in (None, name))
    assert own.note == ""
    polynomial, consistent = found.note.split("; consistent_records ")
    assert consistent.startswith(f"by {name}: the share is between ")
    assert polynomial.startswith(f"answer_polynomial by {name if name == 'clarabel' else 'dpopt'}")
    assert (found.low, found.high) == pytest.approx((own.low, own.high), abs=1e-5)
    way = way_of(words(QUERIES[0]), "and", EVERY)
    first, other = (consistent_interval(way, plan, made.noisy, 0.05, solver=one) for one in ("highs", name))
    assert (other.low, other.high) == pytest.approx((first.low, first.high), abs=1e-6)
    assert other.gap < 1e-6


@pytest.mark.parametrize(
    ("name", "message", "error"),
    [
        ("cbc", "no dual values", PolynomialError),
        ("cp-sat", "no linear programs", PolynomialError),
        ("nobody", "there is no solver", SolverUnavailableError),
    ],
)
def test_a_solver_that_cannot_prove_an_end_is_refused(name: str, message: str, error: type[DpoptError]) -> None:
    plan = tiny_plan(EVERY, REPLACE, gaussian=True, sizes=(1, 2), scales=(0.3, 0.3), width=3, size=3)
    with pytest.raises(error, match=message):
        silent(plan, TABLES[0]).answer(words(QUERIES[0]), solver=name)


@pytest.mark.parametrize("name", ["clarabel", "scs"])
@pytest.mark.parametrize("which", [EVERY, POSITIVE], ids=["all", "positive"])
def test_a_solver_of_cones_finds_polynomials_as_good_as_newtons(name: str, which: ChosenLiterals) -> None:
    """Conditions of both signs among them; gamma is exact for its coefficients, so that the bound holds all the same."""
    if not get_solver(name).availability().available:
        pytest.skip(f"{name} cannot run here")
    plan = tiny_plan(which, REPLACE, gaussian=True, sizes=(1, 2), scales=(0.01, 0.01), width=3, size=3)
    for table in TABLES[:2]:
        made = silent(plan, table)
        for query in QUERIES:
            for predicate in ("and", "or"):
                own, found = (
                    made.answer(words(query), predicate, estimate="polynomial", solver=solver)
                    for solver in (None, name)
                )
                assert found.bound == pytest.approx(own.bound, abs=1e-6)
                assert found.note.startswith(f"answer_polynomial by {name}: its bound is ")
                assert found.low - 1e-9 <= true_share(table, query, predicate, 3) <= found.high + 1e-9


def test_a_solver_without_cones_is_refused_where_there_is_the_polynomial_alone() -> None:
    plan = tiny_plan(EVERY, REPLACE, gaussian=True, sizes=(1, 2), scales=(0.3, 0.3), width=3, size=3)
    with pytest.raises(PolynomialError, match="cannot solve programs with cones"):
        silent(plan, TABLES[0]).answer(words(QUERIES[0]), estimate="polynomial", solver="highs")
