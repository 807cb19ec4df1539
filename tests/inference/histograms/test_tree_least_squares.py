"""Least squares over trees: the example and the recurrences of the paper, and dense generalised least squares."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.errors import TreeError
from dpopt.inference.histograms.tree_least_squares import least_squares, range_variances
from dpopt.queries.ranges.tree import Tree
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


def test_known_values_must_agree() -> None:
    tree = Tree.balanced(4, 2)
    variances, values = np.ones(7), np.array([9.0, 3, 5, 0, 0, 0, 0])
    variances[:3] = 0
    with pytest.raises(TreeError, match=r"node 0 \(bins 0 to 3\) is known to be 9.*add up to 8"):
        least_squares(tree, values, variances)
    values[0] = 8
    assert least_squares(tree, values, variances)[:3].tolist() == [8, 3, 5]


def test_what_is_not_determined_is_named() -> None:
    tree = Tree.balanced(4, 2)
    variances = np.array([1.0, 1, 1, 1, 1, np.inf, np.inf])
    with pytest.raises(TreeError, match=r"node 5 \(bin 2\) is not determined.*measure it"):
        least_squares(tree, np.zeros(7), variances)
    with pytest.raises(TreeError, match=r"node 0 \(bins 0 to 3\)"):
        least_squares(tree, np.zeros(7), np.full(7, np.inf))
    with pytest.raises(TreeError, match=r"node 5 \(bin 2\)"):
        range_variances(tree, variances, np.array([0]), np.array([1]))


def test_refusals() -> None:
    tree, ones = Tree.balanced(4, 2), np.ones(7)
    with pytest.raises(TreeError, match="one value for each of 7 nodes"):
        least_squares(tree, np.ones(4), ones)
    with pytest.raises(TreeError, match="one value for each of 7 nodes"):
        least_squares(tree, np.ones((7, 2)), ones)
    with pytest.raises(TreeError, match="one variance for each of 7 nodes"):
        least_squares(tree, ones, np.ones(4))
    for wrong in (-1.0, np.nan):
        with pytest.raises(TreeError, match="node 3 has variance"):
            least_squares(tree, ones, np.array([1.0, 1, 1, wrong, 1, 1, 1]))
    for wrong in (np.inf, np.nan):
        with pytest.raises(TreeError, match="node 2 has a value that is not finite"):
            least_squares(tree, np.array([1.0, 1, wrong, 1, 1, 1, 1]), ones)
    with pytest.raises(TreeError, match=r"range 1 is \[2, 5\)"):
        range_variances(tree, ones, np.array([0, 2]), np.array([4, 5]))
    with pytest.raises(TreeError, match=r"range 0 is \[2, 1\)"):
        range_variances(tree, ones, np.array([2]), np.array([1]))
    with pytest.raises(TreeError, match="as many starts as stops"):
        range_variances(tree, ones, np.array([2]), np.array([1, 2]))
