"""The cost of a draw from a matrix of whole weights: one row for each value of a statistic, all with the same sum.

Given value i, output r has probability w_ir / W. Values i and i + 1 are neighbours: the statistic moves by at most one.
Every figure is computed in whole numbers from the weights that are sampled.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError

MECHANISM = "draw from a matrix of probabilities"
THEOREM = "definition of differential privacy, in whole numbers"
LABEL = "optimal draw"
_DIGITS = Context(prec=60, traps=[])
LARGEST_EPSILON = 40.0
"""Ratios beyond are larger than the sum of a row of weights."""


def ratio_below(epsilon: float) -> float:
    """Return a float that is at most e^epsilon and nearly it; `epsilon` from 1e-3 to 40.

    The decimal exponential has 60 correct digits, and the float below the nearest one is below its value.
    """
    if not 1e-3 <= epsilon <= LARGEST_EPSILON:
        raise AccountingError(f"epsilon of a matrix: found {epsilon!r}, expected a number from 0.001 to 40")
    return math.nextafter(float(Decimal(epsilon).exp(_DIGITS)), 0.0)


def largest_ratio(weights: NDArray[np.int64]) -> Fraction | None:
    """Return the largest w_ir / w_jr over neighbours i, j and outputs r; None where it is infinite."""
    one, two = _neighbours(weights)
    if np.any((two == 0) & (one > 0)):
        return None
    # Largest floats of the ratios, compared exactly among those that are equal up to rounding.
    ratios = np.where(one > 0, one / np.maximum(two, 1), 0.0)
    near = np.flatnonzero(ratios >= ratios.max() * (1.0 - 1e-12))
    return max(Fraction(int(one.flat[at]), max(int(two.flat[at]), 1)) for at in near.tolist())


def largest_excess(weights: NDArray[np.int64], ratio: float) -> Fraction:
    """Return the largest sum_r max(0, w_ir - ratio w_jr) / W over neighbours i, j: delta at the logarithm of `ratio`."""
    exact = Fraction(ratio)
    one, two = (part.astype(np.object_) for part in _neighbours(weights))
    over = np.maximum(one * exact.denominator - two * exact.numerator, 0).sum(axis=1)
    return Fraction(int(over.max(initial=0)), exact.denominator * int(weights[0].sum()))


def matrix_charges(weights: NDArray[np.int64], epsilon: float, relation: NeighbouringRelation) -> tuple[Charge, ...]:
    """Return the charges of one draw: epsilon, and delta unless all ratios of probabilities are at most e^epsilon.

    Neighbouring relation: both; a clamped count of records moves by at most one under either. Sensitivity: one row.
    Theorem: the definition, in whole numbers; where all ratios are below, their largest is charged in place of
    `epsilon`. Privacy: B13, E10 in docs/privacy. Test: `tests/accounting/test_matrices.py`.

    `weights` (N, R), public, are at least two rows of numbers from 0, of one sum below 2^63.
    """
    check_matrix(weights)
    ratio, bound = largest_ratio(weights), ratio_below(epsilon)
    delta = Fraction()
    if ratio is not None and ratio <= Fraction(bound):
        logarithm = _DIGITS.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)).ln(_DIGITS)
        epsilon = min(epsilon, math.nextafter(float(logarithm), math.inf)) if ratio > 1 else 0.0
    else:
        delta = largest_excess(weights, bound)
    parts = [(ChargeKind.PURE, epsilon)]
    if delta:
        parts.append((ChargeKind.DELTA, min(1.0, math.nextafter(float(delta), math.inf))))
    return tuple(Charge(MECHANISM, kind, amount, 1, relation, THEOREM, LABEL) for kind, amount in parts)


def check_matrix(weights: NDArray[np.int64]) -> None:
    """Refuse a matrix that has negative or fractional weights, or rows of different sums."""
    fine = weights.ndim == 2 and weights.dtype == np.int64 and weights.shape[0] > 1 and weights.shape[1] > 0
    sums = {sum(row) for row in weights.tolist()} if fine else set()
    if len(sums) != 1 or not 0 < max(sums) < 2**63 or weights.min() < 0:
        raise AccountingError("a matrix of a draw: expected two or more rows of whole weights from 0, all of one sum")


def _neighbours(weights: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of each ordered pair of neighbours, (2 N - 2, R) each."""
    return np.concatenate([weights[1:], weights[:-1]]), np.concatenate([weights[:-1], weights[1:]])
