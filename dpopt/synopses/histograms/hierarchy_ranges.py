"""Which ranges a histogram over a declared hierarchy should answer well, as ranges with weights (models/hierarchy_budgets)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.tree import Tree
from dpopt.queries.ranges.weighted_ranges import WeightedRanges
from dpopt.synopses.histograms.range_workload import ALL, FILE, SIZES, described, parse_sizes

NODES = "nodes"
MOST_OF_A_KIND = 2_048
"""All groups of a level, all positions of a size and all ranges are represented by at most so many each, evenly spaced."""


def parse_hierarchy_ranges(text: str, hierarchy: Tree, bins: Bins) -> tuple[str, str, WeightedRanges]:
    """Read "nodes", "all", "sizes:1,64,1024", or "file:PATH".

    Returns
    -------
    tuple
        The text that goes on file (without a path), the ranges in words, and the ranges.

    Raises
    ------
    WorkloadError
        If it is none of them, a size does not fit the bins, or the file declares no ranges of them.
    """
    if text == NODES:
        return text, "groups of all levels", ranges_of_nodes(hierarchy)
    if text == ALL:
        return text, "all ranges", all_ranges(bins.number)
    if text.startswith(SIZES):
        return text, "ranges of these sizes", ranges_of_sizes(parse_sizes(text), bins.number)
    if text.startswith(FILE):
        declared = WeightedRanges.read(text.removeprefix(FILE), bins)
        return described(declared), "declared ranges", declared
    raise WorkloadError(
        f"found the ranges {text!r}; with a hierarchy, expected nodes, all, sizes:1,64,1024, or file:PATH"
    )


def ranges_of_nodes(tree: Tree) -> WeightedRanges:
    """Return the nodes of a tree as ranges: all levels weigh alike, and alike the nodes of a level (HB-5)."""
    chosen = [level.start + _spaced(level.stop - level.start) for level in tree.levels]
    nodes = np.concatenate(chosen)
    starts = tree.start[nodes]
    return WeightedRanges(starts, starts + tree.size[nodes], _alike(chosen), tree.bins)


def all_ranges(bins: int) -> WeightedRanges:
    """Return all ranges with equal weights; evenly spaced ones, in the order of starts and stops, if there are too many."""
    of_starts = np.arange(bins, 0, -1, dtype=np.int64)
    before = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(of_starts)))
    chosen = _spaced(int(before[-1]))
    starts = np.searchsorted(before, chosen, side="right") - 1
    stops = starts + 1 + chosen - before[starts]
    return WeightedRanges(starts, stops, np.ones(chosen.size), bins)


def ranges_of_sizes(sizes: list[int], bins: int) -> WeightedRanges:
    """Return the ranges of these sizes: all sizes weigh alike, and alike the positions of a size.

    Raises
    ------
    WorkloadError
        If a size does not fit the bins.
    """
    for size in sizes:
        if not 1 <= size <= bins:
            raise WorkloadError(f"a range of {size:,} bins; the domain has {bins:,}")
    starts = [_spaced(bins - size + 1) for size in sizes]
    joined = np.concatenate(starts)
    lengths = np.repeat(sizes, [positions.size for positions in starts])
    return WeightedRanges(joined, joined + lengths, _alike(starts), bins)


def _alike(groups: list[NDArray[np.int64]]) -> NDArray[np.float64]:
    """Return weights for the members of groups side by side: all groups weigh alike, and alike the members of a group."""
    sizes = np.array([group.size for group in groups])
    return np.repeat(1.0 / (sizes * sizes.size), sizes)


def _spaced(number: int) -> NDArray[np.int64]:
    """Return 0, ..., number - 1, or so many of them, evenly spaced from the first to the last, as there may be."""
    if number <= MOST_OF_A_KIND:
        return np.arange(number, dtype=np.int64)
    return np.linspace(0, number - 1, MOST_OF_A_KIND).astype(np.int64)
