"""The master problem: the best weights of given records.

Problem (models/projection, PJ-1 to PJ-3, over the records in hand): minimize 1/2 w'Kw - b'w subject to sum w = 1, w >= 0, where
K = sum_g weight_g A_g'A_g and b = sum_g weight_g A_g'values_g; A_g has one column for each record.

Method. Pairwise steps shift weight from the worst record that has any to the best one, each step exactly; they find which
records matter. Then Newton steps on those alone: the equality-constrained problem is solved, and the way to its solution
is gone as far as no weight turns negative; weights that reach 0 leave, records that could lower f enter. A small proximal
term keeps the systems regular where columns depend on one another; it vanishes at the solution, which is the exact one.

For more records than `MATRIX_UP_TO` no matrix of products is kept: sweeps of pairwise steps on the answers themselves.

Source: Lacoste-Julien and Jaggi (2015), "On the global linear convergence of Frank-Wolfe optimization variants" (pairwise
steps); Lawson and Hanson (1974), "Solving least squares problems", chapter 23 (the active set).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.records.columns.columns import Answers, Columns

MATRIX_UP_TO = 3000
"""Records for which the matrix of products is kept: 72 MB."""

LEAST_WEIGHT = 1e-9
SWEEPS = 20  # of pairwise steps, for more records
NEWTON_STEPS = 200
PROXIMAL = 1e-10  # of the mean diagonal entry
SOLVED = 1e-12  # violation of optimality relative to the scale of the slopes


class Matrix:
    """The products K of columns, kept as columns come and go."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._gram = np.zeros((64, 64))
        self._number = 0

    def of(self, columns: Columns) -> NDArray[np.float64]:
        """Return K (r, r) of columns, of which those known already come first."""
        from dpopt.inference.records.columns.column_kernels import products

        if len(columns) > len(self._gram):
            grown = np.zeros((max(len(columns), 2 * len(self._gram)),) * 2)
            grown[: self._number, : self._number] = self._gram[: self._number, : self._number]
            self._gram = grown
        answers = self._answers
        products(
            columns.cells,
            columns.bits,
            answers.marginal_weights,
            answers.word_weights,
            self._number,
            self._gram,
        )
        self._number = len(columns)
        return self._gram[: self._number, : self._number]

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Keep these columns alone, in this order."""
        self._gram[: rows.size, : rows.size] = self._gram[np.ix_(rows, rows)]
        self._number = rows.size


def best_weights(
    gram: NDArray[np.float64], pull: NDArray[np.float64], start: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weights that minimize 1/2 w'Kw - b'w on the simplex.

    Parameters
    ----------
    gram : (r, r) float64
        K, positive semidefinite.
    pull : (r,) float64
        b.
    start : (r,) float64
        Weights to start from, on the simplex.
    """
    from dpopt.inference.records.columns.column_kernels import pairwise_steps

    weights = start.copy()
    gradient = gram @ weights - pull
    scale = max(float(np.abs(gradient).max()), float(np.diag(gram).max()) * 1e-6)
    pairwise_steps(np.ascontiguousarray(gram), gradient, weights, 20 * weights.size, 1e-6 * scale)
    active = weights > LEAST_WEIGHT
    weights[~active] = 0.0
    weights /= weights.sum()
    entered = np.zeros(0, dtype=np.int64)
    for _ in range(NEWTON_STEPS):
        weights, active, whole = _newton(gram, pull, weights, active)
        if not whole:
            entered = entered[:0]
            continue
        gradient = gram @ weights - pull
        level = float(gradient @ weights)
        lower = np.flatnonzero(~active & (gradient < level - SOLVED * scale))
        if not lower.size:
            break
        most = 1 if entered.size else max(1, int(active.sum()) // 10)
        entered = lower[np.argsort(gradient[lower], kind="stable")[:most]]
        active[entered] = True
    weights[weights < LEAST_WEIGHT] = 0.0
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _newton(
    gram: NDArray[np.float64],
    pull: NDArray[np.float64],
    weights: NDArray[np.float64],
    active: NDArray[np.bool_],
) -> tuple[NDArray[np.float64], NDArray[np.bool_], bool]:
    """Go towards the best weights of the active columns; return where it ended, and whether it went all the way."""
    chosen = np.flatnonzero(active)
    part = gram[np.ix_(chosen, chosen)]
    current = weights[chosen]
    step = _constrained_step(part, pull[chosen] - part @ current)
    # A column that has just entered and would be pushed below 0 at once leaves again, without a step.
    stuck = (current <= 0.0) & (step < 0.0)
    if stuck.any():
        left = active.copy()
        left[chosen[stuck]] = False
        return weights, left, False
    falling = step < 0.0
    ratios = np.where(falling, current / np.where(falling, -step, 1.0), np.inf)
    length = min(1.0, float(ratios.min(initial=np.inf)))
    result, still = weights.copy(), active.copy()
    moved = np.maximum(current + length * step, 0.0)
    if length < 1.0:
        gone = ratios <= length * (1 + 1e-12)
        moved[gone] = 0.0
        still[chosen[gone]] = False
    result[chosen] = moved / moved.sum()
    return result, still, length >= 1.0


def _constrained_step(part: NDArray[np.float64], fall: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the step that minimizes 1/2 step'K step - fall'step with sum 0, K made regular in place by the proximal term.

    With K = LL' it is K^-1 fall less the multiple of K^-1 1 that makes the sum 0.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    number = len(part)
    ridge = PROXIMAL * max(float(np.trace(part)) / number, 1e-300)
    for _ in range(8):
        part[np.arange(number), np.arange(number)] += ridge
        try:
            factor = cho_factor(part, lower=True, check_finite=False)
        except LinAlgError:  # rounding left K + ridge indefinite
            ridge *= 100.0
            continue
        both = cho_solve(factor, np.stack((fall, np.ones(number)), axis=1), check_finite=False)
        step: NDArray[np.float64] = both[:, 0] - both[:, 1] * (both[:, 0].sum() / both[:, 1].sum())
        return step
    raise ProgramError(
        "the products of the records' answers are not positive semidefinite; the counts may be too large"
    )


def improved_weights(
    answers: Answers, columns: Columns, weights: NDArray[np.float64], slopes: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return better weights by sweeps of pairwise steps, and the slopes there; for many records.

    Parameters
    ----------
    weights, slopes
        Where to start; not changed.
    """
    from dpopt.inference.records.columns.column_kernels import pairwise_sweep

    weights, slopes = weights.copy(), slopes.copy()
    for _ in range(SWEEPS):
        gradient = answers.along(columns, slopes)
        order = np.argsort(gradient, kind="stable")
        pairwise_sweep(
            columns.cells,
            columns.bits,
            answers.marginal_weights,
            answers.word_weights,
            order,
            slopes,
            weights,
        )
    weights /= weights.sum()
    return weights, answers.slopes(columns, weights)
