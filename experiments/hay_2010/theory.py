"""Theorem 4 (iv) of the paper, exact and by draws, and the usefulness of its Appendix E beside the bound of Blum et al."""

from __future__ import annotations

from collections.abc import Iterator
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpopt.inference.histograms.tree_least_squares import TreeGains, range_variances
from dpopt.queries.ranges.tree import Tree
from experiments.hay_2010.draws import discrete_laplace, generator, variance
from experiments.hay_2010.tree_sums import levels_of, sums_of_fewest_nodes

Result = dict[str, Any]

BRANCHING = 2
FAILURE = 0.05
"""delta of usefulness: the share of draws in which some range may have a larger error."""
USEFULNESS = (0.1, 0.01)
DRAWS_AT_ONCE = 500


def theorem_4(levels: range, drawn_levels: int, draws: int) -> Iterator[Result]:
    """Yield, for each number of levels l, the variances of "all bins but the first and the last", in variances of a node."""
    for height in levels:
        tree = Tree.balanced(BRANCHING ** (height - 1), BRANCHING)
        start, stop = np.array([1]), np.array([tree.bins - 1])
        ones = levels_of(tree, np.ones((1, len(tree))))
        nodes = float(sums_of_fewest_nodes(ones, start[None, :], stop[None, :])[0, 0])
        inferred = float(range_variances(tree, np.ones(len(tree)), start, stop)[0])
        result: Result = {
            "levels": height,
            "nodes": nodes,
            "inferred": inferred,
            "ratio": nodes / inferred,
            "guaranteed": (2 * (height - 1) * (BRANCHING - 1) - BRANCHING) / 3,
        }
        if height == drawn_levels:
            result["drawn"] = _drawn_ratio(tree, draws)
        yield result


def _drawn_ratio(tree: Tree, draws: int) -> Result:
    """Return the mean squared errors of both over many draws at epsilon 1, over the variance of a node."""
    scale, randomness = float(len(tree.levels)), generator("theorem 4", len(tree))
    gains = TreeGains.of(tree, np.ones(len(tree)))
    noisy, inferred = [], []
    for done in range(0, draws, DRAWS_AT_ONCE):
        errors = discrete_laplace(randomness, (min(DRAWS_AT_ONCE, draws - done), len(tree)), scale)
        of_nodes = errors.astype(np.float64)
        ends = np.ones((len(of_nodes), 1), dtype=np.int64)
        noisy.append(sums_of_fewest_nodes(levels_of(tree, of_nodes), ends, ends * (tree.bins - 1))[:, 0])
        fitted = gains.fit(of_nodes.T)
        inferred.append(fitted[0] - fitted[tree.leaf_of_bin[[0, -1]]].sum(axis=0))
    squares = [np.concatenate(parts) ** 2 / variance(scale) for parts in (noisy, inferred)]
    return {
        "draws": draws,
        "nodes": float(squares[0].mean()),
        "inferred": float(squares[1].mean()),
        "ratio": float(squares[0].mean() / squares[1].mean()),
    }


def largest_error_bound(bins: int, epsilon: float) -> float:
    """Return what no range of H~ has as its absolute error, except with probability .05 (Appendix E, restored).

    (l / epsilon) sqrt(8 Lam max(2 l, Lam)) with Lam = ln(n (n + 1) / delta).
    """
    levels, spread = bins.bit_length(), log(bins * (bins + 1) / FAILURE)
    return levels / epsilon * sqrt(8.0 * spread * max(2.0 * levels, spread))


def records_of_blum(bins: int, epsilon: float, usefulness: float) -> float:
    """Return the number of records from which Blum et al.'s method is useful, with the constant 1, which they leave open."""
    names = log(log(bins)) + log(1.0 / (usefulness * FAILURE))
    return log(bins) * names / (epsilon * usefulness**3)


def expected_error_bound(multiplicities: ArrayLike, variance: float) -> float:
    """Return what E sum_k (s_k - true_k)^2 of `isotonic` cannot exceed: variance * sum_r (1 + 1/2 + ... + 1/n_r).

    For any independent noise of one distribution with this variance; n_r is how often the r-th distinct value occurs.
    The bound is reached as the distinct values move apart, so it is far off where the noise hides the differences
    between them.

    Proof: the projection onto a convex set comes no further from the truth than the projection of the noise onto the
    tangent cone there, which is a product of monotone cones, one for each block of equal values; for n exchangeable
    steps the squared slopes of the convex minorant add up to variance * (1 + 1/2 + ... + 1/n) in expectation.
    """
    from scipy.special import digamma

    numbers = np.asarray(multiplicities, dtype=np.float64)
    if numbers.ndim != 1 or (numbers < 1).any() or not np.isfinite(numbers).all():
        raise ValueError("multiplicities are how often each distinct value occurs: numbers of at least 1")
    if not variance >= 0:
        raise ValueError(f"a variance is at least 0, found {variance}")
    harmonic = digamma(numbers + 1) + np.euler_gamma
    return float(variance * harmonic.sum())
