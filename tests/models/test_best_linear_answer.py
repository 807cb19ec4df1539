"""BL-1 to BL-4: solvers find the closed form, whose variance is that of answers, and refuse what is not determined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpopt.answers.estimates import Sums, covariances
from dpopt.errors import ProgramError
from dpopt.inference.measured_residuals import residuals_of_counts
from dpopt.models.best_linear_answer import best_linear_answer
from dpopt.models.noise_budgets.budget_program import workload_of

SIZES, MARGINALS, VARIANCES = [2, 3, 2], [[0, 1], [1, 2], [2], [0, 1]], [1.0, 3.0, 0.5, 2.0]


def numbers(seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return what records count: a sum of functions of the pairs that were counted."""
    draw = np.random.default_rng(seed)
    return (draw.integers(0, 5, (2, 3, 1)) + draw.integers(0, 5, (1, 3, 2))).astype(np.float64).ravel()


@pytest.mark.solver("osqp")
@pytest.mark.solver("clarabel")
@pytest.mark.parametrize("solver", ["osqp", "clarabel"])
@pytest.mark.parametrize("seed", range(3))
def test_solvers_find_the_closed_form(seed: int, solver: str) -> None:
    """BL-1 and BL-2 have one optimum: BL-3, whose multipliers prove it."""
    model = best_linear_answer(SIZES, MARGINALS, VARIANCES, numbers(seed))
    own, other = model.solve(), model.solve(solver)
    assert own.objective is not None
    assert other.objective == pytest.approx(own.objective, rel=1e-5)
    assert other.value["l"] == pytest.approx(own.value["l"], abs=1e-4)
    assert own.certificate is not None
    assert own.certificate.proven_gap is not None
    assert own.certificate.proven_gap < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_the_least_variance_is_that_of_answers(seed: int) -> None:
    """BL-4: also by residuals, as questions are answered."""
    workload = workload_of(SIZES, MARGINALS, name="test")
    counted = [
        (workload.take(np.array([place])), np.zeros(int(workload.cells()[place]), dtype=np.int64), variance)
        for place, variance in enumerate(VARIANCES)
    ]
    found = residuals_of_counts(counted, 10.0, gaussian=True, adaptive=False)
    assert found is not None
    pair = np.random.default_rng(seed).integers(0, 5, (2, 3)).astype(np.float64)
    sums = Sums((), (0, 1), pair[None])
    model = best_linear_answer(SIZES, MARGINALS, VARIANCES, np.repeat(pair.ravel(), 2))
    assert model.solve().objective == pytest.approx(covariances(found, sums, sums)[0, 0])


def test_an_answer_that_nothing_determines_is_refused() -> None:
    product = np.outer([0.0, 1.0], [0.0, 1.0]).ravel()
    with pytest.raises(ProgramError, match="does not determine"):
        best_linear_answer([2, 2], [[0], [1]], [1, 1], product).solve()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([2], [[0]], [1], [1]), "one finite number for each"),
        (([2], [[0]], [0], [1, 1]), "variance above 0"),
        (([2], [[1]], [1], [1, 1]), "best_linear_answer"),
        (([400, 400], [[0]], [1], [1]), "at most 100,000"),
    ],
)
def test_wrong_numbers_are_refused(arguments: Any, said: str) -> None:
    with pytest.raises(ProgramError, match=said):
        best_linear_answer(*arguments)
