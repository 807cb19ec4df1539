"""The nearest non-negative tree: every support tried on small trees, optimality conditions on large ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import TreeError
from dpopt.inference.histograms.tree_least_squares import least_squares, nonnegative_least_squares
from dpopt.queries.ranges.tree import Tree
from tests.inference.histograms.small_trees import coverage, dense_fit, random_measurements, random_tree


def cost(values: NDArray[np.float64], variances: NDArray[np.float64], nodes: NDArray[np.float64]) -> float:
    measured = (variances > 0) & np.isfinite(variances)
    return float(((nodes - values)[measured] ** 2 / variances[measured]).sum())


def slopes(
    tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64], nodes: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Return half the derivative of the objective in each bin, and the size of its largest term."""
    measured = (variances > 0) & np.isfinite(variances)
    total = np.zeros(len(tree))
    total[measured] = (nodes - values)[measured] / variances[measured]
    largest = float(np.abs(total).max())
    for level in tree.levels[1:]:
        total[level] += total[tree.parent[level]]
    return total[tree.leaf_of_bin], largest


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10**6), unmeasured=st.sampled_from([0.0, 0.2, 0.4]), exact=st.sampled_from([0.0, 0.3])
)
def test_no_support_has_a_nearer_tree(seed: int, unmeasured: float, exact: float) -> None:
    """The optimum is the least-squares solution on its own support: the best of all supports is the optimum."""
    generator = np.random.default_rng(seed)
    tree = random_tree(generator, most=6)
    values, variances = random_measurements(generator, tree, unmeasured=unmeasured, exact=exact)
    if dense_fit(tree, values, variances)[2].shape[1]:
        with pytest.raises(TreeError, match="is not determined"):
            nonnegative_least_squares(tree, values, variances)
        return
    best, nearest = np.inf, np.zeros(len(tree))
    for support in itertools.product([False, True], repeat=tree.bins):
        fixed, given = variances.copy(), values.copy()
        zero = tree.leaf_of_bin[~np.array(support)]
        if (values[zero[variances[zero] == 0]] != 0).any():
            continue
        fixed[zero], given[zero] = 0.0, 0.0
        bins = dense_fit(tree, given, fixed)[0]
        nodes = coverage(tree) @ bins
        agrees = np.abs((nodes - given)[fixed == 0]).max(initial=0) < 1e-8
        if agrees and bins.min() > -1e-9 and cost(values, variances, nodes) < best:
            best, nearest = cost(values, variances, nodes), nodes
    found = nonnegative_least_squares(tree, values, variances)
    assert found.min() >= 0
    np.testing.assert_array_equal(found[variances == 0], values[variances == 0])
    np.testing.assert_allclose(tree.totals(found[tree.leaf_of_bin]), found, atol=1e-9)
    np.testing.assert_allclose(found, nearest, atol=1e-7)


@pytest.mark.parametrize(("bins", "branching"), [(4096, 2), (3000, 7), (2000, 2000), (1, 2)])
@pytest.mark.parametrize("scale", [0.5, 20.0])
def test_the_optimality_conditions_hold(bins: int, branching: int, scale: float) -> None:
    """The slope along each bin is 0 where it is positive, and at least 0 elsewhere, to 1e-9 of its largest term."""
    generator = np.random.default_rng(bins)
    tree = Tree.balanced(bins, branching)
    truth = tree.totals(np.floor(generator.exponential(1, bins) ** 4))
    variances = np.exp(generator.normal(size=len(tree)))
    variances[generator.random(len(tree)) < 0.1] = np.inf
    variances[tree.leaf_of_bin] = np.where(
        np.isinf(variances[tree.leaf_of_bin]), 1.0, variances[tree.leaf_of_bin]
    )
    values = truth + scale * generator.laplace(size=len(tree))
    found = nonnegative_least_squares(tree, values, variances)
    slope, largest = slopes(tree, np.nan_to_num(values), variances, found)
    positive = found[tree.leaf_of_bin] > 0
    assert np.abs(slope[positive]).max(initial=0) <= 1e-9 * largest
    assert slope[~positive].min(initial=0) >= -1e-9 * largest


def test_with_a_known_total_all_positive_bins_have_one_slope() -> None:
    generator = np.random.default_rng(3)
    tree = Tree.balanced(3000, 3)
    truth = tree.totals(np.floor(generator.exponential(1, 3000) ** 4))
    variances = np.exp(generator.normal(size=len(tree)))
    variances[0] = 0
    values = truth + 5 * generator.laplace(size=len(tree))
    values[0] = truth[0]
    found = nonnegative_least_squares(tree, values, variances)
    assert found[0] == truth[0]
    slope, largest = slopes(tree, values, variances, found)
    positive = found[tree.leaf_of_bin] > 0
    assert np.ptp(slope[positive]) <= 1e-9 * largest
    assert slope[~positive].min() >= slope[positive].min() - 1e-9 * largest
    assert 0.05 < positive.mean() < 0.95


def test_bins_that_were_not_measured_take_what_the_others_leave() -> None:
    tree = Tree.balanced(3, 3)
    values, variances = np.array([5.0, np.nan, 2.0, -1.0]), np.array([1.0, np.inf, 1.0, 1.0])
    assert nonnegative_least_squares(tree, values, variances).tolist() == [5, 3, 2, 0]
    values[0] = 1.0
    np.testing.assert_allclose(nonnegative_least_squares(tree, values, variances), [1.5, 0, 1.5, 0])


def test_where_nothing_is_negative_it_is_least_squares() -> None:
    generator = np.random.default_rng(1)
    tree = Tree.balanced(100, 3)
    values = tree.totals(np.full(100, 50.0)) + generator.normal(size=len(tree))
    ones = np.ones(len(tree))
    np.testing.assert_allclose(
        nonnegative_least_squares(tree, values, ones), least_squares(tree, values, ones), rtol=1e-12
    )


def test_the_scale_of_counts_and_variances_does_not_matter() -> None:
    generator = np.random.default_rng(2)
    tree = Tree.balanced(500, 4)
    values, ones = 10 * generator.normal(size=len(tree)), np.ones(len(tree))
    found = nonnegative_least_squares(tree, values, ones)
    np.testing.assert_allclose(
        nonnegative_least_squares(tree, values * 1e9, ones * 1e-6), found * 1e9, atol=1e-2
    )
    np.testing.assert_allclose(
        nonnegative_least_squares(tree, values * 1e-9, ones * 1e6), found * 1e-9, atol=1e-20
    )


def test_nothing_below_zero_is_known() -> None:
    tree = Tree.balanced(4, 2)
    variances, values = np.ones(7), np.zeros(7)
    variances[4], values[4] = 0, -1
    with pytest.raises(TreeError, match=r"node 4 \(bin 1\) is known to be -1"):
        nonnegative_least_squares(tree, values, variances)
    values[4], variances[1], values[1] = 3, 0, 2
    with pytest.raises(TreeError, match=r"node 1 \(bins 0 to 1\) is known to be 2"):
        nonnegative_least_squares(tree, values, variances)
    with pytest.raises(TreeError, match="one value for each of 7 nodes"):
        nonnegative_least_squares(tree, np.ones((7, 1)), np.ones(7))
