from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models.best_responses.perturbed_response import (
    UNITS,
    Perturbations,
    SelectedSoFar,
    constant,
    perturbations,
    perturbed_problem,
    selected_so_far,
)
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.kernels import satisfied
from dpopt.solvers.registry import get_solver

SIZES = np.array([3, 2, 4], dtype=np.int32)
EVERYTHING = np.ones(9, dtype=np.bool_)
OFFSETS = np.array([0, 3, 5, 9])


def clauses_of(*rows: tuple[tuple[int, int, bool], ...]) -> Clauses:
    width = max(map(len, rows))
    padded = [[*row, *[(-1, 0, False)] * (width - len(row))] for row in rows]
    columns = [[[literal[i] for literal in row] for row in padded] for i in range(3)]
    return Clauses.conjunctions(*columns)


TWO = clauses_of(((0, 1, True), (2, 3, True)), ((1, 0, True),))


def drawn(selected: SelectedSoFar, seed: int, number: int = 1) -> NDArray[np.float64]:
    width = selected.codes.size + 2 * selected.sizes.size
    return np.random.default_rng(seed).random((number, width))


def whole_rewards(selected: SelectedSoFar, shaken: Perturbations, number: int) -> NDArray[np.float64]:
    """Return a reward for every code (PR-1): -inf for unnamed codes that are not the best of theirs."""
    rewards = np.full(int(selected.sizes.sum()), -np.inf)
    for a in range(selected.sizes.size):
        own = slice(int(selected.starts[a]), int(selected.starts[a + 1]))
        rewards[OFFSETS[a] + selected.codes[own]] = shaken.rewards[number][own]
        if selected.other_starts[a + 1] > selected.other_starts[a]:
            rewards[OFFSETS[a] + shaken.hints[number][a]] = shaken.best_others[number][a]
    return rewards


@settings(max_examples=60, deadline=None)
@given(
    weights=st.lists(st.integers(-3, 3), min_size=2, max_size=2),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([0.2, 1.0, 4.0]),
)
def test_the_program_has_the_optimum_of_the_whole_problem(weights: list[int], seed: int, scale: float) -> None:
    """PR-2 to PR-4: brute force over all records, with one reward for every code."""
    selected = selected_so_far(SIZES, TWO, np.array(weights), EVERYTHING)
    shaken = perturbations(selected, drawn(selected, seed), scale)
    problem = perturbed_problem(selected, shaken, 0)
    rewards = whole_rewards(selected, shaken, 0)
    best = -np.inf
    for record in product(*(range(size) for size in SIZES)):
        x = np.array(record, dtype=np.int32)
        value = UNITS * float(np.array(weights)[satisfied(TWO, x)].sum()) + rewards[OFFSETS[:3] + x].sum()
        best = max(best, value)
    result = get_solver("local-search").solve(problem, hint=shaken.hints[0].copy())
    assert result.solution is not None
    x = result.solution.astype(np.int32)
    assert problem.objective(x) + constant(shaken, 0) == best
    assert UNITS * float(np.array(weights)[satisfied(TWO, x)].sum()) + rewards[OFFSETS[:3] + x].sum() == best


def test_without_selections_every_possible_value_is_equally_likely() -> None:
    possible = EVERYTHING.copy()
    possible[[1, 8]] = False
    empty = TWO.take([])
    selected = selected_so_far(SIZES, empty, np.empty(0, dtype=np.int64), possible)
    shaken = perturbations(selected, drawn(selected, 0, 30_000), 1.0)
    assert len(perturbed_problem(selected, shaken, 0).clauses) == 0
    counts = [np.bincount(shaken.hints[:, a], minlength=SIZES[a]) for a in range(3)]
    assert counts[0][1] == counts[2][3] == 0
    for found, values in zip(counts, (2, 2, 3), strict=True):
        # six standard deviations
        assert np.all(np.abs(found[found > 0] - 30_000 / values) < 6 * np.sqrt(30_000 / 4))


def test_the_best_of_several_rewards_is_drawn_from_its_own_distribution() -> None:
    """PR-3: against the largest of as many rewards drawn one by one (two-sample Kolmogorov-Smirnov, false alarm 1e-9)."""
    number = 20_000
    selected = selected_so_far(SIZES, TWO.take([1]), np.array([1]), EVERYTHING)
    shaken = perturbations(selected, drawn(selected, 1, number), 2.0)
    generator = np.random.default_rng(2)
    for attribute, several in ((0, 3), (2, 4), (1, 1)):
        single = -generator.exponential(size=(number, several))
        expected = np.sort(2.0 * single.max(axis=1) * UNITS)
        found = np.sort(shaken.best_others[:, attribute].astype(np.float64))
        grid = np.concatenate([expected, found])
        distance = np.abs(
            np.searchsorted(expected, grid, side="right") - np.searchsorted(found, grid, side="right")
        ).max()
        assert distance / number < 3.3 * np.sqrt(2 / number)


def test_named_values_have_rewards_of_the_distribution_that_the_algorithm_names() -> None:
    selected = selected_so_far(SIZES, TWO, np.array([1, 1]), EVERYTHING)
    rewards = perturbations(selected, drawn(selected, 3, 40_000), 1.5).rewards / UNITS / 1.5
    assert rewards.shape == (40_000, 3)
    assert np.all(np.abs(rewards.mean(axis=0) + 1) < 6 / 200)
    assert np.all(np.abs(rewards.std(axis=0) - 1) < 0.06)
    assert rewards.max() <= 0.0


def test_queries_selected_as_often_as_their_negations_name_nothing() -> None:
    selected = selected_so_far(SIZES, TWO, np.array([0, 2]), EVERYTHING)
    assert len(selected.clauses) == 1
    assert selected.codes.tolist() == [0]
    assert selected.starts.tolist() == [0, 0, 1, 1]


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ProgramError, match="together"):
        selected_so_far(SIZES, TWO, np.array([1]), EVERYTHING)
    with pytest.raises(ProgramError, match="at least"):
        selected_so_far(SIZES, TWO, np.array([1, 1]), EVERYTHING & (np.arange(9) > 4))
    selected = selected_so_far(SIZES, TWO, np.array([1, 1]), EVERYTHING)
    with pytest.raises(ProgramError, match="uniforms"):
        perturbations(selected, np.zeros((1, 2)), 1.0)


def test_the_worked_example_of_the_page() -> None:
    both = clauses_of(((0, 1, True), (1, 0, True)))
    sizes = np.array([3, 2], dtype=np.int32)
    selected = selected_so_far(sizes, both, np.array([2]), np.ones(5, dtype=np.bool_))
    shaken = Perturbations(np.array([[-1536, -256]]), np.array([[-512, -128]]), np.array([[2, 1]], dtype=np.int32))
    problem = perturbed_problem(selected, shaken, 0)
    assert problem.weights.tolist() == [2048, -1024, -128]
    record = np.array([1, 0], dtype=np.int32)
    assert problem.objective(record) == int(0.875 * UNITS)
    assert (problem.objective(record) + constant(shaken, 0)) / UNITS == 0.25
    assert all(problem.objective(np.array(x, dtype=np.int32)) <= 896 for x in product(range(3), range(2)))
