"""HB-1 to HB-6: variances are those of dense least squares, slopes are derivatives, and amounts are the best there are."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.histograms.mean_variance import MeanVariance
from dpopt.models.noise_budgets.hierarchy_budgets import (
    HierarchyProgram,
    best_hierarchy_budgets,
    noise_precisions,
    precision_rates,
)
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.hierarchy import deepened, hierarchy_of
from dpopt.queries.ranges.tree import Tree
from dpopt.synopses.histograms.hierarchy_ranges import ranges_of_nodes
from tests.inference.histograms.small_trees import coverage, null_space, random_tree


def small_hierarchy(seed: int) -> Tree:
    """Return a tree of 2 to 4 levels over 2 to 7 bins, with bins beside groups."""
    generator = np.random.default_rng(seed)
    trees = (random_tree(generator, most=7, deepest=3) for _ in range(1000))
    return next(tree for tree in trees if tree.bins > 1 and len(tree.levels) > 2)


def program_of(
    hierarchy: Tree, amount: float, *, gaussian: bool, moved: int = 1, least: float = 0.02
) -> HierarchyProgram:
    tree, known = deepened(hierarchy), moved == 2
    variance = MeanVariance(tree, ranges_of_nodes(hierarchy), known)
    return HierarchyProgram(variance, len(tree.levels), int(known), amount, moved, gaussian, least)


def dense_objective(hierarchy: Tree, precisions: NDArray[np.float64], *, known: bool) -> float:
    """Return the mean over levels of the mean variance of their groups, by generalised least squares over rows of bins."""
    tree = deepened(hierarchy)
    groups = [coverage(tree)[level] for level in tree.levels]
    information = sum(p * rows.T @ rows for p, rows in zip(precisions, groups, strict=True))
    covariance = np.linalg.inv(information)
    if known:
        total = np.ones(tree.bins)
        covariance -= np.outer(covariance @ total, total @ covariance) / (total @ covariance @ total)
    declared = coverage(hierarchy)
    means = [np.mean([q @ covariance @ q for q in declared[level]]) for level in hierarchy.levels]
    return float(np.mean(means))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), gaussian=st.booleans(), known=st.booleans())
def test_the_objective_is_that_of_least_squares(seed: int, gaussian: bool, known: bool) -> None:
    """HB-1, HB-3, HB-4 and HB-5."""
    generator, hierarchy = np.random.default_rng(seed), small_hierarchy(seed)
    program = program_of(hierarchy, 1.0, gaussian=gaussian, moved=1 + known)
    amounts = generator.uniform(0.05, 1.0, program.levels)
    amounts[:-1][generator.random(program.levels - 1) < 0.3] = 0.0
    precisions = noise_precisions(amounts, moved=1 + known, gaussian=gaussian)
    if known:
        precisions[0] = 0.0
    value, _ = program.evaluate(amounts)
    assert value == pytest.approx(dense_objective(hierarchy, precisions, known=known), rel=1e-8)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), gaussian=st.booleans(), known=st.booleans())
def test_slopes_are_derivatives(seed: int, gaussian: bool, known: bool) -> None:
    generator, hierarchy = np.random.default_rng(seed), small_hierarchy(seed)
    program = program_of(hierarchy, 1.0, gaussian=gaussian, moved=1 + known)
    amounts = generator.uniform(0.1, 1.0, program.levels)
    _, slopes = program.evaluate(amounts)
    for level in range(program.first, program.levels):
        step = 1e-6 * np.eye(program.levels)[level]
        expected = (program.evaluate(amounts + step)[0] - program.evaluate(amounts - step)[0]) / 2e-6
        assert slopes[level] == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("moved", [1, 2])
@pytest.mark.parametrize("gaussian", [True, False])
def test_precisions_and_their_rates_are_those_of_the_noise(moved: int, gaussian: bool) -> None:
    """The variance of discrete Laplace noise of scale m / b is 2 a / (1 - a)^2, a = exp(-b / m); of Gaussian noise m / 2 b."""
    amounts = np.array([0.01, 0.3, 2.0])
    a = np.exp(-amounts / moved)
    expected = moved / (2 * amounts) if gaussian else 2 * a / (1 - a) ** 2
    assert 1 / noise_precisions(amounts, moved=moved, gaussian=gaussian) == pytest.approx(expected)
    above, below = (
        noise_precisions(amounts * factor, moved=moved, gaussian=gaussian) for factor in (1 + 1e-6, 1 - 1e-6)
    )
    rates = precision_rates(amounts, moved=moved, gaussian=gaussian)
    assert rates == pytest.approx((above - below) / (2e-6 * amounts), rel=1e-6)
    assert np.isfinite(noise_precisions(np.array([1e6]), moved=moved, gaussian=gaussian)).all()


@pytest.mark.parametrize("moved", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_laplace_amounts_are_the_best_of_a_grid(seed: int, moved: int) -> None:
    """Enumeration of all shares in steps of a twentieth, single bins with their least share on top (HB-2)."""
    program = program_of(small_hierarchy(seed), 1.0, gaussian=False, moved=moved)
    found = best_hierarchy_budgets(program)
    steps, levels = 20, program.levels - program.first
    shares = [
        np.array((*point, steps - sum(point))) / steps
        for point in product(range(steps + 1), repeat=levels - 1)
        if sum(point) <= steps
    ]
    least = min(program.evaluate(program.spread(one))[0] for one in shares)
    assert found.variance <= least * (1 + 1e-4)
    assert found.amounts.sum() == pytest.approx(1.0)
    assert found.amounts[-1] >= 0.02 * (1 - 1e-9)
    assert found.gap is None
    assert not found.amounts[: program.first].any()


@pytest.mark.parametrize("moved", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_gaussian_amounts_are_those_of_a_convex_program(seed: int, moved: int) -> None:
    import cvxpy

    hierarchy, amount = small_hierarchy(seed), 0.7
    tree, declared = deepened(hierarchy), coverage(hierarchy)
    free = (
        null_space(np.ones((1, tree.bins))) if moved == 2 else np.eye(tree.bins)
    )  # the total is known, or not
    budget = cvxpy.Variable(len(tree.levels), nonneg=True)
    groups = [coverage(tree)[level] @ free for level in tree.levels]
    information = sum(2.0 / moved * budget[depth] * (rows.T @ rows) for depth, rows in enumerate(groups))
    sizes = [level.stop - level.start for level in hierarchy.levels]
    weights = 1.0 / np.repeat(sizes, sizes) / len(sizes)
    terms = [w * cvxpy.matrix_frac(q @ free, information) for w, q in zip(weights, declared, strict=True)]
    objective = cvxpy.sum(terms[1:] if moved == 2 else terms)
    rules = [cvxpy.sum(budget) == amount, budget[-1] >= 0.02 * amount]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": the comparison allows for it
        reference = cvxpy.Problem(cvxpy.Minimize(objective), rules)
        reference.solve(solver=cvxpy.CLARABEL)
    found = best_hierarchy_budgets(program_of(hierarchy, amount, gaussian=True, moved=moved))
    assert found.variance == pytest.approx(float(reference.value), rel=2e-3)
    assert found.gap is not None
    assert found.gap < 2e-3


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), known=st.booleans())
def test_no_amounts_are_below_the_bound(seed: int, known: bool) -> None:
    """HB-6 at any amounts against any others."""
    generator = np.random.default_rng(seed)
    program = program_of(small_hierarchy(seed), 0.5, gaussian=True, moved=1 + known)
    levels = program.levels - program.first
    one, other = (program.spread(generator.dirichlet(np.full(levels, 0.5))) for _ in range(2))
    assert program.lower_bound(one) <= program.evaluate(other)[0] * (1 + 1e-9)


def test_the_worked_example() -> None:
    """Two bins and their sum: the golden ratio."""
    golden = (1 + 5**0.5) / 2
    hierarchy = hierarchy_of([0, 1], Bins("x", 2))
    found = best_hierarchy_budgets(program_of(hierarchy, 0.5, gaussian=True))
    assert found.amounts == pytest.approx([0.5 - 1 / (2 * golden), 1 / (2 * golden)], abs=1e-4)
    assert found.variance == pytest.approx(5 / (8 - 4 / golden) + golden / 4)
    assert found.variance == pytest.approx(1.309, abs=1e-3)


def test_levels_that_hardly_count_are_left_out() -> None:
    hierarchy = Tree.balanced(64, 2)
    found = best_hierarchy_budgets(program_of(hierarchy, 1e-3, gaussian=False))
    used = found.amounts[found.amounts > 0]
    assert used.size < found.amounts.size
    assert used.min() >= 0.004e-3 * (1 - 1e-9)


def test_with_nothing_to_choose_all_goes_to_single_bins() -> None:
    found = best_hierarchy_budgets(
        program_of(hierarchy_of([0, 1, 2], Bins("x", 3)), 1.0, gaussian=False, moved=2)
    )
    assert found.amounts.tolist() == [0.0, 1.0]


def test_input_that_makes_no_sense_is_refused() -> None:
    good = program_of(hierarchy_of([0, 1], Bins("x", 2)), 1.0, gaussian=True)
    for first, levels in ((-1, 2), (2, 2)):
        with pytest.raises(ProgramError, match="levels of which those from"):
            HierarchyProgram(good.variance, levels, first, 1.0, 1, True, 0.02)
    for amount, moved, least in ((0.0, 1, 0.02), (1.0, 0, 0.02), (1.0, 1, 0.0)):
        with pytest.raises(ProgramError, match="above 0"):
            HierarchyProgram(good.variance, 2, 0, amount, moved, True, least)
