"""Trees of counts: least squares against dense ones, no negative counts, whole counts, mean variances of ranges."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import TreeError
from dpopt.inference.histograms.integer_tree import IntegerTree, best_integer_tree
from dpopt.inference.histograms.mean_variance import MeanVariance
from dpopt.inference.histograms.tree_kernels import project
from dpopt.inference.histograms.tree_least_squares import (
    divide_from_the_root,
    least_squares,
    nonnegative_least_squares,
    range_variances,
    zero_subtrees,
)
from dpopt.queries.ranges.hierarchy import deepened
from dpopt.queries.ranges.tree import Tree
from dpopt.queries.ranges.weighted_ranges import WeightedRanges
from tests.inference.histograms.small_trees import coverage, dense_fit, random_measurements, random_tree


def test_the_example_of_the_paper() -> None:
    tree = Tree.balanced(4, 2)
    noisy = np.array([13.0, 3, 11, 4, 1, 12, 1])
    np.testing.assert_allclose(least_squares(tree, noisy, np.ones(7)), [14, 3, 11, 3, 0, 11, 0], atol=1e-12)


@pytest.mark.parametrize(("branching", "height"), [(2, 5), (3, 4), (4, 3), (5, 3)])
def test_the_recurrences_of_the_paper(branching: int, height: int) -> None:
    """Theorem 3, node by node."""
    tree, k = Tree.balanced(branching ** (height - 1), branching), branching
    noisy = np.random.default_rng(branching).normal(size=len(tree))
    depth = np.concatenate([np.full(level.stop - level.start, d) for d, level in enumerate(tree.levels)])
    z = noisy.copy()
    for v in range(len(tree) - 1, -1, -1):
        h = height - depth[v]
        if h > 1:
            below = z[tree.first_child[v] : tree.first_child[v] + k].sum()
            z[v] = ((k**h - k ** (h - 1)) * noisy[v] + (k ** (h - 1) - 1) * below) / (k**h - 1)
    expected = z.copy()
    for v in range(1, len(tree)):
        above = tree.parent[v]
        siblings = z[tree.first_child[above] : tree.first_child[above] + k].sum()
        expected[v] = z[v] + (expected[above] - siblings) / k
    np.testing.assert_allclose(least_squares(tree, noisy, np.full(len(tree), 7.0)), expected, atol=1e-12)


def test_the_largest_gain_of_the_paper() -> None:
    """Theorem 4 (iv): all bins but the two extreme ones, 2 (l - 1) (k - 1) - k noisy nodes, against at most 3 variances."""
    for height, gain in ((4, None), (7, 5.9), (10, None)):
        tree = Tree.balanced(2 ** (height - 1), 2)
        found = range_variances(tree, np.ones(len(tree)), np.array([1]), np.array([tree.bins - 1]))[0]
        assert 0 < found <= 3
        if gain:
            assert (2 * (height - 1) - 2) / found == pytest.approx(gain, abs=0.05)


@settings(max_examples=200)
@given(
    seed=st.integers(0, 10**6), unmeasured=st.sampled_from([0.0, 0.3, 0.6]), exact=st.sampled_from([0.0, 0.3])
)
def test_estimates_and_variances_are_those_of_dense_least_squares(
    seed: int, unmeasured: float, exact: float
) -> None:
    """And where the measurements leave something open, the first node that is open is named."""
    generator = np.random.default_rng(seed)
    tree = random_tree(generator, most=9)
    values, variances = random_measurements(generator, tree, unmeasured=unmeasured, exact=exact)
    bins, covariance, unseen = dense_fit(tree, values, variances)
    if unseen.shape[1]:
        undetermined = np.flatnonzero(np.abs(coverage(tree) @ unseen).max(axis=1) > 1e-9)
        with pytest.raises(TreeError, match=re.escape(f"node {undetermined[0]} (bin")):
            least_squares(tree, values, variances)
        return
    found = least_squares(tree, values, variances)
    np.testing.assert_allclose(found, coverage(tree) @ bins, atol=1e-9 * max(1, np.abs(bins).max()))
    np.testing.assert_allclose(tree.totals(found[tree.leaf_of_bin]), found, atol=1e-9)
    known = variances == 0
    np.testing.assert_allclose(found[known], values[known], atol=1e-9)
    starts, stops = np.array([(i, j) for i in range(tree.bins + 1) for j in range(i, tree.bins + 1)]).T
    inside = ((np.arange(tree.bins) >= starts[:, None]) & (np.arange(tree.bins) < stops[:, None])).astype(
        float
    )
    expected = np.einsum("qi,ij,qj->q", inside, covariance, inside)
    np.testing.assert_allclose(
        range_variances(tree, variances, starts, stops), expected, atol=1e-9 * max(1, covariance.max())
    )


def test_variances_of_ranges_of_a_large_tree_stay_exact() -> None:
    """Nodes against the closed form of one level: the variance of z at height h is k^(h-1) (k-1) / (k^h - 1)."""
    tree, k = Tree.balanced(4**5, 4), 4
    found = range_variances(tree, np.full(len(tree), 2.0), np.array([0]), np.array([tree.bins]))
    assert found[0] == pytest.approx(2 * k**5 * (k - 1) / (k**6 - 1), rel=1e-12)


def test_only_ratios_of_variances_matter() -> None:
    generator = np.random.default_rng(5)
    tree = Tree.balanced(37, 3)
    values, variances = generator.normal(size=len(tree)), np.exp(generator.normal(size=len(tree)))
    np.testing.assert_allclose(
        least_squares(tree, values, variances), least_squares(tree, values, 1e6 * variances), atol=1e-9
    )


def test_a_single_bin() -> None:
    tree = Tree.balanced(1, 2)
    assert least_squares(tree, np.array([3.5]), np.array([2.0])).tolist() == [3.5]
    assert range_variances(tree, np.array([2.0]), np.array([0, 0, 1]), np.array([0, 1, 1])).tolist() == [
        0,
        2,
        0,
    ]


def test_nodes_at_most_zero_take_what_is_below_them() -> None:
    tree = Tree.balanced(4, 2)
    values = np.array([3.0, -1, 4, 2, -3, 4, 0])
    assert zero_subtrees(tree, values).tolist() == [3, 0, 4, 0, 0, 4, 0]


@given(seed=st.integers(0, 10**6))
def test_a_node_stays_if_all_above_it_are_positive(seed: int) -> None:
    generator = np.random.default_rng(seed)
    tree = random_tree(generator, most=20, deepest=4)
    values = generator.integers(-1, 4, len(tree)).astype(np.float64)
    found = zero_subtrees(tree, values)
    for node in range(len(tree)):
        path = [node]
        while path[-1] > 0:
            path.append(int(tree.parent[path[-1]]))
        assert found[node] == (values[node] if (values[path] > 0).all() else 0)


def cost(
    values: NDArray[np.float64],
    variances: NDArray[np.float64],
    nodes: NDArray[np.int64] | NDArray[np.float64],
) -> float:
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
        with pytest.raises(TreeError, match="determined"):
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


def test_the_nearest_tree_is_least_squares_where_nothing_is_negative() -> None:
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


def nearest_by_enumeration(
    best: NDArray[np.float64], variances: NDArray[np.float64], total: float
) -> NDArray[np.float64]:
    """Try every set of positive children."""
    answers = []
    for number in range(1, best.size + 1):
        for chosen in map(list, combinations(range(best.size), number)):
            point = np.zeros(best.size)
            price = (best[chosen].sum() - total) / variances[chosen].sum()
            point[chosen] = best[chosen] - price * variances[chosen]
            if point.min() >= -1e-12:
                answers.append((float(((point - best) ** 2 / variances).sum()), point))
    return min(answers, key=lambda found: found[0])[1]


@given(seed=st.integers(0, 10**6), number=st.integers(1, 6), total=st.sampled_from([0.0, 0.5, 3.0, 100.0]))
def test_a_projection_is_the_nearest_point_of_the_simplex(seed: int, number: int, total: float) -> None:
    generator = np.random.default_rng(seed)
    best, variances = generator.normal(0, 2, number), generator.uniform(0.1, 3, number)
    result = np.zeros(number)
    project(best, variances, total, result)
    assert result == pytest.approx(nearest_by_enumeration(best, variances, total), abs=1e-9)


def test_children_known_exactly_keep_their_value_and_one_unknown_gets_the_rest() -> None:
    result = np.zeros(3)
    project(np.array([2.0, 5.0, 0.0]), np.array([0.0, 1.0, np.inf]), 10.0, result)
    assert result.tolist() == [2.0, 5.0, 3.0]
    project(np.array([2.0, 5.0, 0.0]), np.array([0.0, 1.0, np.inf]), 4.0, result)
    assert result.tolist() == [2.0, 2.0, 0.0]
    project(np.array([2.0, -5.0]), np.array([0.0, 1.0]), 1.0, result[:2])
    assert result[:2].tolist() == [2.0, 0.0]


def noisy(seed: int, bins: int = 40) -> tuple[Tree, NDArray[np.float64], NDArray[np.float64]]:
    generator = np.random.default_rng(seed)
    tree = Tree.balanced(bins, 3)
    exact = tree.totals(generator.poisson(0.5, bins).astype(np.float64))
    variances = generator.uniform(0.5, 4.0, len(tree))
    return tree, exact + generator.normal(0, np.sqrt(variances)), variances


@pytest.mark.parametrize("seed", range(5))
def test_the_tree_is_consistent_and_nonnegative_and_its_root_that_of_least_squares(seed: int) -> None:
    tree, values, variances = noisy(seed)
    found = divide_from_the_root(tree, values, variances)
    assert found.min() >= 0.0
    assert found == pytest.approx(tree.totals(found[tree.leaf_of_bin]), abs=1e-9)
    assert found[0] == pytest.approx(max(0.0, least_squares(tree, values, variances)[0]))


def test_division_is_least_squares_where_nothing_is_negative() -> None:
    tree, values, variances = noisy(1)
    values = values + 100.0 * tree.size
    assert divide_from_the_root(tree, values, variances) == pytest.approx(
        least_squares(tree, values, variances), rel=1e-9
    )


def test_wide_ranges_of_a_sparse_histogram_stay_unbiased() -> None:
    """1,000 empty bins and one total of 50: zeroed bins do not raise the total, over 200 noisy copies."""
    tree = Tree.of_levels([[1000], [0] * 1000])
    generator = np.random.default_rng(3)
    variances = np.concatenate(([1.0], np.full(1000, 4.0)))
    exact = np.concatenate(([50.0], np.zeros(1000)))
    exact[1] = 50.0
    roots = [
        divide_from_the_root(tree, exact + generator.normal(0, np.sqrt(variances)), variances)[0]
        for _ in range(200)
    ]
    assert np.mean(roots) == pytest.approx(50.0, abs=5 / np.sqrt(200))


def test_a_total_that_is_far_too_small_does_not_wipe_out_bins_that_are_surely_there() -> None:
    """One bin of 1,000 among 400 empty ones; the noise of the measured total is -5,000, that of the bins 0."""
    tree = Tree.of_levels([[400], [0] * 400])
    values = np.zeros(401)
    values[0], values[7] = 1000.0 - 5000.0, 1000.0
    variances = np.concatenate(([1e6], np.full(400, 2.0)))
    found = divide_from_the_root(tree, values, variances)
    margin = np.log(500.0 * 400)
    assert found[7] >= 1000.0 - margin
    assert found[0] == pytest.approx(found[1:].sum())
    assert found[0] <= 1000.0


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
        with pytest.raises(TreeError, match="determined"):
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


FOUR, ONES, ZEROS = Tree.balanced(4, 2), np.ones(7), np.zeros(7)
HALF_MEASURED = np.array([1.0, 1, 1, 1, 1, np.inf, np.inf])


def changed(array: NDArray[np.float64], *changes: tuple[int, float]) -> NDArray[np.float64]:
    """Return the array with other entries at some places."""
    other = array.copy()
    for place, value in changes:
        other[place] = value
    return other


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (partial(least_squares, FOUR, np.ones(4), ONES), "one value for each of 7 nodes"),
        (partial(least_squares, FOUR, np.ones((7, 2)), ONES), "one value for each of 7 nodes"),
        (partial(least_squares, FOUR, ONES, np.ones(4)), "one variance for each of 7 nodes"),
        (partial(least_squares, FOUR, ONES, changed(ONES, (3, -1.0))), "node 3 has variance"),
        (partial(least_squares, FOUR, ONES, changed(ONES, (3, np.nan))), "node 3 has variance"),
        (partial(least_squares, FOUR, changed(ONES, (2, np.inf)), ONES), "node 2 .* not finite"),
        (partial(least_squares, FOUR, changed(ONES, (2, np.nan)), ONES), "node 2 .* not finite"),
        (
            partial(
                least_squares, FOUR, np.array([9.0, 3, 5, 0, 0, 0, 0]), changed(ONES, (0, 0), (1, 0), (2, 0))
            ),
            r"node 0 \(bins 0 to 3\) is known to be 9.*add up to 8",
        ),
        (partial(least_squares, FOUR, ZEROS, HALF_MEASURED), r"node 5 \(bin 2\) is not determined"),
        (partial(least_squares, FOUR, ZEROS, np.full(7, np.inf)), r"node 0 \(bins 0 to 3\)"),
        (partial(range_variances, FOUR, HALF_MEASURED, np.array([0]), np.array([1])), r"node 5 \(bin 2\)"),
        (partial(range_variances, FOUR, ONES, np.array([0, 2]), np.array([4, 5])), r"range 1 is \[2, 5\)"),
        (partial(range_variances, FOUR, ONES, np.array([2]), np.array([1])), r"range 0 is \[2, 1\)"),
        (partial(range_variances, FOUR, ONES, np.array([2]), np.array([1, 2])), "as many starts"),
        (partial(zero_subtrees, FOUR, np.ones(4)), "one value for each of 7 nodes"),
        (
            partial(nonnegative_least_squares, FOUR, changed(ZEROS, (4, -1)), changed(ONES, (4, 0))),
            r"node 4 \(bin 1\) is known to be -1",
        ),
        (partial(divide_from_the_root, FOUR, ZEROS, np.full(7, np.inf)), "not determined"),
        (partial(divide_from_the_root, FOUR, np.array([3.0, 1, 1, 0, 1, 0, 1]), ZEROS), "known to be 3"),
        (partial(divide_from_the_root, FOUR, np.zeros((7, 2)), ONES), "one value for each"),
        (partial(best_integer_tree, FOUR, np.full(7, 1e17), ONES), "whole counts"),
        (partial(best_integer_tree, FOUR, np.full(7, 1.5), changed(ONES, (2, 0))), r"node 2 \(bins 2 to 3\)"),
        *(
            (
                partial(MeanVariance, tree, WeightedRanges([0], [1], [1.0], bins), False),  # type: ignore[arg-type]
                "lowest level",
            )
            for tree, bins in ((Tree.nested([[0, 1], 2]), 3), (FOUR, 3))
        ),
    ],
)
def test_what_does_not_fit_is_refused_and_named(call: Callable[[], object], says: str) -> None:
    with pytest.raises(TreeError, match=says):
        call()


def some_case(seed: int, *, known_total: bool) -> tuple[MeanVariance, NDArray[np.float64]]:
    """Return the mean over 30 ranges of a small tree, and precisions of which some are 0."""
    generator = np.random.default_rng(seed)
    trees = (random_tree(generator, most=14, deepest=5, widest=5) for _ in range(100))
    tree = deepened(next(tree for tree in trees if len(tree) > 1))
    starts = generator.integers(0, tree.bins, 30)
    stops = generator.integers(starts, tree.bins) + 1
    ranges = WeightedRanges(starts, stops, generator.random(30), tree.bins)
    precisions = np.exp(generator.normal(0, 1, len(tree.levels)))
    precisions[:-1][generator.random(precisions.size - 1) < 0.3] = 0.0
    return MeanVariance(tree, ranges, known_total), precisions


@pytest.mark.parametrize("known_total", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_value_and_slopes_are_right(seed: int, known_total: bool) -> None:
    mean, precisions = some_case(seed, known_total=known_total)
    value, slopes = mean(precisions)
    with np.errstate(divide="ignore"):
        each = 1.0 / precisions
    variances = np.repeat(each, [level.stop - level.start for level in mean.tree.levels])
    if known_total:
        variances[0] = 0.0
    ranges = mean.ranges
    expected = range_variances(mean.tree, variances, ranges.starts, ranges.stops)
    assert value == pytest.approx(float(ranges.shares @ expected), rel=1e-9, abs=1e-12)
    for level, precision in enumerate(precisions):
        step = 1e-6 * max(precision, 1.0)
        above = precisions + step * np.eye(precisions.size)[level]
        below = precisions - (step if precision else 0.0) * np.eye(precisions.size)[level]
        difference = (mean(above)[0] - mean(below)[0]) / (above - below)[level]
        assert slopes[level] == pytest.approx(difference, rel=2e-4, abs=1e-6 * (1 + abs(value)))
    if known_total:
        assert slopes[0] == 0.0
