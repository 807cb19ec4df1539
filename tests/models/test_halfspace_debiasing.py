"""The least worst bias as a linear program (HD-1 to HD-4): known optima, closed form, textbook, and the fast method."""

from __future__ import annotations

import csv
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models.halfspace_debiasing import halfspace_debiasing, least_worst_combination
from dpopt.solvers.registry import get_solver
from tests.models.catalogue import MODELS

PAGE = MODELS / "halfspace_debiasing"
with (PAGE / "known_optima.csv").open(encoding="utf-8") as stream:
    KNOWN = list(csv.DictReader(stream))


def numbers(text: str) -> list[float]:
    return [float(Fraction(one)) for one in text.split()]


def problem(row: dict[str, str]) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    responses = np.array([numbers(one) for one in row["responses"].split(";")])
    return responses, np.array(numbers(row["noise"])), float(Fraction(row["objective"]))


def optimum(responses: NDArray[np.float64], noise: NDArray[np.float64]) -> float:
    program = halfspace_debiasing(responses, noise).linear
    point = np.asarray(get_solver("highs").solve(program).require_solution(), dtype=np.float64)
    return program.evaluate(point)


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: f"{row['responses']}, {row['noise']}")
def test_the_program_has_its_known_optimum(row: dict[str, str]) -> None:
    """HD-1 to HD-3 by HiGHS; HD-4 for one estimate."""
    responses, noise, expected = problem(row)
    assert optimum(responses, noise) == pytest.approx(expected, abs=1e-7)
    if noise.size == 1:
        low, high = float(responses.min()), float(responses.max())
        slope = 2.0 / (low + high) if low > 0.0 and noise[0] < low else 0.0
        error = float(np.abs(slope * responses - 1.0).max())
        assert error + slope * noise[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_fast_method_comes_near_to_the_optimum(seed: int) -> None:
    """HD-2 without noise: within 5 % of HiGHS, and never worse than doing nothing."""
    generator = np.random.default_rng(seed)
    margins = np.repeat(np.linspace(0.5, 1.0, 8), 40)
    responses = np.stack([np.clip(margins / ramp, 0, 1) for ramp in (0.6, 0.9, 1.5)], axis=1)
    responses += 0.05 * generator.normal(size=responses.shape)
    found = least_worst_combination(responses)
    worst = float(np.abs(responses @ found - 1.0).max())
    assert optimum(responses, np.zeros(3)) - 1e-7 <= worst <= 1.05 * optimum(responses, np.zeros(3))


def test_estimates_that_know_nothing_get_no_weight() -> None:
    assert least_worst_combination(np.array([[1.0], [-1.0]])) == pytest.approx(0.0, abs=1e-6)
    assert np.array_equal(least_worst_combination(np.zeros((3, 2))), np.zeros(2))
    assert least_worst_combination(np.array([[0.5], [0.5]])) == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize(
    ("responses", "noise"),
    [
        (np.zeros((0, 1)), np.zeros(1)),
        (np.zeros(3), np.zeros(3)),
        (np.ones((2, 2)), np.zeros(1)),
        (np.full((1, 1), np.nan), np.zeros(1)),
        (np.ones((1, 1)), np.array([-1.0])),
    ],
)
def test_numbers_that_make_no_program_are_refused(responses: NDArray[np.float64], noise: NDArray[np.float64]) -> None:
    with pytest.raises(ProgramError):
        halfspace_debiasing(responses, noise)
