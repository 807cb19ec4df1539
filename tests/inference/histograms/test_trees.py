"""Trees of counts: least squares against dense ones, nodes divided anew, mean variances of ranges."""

from __future__ import annotations

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
from dpopt.inference.histograms.mean_variance import MeanVariance
from dpopt.inference.histograms.tree_kernels import project
from dpopt.inference.histograms.tree_least_squares import (
    divide_from_the_root,
    least_squares,
    range_variances,
    zero_subtrees,
)
from dpopt.queries.ranges.tree import Tree, deepened
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
@given(seed=st.integers(0, 10**6), unmeasured=st.sampled_from([0.0, 0.3, 0.6]), exact=st.sampled_from([0.0, 0.3]))
def test_estimates_and_variances_are_those_of_dense_least_squares(seed: int, unmeasured: float, exact: float) -> None:
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
    inside = ((np.arange(tree.bins) >= starts[:, None]) & (np.arange(tree.bins) < stops[:, None])).astype(float)
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
    assert range_variances(tree, np.array([2.0]), np.array([0, 0, 1]), np.array([0, 1, 1])).tolist() == [0, 2, 0]


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
        divide_from_the_root(tree, exact + generator.normal(0, np.sqrt(variances)), variances)[0] for _ in range(200)
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
            partial(least_squares, FOUR, np.array([9.0, 3, 5, 0, 0, 0, 0]), changed(ONES, (0, 0), (1, 0), (2, 0))),
            r"node 0 \(bins 0 to 3\) is known to be 9.*add up to 8",
        ),
        (partial(least_squares, FOUR, ZEROS, HALF_MEASURED), r"node 5 \(bin 2\) is not determined"),
        (partial(least_squares, FOUR, ZEROS, np.full(7, np.inf)), r"node 0 \(bins 0 to 3\)"),
        (partial(range_variances, FOUR, HALF_MEASURED, np.array([0]), np.array([1])), r"node 5 \(bin 2\)"),
        (partial(range_variances, FOUR, ONES, np.array([0, 2]), np.array([4, 5])), r"range 1 is \[2, 5\)"),
        (partial(range_variances, FOUR, ONES, np.array([2]), np.array([1])), r"range 0 is \[2, 1\)"),
        (partial(range_variances, FOUR, ONES, np.array([2]), np.array([1, 2])), "as many starts"),
        (partial(zero_subtrees, FOUR, np.ones(4)), "one value for each of 7 nodes"),
        (partial(divide_from_the_root, FOUR, ZEROS, np.full(7, np.inf)), "not determined"),
        (partial(divide_from_the_root, FOUR, np.array([3.0, 1, 1, 0, 1, 0, 1]), ZEROS), "known to be 3"),
        (partial(divide_from_the_root, FOUR, np.zeros((7, 2)), ONES), "one value for each"),
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
