"""Solutions with their certificates as JSON files; what is read is verified again."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

from dpopt.errors import PolynomialError
from dpopt.files.json_files import (
    json_list,
    json_object,
    read_json_object,
    refuse_unknown_keys,
    write_json_object,
)
from dpopt.polynomials.certificates import Problem, Solution, Witness, verify
from dpopt.polynomials.minimax import LeastDegree, verify_least_degree
from dpopt.polynomials.polynomial import Basis, Polynomial, fractions_from_json
from dpopt.polynomials.targets import Target

VERSION = 1


def solution_to_json(solution: Solution) -> dict[str, object]:
    """Return a solution as a JSON object; every number that matters is a fraction as text."""
    problem = solution.problem
    return {
        "dpopt_polynomial": VERSION,
        "problem": {
            "predicate": problem.target.name,
            "values": _texts(problem.target.values),
            "degree": problem.degree,
            "keeps_zero": problem.keeps_zero,
            "basis": problem.basis.value,
            "weights": _texts(problem.weights),
            "error_limit": None if problem.error_limit is None else str(problem.error_limit),
            "coefficient_limit": None
            if problem.coefficient_limit is None
            else str(problem.coefficient_limit),
        },
        "polynomial": solution.polynomial.to_json(),
        "objective": str(solution.objective),
        "witness": witness_to_json(solution.witness),
    }


def witness_to_json(witness: Witness) -> dict[str, object]:
    """Return a witness as a JSON object."""
    return {"points": list(witness.points), "weights": _texts(witness.weights)}


def least_degree_to_json(found: LeastDegree) -> dict[str, object]:
    """Return a least degree with both proofs as a JSON object."""
    below = None if found.below is None else witness_to_json(found.below)
    return {
        **solution_to_json(found.best),
        "least_degree_for": str(found.error_limit),
        "witness_below": below,
    }


def write_solution(found: Solution | LeastDegree, path: str | os.PathLike[str]) -> None:
    """Write a solution, or a least degree, as JSON.

    Raises
    ------
    PolynomialError
        The folder does not exist.
    """
    if not Path(path).resolve().parent.is_dir():
        raise PolynomialError(f"there is no folder {os.fspath(Path(path).parent)!r}; make it first")
    write_json_object(
        path, least_degree_to_json(found) if isinstance(found, LeastDegree) else solution_to_json(found)
    )


def read_solution(path: str | os.PathLike[str]) -> Solution | LeastDegree:
    """Read what `write_solution` wrote, and verify it in exact arithmetic.

    Raises
    ------
    PolynomialError
        No such file, another form, or a certificate that does not hold.
    """
    found = read_json_object(path, "polynomial", PolynomialError)
    keys = (
        "dpopt_polynomial",
        "problem",
        "polynomial",
        "objective",
        "witness",
        "least_degree_for",
        "witness_below",
    )
    refuse_unknown_keys(found, keys, "polynomial file", PolynomialError)
    if found.get("dpopt_polynomial") != VERSION:
        raise PolynomialError(f"{os.fspath(path)!r} is no polynomial file of version {VERSION}")
    solution = Solution(
        _problem(found.get("problem")),
        Polynomial.from_json(found.get("polynomial")),
        _fraction(found.get("objective"), "objective"),
        _witness(found.get("witness"), "witness"),
    )
    if "least_degree_for" not in found:
        verify(solution)
        return solution
    below = found.get("witness_below")
    degree = LeastDegree(
        _fraction(found["least_degree_for"], "least_degree_for"),
        solution,
        None if below is None else _witness(below, "witness_below"),
    )
    verify_least_degree(degree)
    return degree


def _problem(value: object) -> Problem:
    found = json_object(value, "problem", PolynomialError)
    keys = (
        "predicate",
        "values",
        "degree",
        "keeps_zero",
        "basis",
        "weights",
        "error_limit",
        "coefficient_limit",
    )
    refuse_unknown_keys(found, keys, "problem", PolynomialError)
    name, degree, keeps, basis = (found.get(key) for key in ("predicate", "degree", "keeps_zero", "basis"))
    if not (isinstance(name, str) and type(degree) is int and type(keeps) is bool):
        raise PolynomialError(
            "problem: expected a text 'predicate', a whole number 'degree' and a truth value 'keeps_zero'"
        )
    if basis not in [known.value for known in Basis]:
        raise PolynomialError(f"problem: found the basis {basis!r}; expected binomial, monomial or chebyshev")
    error, size = (
        None if found.get(key) is None else _fraction(found[key], key)
        for key in ("error_limit", "coefficient_limit")
    )
    target = Target(name, _fractions(found.get("values"), "values"))
    weights = _fractions(found.get("weights"), "weights")
    return Problem(target, degree, keeps, Basis(basis), weights, error, size)


def _witness(value: object, place: str) -> Witness:
    found = json_object(value, place, PolynomialError)
    points = json_list(found.get("points"), f"{place}.points", PolynomialError)
    whole = tuple(point for point in points if type(point) is int)
    if len(whole) != len(points):
        raise PolynomialError(f"{place}.points: expected whole numbers")
    return Witness(whole, _fractions(found.get("weights"), f"{place}.weights"))


def _fractions(value: object, place: str) -> tuple[Fraction, ...]:
    return fractions_from_json(json_list(value, place, PolynomialError), place)


def _fraction(value: object, place: str) -> Fraction:
    return fractions_from_json([value], place)[0]


def _texts(numbers: tuple[Fraction, ...]) -> list[str]:
    return [str(one) for one in numbers]
