"""Arrays of floating-point numbers as exact numbers: whole numerators over one power of two.

Every float64 is dyadic, so sums and products of a program's data are again exact. Numerators are int64 while a bound
computed beforehand shows that nothing overflows, and Python integers beyond that.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64] | NDArray[np.object_]
"""Whole numbers: int64, or Python integers in an object array where those do not suffice."""

_ROOM = 2**62  # int64 holds what is smaller, and the sum of two such numbers
_MANTISSA = 53


@dataclass(frozen=True, slots=True, eq=False)
class Dyadic:
    """The numbers numerators[i] / 2**shift, exactly.

    Parameters
    ----------
    numerators
        Flat array of whole numbers, int64 ones smaller than 2**62 in absolute value.
    shift
        Exponent of the common denominator, >= 0.
    """

    numerators: Whole
    shift: int

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Dyadic:
        """Return finite float64 numbers as they are, without any rounding."""
        mantissa, exponent = np.frexp(values)
        scaled = np.ldexp(mantissa, _MANTISSA).astype(np.int64)
        low = np.where(scaled == 0, 1, scaled & -scaled)  # the lowest bit that is set
        zeros = np.frexp(low.astype(np.float64))[1].astype(np.int64) - 1
        odd = scaled >> zeros
        power = np.where(scaled == 0, 0, exponent.astype(np.int64) - _MANTISSA + zeros)
        shift = max(0, -int(power.min(initial=0)))
        power = power + np.where(scaled == 0, 0, shift)
        if int((np.frexp(odd.astype(np.float64))[1] + power).max(initial=0)) < _ROOM.bit_length():
            return cls(odd << power, shift)
        return cls(odd.astype(np.object_) * 2 ** power.astype(np.object_), shift)

    @classmethod
    def whole(cls, numbers: Whole) -> Dyadic:
        """Return whole numbers as they are; int64 ones of 2**62 and more become Python integers."""
        return cls(numbers if _magnitude(numbers) < _ROOM else numbers.astype(np.object_), 0)

    def take(self, index: NDArray[np.int32] | NDArray[np.int64]) -> Dyadic:
        """Return the numbers at these places."""
        return Dyadic(self.numerators[index], self.shift)

    def times(self, other: Dyadic) -> Dyadic:
        """Return the products, element by element."""
        small = _magnitude(self.numerators) * _magnitude(other.numerators) < _ROOM
        one, two = _alike(self.numerators, other.numerators, small=small)
        return Dyadic(one * two, self.shift + other.shift)

    def scaled(self, factor: int) -> Dyadic:
        """Return the numbers multiplied by a whole number."""
        small = max(1, _magnitude(self.numerators)) * abs(factor) < _ROOM
        return Dyadic((self.numerators if small else self.numerators.astype(np.object_)) * factor, self.shift)

    def minus(self, other: Dyadic) -> Dyadic:
        """Return the differences, element by element."""
        shift = max(self.shift, other.shift)
        mine = self.scaled(2 ** (shift - self.shift)).numerators
        theirs = other.scaled(2 ** (shift - other.shift)).numerators
        one, two = _alike(mine, theirs, small=_magnitude(mine) + _magnitude(theirs) < _ROOM)
        return Dyadic(one - two, shift)

    def sum_by(self, owner: NDArray[np.int32] | NDArray[np.int64], size: int) -> Dyadic:
        """Return the sums of the numbers of each owner 0 to size - 1, (size,)."""
        small = _magnitude(self.numerators) * max(1, self.numerators.size) < _ROOM
        terms = self.numerators if small else self.numerators.astype(np.object_)
        sums: Whole = np.zeros(size, np.int64) if terms.dtype == np.int64 else np.zeros(size, np.object_)
        np.add.at(sums, owner, terms)
        return Dyadic(sums, self.shift)

    def total(self) -> Fraction:
        """Return the sum of all numbers."""
        alone = self.sum_by(np.zeros(self.numerators.size, dtype=np.int64), 1)
        return Fraction(int(alone.numerators[0]), 2**self.shift)

    def positive(self) -> NDArray[np.bool_]:
        """Return which numbers are above 0."""
        return np.asarray(self.numerators > 0, dtype=np.bool_)

    def negative(self) -> NDArray[np.bool_]:
        """Return which numbers are below 0."""
        return np.asarray(self.numerators < 0, dtype=np.bool_)


def _alike(one: Whole, two: Whole, *, small: bool) -> tuple[Whole, Whole]:
    return (one, two) if small else (one.astype(np.object_), two.astype(np.object_))


def _magnitude(numbers: Whole) -> int:
    """Return the largest absolute value, as a Python integer."""
    return max(int(numbers.max()), -int(numbers.min())) if numbers.size else 0
