"""Random trees with measurements, dense least squares over them as the textbooks have it, and nearest ones by trying all."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from dpopt.queries.ranges.tree import Tree


def random_tree(generator: np.random.Generator, most: int = 6, deepest: int = 3, widest: int = 4) -> Tree:
    """Return a tree of at most `most` bins: any mixture of depths, nodes with one child included."""
    while True:
        levels: list[list[int]] = []
        width = 1
        while width:
            last = len(levels) >= deepest
            level = [
                0 if last or generator.random() < 0.3 else int(generator.integers(1, widest + 1)) for _ in range(width)
            ]
            levels.append(level)
            width = sum(level)
        tree = Tree.of_levels(levels)
        if tree.bins <= most:
            return tree


def coverage(tree: Tree) -> NDArray[np.float64]:
    """Return which bins each node has, (v, n)."""
    bins = np.arange(tree.bins)
    start, size = tree.start[:, None], tree.size[:, None]
    return ((bins >= start) & (bins < start + size)).astype(np.float64)


def dense_fit(
    tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the least-squares bins, their covariance, and directions (n, f) that no measurement sees.

    Nodes of variance 0 are equations; their solution and its null space come from a singular value decomposition.
    """
    matrix, exact = coverage(tree), variances == 0
    measured = ~exact & np.isfinite(variances)
    start, null = np.zeros(tree.bins), np.eye(tree.bins)
    if exact.any():
        start = np.linalg.lstsq(matrix[exact], values[exact], rcond=None)[0]
        null = null_space(matrix[exact])
    rows = matrix[measured] @ null / np.sqrt(variances[measured])[:, None]
    targets = (values[measured] - matrix[measured] @ start) / np.sqrt(variances[measured])
    inverse = np.linalg.pinv(rows, rcond=1e-10)
    return start + null @ inverse @ targets, null @ inverse @ inverse.T @ null.T, null @ null_space(rows)


def null_space(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an orthonormal basis of what a matrix maps to 0, (n, f)."""
    if 0 in matrix.shape:
        return np.eye(matrix.shape[1])
    _, singular, right = np.linalg.svd(matrix)
    return np.asarray(right[int((singular > 1e-9).sum()) :].T)


def random_measurements(
    generator: np.random.Generator, tree: Tree, *, unmeasured: float, exact: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return values and variances: some inf, some 0 with values that some bins of at least 0 have."""
    truth = tree.totals(generator.integers(0, 4, tree.bins).astype(np.float64))
    kind = generator.random(len(tree))
    variances = np.exp(generator.normal(0, 1, len(tree)))
    values = truth + 3 * generator.normal(size=len(tree))
    variances[kind < unmeasured + exact] = np.inf
    values[kind < unmeasured + exact] = np.nan
    known = kind < exact
    variances[known], values[known] = 0.0, truth[known]
    return values, variances


def cost(values: NDArray[np.float64], variances: NDArray[np.float64], nodes: NDArray[np.float64]) -> float:
    """Return the weighted squared distance of nodes to the measured ones."""
    measured = (variances > 0) & np.isfinite(variances)
    return float(((nodes - values)[measured] ** 2 / variances[measured]).sum())


def nearest_nonnegative(tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest consistent nodes without negative bins: the best least-squares solution of all supports."""
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
    return nearest


def least_whole_cost(tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64], most: int) -> float:
    """Return the distance of the nearest consistent nodes in whole numbers, with bins of 0 to `most`; all are tried."""
    bins = np.indices((most + 1,) * tree.bins).reshape(tree.bins, -1)
    nodes = (coverage(tree) @ bins).T
    nodes = nodes[(nodes == values)[:, variances == 0].all(axis=1)]
    measured = (variances > 0) & np.isfinite(variances)
    costs = ((nodes - values)[:, measured] ** 2 / variances[measured]).sum(axis=1)
    return float(costs.min(initial=np.inf))
