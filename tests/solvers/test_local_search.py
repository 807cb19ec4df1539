"""The local search: what it keeps step by step equals what is computed anew; small problems are solved to optimality."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs import Capability, Limit, MaxCsp, SolveLimits, SolveResult, Termination, reduce_max_csp
from dpopt.queries import Clauses
from dpopt.solvers.local_search import kernels
from dpopt.solvers.local_search import search as local_search
from dpopt.solvers.local_search.layout import boltzmann_table, build_index, new_state
from dpopt.solvers.local_search.search import LocalSearch
from tests.models.catalogue import enumerated_optimum
from tests.programs.test_mixed_integer import PROGRAM
from tests.strategies import clause_lists, clauses_of

SIZES = (2, 3, 1, 4, 2)
SOLVER = LocalSearch()
SEEDS = st.integers(0, 2**31 - 1)


def weighted(clauses: Clauses, seed: int) -> MaxCsp:
    generator = np.random.default_rng(seed)
    weights = generator.integers(1, 6, len(clauses)) * generator.choice([-1, 1], len(clauses))
    return MaxCsp(np.array(SIZES), clauses, weights)


def random_problem(sizes: list[int], clauses: int, seed: int) -> MaxCsp:
    """Return the shape of a round: three-way conjunctions with net counts of both signs."""
    generator = np.random.default_rng(seed)
    attributes = np.argsort(generator.random((clauses, len(sizes))), axis=1)[:, :3]
    values = generator.integers(0, np.array(sizes)[attributes])
    signs = generator.random((clauses, 3)) < 0.5
    weights = generator.integers(1, 4, clauses) * generator.choice([-1, 1], clauses)
    return MaxCsp(np.array(sizes), Clauses.conjunctions(attributes, values, signs), weights)


def outcome(result: SolveResult) -> tuple[float | None, list[int]]:
    return result.objective, result.require_solution().tolist()


class Walk:
    """A state of the search on a reduced problem, from code 0 everywhere."""

    def __init__(self, problem: MaxCsp) -> None:
        self.problem = problem
        self.first = problem.offsets()[:-1]
        self.index = build_index(problem)
        self.state = new_state(self.index, self.first)
        self.objective = int(kernels.restart(self.index, self.state))

    def exact(self, chosen: NDArray[np.int64]) -> int:
        return self.problem.objective((chosen - self.first).astype(np.int32))

    def assert_consistent(self) -> None:
        assert self.exact(self.state.chosen) == self.objective
        anew = new_state(self.index, self.state.chosen)
        assert kernels.restart(self.index, anew) == self.objective
        spare = int(self.problem.offsets()[-1])
        assert self.state.true_literals.tolist() == anew.true_literals.tolist()
        assert self.state.gain[:spare].tolist() == anew.gain[:spare].tolist()
        assert self.state.is_chosen.tolist() == anew.is_chosen.tolist()


def reduced(clauses: Clauses, seed: int) -> MaxCsp:
    """Return the reduced problem; a clause over attribute 0 makes sure that there is one."""
    program = weighted(clauses, seed)
    return reduce_max_csp(program).problem


@given(clause_lists(SIZES), SEEDS)
def test_what_is_kept_step_by_step_equals_what_is_computed_anew(clauses: Clauses, seed: int) -> None:
    problem = reduced(clauses, seed)
    walk, generator = Walk(problem), np.random.default_rng(seed)
    wide = np.flatnonzero(problem.sizes > 1)
    for attribute in generator.choice(wide, 15) if wide.size else []:
        code = int(generator.integers(problem.sizes[attribute]))
        column = int(walk.first[attribute]) + code
        if column == walk.state.chosen[attribute]:
            continue
        moved = walk.state.chosen.copy()
        moved[attribute] = column
        expected = walk.exact(moved) - walk.objective
        assert kernels.change(walk.index, walk.state, int(attribute), column) == expected
        walk.objective += expected
        walk.assert_consistent()


@given(clause_lists(SIZES), SEEDS, st.floats(0.05, 20.0))
def test_annealing_keeps_count_and_remembers_the_best_sweep(clauses: Clauses, seed: int, temperature: float) -> None:
    problem = reduced(clauses, seed)
    if problem.sizes.size == 0:
        return
    walk = Walk(problem)
    best, start = walk.first.copy(), walk.objective
    scales = np.full(5, kernels.RESOLUTION / temperature)
    random = np.array([seed], dtype=np.uint64)
    walk.objective, top = kernels.anneal(walk.index, walk.state, start, scales, boltzmann_table(), random, best, start)
    walk.assert_consistent()
    assert walk.exact(best) == top >= start


@given(clause_lists(SIZES), SEEDS)
def test_descent_ends_where_no_single_change_improves(clauses: Clauses, seed: int) -> None:
    problem = reduced(clauses, seed)
    walk = Walk(problem)
    walk.objective = kernels.descend(walk.index, walk.state, walk.objective)
    walk.assert_consistent()
    for attribute, size in enumerate(problem.sizes.tolist()):
        for code in range(size):
            other = walk.state.chosen.copy()
            other[attribute] = walk.first[attribute] + code
            assert walk.exact(other) <= walk.objective


@given(clause_lists(SIZES), SEEDS)
def test_descent_by_pairs_ends_where_no_two_changes_improve(clauses: Clauses, seed: int) -> None:
    problem = reduced(clauses, seed)
    walk = Walk(problem)
    walk.objective = kernels.descend(walk.index, walk.state, walk.objective)
    walk.objective = kernels.descend_by_pairs(walk.index, walk.state, walk.objective)
    walk.assert_consistent()
    for a, b in itertools.combinations(range(problem.sizes.size), 2):
        for code_a, code_b in itertools.product(range(problem.sizes[a]), range(problem.sizes[b])):
            other = walk.state.chosen.copy()
            other[[a, b]] = walk.first[[a, b]] + [code_a, code_b]
            assert walk.exact(other) <= walk.objective


@pytest.mark.parametrize("codes", [2, 5])
def test_a_heat_bath_move_follows_the_boltzmann_distribution(codes: int) -> None:
    """20,000 moves of one attribute: a deviation of 5 standard errors has probability below 1e-6 per code."""
    gains = np.array([0, 3, -2, 1, 3][:codes], dtype=np.int64)
    clauses = clauses_of([([(0, code, True)], 2) for code in range(codes)])
    shifted = np.where(gains == 0, 7, gains + 7)
    walk = Walk(MaxCsp(np.array([codes]), clauses, shifted))
    distribution = np.exp(gains / 2.0) / np.exp(gains / 2.0).sum()
    counts = np.zeros(codes)
    random, best = np.array([5], dtype=np.uint64), walk.first.copy()
    table, scales = boltzmann_table(), np.array([kernels.RESOLUTION / 2.0])
    for _ in range(20_000):
        kernels.anneal(walk.index, walk.state, 0, scales, table, random, best, 10**6)
        counts[walk.state.chosen[0]] += 1
    error = np.sqrt(distribution * (1 - distribution) / 20_000)
    assert (np.abs(counts / 20_000 - distribution) < 5 * error + distribution / kernels.RESOLUTION).all()


@given(clause_lists(SIZES), SEEDS)
def test_small_problems_are_solved_to_optimality_whatever_the_clauses(clauses: Clauses, seed: int) -> None:
    program = weighted(clauses, seed)
    result = SOLVER.solve(program, SolveLimits(seed=seed % 100, work=200))
    assert result.objective == enumerated_optimum(program) == program.objective(result.require_record())


@pytest.mark.parametrize("seed", range(5))
def test_rounds_of_middle_size_are_solved_to_optimality(seed: int) -> None:
    program = random_problem([3, 4, 2, 5, 3, 2], 60, seed)
    assert SOLVER.solve(program).objective == enumerated_optimum(program)


def test_the_incremental_objective_of_a_large_round_is_exact() -> None:
    program = random_problem([10] * 41, 1750, 1)
    result = SOLVER.solve(program, SolveLimits(work=300))
    assert result.objective == program.objective(result.require_record())
    assert (result.termination, result.limit, result.bound) == (Termination.LIMIT, Limit.WORK, None)
    assert result.report == {"sweeps": 300}


def test_four_hundred_bits_work_as_well() -> None:
    program = random_problem([2] * 400, 1750, 2)
    result = SOLVER.solve(program, SolveLimits(work=200))
    assert result.objective == program.objective(result.require_record()) > 0


def test_the_same_seed_gives_the_same_answer_on_any_number_of_threads() -> None:
    program = random_problem([6] * 20, 400, 3)
    limits = [SolveLimits(work=3000, seed=4, threads=threads) for threads in (1, 2, 3)]
    first, *others = [outcome(SOLVER.solve(program, limit)) for limit in limits]
    assert others == [first, first]
    assert outcome(SOLVER.solve(program, limits[0])) == first


def test_the_answer_of_a_seed_does_not_change_with_versions() -> None:
    """If this fails on purpose, raise `local_search.VERSION`."""
    answers = [SOLVER.solve(random_problem([2] * 60, 500, 6), SolveLimits(work=1, seed=seed)) for seed in range(8)]
    assert [answer.objective for answer in answers] == [112, 114, 112, 112, 121, 122, 122, 112]


def test_another_seed_searches_elsewhere() -> None:
    program = random_problem([2] * 200, 900, 4)
    answers = [SOLVER.solve(program, SolveLimits(work=20, seed=seed)).require_solution() for seed in range(4)]
    assert len({tuple(answer.tolist()) for answer in answers}) > 1


def test_a_problem_and_its_multiple_are_searched_alike() -> None:
    program = random_problem([4] * 15, 200, 5)
    multiple = MaxCsp(program.sizes, program.clauses, program.weights * 1_000_003)
    once, many = SOLVER.solve(program), SOLVER.solve(multiple)
    assert once.require_solution().tolist() == many.require_solution().tolist()


def test_one_huge_weight_does_not_hide_the_small_ones() -> None:
    program = random_problem([3] * 7, 90, 8)
    weights = program.weights.copy()
    weights[0] = 10**12
    skewed = MaxCsp(program.sizes, program.clauses, weights)
    assert SOLVER.solve(skewed).objective == enumerated_optimum(skewed)


def test_the_answer_is_never_worse_than_the_hint() -> None:
    program = random_problem([3] * 60, 700, 6)
    good = SOLVER.solve(program, SolveLimits(work=3000)).require_record()
    again = SOLVER.solve(program, SolveLimits(work=1, seed=3), hint=good)
    assert (again.objective or 0) >= program.objective(good)


def test_meeting_every_reward_and_no_penalty_is_proven_optimal() -> None:
    clauses = clauses_of([([(0, 1, True), (1, 2, True)], 4), ([(1, 0, True)], 2)])
    result = SOLVER.solve(MaxCsp(np.array([2, 3]), clauses, np.array([4, -3])))
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, 4.0, 4.0)


def test_a_limit_of_seconds_ends_the_search_with_a_record() -> None:
    program = random_problem([2] * 400, 4000, 7)
    result = SOLVER.solve(program, SolveLimits(seconds=0.05, work=10**9))
    assert (result.termination, result.limit) == (Termination.LIMIT, Limit.TIME)
    assert result.objective == program.objective(result.require_record())


def test_no_time_at_all_still_gives_a_record() -> None:
    result = SOLVER.solve(random_problem([4] * 10, 100, 7), SolveLimits(seconds=1e-9))
    assert (result.limit, result.report) == (Limit.TIME, {"sweeps": 0})
    assert result.solution is not None


def test_a_record_whose_objective_was_miscounted_is_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = kernels.descend_by_pairs
    monkeypatch.setattr(kernels, "descend_by_pairs", lambda *arguments: honest(*arguments) + 1)
    result = SOLVER.solve(random_problem([4] * 10, 100, 7), SolveLimits(work=10))
    assert (result.termination, result.solution, result.objective) == (Termination.FAILED, None, None)
    assert "the exact one" in result.native_status


def test_other_programs_and_hints_that_are_no_records_are_refused() -> None:
    with pytest.raises(ProgramError, match="MaxCsp"):
        SOLVER.solve(PROGRAM)
    with pytest.raises(ProgramError, match="code 9"):
        SOLVER.solve(random_problem([4] * 10, 100, 7), hint=np.full(10, 9, dtype=np.int32))


def test_it_is_always_available_and_says_what_it_can() -> None:
    assert SOLVER.availability().available
    assert SOLVER.capabilities == {
        Capability.MAX_CSP, Capability.RULES, Capability.CARDINALITY_RULES, Capability.PRESOLVES,
        Capability.WARM_START, Capability.DETERMINISTIC_LIMIT,
    }  # fmt: skip


def test_it_says_when_it_had_which_value_in_hand() -> None:
    program = random_problem([4] * 20, 200, 3)
    result = SOLVER.solve(program, SolveLimits(work=3000))
    seconds = [entry.seconds for entry in result.history]
    values = [entry.objective or 0.0 for entry in result.history]
    assert seconds == sorted(seconds)
    assert 0.0 <= seconds[0] <= seconds[-1] <= result.seconds
    assert len(values) > 1
    assert values == sorted(set(values))
    assert values[-1] == result.objective


def test_many_attributes_get_fewer_sweeps_and_no_fewer_than_some(monkeypatch: pytest.MonkeyPatch) -> None:
    program = random_problem([12] * 40, 600, 1)
    problem = reduce_max_csp(program).problem
    assert problem.sizes.sum() >= 400
    for moves, sweeps in ((10**9, 4000), (1500 * problem.sizes.size + 1, 1500), (1, 500)):
        monkeypatch.setattr(local_search, "MOVES", moves)
        result = SOLVER.solve(program)
        assert result.report["sweeps"] == sweeps
        assert (result.termination, result.limit) == (Termination.LIMIT, Limit.WORK)
    assert SOLVER.solve(program, SolveLimits(work=2000)).report["sweeps"] == 2000


def test_few_columns_get_ten_sweeps_each_and_no_fewer_than_a_thousand() -> None:
    for sizes, clauses in (([3] * 60, 300), ([3] * 10, 60)):
        program = random_problem(sizes, clauses, 1)
        columns = int(reduce_max_csp(program).problem.sizes.sum())
        assert columns < 400
        assert SOLVER.solve(program).report["sweeps"] == max(1000, 10 * columns)
