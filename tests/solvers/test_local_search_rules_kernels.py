"""The kernels of the local search under rules: sums are exact step by step, and no kept record breaks a rule."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.programs import MaxCsp
from dpopt.queries import Clauses
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit
from dpopt.solvers.local_search import kernels, rules_kernels
from dpopt.solvers.local_search.layout import boltzmann_table, build_index, lay_out_rules, new_state, new_status
from tests.circuits import circuits, every_record
from tests.strategies import clause_lists

SIZES = (2, 3, 2, 4, 3)
SEEDS = st.integers(0, 2**31 - 1)
CHARGE = 8.0


def weighted(clauses: Clauses, rules: ThresholdCircuit, seed: int) -> MaxCsp:
    generator = np.random.default_rng(seed)
    weights = generator.integers(1, 6, len(clauses)) * generator.choice([-1, 1], len(clauses))
    return MaxCsp(np.array(SIZES), clauses, weights, rules)


class Walk:
    """A state of the search under rules, from a given record on."""

    def __init__(self, problem: MaxCsp, record: NDArray[np.int32]) -> None:
        self.problem, self.first = problem, problem.offsets()[:-1]
        self.index = build_index(problem)
        self.rules = lay_out_rules(problem.rules, problem.sizes.size)
        self.restart(self.first + record)

    def restart(self, chosen: NDArray[np.int64]) -> None:
        self.state, self.status = new_state(self.index, chosen), new_status(self.rules)
        self.ruled = rules_kernels.Ruled(self.index, self.state, self.rules, self.status)
        self.objective = int(kernels.restart(self.index, self.state))
        rules_kernels.restart_rules(self.ruled)

    def record(self) -> NDArray[np.int32]:
        return (self.state.chosen - self.first).astype(np.int32)

    def number_broken(self, record: NDArray[np.int32]) -> int:
        gates = self.problem.rules.gates(record[None, :])[0]
        return int((self.problem.rules.required & ~gates).sum())

    def assert_consistent(self) -> None:
        assert self.problem.objective(self.record()) == self.objective
        state, status, objective, ruled = self.state, self.status, self.objective, self.ruled
        self.restart(state.chosen)
        assert self.objective == objective
        columns = int(self.index.first_column[-1])
        assert self.state.gain[:columns].tolist() == state.gain[:columns].tolist()
        assert status.total.tolist() == self.status.total.tolist()
        assert not status.step.any()
        number = int(status.number[0])
        assert sorted(status.broken[:number].tolist()) == self.status.broken[: self.status.number[0]].tolist()
        assert status.place[status.broken[:number]].tolist() == list(range(number))
        true = self.problem.rules.gates(self.record()[None, :])[0]
        assert (status.total >= self.rules.bounds).tolist() == true.tolist()
        self.state, self.status, self.ruled = state, status, ruled


def walk_of(clauses: Clauses, rules: ThresholdCircuit, seed: int) -> Walk:
    problem = weighted(clauses, rules, seed)
    start = np.random.default_rng(seed).integers(0, SIZES).astype(np.int32)
    return Walk(problem, start)


def feasible_walk(clauses: Clauses, rules: ThresholdCircuit, seed: int) -> Walk | None:
    """Return a walk that stands on a feasible record, if there is one."""
    records = every_record(SIZES)
    feasible = records[~rules.broken(records).any(axis=1)]
    return Walk(weighted(clauses, rules, seed), feasible[seed % len(feasible)]) if len(feasible) else None


@given(clause_lists(SIZES), circuits(SIZES), SEEDS)
def test_objective_and_gate_sums_stay_exact_whatever_moves(
    clauses: Clauses, rules: ThresholdCircuit, seed: int
) -> None:
    walk, generator = walk_of(clauses, rules, seed), np.random.default_rng(seed)
    for attribute in generator.choice(len(SIZES), 12).tolist():
        column = int(walk.first[attribute]) + int(generator.integers(SIZES[attribute]))
        moved = walk.record()
        moved[attribute] = column - walk.first[attribute]
        expected = walk.number_broken(moved) - walk.number_broken(walk.record())
        assert rules_kernels.breaks(walk.ruled, attribute, column) == expected
        if column != walk.state.chosen[attribute]:
            walk.objective += rules_kernels.move(walk.ruled, attribute, column)
        walk.assert_consistent()


@given(clause_lists(SIZES), circuits(SIZES), SEEDS, st.floats(0.0, 5.0), st.integers(1, 5))
def test_a_compound_move_ends_feasible_or_takes_everything_back(
    clauses: Clauses, rules: ThresholdCircuit, seed: int, temperature: float, longest: int
) -> None:
    walk = feasible_walk(clauses, rules, seed)
    if walk is None:
        return
    repairs = rules_kernels.Repairs(temperature, CHARGE, 64, np.array([seed], dtype=np.uint64))
    for column in range(int(walk.index.first_column[-1])):
        attribute = int(np.searchsorted(walk.index.first_column, column, side="right")) - 1
        before = walk.record()
        if before[attribute] == column - walk.first[attribute]:
            continue
        gained, number = rules_kernels.compound_move(walk.ruled, attribute, column, longest, repairs)
        walk.objective += gained
        walk.assert_consistent()
        changed = np.flatnonzero(walk.record() != before)
        assert walk.status.number[0] == 0
        assert -longest <= number <= longest
        assert changed.size == max(0, number)
        assert number <= 0 or attribute in changed


@given(clause_lists(SIZES), circuits(SIZES), SEEDS, st.floats(0.05, 20.0))
def test_annealing_stays_feasible_keeps_count_and_remembers_the_best_sweep(
    clauses: Clauses, rules: ThresholdCircuit, seed: int, temperature: float
) -> None:
    walk = feasible_walk(clauses, rules, seed)
    if walk is None:
        return
    best, start = walk.state.chosen.copy(), walk.objective
    scales, random = np.full(5, kernels.RESOLUTION / temperature), np.array([seed], dtype=np.uint64)
    walk.objective, top = rules_kernels.anneal_feasibly(
        walk.ruled, start, scales, boltzmann_table(), CHARGE, random, best, start
    )
    walk.assert_consistent()
    assert walk.status.number[0] == 0
    walk.restart(best)
    assert walk.objective == top >= start
    assert walk.status.number[0] == 0


@given(clause_lists(SIZES), circuits(SIZES), SEEDS)
def test_descent_ends_where_no_single_change_improves(clauses: Clauses, rules: ThresholdCircuit, seed: int) -> None:
    walk = feasible_walk(clauses, rules, seed)
    if walk is None:
        return
    walk.objective = rules_kernels.descend_feasibly(walk.ruled, walk.objective, seed % len(SIZES))
    walk.assert_consistent()
    for attribute, size in enumerate(SIZES):
        for code in range(size):
            other = walk.record()
            other[attribute] = code
            assert walk.number_broken(other) or walk.problem.objective(other) <= walk.objective
