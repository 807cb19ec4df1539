"""Read-only arrays of one layout: the fields of dpopt's frozen types.

Nobody who is handed such an array can change what somebody else holds.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.errors import ProgramError

Scalar = TypeVar("Scalar", bound=np.generic)


class Hash(Protocol):
    """An object that takes the bytes of arrays: a hash object of hashlib."""

    def update(self, data: memoryview, /) -> None:
        """Add bytes."""


class Rebuilt:
    """A dataclass that goes through its constructor when it is unpickled: arrays would be writable, and unchecked."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        parts: Any = self
        return type(self), tuple(getattr(self, part.name) for part in fields(parts) if part.init)


def frozen(values: ArrayLike, dtype: type[Scalar]) -> NDArray[Scalar]:
    """Return `values` as a read-only, C-contiguous array of `dtype`.

    Nothing is copied when the array is already of that form. A writable array is copied, since its owner could change
    it later; freeze a fresh array with `freeze` instead to hand it over without a copy. Conversion is exact or refused:
    a value that `dtype` cannot hold raises OverflowError.
    """
    array = np.asarray(values)
    if array.dtype == dtype and array.flags.c_contiguous and not array.flags.writeable:
        return array
    with np.errstate(invalid="ignore"):  # of numbers that do not fit; they are compared below
        converted: NDArray[Scalar] = np.array(array, dtype=dtype, order="C", copy=True)
    if array.dtype != converted.dtype and not np.array_equal(array, converted):
        raise OverflowError(f"the values do not fit into {np.dtype(dtype).name} without change")
    return freeze(converted)


def whole(values: ArrayLike) -> NDArray[np.int64]:
    """Return whole numbers as int64."""
    try:
        given = np.asarray(values)
        return frozen(given if given.size else given.astype(np.int64), np.int64)
    except (OverflowError, TypeError, ValueError) as problem:
        raise ProgramError(f"expected whole numbers, found {values!r:.80}") from problem


def freeze(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Make a fresh array read-only in place and return it."""
    array.flags.writeable = False
    return array


def all_finite(array: NDArray[np.generic]) -> bool:
    """Return whether no number of an array is infinite or NaN."""
    return bool(np.isfinite(array).all())
