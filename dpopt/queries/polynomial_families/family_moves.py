"""How far the sums of coefficients of neighbours are apart at most, in whole units; what all families of polynomials check."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf

from dpopt.errors import WorkloadError
from dpopt.queries.conjunctions.monomials import Monomials

LARGEST_NORM = 2**40
"""Units that the coefficients of one record have together, at most."""
UP = 1.0 + 2.0**-28
"""More than the roundings of any sum of squares."""


@dataclass(frozen=True, slots=True)
class Moves:
    """How far the sums of neighbours are apart at most, in units.

    Attributes
    ----------
    added : int
        In L1, if a record is added or removed.
    replaced : int
        In L1, if one is replaced.
    added_squared, replaced_squared : int
        The squares of the same in L2.
    """

    added: int
    replaced: int
    added_squared: int
    replaced_squared: int


def upward(number: float) -> int:
    """Return a whole number that is not below a sum whose roundings are."""
    return ceil(float(number) * UP)


def check_norm(name: str, norm: float, unit: float) -> None:
    """Refuse a unit that is no number above 0, or too small for the norm."""
    if not 0 < unit < inf or norm / unit > LARGEST_NORM:
        raise WorkloadError(
            f"{name}: one record has coefficients of {norm:g} in all, in units of {unit:g}; at most 2^40 units can be added up"
        )


def check_width(name: str, width: int | None, monomials: Monomials) -> None:
    """Refuse a k that is out of range."""
    if width is not None and not 1 <= width <= monomials.variables:
        raise WorkloadError(f"{name}: found k = {width}; expected 1 to {monomials.variables}, or none")


def check_approximation(name: str, approximation: float) -> None:
    """Refuse a gamma that is none."""
    if not 0 <= approximation < inf:
        raise WorkloadError(f"{name}: found polynomials that are off by {approximation}; expected 0 or more")
