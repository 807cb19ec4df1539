"""A released summary: noisy counts of conjunctions, and answers of queries with their bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.summaries.noise_bounds import deviations_for, noise_bound
from dpopt.algorithms.summaries.summary_plan import BETA, SummaryPlan
from dpopt.errors import TranscriptError, WorkloadError
from dpopt.formulations.answer_polynomial import AnswerPolynomial, best_answer
from dpopt.polynomials.targets import Target
from dpopt.queries.chosen_literals import Condition

MOST_TERMS = 5_000_000
"""Conjunctions that one answer adds up, at most."""

Sets = list[tuple[int, ...]]
Values = tuple[Fraction | None, ...]


@dataclass(frozen=True, slots=True)
class SummaryAnswer:
    """Which share of the records satisfies a query.

    Attributes
    ----------
    value : float
        The estimate, between 0 and 1.
    bound : float
        How far it is off at most, with the probability `confidence`: the sum of the next and of the noise. Under add-remove
        for tables of at most n0 records; see `docs/summaries.md` for others.
    approximation : float
        What is due to the polynomial, for any table; 0 but for rounding if the query is answered by inclusion and exclusion.
    standard_error : float
        That of the noise, or a little more.
    degree : int
        Of the polynomial: conjunctions of so many literals were added up.
    confidence : float
    """

    value: float
    bound: float
    approximation: float
    standard_error: float
    degree: int
    confidence: float


@dataclass(frozen=True, eq=False)
class Summary:
    """Noisy counts of conjunctions under differential privacy. Everything it holds may be published.

    Attributes
    ----------
    plan : SummaryPlan
    noisy : tuple of int64 arrays
        The noisy counts of each counted size, in the order of `LiteralGroups.numbers`.
    privacy : Mapping
        What was spent, charge by charge.
    """

    plan: SummaryPlan
    noisy: tuple[NDArray[np.int64], ...]
    privacy: Mapping[str, Any]

    def __post_init__(self) -> None:
        groups = self.plan.literals.groups
        for size, counts in zip(self.plan.sizes, self.noisy, strict=True):
            if counts.shape != (groups.conjunctions(size),):
                raise TranscriptError(
                    f"found {counts.size:,} counts of conjunctions of {size} literals; expected {groups.conjunctions(size):,}"
                )

    def __repr__(self) -> str:
        columns = len(self.plan.literals.groups.sizes)
        return (
            f"Summary({columns} columns, {self.plan.literals.groups.literals} literals, k={self.plan.width}, "
            f"epsilon={self.privacy['epsilon']}, delta={self.privacy['delta']:g}, {self.privacy['neighbours']})"
        )

    def answer(self, query: str, predicate: str = "and", *, confidence: float = 1.0 - BETA) -> SummaryAnswer:
        """Return which share of the records satisfies a query, with its bound.

        Parameters
        ----------
        query : str
            Conditions with commas between them, "smoker=yes,age>=50", at most k and on different columns.
        predicate : str
            "and" (all hold), "or" (at least one) or "atleast:R" (at least R).
        confidence : float
            Of the bound.

        Raises
        ------
        WorkloadError
            If there are more conditions than the summary was made for, the conditions mix values that are counted with their
            negations, or the confidence is not between 0 and 1.
        SchemaError
            If there is no such attribute or value.
        PolynomialError
            If there is no such predicate.
        """
        conditions = self.plan.literals.conditions(query)
        if len(conditions) > self.plan.width:
            raise WorkloadError(
                f"found {len(conditions)} conditions; this summary answers queries of at most {self.plan.width}, and a "
                f"polynomial for fewer says nothing of more: release one with --k {len(conditions)}"
            )
        if not 0.0 < confidence < 1.0:
            raise WorkloadError(f"the confidence must lie between 0 and 1, found {confidence!r}")
        target = Target.named(predicate, len(conditions)).values
        ways = [
            padded
            for way in _ways(conditions, target)
            for padded in self._padded(*way, {one.group for one in conditions})
        ]
        if self.plan.relation is NeighbouringRelation.ADD_REMOVE:
            ways = _with_missing_records(ways)
        found = [(sets, self._polynomial_of(sets, values, confidence)) for sets, values in ways]
        best = min(found, key=lambda way: self._bound(way[1], [len(one) for one in way[0]], confidence))
        return self._answered(*best, confidence)

    def _padded(self, sets: Sets, target: Values, used: set[int]) -> list[tuple[Sets, Values]]:
        """Return the query with 0, 1, ... conditions more that hold for every record: all values of an attribute with few.

        So a query of few literals is answered from larger conjunctions, where those have less noise.
        """
        literals = self.plan.literals
        groups = literals.groups
        free = [
            group
            for group, size in enumerate(groups.sizes)
            if group not in used and size == literals.schema.attributes[group].size
        ]
        free.sort(key=lambda group: groups.sizes[group])
        found, padded, values = [(sets, target)], list(sets), target
        for group in free[: max(0, self.plan.sizes[-1] - len(sets))]:
            first = int(sum(groups.sizes[:group]))
            padded = sorted([*padded, tuple(range(first, first + groups.sizes[group]))])
            values = (None, *values)
            if max(_symmetric([len(one) for one in padded], len(padded))) > MOST_TERMS:
                break
            found.append((padded, values))
        return found

    def polynomial(self, sets: Sequence[int], target: Values, confidence: float) -> AnswerPolynomial:
        """Return the polynomial for a query whose conditions hold for so many literals each; its numbers are shares."""
        terms = np.sqrt(np.array(_symmetric(sets, min(len(sets), self.plan.sizes[-1])), dtype=np.float64)[1:])
        deviations = self.plan.deviations[: terms.size] * terms / self.plan.size
        return best_answer(target, deviations, deviations_for(1.0 - confidence))

    def conjunctions_of(
        self, literals: NDArray[np.int64], predicate: str = "and", *, confidence: float = 1.0 - BETA
    ) -> tuple[NDArray[np.float64], float]:
        """Return the answers to many queries of as many literals each, (q,), not cut at 0 and 1, and the bound of each.

        Parameters
        ----------
        literals : (q, k) int64
            Numbers of literals, of increasing groups in each row.
        predicate : str
            As for `answer`.
        confidence : float
            Of the bound of one answer.

        Raises
        ------
        WorkloadError
            If there are too many literals, or they are none of the summary.
        """
        literals = self.plan.literals.groups.checked(literals)
        width = literals.shape[1]
        if not 1 <= width <= self.plan.width:
            raise WorkloadError(
                f"found queries of {width} literals; this summary answers 1 to {self.plan.width}"
            )
        polynomial = self.polynomial([1] * width, Target.named(predicate, width).values, confidence)
        values = np.full(len(literals), polynomial.coefficients[0])
        for j, coefficient, noisy in self._terms(polynomial):
            for chosen in combinations(range(width), j):
                numbers = self.plan.literals.groups.numbers(literals[:, chosen])
                values += coefficient * noisy[numbers] / self.plan.size
        return values, self._bound(polynomial, [1] * width, confidence)

    def _answered(self, sets: Sets, polynomial: AnswerPolynomial, confidence: float) -> SummaryAnswer:
        value, degree = polynomial.coefficients[0], 0
        for j, coefficient, noisy in self._terms(polynomial):
            value += coefficient * int(noisy[self._numbers(sets, j)].sum()) / self.plan.size
            degree = j
        return SummaryAnswer(
            value=min(1.0, max(0.0, value)),
            bound=self._bound(polynomial, [len(one) for one in sets], confidence),
            approximation=polynomial.approximation,
            standard_error=polynomial.deviation,
            degree=degree,
            confidence=confidence,
        )

    def _terms(self, polynomial: AnswerPolynomial) -> list[tuple[int, float, NDArray[np.int64]]]:
        """Return size, coefficient and noisy counts where the coefficient is not 0."""
        return [
            (size, polynomial.coefficients[size], noisy)
            for size, noisy in zip(self.plan.sizes, self.noisy, strict=True)
            if size < len(polynomial.coefficients) and polynomial.coefficients[size]
        ]

    def _polynomial_of(self, sets: Sets, target: Values, confidence: float) -> AnswerPolynomial:
        return self.polynomial([len(one) for one in sets], target, confidence)

    def _bound(self, polynomial: AnswerPolynomial, sets: Sequence[int], confidence: float) -> float:
        scales = dict(zip(self.plan.sizes, self.plan.scales, strict=True))
        used = [(size, abs(coefficient) * scales[size]) for size, coefficient, _ in self._terms(polynomial)]
        numbers = _symmetric(sets, len(polynomial.coefficients) - 1)
        noise = noise_bound(
            np.array([scale for _, scale in used]) / self.plan.size,
            np.array([numbers[size] for size, _ in used], dtype=np.float64),
            1.0 - confidence,
            gaussian=self.plan.gaussian,
        )
        return polynomial.approximation + noise

    def _numbers(self, sets: Sets, size: int) -> NDArray[np.int64]:
        terms = _symmetric([len(one) for one in sets], size)[size]
        if terms > MOST_TERMS:
            raise WorkloadError(
                f"the conditions stand for {terms:,} conjunctions of {size} values, at most {MOST_TERMS:,}; narrow them"
            )
        parts = [
            np.stack(np.meshgrid(*chosen, indexing="ij"), axis=-1).reshape(-1, size)
            for chosen in combinations(sets, size)
        ]
        return self.plan.literals.groups.numbers(np.concatenate(parts).astype(np.int64))

    def statement(self) -> dict[str, Any]:
        """Return all but the counts, as JSON."""
        return {"dpopt_summary": 1, "privacy": dict(self.privacy), "plan": self.plan.to_json()}


def _ways(conditions: Sequence[Condition], target: Values) -> list[tuple[Sets, Values]]:
    """Return in which ways a query is a function of how many sets of literals hold: as asked, and all conditions negated."""
    as_asked = [one.true_by for one in conditions if one.true_by is not None]
    negated = [one.false_by for one in conditions if one.false_by is not None]
    found = []
    if len(as_asked) == len(conditions):
        found.append((as_asked, target))
    if len(negated) == len(conditions):
        found.append((negated, target[::-1]))
    if not found:
        raise WorkloadError(
            "the conditions mix values that are counted with values that are not; release a summary with --literals all, which "
            "counts both"
        )
    return found


def _with_missing_records(ways: list[tuple[Sets, Values]]) -> list[tuple[Sets, Values]]:
    """Return the ways in which records that are missing from n0 count nothing, which satisfy no literal: f(0) = 0.

    The constant of a polynomial stands for n0 records, whatever their true number is. Where f(0) is 0, or no record has s = 0
    and 0 is asked for all the same, the bound holds for any number of records up to n0. All ways are returned if there is none.
    """
    found = [
        (sets, values if values[0] is not None else (Fraction(0), *values[1:]))
        for sets, values in ways
        if not values[0]
    ]
    return found or ways


def _symmetric(numbers: Sequence[int], most: int) -> list[int]:
    """Return the elementary symmetric polynomials of the numbers, of degrees 0 to `most`."""
    found = [1, *([0] * most)]
    for number in numbers:
        for degree in range(most, 0, -1):
            found[degree] += number * found[degree - 1]
    return found
