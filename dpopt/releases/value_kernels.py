"""Compiled loops over the records of a block, whose numbers are drawn within bins. Importing this module imports numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


class Law(NamedTuple):
    """How numbers lie within b bins of m blocks."""

    least: NDArray[np.float64]  # (b,) what the bins before hold
    room: NDArray[np.float64]  # (b,) what each bin holds
    first: NDArray[np.int64]  # (b,) its first and last block
    last: NDArray[np.int64]
    begins: NDArray[np.float64]  # (m,) what the blocks before hold, and what those up to each hold
    ends: NDArray[np.float64]
    held: NDArray[np.float64]  # (m,)
    growth: NDArray[np.float64]  # (m,) by which factor, less 1, the density grows over each; 1 where it hardly does
    low: NDArray[np.float64]  # (m,) the least number of each, and the greatest that is drawn
    high: NDArray[np.float64]
    half_width: NDArray[np.float64]  # (m,) half of what lies between its ends
    wide: NDArray[np.bool_]  # (m,) whether it is divided on the logarithmic scale
    whole: bool


class Edges(NamedTuple):
    """Which numbers each of b bins has: the least, the greatest, and those whose multiples by `up` / `down` are whole."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    up: NDArray[np.float64]
    down: NDArray[np.float64]
    whole: bool


@kernel
def divide(
    own: NDArray[np.float64],
    counts: NDArray[np.int64],
    points: NDArray[np.float64],
    law: Law,
    inside: NDArray[np.float64],
    blocks: NDArray[np.int64],
) -> None:
    """Write the block of each record's point, and the share of the block below it, times its growth.

    The records of a bin stand for parts of it by their weights; a point lies at this share of each part, (b,).
    """
    upto, stop, reached = 0.0, 0, 0
    for code in range(counts.size):
        start, stop = stop, stop + counts[code]
        total, before = upto, 0.0
        for record in range(start, stop):
            total += own[record]
            if record == start:
                before = total - own[record]
        total -= before
        for record in range(start, stop):
            upto += own[record]
            part = 0.0
            if total > 0:
                part = min(max((upto - before - own[record] + own[record] * points[code]) / total, 0.0), 1.0)
            place = law.least[code] + part * law.room[code]
            while reached < law.ends.size and law.ends[reached] <= place:
                reached += 1
            block = min(max(reached, law.first[code]), law.last[code])
            share = min(max((place - law.begins[block]) / law.held[block], 0.0), 1.0)
            blocks[record], inside[record] = block, share * law.growth[block]


@kernel
def add_numbers(
    shares: NDArray[np.float64],
    curved: NDArray[np.float64],
    blocks: NDArray[np.int64],
    law: Law,
    factor: float,
    sums: NDArray[np.float64],
) -> None:
    """Add the number at a share of a block, times a factor, for each record; in wide blocks it is the one of `curved`."""
    for record in range(shares.size):
        block = blocks[record]
        number = 2 * (law.low[block] / 2 + shares[record] * law.half_width[block])
        if law.wide[block]:
            number = curved[record]
        if law.whole:
            number = min(max(np.floor(number), law.low[block]), law.high[block])
        sums[record] += number * factor


@kernel
def settle(
    numbers: NDArray[np.float64],
    rounding: NDArray[np.float64],
    rows: NDArray[np.int64],
    counts: NDArray[np.int64],
    edges: Edges,
    found: NDArray[np.float64],
) -> None:
    """Write the numbers of `rows` as they are in their bins: whole, up by a number below 1; or with few digits."""
    stop = 0
    for code in range(counts.size):
        low, high, up, down = edges.low[code], edges.high[code], edges.up[code], edges.down[code]
        start, stop = stop, stop + counts[code]
        for place in range(start, stop):
            number = numbers[place]
            if edges.whole:
                number = np.floor(number + rounding[place])
                found[rows[place]] = min(max(number, low), high)
                continue
            units = np.rint(number * up / down)
            settled = min(max(number, low), high)
            for step in (1.0, -1.0, 0.0):  # one that leaves its bin by rounding goes back
                short = (units + step) / up * down
                if low <= short <= high:
                    settled = short
            found[rows[place]] = settled + 0.0
