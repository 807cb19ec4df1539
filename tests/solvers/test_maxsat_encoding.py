"""The weighted CNF says what the program says: checked on every record with a plain SAT-free evaluation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from dpopt.programs import Limit, MaxCsp, SolveLimits, Termination
from dpopt.programs.weighted_cnf import WeightedCnf, record_of, weighted_cnf
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit, starts
from dpopt.solvers import get_solver
from tests.circuits import best_feasible_value, circuit_of, every_record, outside, some
from tests.models.draws import problems
from tests.solvers.test_local_search import random_problem
from tests.strategies import clauses_of


def least_loss(cnf: WeightedCnf, literals: set[int]) -> int | None:
    """Return the least weight lost over all ways to complete an assignment of the codes; None if none is allowed."""
    given_variables = {abs(literal) for literal in literals}
    free = [v for v in range(1, cnf.variables + 1) if v not in given_variables]
    best = None
    for signs in itertools.product((1, -1), repeat=len(free)):
        true = literals | {v * sign for v, sign in zip(free, signs, strict=True)}
        if all(any(literal in true for literal in clause) for clause in cnf.hard):
            pairs = zip(cnf.soft, cnf.weights, strict=True)
            lost = cnf.lost + sum(w for clause, w in pairs if not any(literal in true for literal in clause))
            best = lost if best is None else min(best, lost)
    return best


def literals_of(cnf: WeightedCnf, problem: MaxCsp, record: NDArray[np.int32]) -> set[int]:
    chosen = set((problem.offsets()[:-1] + record).tolist())
    return {literal if column in chosen else -literal for column, literal in enumerate(cnf.codes)}


@settings(max_examples=60)
@given(problem=problems(max_clauses=2, max_attributes=3))
def test_every_record_loses_what_it_does_not_weigh_and_breaks_what_it_breaks(problem: MaxCsp) -> None:
    if problem.rules.number_of_weighted_rule() is not None:
        return
    cnf = weighted_cnf(problem)
    if cnf.variables > 18:
        return
    for record in every_record(problem.sizes.tolist()):
        lost = least_loss(cnf, literals_of(cnf, problem, record))
        if problem.broken_rules(record):
            assert lost is None
        else:
            assert lost is not None
            assert problem.upper_bound() - lost == problem.objective(record)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 9])
def test_an_attribute_has_exactly_one_code(size: int) -> None:
    problem = MaxCsp(np.array([size]), clauses_of([([(0, 0, True)], 2)]), np.array([1]))
    cnf = weighted_cnf(problem)
    for chosen in itertools.product((False, True), repeat=size):
        literals = {c if yes else -c for c, yes in zip(cnf.codes, chosen, strict=True)}
        consistent = not any(-literal in literals for literal in literals)
        allowed = consistent and least_loss(cnf, literals) is not None
        assert allowed == (sum(chosen) == 1)


def test_a_model_is_read_as_the_record_it_stands_for() -> None:
    problem = MaxCsp(np.array([3, 2, 1]), clauses_of([([(0, 0, True)], 2)]), np.array([1]))
    cnf = weighted_cnf(problem)
    for record in every_record([3, 2, 1]):
        model = sorted(literals_of(cnf, problem, record), key=abs)
        assert record_of(cnf, problem, [*model, 99, -100]).tolist() == record.tolist()


REQUIRED_CHILD = ThresholdCircuit(
    ("both",),
    bounds=np.array([1, 2]),
    required=np.array([True, True]),
    rule_of=np.array([0, 0], dtype=np.int32),
    term_starts=starts(np.array([1, 1])),
    term_attributes=np.array([0, 1], dtype=np.int32),
    value_starts=starts(np.array([3, 2])),
    values=np.array([0, 1, 0, 0, 1]),
    child_starts=starts(np.array([0, 1])),
    children=np.array([0], dtype=np.int32),
    coefficients=np.array([1]),
)


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.solver(name)) for name in ("cp-sat", "rc2")])
def test_a_required_gate_may_be_the_child_of_another(name: str) -> None:
    sizes = np.array([3, 2])
    clauses = clauses_of([([(0, 2, True)], 2), ([(1, 0, True)], 2), ([(0, 1, True)], 2)])
    problem = MaxCsp(sizes, clauses, np.array([5, 5, 1]), REQUIRED_CHILD)
    result = get_solver(name).solve(problem, SolveLimits(seconds=60.0))
    assert result.objective == best_feasible_value(problem) == 1
    assert result.require_record().tolist() == [1, 1]


@pytest.mark.solver("rc2")
def test_rc2_has_a_bound_and_no_record_when_its_time_is_over() -> None:
    problem = random_problem([10] * 40, 1700, 1)
    results = (get_solver("rc2").solve(problem, SolveLimits(seconds=seconds)) for seconds in (1.5, 15.0, 60.0))
    result = next(one for one in results if one.bound is not None and one.bound < problem.upper_bound())
    assert (result.termination, result.limit, result.solution) == (Termination.LIMIT, Limit.TIME, None)
    better = get_solver("local-search").solve(problem, SolveLimits(work=200)).objective
    assert better is not None
    assert result.bound is not None
    assert better <= result.bound


@pytest.mark.solver("rc2")
def test_rc2_never_calls_an_interrupted_search_infeasible() -> None:
    """However early its time is over."""
    problem = random_problem([6] * 12, 120, 3)
    for seconds in (1e-6, 1e-4, 1e-3, 1e-2, 3e-2, 0.1):
        result = get_solver("rc2").solve(problem, SolveLimits(seconds=seconds))
        assert result.termination in {Termination.LIMIT, Termination.OPTIMAL}
        assert result.bound is not None
        best = get_solver("local-search").solve(problem, SolveLimits(work=300)).objective
        assert best is not None
        assert result.bound >= best


@pytest.mark.solver("rc2")
def test_rc2_never_calls_rules_infeasible_that_it_had_no_time_to_refute() -> None:
    """Eleven holes for twelve pigeons: resolution needs exponentially long to see that."""
    sizes = [11] * 12
    rules = [
        some(outside(a, [hole], sizes), outside(b, [hole], sizes))
        for a, b in itertools.combinations(range(12), 2)
        for hole in range(11)
    ]
    problem = MaxCsp(np.array(sizes), clauses_of([([(0, 0, True)], 2)]), np.array([1]), circuit_of({"one each": rules}))
    result = get_solver("rc2").solve(problem, SolveLimits(seconds=1.0))
    assert (result.termination, result.limit) == (Termination.LIMIT, Limit.TIME)
    assert result.bound == 1
