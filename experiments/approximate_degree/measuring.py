"""What is measured: least degrees, coefficients beside the closed form, predicted errors, and solvers beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from math import comb, log, sqrt
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import DpoptError
from dpopt.models.polynomials.coefficient_budget import limited_coefficients, read_limited
from dpopt.polynomials import (
    Basis,
    Problem,
    Solution,
    Target,
    best_polynomial,
    least_coefficients,
    least_degree,
    least_predicted_error,
    minimax_problem,
    verify,
    verify_least_degree,
)
from dpopt.polynomials.coefficient_budgets import direct_error, rounded_noise_weights, sensitivity_weights
from dpopt.polynomials.constructions import chebyshev_degree, chebyshev_polynomial
from dpopt.polynomials.exact_optimum import WIDEST_EXACT, exact_solution
from dpopt.polynomials.minimax import ERRORS, degree_table
from dpopt.polynomials.polynomial import basis_table
from dpopt.polynomials.sensitivities import binomial_sensitivity, inclusion_exclusion_sensitivity, monomial_sensitivity
from dpopt.polynomials.solver_answers import Statement, answer_to, floats, linear_solver, linear_solvers, stated_model
from dpopt.polynomials.targets import OR
from experiments.approximate_degree.sherstov import sherstov_construction

Result = dict[str, Any]
LARGEST_SIMPLEX = 40
"""The largest degree for which the exact simplex method is timed."""
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
                made = sherstov_construction(needed, width, allowed)
                least = least_degree(Target.at_least(needed, width), allowed)
                yield {
                    "k": width,
                    "r": needed,
                    "error": str(allowed),
                    "construction": made.polynomial.degree,
                    "R": made.interpolated,
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


def solvers(sizes: Sequence[tuple[int, int]], names: Sequence[str]) -> Iterator[Result]:
    """Yield how far each solver's least error is from the exact one, and how long it took; exchange alone beside them."""
    for width, degree in sizes:
        target = Target.at_least(2, width)
        started = perf_counter()
        exact = best_polynomial(target, degree)
        row = {"k": width, "degree": degree, "error": float(exact.objective)}
        yield {**row, "solver": "exchange", "seconds": perf_counter() - started, "distance": 0.0}
        for name in names:
            yield {**row, "solver": name, **_answered(exact, stated_model(exact.problem), name)}
            finished = best_polynomial(target, degree, solver=name)
            verify(finished)
            if finished.objective != exact.objective:
                raise DpoptError(f"{name} led to another optimum")


def approximations(cases: Sequence[tuple[str, int, int]], names: Sequence[str]) -> Iterator[Result]:
    """Yield least errors by exchange and the exact simplex method, and of solvers in each basis; their distance is exact."""
    for predicate, width, degree in cases:
        target = Target.named(predicate, width)
        started = perf_counter()
        exact = best_polynomial(target, degree)
        seconds = {"exchange": perf_counter() - started}
        if width <= WIDEST_EXACT and degree <= LARGEST_SIMPLEX:
            started = perf_counter()
            if exact_solution(exact.problem, None).objective != exact.objective:
                raise DpoptError("the exact simplex method found another optimum")
            seconds["exact simplex"] = perf_counter() - started
        row = {"predicate": predicate, "k": width, "degree": degree, "error": float(exact.objective)}
        for method, time in seconds.items():
            yield {**row, "method": method, "basis": "", "seconds": time, "distance": 0.0, "ended": "proved"}
        for basis in Basis if predicate == OR else (Basis.CHEBYSHEV,):
            stated = _in_basis(exact.problem, basis)
            for name in names:
                yield {**row, "method": name, "basis": basis.value, **_answered(exact, stated, name)}


def _in_basis(problem: Problem, basis: Basis) -> Statement:
    """Return the least error as a program in the coefficients of a basis: the page's own, or CB-4 without a limit."""
    if basis is Basis.CHEBYSHEV:
        return stated_model(problem)
    table = floats_of(basis_table(basis, problem.target.width, problem.degree))
    values = floats(problem.target.values)
    model = limited_coefficients(values, problem.degree, np.inf, table, keeps_zero=problem.keeps_zero)
    return model, basis, lambda point: read_limited(point, table)


def floats_of(table: Sequence[Sequence[Fraction]]) -> NDArray[np.float64]:
    """Return a table of fractions as floats."""
    return np.array([floats(row) for row in table])


def _answered(exact: Solution, stated: Statement, name: str) -> Result:
    """Return how long a solver took, why it ended, and by how much its polynomial, evaluated exactly, errs more."""
    solver = linear_solver(name)
    _start(name)
    found = answer_to(exact.problem, stated, solver)
    above = None if found.objective is None else float(found.objective - exact.objective)
    return {"seconds": found.seconds, "distance": above, "ended": found.ended}


@cache
def _start(name: str) -> None:
    """Solve a small problem, so that the process of the solver is up."""
    answer_to(small := minimax_problem(Target.disjunction(3), 1), stated_model(small), linear_solver(name))


def all_solvers() -> tuple[str, ...]:
    """Return the solvers that are compared."""
    return tuple(name for name in linear_solvers() if name != "pdlp")
