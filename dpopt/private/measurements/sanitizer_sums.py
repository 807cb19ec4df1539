"""Measurements of the generic sanitizer: sums over all records of the coefficients of their polynomials, in units."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import LARGEST_SENSITIVITY, measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.constraints import constrain
from dpopt.errors import PlanError, PrivateDataError, WorkloadError
from dpopt.private.measurements.conjunction_measurement import packed_literals
from dpopt.private.measurements.noisy_counts import Scale
from dpopt.private.tables.closed import Declared
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.conjunctions.literals import LiteralGroups
from dpopt.queries.conjunctions.monomials import SETS
from dpopt.queries.polynomial_families import FunctionFamily, PolynomialFamily, SymmetricFamily, TableFamily
from dpopt.threads import USUAL

CHUNK = 2**16
"""Sets of variables whose monomials are numbered at a time."""

_BITS = 20
_LOW = (1 << _BITS) - 1
_TOP = 1 << 41
"""Sums stay within 2^61, far beyond real sums, so that sum and planned noise together fit into 64 bits."""


class CoefficientTable(Declared[PrivateDataset, PolynomialFamily]):
    """Records of the attributes of a family of polynomials.

    The family is a `SymmetricFamily`, a `TableFamily` or a `FunctionFamily`, one of these exactly: the bounds of others
    are not enforced here. What remains trusted of a function is stated there.
    """

    __slots__ = ()

    @classmethod
    def _check(cls, records: PrivateDataset, public: PolynomialFamily) -> None:
        if type(public) not in {SymmetricFamily, TableFamily, FunctionFamily}:
            raise PlanError(
                f"found a family of type {type(public).__name__}; expected one whose bounds are enforced: "
                f"SymmetricFamily, TableFamily or FunctionFamily"
            )
        if records._schema.fingerprint() != public.schema.fingerprint():
            raise PrivateDataError("the table was read with other attributes than those of the family")


@dataclass(frozen=True, slots=True)
class CoefficientSums:
    """The sums of all coefficients, with one noise on each (Thaler, Ullman and Vadhan 2012, Theorems 3.1 and 3.2)."""

    name: str
    """The family whose coefficients are summed."""
    unit: float
    """Coefficients are cut to whole multiples of it; a power of two."""
    scale: Scale
    """sigma of the discrete Gaussian or b of the discrete Laplace distribution, in units."""
    gaussian: bool

    def __post_init__(self) -> None:
        if not 0 < self.unit < inf or np.frexp(self.unit)[0] != 0.5:
            raise PlanError(f"found the unit {self.unit!r}; expected a power of two")
        constrain(self, PlanError)

    def charge(self, family: PolynomialFamily, relation: NeighbouringRelation) -> Charge:
        """Return the charge.

        **Sensitivity.** `family.moves(unit)`: how far the sums of neighbours are apart, in L1 and in L2. **Theorem.**
        `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C9 in docs/privacy. Tests:
        `tests/private/test_sanitizer_curator.py`, `tests/boundary/test_exact_loss.py`.
        """
        sensitivity, scale = sensitivity_and_scale(
            family, self.unit, self.scale, gaussian=self.gaussian, replaced=relation is NeighbouringRelation.REPLACE_ONE
        )
        return measurement_charge(self.name, sensitivity, scale, gaussian=self.gaussian, relation=relation)

    def exact(self, table: CoefficientTable, relation: NeighbouringRelation, threads: int = USUAL) -> NDArray[np.int64]:
        """Return the sums. Private."""
        return coefficient_sums(table._records, table._public, self.unit, threads=threads)


def sensitivity_and_scale(
    family: PolynomialFamily, unit: float, scale: float, *, gaussian: bool, replaced: bool
) -> tuple[int, float]:
    """Return L1, or the square of L2, and the scale of the noise, as accounting takes them.

    A square of L2 beyond 2^53 is stated in units that are larger by a power of two, and so is the scale: upward, and
    else the same.
    """
    moves = family.moves(unit)
    if not gaussian:
        return (moves.replaced if replaced else moves.added), scale
    sensitivity, shift = (moves.replaced_squared if replaced else moves.added_squared), 0
    while -(-sensitivity >> 2 * shift) > LARGEST_SENSITIVITY:
        shift += 1
    return -(-sensitivity >> 2 * shift), scale / 2.0**shift


class _Total:
    """A vector of whole numbers of any size as two limbs, so that no sum wraps around."""

    def __init__(self, number: int) -> None:
        self._high = np.zeros(number, dtype=np.int64)
        self._low = np.zeros(number, dtype=np.int64)

    def add(self, values: NDArray[np.int64], times: NDArray[np.int64] | int, at: NDArray[np.int64] | slice) -> None:
        """Add vectors, each times its multiplicity; the positions are distinct."""
        self._high[at] += (values >> _BITS) * times
        self._low[at] += (values & _LOW) * times

    def cut(self) -> NDArray[np.int64]:
        """Return the sums, cut at -2^61 and 2^61: by no more than before are two of them apart then."""
        high = self._high + (self._low >> _BITS)
        cut = (np.clip(high, -_TOP, _TOP - 1) << _BITS) + (self._low & _LOW)
        return np.where(high >= _TOP, _TOP << _BITS, np.where(high < -_TOP, -(_TOP << _BITS), cut))


def coefficient_sums(
    dataset: PrivateDataset, family: PolynomialFamily, unit: float, *, threads: int = USUAL
) -> NDArray[np.int64]:
    """Return the sums of the coefficients of all records, (N,), in units. Private.

    Their sensitivity is `family.moves(unit)` (Privacy: C9 in docs/privacy). No progress is reported: the number of
    steps grows with the number of different records.
    """
    total = _Total(family.monomials.count)
    if type(family) is SymmetricFamily:
        _add_symmetric(total, dataset, family, unit, threads)
    elif type(family) is TableFamily:
        _add_table(total, dataset, family, unit)
    elif type(family) is FunctionFamily:
        _add_function(total, dataset, family, unit)
    else:
        raise PrivateDataError(f"found a {type(family).__name__}; expected a family whose bounds are enforced")
    return total.cut()


def _add_symmetric(total: _Total, dataset: PrivateDataset, family: SymmetricFamily, unit: float, threads: int) -> None:
    """Count each set of literals once, and multiply: a monomial has one coefficient for records with its literals."""
    from dpopt.queries.counting.subset_kernels import count_subsets

    words = packed_literals(dataset, family.literals)
    monomials = family.monomials
    most = min(monomials.degree, monomials.variables)
    every = LiteralGroups((1,) * monomials.variables)
    for size, counts in enumerate(count_subsets(words, every, most, threads=threads), start=1):
        units = [np.array(family.units(one, unit)) for one in monomials.exponents(size)]
        if monomials.kind == SETS:  # counted in the order in which they are numbered
            total.add(units[0], counts, slice(monomials.starts[size], monomials.starts[size + 1]))
            continue
        done = 0
        for sets in _sets(monomials.variables, size):
            part = counts[done : done + len(sets)]
            for exponents, of_each in zip(monomials.exponents(size), units, strict=True):
                total.add(of_each, part, monomials.numbers(np.repeat(sets, exponents, axis=1)))
            done += len(sets)


def _sets(variables: int, size: int) -> Iterator[NDArray[np.int64]]:
    """Yield all sets of variables of a size in lexicographic order, (r, s), some at a time."""
    every = combinations(range(variables), size)
    while part := list(islice(every, CHUNK)):
        yield np.array(part, dtype=np.int64)


def _add_table(total: _Total, dataset: PrivateDataset, family: TableFamily, unit: float) -> None:
    sizes = dataset._schema.sizes.tolist()
    numbers = np.ravel_multi_index(tuple(column.astype(np.int64) for column in dataset._columns), sizes)
    counts = np.bincount(numbers, minlength=prod(sizes)).astype(np.int64)
    for row, count in zip(family.units(unit), counts.tolist(), strict=True):
        total.add(row, count, slice(None))


def _add_function(total: _Total, dataset: PrivateDataset, family: FunctionFamily, unit: float) -> None:
    records = np.stack([column.astype(np.int64) for column in dataset._columns], axis=1)
    different, times = np.unique(records, axis=0, return_counts=True)
    for record, count in zip(different, times.tolist(), strict=True):
        try:
            found = family.coefficients(record[None, :])
        except WorkloadError as error:
            raise PrivateDataError(f"{error}; nothing was spent") from error
        total.add(family.within(found, unit)[0], count, slice(None))
