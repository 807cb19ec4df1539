"""The local search under hard rules: answers obey every rule, small problems are solved to optimality."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from dpopt.programs import Limit, MaxCsp, SolveLimits, Termination, reduce_max_csp
from dpopt.programs.presolve import Presolve
from dpopt.queries import Clauses
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit
from dpopt.solvers.local_search import search as local_search
from dpopt.solvers.local_search.layout import Found
from dpopt.solvers.local_search.search import LocalSearch
from tests.circuits import (
    Amount,
    Gate,
    among,
    at_most,
    best_feasible_value,
    circuit_of,
    circuits,
    every,
    every_record,
    exactly_when,
    outside,
    some,
)
from tests.solvers.test_local_search_rules_kernels import SEEDS, SIZES, feasible_walk, weighted
from tests.strategies import clause_lists, clauses_of

SOLVER = LocalSearch()


def wanting(wishes: list[tuple[int, int, int]], sizes: list[int], rules: ThresholdCircuit) -> MaxCsp:
    """Return the problem that rewards (attribute, code) with a weight each."""
    clauses = clauses_of([([(attribute, code, True)], 2) for attribute, code, _ in wishes])
    return MaxCsp(np.array(sizes), clauses, np.array([weight for *_, weight in wishes]), rules)


@pytest.fixture(params=["with presolve", "by the search alone"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "by the search alone":
        monkeypatch.setattr(local_search, "presolve_reduced", Presolve.of)


@settings(max_examples=200)
@given(clause_lists(SIZES), circuits(SIZES), SEEDS)
def test_small_problems_are_solved_whatever_the_rules(clauses: Clauses, rules: ThresholdCircuit, seed: int) -> None:
    program = weighted(clauses, rules, seed)
    limits, best = SolveLimits(seed=seed % 100, work=500), best_feasible_value(program)
    with pytest.MonkeyPatch.context() as patch:
        for _ in ("with presolve", "by the search alone"):
            result = SOLVER.solve(program, limits)
            assert result.objective == best
            if best is None:
                assert result.termination in {Termination.LIMIT, Termination.INFEASIBLE}
            else:
                assert not program.broken_rules(result.require_record())
            patch.setattr(local_search, "presolve_reduced", Presolve.of)


@given(clause_lists(SIZES), circuits(SIZES), SEEDS)
def test_a_feasible_hint_is_kept_or_improved_upon(clauses: Clauses, rules: ThresholdCircuit, seed: int) -> None:
    walk = feasible_walk(clauses, rules, seed)
    if walk is None:
        return
    result = SOLVER.solve(walk.problem, SolveLimits(work=1, seconds=1e-9), hint=walk.record())
    assert (result.objective or 0) >= walk.objective
    assert not walk.problem.broken_rules(result.require_record())


@pytest.mark.usefixtures("either_way")
def test_four_columns_that_change_with_the_age_change_together() -> None:
    """Age below 15 exactly when four other columns are missing (code 0)."""
    sizes = [6, 5, 5, 5, 5]
    gates = [gate for other in (1, 2, 3, 4) for gate in exactly_when((0, [0, 1]), (other, [0]), sizes)]
    wishes = [(0, 4, 3), (1, 2, 1), (2, 3, 1), (3, 1, 1), (4, 4, 1), (0, 1, 8)]
    program = wanting(wishes, sizes, circuit_of({"child": gates}))
    adult = np.array([4, 2, 3, 1, 4], dtype=np.int32)
    assert program.objective(adult) == 7
    result = SOLVER.solve(program, SolveLimits(work=1), hint=adult)
    assert (result.objective, result.require_solution().tolist()) == (8.0, [1, 0, 0, 0, 0])


@pytest.mark.usefixtures("either_way")
def test_two_columns_that_determine_each_other_change_together() -> None:
    sizes = [20, 20]
    gates = [gate for code in range(20) for gate in exactly_when((0, [code]), (1, [code]), sizes)]
    wishes = [(0, code, 1 + code % 7) for code in range(20)] + [(1, code, 1 + code % 5) for code in range(20)]
    result = SOLVER.solve(wanting(wishes, sizes, circuit_of({"same": gates})), SolveLimits(work=1))
    assert result.objective == max(2 + code % 7 + code % 5 for code in range(20))


@pytest.mark.usefixtures("either_way")
def test_amounts_in_order_are_raised_together() -> None:
    """funded <= asked and invested <= funded, in large numbers: rewarding the smallest one lifts all three."""
    sizes = [8, 8, 8]
    amounts = [Amount(a, tuple(10_000_000 * code + a for code in range(8))) for a in range(3)]
    lower = [Amount(one.attribute, tuple(-number for number in one.numbers)) for one in amounts]
    rules = circuit_of({"funded": [Gate(-10, (amounts[0], lower[1]))], "invested": [Gate(-10, (amounts[1], lower[2]))]})
    program = wanting([(0, 0, 2), (1, 0, 2), (2, 7, 5)], sizes, rules)
    result = SOLVER.solve(program, SolveLimits(work=1), hint=np.zeros(3, dtype=np.int32))
    assert (result.objective, result.require_solution().tolist()) == (5.0, [7, 7, 7])


def tic_tac_toe() -> ThresholdCircuit:
    """Squares 0 blank, 1 cross, 2 nought; attribute 9 is 1 exactly when cross has a line."""
    sizes = [3] * 9 + [2]
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]

    def line(mark: int) -> Gate:
        return some(*(every(*(among(square, [mark], sizes) for square in one)) for one in lines))

    def no_line(mark: int) -> Gate:
        return every(*(some(*(outside(square, [mark], sizes) for square in one)) for one in lines))

    more = tuple(Amount(square, (0, 1, -1)) for square in range(9))
    fewer = tuple(Amount(square, (0, -1, 1)) for square in range(9))
    full = every(*(outside(square, [0], sizes) for square in range(9)))
    return circuit_of(
        {
            "cross begins": [Gate(0, more), Gate(-1, fewer)],
            "the game has ended": [some(line(1), line(2), full)],
            "cross ended it": [some(no_line(1), every(Gate(1, more), Gate(-1, fewer)))],
            "nought ended it": [some(no_line(2), every(Gate(0, more), Gate(0, fewer)))],
            "class": [some(among(9, [0], sizes), line(1)), some(among(9, [1], sizes), no_line(1))],
        }
    )


@pytest.mark.usefixtures("either_way")
def test_counts_and_lines_are_obeyed_and_the_best_end_position_is_found() -> None:
    rules, sizes = tic_tac_toe(), [3] * 9 + [2]
    records = every_record(sizes)
    feasible = records[~rules.broken(records).any(axis=1)]
    assert len(feasible) == 958
    generator = np.random.default_rng(4)
    for seed in range(5):
        wishes = [(a, v, int(generator.integers(1, 9))) for a in range(10) for v in range(sizes[a])]
        program = wanting(wishes, sizes, rules)
        value = {(a, v): weight for a, v, weight in wishes}
        best = max(sum(value[a, v] for a, v in enumerate(record)) for record in feasible.tolist())
        assert SOLVER.solve(program, SolveLimits(seed=seed, work=500)).objective == best


@pytest.mark.usefixtures("either_way")
def test_at_most_ten_of_a_thousand_attributes() -> None:
    """The 990 smallest rewards must be given up, from a hint that takes ten of them."""
    rules = circuit_of({"at most ten": [at_most(10, [Amount(a, (0, 1)) for a in range(1000)])]})
    weights = np.random.default_rng(1).permutation(np.arange(1, 1001))
    program = wanting([(a, 1, int(weights[a])) for a in range(1000)], [2] * 1000, rules)
    hint = (weights <= 10).astype(np.int32)
    for given_hint in (hint, None):
        result = SOLVER.solve(program, SolveLimits(work=20), hint=given_hint)
        assert result.require_record().sum() == 10
        assert result.objective == sum(range(991, 1001))


@pytest.mark.usefixtures("either_way")
def test_exactly_half_of_a_thousand_attributes_is_found_without_a_hint() -> None:
    on, off = [Amount(a, (0, 1)) for a in range(1000)], [Amount(a, (0, -1)) for a in range(1000)]
    rules = circuit_of({"exactly half": [Gate(500, tuple(on)), Gate(-500, tuple(off))]})
    result = SOLVER.solve(wanting([(0, 1, 1)], [2] * 1000, rules), SolveLimits(work=1))
    assert (result.objective, int(result.require_record().sum())) == (1.0, 500)


@pytest.mark.usefixtures("either_way")
def test_a_hint_that_breaks_a_rule_is_repaired() -> None:
    rules = circuit_of({"different": [some(among(0, [0], (2, 2)), among(1, [0], (2, 2)))]})
    program = wanting([(0, 1, 2), (1, 1, 3)], [2, 2], rules)
    result = SOLVER.solve(program, SolveLimits(work=1), hint=np.array([1, 1], dtype=np.int32))
    assert (result.objective, result.require_solution().tolist()) == (3.0, [0, 1])


def test_what_presolve_shows_to_be_impossible_is_infeasible() -> None:
    rules = circuit_of({"one": [some(among(0, [1], (2,)))], "none": [some(among(0, [0], (2,)))]})
    result = SOLVER.solve(wanting([(0, 1, 2)], [2], rules))
    assert (result.termination, result.limit, result.solution) == (Termination.INFEASIBLE, None, None)
    assert "no record obeys the rule" in result.native_status


def test_where_no_feasible_record_is_found_it_ends_at_the_limit_without_a_solution() -> None:
    pairs = [(a, b) for a in (0, 1) for b in (0, 1)]
    gates = [some(among(0, [a], (2, 2)), among(1, [b], (2, 2))) for a, b in pairs]  # each excludes one pair
    program = wanting([(0, 1, 2)], [2, 2], circuit_of({"nothing": gates}))
    result = SOLVER.solve(program, SolveLimits(work=1))
    assert (result.termination, result.limit, result.solution) == (Termination.LIMIT, Limit.WORK, None)
    assert "found no record that obeys the rules" in result.native_status
    assert SOLVER.solve(program, SolveLimits(work=1, seconds=1e-9)).limit is Limit.TIME


def test_a_rule_that_nothing_can_change_is_still_obeyed() -> None:
    never, always = Gate(1, ()), Gate(0, ())
    clauses = clauses_of([([], 1)])
    for gate, objective in ((never, None), (always, 5.0)):
        program = MaxCsp(np.array([2]), clauses, np.array([5]), circuit_of({"constant": [gate]}))
        assert SOLVER.solve(program).objective == objective


def test_the_same_seed_gives_the_same_answer_on_any_number_of_threads() -> None:
    program = random_problem(3)
    limits = [SolveLimits(work=3000, seed=4, threads=threads) for threads in (1, 2, 3)]
    answers = [SOLVER.solve(program, limit).require_solution().tolist() for limit in [*limits, limits[0]]]
    assert answers == [answers[0]] * 4


def random_problem(seed: int) -> MaxCsp:
    """Return the shape of a round under rules: conjunctions, pairs that go together, a count."""
    generator, sizes = np.random.default_rng(seed), [6] * 20
    attributes = np.argsort(generator.random((400, 20)), axis=1)[:, :3]
    clauses = Clauses.conjunctions(attributes, generator.integers(0, 6, (400, 3)), generator.random((400, 3)) < 0.5)
    rules = {
        f"pair {a}": [gate for v in range(6) for gate in exactly_when((a, [v]), (a + 1, [v]), sizes)]
        for a in range(0, 10, 2)
    }
    rules["few"] = [at_most(4, [outside(a, [0, 1], sizes) for a in range(8, 20)])]
    weights = generator.integers(1, 4, 400) * generator.choice([-1, 1], 400)
    return MaxCsp(np.array(sizes), clauses, weights, circuit_of(rules))


def test_a_round_under_rules_is_exact_and_says_how_much_it_swept() -> None:
    program = random_problem(1)
    result = SOLVER.solve(program, SolveLimits(work=300))
    assert result.objective == program.objective(result.require_record())
    assert not program.broken_rules(result.require_record())
    assert (result.termination, result.limit, result.bound) == (Termination.LIMIT, Limit.WORK, None)
    assert result.report == {"sweeps": 300}


def test_a_limit_of_seconds_ends_the_search_with_a_feasible_record() -> None:
    program = random_problem(2)
    for seconds in (1e-9, 0.05):
        result = SOLVER.solve(program, SolveLimits(seconds=seconds, work=10**7), hint=np.zeros(20, dtype=np.int32))
        assert (result.termination, result.limit) == (Termination.LIMIT, Limit.TIME)
        assert not program.broken_rules(result.require_record())


def test_meeting_every_reward_is_proven_optimal_under_rules_too() -> None:
    rules = circuit_of({"one": [some(among(0, [1], (2, 3)))]})
    result = SOLVER.solve(wanting([(0, 1, 2), (1, 2, 3)], [2, 3], rules))
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, 5.0, 5.0)


def test_a_record_that_breaks_a_rule_is_never_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_search, "presolve_reduced", Presolve.of)
    rules = circuit_of({"not both": [some(among(0, [0], (2, 2)), among(1, [0], (2, 2)))]})
    program = wanting([(0, 1, 2), (1, 1, 3)], [2, 2], rules)
    reduction = reduce_max_csp(program, np.array([1, 1], dtype=np.int32))
    wrong = Found(5, program.offsets()[:-1] + reduction.shrink(), 2000)
    monkeypatch.setattr(local_search, "search_under_rules", lambda *_: wrong)
    result = SOLVER.solve(program, hint=np.array([1, 1], dtype=np.int32))
    assert (result.termination, result.solution) == (Termination.FAILED, None)
    assert "breaks the rule 'not both'" in result.native_status
