"""Coefficients for decision lists: from a solver's suggestion to whole numbers whose worst error is computed exactly.

The problem is that of `dpopt.models.polynomials.decision_lists`. Whatever a solver says, the coefficients are rounded
to whole multiples of 2^-g, and what is stated of them is exact for the rounded ones.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PolynomialError
from dpopt.models.model import Solution
from dpopt.models.polynomials.decision_lists import decision_lists
from dpopt.polynomials.solver_answers import DEFAULT, linear_solver, suggested_point
from dpopt.programs.solver import Solver
from dpopt.queries.decision_lists.coefficients import ListCoefficients
from dpopt.queries.decision_lists.families import ListFamily

BITS = 20
_LARGEST = 2.0
"""Larger coefficients get a coarser unit."""


def approximation_error(coefficients: ListCoefficients) -> Fraction:
    """Return by how much the sum over conjunctions is off at most, for any row of the family at any point.

    The longest way of DL-2, exact and attained: state by state, in whole numbers.
    """
    family, t = coefficients.family, coefficients.largest_size
    values, unit = coefficients.values.tolist(), 2**coefficients.bits
    # later[s][sign][r]: the largest error that can still come; of places i + 1 to k.
    later = [[[0] * (family.changes + 1) for _ in range(2)] for _ in range(family.length + 1)]
    for i in range(family.length, 0, -1):
        errors = [
            sum(
                values[i][a][b] * comb(s, a) * comb(i - s, b)
                for a in range(min(s, t) + 1)
                for b in range(min(i - s, t - a) + 1)
            )
            - (unit if s == 0 else 0)
            for s in range(i + 1)
        ]
        later = [
            [
                [
                    max(
                        way
                        for true in (s, s + 1)
                        for way in (
                            later[true][sign][left],
                            *((errors[true] * (-1) ** sign + later[true][1 - sign][left - 1],) if left else ()),
                        )
                    )
                    for left in range(family.changes + 1)
                ]
                for sign in range(2)
            ]
            for s in range(i)
        ]
    return Fraction(max(later[0][sign][family.changes] for sign in range(2)), unit)


def certified_coefficients(
    family: ListFamily,
    weights: NDArray[np.float64],
    *,
    gaussian: bool,
    replaced: bool,
    solver: str | Solver = DEFAULT,
    negations: bool = True,
) -> tuple[ListCoefficients, Callable[[], Solution]]:
    """Return rounded coefficients with about the least E + sum_j w_j S_j (DL-1), and a bound on the distance to it.

    `weights` (t + 1,) are w_j >= 0, inf for sizes that are not counted; the rest as for `decision_lists`. A solver of
    linear programs that is no name was looked at by `linear_solver` before.
    """
    chosen = linear_solver(solver) if isinstance(solver, str) else solver
    stated = decision_lists(
        family.length, family.changes, weights, gaussian=gaussian, replaced=replaced, negations=negations
    )
    point, result = suggested_point(chosen, stated.model.program)
    if point is None:
        raise PolynomialError(
            f"the solver {chosen.name!r} gave no coefficients for the lists: {result.termination.value} "
            f"({result.native_status:.200}); use another one"
        )
    return rounded(family, stated.coefficients(point)), lambda: stated.model.judged(result)


def rounded(family: ListFamily, values: NDArray[np.float64]) -> ListCoefficients:
    """Return coefficients in the finest unit in which their sums stay whole numbers of 64 bits."""
    largest = float(np.abs(values).max())
    bits = BITS
    while bits > 0 and largest * 2.0**bits > _LARGEST * 2.0**BITS / family.length:
        bits -= 1
    return ListCoefficients(family, np.rint(values * 2.0**bits).astype(np.int64), bits)
