"""Cells of a grid whose blocks were measured in rounds: the blocks to divide next, and the estimate by all rounds.

The whole is halved along each side in turn (`dpopt.queries.ranges.grids.halvings`): node 1 holds all cells, and the
halves of node i are 2 i and 2 i + 1. The first round measures the nodes of one level. Each later one divides the whole
anew, as far as its level, but no block that by all rounds so far holds few records beside the noise that is still to
come: parts of it that were measured apart are one block again, and it may be measured for the last time, with less
noise. So empty stretches are few large blocks, and the noise of their cells is never added up.

From the cells up, what is known of a node from below is kept as two cases: nothing is in it, or so much, normally
distributed. Of a node with records either half may be empty. With the even density 1 / n of all other divisions these
three cases are weighed, and their first two moments kept. From the whole down each node's halves are the posterior
under the prior of divisions (`dpopt.inference.histograms.shrunken_halves.division_prior`), where a half is empty as
likely as all that lies below it says.

Everything here takes noisy or public values only: it costs no privacy.

Source: Kolaczyk (1999) for mixtures of divisions of counts; Crouse, Nowak and Baraniuk (1998) for messages up and down
a tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import TreeError
from dpopt.inference.histograms.shrunken_halves import ShrunkenHalves, division_prior
from dpopt.inference.shrinkage import MOST_FITTED, fit_weights
from dpopt.queries.ranges.grids import grid_heights, halving_order, padded_cells

WORTH = 8.0
"""A block is divided if it holds this number of standard deviations of the noise that all further rounds leave."""
_EMPTY, _LEAST, _MOST = 0.1, 0.005, 0.45  # how often a half is empty: before anything is known, and limits
_EXACT = 1e-9  # variance of what is known
_WIDEST = 0.25  # no share of a half has more variance
_NOTHING, _TINY, _AT_ONCE = 1e-3, 1e-12, 1 << 16
_Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """Noisy counts of nodes that have no cell in common."""

    nodes: NDArray[np.int64]
    counts: NDArray[np.int64]
    """Shape (m,) each, in the order of their cells."""
    variance: float | _Numbers
    """Of the noise, at least 0: of all, or (m,)."""
    last: NDArray[np.bool_] | None = None
    """Shape (m,). Which nodes no later round measures, or divides; None: not one."""


def depths_of(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how often the whole was halved down to each node."""
    return np.asarray(np.frexp(nodes.astype(np.float64))[1] - 1, dtype=np.int64)


def groups_of(shape: Sequence[int], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return in which of these nodes each cell lies, (cells,) in C order; -1 where it lies in none."""
    heights = grid_heights(shape)
    order, depths = halving_order(heights), depths_of(np.maximum(nodes, 1))
    lowest = sum(heights)
    if nodes.ndim == 1 and nodes.min(initial=1) >= 1 and depths.max(initial=0) <= lowest:
        widths = 1 << (lowest - depths)
        starts = (nodes - (1 << depths)) * widths
        if (starts[1:] >= (starts + widths)[:-1]).all():
            places = np.repeat(np.arange(nodes.size), widths)
            first = np.repeat(starts - np.cumsum(widths) + widths, widths)
            found = np.full(order.size, -1, dtype=np.int64)
            found[order[first + np.arange(places.size)]] = places
            grid = found.reshape([1 << height for height in heights])
            return np.ascontiguousarray(grid[tuple(slice(bins) for bins in shape)].reshape(-1))
    raise TreeError("found nodes of a round that have cells in common, are out of order, or are none")


def first_nodes(shape: Sequence[int], depth: int) -> NDArray[np.int64]:
    """Return the nodes of a level that hold cells of the grid."""
    return np.flatnonzero(_room(shape)[depth]) + (1 << depth)


def next_nodes(
    shape: Sequence[int], rounds: Sequence[Round], depth: int, variance: float, *, total: int | None = None
) -> NDArray[np.int64]:
    """Return the next round's measurement: nodes of a level, and above them the blocks that are not worth a division.

    Nothing is known of how the records lie in a block in which nothing was measured: if the block that it is part of is
    worth a division, it is divided down to the level. Blocks that were measured for the last time are left out. The
    level lies below that of the last of the rounds, one at least; `variance` is that of a block that is measured once
    more, with all that is left for it.
    """
    halves, whole = _Halves(shape, rounds, total), sum(grid_heights(shape))
    counts, below = halves.down()[0], halves.up()
    done, begun = halves.done(rounds)
    reach = WORTH * np.sqrt(variance)
    kept, nodes = list[NDArray[np.int64]](), np.ones(1, dtype=np.int64)
    for above in range(depth):
        nodes = nodes[~done[above][nodes - (1 << above)]]
        at = nodes - (1 << above)
        few = (counts[above][at] <= reach) & np.isfinite(below[above].variances[at]) & ~begun[above][at]
        kept.append(nodes[few])
        nodes = (2 * nodes[~few, None] + np.arange(2)).reshape(-1)
    both = np.concatenate((*kept, nodes[~done[depth][nodes - (1 << depth)]]))
    return np.asarray(both[np.argsort(both << (whole - depths_of(both)))])


def halves_in_rounds(shape: Sequence[int], rounds: Sequence[Round], *, total: int | None = None) -> ShrunkenHalves:
    """Return the cells that all rounds say together, with the errors of boxes of them.

    Parameters
    ----------
    total
        The number of records, where it is public.
    """
    halves = _Halves(shape, rounds, total)
    counts, shares, variances, spread = halves.down()
    heights = grid_heights(shape)
    order, none = halving_order(heights), np.zeros(0)
    flat = np.empty(order.size)
    flat[order] = counts[-1]
    cells = flat.reshape([1 << height for height in heights])[tuple(slice(bins) for bins in shape)]
    return ShrunkenHalves(
        freeze(np.ascontiguousarray(cells)),
        float(counts[0][0]),
        spread,
        freeze(np.concatenate([none, *shares])),
        freeze(np.concatenate([none, *variances])),
    )


def _room(shape: Sequence[int]) -> list[_Numbers]:
    """Return how many cells of the grid each node holds, level by level from the whole."""
    heights = grid_heights(shape)
    levels = [padded_cells(np.ones(shape), heights).reshape(-1)[halving_order(heights)]]
    for _ in range(sum(heights)):
        levels.append(levels[-1].reshape(-1, 2).sum(axis=1))
    return levels[::-1]


def _log_normal(values: _Numbers, variances: _Numbers) -> _Numbers:
    return np.asarray(-0.5 * (np.log(2.0 * np.pi * variances) + values**2 / variances))


@dataclass(frozen=True, slots=True)
class _Below:
    """Measurements in and below the nodes of a level."""

    counts: _Numbers
    variances: _Numbers
    """Shape (m,). Of a node that holds records; inf where nothing was measured."""
    empty: _Numbers
    """Shape (m,). By how much more likely it is that the node is empty than that it holds records: a logarithm."""

    def halves(self) -> tuple[_Numbers, ...]:
        """Return the three of the first halves and of the second: counts, variances, empty, each (m / 2,)."""
        return tuple(
            np.ascontiguousarray(side)
            for one in (self.counts, self.variances, self.empty)
            for side in one.reshape(-1, 2).T
        )


class _Halves:
    """The tree of halves: the measurements, and the estimates."""

    def __init__(self, shape: Sequence[int], rounds: Sequence[Round], total: int | None = None) -> None:
        self.room = _room(shape)
        self.precisions = [np.zeros(level.size) for level in self.room]
        self.weighted = [np.zeros(level.size) for level in self.room]
        own = [] if total is None else [Round(np.ones(1, np.int64), np.array([total]), _EXACT)]
        for one in [*own, *rounds]:
            depths = depths_of(one.nodes)
            precision = np.broadcast_to(1.0 / np.maximum(one.variance, _TINY), one.nodes.shape)
            for depth in np.unique(depths).tolist():
                at = depths == depth
                places = one.nodes[at] - (1 << depth)
                self.precisions[depth][places] += precision[at]
                self.weighted[depth][places] += precision[at] * one.counts[at]
        self.empty = np.full(len(self.room), _EMPTY)

    def done(self, rounds: Sequence[Round]) -> tuple[list[NDArray[np.bool_]], list[NDArray[np.bool_]]]:
        """Return of each node whether all of it was measured for the last time, or has no cell; and whether some of it was."""
        done = [level == 0 for level in self.room]
        for one in rounds:
            ended = one.nodes[:0] if one.last is None else one.nodes[one.last]
            depths = depths_of(ended)
            for depth in np.unique(depths).tolist():
                done[depth][ended[depths == depth] - (1 << depth)] = True
        begun = [level & (room > 0) for level, room in zip(done, self.room, strict=True)]
        for depth in range(len(done) - 2, -1, -1):
            done[depth] |= done[depth + 1].reshape(-1, 2).all(axis=1)
            begun[depth] |= begun[depth + 1].reshape(-1, 2).any(axis=1)
        return done, begun

    def up(self) -> list[_Below]:
        """Return the sums of the measurements in and below each node."""
        found: list[_Below] = []
        for depth in range(len(self.room) - 1, -1, -1):
            precision = self.precisions[depth]
            has = precision > 0
            safe = np.where(has, precision, 1.0)
            own, variance = self.weighted[depth] / safe, np.where(has, 1.0 / safe, np.inf)
            outside = self.room[depth] == 0
            own[outside], variance[outside] = 0.0, _EXACT
            apart = np.where(has, _log_normal(own, np.where(has, variance, 1.0)), 0.0)
            apart[outside] = 0.0
            level = _Below(own, variance, apart)
            if found:
                self._joined(level, found[-1], has, depth)
            found.append(level)
        return found[::-1]

    def _joined(self, level: _Below, below: _Below, has: NDArray[np.bool_], depth: int) -> None:
        """Add the measurements of halves below a level to it."""
        from scipy.special import log_ndtr

        inside = self.room[depth + 1].reshape(-1, 2).min(axis=1) > 0
        sides = below.halves()
        known = np.isfinite(sides[2]) & np.isfinite(sides[3]) & (self.room[depth] > 0)
        at = np.flatnonzero(known)
        if not at.size:
            return
        left, right, spread, other, none, nothing = (side[at] for side in sides)
        both, width = left + right, spread + other
        share, alone = self.empty[depth], inside[at]
        with np.errstate(divide="ignore"):
            logs = np.stack(
                (
                    np.where(alone, np.log(share) + none, -np.inf),
                    np.where(alone, np.log(share) + nothing, -np.inf),
                    np.where(alone, np.log1p(-2 * share) - np.log(np.maximum(both, np.sqrt(width))), 0.0),
                )
            )
        means, variances = np.stack((right, left, both)), np.stack((other, spread, width))
        empty = np.where(alone, none + nothing, np.where(self.room[depth + 1][2 * at] > 0, none, nothing))
        mine = has[at]
        count, own = level.counts[at], np.where(mine, level.variances[at], 1.0)
        joint = np.where(mine, variances * own / (variances + own), variances)
        centers = np.where(mine, joint * (means / variances + count / own), means)
        logs = logs + np.where(mine, _log_normal(count - means, variances + own), 0.0)
        empty = empty + np.where(mine, _log_normal(count, own), 0.0)
        masses = logs + log_ndtr(centers / np.sqrt(joint))
        most = masses.max(axis=0)
        weights = np.exp(masses - most)
        whole = weights.sum(axis=0)
        weights /= whole
        mean = (weights * centers).sum(axis=0)
        level.counts[at] = mean
        level.variances[at] = (weights * (joint + (centers - mean) ** 2)).sum(axis=0)
        level.empty[at] = empty - most - np.log(whole)

    def down(self) -> tuple[list[_Numbers], list[_Numbers], list[_Numbers], float]:
        """Return posterior counts of each level, shares of first halves and their variances, and the variance of the total."""
        self._divided(self.up())  # learns how often halves are empty
        return self._divided(self.up())

    def _divided(self, below: list[_Below]) -> tuple[list[_Numbers], list[_Numbers], list[_Numbers], float]:
        counts, spread = [np.maximum(below[0].counts, 0.0)], below[0].variances.copy()
        total, prior = float(spread[0]), division_prior()
        weights = prior.counts / prior.counts.sum()
        shares, variances = [], []
        for depth in range(len(self.room) - 1):
            n, sides = counts[-1], below[depth + 1].halves()
            room = self.room[depth + 1].reshape(-1, 2)
            even = room[:, 0] / np.maximum(room.sum(axis=1), 1.0)
            share, inside = even.copy(), room.min(axis=1) > 0
            variance = np.where(inside, _prior_variances(weights, n, even), 0.0)
            known = inside & np.isfinite(sides[2]) & np.isfinite(sides[3])
            known &= n > _NOTHING * np.sqrt(np.where(known, sides[2], 1.0))
            if known.any():
                parts = [side[known] for side in sides]
                cells = _Divisions.of(n[known], spread[known], even[known], parts)
                weights = fit_weights(cells.chosen(MOST_FITTED).likelihoods(), prior.counts).weights
                ends = (prior.scales == 0) & (prior.centers > 0)
                self.empty[depth] = np.clip(weights[ends].mean(), _LEAST, _MOST)
                means, apart = cells.moments(weights)
                share[known] = np.clip(means / n[known], 0.0, 1.0)
                variance[known] = np.minimum(apart / n[known] ** 2, _WIDEST)  # also of a share that was cut to 0 or 1
            both = np.stack((share, 1.0 - share), axis=1)
            squares = both**2 + variance[:, None]
            spread = ((n**2 * variance)[:, None] + spread[:, None] * squares).reshape(-1)
            counts.append((n[:, None] * both).reshape(-1))
            shares.append(share)
            variances.append(variance)
        return counts, shares, variances, total


def _prior_variances(weights: _Numbers, counts: _Numbers, even: _Numbers) -> _Numbers:
    """Return the prior variance of the share in the first half of each node."""
    prior, sizes = division_prior(), np.maximum(counts, 1.0)
    found = np.zeros(counts.size)
    for center, off in enumerate((np.zeros(counts.size), even**2, (1.0 - even) ** 2)):
        for power in (0.0, 1.0, 2.0):
            own = (prior.centers == center) & (prior.exponents == power)
            found += weights[own] @ prior.scales[own] * sizes ** (power - 2.0) + weights[own].sum() * off
    return np.minimum(found, even * (1.0 - even))


@dataclass(frozen=True, slots=True)
class _Divisions:
    """Nodes whose halves were measured: each (m,), or (3, m) for the centers none, even and all."""

    values: _Numbers
    noise: _Numbers
    counts: _Numbers
    centers: _Numbers
    spreads: _Numbers
    empty: _Numbers

    @classmethod
    def of(cls, n: _Numbers, spread: _Numbers, even: _Numbers, parts: Sequence[_Numbers]) -> _Divisions:
        """Return them for posterior counts and their variances, and for the measurements of both halves."""
        left, right, apart, other, none, nothing = parts
        gain = other / (apart + other)
        zero = np.zeros(n.size)
        return cls(
            gain * left + (1.0 - gain) * (n - right),
            apart * other / (apart + other),
            n,
            np.stack((even * n, zero, n)),
            np.stack(((1.0 - gain - even) ** 2 * spread, (1.0 - gain) ** 2 * spread, gain**2 * spread)),
            np.stack((zero, none - _log_normal(left, apart), nothing - _log_normal(right, other))),
        )

    def chosen(self, most: int) -> _Divisions:
        """Return at most this number of them, evenly spaced."""
        return self.part(np.arange(0, self.values.size, -(-self.values.size // most)))

    def part(self, of: NDArray[np.int64]) -> _Divisions:
        """Return some of them."""
        centers, spreads, empty = self.centers[:, of], self.spreads[:, of], self.empty[:, of]
        return _Divisions(self.values[of], self.noise[of], self.counts[of], centers, spreads, empty)

    def components(self) -> tuple[_Numbers, _Numbers, _Numbers]:
        """Return prior variance, variance of noise and logarithm of the density, by component, (m, k) each."""
        prior = division_prior()
        sizes = np.maximum(self.counts, prior.floor)[:, None]
        own = prior.scales * sizes**prior.exponents
        noise = np.maximum(self.noise, _TINY)[:, None] + self.spreads[prior.centers].T
        off = self.values[:, None] - self.centers[prior.centers].T
        logs = -0.5 * (np.log(noise + own) + off**2 / (noise + own))
        return own, noise, logs + np.where(prior.scales == 0, self.empty[prior.centers].T, 0.0)

    def likelihoods(self) -> _Numbers:
        """Return the density of each under each component, over its largest, (m, k)."""
        logs = self.components()[2]
        return np.ascontiguousarray(np.exp(logs - logs.max(axis=1, keepdims=True)))

    def moments(self, weights: _Numbers) -> tuple[_Numbers, _Numbers]:
        """Return posterior mean and variance of the count of each first half."""
        blocks = np.split(np.arange(self.values.size), range(_AT_ONCE, self.values.size, _AT_ONCE))
        found = [_posterior(self.part(block), weights) for block in blocks]
        means, variances = (np.concatenate(side) for side in zip(*found, strict=True))
        return means, variances


def _posterior(cells: _Divisions, weights: _Numbers) -> tuple[_Numbers, _Numbers]:
    own, noise, logs = cells.components()
    shares = weights * np.exp(logs - logs.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    gain, centers = own / (noise + own), cells.centers[division_prior().centers].T
    moved = (1.0 - gain) * (centers - cells.values[:, None])  # small variances beside large counts keep their digits
    first = (shares * moved).sum(axis=1)
    second = (shares * (moved**2 + gain * noise)).sum(axis=1)
    return cells.values + first, np.maximum(second - first**2, 0.0)
