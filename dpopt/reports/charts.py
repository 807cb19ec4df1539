"""Numbers to marks: bars, histograms, lines and maps as the template draws them, in shares of their frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.html_pages.shown import percent
from dpopt.schema.attribute import Attribute, AttributeKind

Numbers = NDArray[np.float64]

MOST_BARS, MOST_REST, MOST_IN_ORDER, MOST_BINS = 10, 6, 32, 48
"""Bars of values, and how many more are shown where these are all; bars of ordered values; bars of a histogram."""
WIDTH, HEIGHT = 360, 120
MISSING, LETTER = 56, 6.5
"""Size of a histogram's picture, and the space for missing values at its right, and a letter, in the same units."""


def short(text: str, most: int = 18) -> str:
    """Return a text without its middle where it is long; line ends and other signs without a picture become blanks."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    return plain if len(plain) <= most else f"{plain[: most // 2]}…{plain[len(plain) + most // 2 + 1 - most :]}"


def column_chart(
    attribute: Attribute, own: Numbers | None, real: Numbers | None, low: Numbers | None, high: Numbers | None
) -> dict[str, Any]:
    """Return the picture of a column: a histogram of numbers, or bars of values, the largest first, ordered ones in order.

    Shares of the codes (size,): of synthetic records, of the table, and the ends of the interval that the noise allows.
    """
    main = own if own is not None else (low + high) / 2 if low is not None and high is not None else real
    if main is None:
        main = np.zeros(attribute.size)
    series = {"own": own, "real": real, "low": low, "high": high}
    if attribute.kind is AttributeKind.NUMERIC:
        return _histogram(attribute, series)
    order = np.argsort(-np.nan_to_num(main), kind="stable")
    most = MOST_IN_ORDER if attribute.ordered else MOST_BARS + MOST_REST
    shown, rest = np.split(order, [MOST_BARS if attribute.size > most else attribute.size])
    if attribute.ordered:
        shown = np.sort(shown)
    top = _top(*(None if one is None else one[shown] for one in series.values()))
    error = None if low is None or high is None else float(np.nanmax(high - low)) / 2
    rows = [
        {
            "label": short(attribute.label(code), 20),
            "title": short(attribute.label(code), 60),
            **{name: _share(values, code, top) for name, values in series.items()},
            "text": percent(None if own is None else float(own[code]), error),
            "real_text": None if real is None else percent(float(real[code]), error),
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
    error = float(high[code] - low[code]) / 2
    return f"{percent(float(low[code]), error)} to {percent(float(high[code]), error)}"


def _histogram(attribute: Attribute, series: dict[str, Numbers | None]) -> dict[str, Any]:
    bins = len(attribute.representatives)
    each = -(-bins // MOST_BINS)
    starts = np.arange(0, bins, each)
    joined: dict[str, Numbers | None] = {}
    for name, values in series.items():
        kept = values if each == 1 or name in {"own", "real"} else None
        joined[name] = None if kept is None else np.append(np.add.reduceat(kept[:bins], starts), kept[bins:])
    top, missing = _top(*joined.values()), attribute.missing is not None
    end = WIDTH - (MISSING if missing else 0)
    gap = end / starts.size
    marks = []
    for place in range(starts.size + missing):
        last = place == starts.size
        label = "missing" if last else _bin_label(attribute, int(starts[place]), min(bins, int(starts[place]) + each))
        own, real = joined["own"], joined["real"]
        said = [label]
        said += [] if own is None else [f"synthetic {percent(float(own[place]))}"]
        said += [] if real is None else [f"real {percent(float(real[place]))}"]
        span = _range_text(joined["low"], joined["high"], place)
        said += [] if span is None else [f"95 % interval {span}"]
        wide = min(gap, MISSING / 2) if last else gap
        tall = {name: _height(values, place, top) for name, values in joined.items()}
        at = WIDTH - wide if last else gap * place
        marks.append({"x": round(at, 2), "w": round(wide, 2), "title": "\n".join(said), **tall})
    ticks = [short(attribute.number_text(attribute.edges[place]), 22) for place in (0, bins // 2, -1)]
    if LETTER * sum(len(tick) + 2 for tick in ticks) > end:  # the middle one would touch the others
        ticks[1] = ""
    return {
        "kind": "histogram",
        "marks": marks,
        "ticks": ticks,
        "middle": round(gap * (bins // 2) / each, 1),
        "end": round(end, 1),
        "missing": missing,
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
    """Return a map of a symmetric matrix (d, d), its lower half, NaN left blank; `top` None stands for the largest value."""
    top = max(1e-9, float(np.nanmax(np.abs(values), initial=0.0))) if top is None else top
    cells = [
        {
            "x": column,
            "y": row,
            "opacity": round(
                float(np.sqrt(min(1.0, abs(values[row, column]) / top))), 2
            ),  # so that small ones are seen
            "sign": "high" if values[row, column] > 0 else "low",
            "title": f"{names[row]} x {names[column]}: {values[row, column]:{'+' if signed else ''}.3f}",
        }
        for row, column in np.argwhere(np.tri(len(names), k=-1) * ~np.isnan(values)).tolist()
    ]
    return {"names": [short(name, 16) for name in names], "cells": cells, "top": f"{top:.2g}", "signed": signed}
