"""Graphical sequences (GS-1 to GS-8): the general programs against all sequences, and against the fast method."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from dpopt.errors import ProgramError
from dpopt.inference.histograms.sorted.degree_sequences import (
    cut_violations,
    is_graphical,
    nearest_graphical,
    parity_changes,
    relax,
)
from dpopt.inference.histograms.sorted.isotonic import isotonic_integers
from dpopt.models.histograms.graphical_sequence import degrees_of, graphical_program, graphical_relaxation
from dpopt.programs import SolveLimits
from dpopt.programs.solver import Program
from dpopt.solvers.registry import get_solver


def solution(name: str, program: Program) -> np.ndarray:
    """Return what a general solver finds."""
    solver = get_solver(name)
    if not solver.availability().available:
        pytest.skip(f"{name} is not available")
    return np.asarray(solver.solve(program, SolveLimits(seconds=60)).require_solution(), dtype=np.float64)


@cache
def falling_sequences(size: int) -> np.ndarray:
    """Return all falling sequences of whole numbers from 0 to size - 1, (s, n)."""
    return np.array(list(itertools.combinations_with_replacement(range(size - 1, -1, -1), size)))


@cache
def graphical_sequences(size: int) -> np.ndarray:
    """Return those of even sum within GS-3 and GS-4 with m_ir = min(d_i, r), from the definition."""
    kept = []
    for one in falling_sequences(size).tolist():
        inside = all(
            sum(one[:r]) <= r * (r - 1) + sum(min(d, r) for d in one[r:]) for r in range(1, size + 1)
        )
        if inside and sum(one) % 2 == 0:
            kept.append(one)
    return np.array(kept)


def noisy_degrees(generator: np.random.Generator, size: int) -> np.ndarray:
    """Return values that are often far from any graph's degrees."""
    return np.sort(np.rint(generator.normal(size / 2, 4, size)))[::-1] + generator.integers(-2, 3, size)


@pytest.mark.parametrize("seed", range(6))
def test_the_relaxation_is_what_cuts_reach(seed: int) -> None:
    """GS-1 to GS-4 as a quadratic program, and GS-6 cut by cut, have the same solution."""
    values = noisy_degrees(np.random.default_rng(seed), 8).astype(np.float64)
    program = graphical_relaxation(values)
    found = solution("clarabel", program)
    assert program.violation(found) < 1e-5
    relaxed = relax(values)
    np.testing.assert_allclose(relaxed.point, found[:8], atol=2e-3)
    assert 0.5 * ((relaxed.point - values) ** 2).sum() == pytest.approx(program.evaluate(found), abs=1e-2)


@pytest.mark.parametrize("size", [1, 2, 4, 6])
def test_cuts_say_what_erdos_and_gallai_say(size: int) -> None:
    """GS-6 against the definition, on all sequences."""
    by_cuts = [
        one
        for one in falling_sequences(size).tolist()
        if sum(one) % 2 == 0 and cut_violations(np.array(one, dtype=np.float64))[0].max() <= 0
    ]
    np.testing.assert_array_equal(by_cuts, graphical_sequences(size))


@pytest.mark.parametrize("seed", range(6))
def test_the_exact_program_finds_the_nearest_of_all_sequences(seed: int) -> None:
    """GS-5, and the bound GS-7 of the fast method."""
    size = 5 + seed % 2
    values = noisy_degrees(np.random.default_rng(seed), size).astype(np.float64)
    best = float(((graphical_sequences(size) - values) ** 2).sum(axis=1).min())
    program = graphical_program(values)
    point = solution("highs", program)
    exact = degrees_of(point, size)
    assert is_graphical(exact)
    assert float(((exact - values) ** 2).sum()) == pytest.approx(best)
    assert 2 * program.evaluate(point) + values @ values == pytest.approx(best)
    fast = nearest_graphical(values[::-1])
    assert fast.lower_bound <= best + 1e-6
    assert fast.squared_distance >= best - 1e-9


@pytest.mark.parametrize("seed", range(40))
def test_one_stretch_changes_the_parity_in_the_cheapest_way(seed: int) -> None:
    """GS-8, against all sequences of the other parity."""
    generator = np.random.default_rng(seed)
    values = generator.integers(-4, 20, 6) / 4
    best = isotonic_integers(values[::-1], lower=0, upper=5)[::-1]
    others = falling_sequences(6)
    others = others[others.sum(axis=1) % 2 != best.sum() % 2]
    least = float(((others - values) ** 2).sum(axis=1).min())
    costs, firsts, ends, signs = parity_changes(best.astype(np.float64), values)
    change = int(np.argmin(costs))
    moved = best.copy()
    moved[firsts[change] : ends[change]] += signs[change]
    assert (np.diff(moved) <= 0).all()
    assert float(((moved - values) ** 2).sum()) == pytest.approx(least)
    assert float(((best - values) ** 2).sum()) + costs[change] == pytest.approx(least)


def test_the_worked_example_of_the_page() -> None:
    values = np.array([4.0, 4.0, 1.0, 1.0, 0.0])
    found = solution("clarabel", graphical_relaxation(values))
    np.testing.assert_allclose(found[:5], [3.2, 3.2, 1.8, 1.8, 0.8], atol=1e-3)
    exact = degrees_of(solution("highs", graphical_program(values)), 5)
    fast = nearest_graphical(values[::-1])
    np.testing.assert_array_equal(fast.degrees, [1, 2, 2, 3, 4])
    assert float(((exact - values) ** 2).sum()) == pytest.approx(fast.squared_distance)
    assert fast.squared_distance == 4
    assert fast.lower_bound == pytest.approx(4)
    np.testing.assert_array_equal(fast.cuts, [[2, 2]])


def test_small_and_refused() -> None:
    assert graphical_program(np.zeros(1)).number_of_variables == 1
    for values in (np.zeros(0), np.zeros((2, 2))):
        with pytest.raises(ProgramError, match="one row"):
            graphical_relaxation(values)
        with pytest.raises(ProgramError, match="one row"):
            graphical_program(values)
