"""Polynomials of how many of a record's literals a query asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb, isfinite

from dpopt.errors import WorkloadError
from dpopt.queries.conjunctions.chosen_literals import ChosenLiterals
from dpopt.queries.conjunctions.monomials import POWERS, SETS, Monomials, multinomial
from dpopt.queries.polynomial_families.family_moves import Moves, check_approximation, check_norm
from dpopt.schema.schema import Schema


@dataclass(frozen=True, eq=False)
class SymmetricFamily:
    """Polynomials of how many of a record's literals a query asks for, s = sum of y_j over its literals j.

    p_x(y) = constant + sum_i c_i e_i, where e_i is s^i multiplied out (monomials "powers", the paper's basis) or C(s, i), the
    sum of all products of i different variables ("sets", the binomial basis). A monomial in the variables A has one and the
    same coefficient for all records that have all literals of A, and 0 for all others.

    Parameters
    ----------
    name : str
    literals : ChosenLiterals
        Variable number l of a query asks for literal l.
    monomials : Monomials
        "sets" or "powers" of as many variables.
    weights : (t,) tuple of float
        c_1, ..., c_t.
    constant : float
        c_0: public, the same for all records, without noise.
    width : int
        k: a query asks for at most so many literals.
    approximation : float
        gamma: how far p_x(y) is off at such queries, at most. Accuracy rests on it, privacy does not.

    Raises
    ------
    WorkloadError
        If the numbers do not fit together.
    """

    name: str
    literals: ChosenLiterals
    monomials: Monomials
    weights: tuple[float, ...]
    constant: float
    width: int
    approximation: float

    def __post_init__(self) -> None:
        number = self.literals.groups.literals
        if self.monomials.kind not in {SETS, POWERS} or self.monomials.variables != number:
            raise WorkloadError(
                f"{self.name}: expected all monomials in {number} variables, one for each literal"
            )
        if len(self.weights) != self.monomials.degree or not all(
            map(isfinite, (*self.weights, self.constant))
        ):
            raise WorkloadError(
                f"{self.name}: expected {self.monomials.degree} finite weights, found {self.weights}"
            )
        if not 1 <= self.width <= number:
            raise WorkloadError(f"{self.name}: found k = {self.width}; expected 1 to {number}")
        check_approximation(self.name, self.approximation)

    @property
    def schema(self) -> Schema:
        """What is recorded."""
        return self.literals.schema

    @property
    def norm(self) -> float:
        """The largest L1 norm of the coefficients of a record."""
        return self._sum(len(self.literals.groups.sizes), abs)

    @property
    def largest(self) -> float:
        """T: the largest absolute coefficient, the constant among them where it is a monomial."""
        own = [
            abs(self.coefficient(one)) for size in self._supports for one in self.monomials.exponents(size)
        ]
        return max([*own, abs(self.constant) if self.monomials.kind == POWERS else 0.0])

    def coefficient(self, exponents: tuple[int, ...]) -> float:
        """Return what a record with all its literals has as coefficient of a monomial with these exponents."""
        weight = self.weights[sum(exponents) - 1]
        return weight * multinomial(exponents) if self.monomials.kind == POWERS else weight

    def units(self, exponents: tuple[int, ...], unit: float) -> int:
        """Return the same in units."""
        return int(self.coefficient(exponents) / unit)

    def moves(self, unit: float) -> Moves:
        """Return how far neighbours are apart: exactly, over all pairs of records.

        Of W groups, g of them with one literal: a record added moves the C(W, s) supports of s literals, one replaced C(W, s) +
        C(W - g + c, s) - 2 C(c, s) for some c. Privacy: C8, C9 in docs/privacy.md. Test:
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
                    weight
                    * (comb(groups, size) + comb(groups - single + shared, size) - 2 * comb(shared, size))
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

    def _sum(self, literals: int, size_of: Callable[[float], float]) -> float:
        return sum(
            comb(literals, size) * size_of(self.coefficient(one))
            for size in self._supports
            for one in self.monomials.exponents(size)
        )
