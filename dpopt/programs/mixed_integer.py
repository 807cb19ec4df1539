"""Mixed-integer linear programs as plain arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import Field, dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import frozen
from dpopt.errors import ProgramError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LARGEST_WHOLE = 2**53
"""Whole numbers up to here are held exactly in double precision."""

_Number = TypeVar("_Number", np.float64, np.int64, np.int32, np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class MixedIntegerProgram:
    """Optimize c . x subject to row_lower <= A x <= row_upper, lower <= x <= upper, x_j whole where marked.

    With `maximize` the problem is max c . x, otherwise min c . x. A is held row by row (CSR) in three arrays.
    """

    maximize: bool
    """Direction of the objective."""
    objective: NDArray[np.float64]
    """Shape (n,). Coefficients c, finite."""
    row_starts: NDArray[np.int64]
    """Shape (r + 1,). Row i owns entries row_starts[i] to row_starts[i + 1] - 1."""
    columns: NDArray[np.int32]
    """Shape (e,). Column of each entry; no column twice in a row."""
    coefficients: NDArray[np.float64]
    """Shape (e,). Value of each entry, finite and not 0."""
    row_lower: NDArray[np.float64]
    row_upper: NDArray[np.float64]
    """Shape (r,). Bounds of each row; infinities allowed, lower <= upper."""
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    """Shape (n,). Bounds of each variable; infinities allowed, lower <= upper."""
    integrality: NDArray[np.bool_]
    """Shape (n,). True where the variable must be whole."""

    def __post_init__(self) -> None:
        for name in ("objective", "coefficients", "row_lower", "row_upper", "lower", "upper"):
            object.__setattr__(self, name, _frozen(name, getattr(self, name), np.float64))
        object.__setattr__(self, "row_starts", _frozen("row_starts", self.row_starts, np.int64))
        object.__setattr__(self, "columns", _frozen("columns", self.columns, np.int32))
        object.__setattr__(self, "integrality", _frozen("integrality", self.integrality, np.bool_))
        self._check_shapes()
        self._check_values()
        self._check_matrix()

    def __reduce__(self) -> tuple[type[MixedIntegerProgram], tuple[object, ...]]:
        # Unpickled arrays are writable: going through the constructor freezes and checks them again.
        return MixedIntegerProgram, tuple(getattr(self, field.name) for field in fields(self))

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
        if not (np.isfinite(self.objective).all() and np.isfinite(self.coefficients).all()):
            raise ProgramError("objective and coefficients must be finite")
        if not self.coefficients.all():
            raise ProgramError("a coefficient is 0; leave such entries out")
        for kind, low, high in (("row", self.row_lower, self.row_upper), ("variable", self.lower, self.upper)):
            bad = np.flatnonzero(~(low <= high) | (low == np.inf) | (high == -np.inf))
            if bad.size:
                i = int(bad[0])
                raise ProgramError(f"{kind} {i} has bounds [{low[i]}, {high[i]}]; lower must not exceed upper")

    def _check_matrix(self) -> None:
        starts = self.row_starts
        if starts[0] != 0 or starts[-1] != self.columns.size or (np.diff(starts) < 0).any():
            raise ProgramError("row_starts must rise from 0 to the number of entries")
        if self.columns.size == 0:
            return
        if self.columns.min() < 0 or self.columns.max() >= self.number_of_variables:
            raise ProgramError(f"a column index lies outside 0..{self.number_of_variables - 1}")
        keys = np.sort(self.row_of_entry() * self.number_of_variables + self.columns)
        if (keys[1:] == keys[:-1]).any():
            raise ProgramError("a column occurs twice in one row; add the two coefficients")


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Field[object]]]


def with_arrays(digest: hashlib._Hash, program: _Dataclass, without: int = 1) -> str:
    """Return a fingerprint in hex, the arrays of a program (all fields but so many first ones) added in little-endian form."""
    for field in fields(program)[without:]:
        array = getattr(program, field.name) + 0  # no negative zeros
        digest.update(f"\n{field.name} {array.size}\n".encode())
        digest.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
    return digest.hexdigest()


def _frozen(name: str, value: ArrayLike, dtype: type[_Number]) -> NDArray[_Number]:
    try:
        array = frozen(value, dtype)
    except (OverflowError, ValueError, TypeError) as problem:
        raise ProgramError(f"'{name}' must be an array of {np.dtype(dtype).name}: {problem}") from problem
    if array.ndim != 1:
        raise ProgramError(f"'{name}' has {array.ndim} dimensions; expected a flat array")
    return array
