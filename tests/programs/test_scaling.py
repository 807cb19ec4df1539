"""A program in other units has the same values, rows and duals."""

from __future__ import annotations

import numpy as np
import pytest

from dpopt import models
from dpopt.programs.certificate import certify_point
from dpopt.programs.quadratic import QuadraticProgram, Scaled
from dpopt.programs.results import SolveResult
from dpopt.queries.ranges.tree import Tree
from dpopt.solvers.registry import get_solver


def tree_program() -> tuple[QuadraticProgram, SolveResult]:
    """Return a tree with variances from .01 to 10,000, and its optimum."""
    tree, generator = Tree.balanced(64, 2), np.random.default_rng(3)
    variances = np.empty(len(tree))
    for depth, level in enumerate(tree.levels):
        variances[level] = (0.01, 1.0, 1e4)[depth % 3]
    model = models.tree_consistency(tree, 30 * generator.random(len(tree)), variances, nonnegative=True)
    assert isinstance(model.program, QuadraticProgram)
    return model.program, model.solve().result


def test_points_values_and_violations_go_over() -> None:
    program, _ = tree_program()
    scaled, generator = Scaled.of(program), np.random.default_rng(4)
    for _ in range(20):
        inside = generator.normal(size=program.number_of_variables)
        point = scaled.columns * inside
        assert scaled.program.evaluate(inside) == pytest.approx(program.evaluate(point), rel=1e-12)
        own, other = program.linear.matrix() @ point, scaled.program.linear.matrix() @ inside
        np.testing.assert_allclose(np.asarray(other), scaled.rows * np.asarray(own), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("solver", ["clarabel", "osqp", "scs", "cvxpy-highs"])
def test_points_and_duals_come_back_in_the_units_of_the_program(solver: str) -> None:
    program, best = tree_program()
    found = get_solver(solver).solve(program)
    assert found.objective == pytest.approx(best.objective, rel=1e-6)
    bound = certify_point(program, found).proven_bound
    assert bound is not None
    assert float(bound) == pytest.approx(best.objective, rel=1e-6)


def test_units_are_powers_of_two_and_bring_entries_together() -> None:
    program, _ = tree_program()
    scaled = Scaled.of(program)
    for units in (scaled.columns, scaled.rows):
        assert (np.frexp(units)[0] == 0.5).all()
    entries = np.abs(scaled.program.linear.coefficients)
    curvature = scaled.program.weights * scaled.program.square_coefficients**2
    assert program.weights.max() / program.weights.min() == pytest.approx(1e6)
    assert 0.25 <= curvature.max() <= 4
    assert entries.max() <= 4
