"""Exact sums over all records of the coefficients of their polynomials, in units; private."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError, WorkloadError
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.conjunctions.literals import LiteralGroups
from dpopt.queries.conjunctions.monomials import SETS
from dpopt.queries.polynomial_families import (
    FunctionFamily,
    PolynomialFamily,
    SymmetricFamily,
    TableFamily,
)

CHUNK = 2**16
"""Sets of variables whose monomials are numbered at a time."""

_BITS = 20
_LOW = (1 << _BITS) - 1
_TOP = 1 << 41
"""Sums stay within 2^61: far beyond what occurs, and so that noise of any scale that is planned fits into 64 bits beside it."""


class _Total:
    """A vector of whole numbers of any size as two limbs, so that no sum wraps around."""

    def __init__(self, number: int) -> None:
        self._high = np.zeros(number, dtype=np.int64)
        self._low = np.zeros(number, dtype=np.int64)

    def add(
        self, values: NDArray[np.int64], times: NDArray[np.int64] | int, at: NDArray[np.int64] | slice
    ) -> None:
        """Add vectors, each so many times; the positions are different ones."""
        self._high[at] += (values >> _BITS) * times
        self._low[at] += (values & _LOW) * times

    def cut(self) -> NDArray[np.int64]:
        """Return the sums, cut at -2^61 and 2^61: by no more than before are two of them apart then."""
        high = self._high + (self._low >> _BITS)
        cut = (np.clip(high, -_TOP, _TOP - 1) << _BITS) + (self._low & _LOW)
        return np.where(high >= _TOP, _TOP << _BITS, np.where(high < -_TOP, -(_TOP << _BITS), cut))


def coefficient_sums(
    dataset: PrivateDataset, family: PolynomialFamily, unit: float, *, threads: int = 2
) -> NDArray[np.int64]:
    """Return the sums of the coefficients of all records, (N,), in units. Private.

    One record more moves them by what `family.moves(unit)` says, at most (Privacy: C9 in docs/privacy.md). No progress is
    told: the number of steps grows with the number of different records.

    Raises
    ------
    PrivateDataError
        If the function of a family fails for a record, or returns another number of coefficients.
    """
    total = _Total(family.monomials.count)
    if type(family) is SymmetricFamily:
        _add_symmetric(total, dataset, family, unit, threads)
    elif type(family) is TableFamily:
        _add_table(total, dataset, family, unit)
    elif type(family) is FunctionFamily:
        _add_function(total, dataset, family, unit)
    else:
        raise PrivateDataError(
            f"found a {type(family).__name__}; expected a family whose bounds are enforced"
        )
    return total.cut()


def _add_symmetric(
    total: _Total, dataset: PrivateDataset, family: SymmetricFamily, unit: float, threads: int
) -> None:
    """Count each set of literals once, and multiply: a monomial has one coefficient for all records that have its literals."""
    from dpopt.queries.counting.packing_kernels import pack_columns
    from dpopt.queries.counting.subset_kernels import count_subsets

    packed = pack_columns(dataset._columns, dataset._schema.sizes)
    offsets = dataset._schema.offsets
    rows = [
        int(packed.positions[offsets[attribute] + code])
        for attribute, codes in enumerate(family.literals.codes)
        for code in codes
    ]
    monomials = family.monomials
    most = min(monomials.degree, monomials.variables)
    every = LiteralGroups((1,) * monomials.variables)
    for size, counts in enumerate(count_subsets(packed.words[rows], every, most, threads=threads), start=1):
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
