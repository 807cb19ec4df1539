"""Readable bin edges for a numeric column: equal widths where they serve, quantiles where most rows share a bin."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

import numpy as np
from numpy.typing import NDArray

Edges = tuple[float, ...]

_STEPS = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5), Decimal(10))
_CROWDED = 0.5  # share of the rows in one bin of equal width from which quantiles are used instead
_DIGITS = 2  # significant digits of edges at quantiles


def readable_edges(
    values: NDArray[np.float64], counts: NDArray[np.int64], bins: int, *, integer: bool
) -> Edges:
    """Return increasing edges that hold all values in about `bins` bins.

    Values that many rows share (the zeros of an income, say) are set aside first. The others decide between equal
    widths and quantiles. Then each whole number that 2/bins of all rows share gets a bin of its own.

    Parameters
    ----------
    values : (k,) float64
        Different finite values, increasing; k >= 1.
    counts : (k,) int64
        Rows with each value, positive.
    bins
        Number of bins aimed at, at least 2; a few more or fewer can come out.
    integer
        Whether the values are whole numbers; then every edge is one too.
    """
    shared = _shared_by_many(counts, bins)
    edges = _equal_widths(_decimal(values[0]), _decimal(values[-1]), bins, integer=integer)
    if not shared.all():
        others, rows = values[~shared], counts[~shared]
        places = np.clip(np.searchsorted(edges, others, side="right") - 1, 0, len(edges) - 2)
        if np.bincount(places, weights=rows).max() > _CROWDED * rows.sum():
            wanted = max(bins - 2 * int(np.count_nonzero(shared)), 2) if integer else bins
            edges = _quantiles(others, rows, wanted, _outer(values, integer=integer), integer=integer)
    if not integer:
        return edges
    own = {float(value) + step for value in values[counts * bins >= 2 * counts.sum()] for step in (0, 1)}
    first, last = edges[0], max(edges[-1], max(own, default=edges[0]))
    inner = sorted({edge for edge in own.union(edges) if max(first, float(values[0])) <= edge < last})
    return (*(inner if values[0] in own else sorted({first, *inner})), last)


def _shared_by_many(counts: NDArray[np.int64], bins: int) -> NDArray[np.bool_]:
    """Return which values hold 2/bins of the rows or more, counted again without those found before."""
    shared = np.zeros(counts.size, dtype=np.bool_)
    while np.count_nonzero(shared) < max(bins // 4, 1):
        rest = np.where(shared, 0, counts)
        largest = int(rest.argmax())
        if rest[largest] * bins < 2 * rest.sum() or not rest[largest]:
            break
        shared[largest] = True
    return shared


def _equal_widths(low: Decimal, high: Decimal, bins: int, *, integer: bool) -> Edges:
    span = (high - low) or max(abs(high) / 10, Decimal(1))
    raw = span / bins
    power = Decimal(1).scaleb(raw.adjusted())
    steps = [power * step for step in _STEPS]
    if integer:
        steps = [step for step in steps if step >= 1 and step == step.to_integral_value()] or [Decimal(1)]
    step = next((step for step in steps if step >= raw), steps[-1])
    first = (low / step).to_integral_value(ROUND_FLOOR)
    last = max((high / step).to_integral_value(ROUND_CEILING), first + 1)
    return tuple(sorted({float(number * step) for number in range(int(first), int(last) + 1)}))


def _quantiles(
    values: NDArray[np.float64],
    counts: NDArray[np.int64],
    bins: int,
    outer: tuple[float, float],
    *,
    integer: bool,
) -> Edges:
    reached = np.cumsum(counts) / counts.sum()
    positions = np.searchsorted(reached, np.arange(1, bins) / bins)
    low, high = outer
    rounded = {_rounded(_decimal(value), ROUND_HALF_EVEN, integer=integer) for value in values[positions]}
    return (low, *sorted(edge for edge in rounded if low < edge < high), high)


def _outer(values: NDArray[np.float64], *, integer: bool) -> tuple[float, float]:
    low = _rounded(_decimal(values[0]), ROUND_FLOOR, integer=integer)
    high = _rounded(_decimal(values[-1]), ROUND_CEILING, integer=integer)
    return low, high


def _rounded(number: Decimal, rounding: str, *, integer: bool) -> float:
    if not number:
        return 0.0
    unit = Decimal(1).scaleb(number.adjusted() - _DIGITS + 1)
    if integer:
        unit = max(unit, Decimal(1))
    return float((number / unit).to_integral_value(rounding) * unit)


def _decimal(number: np.float64) -> Decimal:
    return Decimal(repr(float(number)))
