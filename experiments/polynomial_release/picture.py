"""The picture: counted conjunctions and queries by columns, and time and size by counted conjunctions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dpopt.cli.pictures import logarithmic, series
from experiments.narrow import legend_below, narrow_picture


def draw(cost: list[dict[str, Any]], path: Path) -> None:
    """Draw the cost of releases."""
    with narrow_picture(path, 9.6, 3, 1) as panels:
        left, middle, right = panels[:, 0]
        for number, width in enumerate(sorted({one["k"] for one in cost})):
            rows = sorted((one for one in cost if one["k"] == width), key=lambda one: one["attributes"])
            columns, counted, queries, seconds, size = (
                [one[name] for one in rows]
                for name in ("attributes", "counted", "queries_of_k", "processor_seconds", "bytes")
            )
            label = f"k = {width}"
            left.plot(columns, counted, linestyle="-", label=f"{label}: counted", **series(number))
            left.plot(columns, queries, linestyle=":", label=f"{label}: queries of k", **series(number))
            middle.plot(counted, seconds, linestyle="none", label=label, **series(number))
            right.plot(counted, size, linestyle="none", label=label, **series(number))
        left.set(xlabel="columns", title="what is counted, and what is answered")
        middle.set(xlabel="counted conjunctions", title="processor seconds of a release")
        right.set(xlabel="counted conjunctions", title="bytes of its file")
        most = max(one["counted"] for one in cost)
        for panel, figure in ((middle, "processor_seconds"), (right, "bytes")):
            largest = max(one[figure] for one in cost)
            ends = (most / 1000, most)
            line = [largest * end / most for end in ends]
            panel.plot(ends, line, color="grey", linestyle="-", linewidth=0.8, label="proportional")
            logarithmic(panel.xaxis)
        for panel in (left, middle, right):
            logarithmic(panel.yaxis)
        legend_below(panels, 2)
