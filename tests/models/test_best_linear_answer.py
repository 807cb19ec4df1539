"""BL-1 to BL-4: solvers find the weights and the variance with which questions are answered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpopt.answers.estimates import Sums, covariances
from dpopt.errors import ProgramError
from dpopt.inference.measured_residuals import MeasuredResiduals, residuals_of_counts
from dpopt.models.best_linear_answer import best_linear_answer
from dpopt.models.noise_budgets.budget_program import workload_of
from dpopt.programs.results import Termination
from dpopt.queries.marginal_set import MarginalSet

SIZES, MARGINALS, VARIANCES = [2, 3, 2], [[0, 1], [1, 2], [2], [0, 1]], [1.0, 3.0, 0.5, 2.0]


def numbers(seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return what records count: a sum of functions of the pairs that were counted."""
    draw = np.random.default_rng(seed)
    return (draw.integers(0, 5, (2, 3, 1)) + draw.integers(0, 5, (1, 3, 2))).astype(np.float64).ravel()


@pytest.mark.solver("osqp")
@pytest.mark.solver("clarabel")
@pytest.mark.parametrize("solver", ["osqp", "clarabel"])
@pytest.mark.parametrize("seed", range(3))
def test_solvers_find_the_weights_and_the_variance_of_answers(seed: int, solver: str) -> None:
    """BL-3 and BL-4: answers are linear in the counts, with the weights of the optimum of BL-1 and BL-2."""
    workload = workload_of(SIZES, MARGINALS, name="test")
    pair = np.random.default_rng(seed).integers(0, 5, (2, 3)).astype(np.float64)
    sums = Sums((), (0, 1), pair[None])
    found = best_linear_answer(SIZES, MARGINALS, VARIANCES, np.repeat(pair.ravel(), 2)).solve(solver)
    answers = [counted(workload, row) for row in np.eye(workload.number_of_cells, dtype=np.int64)]
    assert found.value["l"] == pytest.approx(np.concatenate([sums.estimates(one) for one in answers]), abs=1e-4)
    assert found.objective == pytest.approx(covariances(answers[0], sums, sums)[0, 0], rel=1e-5)


def counted(workload: MarginalSet, counts: np.ndarray[Any, np.dtype[np.int64]]) -> MeasuredResiduals:
    """Return what counts of all marginals say together."""
    parts = np.split(counts, workload.starts[1:-1])
    each = [(workload.take(np.array([place])), part, VARIANCES[place]) for place, part in enumerate(parts)]
    found = residuals_of_counts(each, 10.0, gaussian=True, adaptive=False)
    assert found is not None
    return found


@pytest.mark.solver("clarabel")
def test_an_answer_that_nothing_determines_is_infeasible() -> None:
    product = np.outer([0.0, 1.0], [0.0, 1.0]).ravel()
    found = best_linear_answer([2, 2], [[0], [1]], [1, 1], product).solve()
    assert found.termination is Termination.INFEASIBLE


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
