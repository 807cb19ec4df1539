"""Conjunctions of a few literals as sets: how many there are, which number each has, and how many of them a record moves.

Literals come in groups, one for each attribute: a record satisfies at most one literal of a group (two values of one attribute
never hold together). A conjunction has at most one literal of each group; conjunctions of one size are numbered in
lexicographic order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import WorkloadError

LARGEST_SIZE = 16
MOST_CONJUNCTIONS = 2**28
"""Of one size, at most."""


@dataclass(frozen=True)
class LiteralGroups:
    """How many literals each group has.

    Parameters
    ----------
    sizes : tuple of int
        Each at least 1.

    Raises
    ------
    WorkloadError
        If there is no group, or an empty one.
    """

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 1:
            raise WorkloadError(
                f"expected at least one group of literals and none empty, found sizes {self.sizes}"
            )

    @property
    def literals(self) -> int:
        """How many there are."""
        return sum(self.sizes)

    @cached_property
    def group(self) -> NDArray[np.int64]:
        """The group of each literal, (d,)."""
        return freeze(np.repeat(np.arange(len(self.sizes), dtype=np.int64), self.sizes))

    @cached_property
    def next_group(self) -> NDArray[np.int64]:
        """The first literal of the group after each literal's, (d,)."""
        return freeze(np.cumsum(self.sizes)[self.group].astype(np.int64))

    def conjunctions(self, size: int) -> int:
        """Return how many conjunctions of this size there are."""
        return self._from(0, size)

    def numbers(self, subsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of each conjunction, (q,).

        Parameters
        ----------
        subsets : (q, j) int64
            Literals of increasing groups.

        Raises
        ------
        WorkloadError
            If two literals are of one group, out of order, or there is no such literal.
        """
        given = self.checked(subsets)
        found, begin = np.zeros(len(given), dtype=np.int64), np.zeros(len(given), dtype=np.int64)
        for place in range(given.shape[1]):
            chosen = given[:, place]
            before = self.before(given.shape[1] - place - 1)
            found += before[chosen] - before[begin]
            begin = self.next_group[chosen]
        return found

    def checked(self, subsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return conjunctions as they are, (q, j).

        Raises
        ------
        WorkloadError
            If two literals are of one group, out of order, or there is no such literal.
        """
        given = np.asarray(subsets, dtype=np.int64)
        if given.ndim != 2 or (given.size and not 0 <= given.min() <= given.max() < self.literals):
            raise WorkloadError(
                f"expected literals from 0 to {self.literals - 1}, found an array of shape {given.shape}"
            )
        if (np.diff(self.group[given], axis=1) <= 0).any():
            raise WorkloadError("the literals of a conjunction are of different attributes, in their order")
        return given

    def before(self, rest: int) -> NDArray[np.int64]:
        """Return for each literal l how many conjunctions begin with a literal below l and have `rest` more, (d + 1,).

        Raises
        ------
        WorkloadError
            If there are too many to be numbered.
        """
        if self.conjunctions(rest + 1) > MOST_CONJUNCTIONS:
            raise WorkloadError(
                f"{self.literals:,} literals have {self.conjunctions(rest + 1):,} conjunctions of {rest + 1}; at most "
                f"{MOST_CONJUNCTIONS:,} are counted: take fewer columns, or a smaller degree"
            )
        each = [self._from(group + 1, rest) for group in range(len(self.sizes))]
        return freeze(
            np.concatenate(([0], np.cumsum(np.repeat(np.array(each, dtype=np.int64), self.sizes)))).astype(
                np.int64
            )
        )

    def moved(self, size: int, *, replaced: bool) -> int:
        """Return the largest number of conjunctions of this size whose counts differ between neighbours, each by 1.

        Of W groups, s of them with a single literal: C(W, j) for a record added or removed; for one replaced, the largest over
        c of C(W, j) + C(W - s + c, j) - 2 C(c, j). Privacy: C8 in docs/privacy.md. Test: `tests/queries/test_literals.py`.
        """
        groups = len(self.sizes)
        every = comb(groups, size)
        if not replaced:
            return every
        single = sum(1 for size_of_group in self.sizes if size_of_group == 1)
        return max(
            every + comb(groups - single + shared, size) - 2 * comb(shared, size)
            for shared in range(single + 1)
        )

    def _from(self, group: int, size: int) -> int:
        if size > LARGEST_SIZE:
            raise WorkloadError(f"conjunctions of {size} literals; expected at most {LARGEST_SIZE}")
        return self._polynomials[group][size] if size <= len(self.sizes) - group else 0

    @cached_property
    def _polynomials(self) -> Sequence[Sequence[int]]:
        """For each group the elementary symmetric polynomials of the sizes from it on, by size up to the largest."""
        found: list[list[int]] = [[1]]
        for size in reversed(self.sizes):
            last = found[-1]
            found.append(
                [
                    (last[j] if j < len(last) else 0) + (size * last[j - 1] if j else 0)
                    for j in range(min(len(last), LARGEST_SIZE) + 1)
                ]
            )
        return found[::-1]
