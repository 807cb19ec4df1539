"""Which ranges a histogram should answer well, as groups with loads and references (models/level_budgets)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.models.noise_budgets.level_budgets import LevelProgram
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.weighted_ranges import (
    WeightedRanges,
    loads_of,
    loads_of_all_ranges,
    loads_of_norms,
    loads_of_size,
)
from dpopt.synopses.histograms.counts_plan import whole_number

ALL, SIZES, WORST, FILE = "all", "sizes:", "worst", "file:"
_SHOWN = 60  # characters of what was found
_PLAIN_STEPS = (1, 4)
"""Plain strategies are single bins alone, and trees with 2 and with 16 children whose levels share the budget equally."""


@dataclass(frozen=True, slots=True, eq=False)
class RangeWorkload:
    """Groups of ranges.

    Attributes
    ----------
    text : str
        As it was asked for.
    names : tuple of str
        One for each group, in words.
    loads : (g, L + 1) float64
        LB-5.
    relative : bool
        Whether the reference of a group is the variance of the best simple strategy; otherwise it is 1.
    """

    text: str
    names: tuple[str, ...]
    loads: NDArray[np.float64]
    relative: bool

    @classmethod
    def parse(cls, text: str, bins: int | Bins) -> RangeWorkload:
        """Read "all", "sizes:1,64,1024", "worst", or "file:PATH".

        Raises
        ------
        WorkloadError
            If it is none of them, a size does not fit the bins, or the file declares no ranges of them.
        """
        named = bins if isinstance(bins, Bins) else Bins("bins", bins)
        number = named.number
        if text == ALL:
            return cls(text, ("all ranges",), loads_of_all_ranges(number)[None, :], relative=False)
        if text == WORST:
            return cls(text, *_of_sizes([1], number), relative=False)  # the worst ranges join one by one
        if text.startswith(SIZES):
            return cls(text, *_of_sizes(parse_sizes(text), number), relative=True)
        if text.startswith(FILE):
            declared = WeightedRanges.read(text.removeprefix(FILE), named)
            return cls.declared(declared.starts, declared.stops, declared.weights, number)
        raise WorkloadError(f"found the ranges {text!r}; expected all, worst, sizes:1,64,1024, or file:PATH")

    @classmethod
    def declared(
        cls,
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        weights: NDArray[np.float64],
        bins: int,
    ) -> RangeWorkload:
        """Return the workload of ranges start, ..., stop - 1, all (q,), whose weighted mean variance is to be least.

        Raises
        ------
        WorkloadError
            If there is no range, one lies outside the bins, or weights are negative or all 0.
        """
        ranges = WeightedRanges(starts, stops, weights, bins)
        loads = loads_of(ranges.starts, ranges.stops, bins, ranges.weights)
        return cls(described(ranges), ("declared ranges",), loads[None, :], relative=False)

    def with_ranges(self, ranges: Iterable[tuple[int, int]], bins: int) -> RangeWorkload:
        """Return the workload with more groups, each a single range from start to stop - 1."""
        pairs = list(ranges)
        loads = [loads_of(np.array([start]), np.array([stop]), bins) for start, stop in pairs]
        names = (*self.names, *(f"bins {start:,} to {stop - 1:,}" for start, stop in pairs))
        return RangeWorkload(self.text, names, np.vstack((self.loads, *loads)), self.relative)

    def program(self, *, amount: float, sensitivity: int, gaussian: bool, known_total: bool) -> LevelProgram:
        """Return the program that spreads a budget over the levels; with `known_total` the root is known and not measured.

        Loads of the root are left out then: what the total determines has no variance. A group of such ranges needs no budget;
        single bins stand in for it.
        """
        levels = self.loads.shape[1] - 1
        used = levels if known_total and levels else levels + 1
        loads = np.array(self.loads[:, :used])
        of_a_bin = np.exp2(-np.arange(levels + 1, dtype=np.float64))
        loads[~loads.any(axis=1)] = loads_of_norms(of_a_bin.tolist())[:used]
        blocks = np.exp2(np.arange(used, dtype=np.float64))
        plain = LevelProgram(loads, blocks, np.tri(used), np.ones(len(loads)), amount, sensitivity, gaussian)
        references = best_plain_variances(plain) if self.relative else np.ones(len(loads))
        return LevelProgram(loads, blocks, plain.informative, references, amount, sensitivity, gaussian)


def described(ranges: WeightedRanges) -> str:
    """Return declared ranges in a few words, without the name of their file."""
    return f"{ranges.starts.size:,} declared range{'s' if ranges.starts.size > 1 else ''}"


def parse_sizes(text: str) -> list[int]:
    """Read the sizes of "sizes:1,64,1024".

    Raises
    ------
    WorkloadError
        If they are no whole numbers.
    """
    parts = text.removeprefix(SIZES).split(",")
    found = [number for number in map(whole_number, parts) if number is not None]
    if len(found) < len(parts):
        shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
        raise WorkloadError(
            f"found the ranges {shown!r}; sizes are whole numbers of bins, as in sizes:1,64,1024"
        )
    return found


def best_plain_variances(program: LevelProgram) -> NDArray[np.float64]:
    """Return the least variance of each group under the plain strategies, (g,)."""
    levels = program.blocks.size
    chosen = [np.eye(levels)[0]]
    for step in _PLAIN_STEPS:
        shares = np.zeros(levels)
        shares[::step] = 1.0
        shares[-1] = 1.0
        chosen.append(shares / shares.sum())
    found: NDArray[np.float64] = np.min(
        [program.variances(program.amount * shares) for shares in chosen], axis=0
    )
    return found


def _of_sizes(sizes: list[int], bins: int) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    names = tuple(f"ranges of {size:,} bins" if size > 1 else "single bins" for size in sizes)
    loads = np.array([loads_of_size(size, bins) for size in sizes])
    return names, loads
