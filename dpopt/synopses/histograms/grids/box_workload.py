"""Which boxes of a grid a histogram should answer well, as groups with loads and references (models/level_budgets)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.models.noise_budgets.level_budgets import LevelProgram
from dpopt.queries.ranges.grids import Level, grid_heights, grid_levels, informative_levels
from dpopt.queries.ranges.weighted_ranges import loads_of_all_ranges, loads_of_size
from dpopt.synopses.histograms.counts_plan import whole_number
from dpopt.synopses.histograms.range_workload import level_program

ALL, SIZES = "all", "sizes:"
_PLAIN_STEPS = (1, 2, 4)
_SHOWN = 40  # characters of what was found


@dataclass(frozen=True, slots=True, eq=False)
class BoxWorkload:
    """Groups of boxes."""

    shape: tuple[int, ...]
    """Bins of each axis."""
    names: tuple[str, ...]
    """One for each group, in words."""
    loads: NDArray[np.float64]
    """Shape (g, parts). LB-7, in the order of `grid_levels`."""
    relative: bool
    """Whether the reference of a group is the variance of the best simple strategy; otherwise it is 1."""

    @classmethod
    def parse(cls, text: str, shape: tuple[int, ...]) -> BoxWorkload:
        """Read "all" or "sizes:1x1,16x16,4x256"."""
        if text == ALL:
            loads = _product([loads_of_all_ranges(bins) for bins in shape])
            return cls(shape, ("all boxes",), loads[None, :], relative=False)
        example = "x".join(["16"] * len(shape))
        if not text.startswith(SIZES):
            raise WorkloadError(f"found the ranges {text!r}; a grid takes all, or sizes such as sizes:{example}")
        names, rows = [], []
        for part in text.removeprefix(SIZES).split(","):
            sides = part.strip().split("x")
            wanted = [number for number in map(whole_number, sides) if number is not None]
            if len(sides) != len(shape) or len(wanted) != len(sides):
                raise WorkloadError(
                    f"found the size {part[:_SHOWN]!r}; expected {len(shape)} whole numbers of bins with x between "
                    f"them, as in {example}"
                )
            if not all(1 <= number <= bins for number, bins in zip(wanted, shape, strict=True)):
                raise WorkloadError(
                    f"found the size {part[:_SHOWN]!r} for a grid of {' x '.join(f'{bins:,}' for bins in shape)} "
                    f"cells; expected at least 1 bin and at most all bins of each column"
                )
            rows.append(_product([loads_of_size(number, bins) for number, bins in zip(wanted, shape, strict=True)]))
            names.append("boxes of " + " x ".join(f"{number:,}" for number in wanted))
        return cls(shape, tuple(names), np.array(rows), relative=True)

    def program(
        self,
        levels: list[Level],
        *,
        amount: float,
        sensitivity: int,
        gaussian: bool,
        known_total: bool,
        least: float = 0.0,
    ) -> LevelProgram:
        """Return the program that spreads a budget over these levels; with `known_total` the whole grid varies no more.

        Boxes whose counts follow from the total alone need no budget; single cells stand in for them.
        """
        parts = grid_levels(self.shape)
        loads = np.array(self.loads)
        if known_total and len(parts) > 1:
            parts, loads = parts[:-1], loads[:, :-1]
            loads[~loads.any(axis=1), 0] = 1.0
        blocks = np.array([2.0 ** sum(level) for level in levels])
        ones = np.ones(len(loads))
        return level_program(
            LevelProgram(loads, blocks, informative_levels(levels, parts), ones, amount, sensitivity, gaussian, least),
            plain_shares(levels, self.shape) if self.relative else None,
        )


def cubes(shape: tuple[int, ...], step: int = 1) -> list[Level]:
    """Return the levels of blocks with equal sides of 1, 2^step, 4^step, ... bins, or the whole axis if shorter."""
    tops = grid_heights(shape)
    return [tuple(min(side, top) for top in tops) for side in range(0, max(tops) + 1, step)]


def plain_shares(levels: list[Level], shape: tuple[int, ...]) -> list[NDArray[np.float64]]:
    """Return the shares of the budget of plain strategies: cells alone; cubes, and all blocks, of every d-th height."""
    chosen = [{levels[0]}]
    for step in _PLAIN_STEPS:
        chosen.append(set(cubes(shape, step)))
        chosen.append({level for level in levels if all(height % step == 0 for height in level)})
    return [_equally(levels, some) for some in chosen]


def starting_shares(levels: list[Level], shape: tuple[int, ...]) -> list[NDArray[np.float64]]:
    """Return where the search for Laplace budgets begins: the plain ones, cells with two levels of cubes, corners of levels."""
    cells, sides = levels[0], cubes(shape)
    chosen = [{cells, low, high} for place, low in enumerate(sides) for high in sides[place:]]
    for level in levels:
        corners = [(0, height) if height else (0,) for height in level]
        chosen.append(set(product(*corners)))
    found = [*plain_shares(levels, shape), *(_equally(levels, some) for some in chosen)]
    unlike = {tuple(np.flatnonzero(shares).tolist()): shares for shares in found}
    return [0.999 * shares + 0.001 / len(levels) for shares in unlike.values()]


def _equally(levels: list[Level], chosen: set[Level]) -> NDArray[np.float64]:
    shares = np.array([float(level in chosen) for level in levels])
    return np.asarray(shares / shares.sum())


def _product(loads: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    found = np.ones(1)
    for own in loads:
        found = np.multiply.outer(found, own).reshape(-1)
    return found
