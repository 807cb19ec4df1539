"""Nonincreasing sequences near noisy degrees that obey the Erdos-Gallai inequalities, without being whole.

Problem (models/graphical_sequences): for falling d, the inequality of r is, with j the number of entries that are at least r
(or r, if that is more), the linear cut (GS-6)

    sum_{i <= r} d_i - sum_{i > j} d_i <= r (j - 1),

and every j >= r gives a valid one. With multipliers u >= 0 for cuts a . d <= b the Lagrangian (GS-7)

    1/2 |d - y|^2 + sum u (a . d - b),   n - 1 >= d_1 >= ... >= d_n >= 0

is least at the isotonic regression of y - sum u a, cut at the bounds: a bound on what any such sequence costs, and a concave
function of u whose slopes are a . d - b. Among whole numbers it is least at the same sequence rounded half up, a better bound;
if that has an odd sum, the cheapest change of its parity (GS-8) may be added. Where the number of edges is known, so is the sum
of d (GS-5): isotonic regression then has that sum, by a shift of all entries, whose multiplier joins the Lagrangian.

Source: the polytope of degree sequences: Koren (1973), Peled and Srinivasan (1989).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.histograms.sorted.isotonic import isotonic

_ROUNDS = 60  # of cuts
_NEW_CUTS = 5  # in a round
_TOLERANCE = 1e-4  # of a cut, in edges


def cut_violations(falling: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return for r = 1, ..., n by how much falling d (n,) exceeds the cut of r, and the j of it."""
    size = falling.size
    r = np.arange(1, size + 1)
    ends = np.maximum(r, size - np.searchsorted(falling[::-1], r, side="left"))
    sums = np.concatenate([[0.0], np.cumsum(falling)])
    return sums[r] - (sums[-1] - sums[ends]) - r * (ends - 1.0), ends


@dataclass(frozen=True, slots=True, eq=False)
class Relaxation:
    """What `relax` found: y (n,), cuts (r, j) (c, 2), right sides b (c,), multipliers u (c,), d (n,), the sum if known."""

    values: NDArray[np.float64]
    cuts: NDArray[np.int64]
    sides: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    point: NDArray[np.float64]
    total: int | None

    def lower_bound(self) -> float:
        """Return what the squared distance of no whole sequence within the cuts, of even sum or of the total, can be below."""
        moved = self.values - _sum_of_cuts(self.cuts, self.multipliers, self.values.size)
        if self.total is None:
            whole = np.floor(self.point + 0.5)
            bound = self._lagrangian(whole)
            if whole.sum() % 2:
                bound += float(parity_changes(whole, moved)[0].min(initial=np.inf))
            return bound
        real = self._lagrangian(self.point)
        inside = np.flatnonzero((self.point > 0.0) & (self.point < self.values.size - 1.0))
        if not inside.size:
            return real
        free = isotonic(moved[::-1])[::-1]
        shift = float(self.point[inside[0]] - free[inside[0]])
        whole = np.floor(np.clip(free + shift, 0.0, self.values.size - 1.0) + 0.5)
        return max(real, self._lagrangian(whole) - 2.0 * shift * float(whole.sum() - self.total))

    def _lagrangian(self, sequence: NDArray[np.float64]) -> float:
        """Return twice GS-7 at a sequence."""
        excess = _left_sides(self.cuts, sequence) - self.sides
        return float(((sequence - self.values) ** 2).sum() + 2 * self.multipliers @ excess)


def relax(
    values: NDArray[np.float64],
    start: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None,
    *,
    total: int | None = None,
) -> Relaxation:
    """Return the sequence nearest to y (n,) within all cuts that it would break, up to a small tolerance.

    `start` holds cuts with right sides to begin with, which may be smaller than r (j - 1); `total` is the sum, if it is known.
    """
    cuts = np.zeros((0, 2), dtype=np.int64) if start is None else start[0]
    sides = np.zeros(0) if start is None else start[1]
    multipliers = np.zeros(len(cuts))
    for _ in range(_ROUNDS):
        multipliers, point = _ascend(values, cuts, sides, multipliers, total)
        excess, ends = cut_violations(point)
        new = _most_violated(excess, ends, cuts)
        if not len(new):
            break
        cuts = np.concatenate([cuts, new])
        sides = np.concatenate([sides, new[:, 0] * (new[:, 1] - 1.0)])
        multipliers = np.concatenate([multipliers, np.zeros(len(new))])
    return Relaxation(values, cuts, sides, multipliers, point, total)


def parity_changes(
    whole: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return changes of a falling whole sequence by 1 in an odd number of entries: what each adds to the squared distance.

    With costs come first entries, ends, and +1 or -1. An odd number of entries at the front of a stretch of equal ones is
    raised, or at its back lowered. From the best whole sequence one of these leads to the best with the other parity (GS-8).
    """
    size = whole.size
    starts = np.flatnonzero(np.diff(whole, prepend=np.inf))
    lengths = np.diff(starts, append=size)
    first = np.repeat(starts, lengths)
    last = first + np.repeat(lengths, lengths)
    place = np.arange(size)
    up = np.concatenate([[0.0], np.cumsum(1 + 2 * (whole - values))])
    down = np.concatenate([[0.0], np.cumsum(1 - 2 * (whole - values))])
    raised = ((place - first) % 2 == 0) & (whole < size - 1)
    lowered = ((last - place) % 2 == 1) & (whole > 0)
    costs = np.concatenate([(up[1:] - up[first])[raised], (down[last] - down[:-1])[lowered]])
    begins = np.concatenate([first[raised], place[lowered]])
    ends = np.concatenate([place[raised] + 1, last[lowered]])
    signs = np.concatenate([np.ones(raised.sum(), dtype=np.int64), -np.ones(lowered.sum(), dtype=np.int64)])
    return costs, begins, ends, signs


def _most_violated(
    excess: NDArray[np.float64], ends: NDArray[np.int64], cuts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return a few cuts (c, 2) that are violated most among their neighbours, and are not there yet."""
    padded = np.concatenate([[-np.inf], excess, [-np.inf]])
    peaks = np.flatnonzero((excess > _TOLERANCE) & (excess >= padded[:-2]) & (excess >= padded[2:]))
    peaks = peaks[np.argsort(-excess[peaks], kind="stable")][:_NEW_CUTS]
    known = set(map(tuple, cuts.tolist()))
    new = [(r + 1, j) for r, j in zip(peaks.tolist(), ends[peaks].tolist(), strict=True)]
    return np.array([cut for cut in new if cut not in known], dtype=np.int64).reshape(-1, 2)


def _ascend(
    values: NDArray[np.float64],
    cuts: NDArray[np.int64],
    sides: NDArray[np.float64],
    start: NDArray[np.float64],
    total: int | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return multipliers (c,) that are best for the Lagrangian, and the sequence (n,) that belongs to them."""
    from scipy.optimize import minimize

    def sequence(multipliers: NDArray[np.float64]) -> NDArray[np.float64]:
        moved = values - _sum_of_cuts(cuts, multipliers, values.size)
        return isotonic(moved[::-1], lower=0.0, upper=values.size - 1.0, total=total)[::-1]

    def negative(multipliers: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        point = sequence(multipliers)
        excess = _left_sides(cuts, point) - sides
        return -0.5 * float(((point - values) ** 2).sum()) - float(multipliers @ excess), -excess

    if not len(cuts):
        return start, sequence(start)
    done = minimize(
        negative,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * len(cuts),
        options={"maxiter": 500, "ftol": 1e-15, "gtol": 0.1 * _TOLERANCE},
    )
    multipliers = np.maximum(np.asarray(done.x, dtype=np.float64), 0.0)
    return multipliers, sequence(multipliers)


def _sum_of_cuts(cuts: NDArray[np.int64], multipliers: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return sum u a (n,): u on the first r entries of each cut, -u after its j-th."""
    steps = np.zeros(size + 1)
    steps[0] = multipliers.sum()
    np.subtract.at(steps, cuts[:, 0], multipliers)
    np.subtract.at(steps, cuts[:, 1], multipliers)
    return np.cumsum(steps)[:-1]


def _left_sides(cuts: NDArray[np.int64], falling: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a . d of every cut (c,)."""
    sums = np.concatenate([[0.0], np.cumsum(falling)])
    left: NDArray[np.float64] = sums[cuts[:, 0]] - (sums[-1] - sums[cuts[:, 1]])
    return left
