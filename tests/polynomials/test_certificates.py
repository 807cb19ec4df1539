"""Certificates and their files: what is true is verified and read back, everything else is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpopt.errors import PolynomialError, ReleaseFolderError
from dpopt.polynomials import (
    Basis,
    LeastDegree,
    Polynomial,
    Problem,
    Target,
    Witness,
    best_polynomial,
    least_coefficients,
    least_degree,
    least_error_within,
    verify,
)
from dpopt.polynomials.certificates import Solution, lower_bound, objective_value
from dpopt.polynomials.coefficient_budgets import sensitivity_weights
from dpopt.polynomials.minimax import degree_table, read_solution, write_solution

HALF = Fraction(1, 2)


def best() -> Solution:
    return best_polynomial(Target.disjunction(8), 3)


def _moved(witness: Witness) -> Witness:
    return Witness((*witness.points[:-1], witness.points[-1] - 1), witness.weights)


def _polynomial(one: Solution, *first: Fraction, width: int = 8, more: tuple[Fraction, ...] = ()) -> Solution:
    """Return the solution with other coefficients: these at the beginning, those at the end."""
    coefficients = (*first, *one.polynomial.coefficients[len(first) :], *more)
    return replace(one, polynomial=Polynomial(width, coefficients))


def _witness(one: Solution, factor: int) -> Solution:
    return replace(one, witness=Witness(one.witness.points, tuple(factor * y for y in one.witness.weights)))


def _weighted(one: Solution, weight: Fraction | int) -> Solution:
    """Let errors at a point of the witness count less."""
    target = one.problem.target
    weights = [weight if s == one.witness.points[-1] else 1 for s in range(target.width + 1)]
    return replace(one, problem=replace(one.problem, target=target.weighted(weights)))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda one: replace(one, objective=one.objective / 2), "is stated"),
        (lambda one: _polynomial(one, Fraction(1, 9)), "at 0"),
        (lambda one: _polynomial(one, Fraction(0), HALF), "is stated"),
        (lambda one: _polynomial(one, more=(HALF,)), "degree 4"),
        (lambda one: _polynomial(one, width=9), "k = 9"),
        (lambda one: replace(one, witness=Witness((), ())), "nothing shows"),
        (lambda one: replace(one, witness=_moved(one.witness)), "pulls at coefficient"),
        (lambda one: _witness(one, 2), "add up to 2"),
        (lambda one: _witness(one, -1), "nothing shows"),
        (lambda one: replace(one, witness=Witness((99,), (HALF,))), "outside"),
        (lambda one: replace(one, problem=replace(one.problem, degree=4, weights=())), "coefficient 4"),
        (lambda one: replace(one, problem=replace(one.problem, keeps_zero=False)), "add up to"),
        (lambda one: _weighted(one, 0), "do not count"),
        (lambda one: _weighted(one, Fraction(1, 2)), "add up to"),
    ],
)
def test_false_certificates_are_refused(change: Callable[[Solution], Solution], says: str) -> None:
    with pytest.raises(PolynomialError, match=says):
        verify(change(best()))


def test_a_witness_has_no_point_twice() -> None:
    for points, weights in (((1, 1), (HALF, HALF)), ((1,), (HALF, HALF))):
        with pytest.raises(PolynomialError, match="twice"):
            Witness(points, weights)


@pytest.mark.parametrize(
    ("degree", "changes", "says"),
    [
        (4, {}, "from 0 to k"),
        (1, {"weights": (HALF, -HALF)}, "below 0"),
        (1, {"weights": (HALF,)}, "2 of them"),
        (1, {"error_limit": -HALF}, "error"),
        (1, {"coefficient_limit": -HALF}, "size"),
    ],
)
def test_problems_out_of_range_are_refused(degree: int, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(PolynomialError, match=says):
        Problem(Target.disjunction(3), degree, keeps_zero=True, **changes)


def test_limits_are_held_against_the_polynomial() -> None:
    found = least_coefficients(Target.disjunction(6), 4, Fraction(1, 10), sensitivity_weights(9, 4), solver=None)
    with pytest.raises(PolynomialError, match="limit"):
        objective_value(replace(found.problem, error_limit=Fraction(1, 11)), found.polynomial)
    limited = least_error_within(Target.disjunction(6), 4, Fraction(1), Basis.MONOMIAL, solver=None)
    with pytest.raises(PolynomialError, match="coefficient"):
        objective_value(replace(limited.problem, coefficient_limit=Fraction(9, 10)), limited.polynomial)


@pytest.mark.parametrize("seed", range(30))
def test_no_polynomial_is_below_the_bound_of_any_witness(seed: int) -> None:
    """The theorem, on random problems, polynomials and witnesses of every kind."""
    generator = np.random.default_rng(seed)
    width = int(generator.integers(2, 7))
    degree = int(generator.integers(0, width + 1))

    def numbers(size: int) -> tuple[Fraction, ...]:
        return tuple(Fraction(int(one), 7) for one in generator.integers(-9, 10, size))

    errors_count = [1 + abs(one) if seed % 2 else Fraction(1) for one in numbers(width + 1)]
    target = Target.table(numbers(width + 1)).weighted(errors_count)
    basis = list(Basis)[seed % 3]
    coefficients = numbers(degree + 1)
    limit = max(map(abs, coefficients), default=Fraction(0))
    polynomial = Polynomial.from_basis(width, coefficients, basis)
    keeps = polynomial.at(0) == target.values[0]
    weights = tuple(abs(one) for one in numbers(degree + 1))
    error = polynomial.error(target).value
    for error_limit in (None, error):
        problem = Problem(target, degree, keeps, basis, weights, error_limit, limit)
        raw = numbers(width + 1)
        size = sum((abs(y) / v for y, v in zip(raw, errors_count, strict=True)), start=Fraction(1))
        witness = Witness(tuple(range(width + 1)), tuple(one / size for one in raw))
        assert lower_bound(problem, witness) <= objective_value(problem, polynomial)


SOLUTIONS: list[Solution | LeastDegree] = [
    best_polynomial(Target.disjunction(20), 7),
    best_polynomial(Target.table(["0", "1/3", 1]), 2, free_constant=False),
    least_degree(Target.disjunction(16), Fraction(1, 20)),
    least_degree(Target.at_least(2, 5), Fraction(1, 2)),
    least_coefficients(Target.disjunction(6), 4, Fraction(1, 10), sensitivity_weights(9, 4), solver=None),
    least_error_within(Target.conjunction(6), 4, Fraction(1), Basis.CHEBYSHEV, solver=None),
]


def test_a_true_certificate_is_verified() -> None:
    verify(best())


@pytest.mark.parametrize("number", range(len(SOLUTIONS)))
def test_what_is_written_is_read_back(number: int, tmp_path: Path) -> None:
    write_solution(SOLUTIONS[number], tmp_path / "p.json")
    assert read_solution(tmp_path / "p.json") == SOLUTIONS[number]


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("best", "objective"), "1/5", "is stated"),
        (("best", "objective"), "9" * 400, "beyond 1e308 is stated"),
        (("best", "objective"), 0.1, "fraction as text"),
        (("best", "witness", "points"), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], "witness"),
        (("best", "witness", "points"), [0.5], "whole number"),
        (("below",), None, "nothing shows"),
        (("error_limit",), "1/100", "above 0.01"),
        (("dpopt_polynomial",), 2, "expected 1"),
        (("best", "problem", "basis"), "power", "basis"),
        (("best", "problem", "target", "name"), "and", "not those of 'and'"),
        (("best", "problem", "keeps_zero"), 1, "true or false"),
        (("best", "problem", "degree"), 3, "degree"),
        (("best", "problem", "extra"), 3, "unknown key"),
        (("extra",), 3, "unknown key"),
        (("best", "polynomial", "coefficients"), ["0", "1"], "is stated"),
    ],
)
def test_a_changed_file_is_refused(keys: tuple[str, ...], value: object, message: str, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    write_solution(SOLUTIONS[2], path)
    found = json.loads(path.read_text())
    place = found
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    path.write_text(json.dumps(found))
    with pytest.raises(PolynomialError, match=message):
        read_solution(path)


def test_files_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseFolderError, match="there is no folder"):
        write_solution(SOLUTIONS[0], tmp_path / "nowhere" / "p.json")
    with pytest.raises(PolynomialError, match="cannot"):
        read_solution(tmp_path / "p.json")


def test_tables_need_a_k_that_the_predicate_allows() -> None:
    with pytest.raises(PolynomialError, match="at least"):
        list(degree_table("atleast:5", range(1, 5)))
    assert [entry.width for entry in degree_table("atleast:5", range(1, 8), (Fraction(1, 10),))] == [5, 6, 7]
    assert [entry.found.degree for entry in degree_table("and", range(1, 4), (Fraction(1, 10),))] == [1, 2, 3]
