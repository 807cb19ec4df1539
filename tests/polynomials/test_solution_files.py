"""Files: what is written is read back and verified; what was changed is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from dpopt.errors import PolynomialError
from dpopt.polynomials import (
    Basis,
    LeastDegree,
    Solution,
    Target,
    best_polynomial,
    least_coefficients,
    least_degree,
    least_error_within,
)
from dpopt.polynomials.coefficient_budgets import sensitivity_weights
from dpopt.polynomials.degree_tables import degree_table
from dpopt.polynomials.solution_files import read_solution, write_solution

SOLUTIONS: list[Solution | LeastDegree] = [
    best_polynomial(Target.disjunction(20), 7),
    best_polynomial(Target.table(["0", "1/3", 1]), 2, free_constant=False),
    least_degree(Target.disjunction(16), Fraction(1, 20)),
    least_degree(Target.at_least(2, 5), Fraction(1, 2)),
    least_coefficients(Target.disjunction(6), 4, Fraction(1, 10), sensitivity_weights(9, 4), solver=None),
    least_error_within(Target.conjunction(6), 4, Fraction(1), Basis.CHEBYSHEV, solver=None),
]


@pytest.mark.parametrize("number", range(len(SOLUTIONS)))
def test_what_is_written_is_read_back(number: int, tmp_path: Path) -> None:
    write_solution(SOLUTIONS[number], tmp_path / "p.json")
    assert read_solution(tmp_path / "p.json") == SOLUTIONS[number]


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("objective",), "1/5", "is stated"),
        (("objective",), "9" * 400, "beyond 1e308 is stated"),
        (("objective",), 0.1, "fraction as text"),
        (("witness", "points"), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], "witness"),
        (("witness", "points"), [0.5], "whole numbers"),
        (("witness_below",), None, "nothing shows"),
        (("least_degree_for",), "1/100", "above 0.01"),
        (("dpopt_polynomial",), 2, "no polynomial file of version 1"),
        (("problem", "basis"), "power", "expected binomial"),
        (("problem", "predicate"), "and", "not those of 'and'"),
        (("problem", "keeps_zero"), 1, "truth value"),
        (("problem", "degree"), 3, "degree"),
        (("problem", "extra"), 3, "unknown key"),
        (("extra",), 3, "unknown key"),
        (("polynomial", "binomial_coefficients"), ["0", "1"], "is stated"),
    ],
)
def test_a_changed_file_is_refused(
    keys: tuple[str, ...], value: object, message: str, tmp_path: Path
) -> None:
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
    with pytest.raises(PolynomialError, match="there is no folder"):
        write_solution(SOLUTIONS[0], tmp_path / "nowhere" / "p.json")
    with pytest.raises(PolynomialError, match="cannot be read"):
        read_solution(tmp_path / "p.json")


def test_tables_need_a_k_that_the_predicate_allows() -> None:
    with pytest.raises(PolynomialError, match="no k of at least 5"):
        list(degree_table("atleast:5", range(1, 5)))
    assert [entry.width for entry in degree_table("atleast:5", range(1, 8), (Fraction(1, 10),))] == [5, 6, 7]
    assert [entry.found.degree for entry in degree_table("and", range(1, 4), (Fraction(1, 10),))] == [1, 2, 3]
