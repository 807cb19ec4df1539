"""Compiled loops: the counts of one marginal against those of public records; the exact sampler.

The sampler updates scores, sums integer weights by block and finds the drawn queries.

Base query i stands for two signed queries, i and its negation, in this order. Scores are integers in units of eta / n.
A weight, at most 1, stands for the integer weight * 2**(2 h), where h is the number of bits in each half of it. Sums
are held as two 64-bit words, high and low.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


@kernel
def distances(
    cells: NDArray[np.int32],
    counts: NDArray[np.signedinteger],
    positions: NDArray[np.int32],
    multiplicity: NDArray[np.int64],
    attributes: NDArray[np.int32],
    strides: NDArray[np.int64],
    total: int,
    size: int,
    scratch: NDArray[np.int64],
) -> tuple[int, int]:
    """Return the sum and the maximum over the cells of |total * count - size * multiplicity|.

    `cells` that are not empty hold `counts` records. `positions` (r, d) are the places of the public records' codes in
    their domains, -1 where the record lies in no cell. `attributes` and `strides` (k,) are those of the marginal.
    `scratch` has zeros, one per cell at least, before and after.
    """
    where = np.empty(len(positions), dtype=np.int64)
    for record in range(len(positions)):
        cell = np.int64(0)
        for literal in range(len(attributes)):
            attribute = attributes[literal]
            if attribute < 0:
                break
            position = positions[record, attribute]
            if position < 0:
                cell = np.int64(-1)
                break
            cell += strides[literal] * position
        where[record] = cell
        if cell >= 0:
            scratch[cell] += size * multiplicity[record]
    added = np.int64(0)
    largest = np.int64(0)
    for index in range(len(cells)):
        difference = abs(total * np.int64(counts[index]) - scratch[cells[index]])
        added += difference
        largest = max(largest, difference)
        scratch[cells[index]] = 0
    for record in range(len(positions)):
        if where[record] >= 0:
            difference = scratch[where[record]]  # 0 in cells that were compared above
            added += difference
            largest = max(largest, difference)
            scratch[where[record]] = 0
    return added, largest  # type: ignore[return-value]  # numba's int64 are Python's int here


class Weights(NamedTuple):
    """Scores, the offset of those of negations, their largest value, and an `ExponentialTable` with h, half of its bits."""

    scores: NDArray[np.int64]
    offset: int
    top: int
    clamp: int
    bits: int
    high: NDArray[np.float64]
    low: NDArray[np.float64]
    half_bits: int


BLOCK = 32  # base queries per block: a draw looks through one

_64 = np.uint64(64)
_0 = np.uint64(0)
_1 = np.uint64(1)


@kernel
def update_scores(
    scores: NDArray[np.int64], counts: NDArray[np.int64], satisfied: NDArray[np.bool_], size: int, start: int, stop: int
) -> tuple[int, int]:
    """Add count_i - n q_i(x) to the scores of start .. stop - 1; return their largest and smallest value."""
    largest = np.int64(-(2**62))
    smallest = np.int64(2**62)
    for i in range(start, stop):
        change = counts[i]
        if satisfied[i]:
            change -= size
        score = scores[i] + change
        scores[i] = score
        if score > largest:
            largest = score
        if score < smallest:
            smallest = score
    return largest, smallest  # type: ignore[return-value]  # numba's int64 are Python's int here


@kernel
def _weight(
    distance: int, clamp: int, bits: int, high: NDArray[np.float64], low: NDArray[np.float64], half: np.float64
) -> tuple[np.uint64, np.uint64]:
    """Return the weight of a score that lies `distance` below the top, as (upper h bits, lower h bits); half is 2**h."""
    if distance > clamp:
        distance = clamp
    scaled = high[distance >> bits] * low[distance & ((1 << bits) - 1)] * half
    whole = np.uint64(scaled)
    part = np.uint64((scaled - np.float64(whole)) * half)
    return whole, part


@kernel
def block_totals(weights: Weights, totals: NDArray[np.uint64], first: int, last: int) -> None:
    """Write the total weight of blocks first .. last - 1 into totals (blocks, 2): high word, low word.

    A negation's score is ``offset - score``.
    """
    scores, offset, top, clamp, bits, high, low, half_bits = weights
    half = np.float64(2.0) ** half_bits
    up = np.uint64(half_bits)
    down = _64 - up
    for block in range(first, last):
        whole = _0
        part = _0
        for i in range(block * BLOCK, min((block + 1) * BLOCK, len(scores))):
            w, p = _weight(top - scores[i], clamp, bits, high, low, half)
            whole += w
            part += p
            w, p = _weight(top - (offset - scores[i]), clamp, bits, high, low, half)
            whole += w
            part += p
        # whole and part are at most 2**63: a block holds 2**11 weights of at most 2**52 each.
        shifted = whole << up
        lower = shifted + part
        totals[block, 0] = (whole >> down) + (_1 if lower < shifted else _0)
        totals[block, 1] = lower


@kernel
def accumulate(totals: NDArray[np.uint64]) -> None:
    """Replace (r, 2) two-word numbers by their running sums."""
    for i in range(1, len(totals)):
        lower = totals[i - 1, 1] + totals[i, 1]
        carry = _1 if lower < totals[i, 1] else _0
        totals[i, 0] = totals[i - 1, 0] + totals[i, 0] + carry
        totals[i, 1] = lower


@kernel
def _first_block(cumulative: NDArray[np.uint64], high: np.uint64, low: np.uint64) -> int:
    """Return the first block whose running sum exceeds a point."""
    first = 0
    last = len(cumulative) - 1
    while first < last:
        middle = (first + last) // 2
        if cumulative[middle, 0] > high or (cumulative[middle, 0] == high and cumulative[middle, 1] > low):
            last = middle
        else:
            first = middle + 1
    return first


@kernel
def find_draws(
    weights: Weights, cumulative: NDArray[np.uint64], points: NDArray[np.uint64], drawn: NDArray[np.int64]
) -> None:
    """Write for each point (sorted, (s, 2) words) the signed query whose interval of weight it falls into.

    Signed query 2 i is base query i, 2 i + 1 is its negation.
    """
    scores, offset, top, clamp, bits, high, low, half_bits = weights
    half = np.float64(2.0) ** half_bits
    up = np.uint64(half_bits)
    down = _64 - up
    block = _first_block(cumulative, points[0, 0], points[0, 1]) if len(points) else 0
    position = 0
    while position < len(points):
        while points[position, 0] > cumulative[block, 0] or (
            points[position, 0] == cumulative[block, 0] and points[position, 1] >= cumulative[block, 1]
        ):
            block += 1
        sum_high = _0
        sum_low = _0
        if block > 0:
            sum_high = cumulative[block - 1, 0]
            sum_low = cumulative[block - 1, 1]
        for signed in range(2 * block * BLOCK, min(2 * (block + 1) * BLOCK, 2 * len(scores))):
            score = scores[signed // 2]
            if signed % 2 == 1:
                score = offset - score
            whole, part = _weight(top - score, clamp, bits, high, low, half)
            shifted = whole << up
            lower = shifted + part
            upper = (whole >> down) + (_1 if lower < shifted else _0)
            sum_low += lower
            sum_high += upper + (_1 if sum_low < lower else _0)
            while position < len(points) and (
                points[position, 0] < sum_high or (points[position, 0] == sum_high and points[position, 1] < sum_low)
            ):
                drawn[position] = signed
                position += 1
            if position == len(points):
                break
        block += 1
