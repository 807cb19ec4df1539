"""Several axes: dense least squares over the Kronecker product of the axes' measurements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import TreeError
from dpopt.inference.histograms.tensor import box_variances, tensor_least_squares
from dpopt.inference.histograms.tree_least_squares import least_squares, range_variances
from dpopt.queries.tree import Tree
from tests.inference.histograms.small_trees import coverage, dense_fit, random_tree


def product(factors: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the Kronecker product."""
    result = np.ones((1,) * factors[0].ndim)
    for factor in factors:
        result = np.asarray(np.kron(result, factor), dtype=np.float64)
    return result


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), axes=st.integers(1, 3), levels=st.booleans())
def test_estimates_and_variances_are_those_of_dense_least_squares(seed: int, axes: int, levels: bool) -> None:
    """Variances by level, p_{h1} p_{h2} in the spec's terms, or of each node by itself; some nodes not measured."""
    generator = np.random.default_rng(seed)
    trees: list[Tree] = []
    variances: list[NDArray[np.float64]] = []
    while len(trees) < axes:
        tree = Tree.balanced(int(generator.integers(1, 6)), 2) if levels else random_tree(generator, most=4)
        spread = np.exp(generator.normal(size=len(tree)))
        if levels:
            depth = np.concatenate([np.full(one.stop - one.start, d) for d, one in enumerate(tree.levels)])
            spread = spread[depth]
        spread[generator.random(len(tree)) < 0.2] = np.inf
        if not dense_fit(tree, np.zeros(len(tree)), spread)[2].shape[1]:
            trees.append(tree)
            variances.append(spread)
    matrix = product([coverage(tree) for tree in trees])
    spread = product(variances)
    shape = tuple(len(tree) for tree in trees)
    values = generator.normal(size=spread.size)
    values[np.isinf(spread)] = np.nan
    measured = np.isfinite(spread)
    rows = matrix[measured] / np.sqrt(spread[measured])[:, None]
    inverse = np.linalg.pinv(rows, rcond=1e-12)
    expected = matrix @ inverse @ (values[measured] / np.sqrt(spread[measured]))
    found = tensor_least_squares(trees, values.reshape(shape), variances)
    np.testing.assert_allclose(found.ravel(), expected, atol=1e-8 * max(1, np.abs(expected).max()))
    stops = np.array([generator.integers(0, [tree.bins + 1 for tree in trees]) for _ in range(8)])
    starts = np.minimum(stops, [generator.integers(0, [tree.bins + 1 for tree in trees]) for _ in range(8)])
    for start, stop, variance in zip(
        starts, stops, box_variances(trees, variances, starts, stops), strict=True
    ):
        sides = [
            ((np.arange(t.bins) >= a) & (np.arange(t.bins) < b)).astype(np.float64)
            for t, a, b in zip(trees, start, stop, strict=True)
        ]
        box = product(sides)
        assert variance == pytest.approx(float(((box @ inverse) ** 2).sum()), rel=1e-7, abs=1e-12)


def test_one_axis_is_the_tree_itself() -> None:
    generator = np.random.default_rng(1)
    tree = Tree.balanced(50, 3)
    values, ones = generator.normal(size=len(tree)), np.ones(len(tree))
    np.testing.assert_allclose(
        tensor_least_squares([tree], values, [ones]), least_squares(tree, values, ones)
    )
    ranges = np.array([[3]]), np.array([[17]])
    assert box_variances([tree], [ones], *ranges) == range_variances(tree, ones, ranges[0][0], ranges[1][0])


def test_what_comes_out_is_consistent_along_every_axis() -> None:
    trees = [Tree.balanced(9, 2), Tree.balanced(12, 3)]
    ones = [np.ones(len(tree)) for tree in trees]
    values = np.random.default_rng(2).normal(size=(len(trees[0]), len(trees[1])))
    found = tensor_least_squares(trees, values, ones)
    bins = found[np.ix_(trees[0].leaf_of_bin, trees[1].leaf_of_bin)]
    np.testing.assert_allclose(found, coverage(trees[0]) @ bins @ coverage(trees[1]).T, atol=1e-12)


def test_refusals() -> None:
    trees = [Tree.balanced(2, 2), Tree.balanced(3, 3)]
    ones = [np.ones(3), np.ones(4)]
    with pytest.raises(TreeError, match=r"shape \(3, 4\), found \(4, 3\)"):
        tensor_least_squares(trees, np.ones((4, 3)), ones)
    with pytest.raises(TreeError, match="found 2 and 1"):
        tensor_least_squares(trees, np.ones((3, 4)), ones[:1])
    with pytest.raises(TreeError, match=r"axis 1: node 0 \(bins 0 to 2\) has variance 0"):
        tensor_least_squares(trees, np.ones((3, 4)), [ones[0], np.array([0.0, 1, 1, 1])])
    wrong = np.ones((3, 4))
    wrong[1, 2] = np.nan
    with pytest.raises(TreeError, match=r"box \(1, 2\) has a value that is not finite"):
        tensor_least_squares(trees, wrong, ones)
    with pytest.raises(TreeError, match=r"shape \(q, 2\)"):
        box_variances(trees, ones, np.zeros(2, dtype=np.int64), np.ones(2, dtype=np.int64))
