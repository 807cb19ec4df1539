"""Convex quadratic programs as plain arrays, and the same in other units: with columns and rows of entries near 1.

With x = d x' and row i multiplied by r_i, the program in x' has the same values. Solvers stop at tolerances that mean
something only there: SCS called a point of a tree with variances from .01 to 10,000 optimal that broke rows by 1e-7 and
was 2e-6 of the value too good. d and r are powers of 2, so that nothing is rounded.

Source: Ruiz 2001 (columns and rows are divided by the roots of their largest entries, in turn).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import Rebuilt, freeze
from dpopt.constraints import constrain
from dpopt.errors import ProgramError
from dpopt.programs.mixed_integer import FiniteNumbers, MixedIntegerProgram, check_entries, with_arrays

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class OverRows(Rebuilt):
    """A minimization over the rows and bounds of a linear program."""

    __slots__ = ()
    if TYPE_CHECKING:

        @property
        def linear(self) -> MixedIntegerProgram:
            """Rows, bounds and the linear part of the objective."""

    @property
    def maximize(self) -> bool:
        """False: such programs minimize."""
        return False

    @property
    def number_of_variables(self) -> int:
        """Number of variables n."""
        return self.linear.number_of_variables

    @property
    def objective(self) -> NDArray[np.float64]:
        """Linear coefficients c, (n,)."""
        return self.linear.objective

    @property
    def lower(self) -> NDArray[np.float64]:
        """Lower bounds of the variables, (n,)."""
        return self.linear.lower

    @property
    def upper(self) -> NDArray[np.float64]:
        """Upper bounds of the variables, (n,)."""
        return self.linear.upper


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticProgram(OverRows):
    """Minimize sum_i weights[i] (f_i . x - targets[i])^2 / 2 + c . x over a polyhedron.

    The polyhedron, c and the direction come from `linear`, a `MixedIntegerProgram` that minimizes and has no integer
    variable. Squares with weights >= 0 are convex by construction, so no solver has to find that out; every weighted
    least-squares problem is written so.
    """

    linear: MixedIntegerProgram
    """c, rows and bounds."""
    square_starts: NDArray[np.int64]
    """Shape (q + 1,). Square i owns the entries square_starts[i] to square_starts[i + 1] - 1 of f."""
    square_columns: NDArray[np.int32]
    """Shape (e,). Variable of each entry."""
    square_coefficients: FiniteNumbers
    """Shape (e,). Coefficient of each entry, finite."""
    targets: FiniteNumbers
    """Shape (q,). The target of f_i . x, finite."""
    weights: FiniteNumbers
    """Shape (q,). Weight of each square, finite and >= 0."""

    def __post_init__(self) -> None:
        constrain(self, ProgramError)
        if self.linear.maximize or self.linear.integrality.any():
            raise ProgramError("the linear part of a quadratic program minimizes, without integer variables")
        squares, entries = self.targets.size, self.square_columns.size
        expected = {"square_starts": squares + 1, "square_coefficients": entries, "weights": squares}
        for name, size in expected.items():
            if getattr(self, name).shape != (size,):
                raise ProgramError(f"{name} has shape {getattr(self, name).shape}; expected ({size},)")
        check_entries(
            "square_starts", self.square_starts, "a variable of a square", self.square_columns, self.number_of_variables
        )
        if (self.weights < 0).any():
            raise ProgramError("a square has a negative weight; the program would not be convex")

    def square_of_entry(self) -> NDArray[np.int64]:
        """Return the square of each entry, (e,)."""
        return np.repeat(np.arange(self.targets.size), np.diff(self.square_starts))

    def square_matrix(self, factors: NDArray[np.float64]) -> csr_array[np.float64]:
        """Return the matrix of the squares, (q, n): row i is factors[i] f_i."""
        from scipy.sparse import csr_array

        entries = self.square_coefficients * factors[self.square_of_entry()]
        shape = (self.targets.size, self.number_of_variables)
        return csr_array((entries, self.square_columns, self.square_starts), shape=shape)

    def residuals(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return f_i . x - targets[i] for every square, (q,)."""
        terms = self.square_coefficients * point[self.square_columns]
        sums = np.bincount(self.square_of_entry(), weights=terms, minlength=self.targets.size)
        return freeze(sums - self.targets)

    def evaluate(self, point: NDArray[np.float64]) -> float:
        """Return the objective at a point (n,)."""
        return float(0.5 * self.weights @ self.residuals(point) ** 2) + self.linear.evaluate(point)

    def violation(self, point: NDArray[np.float64]) -> float:
        """Return by how much the point breaks a row or a bound at worst; 0 for a feasible point."""
        return self.linear.violation(point)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the program (arrays in little-endian form), in hex."""
        digest = hashlib.sha256(f"quadratic program 1 {self.linear.fingerprint()}".encode())
        return with_arrays(digest, self)


@dataclass(frozen=True, slots=True, eq=False)
class MultipliedOut:
    """An objective as  sum coefficient x_row x_column + costs . x + constant,  with row <= column."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    coefficients: NDArray[np.float64]
    costs: NDArray[np.float64]
    constant: float

    @classmethod
    def of(cls, program: MixedIntegerProgram | QuadraticProgram) -> MultipliedOut:
        """Return the objective of a program with its squares, if any, multiplied out."""
        if isinstance(program, MixedIntegerProgram):
            nothing = np.zeros(0, dtype=np.int64)
            return cls(nothing, nothing, np.zeros(0), program.objective, 0.0)
        weighted = program.square_matrix(program.weights)
        squares = program.square_matrix(np.ones(program.targets.size))
        product = (weighted.T @ squares).tocoo()
        rows, columns = (np.asarray(part, dtype=np.int64) for part in product.coords)
        kept = np.lexsort((columns, rows))
        kept = kept[rows[kept] <= columns[kept]]
        return cls(
            rows[kept],
            columns[kept],
            np.where(rows == columns, 0.5, 1.0)[kept] * product.data[kept],
            program.objective - weighted.T @ program.targets,
            float(program.weights @ program.targets**2) / 2,
        )


_ROUNDS = 10
_FARTHEST = 40.0  # powers of 2


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """A program in other units."""

    program: QuadraticProgram
    columns: NDArray[np.float64]
    """Shape (n,). d: a point x' of it is d x' of the given program."""
    rows: NDArray[np.float64]
    """Shape (r,). r: duals u' of it are r u' of the given program."""

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
