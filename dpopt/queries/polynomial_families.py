"""Families of polynomials, one for each possible record: a generic sanitizer adds them up and adds noise.

A family says what a record x contributes to the coefficients of p_D(y) = constant + sum_x p_x(y), and how large that is
at most. Coefficients are whole multiples of a public `unit`, cut towards zero; so sums are exact, noise is integer, and
how far the sums of neighbours are apart at most (`Moves`) is known without rounding.

The polynomial of a record is a row of a public table (`TableFamily`), one of how many of its literals a query asks for
(`SymmetricFamily`), or what any function says, with bounds that are enforced (`FunctionFamily`).

Source: Thaler, Ullman and Vadhan 2012, Definitions 2.5 and 2.6 and Theorem 3.1, which bounds the distance by 2 T N
alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, comb, inf, isfinite, prod
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.constraints import Array, Number, constrain
from dpopt.errors import WorkloadError
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.queries.conjunctions.monomials import POWERS, SETS, Monomials, multinomial
from dpopt.schema.schema import Schema

LARGEST_NORM = 2**40
"""Units that the coefficients of one record have together, at most."""
UP = 1.0 + 2.0**-28
"""More than the roundings of any sum of squares."""


@dataclass(frozen=True, slots=True)
class Moves:
    """How far the sums of neighbours are apart at most, in units."""

    added: int
    """In L1, if a record is added or removed."""
    replaced: int
    """In L1, if one is replaced."""
    added_squared: int
    replaced_squared: int
    """The squares of the same in L2."""


def upward(number: float) -> int:
    """Return a whole number that is not below a sum whose roundings are."""
    return ceil(float(number) * UP)


def check_norm(name: str, norm: float, unit: float) -> None:
    """Refuse a unit that is not a number above 0, or too small for the norm."""
    if not 0 < unit < inf or norm / unit > LARGEST_NORM:
        raise WorkloadError(
            f"{name}: one record has coefficients of {norm:g} in all, in units of {unit:g}; at most 2^40 units can be "
            f"added up"
        )


def check_width(name: str, width: int | None, variables: int) -> None:
    """Refuse a k that is out of range."""
    if width is not None and not 1 <= width <= variables:
        raise WorkloadError(f"{name}: found k = {width}; expected 1 to {variables}")


Constant = Annotated[float, Number("the constant of a family")]
Approximation = Annotated[float, Number("the error of polynomials", least=0)]

LARGEST_TABLE = 2**22
"""Entries of a table, at most; a second one of them is held while it is turned into units."""
MOST_RECORDS = 2**16
_MOST_COMPARED = 2**28  # entries that are looked at to compare all pairs of records


@dataclass(frozen=True, eq=False)
class TableFamily:
    """The polynomial of each record that can occur, in one public table. Privacy does not rely on it."""

    name: str
    schema: Schema
    """The schema of the records; record number r has the codes `numpy.unravel_index(r, schema.sizes)`."""
    monomials: Monomials
    table: Annotated[NDArray[np.float64], Array(finite=True)] = field(repr=False)
    """Shape (X, N). The coefficients of each of the X records; at most 2^22 entries, all finite."""
    constant: Constant = 0.0
    """Public, the same for all records."""
    width: int | None = None
    """The most variables that are 1 in a query; None for any number."""
    approximation: Approximation = 0.0
    """gamma, as for `SymmetricFamily`."""

    def __post_init__(self) -> None:
        constrain(self, WorkloadError)
        records = prod(self.schema.sizes.tolist())
        if self.table.shape != (records, self.monomials.count):
            raise WorkloadError(
                f"{self.name}: found a table of shape {self.table.shape}; expected ({records}, "
                f"{self.monomials.count}): one row for each record that can occur, one column for each monomial"
            )
        if self.table.size > LARGEST_TABLE or records > MOST_RECORDS:
            raise WorkloadError(
                f"{self.name}: a table of {self.table.size:,} entries; at most {LARGEST_TABLE:,}, and {MOST_RECORDS:,} "
                f"records"
            )
        check_width(self.name, self.width, self.monomials.variables)

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

        Privacy: C9 in docs/privacy. Test: `tests/queries/test_polynomial_families.py`.
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


@dataclass(frozen=True, eq=False)
class SymmetricFamily:
    """Polynomials of how many of a record's literals a query asks for, s = sum of y_j over its literals j.

    p_x(y) = constant + sum_i c_i e_i, where e_i is s^i multiplied out (monomials "powers", the paper's basis) or C(s,
    i), the sum of all products of i different variables ("sets", the binomial basis). A monomial in the variables A has
    one and the same coefficient for all records that have all literals of A, and 0 for all others.
    """

    name: str
    literals: ChosenLiterals
    """Variable number l of a query asks for literal l."""
    monomials: Monomials
    """"sets" or "powers" of as many variables."""
    weights: tuple[float, ...]
    """c_1, ..., c_t."""
    constant: Constant
    """c_0: public, the same for all records, without noise."""
    width: int
    """k: the most literals of a query."""
    approximation: Approximation
    """gamma: how far p_x(y) is off at such queries, at most. Accuracy rests on it, privacy does not."""

    def __post_init__(self) -> None:
        constrain(self, WorkloadError)
        number = self.literals.groups.literals
        if self.monomials.kind not in {SETS, POWERS} or self.monomials.variables != number:
            raise WorkloadError(f"{self.name}: expected all monomials in {number} variables, one for each literal")
        if len(self.weights) != self.monomials.degree or not all(map(isfinite, self.weights)):
            raise WorkloadError(f"{self.name}: expected {self.monomials.degree} finite weights, found {self.weights}")
        check_width(self.name, self.width, number)

    @property
    def schema(self) -> Schema:
        """The schema of the records."""
        return self.literals.schema

    @property
    def norm(self) -> float:
        """The largest L1 norm of the coefficients of a record."""
        groups = len(self.literals.groups.sizes)
        return sum(
            comb(groups, size) * abs(self.coefficient(one))
            for size in self._supports
            for one in self.monomials.exponents(size)
        )

    @property
    def largest(self) -> float:
        """T: the largest absolute coefficient, the constant among them where it is a monomial."""
        own = [abs(self.coefficient(one)) for size in self._supports for one in self.monomials.exponents(size)]
        return max([*own, abs(self.constant) if self.monomials.kind == POWERS else 0.0])

    def coefficient(self, exponents: tuple[int, ...]) -> float:
        """Return the coefficient of a monomial with these exponents for a record that has all its literals."""
        weight = self.weights[sum(exponents) - 1]
        return weight * multinomial(exponents) if self.monomials.kind == POWERS else weight

    def units(self, exponents: tuple[int, ...], unit: float) -> int:
        """Return the same in units."""
        return int(self.coefficient(exponents) / unit)

    def moves(self, unit: float) -> Moves:
        """Return how far neighbours are apart: exactly, over all pairs of records.

        Of W groups, g of them with one literal: a record added moves the C(W, s) supports of s literals, one replaced
        C(W, s) + C(W - g + c, s) - 2 C(c, s) for some c. Privacy: C8, C9 in docs/privacy. Test:
        `tests/queries/test_polynomial_families.py`.
        """
        check_norm(self.name, self.norm, unit)
        sizes = self.literals.groups.sizes
        groups, single = len(sizes), sum(1 for size in sizes if size == 1)

        def largest(power: int) -> tuple[int, int]:
            each = {
                size: sum(abs(self.units(one, unit)) ** power for one in self.monomials.exponents(size))
                for size in self._supports
            }
            added = sum(weight * comb(groups, size) for size, weight in each.items())
            replaced = max(
                sum(
                    weight * (comb(groups, size) + comb(groups - single + shared, size) - 2 * comb(shared, size))
                    for size, weight in each.items()
                )
                for shared in range(single + 1)
            )
            return added, replaced

        (added, replaced), (added_squared, replaced_squared) = largest(1), largest(2)
        return Moves(added, replaced, added_squared, replaced_squared)

    @property
    def _supports(self) -> range:
        return range(1, min(self.monomials.degree, self.monomials.variables) + 1)


_ABOVE = 1.0 + 2.0**-29  # half of what `UP` adds


@dataclass(frozen=True, eq=False)
class FunctionFamily:
    """The polynomial of a record as any function says, with bounds that are enforced whatever it says.

    The function is called by the curator with one record at a time, each different one once, in an order that does not
    depend on the order of the table. What it returns is turned into units and cut to the bounds (`within`); a vector
    with a number that is not finite counts as the zero vector. So one record moves the sums by no more than `moves`
    says, as long as **what the function returns depends on the record that it is given alone**. This is what remains
    trusted: a function that remembers earlier calls, or finds the table elsewhere, can break privacy, as it can by
    printing what it is given; and how long it takes is not hidden. Where a table of all records is small, `tabulated`
    asks the function for each of them without any data, and nothing remains trusted: `plan_sanitizer` does so.

    Each coefficient is from `low` to `high` (N,), low <= 0 <= high; the norm if left out. The constant, the width and the
    approximation are as for `TableFamily`.
    """

    name: str
    schema: Schema
    """The schema of the records."""
    monomials: Monomials
    function: Callable[[NDArray[np.int64]], NDArray[np.float64]] = field(repr=False)
    """From codes, (1, d) int64, to coefficients, (1, N) float64; d attributes in the order of the schema."""
    norm: Annotated[float, Number("the L1 norm", above=0)]
    """The largest L1 norm of the coefficients of a record; larger vectors are shrunk to it."""
    root_norm: float = inf
    """The same in L2; the L1 norm if left out."""
    low: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    high: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    constant: Constant = 0.0
    width: int | None = None
    approximation: Approximation = 0.0

    def __post_init__(self) -> None:
        constrain(self, WorkloadError)
        if not self.root_norm > 0:
            raise WorkloadError(f"{self.name}: found an L2 norm of at most {self.root_norm}; expected a number above 0")
        for bound, sign in (("low", -1.0), ("high", 1.0)):
            given = getattr(self, bound)
            each = sign * given if given.size else np.full(self.monomials.count, self.norm)
            if each.shape != (self.monomials.count,) or not (each >= 0).all():
                raise WorkloadError(
                    f"{self.name}: {bound} needs {self.monomials.count:,} numbers, low <= 0 <= high; found shape "
                    f"{each.shape}"
                )
            object.__setattr__(self, bound, freeze(sign * np.minimum(each, self.norm)))
        check_width(self.name, self.width, self.monomials.variables)

    @property
    def largest(self) -> float:
        """T: the largest absolute coefficient."""
        return float(max(self.high.max(), -self.low.min()))

    @property
    def can_be_tabulated(self) -> bool:
        """Whether the table of all records is small."""
        records = prod(self.schema.sizes.tolist())
        return bool(records <= MOST_RECORDS and records * self.monomials.count <= LARGEST_TABLE)

    def tabulated(self) -> TableFamily:
        """Return the same with the function asked for every record that can occur, without any data."""
        if not self.can_be_tabulated:
            raise WorkloadError(f"{self.name}: too many records can occur for a table of them")
        sizes = self.schema.sizes
        codes = np.stack(np.unravel_index(np.arange(prod(sizes.tolist())), sizes.tolist()), axis=1)
        table = np.concatenate([self.coefficients(one[None, :]) for one in codes.astype(np.int64)])
        table = np.clip(np.where(np.isfinite(table).all(axis=1, keepdims=True), table, 0.0), self.low, self.high)
        table *= np.minimum(1.0, self.norm / np.maximum(np.abs(table).sum(axis=1, keepdims=True), self.norm))
        return TableFamily(self.name, self.schema, self.monomials, table, self.constant, self.width, self.approximation)

    def coefficients(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the function's value on one record, (1, N), checked for its shape only."""
        given = codes.copy()  # its own, so that it cannot change what others are asked
        try:
            with np.errstate(all="ignore"):
                found = np.array(self.function(given), dtype=np.float64)
        except Exception as error:
            raise WorkloadError(f"{self.name}: the function of the family failed: {error!r}") from error
        if found.shape != (1, self.monomials.count):
            raise WorkloadError(
                f"{self.name}: the function of the family returned an array of shape {found.shape} for one record; "
                f"expected (1, {self.monomials.count})"
            )
        return found

    def within(self, coefficients: NDArray[np.float64], unit: float) -> NDArray[np.int64]:
        """Return any vectors in units, (r, N), cut to the bounds: each coefficient to its own, then each vector shrunk.

        All steps go towards zero, so that none undoes what one before it did. A vector within its bounds changes by
        less than one unit in each coefficient.
        """
        norm, root = self._limits(unit)
        usable = np.isfinite(coefficients).all(axis=1, keepdims=True)
        bounded = np.clip(np.where(usable, coefficients, 0.0), self.low, self.high)
        found = np.trunc(bounded / unit)
        lengths = np.abs(found).sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(lengths > norm, np.trunc(found * (norm / lengths / UP)), found)
            squares = (found**2).sum(axis=1, keepdims=True)
            found = np.where(squares > root * _ABOVE, np.trunc(found * (root / squares / UP) ** 0.5), found)
        return found.astype(np.int64)

    def moves(self, unit: float) -> Moves:
        """Return how far neighbours are apart at most, from the bounds that `within` enforces.

        Privacy: C9 in docs/privacy. Test: `tests/queries/test_polynomial_families.py`.
        """
        norm, root = self._limits(unit)
        low, high = (np.trunc(one / unit) for one in (self.low, self.high))
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


PolynomialFamily = SymmetricFamily | TableFamily | FunctionFamily
"""One polynomial for each possible record."""
