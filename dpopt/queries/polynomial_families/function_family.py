"""Polynomials of records as any function says, with bounds that are enforced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, isfinite, prod

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import WorkloadError
from dpopt.queries.conjunctions.monomials import Monomials
from dpopt.queries.polynomial_families.family_moves import (
    UP,
    Moves,
    check_approximation,
    check_norm,
    check_width,
    upward,
)
from dpopt.queries.polynomial_families.table_family import LARGEST_TABLE, MOST_RECORDS, TableFamily
from dpopt.schema.schema import Schema

_ABOVE = 1.0 + 2.0**-29  # half of what `UP` adds


@dataclass(frozen=True, eq=False)
class FunctionFamily:
    """The polynomial of a record as any function says, with bounds that are enforced whatever it says.

    The function is called by the curator with one record at a time, each different one once, in an order that does not depend
    on the order of the table. What it returns is turned into units and cut to the bounds (`within`); a vector with a number
    that is not finite counts as the zero vector. So one record moves the sums by no more than `moves` says, as long as **what
    the function returns depends on the record that it is given alone**. This is what remains trusted: a function that remembers
    earlier calls, or finds the table elsewhere, can break privacy, as it can by printing what it is given; and how long it
    takes is not hidden. Where a table of all records is small, `tabulated` asks the function for each of them without any data,
    and nothing remains trusted: `plan_sanitizer` does so by itself.

    Parameters
    ----------
    name : str
    schema : Schema
        What is recorded.
    monomials : Monomials
    function : callable
        From codes, (1, d) int64, to coefficients, (1, N) float64; d attributes in the order of the schema.
    norm : float
        The largest L1 norm of the coefficients of a record; larger vectors are shrunk to it.
    root_norm : float, optional
        The same in L2; the L1 norm if left out.
    low, high : (N,) float64, optional
        At least and at most what each coefficient is, low <= 0 <= high; the norm if left out.
    constant, width, approximation :
        As for `TableFamily`.

    Raises
    ------
    WorkloadError
        If a bound is not finite or not above 0, or is none for as many monomials.
    """

    name: str
    schema: Schema
    monomials: Monomials
    function: Callable[[NDArray[np.int64]], NDArray[np.float64]] = field(repr=False)
    norm: float
    root_norm: float = inf
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None
    constant: float = 0.0
    width: int | None = None
    approximation: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.norm < inf or not self.root_norm > 0 or not isfinite(self.constant):
            raise WorkloadError(
                f"{self.name}: found an L1 norm of at most {self.norm} and an L2 norm of at most {self.root_norm}; expected "
                "numbers above 0, the first one finite"
            )
        for bound, sign in (("low", -1.0), ("high", 1.0)):
            given = getattr(self, bound)
            each = (
                np.full(self.monomials.count, self.norm)
                if given is None
                else sign * np.asarray(given, dtype=np.float64)
            )
            if each.shape != (self.monomials.count,) or not (each >= 0).all():
                raise WorkloadError(
                    f"{self.name}: {bound} needs {self.monomials.count:,} numbers, low <= 0 <= high; found shape {each.shape}"
                )
            object.__setattr__(self, bound, freeze(sign * np.minimum(each, self.norm)))
        check_width(self.name, self.width, self.monomials)
        check_approximation(self.name, self.approximation)

    @property
    def largest(self) -> float:
        """T: the largest absolute coefficient."""
        return float(max(self._high.max(), -self._low.min()))

    @property
    def can_be_tabulated(self) -> bool:
        """Whether the table of all records is small."""
        records = prod(self.schema.sizes.tolist())
        return bool(records <= MOST_RECORDS and records * self.monomials.count <= LARGEST_TABLE)

    def tabulated(self) -> TableFamily:
        """Return the same with the function asked for every record that can occur, without any data.

        Raises
        ------
        WorkloadError
            If there are too many, or the function fails.
        """
        if not self.can_be_tabulated:
            raise WorkloadError(f"{self.name}: too many records can occur for a table of them")
        sizes = self.schema.sizes
        codes = np.stack(np.unravel_index(np.arange(prod(sizes.tolist())), sizes.tolist()), axis=1)
        table = np.concatenate([self.coefficients(one[None, :]) for one in codes.astype(np.int64)])
        table = np.clip(
            np.where(np.isfinite(table).all(axis=1, keepdims=True), table, 0.0), self._low, self._high
        )
        table *= np.minimum(1.0, self.norm / np.maximum(np.abs(table).sum(axis=1, keepdims=True), self.norm))
        return TableFamily(
            self.name, self.schema, self.monomials, table, self.constant, self.width, self.approximation
        )

    def coefficients(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what the function says of one record, (1, N), checked for its shape only.

        Raises
        ------
        WorkloadError
            If it fails, or returns anything but N numbers.
        """
        given = codes.copy()  # its own, so that it cannot change what others are asked
        try:
            with np.errstate(all="ignore"):
                found = np.array(self.function(given), dtype=np.float64)
        except Exception as error:
            raise WorkloadError(f"{self.name}: the function of the family failed: {error!r}") from error
        if found.shape != (1, self.monomials.count):
            raise WorkloadError(
                f"{self.name}: the function of the family returned an array of shape {found.shape} for one record; expected "
                f"(1, {self.monomials.count})"
            )
        return found

    def within(self, coefficients: NDArray[np.float64], unit: float) -> NDArray[np.int64]:
        """Return any vectors in units, (r, N), cut to the bounds: each coefficient to its own, then each vector shrunk.

        All steps go towards zero, so that none undoes what one before it did. A vector within its bounds changes by less than
        one unit in each coefficient.
        """
        norm, root = self._limits(unit)
        usable = np.isfinite(coefficients).all(axis=1, keepdims=True)
        bounded = np.clip(np.where(usable, coefficients, 0.0), self._low, self._high)
        found = np.trunc(bounded / unit)
        lengths = np.abs(found).sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(lengths > norm, np.trunc(found * (norm / lengths / UP)), found)
            squares = (found**2).sum(axis=1, keepdims=True)
            found = np.where(squares > root * _ABOVE, np.trunc(found * (root / squares / UP) ** 0.5), found)
        return found.astype(np.int64)

    def moves(self, unit: float) -> Moves:
        """Return how far neighbours are apart at most, from the bounds that `within` enforces.

        Privacy: C9 in docs/privacy.md. Test: `tests/queries/test_polynomial_families.py`.
        """
        norm, root = self._limits(unit)
        low, high = (np.trunc(one / unit) for one in (self._low, self._high))
        sides, widths = np.maximum(-low, high), high - low
        added = min(norm, upward(sides.sum()))
        replaced = min(2 * norm, upward(widths.sum()))
        largest, widest = int(sides.max()), int(widths.max())
        return Moves(
            added,
            replaced,
            min(upward(root), added * largest, upward((sides**2).sum())),
            min(upward(4 * root), replaced * widest, upward((widths**2).sum())),
        )

    def _limits(self, unit: float) -> tuple[int, float]:
        """Return the largest L1 norm, and the largest square of the L2 norm, in units."""
        check_norm(self.name, self.norm, unit)
        norm = int(self.norm / unit)
        return norm, min(float(norm), self.root_norm / unit) ** 2

    @property
    def _low(self) -> NDArray[np.float64]:
        assert self.low is not None  # noqa: S101  set by __post_init__
        return self.low

    @property
    def _high(self) -> NDArray[np.float64]:
        assert self.high is not None  # noqa: S101
        return self.high
