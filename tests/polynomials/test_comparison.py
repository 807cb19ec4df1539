"""Any polynomial certified, constructions beside the least error, and errors that count by weights."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from dpopt.errors import PolynomialError
from dpopt.polynomials import (
    Basis,
    Polynomial,
    Target,
    best_polynomial,
    certify,
    chebyshev_error,
    constructions_beside_best,
    least_coefficients,
    least_error_within,
    least_predicted_error,
    solver_answer,
    verify,
)
from dpopt.polynomials.exact_optimum import exact_solution
from dpopt.polynomials.minimax import read_solution, write_solution


def test_a_given_polynomial_is_told_how_far_it_is_from_the_best() -> None:
    target = Target.disjunction(6)
    found = certify(Polynomial.from_basis(6, [0, "1/2", "-1/20"]), target)
    assert (found.error.value, found.error.points) == (Fraction(11, 20), (1,))
    assert found.best.objective == Fraction(1, 3)
    verify(found.best)
    assert certify(found.best.polynomial, target).error.value == Fraction(1, 3)
    moved = Polynomial.from_basis(6, ["1/10", "1/2", "-1/20"])
    with pytest.raises(PolynomialError, match="free_constant=True"):
        certify(moved, target)
    free = certify(moved, target, free_constant=True)
    assert (free.error.value, free.best.objective) == (Fraction(9, 20), Fraction(1, 4))


@pytest.mark.parametrize("predicate", ["or", "and", "atleast:2", "atleast:4", "atleast:6"])
def test_constructions_stand_beside_the_least_error(predicate: str) -> None:
    target = Target.named(predicate, 7)
    for degree in range(8):
        found = constructions_beside_best(target, degree, free_constant=True)
        least = found["least error"].error(target).value
        assert least == best_polynomial(target, degree, free_constant=True).objective
        assert all(one.error(target).value >= least and one.degree <= degree for one in found.values())
        assert ("Chebyshev" in found) == (predicate in {"or", "and"})
        if "Chebyshev" in found:
            assert found["Chebyshev"].error(target).value == chebyshev_error(7, degree)
        if degree > 3:
            assert "Sherstov" in found  # of at least 6 of 7 too, mirrored
    assert found["Sherstov"].error(target).value == 0


def test_tables_and_wide_queries_are_not_compared() -> None:
    for target in (Target.table([0, 1]), Target.disjunction(97)):
        with pytest.raises(PolynomialError, match="with k to 96"):
            constructions_beside_best(target, 1)


def random_target(generator: np.random.Generator) -> Target:
    width = int(generator.integers(1, 8))
    values, weights = (
        [Fraction(int(a), int(b)) for a, b in zip(top, generator.integers(1, 5, width + 1), strict=True)]
        for top in (generator.integers(-5, 6, width + 1), generator.integers(0, 4, width + 1))
    )
    weights[int(generator.integers(0, width + 1))] = Fraction(1)
    return Target.table(values).weighted(weights)


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_weighted_errors_are_least_by_three_ways(seed: int, keeps: bool) -> None:
    """The exchange, the exact simplex method, and HiGHS on a program that is stated here."""
    generator = np.random.default_rng(seed)
    target = random_target(generator)
    degree = int(generator.integers(0, target.width + 1))
    found = best_polynomial(target, degree, free_constant=not keeps)
    verify(found)
    assert exact_solution(found.problem, None).objective == found.objective
    assert best_polynomial(target, degree, free_constant=not keeps, solver="highs").objective == found.objective
    points = np.arange(target.width + 1.0)
    table = (points / target.width)[:, None] ** np.arange(degree + 1)
    f, v = (np.array([float(one) for one in given]) for given in (target.values, target.weights))
    v[0] *= not keeps
    near, ones = v[:, None] * table, np.ones((f.size, 1))
    answer = linprog(
        [0] * (degree + 1) + [1],
        A_ub=np.block([[near, -ones], [-near, -ones]]),
        b_ub=np.concatenate([v * f, -v * f]),
        A_eq=[[*table[0], 0]] if keeps else None,
        b_eq=[f[0]] if keeps else None,
        bounds=[(None, None)] * (degree + 1) + [(0, None)],
    )
    assert float(found.objective) == pytest.approx(answer.fun, abs=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_weights_of_errors_hold_in_every_problem_and_for_solvers(seed: int) -> None:
    """The models that a solver gets have the exact optimum."""
    target = random_target(np.random.default_rng(100 + seed))
    width = target.width
    solutions = [
        best_polynomial(target, width // 2, free_constant=True),
        least_coefficients(target, width, Fraction(1, 5), [Fraction(1)] * (width + 1), solver=None),
        least_error_within(target, width // 2, Fraction(2), Basis.CHEBYSHEV, solver=None),
        least_predicted_error(target, [Fraction(0), *[Fraction(1, 20)] * width], solver=None),
    ]
    for found in solutions:
        verify(found)
        answer = solver_answer(found.problem, "highs")
        assert answer.objective is not None
        assert float(answer.objective) == pytest.approx(float(found.objective), abs=1e-6)
        assert answer.breach < 1e-6


def test_where_any_value_will_do_none_is_asked() -> None:
    """Two points count: a line through both has no error, whatever it is elsewhere."""
    target = Target.table([0, 9, 9, 1]).weighted([1, 0, 0, 1])
    found = best_polynomial(target, 1)
    assert found.objective == 0
    assert [found.polynomial.at(s) for s in range(4)] == [0, Fraction(1, 3), Fraction(2, 3), 1]
    assert best_polynomial(target, 0).objective == Fraction(1, 2)


def test_files_from_before_weights_are_read(tmp_path: Path) -> None:
    path, found = tmp_path / "p.json", best_polynomial(Target.disjunction(5), 2)
    write_solution(found, path)
    written = json.loads(path.read_text())
    del written["problem"]["target"]["weights"]
    path.write_text(json.dumps(written))
    assert read_solution(path) == found
    weighted = best_polynomial(Target.disjunction(5).weighted([1, 1, 2, 0, 1, 1]), 2)
    write_solution(weighted, path)
    assert read_solution(path) == weighted
