"""Mixed-integer linear programs as plain arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import Field, dataclass, fields
from typing import TYPE_CHECKING, Annotated, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import Rebuilt
from dpopt.constraints import Array, constrain
from dpopt.errors import ProgramError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LARGEST_WHOLE = 2**53
"""Whole numbers up to here are held exactly in double precision."""

Numbers = Annotated[NDArray[np.float64], Array(dimensions=1)]
FiniteNumbers = Annotated[NDArray[np.float64], Array(dimensions=1, finite=True)]


@dataclass(frozen=True, slots=True, eq=False)
class MixedIntegerProgram(Rebuilt):
    """Optimize c . x subject to row_lower <= A x <= row_upper, lower <= x <= upper, x_j whole where marked.

    With `maximize` the problem is max c . x, otherwise min c . x. A is held row by row (CSR) in three arrays.
    """

    maximize: bool
    """Direction of the objective."""
    objective: FiniteNumbers
    """Shape (n,). Coefficients c, finite."""
    row_starts: Annotated[NDArray[np.int64], Array(dimensions=1)]
    """Shape (r + 1,). Row i owns entries row_starts[i] to row_starts[i + 1] - 1."""
    columns: Annotated[NDArray[np.int32], Array(dimensions=1)]
    """Shape (e,). Column of each entry; no column twice in a row."""
    coefficients: FiniteNumbers
    """Shape (e,). Value of each entry, finite and not 0."""
    row_lower: Numbers
    row_upper: Numbers
    """Shape (r,). Bounds of each row; infinities allowed, lower <= upper."""
    lower: Numbers
    upper: Numbers
    """Shape (n,). Bounds of each variable; infinities allowed, lower <= upper."""
    integrality: Annotated[NDArray[np.bool_], Array(dimensions=1)]
    """Shape (n,). True where the variable must be whole."""

    def __post_init__(self) -> None:
        constrain(self, ProgramError)
        self._check_shapes()
        self._check_values()
        self._check_matrix()

    @property
    def number_of_variables(self) -> int:
        """Number of variables n."""
        return self.objective.size

    @property
    def number_of_rows(self) -> int:
        """Number of rows r."""
        return self.row_lower.size

    @property
    def linear(self) -> MixedIntegerProgram:
        """The program itself: rows, bounds and linear objective, where a quadratic one has another field."""
        return self

    def matrix(self) -> csr_array[np.float64]:
        """Return A, (r, n)."""
        from scipy.sparse import csr_array

        shape = (self.number_of_rows, self.number_of_variables)
        return csr_array((self.coefficients, self.columns, self.row_starts), shape=shape)

    def row_of_entry(self) -> NDArray[np.int64]:
        """Return the row of each matrix entry, (e,)."""
        return np.repeat(np.arange(self.number_of_rows, dtype=np.int64), np.diff(self.row_starts))

    def evaluate(self, point: NDArray[np.float64]) -> float:
        """Return c . x."""
        return float(self.objective @ self._point(point))

    def violation(self, point: NDArray[np.float64]) -> float:
        """Return by how much the point breaks a row, a bound or integrality at worst; 0 for a feasible point."""
        x = self._point(point)
        if not np.isfinite(x).all():
            return float("inf")
        terms = self.coefficients * x[self.columns]
        activity = np.bincount(self.row_of_entry(), weights=terms, minlength=self.number_of_rows)
        gaps = (
            self.row_lower - activity,
            activity - self.row_upper,
            self.lower - x,
            x - self.upper,
            np.abs(x - np.round(x))[self.integrality],
        )
        return max([0.0, *(float(gap.max()) for gap in gaps if gap.size)])

    def why_not_whole(self, names: Sequence[str] = ()) -> str | None:
        """Return why this is no bounded program in whole numbers; None if it is one. `names`: of the variables."""
        bounded = np.isfinite(self.lower) & np.isfinite(self.upper)
        for good, lack in ((self.integrality, "need not be whole"), (bounded, "has no bound on a side")):
            if not good.all():
                first = int(np.argmin(good))
                return f"the variable {names[first] if names else first} {lack}"
        values = np.concatenate((self.objective, self.coefficients))
        wrong = (values != np.round(values)) | (np.abs(values) > LARGEST_WHOLE)
        return f"the coefficient {float(values[np.argmax(wrong)])!r} is not whole" if wrong.any() else None

    def fingerprint(self) -> str:
        """Return the SHA-256 of the program (sense, arrays in little-endian form), in hex."""
        digest = hashlib.sha256(f"mixed-integer program 1 {'max' if self.maximize else 'min'}".encode())
        return with_arrays(digest, self)

    def _point(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        x = np.asarray(point, dtype=np.float64)
        if x.shape != self.objective.shape:
            raise ProgramError(f"the point has shape {x.shape}; this program has {self.number_of_variables} variables")
        return x

    def _check_shapes(self) -> None:
        n, r, e = self.objective.size, self.row_lower.size, self.columns.size
        expected = {"row_starts": r + 1, "coefficients": e, "row_upper": r, "lower": n, "upper": n, "integrality": n}
        for name, size in expected.items():
            found = getattr(self, name).size
            if found != size:
                raise ProgramError(f"{name} has {found} elements; expected {size}")

    def _check_values(self) -> None:
        if not self.coefficients.all():
            raise ProgramError("a coefficient is 0; leave such entries out")
        for kind, low, high in (("row", self.row_lower, self.row_upper), ("variable", self.lower, self.upper)):
            bad = np.flatnonzero(~(low <= high) | (low == np.inf) | (high == -np.inf))
            if bad.size:
                i = int(bad[0])
                raise ProgramError(f"{kind} {i} has bounds [{low[i]}, {high[i]}]; lower must not exceed upper")

    def _check_matrix(self) -> None:
        check_entries("row_starts", self.row_starts, "a column index", self.columns, self.number_of_variables)
        keys = np.sort(self.row_of_entry() * self.number_of_variables + self.columns)
        if (keys[1:] == keys[:-1]).any():
            raise ProgramError("a column occurs twice in one row; add the two coefficients")


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Field[object]]]


def with_arrays(digest: hashlib._Hash, program: _Dataclass, without: int = 1) -> str:
    """Return a fingerprint in hex, with the arrays of a program (fields after the first ones) in little-endian form."""
    for field in fields(program)[without:]:
        array = getattr(program, field.name) + 0  # no negative zeros
        digest.update(f"\n{field.name} {array.size}\n".encode())
        digest.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def check_entries(
    called: str, starts: NDArray[np.int64], entry: str, columns: NDArray[np.int32], variables: int
) -> None:
    """Refuse the starts of the rows of a sparse matrix, or the columns of its entries, that do not fit each other."""
    if starts[0] != 0 or starts[-1] != columns.size or (np.diff(starts) < 0).any():
        raise ProgramError(f"{called} must rise from 0 to the number of entries")
    if columns.size and not 0 <= columns.min() <= columns.max() < variables:
        raise ProgramError(f"{entry} lies outside 0..{variables - 1}")
