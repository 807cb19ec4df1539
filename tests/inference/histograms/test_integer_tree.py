"""Whole counts on trees: every tree of whole counts tried on small cases, the certificate on large ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import TreeError
from dpopt.inference.histograms.integer_tree import IntegerTree, best_integer_tree
from dpopt.inference.histograms.tree_least_squares import nonnegative_least_squares
from dpopt.queries.ranges.tree import Tree
from tests.inference.histograms.small_trees import coverage, dense_fit, random_measurements, random_tree


def cost(
    values: NDArray[np.float64],
    variances: NDArray[np.float64],
    nodes: NDArray[np.int64] | NDArray[np.float64],
) -> float:
    measured = (variances > 0) & np.isfinite(variances)
    return float(((nodes - values)[measured] ** 2 / variances[measured]).sum())


def check(
    tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64], found: IntegerTree
) -> None:
    assert found.values.dtype == np.int64
    assert found.values.min() >= 0
    np.testing.assert_array_equal(tree.totals(found.values[tree.leaf_of_bin]), found.values)
    np.testing.assert_array_equal(found.values[variances == 0], values[variances == 0])
    assert found.objective == pytest.approx(cost(values, variances, found.values), rel=1e-12)


@settings(max_examples=100)
@given(
    seed=st.integers(0, 10**6),
    unmeasured=st.sampled_from([0.0, 0.2, 0.4]),
    exact=st.sampled_from([0.0, 0.3]),
    ties=st.booleans(),
)
def test_no_tree_of_whole_counts_is_nearer(seed: int, unmeasured: float, exact: float, ties: bool) -> None:
    generator = np.random.default_rng(seed)
    tree = random_tree(generator, most=5)
    values, variances = random_measurements(generator, tree, unmeasured=unmeasured, exact=exact)
    if dense_fit(tree, values, variances)[2].shape[1]:
        with pytest.raises(TreeError, match="is not determined"):
            best_integer_tree(tree, values, variances)
        return
    if ties:  # values in halves and equal variances: many trees are equally near
        values = np.round(values) + generator.integers(0, 2, len(tree)) / 2 * (variances > 0)
        variances = np.where((variances > 0) & np.isfinite(variances), 1.0, variances)
    found = best_integer_tree(tree, values, variances)
    check(tree, values, variances, found)
    assert found.certified
    largest = int(nonnegative_least_squares(tree, values, variances).max()) + 3
    bins = np.indices((min(largest, 8) + 1,) * tree.bins).reshape(tree.bins, -1)
    nodes = (coverage(tree) @ bins).T
    nodes = nodes[(nodes == values)[:, variances == 0].all(axis=1)]
    measured = (variances > 0) & np.isfinite(variances)
    costs = ((nodes - values)[:, measured] ** 2 / variances[measured]).sum(axis=1)
    best = float(costs.min(initial=np.inf))
    assert found.objective <= best + 1e-9
    if largest <= 8:
        assert found.objective == pytest.approx(best, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("bins", "branching"), [(4096, 2), (3000, 7), (2000, 2000), (1, 2)])
def test_no_move_improves_a_large_tree(bins: int, branching: int) -> None:
    """Every move tried from the outside: one more, one less, and the best exchange below every node."""
    generator = np.random.default_rng(bins)
    tree = Tree.balanced(bins, branching)
    truth = tree.totals(np.floor(generator.exponential(1, bins) ** 4))
    variances = np.exp(generator.normal(size=len(tree)))
    values = truth + 5 * generator.laplace(size=len(tree))
    found = best_integer_tree(tree, values, variances)
    check(tree, values, variances, found)
    assert found.certified
    more = (2 * (found.values - values) + 1) / variances
    less = (1 - 2 * (found.values - values)) / variances
    less[(tree.children == 0) & (found.values == 0)] = np.inf
    gains, losses, exchanges = more.copy(), less.copy(), [np.inf]
    for node in range(len(tree) - 1, -1, -1):
        below = np.arange(tree.first_child[node], tree.first_child[node] + tree.children[node])
        if below.size:
            gains[node] += gains[below].min()
            losses[node] += losses[below].min()
        if below.size > 1:  # the two least of each are enough to avoid the same child twice
            up, down = below[np.argsort(gains[below])[:2]], below[np.argsort(losses[below])[:2]]
            exchanges.append(min(gains[i] + losses[j] for i in up for j in down if i != j))
    best = min(gains[0], losses[0], *exchanges)
    assert found.best_move == pytest.approx(best, rel=1e-9)
    assert best > -1e-9


def test_a_public_total_is_kept() -> None:
    generator = np.random.default_rng(7)
    tree = Tree.balanced(200, 3)
    truth = tree.totals(generator.integers(0, 5, 200).astype(np.float64))
    variances, values = np.ones(len(tree)), truth + 3 * generator.normal(size=len(tree))
    variances[0], values[0] = 0.0, truth[0]
    found = best_integer_tree(tree, values, variances)
    check(tree, values, variances, found)
    assert found.certified


def test_without_moves_it_is_the_rounding_and_says_so() -> None:
    generator = np.random.default_rng(1)
    tree = Tree.balanced(4096, 2)
    truth = tree.totals(np.floor(generator.exponential(1, 4096) ** 4))
    values, ones = truth + 5 * generator.laplace(size=len(tree)), np.ones(len(tree))
    rounded = best_integer_tree(tree, values, ones, most_moves=0)
    found = best_integer_tree(tree, values, ones)
    check(tree, values, ones, rounded)
    real = nonnegative_least_squares(tree, values, ones)
    assert np.abs(rounded.values - real).max() <= 1 + 1e-6
    assert (rounded.moves, rounded.certified) == (0, False)
    assert found.moves > 0
    assert found.certified
    assert rounded.best_move < 0 <= found.best_move
    assert cost(values, ones, real) <= found.objective < rounded.objective


def test_whole_counts_that_fit_are_left_alone() -> None:
    tree = Tree.balanced(1000, 10)
    truth = tree.totals(np.random.default_rng(4).integers(0, 10**9, 1000))
    found = best_integer_tree(tree, truth.astype(np.float64), np.ones(len(tree)))
    np.testing.assert_array_equal(found.values, truth)
    assert (found.moves, found.objective, found.certified) == (0, 0.0, True)


def test_refusals() -> None:
    tree, variances = Tree.balanced(4, 2), np.ones(7)
    with pytest.raises(TreeError, match="whole counts are found up to"):
        best_integer_tree(tree, np.full(7, 1e17), variances)
    variances[2] = 0
    with pytest.raises(
        TreeError, match=r"node 2 \(bins 2 to 3\) is known to be 1.5, which is no whole number"
    ):
        best_integer_tree(tree, np.full(7, 1.5), variances)
