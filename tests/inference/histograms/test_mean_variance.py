"""The mean variance of ranges and its slopes: against the variances of single ranges, and against differences."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.errors import TreeError
from dpopt.inference.histograms.mean_variance import MeanVariance
from dpopt.inference.histograms.tree_least_squares import range_variances
from dpopt.queries.ranges.hierarchy import deepened
from dpopt.queries.ranges.tree import Tree
from dpopt.queries.ranges.weighted_ranges import WeightedRanges
from tests.inference.histograms.small_trees import random_tree


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


def test_trees_and_ranges_that_do_not_fit_are_refused() -> None:
    uneven = Tree.nested([[0, 1], 2])
    for tree, bins in ((uneven, 3), (Tree.balanced(4, 2), 3)):
        with pytest.raises(TreeError, match="bins on the lowest level"):
            MeanVariance(tree, WeightedRanges([0], [1], [1.0], bins), False)  # type: ignore[arg-type]
