"""Division from the root: each node's children are the nearest of that total, found by enumeration of who is positive."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import TreeError
from dpopt.inference.histograms.tree_kernels import project
from dpopt.inference.histograms.tree_least_squares import divide_from_the_root, least_squares
from dpopt.queries.ranges.tree import Tree


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


def test_where_nothing_is_negative_it_is_least_squares() -> None:
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


def test_what_cannot_be_divided_is_refused() -> None:
    tree = Tree.balanced(4, 2)
    with pytest.raises(TreeError, match="not determined"):
        divide_from_the_root(tree, np.zeros(7), np.full(7, np.inf))
    with pytest.raises(TreeError, match="known to be 3"):
        divide_from_the_root(tree, np.array([3.0, 1, 1, 0, 1, 0, 1]), np.zeros(7))
    with pytest.raises(TreeError, match="one value for each"):
        divide_from_the_root(tree, np.zeros((7, 2)), np.ones(7))
