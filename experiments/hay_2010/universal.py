"""Figure 6 of the paper: errors of ranges by their size, and the largest error of any range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.inference.histograms.tree_least_squares import TreeGains, range_variances, zero_subtrees
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.tree import Tree
from dpopt.synopses.histograms.histogram_plan import plan_blocks
from dpopt.synopses.histograms.release_histogram import release_histogram
from experiments.hay_2010.draws import SeededNoise, discrete_laplace, generator, variance
from experiments.hay_2010.tree_sums import (
    largest_errors,
    largest_errors_of_bins,
    levels_of,
    prefix_sums,
    sums_of_fewest_nodes,
)
from experiments.histograms import Histogram

Result = dict[str, Any]
Answers = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]]

SINGLE, SINGLE_POSITIVE = "L~", "L~, not negative"
TREE, TREE_POSITIVE = "H~", "H~, not negative"
LEAST_SQUARES = "H-bar"
ZEROED, ZEROED_BINS = "H-bar, zeroed", "H-bar, zeroed, sums of bins"
DEFAULT, DEFAULT_SIZES = "dpopt, all", "dpopt, sizes"


@dataclass(frozen=True, slots=True)
class Errors:
    """The errors of a method on all draws: of ranges (m, q) to (m, q), and the largest of any range (m,)."""

    name: str
    of_ranges: Answers
    largest: NDArray[np.float64]


def measure(histogram: Histogram, epsilon: float, runs: int, ranges: int) -> Result:
    """Return mean squared errors by size of range, what they are by the exact variances, and the largest errors."""
    bins = histogram.bins
    sizes = tuple(2**power for power in range(bins.bit_length() - 1))
    randomness = generator("positions of ranges", histogram.name, epsilon)
    positions = [randomness.integers(0, bins - size, (runs, ranges), endpoint=True) for size in sizes]
    found, largest = {}, {}
    for method in _methods(histogram, epsilon, runs, sizes):
        found[method.name] = [
            float(np.mean(method.of_ranges(starts, starts + size) ** 2))
            for starts, size in zip(positions, sizes, strict=True)
        ]
        largest[method.name] = {
            "median": float(np.median(method.largest)),
            "exceeded_by_1_in_20": float(np.quantile(method.largest, 0.95)),
            "most": float(method.largest.max()),
        }
    return {
        "set": histogram.name,
        "bins": bins,
        "levels": bins.bit_length(),
        "records": int(histogram.counts.sum()),
        "empty": float(np.mean(histogram.counts == 0)),
        "epsilon": epsilon,
        "sizes": list(sizes),
        "errors": found,
        "exact": exact_errors(bins, epsilon, sizes),
        "largest": largest,
    }


def exact_errors(bins: int, epsilon: float, sizes: tuple[int, ...]) -> dict[str, list[float]]:
    """Return the variances that L~, H~ and H-bar have by their distributions, mean over all positions of each size."""
    tree, levels = Tree.balanced(bins, 2), bins.bit_length()
    single = variance(1.0 / epsilon)
    node = variance(levels / epsilon)
    ones, variances = levels_of(tree, np.ones((1, len(tree)))), np.full(len(tree), node)
    found: dict[str, list[float]] = {SINGLE: [], TREE: [], LEAST_SQUARES: []}
    for size in sizes:
        starts = np.arange(bins - size + 1, dtype=np.int64)
        nodes = sums_of_fewest_nodes(ones, starts[None, :], starts[None, :] + size)
        found[SINGLE].append(size * single)
        found[TREE].append(float(nodes.mean()) * node)
        found[LEAST_SQUARES].append(float(range_variances(tree, variances, starts, starts + size).mean()))
    return found


def _methods(histogram: Histogram, epsilon: float, runs: int, sizes: tuple[int, ...]) -> Iterator[Errors]:
    """Yield the errors of each method; those on the same noisy counts have the same noise."""
    counts, tree = histogram.counts, Tree.balanced(histogram.bins, 2)
    randomness = generator("universal", histogram.name, epsilon)
    noisy = counts + discrete_laplace(randomness, (runs, counts.size), 1.0 / epsilon)
    yield _by_bins(SINGLE, (noisy - counts).astype(np.float64))
    yield _by_bins(SINGLE_POSITIVE, np.maximum(noisy, 0) - counts.astype(np.float64))
    truth = tree.totals(counts)
    nodes = truth + discrete_laplace(randomness, (runs, len(tree)), histogram.bins.bit_length() / epsilon)
    yield _by_nodes(TREE, tree, (nodes - truth).astype(np.float64))
    yield _by_nodes(TREE_POSITIVE, tree, np.maximum(nodes, 0) - truth.astype(np.float64))
    gains = TreeGains.of(tree, np.ones(len(tree)))
    consistent = np.ascontiguousarray(gains.fit(nodes.T.astype(np.float64)).T)
    leaves = tree.leaf_of_bin
    yield _by_bins(LEAST_SQUARES, consistent[:, leaves] - counts)
    zeroed = np.stack([zero_subtrees(tree, row) for row in consistent])
    yield _by_nodes(ZEROED, tree, zeroed - truth)
    yield _by_bins(ZEROED_BINS, zeroed[:, leaves] - counts)
    for name, wanted in ((DEFAULT, "all"), (DEFAULT_SIZES, "sizes:" + ",".join(map(str, sizes)))):
        yield _by_bins(name, _dpopt(histogram, epsilon, wanted, runs) - counts)


def _dpopt(histogram: Histogram, epsilon: float, wanted: str, runs: int) -> NDArray[np.float64]:
    """Return the counts (m, n) of so many releases with a plan for these ranges."""
    noise = SeededNoise(generator("dpopt", histogram.name, epsilon, wanted))
    plan = plan_blocks(histogram.bins, Budget(epsilon, 0.0, None, Accountant.PURE), ranges=wanted)
    counts = BinCounts.from_counts(histogram.counts)
    return np.stack([release_histogram(counts, plan, noise=noise).counts for _ in range(runs)])


def _by_bins(name: str, errors: NDArray[np.float64]) -> Errors:
    sums = prefix_sums(errors)

    def answers(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.take_along_axis(sums, stops, axis=1) - np.take_along_axis(sums, starts, axis=1)

    return Errors(name, answers, largest_errors_of_bins(errors))


def _by_nodes(name: str, tree: Tree, errors: NDArray[np.float64]) -> Errors:
    levels = levels_of(tree, errors)
    return Errors(name, lambda starts, stops: sums_of_fewest_nodes(levels, starts, stops), largest_errors(levels))
