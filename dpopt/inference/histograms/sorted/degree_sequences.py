"""Degree sequences of graphs: which sequences are some, a graph that shows it, and the nearest one to noisy degrees.

A *graphical* sequence holds the degrees of the nodes of a graph without loops and double edges. With d_1 >= ... >= d_n these
are the whole numbers of even sum for which, for r = 1, ..., n (Erdos and Gallai 1960),

    sum_{i <= r} d_i <= r (r - 1) + sum_{i > r} min(d_i, r).

Functions here take degrees in any order; `nearest_graphical` takes and returns them from the smallest to the largest, as
`isotonic` does. Post-processing: no cost in privacy.

Source: Erdos and Gallai (1960); Havel (1955) and Hakimi (1962); Hay, Rastogi, Miklau and Suciu (2010), section 6, name
graphical sequences as an open question. Method: see `nearest_graphical`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError
from dpopt.inference.histograms.sorted.graphical_relaxation import cut_violations, relax
from dpopt.inference.histograms.sorted.graphical_repair import (
    capped,
    cost_of,
    evened,
    improved,
    mended,
    rounded,
    tighter,
)
from dpopt.inference.histograms.sorted.isotonic import checked

_TIGHTENINGS = 30  # of cuts, until rounding obeys them


@dataclass(frozen=True, slots=True, eq=False)
class NearestGraphical:
    """A graphical sequence near noisy degrees.

    Attributes
    ----------
    degrees : (n,) int64
        Nondecreasing.
    squared_distance
        sum_k (degrees_k - values_k)^2.
    lower_bound
        No graphical sequence in this order has a smaller squared distance.
    cuts : (c, 2) int64
        The Erdos-Gallai cuts (r, j) that took part (GS-6 of models/graphical_sequences).
    """

    degrees: NDArray[np.int64]
    squared_distance: float
    lower_bound: float
    cuts: NDArray[np.int64]

    @property
    def gap(self) -> float:
        """By how much the squared distance may exceed the least one."""
        return max(0.0, self.squared_distance - self.lower_bound)

    def edges(self) -> NDArray[np.int64]:
        """Return the edges (m, 2) of a graph with these degrees: the certificate."""
        return graph_with_degrees(self.degrees)


def erdos_gallai_slacks(degrees: ArrayLike) -> NDArray[np.int64]:
    """Return right side less left side of the inequality of every r = 1, ..., n, (n,): all at least 0 if the sum is right too.

    Raises
    ------
    ProgramError
        Degrees that are not whole numbers from 0 to n - 1.
    """
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

    Raises
    ------
    ProgramError
        Degrees that are not whole numbers from 0 to n - 1, or that no graph has.
    """
    from dpopt.inference.histograms.sorted.degree_kernels import join_largest

    whole = _whole(degrees)
    order = np.argsort(-whole, kind="stable")
    edges = join_largest(whole[order])
    if 2 * len(edges) != whole.sum():
        raise ProgramError(
            "no graph has these degrees; nearest_graphical finds degrees near them that one has"
        )
    found: NDArray[np.int64] = order[edges]
    return found


def nearest_graphical(values: ArrayLike, *, total: int | None = None) -> NearestGraphical:
    """Return a graphical sequence near noisy degrees, and how much nearer any could be.

    Problem (models/graphical_sequences, GS-1 to GS-5): minimize sum_k (d_k - y_k)^2 over graphical d_1 <= ... <= d_n, with
    sum_k d_k = total where the number of edges is public. Isotonic regression first; the most violated Erdos-Gallai
    inequalities become linear cuts with multipliers, whose best values are found by ascent of the dual; the relaxed sequence is
    rounded, cuts are tightened until rounding obeys them, and an odd sum is mended by the cheapest change that stays graphical.
    The bound is the Lagrangian over whole sequences with even sum, or of real ones with the total.

    Exact (gap 0 but for rounding errors) whenever no cut is violated, as in the sparse graphs that are met in practice, and the
    cheapest repair of the sum stays graphical. With a total nearly so: the gap then counts what rounding to it may have cost.

    Parameters
    ----------
    values : (n,)
        y, finite, in the order of the true degrees from the smallest to the largest.
    total
        Twice the number of edges, where that is public.

    Raises
    ------
    ProgramError
        Values that are not finite numbers in one row, or a total that is odd or above n (n - 1).
    """
    noisy, _ = checked(values, None)
    if total is not None and (total % 2 or not 0 <= total <= noisy.size * (noisy.size - 1)):
        raise ProgramError(
            f"the degrees of {noisy.size:,} nodes add up to an even number from 0 to {noisy.size * (noisy.size - 1):,}, not to "
            f"{total:,}"
        )
    falling = np.ascontiguousarray(noisy[::-1])
    relaxed = relax(falling, total=total)
    best: NDArray[np.int64] | None = None
    tightened = relaxed
    for _ in range(_TIGHTENINGS):
        whole = rounded(tightened.point, total)
        found = mended(whole, falling)
        if found is not None and (best is None or cost_of(found, falling) < cost_of(best, falling)):
            best = found
        excess, ends = cut_violations(whole)
        if found is not None or excess.max() <= 0:
            break
        tightened = relax(falling, tighter(tightened, excess, ends), total=total)
    if best is None:
        whole = rounded(relaxed.point, total)
        best = capped(whole, falling) if total is None else evened(whole)
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
    if (
        given.ndim != 1
        or (whole != given).any()
        or (whole.size and not 0 <= whole.min() <= whole.max() < whole.size)
    ):
        raise ProgramError(
            f"degrees of {given.size} nodes are whole numbers from 0 to {given.size - 1}; nearest_graphical takes others"
        )
    return whole
