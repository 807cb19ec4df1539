"""Every solver of best responses keeps the contract: optimum by enumeration, honest results, hints, limits, edge cases.

A solver of mixed-integer programs is one of them, through `accepting_max_csp`. The instances of models/ are solved by every
solver in tests/models/test_instances.py.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpopt.errors import ProgramError
from dpopt.models import accepting_max_csp
from dpopt.programs import Capability, Limit, MaxCsp, SolveLimits, Solver, SolveResult, Termination, certify
from dpopt.programs.solver import why_refused
from dpopt.solvers import get_solver
from tests.circuits import Gate, among, best_feasible_value, circuit_of, every, some
from tests.models.catalogue import enumerated_optimum
from tests.models.draws import conjunctive_problems, problems
from tests.solvers.test_local_search import random_problem
from tests.solvers.test_program_solvers import those_with as solvers_with
from tests.strategies import clauses_of

those_with = functools.partial(solvers_with, either=(Capability.MAX_CSP, Capability.MIP))
"""Parametrizes over the solvers of best responses that have all of these capabilities besides."""
EVERY = those_with()
LIMITS = SolveLimits(seconds=60.0)
few_examples = functools.partial(
    settings, suppress_health_check=[HealthCheck.function_scoped_fixture]
)  # solvers keep no state


@pytest.fixture
def solver(request: pytest.FixtureRequest) -> Solver:
    """The solver of this name, made to take a MaxCsp; children are kept for the whole run."""
    return accepting_max_csp(get_solver(request.param))


def proves(solver: Solver) -> bool:
    """Whether a solver tells a bound; PuLP passes none on."""
    return solver.name != "local-search" and not solver.name.startswith("pulp-")


def too_large_for_the_licence(result: SolveResult) -> bool:
    """Whether Gurobi refused a program for its size, as the licence that pip brings does."""
    return result.termination is Termination.FAILED and "size-limited" in result.native_status


@EVERY
def test_random_rounds_are_solved_to_the_enumerated_optimum(solver: Solver) -> None:
    for seed in range(6):
        program = random_problem([3, 2, 4, 1, 2], 25, seed)
        result = solver.solve(program, LIMITS)
        optimum = enumerated_optimum(program)
        assert result.objective == optimum
        certificate = certify(program, result)
        assert (certificate.feasible, certificate.objective) == (True, optimum)
        if proves(solver):
            assert (result.termination, result.bound, certificate.gap) == (Termination.OPTIMAL, optimum, 0)


@EVERY
@few_examples(max_examples=20)
@given(program=conjunctive_problems(), hinted=st.booleans(), seed=st.integers(0, 99))
def test_all_widths_signs_and_negations_are_right(solver: Solver, program: MaxCsp, hinted: bool, seed: int) -> None:
    hint = (np.random.default_rng(seed).random(program.sizes.size) * program.sizes).astype(np.int32)
    result = solver.solve(program, SolveLimits(seconds=60.0, seed=seed), hint=hint if hinted else None)
    optimum = enumerated_optimum(program)
    assert result.objective == optimum == program.objective(result.require_record())
    if proves(solver):
        assert (result.termination, result.bound) == (Termination.OPTIMAL, optimum)


@EVERY
def test_attributes_in_no_clause_keep_the_hint_or_zero(solver: Solver) -> None:
    program = MaxCsp(np.array([3, 4, 5]), clauses_of([([(1, 2, True)], 2), ([(1, 2, False)], 2)]), np.array([2, 1]))
    assert solver.solve(program, LIMITS).require_solution().tolist() == [0, 2, 0]
    hint = np.array([2, 0, 4], dtype=np.int32)
    assert solver.solve(program, LIMITS, hint=hint).require_solution().tolist() == [2, 2, 4]


@EVERY
def test_an_empty_round_has_the_hint_for_an_answer(solver: Solver) -> None:
    empty = MaxCsp(np.array([2, 3]), clauses_of([([(0, 1, True)], 2)]).take([]), np.array([], dtype=np.int64))
    result = solver.solve(empty, LIMITS, hint=np.array([1, 2], dtype=np.int32))
    assert (result.termination, result.objective) == (Termination.OPTIMAL, 0)
    assert result.bound == 0
    assert result.require_solution().tolist() == [1, 2]


@EVERY
def test_a_penalty_that_no_record_avoids_is_the_optimum(solver: Solver) -> None:
    program = MaxCsp(np.array([3, 4]), clauses_of([([], 1)]), np.array([-5]))
    result = solver.solve(program, LIMITS)
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, -5, -5)


@EVERY
def test_large_weights_and_domains_do_no_harm(solver: Solver) -> None:
    rows = [([(0, 40_000, True), (1, 7, False)], 4), ([(0, 40_000, True)], 2), ([(1, 7, True)], 2)]
    program = MaxCsp(np.array([50_000, 9]), clauses_of(rows), np.array([10**7, -1, 10**6]))
    result = solver.solve(program, LIMITS)
    assert result.objective == 10**7 - 1
    assert result.require_solution()[0] == 40_000


@EVERY
@few_examples(max_examples=25)
@given(program=problems(with_rules=False))
def test_clauses_of_every_kind_are_exact(solver: Solver, program: MaxCsp) -> None:
    """Parities, thresholds and any other set of accepted numbers of true literals."""
    result = solver.solve(program, LIMITS)
    assert result.objective == enumerated_optimum(program)


@EVERY
@few_examples(max_examples=40)
@given(program=problems(with_rules=True))
def test_rules_are_kept_and_contradictions_are_infeasible(solver: Solver, program: MaxCsp) -> None:
    """Circuits of every kind; a solver of cardinality rules refuses the others and says why."""
    reason = why_refused(solver, program)
    if reason is not None:
        assert Capability.RULES not in solver.capabilities
        with pytest.raises(ProgramError, match="adds"):
            solver.solve(program, LIMITS)
        return
    result, best = solver.solve(program, LIMITS), best_feasible_value(program)
    assert result.objective == best
    if best is None and solver.name != "local-search":
        assert result.termination is Termination.INFEASIBLE
    if best is not None:
        assert program.broken_rules(result.require_record()) == ()
    if best is not None and proves(solver):
        assert (result.termination, result.bound) == (Termination.OPTIMAL, best)


@EVERY
def test_a_rule_may_leave_a_choice_of_which_part_of_it_holds(solver: Solver) -> None:
    """Either both are 1 or both are 0, or two of three: the parts that do not hold bind nothing."""
    sizes = [2, 2, 3]
    first, second, third = among(0, [1], sizes), among(1, [1], sizes), among(2, [2], sizes)
    neither = every(among(0, [0], sizes), among(1, [0], sizes))
    rules = circuit_of({"pair": [some(every(first, second), neither)], "two": [Gate(2, (some(first), neither, third))]})
    for wanted in ((0, 1, 2), (1, 0, 0), (1, 1, 2), (1, 1, 0), (0, 0, 0)):
        literals = [([(attribute, code, True)], 2) for attribute, code in enumerate(wanted)]
        program = MaxCsp(np.array(sizes), clauses_of(literals), np.array([3, 2, 4]), rules)
        result = solver.solve(program, LIMITS)
        assert result.objective == best_feasible_value(program)
        assert program.broken_rules(result.require_record()) == ()


@EVERY
def test_rules_that_contradict_are_no_failure(solver: Solver) -> None:
    sizes = [3, 2]
    rules = circuit_of({"one": [some(among(0, [1], sizes))], "other": [some(among(0, [2], sizes))]})
    program = MaxCsp(np.array(sizes), clauses_of([([(0, 1, True)], 2)]), np.array([3]), rules)
    result = solver.solve(program, SolveLimits(seconds=5.0))
    assert (result.solution, result.objective) == (None, None)
    unproven = {Termination.LIMIT} if solver.name == "local-search" else set()
    assert result.termination in {Termination.INFEASIBLE, *unproven}


@those_with(Capability.DETERMINISTIC_LIMIT)
def test_the_same_seed_and_work_give_the_same_answer(solver: Solver) -> None:
    program = random_problem([4] * 8, 60, 1)
    limits = SolveLimits(work=50, seed=3)
    first, second = (solver.solve(program, limits) for _ in range(2))
    assert first.require_solution().tolist() == second.require_solution().tolist()


@EVERY
def test_a_short_time_limit_gives_an_honest_result(solver: Solver) -> None:
    program = random_problem([8] * 30, 1500, 2)
    result = solver.solve(program, SolveLimits(seconds=0.5))
    if too_large_for_the_licence(result):
        return
    if result.solution is not None:
        assert result.objective == program.objective(result.require_record())
    else:
        assert result.objective is None
    assert result.termination in {Termination.LIMIT, Termination.OPTIMAL}
    if result.bound is not None and result.objective is not None:
        assert result.bound >= result.objective


@EVERY
def test_a_wide_gap_stops_early_with_a_bound_that_holds(solver: Solver) -> None:
    program = random_problem([3, 2, 4, 1, 2], 40, 3)
    result = solver.solve(program, SolveLimits(seconds=60.0, gap=10.0))
    optimum = enumerated_optimum(program)
    assert result.objective is not None
    assert result.objective <= optimum
    if proves(solver):
        assert result.bound is not None
        assert optimum <= result.bound <= result.objective + 10


@those_with(without=("local-search", "rc2", "glpk", "pulp-gurobi", "pulp-highs"))
def test_a_gap_that_anything_meets_ends_the_search_at_once(solver: Solver) -> None:
    """RC2 knows nothing between its bound and the optimum; glpsol takes no absolute gap, and PuLP tells no bound."""
    program = random_problem([8] * 20, 300, 2)
    result = solver.solve(program, SolveLimits(seconds=20.0, gap=1e6))
    assert (result.termination, result.limit) == (Termination.LIMIT, Limit.GAP)
    assert result.solution is not None


@EVERY
def test_more_threads_give_the_same_optimum(solver: Solver) -> None:
    program = random_problem([3, 2, 4, 1, 2], 25, 4)
    found = solver.solve(program, SolveLimits(seconds=60.0, threads=2))
    assert found.objective == enumerated_optimum(program)


@EVERY
def test_the_result_names_solver_version_and_native_status(solver: Solver) -> None:
    result = solver.solve(random_problem([3, 2, 2], 5, 5), LIMITS)
    assert result.solver == solver.name
    assert result.version
    assert result.native_status
    assert result.seconds > 0


@those_with(Capability.WARM_START)
def test_a_hint_is_where_a_solver_starts_that_takes_one(solver: Solver) -> None:
    """With no time for anything else, what comes back is as good as the hint."""
    program = random_problem([8] * 30, 400, 2)
    hint = get_solver("local-search").solve(program, SolveLimits(work=200, seed=1)).require_record()
    result = solver.solve(program, SolveLimits(seconds=0.5, work=1), hint=hint)
    if too_large_for_the_licence(result):
        return
    assert result.objective is not None
    assert result.objective >= program.objective(hint)


@EVERY
def test_the_history_goes_forward_and_ends_with_the_result(solver: Solver) -> None:
    program = random_problem([4] * 8, 60, 2)
    result = solver.solve(program, LIMITS)
    seconds = [progress.seconds for progress in result.history]
    assert seconds == sorted(seconds)
    assert all(second >= 0 for second in seconds)
    found = [progress.objective for progress in result.history if progress.objective is not None]
    assert all(after >= before - 1e-6 for before, after in itertools.pairwise(found))
    bounds = [progress.bound for progress in result.history if progress.bound is not None]
    assert all(bound >= (result.objective or 0) - 1e-6 for bound in bounds)
    if found:
        assert found[-1] == pytest.approx(result.objective)


@those_with(without=("local-search",))
def test_the_memory_of_the_child_is_reported(solver: Solver) -> None:
    report = solver.solve(random_problem([3, 2, 2], 5, 5), LIMITS).report
    assert 10 < float(report["peak_memory_mb"]) < 10_000
    assert float(report["adapter_seconds"]) > 0
