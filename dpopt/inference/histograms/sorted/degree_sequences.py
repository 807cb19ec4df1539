"""Degree sequences of graphs: which sequences are some, a graph that shows it, and the nearest one to noisy degrees.

A *graphical* sequence holds the degrees of the nodes of a graph without loops and double edges. With d_1 >= ... >= d_n
these are the whole numbers of even sum for which, for r = 1, ..., n (Erdos and Gallai 1960),

    sum_{i <= r} d_i <= r (r - 1) + sum_{i > r} min(d_i, r).

With j the number of entries that are at least r (or r, if that is more) this is the linear cut (GS-6 of
models/graphical_sequences)

    sum_{i <= r} d_i - sum_{i > j} d_i <= r (j - 1),

and every j >= r gives a valid one. With multipliers u >= 0 for cuts a . d <= b the Lagrangian (GS-7)

    1/2 |d - y|^2 + sum u (a . d - b),   n - 1 >= d_1 >= ... >= d_n >= 0

is least at the isotonic regression of y - sum u a, cut at the bounds: a bound on what any such sequence costs, and a
concave function of u whose slopes are a . d - b. Among whole numbers it is least at the same sequence rounded half up,
a better bound; if that has an odd sum, the cheapest change of its parity (GS-8) may be added. Where the number of edges
is known, so is the sum of d (GS-5): isotonic regression then has that sum, by a shift of all entries, whose multiplier
joins the Lagrangian.

Whole sequences are repaired by heuristics; `nearest_graphical` says how far the result may be from the best, and takes
and returns degrees from the smallest to the largest, as `isotonic` does. Post-processing: no cost in privacy.

Source: Erdos and Gallai (1960); Havel (1955) and Hakimi (1962); the polytope: Koren (1973), Peled and Srinivasan (1989).
Hay, Rastogi, Miklau and Suciu (2010), section 6, name graphical sequences as an open question.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError
from dpopt.inference.histograms.sorted.isotonic import checked, isotonic
from dpopt.inference.histograms.tree_least_squares import whole_of_total

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
    """The result of `relax`: y (n,), cuts (r, j) (c, 2), right sides b (c,), multipliers u (c,), d (n,), any known sum."""

    values: NDArray[np.float64]
    cuts: NDArray[np.int64]
    sides: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    point: NDArray[np.float64]
    total: int | None

    def lower_bound(self) -> float:
        """Return a lower bound on the squared distance of whole sequences within the cuts, of even sum or of the total."""
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


def relax(values: NDArray[np.float64], *, total: int | None = None) -> Relaxation:
    """Return the sequence nearest to y (n,), of this sum if it is known, within all cuts that it would break, nearly."""
    cuts, sides, multipliers = np.zeros((0, 2), dtype=np.int64), np.zeros(0), np.zeros(0)
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
    """Return changes of a falling whole sequence by 1 in an odd number of entries, with the added squared distance.

    With costs come first entries, ends, and +1 or -1. An odd number of entries at the front of a stretch of equal ones
    is raised, or at its back lowered. From the best whole sequence one of these leads to the best with the other parity
    (GS-8).
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


def _most_violated(excess: NDArray[np.float64], ends: NDArray[np.int64], cuts: NDArray[np.int64]) -> NDArray[np.int64]:
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


_TRIED_REPAIRS = 200  # of an odd sum, cheapest first
_MOVES, _TRIED_PAIRS, _PASSES = 600, 400, 50  # of the search: moves paired, pairs tried in a pass, passes


def cost_of(whole: NDArray[np.int64], values: NDArray[np.float64]) -> float:
    """Return the squared distance."""
    return float(((whole - values) ** 2).sum())


def repaired(whole: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a graphical sequence near a falling whole one: the cheapest change makes its sum even, else it is evened."""
    if whole.sum() % 2 == 0:
        return whole.astype(np.int64) if cut_violations(whole)[0].max() <= 0 else evened(whole)
    costs, firsts, ends, signs = parity_changes(whole, values)
    order = np.argsort(costs, kind="stable")[:_TRIED_REPAIRS]

    def changed(place: int) -> NDArray[np.float64]:
        found = whole.copy()
        found[firsts[place] : ends[place]] += signs[place]
        return found

    for place in order:
        if cut_violations(changed(place))[0].max() <= 0:
            return changed(place).astype(np.int64)
    return evened(changed(order[0]))


def rounded(point: NDArray[np.float64], total: int | None) -> NDArray[np.float64]:
    """Return the nearest whole sequence to a falling one, half up; of this total, if there is one."""
    if total is None:
        return np.floor(point + 0.5)
    return whole_of_total(point[::-1], total)[::-1].astype(np.float64)


def evened(whole: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a graphical sequence of the same even sum: the largest entries give as little as possible to the smallest.

    What a graphical sequence majorizes is graphical, and so are entries that differ by 1 at most: what is given is
    found by halving its range.
    """
    given, size = whole.astype(np.int64), whole.size
    level = int(given.sum()) // size
    above, below = np.maximum(given - level, 0), np.maximum(level - given, 0)
    most = int(max(np.maximum(above - 1, 0).sum(), below.sum()))

    def fits(units: int) -> bool:
        return bool(cut_violations(_passed_on(given, units).astype(np.float64))[0].max() <= 0)

    return _passed_on(given, bisect_left(range(most), x=True, key=fits))


def _passed_on(falling: NDArray[np.int64], units: int) -> NDArray[np.int64]:
    """Return the sequence with this number of units moved from its largest entries, one by one, to its smallest."""
    return np.asarray(falling + _cut_off(falling, units) - _cut_off(-falling[::-1], units)[::-1])


def _cut_off(falling: NDArray[np.int64], units: int) -> NDArray[np.int64]:
    """Return by how much each entry changes if units are taken from the largest, one by one."""
    caps = range(int(falling[-1]), int(falling[0]))
    paid = bisect_left(caps, x=True, key=lambda cap: int(np.maximum(falling - cap, 0).sum()) <= units)
    low = caps.start + paid  # the least cap whose cost is paid
    changes = np.minimum(low - falling, 0)
    left = units + int(changes.sum())
    end = int(np.count_nonzero(falling >= low))
    changes[end - left : end] -= 1
    return np.asarray(changes)


def improved(start: NDArray[np.int64], values: NDArray[np.float64], *, keep_sum: bool = False) -> NDArray[np.int64]:
    """Return a graphical sequence that no pair of small moves brings nearer to the values, as far as pairs are tried.

    A move raises the first entry of a stretch of equal ones by 1, lowers the last, or moves the whole stretch. The
    parity of the sum is kept, or the sum itself.
    """
    whole = start.copy()
    for _ in range(_PASSES):
        costs, firsts, ends, signs = _moves(whole, values)
        one, two = np.triu_indices(costs.size)
        alone = one == two
        gains = np.where(alone, costs[one], costs[one] + costs[two])
        added = signs * (ends - firsts)
        change = added[one] + np.where(alone, 0, added[two])
        kept = change == 0 if keep_sum else change % 2 == 0
        useful = np.flatnonzero((gains < -1e-9) & kept)
        for pair in useful[np.argsort(gains[useful], kind="stable")][:_TRIED_PAIRS]:
            tried = whole.copy()
            for move in {one[pair], two[pair]}:
                tried[firsts[move] : ends[move]] += signs[move]
            if (
                tried.min() >= 0
                and (np.diff(tried) <= 0).all()
                and cost_of(tried, values) < cost_of(whole, values) - 1e-9
                and cut_violations(tried.astype(np.float64))[0].max() <= 0
            ):
                whole = tried
                break
        else:
            break
    return whole


def _moves(
    whole: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the cheapest moves: the increase of the squared distance, first entry, end, and +1 or -1."""
    starts = np.flatnonzero(np.diff(whole, prepend=-1))
    stops = np.append(starts[1:], whole.size)
    firsts = np.concatenate([starts, stops - 1, starts, starts])
    ends = np.concatenate([starts + 1, stops, stops, stops])
    signs = np.repeat(np.array([1, -1, 1, -1]), starts.size)
    sums = np.concatenate([[0.0], np.cumsum(whole - values)])
    costs = (ends - firsts) + 2 * signs * (sums[ends] - sums[firsts])
    moved = whole[firsts] + signs
    order = np.argsort(costs, kind="stable")
    order = order[((moved >= 0) & (moved < whole.size))[order]][:_MOVES]
    return costs[order], firsts[order], ends[order], signs[order]


@dataclass(frozen=True, slots=True, eq=False)
class NearestGraphical:
    """A graphical sequence near noisy degrees."""

    degrees: NDArray[np.int64]
    """Shape (n,). Nondecreasing."""
    squared_distance: float
    """sum_k (degrees_k - values_k)^2."""
    lower_bound: float
    """No graphical sequence in this order has a smaller squared distance."""
    cuts: NDArray[np.int64]
    """Shape (c, 2). The Erdos-Gallai cuts (r, j) that took part (GS-6 of models/graphical_sequences)."""

    @property
    def gap(self) -> float:
        """By how much the squared distance may exceed the least one."""
        return max(0.0, self.squared_distance - self.lower_bound)

    def edges(self) -> NDArray[np.int64]:
        """Return the edges (m, 2) of a graph with these degrees: the certificate."""
        return graph_with_degrees(self.degrees)


def erdos_gallai_slacks(degrees: ArrayLike) -> NDArray[np.int64]:
    """Return right side less left side of the inequality of each r = 1, ..., n, (n,): none below 0 if the sum is right."""
    falling = np.sort(_whole(degrees))[::-1].astype(np.float64)
    return -cut_violations(falling)[0].astype(np.int64)


def is_graphical(degrees: ArrayLike) -> bool:
    """Return whether a graph has these degrees: O(n), and n log n to sort. Numbers that are no degrees at all are not."""
    given = np.asarray(degrees)
    if given.size == 0:
        return True
    whole = np.floor(given).astype(np.int64)
    if (whole != given).any() or whole.min() < 0 or whole.max() >= whole.size or whole.sum() % 2:
        return False
    return bool((erdos_gallai_slacks(whole) >= 0).all())


def graph_with_degrees(degrees: ArrayLike) -> NDArray[np.int64]:
    """Return the edges (m, 2) of a graph in which node k has degree degrees[k]: nodes join the largest others, smallest first.

    Time and memory grow with the number of edges.
    """
    from dpopt.inference.histograms.sorted.kernels import join_largest

    whole = _whole(degrees)
    order = np.argsort(-whole, kind="stable")
    edges = join_largest(whole[order])
    if 2 * len(edges) != whole.sum():
        raise ProgramError("no graph has these degrees; nearest_graphical finds degrees near them that one has")
    found: NDArray[np.int64] = order[edges]
    return found


def nearest_graphical(values: ArrayLike, *, total: int | None = None) -> NearestGraphical:
    """Return a graphical sequence near noisy degrees, and how much nearer any could be.

    Problem (models/graphical_sequences, GS-1 to GS-5): minimize sum_k (d_k - y_k)^2 over graphical d_1 <= ... <= d_n,
    with sum_k d_k = total where the number of edges is public. Isotonic regression first; the most violated
    Erdos-Gallai inequalities become linear cuts with multipliers, whose best values are found by ascent of the dual;
    the relaxed sequence is rounded, an odd sum is repaired by the cheapest graphical change, and where cuts are still
    broken the largest entries give to the smallest (`evened`). The bound is the Lagrangian over whole sequences with even
    sum, or of real ones with the total.

    Exact (gap 0 but for rounding errors) whenever no cut is violated, as in the sparse graphs that are met in practice,
    and the cheapest repair of the sum stays graphical. With a total nearly so: the gap then counts what rounding to it
    may have cost.

    Parameters
    ----------
    values : (n,)
        y, finite, in the order of the true degrees from the smallest to the largest.
    total
        Twice the number of edges, where that is public.
    """
    noisy, _ = checked(values, None)
    if total is not None and (total % 2 or not 0 <= total <= noisy.size * (noisy.size - 1)):
        raise ProgramError(
            f"the degrees of {noisy.size:,} nodes add up to an even number from 0 to "
            f"{noisy.size * (noisy.size - 1):,}, not to {total:,}"
        )
    falling = np.ascontiguousarray(noisy[::-1])
    relaxed = relax(falling, total=total)
    best = repaired(rounded(relaxed.point, total), falling)
    bound = relaxed.lower_bound()
    if cost_of(best, falling) > bound + 1e-6:
        best = improved(best, falling, keep_sum=total is not None)
    return NearestGraphical(
        freeze(np.ascontiguousarray(best[::-1])), cost_of(best, falling), bound, freeze(relaxed.cuts)
    )


def _whole(degrees: ArrayLike) -> NDArray[np.int64]:
    """Return degrees as whole numbers; ProgramError if they are not, or out of range."""
    given = np.asarray(degrees, dtype=np.float64)
    whole = np.floor(given).astype(np.int64)
    if given.ndim != 1 or (whole != given).any() or (whole.size and not 0 <= whole.min() <= whole.max() < whole.size):
        raise ProgramError(
            f"degrees of {given.size} nodes are whole numbers from 0 to {given.size - 1}; nearest_graphical takes "
            f"others"
        )
    return whole
