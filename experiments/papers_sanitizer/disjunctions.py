"""Remark 4.7 of Thaler, Ullman and Vadhan 2012: "at least r of k" from disjunctions, of any release.

[s >= r] = sum_j w_j sum_{|J| = j} OR_J with whole weights w_j (`dpopt.polynomials.targets`), so the error is at most
sum_J |w_|J|| times that of a disjunction: once for r = 1, 2 k - 1 times for r = 2, and so on in powers of k.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.models.polynomials.answer_polynomial import best_answer
from dpopt.polynomials.targets import Target, disjunction_weights
from dpopt.synopses.sanitizers.sanitized import SanitizedPolynomial
from dpopt.synopses.sanitizers.sanitizer_plan import SanitizerFigures
from dpopt.synopses.summaries.noise_bounds import check_confidence, deviations_for, noise_bound
from dpopt.synopses.summaries.summary import Summary
from dpopt.synopses.summaries.summary_plan import BETA, SummaryPlan


class Disjunctions(Protocol):
    """What answers many disjunctions of as many literals each, and bounds each answer."""

    def __call__(self, literals: NDArray[np.int64], confidence: float) -> tuple[NDArray[np.float64], float]:
        """Return the answers, (q,), and the bound of each, for queries (q, j) int64."""
        ...


def through_disjunctions(
    disjunctions: Disjunctions,
    literals: NDArray[np.int64],
    needed: int,
    *,
    confidence: float = 1.0 - BETA,
) -> tuple[NDArray[np.float64], float]:
    """Return the answers to many queries "at least r of k", (q,), not cut at 0 and 1, and the bound of each.

    Parameters
    ----------
    disjunctions : callable
        `of_summary(summary)` or `of_polynomial(sanitized)`, or anything else that answers and bounds disjunctions.
    literals : (q, k) int64
        Numbers of literals, increasing in each row.
    needed : int
        r.
    confidence : float
        Of the bound of one answer.

    Raises
    ------
    PolynomialError
        If r is out of range.
    WorkloadError
        If the release does not answer such disjunctions.
    """
    check_confidence(confidence)
    weights = disjunction_weights(needed, literals.shape[1])
    each = 1.0 - (1.0 - confidence) / _number_of_disjunctions(weights)
    values, bound = np.zeros(len(literals)), 0.0
    for size, weight in enumerate(weights):
        for chosen in combinations(range(literals.shape[1]), size) if weight else ():
            found, off = disjunctions(literals[:, chosen], each)
            values += weight * found
            bound += abs(weight) * off
    return values, bound


def of_summary(summary: Summary) -> Disjunctions:
    """Return a summary as what answers disjunctions of its literals."""

    def answered(literals: NDArray[np.int64], confidence: float) -> tuple[NDArray[np.float64], float]:
        return summary.conjunctions_of(literals, "or", confidence=confidence)

    return answered


def of_polynomial(sanitized: SanitizedPolynomial) -> Disjunctions:
    """Return a release of the generic sanitizer for disjunctions as what answers them; that it is for those is not checked."""

    def answered(literals: NDArray[np.int64], confidence: float) -> tuple[NDArray[np.float64], float]:
        return sanitized.answers_of(literals, confidence=confidence)

    return answered


def predicted_through_disjunctions(plan: SummaryPlan, needed: int) -> float:
    """Return how far "at least r of k" queries are off at most if they are answered from a summary's disjunctions.

    With probability 95 % for all queries of k = `plan.width` literals together: sum_j |w_j| C(k, j) times the bound of
    disjunctions of j literals that holds for all disjunctions of each such size together. Compare with `plan_summary(...,
    predicate="atleast:r").predicted`.

    Raises
    ------
    PolynomialError
        If r is out of range.
    """
    weights = disjunction_weights(needed, plan.width)
    asked = sum(plan.literals.groups.conjunctions(size) for size, weight in enumerate(weights) if weight)
    return sum(
        abs(weight) * comb(plan.width, size) * _bound_of_disjunctions(plan, size, asked)
        for size, weight in enumerate(weights)
        if weight
    )


def predicted_through_polynomial(figures: SanitizerFigures, needed: int) -> float:
    """Return the same for a release of the generic sanitizer for disjunctions; that it is for those is not checked.

    Raises
    ------
    PolynomialError
        If r is out of range.
    WorkloadError
        If the release is for any number of variables.
    """
    if figures.width is None:
        raise WorkloadError(
            f"{figures.name} is for any number of variables; expected disjunctions of at most k"
        )
    weights = disjunction_weights(needed, figures.width)
    used = [size for size, weight in enumerate(weights) if weight]
    asked = sum(comb(figures.monomials.variables, size) for size in used)
    return sum(
        abs(weights[size])
        * comb(figures.width, size)
        * figures.error_bound(figures.monomials.most_true(size), BETA, queries=asked)
        for size in used
    )


def _bound_of_disjunctions(plan: SummaryPlan, width: int, queries: int) -> float:
    """Return how far disjunctions of so many literals are off at most, all that are asked together."""
    most = min(width, plan.sizes[-1])
    terms = np.array([comb(width, size) for size in range(1, most + 1)], dtype=np.float64)
    scales = np.full(most, np.inf)
    for size, scale in zip(plan.sizes, plan.scales, strict=True):
        if size <= most:
            scales[size - 1] = scale / plan.size
    deviations = scales * (1.0 if plan.gaussian else 2.0**0.5)
    answer = best_answer(
        Target.disjunction(width).values, np.sqrt(terms) * deviations, deviations_for(BETA, queries)
    )
    coefficients = np.zeros(most)
    coefficients[: len(answer.coefficients) - 1] = np.abs(answer.coefficients[1:])
    used = coefficients > 0
    noise = noise_bound(
        coefficients[used] * scales[used], terms[used], BETA, gaussian=plan.gaussian, queries=queries
    )
    return answer.approximation + noise


def _number_of_disjunctions(weights: tuple[int, ...]) -> int:
    width = len(weights) - 1
    return sum(comb(width, size) for size, weight in enumerate(weights) if weight)
