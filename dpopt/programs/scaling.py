"""A quadratic program in other units: the same problem, with columns and rows of entries near 1.

With x = d x' and row i multiplied by r_i, the program in x' has the same values. Solvers stop at tolerances that mean something
only there: SCS called a point of a tree with variances from .01 to 10,000 optimal that broke rows by 1e-7 and was
2e-6 of the value too good. d and r are powers of 2, so that nothing is rounded.

Source: Ruiz 2001 (columns and rows are divided by the roots of their largest entries, in turn).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.quadratic import QuadraticProgram

_ROUNDS = 10
_FARTHEST = 40.0  # powers of 2


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """A program in other units.

    Attributes
    ----------
    program : QuadraticProgram
    columns : (n,) float64
        d: a point x' of it is d x' of the given program.
    rows : (r,) float64
        r: duals u' of it are r u' of the given program.
    """

    program: QuadraticProgram
    columns: NDArray[np.float64]
    rows: NDArray[np.float64]

    @classmethod
    def of(cls, program: QuadraticProgram) -> Scaled:
        """Return a program in units in which entries of rows, and curvatures of columns, are near 1."""
        linear = program.linear
        row, column, entries = linear.row_of_entry(), linear.columns, np.abs(linear.coefficients)
        pulls = program.weights[program.square_of_entry()] * program.square_coefficients**2
        curvature = np.bincount(program.square_columns, weights=pulls, minlength=program.number_of_variables)
        d, r = np.ones(program.number_of_variables), np.ones(linear.number_of_rows)
        for _ in range(_ROUNDS):
            present = entries * r[row] * d[column]
            largest, widest = curvature * d * d, np.zeros(r.size)
            np.maximum.at(largest, column, present)
            np.maximum.at(widest, row, present)
            d /= np.sqrt(np.where(largest > 0, largest, 1.0))
            r /= np.sqrt(np.where(widest > 0, widest, 1.0))
        d, r = (2.0 ** np.round(np.clip(np.log2(one), -_FARTHEST, _FARTHEST)) for one in (d, r))
        changed = replace(
            linear,
            objective=linear.objective * d,
            coefficients=linear.coefficients * r[row] * d[column],
            row_lower=linear.row_lower * r,
            row_upper=linear.row_upper * r,
            lower=linear.lower / d,
            upper=linear.upper / d,
        )
        squares = program.square_coefficients * d[program.square_columns]
        return cls(replace(program, linear=changed, square_coefficients=squares), d, r)
