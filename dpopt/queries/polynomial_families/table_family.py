"""Polynomials of records as any public table says, one row for each record that can occur."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite, prod

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import frozen
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
from dpopt.schema.schema import Schema

LARGEST_TABLE = 2**22
"""Entries of a table, at most; a second one of them is held while it is turned into units."""
MOST_RECORDS = 2**16
_MOST_COMPARED = 2**28  # entries that are looked at to compare all pairs of records


@dataclass(frozen=True, eq=False)
class TableFamily:
    """The polynomial of each record that can occur, in one public table. Nothing about it has to be trusted for privacy.

    Parameters
    ----------
    name : str
    schema : Schema
        What is recorded; record number r has the codes `numpy.unravel_index(r, schema.sizes)`.
    monomials : Monomials
    table : (X, N) float64
        The coefficients of each of the X records; at most 2^22 entries, all finite.
    constant : float
        Public, the same for all records.
    width : int or None
        The most variables that are 1 in a query; None for any number.
    approximation : float
        gamma, as for `SymmetricFamily`.

    Raises
    ------
    WorkloadError
        If the table has another shape, is too large, or holds a number that is not finite.
    """

    name: str
    schema: Schema
    monomials: Monomials
    table: NDArray[np.float64] = field(repr=False)
    constant: float = 0.0
    width: int | None = None
    approximation: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", frozen(self.table, np.float64))
        records = prod(self.schema.sizes.tolist())
        if self.table.shape != (records, self.monomials.count):
            raise WorkloadError(
                f"{self.name}: found a table of shape {self.table.shape}; expected ({records}, {self.monomials.count}): one "
                "row for each record that can occur, one column for each monomial"
            )
        if self.table.size > LARGEST_TABLE or records > MOST_RECORDS:
            raise WorkloadError(
                f"{self.name}: a table of {self.table.size:,} entries; at most {LARGEST_TABLE:,}, and {MOST_RECORDS:,} records"
            )
        if not np.isfinite(self.table).all() or not isfinite(self.constant):
            raise WorkloadError(f"{self.name}: coefficients must be finite")
        check_width(self.name, self.width, self.monomials)
        check_approximation(self.name, self.approximation)

    @property
    def norm(self) -> float:
        """The largest L1 norm of the coefficients of a record."""
        return float(np.abs(self.table).sum(axis=1).max()) * UP

    @property
    def largest(self) -> float:
        """T: the largest absolute coefficient."""
        return float(np.abs(self.table).max())

    def units(self, unit: float) -> NDArray[np.int64]:
        """Return the table in units, (X, N)."""
        check_norm(self.name, self.norm, unit)
        return np.trunc(self.table / unit).astype(np.int64)

    def moves(self, unit: float) -> Moves:
        """Return how far neighbours are apart: exactly, over all pairs of records, or for large tables a bound of it.

        Privacy: C9 in docs/privacy.md. Test: `tests/queries/test_polynomial_families.py`.
        """
        table = self.units(unit)
        added = int(np.abs(table).sum(axis=1).max())
        added_squared = _squares(table)
        if table.size * len(table) > _MOST_COMPARED:
            return Moves(added, 2 * added, added_squared, 4 * added_squared)
        replaced = replaced_squared = 0
        for row in table:
            apart = table - row
            replaced = max(replaced, int(np.abs(apart).sum(axis=1).max()))
            replaced_squared = max(replaced_squared, _squares(apart))
        return Moves(added, replaced, added_squared, replaced_squared)


def _squares(table: NDArray[np.int64]) -> int:
    return upward(float((table.astype(np.float64) ** 2).sum(axis=1).max()))
