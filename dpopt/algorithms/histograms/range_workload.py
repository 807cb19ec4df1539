"""Which ranges a histogram should answer well, as groups with loads and references (models/level_budgets)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.formulations.level_budgets import LevelProgram
from dpopt.queries.range_loads import (
    height_of,
    loads_of,
    loads_of_all_ranges,
    loads_of_norms,
    loads_of_size,
    squared_norms,
)

ALL, SIZES, WORST = "all", "sizes:", "worst"
_PLAIN_STEPS = (1, 4)
"""Plain strategies are single bins alone, and trees with 2 and with 16 children whose levels share the budget equally."""

_SIZES_TRIED = 60


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
        Whether a group is held against the best of the plain strategies; otherwise all have the reference 1.
    """

    text: str
    names: tuple[str, ...]
    loads: NDArray[np.float64]
    relative: bool

    @classmethod
    def parse(cls, text: str, bins: int) -> RangeWorkload:
        """Read "all", "sizes:1,64,1024" or "worst".

        Raises
        ------
        WorkloadError
            If it is none of them, or a size does not fit the bins.
        """
        if text == ALL:
            return cls(text, ("all ranges",), loads_of_all_ranges(bins)[None, :], relative=False)
        if text == WORST:
            return cls(text, *_of_sizes([1], bins), relative=False)  # the worst ranges join one by one
        if text.startswith(SIZES):
            parts = text.removeprefix(SIZES).split(",")
            if not all(part.strip().isdecimal() for part in parts):
                raise WorkloadError(
                    f"found the ranges {text!r}; sizes are whole numbers of bins, as in sizes:1,64,1024"
                )
            return cls(text, *_of_sizes([int(part) for part in parts], bins), relative=True)
        raise WorkloadError(f"found the ranges {text!r}; expected all, worst, or sizes:1,64,1024")

    def with_range(self, start: int, stop: int, bins: int) -> RangeWorkload:
        """Return the workload with one more group, a single range."""
        loads = loads_of(np.array([start]), np.array([stop]), bins)
        names = (*self.names, f"bins {start:,} to {stop - 1:,}")
        return RangeWorkload(self.text, names, np.vstack((self.loads, loads)), self.relative)

    def program(self, *, amount: float, moved: int, gaussian: bool, known_total: bool) -> LevelProgram:
        """Return the program that spreads a budget over the levels; with `known_total` the root is known and not measured.

        Loads of the root are left out then: what the total tells varies no more. A group that it tells alone needs no budget;
        single bins stand in for it.
        """
        levels = self.loads.shape[1] - 1
        used = levels if known_total and levels else levels + 1
        loads = np.array(self.loads[:, :used])
        of_a_bin = np.exp2(-np.arange(levels + 1, dtype=np.float64))
        loads[~loads.any(axis=1)] = loads_of_norms(of_a_bin.tolist())[:used]
        blocks = np.exp2(np.arange(used, dtype=np.float64))
        plain = LevelProgram(loads, blocks, np.ones(len(loads)), amount, moved, gaussian)
        references = best_plain_variances(plain) if self.relative else np.ones(len(loads))
        return LevelProgram(loads, blocks, references, amount, moved, gaussian)


def worst_range(program: LevelProgram, amounts: NDArray[np.float64], bins: int) -> tuple[int, int, float]:
    """Return the range of largest predicted variance, start and stop, and that variance: among all positions of 60 sizes."""
    gathered = np.cumsum(program.blocks * program.precisions(amounts))
    with np.errstate(divide="ignore"):
        inverse = 1.0 / gathered
    # sum_h (a_h - a_(h+1)) / lambda_h, gathered by a_h
    weights = np.diff(inverse, prepend=0.0)
    found = (0, bins, -1.0)
    known_total = len(weights) <= height_of(bins)
    for size in np.unique(np.geomspace(1, bins, _SIZES_TRIED).round().astype(np.int64)):
        starts = np.arange(bins - size + 1, dtype=np.int64)
        variances = sum(
            weight * squared_norms(starts, starts + size, 1 << h) for h, weight in enumerate(weights.tolist())
        )
        if known_total:  # less the part that the total tells
            variances = variances - inverse[-1] * squared_norms(starts, starts + size, 1 << height_of(bins))
        place = int(np.argmax(variances))
        if variances[place] > found[2]:
            found = (place, place + int(size), float(variances[place]))
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
