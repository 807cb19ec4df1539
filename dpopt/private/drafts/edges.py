"""Edges of bins that follow the shape of a column's numbers and are round, so that they could be publicly known."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

Edges = tuple[float, ...]

_STEPS = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5), Decimal(10))
_PER_DECADE = ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
_CROWDED = 0.5  # share of the rows in one bin from which bins of another shape are tried
_LOWEST = 0.01  # share of the positive rows that logarithmic bins leave to their first bin
_TOP = 0.005  # share of them that the last bin holds at least, since noise in bins far out moves means
_DECADES = 2  # fewest powers of ten that make logarithmic bins worth while
_DIGITS, _MOST_DIGITS = 2, 8  # significant digits of edges at quantiles: as few as keep ...
_APART = 0.7  # ... this share of them apart
_MEDIAN_COUNT = 10  # median of the positive rows up to which whole numbers from 0 or 1 on count something
_COUNTS = (0, 1, 2, 3, 4, 5, 7, *(mark * 10**power for power in range(1, 16) for mark in (1, 1.5, 2, 3, 5, 7)))


@dataclass(frozen=True, slots=True)
class Shaped:
    """Increasing edges that hold all values, and their kind: "equal width", "logarithmic" or "quantiles"."""

    edges: Edges
    shape: str


def readable_edges(values: NDArray[np.float64], counts: NDArray[np.int64], bins: int, *, integer: bool) -> Shaped:
    """Return edges that hold all values in about `bins` bins.

    Counts (whole numbers from 0 or 1 on, half of the positive ones up to 10) have a bin for each of 0 to 4, then
    logarithmic ones. Else values that many rows share (the zeros of an income, say) are set aside first. The others
    decide: equal widths, unless more than half of them would share a bin; then logarithmic ones, if they spread the
    positive numbers better over two powers of ten or more; else quantiles. Then each whole number that 2/bins of all
    rows share gets a bin of its own; of numbers with fractions only 0 does.

    Of k >= 1 different finite `values` (k,), increasing, with `counts` (k,) rows each. A few more or fewer bins can come
    out than are aimed at. With `integer` the values are whole numbers, and so is every edge.
    """
    of_counts = _of_counts(values, counts, bins) if integer else None
    if of_counts is not None:
        return Shaped(of_counts, "logarithmic")
    shared = _shared_by_many(counts, bins)
    edges, shape = (_equal_widths(_decimal(values[0]), _decimal(values[-1]), bins, integer=integer), "equal width")
    if not shared.all():
        others, rows = values[~shared], counts[~shared]
        if _largest_share(others, rows, edges) > _CROWDED:
            wanted = max(bins - 2 * int(np.count_nonzero(shared)), 2) if integer else bins
            outer = _outer(values, integer=integer)
            cut = _quantiles(others, rows, wanted, values, integer=integer)
            if _largest_share(others, rows, cut) < _largest_share(others, rows, edges):
                edges, shape = cut, "quantiles"
            grid = _logarithmic(others, rows, wanted, outer, integer=integer)
            if grid is not None and _largest_share(others, rows, grid) <= _CROWDED:
                edges, shape = grid, "logarithmic"
    often = (counts * bins >= 2 * counts.sum()) & (integer | ((values == 0.0) & (counts > 1)))
    own = set(values[often].tolist())
    return Shaped(_with_own_bins(edges, values, own, integer=integer), shape)


def _with_own_bins(edges: Edges, values: NDArray[np.float64], own: set[float], *, integer: bool) -> Edges:
    """Return edges among which each of some values has a bin of its own, as far as the values stand apart."""
    if not own:
        return edges
    after = {}
    for value in own:
        above = values[values > value]
        if integer:
            after[value] = value + 1
        elif above.size:
            after[value] = _rounded(_decimal(above[0]), ROUND_FLOOR, integer=False)
    around = {*own, *after.values()} if integer else {edge for pair in after.items() for edge in pair}
    if not integer:  # nothing lies between the value and the next one
        edges = tuple(e for e in edges if not any(low < e < high for low, high in after.items()))
    first, last = edges[0], max(edges[-1], max(around, default=edges[0]))
    inner = sorted({edge for edge in around.union(edges) if max(first, float(values[0])) <= edge < last})
    return (*(inner if values[0] in own and inner else sorted({first, *inner})), last)


def _largest_share(values: NDArray[np.float64], rows: NDArray[np.int64], edges: Edges) -> float:
    places = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    return float(np.bincount(places, weights=rows).max() / rows.sum())


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


def _of_counts(values: NDArray[np.float64], counts: NDArray[np.int64], bins: int) -> Edges | None:
    """Return edges 0, 1, 2, 3, 4, 5, 7, 10, ... for whole numbers that count something; None for others."""
    held, rows = values[values > 0], counts[values > 0]
    if values[0] not in (0.0, 1.0) or held.size < 2:
        return None
    if held[np.searchsorted(np.cumsum(rows), 0.5 * rows.sum())] > _MEDIAN_COUNT:
        return None
    inside = _between([float(mark) for mark in _COUNTS], values[0], float(held[-1]))
    edges = (*_with_held_top(inside, held, rows)[:-1], _outer(values, integer=True)[1])
    return edges if 2 < len(edges) <= bins + 1 and edges[-2] < edges[-1] else None


def _with_held_top(edges: list[float], held: NDArray[np.float64], rows: NDArray[np.int64]) -> list[float]:
    """Return the edges without those above which too few of the rows lie; the last one stays."""
    above = rows.sum() - np.append(0, np.cumsum(rows))[np.searchsorted(held, edges[:-1])]
    kept = [edge for edge, left in zip(edges[:-1], above, strict=True) if left >= _TOP * rows.sum()]
    return [*kept, edges[-1]]


def _logarithmic(
    values: NDArray[np.float64], counts: NDArray[np.int64], bins: int, outer: tuple[float, float], *, integer: bool
) -> Edges | None:
    """Return edges such as 0, 1, 2, 5, 10, ...; None where numbers are negative or too close together."""
    positive = values > 0
    if values[0] < 0 or outer[0] < 0 or not positive.any():
        return None
    held, rows = values[positive], counts[positive]
    low = float(held[np.searchsorted(np.cumsum(rows), _LOWEST * rows.sum())])
    high = float(held[-1])
    if high < low * 10.0**_DECADES:
        return None
    first, last = _decimal(np.float64(low)).adjusted(), _decimal(np.float64(high)).adjusted() + 1
    spans = [(marks, 1) for marks in _PER_DECADE] + [((1,), every) for every in range(2, last - first + 1)]
    grids = [
        [float(Decimal(str(mark)).scaleb(power)) for power in range(first, last + every, every) for mark in marks]
        for marks, every in spans
    ]
    if integer:
        grids = [sorted({edge for edge in grid if edge == int(edge)}) for grid in grids]
    cut = [_between(grid, low, high) for grid in grids]
    inside = next((grid for grid in cut if len(grid) <= bins + 1), cut[-1])
    inside = _with_held_top(inside, held, rows)
    lowest = min(outer[0], 0.0 if not positive.all() else outer[0])
    return (*([lowest] if lowest < inside[0] else []), *inside) if len(inside) > 1 else None


def _between(grid: list[float], low: float, high: float) -> list[float]:
    """Return the edges of a grid from the last one at or below `low` to the first one at or above `high`."""
    below = max((edge for edge in grid if edge <= low), default=grid[0])
    inner = list(takewhile(lambda edge: edge < high, (edge for edge in grid if edge >= below)))
    return [*inner, next((edge for edge in grid if edge >= high), high)]


def _quantiles(
    others: NDArray[np.float64], rows: NDArray[np.int64], bins: int, values: NDArray[np.float64], *, integer: bool
) -> Edges:
    """Return edges at quantiles of the others, with the fewest digits that keep most apart, around all values."""
    reached = np.cumsum(rows) / rows.sum()
    positions = np.unique(np.searchsorted(reached, np.arange(1, bins) / bins))
    for digits in range(_DIGITS, _MOST_DIGITS + 1):
        low, high = _outer(values, integer=integer, digits=max(digits - 1, _DIGITS))
        rounded = {
            _rounded(_decimal(value), ROUND_HALF_EVEN, integer=integer, digits=digits) for value in others[positions]
        }
        inner = sorted(edge for edge in rounded if low < edge < high)
        if len(inner) >= _APART * len(positions):
            break
    return (low, *inner, high)


def _outer(values: NDArray[np.float64], *, integer: bool, digits: int = _DIGITS) -> tuple[float, float]:
    low = _rounded(_decimal(values[0]), ROUND_FLOOR, integer=integer, digits=digits)
    high = _rounded(_decimal(values[-1]), ROUND_CEILING, integer=integer, digits=digits)
    return low, high


def _rounded(number: Decimal, rounding: str, *, integer: bool, digits: int = _DIGITS) -> float:
    if not number:
        return 0.0
    unit = Decimal(1).scaleb(number.adjusted() - digits + 1)
    if integer:
        unit = max(unit, Decimal(1))
    return float((number / unit).to_integral_value(rounding) * unit)


def _decimal(number: np.float64) -> Decimal:
    return Decimal(repr(float(number)))
