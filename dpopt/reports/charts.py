"""Numbers to marks: bars, histograms, maps and dots as the template draws them, in shares of their frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.schema.attribute import Attribute, AttributeKind

Numbers = NDArray[np.float64]

MOST_BARS, MOST_BINS, MOST_CELLS = 10, 48, 16
WIDTH, HEIGHT = 360, 120
"""Of a histogram, in units of its picture."""


def short(text: str, most: int = 18) -> str:
    """Return a text, or its beginning where it is long; line ends and other signs without a picture become blanks."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def percent(share: float | None) -> str:
    """Return a share in per cent with three digits, no finer than a hundredth."""
    if share is None or not np.isfinite(share):
        return "–"
    value = 100 * share
    return f"{value:.1f} %" if abs(value) >= 9.95 else f"{value:.2f} %"


def column_chart(
    attribute: Attribute, own: Numbers | None, real: Numbers | None, low: Numbers | None, high: Numbers | None
) -> dict[str, Any]:
    """Return the picture of a column: a histogram of numbers, or bars of values, the largest first.

    Parameters
    ----------
    own, real, low, high : (size,) float64 or None
        Shares of the codes: of synthetic records, of the table, and the ends of the interval that the noise allows.
    """
    main = own if own is not None else (low + high) / 2 if low is not None and high is not None else real
    if main is None:
        main = np.zeros(attribute.size)
    series = {"own": own, "real": real, "low": low, "high": high}
    if attribute.kind is AttributeKind.NUMERIC:
        return _histogram(attribute, series)
    order = np.argsort(-np.nan_to_num(main), kind="stable")
    shown, rest = order[:MOST_BARS], order[MOST_BARS:]
    top = _top(*(None if one is None else one[shown] for one in series.values()))
    rows = [
        {
            "label": short(attribute.label(code), 60),
            "own": _share(own, code, top),
            "real": _share(real, code, top),
            "low": _share(low, code, top),
            "high": _share(high, code, top),
            "text": percent(None if own is None else float(own[code])),
            "real_text": None if real is None else percent(float(real[code])),
            "range_text": _range_text(low, high, code),
        }
        for code in shown.tolist()
    ]
    others = None
    if rest.size:
        sums = [None if one is None else percent(float(one[rest].sum())) for one in (own, real)]
        others = {"values": int(rest.size), "own": sums[0], "real": sums[1]}
    return {"kind": "bars", "rows": rows, "others": others}


def _top(*series: Numbers | None) -> float:
    return max([1e-9, *(float(np.nanmax(one, initial=0.0)) for one in series if one is not None and one.size)])


def _share(series: Numbers | None, code: int, top: float) -> float | None:
    """Return a bar's length, 0 to 100."""
    if series is None or np.isnan(series[code]):
        return None
    return round(100 * min(1.0, max(0.0, float(series[code]) / top)), 2)


def _range_text(low: Numbers | None, high: Numbers | None, code: int) -> str | None:
    if low is None or high is None or np.isnan(low[code]):
        return None
    return f"{percent(float(low[code]))} to {percent(float(high[code]))}"


def _histogram(attribute: Attribute, series: dict[str, Numbers | None]) -> dict[str, Any]:
    bins = len(attribute.representatives)
    each = -(-bins // MOST_BINS)
    starts = np.arange(0, bins, each)
    joined: dict[str, Numbers | None] = {}
    for name, values in series.items():
        kept = values if each == 1 or name in {"own", "real"} else None
        joined[name] = None if kept is None else np.append(np.add.reduceat(kept[:bins], starts), kept[bins:])
    top, number = _top(*joined.values()), starts.size + (attribute.missing is not None)
    gap = WIDTH / (number + (0.5 if attribute.missing is not None else 0))
    marks = []
    for place in range(number):
        missing = place == starts.size
        label = (
            "missing" if missing else _bin_label(attribute, int(starts[place]), min(bins, int(starts[place]) + each))
        )
        tall = {name: _height(values, place, top) for name, values in joined.items()}
        own, real = joined["own"], joined["real"]
        said = [label]
        said += [] if own is None else [f"synthetic {percent(float(own[place]))}"]
        said += [] if real is None else [f"real {percent(float(real[place]))}"]
        span = _range_text(joined["low"], joined["high"], place)
        said += [] if span is None else [f"95 % interval {span}"]
        marks.append(
            {"x": round(gap * (place + 0.5 * missing), 2), "w": round(gap, 2), "title": "\n".join(said), **tall}
        )
    edges = attribute.edges
    return {
        "kind": "histogram",
        "marks": marks,
        "ticks": [attribute.number_text(edges[place]) for place in (0, bins // 2, -1)],
        "middle": round(gap * (bins // 2) / each, 1),
        "end": round(gap * starts.size, 1),
        "missing": attribute.missing is not None,
        "top": percent(top),
        "grouped": each if each > 1 else None,
        "bins": bins,
    }


def _height(values: Numbers | None, place: int, top: float) -> float | None:
    share = _share(values, place, top)
    return None if share is None else round(HEIGHT * share / 100, 1)


def _bin_label(attribute: Attribute, first: int, last: int) -> str:
    if last == first + 1:
        return attribute.label(first)
    return f"{attribute.number_text(attribute.edges[first])} to {attribute.number_text(attribute.edges[last])}"


def line_chart(lines: Mapping[str, Sequence[tuple[float, float]]]) -> dict[str, Any]:
    """Return named lines of points (x, y), x at least 1 and y at least 0, as the template draws them."""
    last, top = (max(1e-9, *(point[axis] for line in lines.values() for point in line)) for axis in (0, 1))

    def place(x: float, y: float) -> str:
        return f"{WIDTH * (x - 1) / max(1, last - 1):.1f},{HEIGHT * (1 - max(0.0, y) / top):.1f}"

    drawn = ({"label": name, "points": " ".join(place(*one) for one in line)} for name, line in lines.items() if line)
    return {"lines": list(drawn), "last": last, "top": f"{top:.3g}"}


def square_map(
    names: Sequence[str], values: NDArray[np.float64], *, signed: bool, top: float | None = 1.0
) -> dict[str, Any]:
    """Return a map of a symmetric matrix (d, d), its lower half: opacity says how large a value is, a class its sign.

    NaN is left blank. Opacities are square roots, so that small values are seen; the largest one stands for `top`, or,
    where that is None, for the largest value.
    """
    top = max(1e-9, float(np.nanmax(np.abs(values), initial=0.0))) if top is None else top
    cells = [
        {
            "x": column,
            "y": row,
            "opacity": round(float(np.sqrt(min(1.0, abs(values[row, column]) / top))), 2),
            "sign": "high" if values[row, column] > 0 else "low",
            "title": f"{names[row]} x {names[column]}: {values[row, column]:{'+' if signed else ''}.3f}",
        }
        for row in range(len(names))
        for column in range(row)
        if not np.isnan(values[row, column])
    ]
    return {"names": [short(name, 16) for name in names], "cells": cells, "top": f"{top:.2g}", "signed": signed}


def table_map(
    attributes: Sequence[Attribute], shares: Numbers, *, order: Sequence[NDArray[np.int64]], top: float, signed: bool
) -> dict[str, Any]:
    """Return a map of the shares (n, m) of pairs of values; of many bins some are joined, of many values the last.

    Parameters
    ----------
    order
        For each column its codes, the ones to keep first.
    """
    labels = []
    for axis, attribute in enumerate(attributes):
        names, shares = _together(attribute, shares, axis, order[axis])
        labels.append([short(name, 14) for name in names])
    cells = [
        {
            "x": column,
            "y": row,
            "opacity": round(float(np.sqrt(min(1.0, abs(shares[row, column]) / top))), 2),
            "sign": "high" if shares[row, column] > 0 else "low",
            "title": f"{labels[0][row]}, {labels[1][column]}: {percent(float(shares[row, column]))}",
        }
        for row in range(shares.shape[0])
        for column in range(shares.shape[1])
    ]
    return {"rows": labels[0], "columns": labels[1], "cells": cells, "signed": signed}


def _together(attribute: Attribute, shares: Numbers, axis: int, order: NDArray[np.int64]) -> tuple[list[str], Numbers]:
    """Return at most `MOST_CELLS` names along an axis, and the shares of what they stand for."""
    size = attribute.size
    if size <= MOST_CELLS:
        return [attribute.label(code) for code in range(size)], shares
    if attribute.kind is AttributeKind.NUMERIC:
        each = -(-size // MOST_CELLS)
        starts = np.arange(0, size, each)
        return [attribute.label(int(start)) + "…" for start in starts], np.add.reduceat(shares, starts, axis)
    kept, others = np.sort(order[: MOST_CELLS - 1]), np.sort(order[MOST_CELLS - 1 :])
    rest = shares.take(others, axis).sum(axis, keepdims=True)
    names = [*(attribute.label(int(code)) for code in kept), f"{others.size} others"]
    return names, np.concatenate([shares.take(kept, axis), rest], axis)


def dots(points: Sequence[tuple[float, float, str]]) -> dict[str, Any] | None:
    """Return points (x, y, title) on two logarithmic axes with one scale, in a frame of 300 units; None below two."""
    some = [(x, y, title) for x, y, title in points if x > 0 and y > 0]
    if len(some) < 2:
        return None
    logs = [log10(number) for x, y, _ in some for number in (x, y)]
    low, high = np.floor(min(logs)), np.ceil(max(logs))
    span = max(1.0, float(high - low))

    def place(number: float) -> float:
        return round(300 * (log10(number) - float(low)) / span, 1)

    ticks = [{"at": place(10.0**power), "text": f"{10.0**power:g}"} for power in range(int(low), int(low + span) + 1)]
    return {"points": [{"x": place(x), "y": 300 - place(y), "title": title} for x, y, title in some], "ticks": ticks}
