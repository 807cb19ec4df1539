"""Which ranges a histogram should answer well: as groups with loads and references (models/level_budgets).

Over a declared hierarchy they are ranges with weights (models/hierarchy_budgets).

Which ranges of blocks have the largest predicted variance, under given budgets of the levels:

maximize sum_h (1 / lambda_h - 1 / lambda_(h-1)) a_h(start, stop) over 0 <= start < stop <= bins

a_h is the squared norm of LB-5 (`dpopt.queries.ranges.weighted_ranges`); levels that are not measured drop out. The
search begins with positions of many sizes, evenly spaced, and improves the best of each size by moves of its ends, with
steps that are halved. A heuristic: tests compare it with all ranges.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.models.noise_budgets.level_budgets import LevelProgram
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.tree import Tree
from dpopt.queries.ranges.weighted_ranges import (
    WeightedRanges,
    height_of,
    loads_of,
    loads_of_all_ranges,
    loads_of_norms,
    loads_of_size,
    squared_norms,
)
from dpopt.synopses.histograms.counts_plan import whole_number

ALL, PREFIXES, SIZES, WORST, FILE = "all", "prefixes", "sizes:", "worst", "file:"
_SHOWN = 60  # characters of what was found
_PLAIN_STEPS = (1, 4)
"""Plain strategies are single bins, and trees with 2 and with 16 children whose levels share the budget equally."""


@dataclass(frozen=True, slots=True, eq=False)
class RangeWorkload:
    """Groups of ranges."""

    text: str
    """As it was asked for."""
    names: tuple[str, ...]
    """One for each group, in words."""
    loads: NDArray[np.float64]
    """Shape (g, L + 1). LB-5."""
    relative: bool
    """Whether the reference of a group is the variance of the best simple strategy; otherwise it is 1."""

    @classmethod
    def parse(cls, text: str, bins: int | Bins) -> RangeWorkload:
        """Read "all", "prefixes", "sizes:1,64,1024", "worst", or "file:PATH"."""
        named = bins if isinstance(bins, Bins) else Bins("bins", bins)
        number = named.number
        if text == ALL:
            return cls(text, ("all ranges",), loads_of_all_ranges(number)[None, :], relative=False)
        if text == PREFIXES:
            stops = np.arange(1, number + 1, dtype=np.int64)
            loads = loads_of(np.zeros_like(stops), stops, number)
            return cls(text, ("prefixes",), loads[None, :], relative=False)
        if text == WORST:
            return cls(text, *_of_sizes([1], number), relative=False)  # the worst ranges join one by one
        if text.startswith(SIZES):
            return cls(text, *_of_sizes(parse_sizes(text), number), relative=True)
        if text.startswith(FILE):
            declared = WeightedRanges.read(text.removeprefix(FILE), named)
            return cls.declared(declared.starts, declared.stops, declared.weights, number)
        raise WorkloadError(f"found the ranges {text!r}; expected all, prefixes, worst, sizes:1,64,1024, or file:PATH")

    @classmethod
    def declared(
        cls, starts: NDArray[np.int64], stops: NDArray[np.int64], weights: NDArray[np.float64], bins: int
    ) -> RangeWorkload:
        """Return the workload of ranges start, ..., stop - 1, all (q,), whose weighted mean variance is to be least."""
        ranges = WeightedRanges(starts, stops, weights, bins)
        loads = loads_of(ranges.starts, ranges.stops, bins, ranges.weights)
        return cls(described(ranges), ("declared ranges",), loads[None, :], relative=False)

    def with_ranges(self, ranges: Iterable[tuple[int, int]], bins: int) -> RangeWorkload:
        """Return the workload with more groups, each a single range from start to stop - 1."""
        pairs = list(ranges)
        loads = [loads_of(np.array([start]), np.array([stop]), bins) for start, stop in pairs]
        names = (*self.names, *(f"bins {start:,} to {stop - 1:,}" for start, stop in pairs))
        return RangeWorkload(self.text, names, np.vstack((self.loads, *loads)), self.relative)

    def program(
        self, *, amount: float, sensitivity: int, gaussian: bool, known_total: bool, least: float = 0.0
    ) -> LevelProgram:
        """Return the program that spreads a budget over the levels; with `known_total` the root is not measured.

        Loads of the root are left out then: what the total determines has no variance. A group of such ranges needs no
        budget; single bins stand in for it.
        """
        levels = self.loads.shape[1] - 1
        used = levels if known_total and levels else levels + 1
        loads = np.array(self.loads[:, :used])
        of_a_bin = np.exp2(-np.arange(levels + 1, dtype=np.float64))
        loads[~loads.any(axis=1)] = loads_of_norms(of_a_bin.tolist())[:used]
        blocks = np.exp2(np.arange(used, dtype=np.float64))
        return level_program(
            LevelProgram(loads, blocks, np.tri(used), np.ones(len(loads)), amount, sensitivity, gaussian, least),
            _plain_shares(used) if self.relative else None,
        )


def level_program(program: LevelProgram, plain: list[NDArray[np.float64]] | None) -> LevelProgram:
    """Return a program whose references are the least variances under plain strategies: shares of the budget, if given."""
    if plain is None:
        return program
    least = np.min([program.variances(program.amount * shares) for shares in plain], axis=0)
    return replace(program, references=least)


def described(ranges: WeightedRanges) -> str:
    """Return declared ranges in a few words, without the name of their file."""
    return f"{ranges.starts.size:,} declared range{'s' if ranges.starts.size > 1 else ''}"


def parse_sizes(text: str) -> list[int]:
    """Read the sizes of "sizes:1,64,1024"."""
    parts = text.removeprefix(SIZES).split(",")
    found = [number for number in map(whole_number, parts) if number is not None]
    if len(found) < len(parts):
        shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
        raise WorkloadError(f"found the ranges {shown!r}; sizes are whole numbers of bins, as in sizes:1,64,1024")
    return found


def _plain_shares(levels: int) -> list[NDArray[np.float64]]:
    """Return the shares of the budget of plain strategies."""
    chosen = [np.eye(levels)[0]]
    for step in _PLAIN_STEPS:
        shares = np.zeros(levels)
        shares[::step] = 1.0
        shares[-1] = 1.0
        chosen.append(shares / shares.sum())
    return chosen


def _of_sizes(sizes: list[int], bins: int) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    names = tuple(f"ranges of {size:,} bins" if size > 1 else "single bins" for size in sizes)
    loads = np.array([loads_of_size(size, bins) for size in sizes])
    return names, loads


_SIZES, _POSITIONS, _IMPROVED = 240, 128, 4
_APART = 1.3
"""Ranges that are returned together differ in size by this factor at least."""
_ROUNDING = 1e-12


def worst_ranges(
    program: LevelProgram, amounts: NDArray[np.float64], bins: int, number: int
) -> list[tuple[int, int, float]]:
    """Return start, stop and variance of some ranges of large variance, the largest first, of different sizes.

    There are at most `number` of them. If the program has one level less than these bins have, the total is known.
    `amounts` are parts of the budget (L + 1,), above 0 for single bins.
    """
    heights, weights = _weights(program, amounts, bins)

    def variances(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
        found = np.zeros(starts.shape)
        for height, weight in zip(heights, weights, strict=True):
            found += weight * squared_norms(starts, stops, 1 << height)
        return found

    sizes = np.unique(np.geomspace(1, bins, _SIZES).round().astype(np.int64))
    starts = np.linspace(np.zeros(sizes.size), bins - sizes, _POSITIONS, axis=1).astype(np.int64)
    first = np.argsort(-variances(starts, starts + sizes[:, None]), axis=1)[:, :_IMPROVED]
    start = np.take_along_axis(starts, first, axis=1).ravel()
    stop = start + np.repeat(sizes, _IMPROVED)
    best = variances(start, stop)
    step = max(1, bins // 4)
    while step:
        moves = np.array([[step, step], [-step, -step], [0, step], [0, -step], [step, 0], [-step, 0]])
        tried_start, tried_stop = start[:, None] + moves[:, 0], stop[:, None] + moves[:, 1]
        inside = (tried_start >= 0) & (tried_stop <= bins) & (tried_start < tried_stop)
        tried_start, tried_stop = np.where(inside, tried_start, 0), np.where(inside, tried_stop, 1)
        found = np.where(inside, variances(tried_start, tried_stop), -np.inf)
        move, rows = np.argmax(found, axis=1), np.arange(start.size)
        better = found[rows, move] > best * (1 + _ROUNDING)
        start = np.where(better, tried_start[rows, move], start)
        stop = np.where(better, tried_stop[rows, move], stop)
        best = np.where(better, found[rows, move], best)
        if not better.any():
            step //= 2
    return _apart(start, stop, best, number)


def _weights(program: LevelProgram, amounts: NDArray[np.float64], bins: int) -> tuple[list[int], list[float]]:
    """Return the levels whose norms count, and how much."""
    inverse = 1.0 / program.gathered(program.precisions(amounts))
    weights = np.diff(inverse, prepend=0.0)
    if inverse.size <= height_of(bins):  # less the part that the known total determines
        weights = np.append(weights, -inverse[-1])
    counted = np.flatnonzero(np.abs(weights) > _ROUNDING * np.abs(weights).max())
    return counted.tolist(), weights[counted].tolist()


def _apart(
    starts: NDArray[np.int64], stops: NDArray[np.int64], variances: NDArray[np.float64], number: int
) -> list[tuple[int, int, float]]:
    found: list[tuple[int, int, float]] = []
    for place in np.argsort(-variances, kind="stable").tolist():
        size = int(stops[place] - starts[place])
        ratios = [size / (stop - start) for start, stop, _ in found]
        if len(found) < number and all(ratio >= _APART or ratio <= 1 / _APART for ratio in ratios):
            found.append((int(starts[place]), int(stops[place]), float(variances[place])))
    return found


NODES = "nodes"
MOST_OF_A_KIND = 2_048
"""All groups of a level, all positions of a size and all ranges are represented by at most this number, evenly spaced.
"""


def parse_hierarchy_ranges(text: str, hierarchy: Tree, bins: Bins) -> tuple[str, str, WeightedRanges]:
    """Read "nodes", "all", "sizes:1,64,1024", or "file:PATH": the text for the file (no path), words, and ranges."""
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
    """Return all ranges with equal weights; evenly spaced ones, in order of starts and stops, if there are too many."""
    of_starts = np.arange(bins, 0, -1, dtype=np.int64)
    before = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(of_starts)))
    chosen = _spaced(int(before[-1]))
    starts = np.searchsorted(before, chosen, side="right") - 1
    stops = starts + 1 + chosen - before[starts]
    return WeightedRanges(starts, stops, np.ones(chosen.size), bins)


def ranges_of_sizes(sizes: list[int], bins: int) -> WeightedRanges:
    """Return the ranges of these sizes: all sizes weigh alike, and alike the positions of a size."""
    for size in sizes:
        if not 1 <= size <= bins:
            raise WorkloadError(f"a range of {size:,} bins; the domain has {bins:,}")
    starts = [_spaced(bins - size + 1) for size in sizes]
    joined = np.concatenate(starts)
    lengths = np.repeat(sizes, [positions.size for positions in starts])
    return WeightedRanges(joined, joined + lengths, _alike(starts), bins)


def _alike(groups: list[NDArray[np.int64]]) -> NDArray[np.float64]:
    """Return weights for the members of groups side by side: groups weigh alike, and so do members of a group."""
    sizes = np.array([group.size for group in groups])
    return np.repeat(1.0 / (sizes * sizes.size), sizes)


def _spaced(number: int) -> NDArray[np.int64]:
    """Return 0, ..., number - 1, or at most `most` of them, evenly spaced from the first to the last."""
    if number <= MOST_OF_A_KIND:
        return np.arange(number, dtype=np.int64)
    return np.linspace(0, number - 1, MOST_OF_A_KIND).astype(np.int64)
