"""The compiled loop that draws numbers within bins. Importing this module imports numba."""

from __future__ import annotations

from math import expm1, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import lean_kernel, part


class Bins(NamedTuple):
    """The bins of an attribute, (b,) each."""

    least: NDArray[np.float64]  # what the bins before hold
    room: NDArray[np.float64]  # what it holds
    first: NDArray[np.int64]  # its first and last block
    last: NDArray[np.int64]
    low: NDArray[np.float64]  # its least and greatest number
    high: NDArray[np.float64]
    up: NDArray[np.float64]  # multiples of its numbers by up / down are whole
    down: NDArray[np.float64]


class Blocks(NamedTuple):
    """The blocks into which bins are divided, (m,) each."""

    begins: NDArray[np.float64]  # what the blocks before hold, and what those up to it hold
    ends: NDArray[np.float64]
    held: NDArray[np.float64]
    tilts: NDArray[np.float64]  # 0 where the density is even; expm1 of it
    growth: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    begin: NDArray[np.float64]  # of wide ones, `low` and `high - low` on the logarithmic scale
    room: NDArray[np.float64]
    wide: NDArray[np.bool_]


@lean_kernel
def draw_numbers(
    rows: NDArray[np.int64],
    own: NDArray[np.float64],
    counts: NDArray[np.int64],
    offsets: NDArray[np.float64],
    points: int,
    bins: Bins,
    blocks: Blocks,
    rounding: NDArray[np.float64] | None,
    found: NDArray[np.float64],
) -> None:
    """Write the number of each row, bin by bin as `counts` (b,) says: the mean at some points of the row's part of its bin.

    `rows` (r,) are the places in `found` (n,), n at least r. Parts have the sizes `own` (r,), their weights; `points`, at
    most 256, stand at `offsets` (b,) of equal pieces of them. Numbers are whole if there is `rounding` (n,), up by this
    much; else they have few digits.
    """
    factor = 1.0 / 256  # a power of two: exact, and no sum overflows
    upto, stop, block = 0.0, 0, 0
    for code in range(counts.size):
        start, stop = stop, stop + counts[code]
        whole, before = upto, 0.0
        for place in range(start, stop):
            whole += own[place]
            if place == start:
                before = whole - own[place]
        whole -= before
        block = bins.first[code]
        for place in range(start, stop):
            upto += own[place]
            number = 0.0
            for point in range(points):
                held = upto - before - own[place] + own[place] * ((point + offsets[code]) / points)
                held = min(max(held / whole, 0.0), 1.0) if whole > 0 else 0.0
                held = bins.least[code] + held * bins.room[code]
                while block < bins.last[code] and blocks.ends[block] <= held:
                    block += 1
                number += _number_at(blocks, block, held, rounding is not None) * factor
            number = number / points / factor
            if rounding is not None:  # decided when it is compiled
                number = min(max(np.floor(number + rounding[place]), bins.low[code]), bins.high[code])
            else:
                number = _rounded(bins, code, number)
            found[rows[place]] = number


@part
def _number_at(blocks: Blocks, block: int, held: float, whole: bool) -> float:
    """Return the number up to which a block, and those before it, hold so much: the inverse of `_mass_below`."""
    share = min(max((held - blocks.begins[block]) / blocks.held[block], 0.0), 1.0)
    tilt, low, high = blocks.tilts[block], blocks.low[block], blocks.high[block]
    if tilt != 0:
        share = log1p(share * blocks.growth[block]) / tilt
    number = 2 * (low / 2 + share * (high / 2 - low / 2))
    if blocks.wide[block]:
        scaled = blocks.begin[block] + share * blocks.room[block]
        number = np.sign(scaled) * expm1(abs(scaled))
    return float(min(max(np.floor(number), low), high - 1) if whole else number)


@part
def _rounded(bins: Bins, code: int, number: float) -> float:
    """Return a number of a bin with few digits; one that leaves its bin by rounding goes back."""
    low, high, up, down = bins.low[code], bins.high[code], bins.up[code], bins.down[code]
    units = np.rint(number * up / down)
    for step in (0.0, -1.0, 1.0):
        short = (units + step) / up * down
        if low <= short <= high:
            return float(short + 0.0)
    return float(min(max(number, low), high) + 0.0)
