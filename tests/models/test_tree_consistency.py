"""The general programs of consistent trees (TC-1 to TC-9), by hand and by general solvers; the fast methods held to them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.histograms.integer_tree import best_integer_tree
from dpopt.inference.histograms.tree_least_squares import least_squares, nonnegative_least_squares
from dpopt.models.histograms.tree_consistency import tree_program, whole_tree_program
from dpopt.programs import SolveLimits
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.queries.ranges.tree import Tree
from dpopt.solvers.registry import get_solver
from tests.inference.histograms.small_trees import random_measurements, random_tree

LIMITS = SolveLimits(seconds=60)
WORKED = Tree.balanced(4, 2)
NOISY = np.array([13.0, 3, 11, 4, 1, 12, 1])


def example(seed: int, *, exact: float = 0.0) -> tuple[Tree, NDArray[np.float64], NDArray[np.float64]]:
    """Return a tree with measured bins; other nodes are measured, not measured, or known exactly."""
    generator = np.random.default_rng(seed)
    tree = random_tree(generator, most=12, deepest=4)
    values, variances = random_measurements(generator, tree, unmeasured=0.2, exact=exact)
    lost = np.isinf(variances) & (tree.children == 0)
    values[lost], variances[lost] = generator.normal(size=int(lost.sum())), 1.5
    return tree, values, variances


@pytest.mark.parametrize("name", ["clarabel", "osqp"])
@pytest.mark.parametrize("seed", range(4))
def test_least_squares_without_bounds(name: str, seed: int) -> None:
    """TC-1, TC-2 and TC-4."""
    tree, values, variances = example(seed, exact=0.2)
    program = tree_program(tree, values, variances, nonnegative=False)
    found = least_squares(tree, values, variances)
    assert program.violation(found) <= 1e-9
    point = np.asarray(get_solver(name).solve(program, LIMITS).require_solution(), dtype=np.float64)
    assert program.evaluate(found) == pytest.approx(program.evaluate(point), rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(found, point, atol=1e-4)


@pytest.mark.parametrize("name", ["clarabel", "osqp"])
@pytest.mark.parametrize("seed", range(4))
def test_least_squares_with_bins_of_at_least_zero(name: str, seed: int) -> None:
    """TC-1 to TC-4 against TC-7 and TC-8."""
    tree, values, variances = example(100 + seed, exact=0.1)
    program = tree_program(tree, values, variances, nonnegative=True)
    found = nonnegative_least_squares(tree, values, variances)
    assert program.violation(found) <= 1e-9
    point = np.asarray(get_solver(name).solve(program, LIMITS).require_solution(), dtype=np.float64)
    assert program.evaluate(found) == pytest.approx(program.evaluate(point), rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(found, point, atol=1e-3)


def test_a_larger_tree_has_the_optimum_of_a_general_solver() -> None:
    """TC-1 to TC-3 with 1,024 bins: the objectives agree to 1e-6, ours being no larger."""
    generator = np.random.default_rng(8)
    tree = Tree.balanced(1024, 4)
    truth = tree.totals(np.floor(generator.exponential(1, 1024) ** 4))
    values, variances = truth + 5 * generator.laplace(size=len(tree)), np.full(len(tree), 50.0)
    program = tree_program(tree, values, variances, nonnegative=True)
    found = program.evaluate(nonnegative_least_squares(tree, values, variances))
    point = np.asarray(get_solver("clarabel").solve(program, LIMITS).require_solution(), dtype=np.float64)
    assert found == pytest.approx(program.evaluate(point), rel=1e-6)
    assert found <= program.evaluate(point) * (1 + 1e-9)


def relaxed(program: MixedIntegerProgram) -> MixedIntegerProgram:
    return MixedIntegerProgram(
        program.maximize,
        program.objective,
        program.row_starts,
        program.columns,
        program.coefficients,
        program.row_lower,
        program.row_upper,
        program.lower,
        program.upper,
        np.zeros_like(program.integrality),
    )


@pytest.mark.parametrize("seed", range(8))
def test_whole_counts_and_the_linear_relaxation_have_one_optimum(seed: int) -> None:
    """TC-5 and TC-6 against TC-9: by a mixed-integer solver, and without integrality, since TC-2 is totally unimodular."""
    tree, values, variances = example(200 + seed, exact=0.1)
    found = best_integer_tree(tree, values, variances)
    assert found.certified
    most = int(found.values.max()) + 3
    program = whole_tree_program(tree, values, variances, most)
    for one in (program, relaxed(program)):
        result = get_solver("highs").solve(one, LIMITS)
        assert result.objective == pytest.approx(found.objective, rel=1e-6, abs=1e-6)
    measured = (variances > 0) & np.isfinite(variances)
    costs = (found.values - values)[measured] ** 2 / variances[measured]
    point = np.concatenate((found.values.astype(np.float64), costs))
    assert program.violation(point) <= 1e-9
    assert program.evaluate(point) == pytest.approx(found.objective)


def test_the_worked_example() -> None:
    """The example of Hay et al.; then with a bin below 0, in real and in whole numbers."""
    ones = np.ones(7)
    np.testing.assert_allclose(least_squares(WORKED, NOISY, ones), [14, 3, 11, 3, 0, 11, 0], atol=1e-12)
    values = np.array([15.0, 3, 11, 4, -2, 12, 1])
    np.testing.assert_allclose(
        least_squares(WORKED, values, ones), np.array([103, 20, 83, 31, -11, 80, 3]) / 7, atol=1e-12
    )
    real = nonnegative_least_squares(WORKED, values, ones)
    np.testing.assert_allclose(real, np.array([196, 45, 151, 45, 0, 147, 4]) / 13, atol=1e-12)
    whole = best_integer_tree(WORKED, values, ones)
    assert whole.certified
    distances = {
        bins: float(((WORKED.totals(np.array(bins)) - values) ** 2).sum())
        for bins in itertools.product(range(16), repeat=4)
    }
    assert whole.objective == min(distances.values()) == 7
    nearest = {bins for bins, distance in distances.items() if distance == 7}
    assert nearest == {(3, 0, 11, 1), (3, 0, 12, 0), (4, 0, 11, 0)}
    assert tuple(whole.values[WORKED.leaf_of_bin].tolist()) in nearest


def test_refusals() -> None:
    with pytest.raises(ProgramError, match="each of 7 nodes"):
        tree_program(WORKED, np.ones(6), np.ones(7), nonnegative=True)
    with pytest.raises(ProgramError, match="at least 0 for each of 7 nodes"):
        whole_tree_program(WORKED, np.ones(7), -np.ones(7), 4)
    with pytest.raises(ProgramError, match="at least 1, found 0"):
        whole_tree_program(WORKED, np.ones(7), np.ones(7), 0)
