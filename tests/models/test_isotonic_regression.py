"""Isotonic regression (IR-1 to IR-8): the general programs against the fast ones, the min-max formula, and by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpopt.errors import ProgramError
from dpopt.inference.histograms.sorted.isotonic import isotonic, isotonic_median
from dpopt.models.histograms.isotonic_regression import isotonic_median_program, isotonic_program
from dpopt.programs import SolveLimits
from dpopt.programs.solver import Program
from dpopt.solvers.registry import get_solver

CASES = [
    (bounds, total) for bounds, total in itertools.product(((-np.inf, np.inf), (0.0, 9.0)), (None, 20.0))
]


def solution(name: str, program: Program) -> np.ndarray:
    """Return what a general solver finds."""
    solver = get_solver(name)
    if not solver.availability().available:
        pytest.skip(f"{name} is not available")
    return np.asarray(solver.solve(program, SolveLimits(seconds=60)).require_solution(), dtype=np.float64)


@pytest.mark.parametrize(("bounds", "total"), CASES)
@pytest.mark.parametrize("seed", range(2))
def test_the_quadratic_program_has_the_solution_of_the_fast_one(
    bounds: tuple[float, float], total: float | None, seed: int
) -> None:
    """IR-1 with IR-3 to IR-5."""
    generator = np.random.default_rng(seed)
    values, weights = generator.normal(3, 6, 9), generator.uniform(0.5, 3, 9)
    program = isotonic_program(values, weights, lower=bounds[0], upper=bounds[1], total=total)
    fast = isotonic(values, weights=weights, lower=bounds[0], upper=bounds[1], total=total)
    assert program.violation(fast) <= 1e-9
    found = solution("clarabel", program)
    assert program.evaluate(fast) <= program.evaluate(found) + 1e-5
    np.testing.assert_allclose(fast, found, atol=1e-3)


@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (0.0, 9.0)])
@pytest.mark.parametrize("seed", range(2))
def test_the_linear_program_has_the_optimum_of_the_fast_one(bounds: tuple[float, float], seed: int) -> None:
    """IR-2 with IR-3 and IR-4."""
    generator = np.random.default_rng(seed)
    values = generator.integers(-8, 15, 12).astype(float)
    weights = generator.integers(1, 4, 12).astype(float)
    program = isotonic_median_program(values, weights, lower=bounds[0], upper=bounds[1])
    fast = isotonic_median(values, weights=weights, lower=bounds[0], upper=bounds[1])
    point = np.concatenate([fast, np.abs(fast - values)])
    assert program.violation(point) <= 1e-9
    assert program.evaluate(point) == pytest.approx(program.evaluate(solution("highs", program)), abs=1e-6)


def test_a_total_is_a_row_of_the_linear_program() -> None:
    """IR-5 with IR-2: the median of three is 2 with cost 2; a total of 9 costs 3."""
    program = isotonic_median_program(np.array([1.0, 2.0, 3.0]), np.ones(3), total=9.0)
    assert program.evaluate(solution("highs", program)) == pytest.approx(3)


@pytest.mark.parametrize("seed", range(20))
def test_the_fast_solution_is_the_min_max_formula(seed: int) -> None:
    """IR-6, both forms."""
    generator = np.random.default_rng(seed)
    size = int(generator.integers(1, 12))
    values = generator.integers(-5, 6, size).astype(float)
    weights = generator.integers(1, 4, size).astype(float)
    means = np.array(
        [
            [
                np.average(values[i : j + 1], weights=weights[i : j + 1]) if i <= j else np.nan
                for j in range(size)
            ]
            for i in range(size)
        ]
    )
    low = [min(means[: j + 1, j].max() for j in range(k, size)) for k in range(size)]
    high = [max(means[i, i:].min() for i in range(k + 1)) for k in range(size)]
    np.testing.assert_allclose(low, high, atol=1e-12)
    np.testing.assert_allclose(isotonic(values, weights=weights), low, atol=1e-12)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([9, 10, 14], [9, 10, 14]), ([9, 14, 10], [9, 12, 12]), ([14, 9, 10, 15], [11, 11, 11, 15])],
)
def test_example_four_of_the_paper(values: list[float], expected: list[float]) -> None:
    noisy = np.array(values, dtype=np.float64)
    np.testing.assert_allclose(isotonic(noisy), expected)
    assert isotonic_program(noisy, np.ones(len(values))).violation(np.array(expected, dtype=float)) == 0


def test_the_programs_refuse_what_does_not_fit() -> None:
    for values, weights in (([], []), ([1.0], [1.0, 2.0]), ([1.0, 2.0], [1.0, 0.0])):
        with pytest.raises(ProgramError, match="weights"):
            isotonic_program(np.array(values), np.array(weights))
    with pytest.raises(ProgramError):
        isotonic_program(np.ones(2), np.ones(2), lower=2.0, upper=1.0)
