"""The factors of the triangle of ones, CC-1 to CC-8: optimum, bound, root, and factors that do not need the future."""

from __future__ import annotations

import numpy as np
import pytest

from dpopt.errors import ProgramError
from dpopt.inference.histograms.prefix_factors import (
    UNIT,
    prefix_deviations,
    prefixes_of_rows,
    root_coefficients,
    whole_coefficients,
)
from dpopt.models.noise_budgets.continual_counting import continual_counting
from tests.models.textbook_problems import least_of_growing


@pytest.mark.solver("clarabel")
@pytest.mark.parametrize("steps", [1, 2, 3, 8])
def test_the_optimum_lies_between_the_bound_and_the_root(steps: int) -> None:
    """CC-5 <= CC-1 <= CC-6; and the triangular factor of X has the variances of V (CC-2 to CC-4)."""
    found = continual_counting(steps).solve("clarabel")
    root = float((root_coefficients(steps) ** 2).sum() ** 2)
    assert found.objective is not None
    assert least_of_growing(steps) <= found.objective + 1e-6 <= root + 2e-6
    x = np.zeros((steps, steps))
    x[np.tril_indices(steps)] = found.value["X"]
    x = x + np.tril(x, -1).T
    factor = np.linalg.cholesky(x[::-1, ::-1]).T[::-1, ::-1]  # from the last step on
    assert factor == pytest.approx(np.tril(factor))
    assert factor.T @ factor == pytest.approx(x, abs=1e-9)
    answers = np.tri(steps) @ np.linalg.inv(factor)
    assert answers == pytest.approx(np.tril(answers), abs=1e-9)
    assert (factor**2).sum(axis=0).max() <= 1 + 1e-6
    assert (answers**2).sum(axis=1).max() == pytest.approx(found.objective, rel=1e-4)


def test_the_root_times_itself_is_the_triangle_of_ones() -> None:
    """CC-6, and CC-7: whole numbers within a half."""
    f, c = root_coefficients(200), whole_coefficients(200)
    assert np.convolve(f, f)[:200] == pytest.approx(np.ones(200))
    assert np.abs(c - UNIT * f).max() <= 0.5
    assert c.min() > 0


def test_rows_without_noise_give_every_prefix() -> None:
    """CC-8, with the variances of the matrix that answers."""
    draw, c = np.random.default_rng(2), whole_coefficients(60)
    x = draw.integers(0, 1000, 60)
    rows = np.convolve(x, c)[:60]
    for last in (1, 7, 60):
        assert prefixes_of_rows(rows[:last], c) == pytest.approx(np.cumsum(x)[:last], rel=1e-9)
    triangle = np.array([[c[t - s] if s <= t else 0 for s in range(60)] for t in range(60)], dtype=np.float64)
    answers = np.tri(60) @ np.linalg.inv(triangle)
    assert prefix_deviations(c, 3.0) == pytest.approx(3.0 * np.sqrt((answers**2).sum(axis=1)), rel=1e-6)


@pytest.mark.parametrize("steps", [0, 129, 2.5])
def test_other_numbers_of_steps_are_refused(steps: int) -> None:
    with pytest.raises(ProgramError, match="expected 1 to 128"):
        continual_counting(steps)
