"""Monomials in 0/1 variables: which there are, which number each has, and which of them are 1 at a point."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, factorial, prod
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.constraints import OneOf, Whole, constrain
from dpopt.errors import WorkloadError
from dpopt.queries.conjunctions.literals import LARGEST_SIZE, LiteralGroups

MOST_MONOMIALS = 20_000_000
"""Coefficients of a release, at most: they are computed, get noise and are kept."""
SETS, POWERS, LISTED = "sets", "powers", "listed"


@dataclass(frozen=True, eq=False)
class Monomials:
    """The monomials of a family of polynomials in m variables y_1, ..., y_m."""

    kind: Annotated[str, OneOf("the kind of monomials", (SETS, POWERS, LISTED))]
    """"sets": the products of 1, ..., t different variables, C(m, 1) + ... + C(m, t) of them. "powers": the constant 1
    and all monomials with exponents, y_1^2 y_3 among them, C(m + t, t) in all; at 0/1 points y^2 = y, so that several
    are equal there, and each has its number all the same (Thaler, Ullman and Vadhan 2012, section 2.3). "listed": those
    of `listed`. The first two are numbered by degree, then in lexicographic order of their variables."""
    variables: Annotated[int, Whole("the number of variables")]
    """m."""
    degree: Annotated[int, Whole("the degree", most=LARGEST_SIZE)]
    """t."""
    listed: tuple[tuple[int, ...], ...] = ()
    """The variables of each monomial from 0 on, not decreasing; a variable as often as its exponent says; () is the
    constant."""

    def __post_init__(self) -> None:
        constrain(self, WorkloadError)
        if self.kind == LISTED:
            self._check_listed()
        elif self.listed:
            raise WorkloadError(f"monomials {self.kind!r} are all there are; none can be listed")
        if self.count > MOST_MONOMIALS:
            raise WorkloadError(self._too_many())

    @classmethod
    def all_sets(cls, variables: int, degree: int) -> Monomials:
        """Return the products of 1, ..., t different variables."""
        return cls(SETS, variables, degree)

    @classmethod
    def all_powers(cls, variables: int, degree: int) -> Monomials:
        """Return the constant and all monomials with exponents of degree 1, ..., t."""
        return cls(POWERS, variables, degree)

    @classmethod
    def of(cls, variables: int, listed: Sequence[Sequence[int]]) -> Monomials:
        """Return monomials that are listed one by one; variables of each in any order."""
        ordered = tuple(tuple(sorted(map(int, one))) for one in listed)
        return cls(LISTED, variables, max([1, *map(len, ordered)]), ordered)

    @property
    def count(self) -> int:
        """N: how many there are."""
        if self.kind == LISTED:
            return len(self.listed)
        return number_of_monomials(self.kind, self.variables, self.degree)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The number of the first monomial of each degree 0, ..., t, and N; of "sets" and "powers" alone."""
        constant = int(self.kind == POWERS)
        found = [0, constant]
        for degree in range(1, self.degree + 1):
            found.append(found[-1] + self._groups(degree).conjunctions(degree))
        return tuple(found)

    def numbers(self, monomials: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of monomials of one degree, (q,); of "sets" and "powers" alone.

        Rows (q, j) of variables: increasing ("sets") or not decreasing ("powers").
        """
        degree = monomials.shape[1]
        if not 1 <= degree <= self.degree or self.kind == LISTED:
            raise WorkloadError(f"found monomials of degree {degree}; expected 1 to {self.degree}")
        # Sorted multisets of m are sets of m + j - 1 once the i-th variable is moved up by i, in the same order.
        shift = np.arange(degree) if self.kind == POWERS else np.zeros(degree, dtype=np.int64)
        return self.starts[degree] + self._groups(degree).numbers(monomials + shift)

    def true_at(self, ones: Sequence[int]) -> NDArray[np.int64]:
        """Return the numbers of the monomials that are 1 where just these variables are 1, (M,), increasing."""
        given = np.array(sorted(ones), dtype=np.int64)
        if given.size and not 0 <= given[0] <= given[-1] < self.variables:
            raise WorkloadError(f"found the variables {given.tolist()}; expected 0 to {self.variables - 1}")
        if (np.diff(given) == 0).any():
            raise WorkloadError(f"found a variable twice among {given.tolist()}")
        if self.kind == LISTED:
            true = np.zeros(self.variables + 1, dtype=np.bool_)
            true[given] = True
            true[-1] = True
            return np.flatnonzero(true[self._table].all(axis=1)).astype(np.int64)
        return np.sort(self.true_at_each(given[None, :])[0])

    def true_at_each(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers (q, M) of the monomials that are 1 where just these variables (q, k) are.

        Variables increase in each row; of "sets" and "powers" alone.
        """
        width = points.shape[1]
        found = [np.zeros((len(points), int(self.kind == POWERS)), dtype=np.int64)]
        for size in range(1, min(width, self.degree) + 1):
            for chosen in combinations(range(width), size):
                part = points[:, chosen]
                found += [self.numbers(np.repeat(part, one, axis=1))[:, None] for one in self.exponents(size)]
        return np.concatenate(found, axis=1)

    def exponents(self, size: int) -> list[tuple[int, ...]]:
        """Return the exponents >= 1 that monomials in `size` variables have, up to the degree."""
        if self.kind == SETS:
            return [(1,) * size]
        return [
            tuple(b - a for a, b in zip((0, *cuts), (*cuts, degree), strict=True))
            for degree in range(size, self.degree + 1)
            for cuts in combinations(range(1, degree), size - 1)
        ]

    def most_true(self, ones: int) -> int:
        """Return M: the most that are 1 at a point with this number of ones. Listed ones: all of at most k variables."""
        if self.kind == LISTED:
            return sum(1 for one in self.listed if len(set(one)) <= ones)
        return number_of_monomials(self.kind, min(ones, self.variables), self.degree)

    def _groups(self, degree: int) -> LiteralGroups:
        return LiteralGroups((1,) * (self.variables + (degree - 1 if self.kind == POWERS else 0)))

    @cached_property
    def _table(self) -> NDArray[np.int64]:
        """The variables of each listed monomial, filled up with the number of a variable that is always 1, (N, t)."""
        table = np.full((self.count, self.degree), self.variables, dtype=np.int64)
        for place, one in enumerate(self.listed):
            table[place, : len(one)] = one
        return freeze(table)

    def _check_listed(self) -> None:
        if not self.listed:
            raise WorkloadError("found no monomial; list at least one")
        for one in self.listed:
            if len(one) > self.degree or list(one) != sorted(one):
                raise WorkloadError(
                    f"found the monomial {one}; expected at most {self.degree} variables, not decreasing"
                )
            if one and not 0 <= one[0] <= one[-1] < self.variables:
                raise WorkloadError(f"found the monomial {one}; the variables are 0 to {self.variables - 1}")
        if len(set(self.listed)) != len(self.listed):
            raise WorkloadError("found a monomial twice; list each once")

    def _too_many(self) -> str:
        degrees, variables = range(1, self.degree), range(1, self.variables)
        degree = bisect_right(degrees, MOST_MONOMIALS, key=lambda t: number_of_monomials(self.kind, self.variables, t))
        most = bisect_right(variables, MOST_MONOMIALS, key=lambda m: number_of_monomials(self.kind, m, self.degree))
        instead = f"degree {self.degree} in at most {max(1, most):,} variables is possible"
        if degree:
            instead += f", or degree {degree} in {self.variables:,}"
        return (
            f"polynomials of degree {self.degree} in {self.variables:,} variables have {self.count:,} coefficients, at "
            f"most {MOST_MONOMIALS:,} are released: {instead}"
        )


def multinomial(exponents: Sequence[int]) -> int:
    """Return how often a monomial with these exponents occurs when (y_1 + ... + y_m)^i is multiplied out."""
    return factorial(sum(exponents)) // prod(factorial(one) for one in exponents)


def number_of_monomials(kind: str, variables: int, degree: int) -> int:
    """Return N for "sets" or "powers"."""
    if kind == POWERS:
        return comb(variables + degree, degree)
    return sum(comb(variables, size) for size in range(1, degree + 1))
