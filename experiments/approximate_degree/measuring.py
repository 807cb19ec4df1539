"""What is measured: least degrees, coefficients beside the closed form, predicted errors, and solvers beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import comb, log, sqrt
from time import perf_counter
from typing import Any

from dpopt.polynomials import Target, least_coefficients, least_degree, least_predicted_error, verify_least_degree
from dpopt.polynomials.coefficient_budgets import direct_error, rounded_noise_weights, sensitivity_weights
from dpopt.polynomials.comparison import binomial_sensitivity, inclusion_exclusion_sensitivity, monomial_sensitivity
from dpopt.polynomials.constructions import best_split, chebyshev_degree, chebyshev_polynomial, sherstov_polynomial
from dpopt.polynomials.minimax import ERRORS, degree_table

Result = dict[str, Any]
SMALL_ERRORS = ("1e-1", "1e-2", "1e-3", "1e-4", "1e-6", "1e-9")


def degrees(largest: int) -> Iterator[Result]:
    """Yield the table of least degrees of each predicate, with the seconds that search and proof took together."""
    for predicate in ("or", "atleast:2", "atleast:3", "atleast:4"):
        started = perf_counter()
        entries = list(degree_table(predicate, range(1, largest + 1)))
        rows: dict[str, list[list[int | None]]] = {}
        for entry in entries:
            rows.setdefault(str(entry.found.error_limit), []).append([entry.width, entry.found.degree, entry.chebyshev])
        seconds = round(perf_counter() - started, 2)
        yield {"predicate": predicate, "entries": len(entries), "seconds": seconds, "rows": rows}


def small_errors(widths: Sequence[int]) -> Iterator[Result]:
    """Yield least degrees of OR for ever smaller errors, beside the closed form and (k ln(1 / error))^(1/2)."""
    for width in widths:
        for error in SMALL_ERRORS:
            allowed = Fraction(error)
            found = least_degree(
                Target.disjunction(width), allowed, start=min(width, round(sqrt(width * log(1 / allowed))))
            )
            verify_least_degree(found)
            yield {
                "k": width,
                "error": error,
                "degree": found.degree,
                "closed_form": chebyshev_degree(width, allowed),
                "root": round(sqrt(width * log(1 / allowed)), 2),
            }


def constructions(widths: Sequence[int]) -> Iterator[Result]:
    """Yield the degree of the construction for "at least r of k" beside the least one."""
    for width in widths:
        for needed in (2, 4):
            for allowed in ERRORS[1:]:
                target = Target.at_least(needed, width)
                degree = next(
                    degree
                    for degree in range(needed - 1, width + 1)
                    if sherstov_polynomial(needed, width, degree).error(target).value <= allowed
                )
                least = least_degree(target, allowed)
                yield {
                    "k": width,
                    "r": needed,
                    "error": str(allowed),
                    "construction": degree,
                    "R": width if degree == width else best_split(needed, width, degree),
                    "least": least.degree,
                }


def coefficients(cases: Sequence[tuple[int, int, str]]) -> Iterator[Result]:
    """Yield n times the L1 sensitivity of OR in each expansion, and with the least coefficients."""
    for attributes, width, error in cases:
        allowed = Fraction(error)
        degree = chebyshev_degree(width, allowed)
        closed = chebyshev_polynomial(width, degree)
        weights = sensitivity_weights(attributes, degree)
        least = least_coefficients(Target.disjunction(width), degree, allowed, weights)
        reached = closed.error(Target.disjunction(width)).value
        yield {
            "d": attributes,
            "k": width,
            "error": error,
            "degree": degree,
            "monomial": float(monomial_sensitivity(closed, attributes)),
            "binomial": float(binomial_sensitivity(closed, attributes)),
            "least": float(least.objective),
            "exact": inclusion_exclusion_sensitivity(width, attributes),
            "largest": float(max(map(abs, closed.coefficients))),
            "bound": float(max(1 + reached * (2**j - 1) for j in range(degree + 1))),
            "largest_of_least": float(max(map(abs, least.polynomial.coefficients))),
        }


def predicted(cases: Sequence[tuple[int, int, int]]) -> Iterator[Result]:
    """Yield the least predicted error of a noisy release of OR, and that of noise on each query alone."""
    for attributes, width, records in cases:
        queries = sum(comb(attributes, j) for j in range(1, width + 1))
        given: dict[str, Any] = {
            "attributes": attributes,
            "records": records,
            "rho": 0.1,
            "queries": queries,
            "beta": 0.05,
        }
        found = least_predicted_error(Target.disjunction(width), rounded_noise_weights(width, **given))
        yield {
            "d": attributes,
            "k": width,
            "n": records,
            "degree": found.polynomial.degree,
            "error": float(found.polynomial.error(found.problem.target).value),
            "predicted": float(found.objective),
            "direct": direct_error(width, **given),
        }
