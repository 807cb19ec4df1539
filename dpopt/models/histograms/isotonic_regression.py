"""Nondecreasing sequences nearest to noisy ones as general programs: quadratic for squares, linear for absolute differences.

Problem (models/isotonic_regression): for noisy values y_1, ..., y_n with weights w_k > 0,

    minimize    1/2 sum_k w_k (s_k - y_k)^2                                     IR-1
    or          sum_k w_k t_k   with   t_k >= s_k - y_k, t_k >= y_k - s_k        IR-2
    subject to  s_k <= s_{k+1}               for k = 1, ..., n - 1              IR-3
                lower <= s_k <= upper        if bounds are known                IR-4
                sum_k s_k = total            if the total is known              IR-5

Reference programs, for solvers of any size that a test needs. `dpopt.inference.histograms.sorted.isotonic` solves the same in
n log n steps; what it rests on, with M_ij the weighted mean of y_i, ..., y_j:

    without IR-4 and IR-5, s_k = min_{j >= k} max_{i <= j} M_ij = max_{i <= k} min_{j >= i} M_ij       IR-6
    p_k = sum_{i <= k} (w_i (y_i - s_i) + shift) >= 0, p_n = 0, p_k (s_{k+1} - s_k) = 0                 IR-7
    the best whole numbers under IR-1 are floor(s_k + 1/2), cut at whole bounds                        IR-8

IR-7 are the optimality conditions of IR-1 with IR-3 and IR-5; shift is the multiplier of the total, 0 without one.

Source: Hay, Rastogi, Miklau and Suciu (2010), section 3.2 and Theorem 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, hstack, vstack

from dpopt.errors import ProgramError
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import QuadraticProgram


def isotonic_program(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    *,
    lower: float = -np.inf,
    upper: float = np.inf,
    total: float | None = None,
) -> QuadraticProgram:
    """Return the quadratic program whose variables are s (n,).

    Parameters
    ----------
    values, weights : (n,) float64
        y, finite, and w > 0.
    lower, upper
        Bounds of every entry.
    total
        What the entries add up to, if that is known.

    Raises
    ------
    ProgramError
        Shapes that do not fit, or whatever programs refuse.
    """
    size = _size(values, weights)
    rows, low, high = _rows(size, total)
    linear = _linear(np.zeros(size), rows, (low, high), (np.full(size, lower), np.full(size, upper)))  # IR-4
    return QuadraticProgram(  # IR-1
        linear,
        np.arange(size + 1, dtype=np.int64),
        np.arange(size, dtype=np.int32),
        np.ones(size),
        values,
        weights,
    )


def isotonic_median_program(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    *,
    lower: float = -np.inf,
    upper: float = np.inf,
    total: float | None = None,
) -> MixedIntegerProgram:
    """Return the linear program whose variables are s (n,), then t (n,); parameters as for `isotonic_program`."""
    size = _size(values, weights)
    chain, low, high = _rows(size, total)
    one = eye_array(size, format="csr")
    rows = vstack([hstack([chain, csr_array(chain.shape)]), hstack([one, one]), hstack([one, -one])])  # IR-2
    return _linear(
        np.concatenate([np.zeros(size), weights]),
        csr_array(rows),
        (
            np.concatenate([low, values, np.full(size, -np.inf)]),
            np.concatenate([high, np.full(size, np.inf), values]),
        ),
        (
            np.concatenate([np.full(size, lower), np.zeros(size)]),
            np.concatenate([np.full(size, upper), np.full(size, np.inf)]),
        ),
    )


def _size(values: NDArray[np.float64], weights: NDArray[np.float64]) -> int:
    if values.ndim != 1 or values.size == 0 or weights.shape != values.shape:
        raise ProgramError(
            f"values and weights are two rows of one length, at least 1; found shapes {values.shape} and "
            f"{weights.shape}"
        )
    if not (weights > 0).all():
        raise ProgramError("weights must be positive")
    return values.size


def _rows(
    size: int, total: float | None
) -> tuple[csr_array[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows IR-3 and IR-5 with their bounds."""
    first = np.arange(size - 1)
    columns = np.column_stack([first, first + 1]).ravel()
    coefficients, ends = np.tile([-1.0, 1.0], size - 1), 2 * np.arange(size)
    low, high = np.zeros(size - 1), np.full(size - 1, np.inf)
    if total is not None:
        columns, coefficients = np.append(columns, np.arange(size)), np.append(coefficients, np.ones(size))
        ends, low, high = np.append(ends, columns.size), np.append(low, total), np.append(high, total)
    return csr_array((coefficients, columns, ends), shape=(low.size, size)), low, high


def _linear(
    objective: NDArray[np.float64],
    rows: csr_array[np.float64],
    row_bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
    bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> MixedIntegerProgram:
    return MixedIntegerProgram(
        objective=objective,
        maximize=False,
        row_starts=rows.indptr.astype(np.int64),
        columns=rows.indices.astype(np.int32),
        coefficients=rows.data,
        row_lower=row_bounds[0],
        row_upper=row_bounds[1],
        lower=bounds[0],
        upper=bounds[1],
        integrality=np.zeros(objective.size, dtype=np.bool_),
    )
