"""The weights of an empirical prior (SH-1 to SH-7): solvers, EM and its bound, and the posterior of a cell.

SH-8 and SH-9 are tested where they are used: tests/algorithms/test_residuals.py.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log

import numpy as np
import pytest

from dpopt.errors import ProgramError
from dpopt.inference import shrinkage as em
from dpopt.inference.shrinkage import ScaleMixture, fit_weights, shrink
from dpopt.models.shrinkage import log_likelihoods, shrinkage
from dpopt.programs.results import Termination

SCALES, EXPONENTS = np.array([0.0, 0.5, 4.0, 0.1]), np.array([0.0, 1.0, 1.0, 2.0])
FAR = (8 * log(4) / 3) ** 0.5


def noisy(seed: int, cells: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, variances of noise and predicted counts."""
    generator = np.random.default_rng(seed)
    predicted, noise = generator.exponential(8, cells), generator.uniform(1, 9, cells)
    truth = np.where(generator.random(cells) < 0.5, 0.0, np.sqrt(4 * predicted)) * generator.normal(size=cells)
    return truth + np.sqrt(noise) * generator.normal(size=cells), noise, predicted


@pytest.mark.parametrize("counts", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(2))
def test_a_solver_finds_what_em_does_and_the_gap_holds(
    seed: int, counts: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SH-1 to SH-3 by Clarabel; SH-5 never falls, and SH-6 bounds the optimum at every number of steps."""
    values, noise, predicted = noisy(seed)
    likelihoods = np.exp(log_likelihoods(values, noise, predicted, SCALES, EXPONENTS))
    model = shrinkage(values, noise, predicted, SCALES, EXPONENTS, counts=counts)
    found = model.solve()
    assert found.termination is Termination.OPTIMAL
    assert found.objective is not None
    for steps in (1, 4, 30, 3000):
        monkeypatch.setattr(em, "CLOSE", 1e-9)
        monkeypatch.setattr(em, "MOST_STEPS", steps)
        fitted = fit_weights(likelihoods, counts)
        last = -float(fitted.objectives[-1])
        assert found.objective <= last + 1e-6 <= found.objective + fitted.gap + 2e-6
        assert np.diff(fitted.objectives).min(initial=0.0) >= -1e-9
    assert last == pytest.approx(found.objective, abs=2e-3)


def test_likelihoods_are_those_of_normal_sums() -> None:
    """SH-4, the floor included."""
    logs = log_likelihoods([2.0], [3.0], [0.1], [0.0, 5.0], [0.0, 1.0], floor=2.0)
    expected = -0.5 * (log(13 / 3) + 4 / 13 - 4 / 3)
    np.testing.assert_allclose(logs, [[0.0, expected]])


def test_the_worked_example_of_the_page() -> None:
    """SH-7 for its second cell, too: half of its value."""
    values, flat = [0.0, FAR], np.zeros(2)
    found = shrinkage(values, 1.0, 1.0, [0.0, 3.0], flat).solve()
    assert found.objective == pytest.approx(-log(9 / 8), abs=1e-7)
    prior = ScaleMixture(np.array([0.0, 3.0]), flat, 1.0, np.zeros(2, np.int64), np.full(2, 1e9))  # weights of a half
    cells = shrink(values, 1.0, 1.0, prior)
    assert cells.means[1] == pytest.approx(FAR / 2)
    assert cells.variances[1] == pytest.approx(2 / 3 * (0.75 + (0.75 * FAR) ** 2) - (FAR / 2) ** 2)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: shrinkage([[1.0]], 1, 1, [0], [0]), "one row"),
        (lambda: shrinkage([1.0], [1, 2], 1, [0], [0]), "fit together"),
        (lambda: shrinkage([1.0], 0, 1, [0], [0]), "above 0"),
        (lambda: shrinkage([np.inf], 1, 1, [0], [0]), "finite"),
        (lambda: shrinkage([1.0], 1, 1, [0], [0], counts=[-1.0]), "counts"),
        (lambda: shrinkage([1.0], 1, 1, [0], [0], counts=[[1.0]]), "counts"),
        (lambda: shrinkage([90.0], 1, 1, [0, 9], [0, 0]), "too far"),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], object], says: str) -> None:
    with pytest.raises(ProgramError, match=says):
        call()
