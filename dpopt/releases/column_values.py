"""Numbers of a column within its bins: blocks that were halved in rounds of noisy counts, and the numbers drawn from them.

What a bin holds in all is known from the records that were released; noisy counts of two halves say how it divides. The
number in the first half is the posterior mean between what was measured and what the neighbouring blocks suggest: one
exponential law through a block and the block beside it, on the scale on which it is halved (there a power of x, for a
long tail). Of the two laws, to the left and to the right, the flatter one is taken, and neither if they point to
different sides.

Everything here takes noisy or public values only: it costs no privacy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.public_random import permutation, public_stream, uniforms
from dpopt.schema.attribute import Attribute
from dpopt.schema.finer import are_wide, fine_limits, limits, middles, scaled

if TYPE_CHECKING:
    from dpopt.releases.value_kernels import Bins, Blocks

STEEPEST = 20.0
"""Largest factor between densities within a block, as a logarithm."""
TAIL = 2.0
"""Factor by which an outermost wide block falls more steeply: declared ranges reach farther than records do."""
SPREAD = 0.4
"""Standard deviation of the share of a half around an even one, before anything is measured."""
WORTH = 2.0
"""A block is halved if it holds this number of standard deviations of the noise of a half."""
_FEWEST, _POINTS, _AT_ONCE = 0.5, 256, 1_000_000
_EVEN = 1e-6
_SPANS = (1e-290, 1e290)
_Numbers = NDArray[np.float64]
_Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBlocks:
    """Blocks of the finer bins (cells) of a numeric attribute, in order, and how many records each holds."""

    attribute: Attribute
    limits: _Numbers
    """Shape (c + 1,). Of the cells (`dpopt.schema.finer.fine_limits`)."""
    starts: _Whole
    stops: _Whole
    """Shape (m,). The cells of each block."""
    counts: _Numbers
    """Shape (m,). At least 0."""

    @classmethod
    def of(cls, attribute: Attribute, counts: _Numbers) -> ColumnBlocks:
        """Return the bins of an attribute, and how many records each holds, as blocks."""
        fine = fine_limits(attribute)
        places = np.searchsorted(fine, limits(attribute)).astype(np.int64)
        return cls(attribute, fine, places[:-1], places[1:], np.maximum(counts, 0.0))

    @property
    def low(self) -> _Numbers:
        """The least number of each block."""
        return self.limits[self.starts]

    @property
    def high(self) -> _Numbers:
        """The end of each block, which is not in it."""
        return self.limits[self.stops]

    def halves(self, deviation: float) -> tuple[_Whole, _Whole]:
        """Return the blocks that are worth to be halved, and the cell with which the second half of each begins.

        `deviation` is the standard deviation of the noise of a half.
        """
        chosen = np.flatnonzero((self.stops - self.starts > 1) & (self.counts > WORTH * deviation))
        points = middles(self.low[chosen], self.high[chosen], whole=self.attribute.integer)
        cells = np.searchsorted(self.limits, points)
        return chosen, np.clip(cells, self.starts[chosen] + 1, self.stops[chosen] - 1).astype(np.int64)

    def halved(self, chosen: _Whole, cells: _Whole, noisy: _Numbers, variance: float) -> ColumnBlocks:
        """Return the blocks after those of `halves` were halved; `noisy` (2, h) are the counts of first and second halves."""
        low, high, whole = self.low[chosen], self.high[chosen], self.counts[chosen]
        share = _mass_below(self.limits[cells], low, high, self.tilts()[chosen])
        spread = 4 * share * (1 - share) * (SPREAD * whole) ** 2
        measured = (whole + noisy[0] - noisy[1]) / 2
        first = share * whole + spread / (spread + variance / 2) * (measured - share * whole)
        first = np.clip(first, 0.0, whole)
        stops, counts = self.stops.copy(), self.counts.copy()
        stops[chosen], counts[chosen] = cells, first
        starts = np.concatenate((self.starts, cells))
        order = np.argsort(starts, kind="stable")
        return replace(
            self,
            starts=starts[order],
            stops=np.concatenate((stops, self.stops[chosen]))[order],
            counts=np.concatenate((counts, whole - first))[order],
        )

    def tilts(self) -> _Numbers:
        """Return by how much the logarithm of the density rises over each block, on the scale on which it is halved, (m,)."""
        low, high, wide = self.low, self.high, are_wide(self.low, self.high)
        if low.size < 2:
            return np.zeros(low.size)
        width = _width(low, high, wide)
        before, after = _width(low[:-1], high[:-1], wide[1:]), _width(low[1:], high[1:], wide[:-1])
        left, right = np.empty(low.size), np.empty(low.size)
        pairs = (
            (self.counts[:-1], self.counts[1:], before, width[1:]),
            (self.counts[1:], self.counts[:-1], after, width[:-1]),
        )
        left[1:], right[:-1] = np.split(_law(*map(np.concatenate, zip(*pairs, strict=True))), 2)
        right[:-1] *= -1
        left[0], right[-1] = right[0], left[-1]
        if wide[-1] and left[-1] < 0:
            left[-1] *= TAIL
        if wide[0] and right[0] > 0:
            right[0] *= TAIL
        left[0], right[-1] = right[0], left[-1]
        flatter = np.where(np.abs(left) < np.abs(right), left, right)
        return np.clip(np.where(np.sign(left) * np.sign(right) > 0, flatter * width, 0.0), -STEEPEST, STEEPEST)

    def drawing(self, seed: int, number: int) -> Callable[[NDArray[np.int32], _Numbers], _Numbers]:
        """Return a function that draws a number for each record of a block, (r,), within its bin; NaN if missing.

        Within a block a bin's records, in a public random order, stand for equal parts of what the bin holds, by their
        weights; each gets the mean of its part, whole numbers rounded up or down at random. So the mean of a column is
        that of its blocks, however few the records are. Of more than 500,000 records each gets one point of its part
        instead: the middle in the first block with that bin, and in later ones as van der Corput's sequence goes on, so
        that a bin with a record in each block is followed too.

        All blocks hold `number` records, and are drawn in their order: codes of the attribute (r,) and weights (r,). The
        same arguments give the same numbers.
        """
        from dpopt.releases.value_kernels import draw_numbers

        stream, number_of_bins = public_stream(seed, "numbers within bins"), len(self.attribute.edges) - 1
        points = int(np.clip(_AT_ONCE // max(number, 1), 1, _POINTS))
        bins, blocks = self._bins_and_blocks()
        blocks_before = np.zeros(number_of_bins, dtype=np.int64)

        def draw(codes: NDArray[np.int32], weights: _Numbers) -> _Numbers:
            bin_of = np.where(weights > 0, np.minimum(codes, number_of_bins), number_of_bins)
            rows = permutation(stream, codes.size, bin_of)
            rounding = np.zeros(codes.size) if self.attribute.integer else None
            if rounding is not None and points > 1:
                rounding = uniforms(stream, codes.size)
            counts = np.bincount(bin_of, minlength=number_of_bins)[:number_of_bins]
            rows = rows[: counts.sum()]
            there, offsets = np.flatnonzero(counts), np.zeros(number_of_bins)
            offsets[there] = [_van_der_corput(place + 1) for place in blocks_before[there].tolist()]
            blocks_before[there] += 1
            found = np.full(codes.size, np.nan)
            draw_numbers(rows, weights[rows], counts, offsets, points, bins, blocks, rounding, found)
            return found

        return draw

    def _bins_and_blocks(self) -> tuple[Bins, Blocks]:
        """Return how numbers lie within bins and blocks: whole ones, or such with few digits."""
        from dpopt.releases.value_kernels import Bins, Blocks

        held, tilts = np.maximum(self.counts, 1e-9), self.tilts()
        ends, edges = np.cumsum(held), limits(self.attribute)
        edge = np.searchsorted(self.starts, np.searchsorted(self.limits, edges))
        least = np.append(ends - held, ends[-1])[edge]
        low, high, digits = edges[:-1], edges[1:], np.zeros(edges.size - 1, dtype=np.int64)
        if self.attribute.integer:
            top = high - 1
        else:
            top = np.append(np.nextafter(high[:-1], low[:-1]), high[-1])
            digits = 3 - np.floor(np.log10(_span(low, high))).astype(np.int64)
        if self.attribute.decimals is not None:
            digits = np.minimum(digits, self.attribute.decimals)
        up, down = 10.0 ** np.maximum(digits, 0), 10.0 ** np.maximum(-digits, 0)
        bins = Bins(least[:-1], np.diff(least), edge[:-1], edge[1:] - 1, low, top, up, down)
        begin, wide = scaled(self.low), are_wide(self.low, self.high)
        tilts = np.where(np.abs(tilts) < _EVEN, 0.0, tilts)
        room, growth = scaled(self.high) - begin, np.expm1(tilts)
        return bins, Blocks(ends - held, ends, held, tilts, growth, self.low, self.high, begin, room, wide)


def _van_der_corput(place: int) -> float:
    """Return the number at a place, from 1, of van der Corput's sequence 1/2, 1/4, 3/4, 1/8, ...: its bits reversed."""
    return int(f"{place:b}"[::-1], 2) / (1 << place.bit_length())


def _width(low: _Numbers, high: _Numbers, wide: NDArray[np.bool_]) -> _Numbers:
    return np.asarray(np.where(wide, scaled(high) - scaled(low), _span(low, high)))


def _span(low: _Numbers, high: _Numbers) -> _Numbers:
    """Return high - low, between limits at which neither the inverse nor a multiple overflows."""
    return np.asarray(2 * np.clip(high / 2 - low / 2, *_SPANS))


def _law(near: _Numbers, own: _Numbers, beside: _Numbers, width: _Numbers) -> _Numbers:
    """Return the rate of the exponential law that gives a block its `own` records, (m,), and the one before it `near`.

    Their widths are `width` and `beside`, (m,).
    """
    wanted = np.log(np.maximum(own, _FEWEST)) - np.log(np.maximum(near, _FEWEST))
    low, high = -STEEPEST / width, STEEPEST / width
    for _ in range(50):
        rate = (low + high) / 2
        safe = np.where(np.abs(rate * width) < 1e-9, 1e-9 / width, rate)
        # ratio of the masses: (e^(rate width) - 1) / (1 - e^(-rate beside)); increasing in the rate
        less = np.log(np.expm1(safe * width) / -np.expm1(-safe * np.minimum(beside, 600 / np.abs(safe)))) < wanted
        low, high = np.where(less, rate, low), np.where(less, high, rate)
    return np.asarray((low + high) / 2)


def _mass_below(points: _Numbers, low: _Numbers, high: _Numbers, tilts: _Numbers) -> _Numbers:
    """Return the share of each block below a point of it."""
    wide = are_wide(low, high)
    at, begin, end = (np.where(wide, scaled(one), one / 2) for one in (points, low, high))
    part = (at - begin) / np.maximum(end - begin, np.finfo(np.float64).tiny)
    even = np.abs(tilts) < _EVEN
    safe = np.where(even, 1.0, tilts)
    return np.asarray(np.where(even, part, np.expm1(safe * part) / np.expm1(safe)))
