"""The picture: counted conjunctions and queries by columns, and time and size by counted conjunctions."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def draw(cost: list[dict[str, Any]], path: Path) -> None:
    """Draw the cost of releases as PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    for number, width in enumerate(sorted({one["k"] for one in cost})):
        rows = sorted((one for one in cost if one["k"] == width), key=lambda one: one["attributes"])
        columns = [one["attributes"] for one in rows]
        counted = [one["counted"] for one in rows]
        color, label = f"C{number}", f"k = {width}"
        left.plot(columns, counted, "o-", color=color, label=f"{label}: conjunctions that are counted")
        left.plot(
            columns, [one["queries_of_k"] for one in rows], "x:", color=color, label=f"{label}: queries of k"
        )
        middle.plot(counted, [one["processor_seconds"] for one in rows], "o", color=color, label=label)
        right.plot(counted, [one["bytes"] for one in rows], "o", color=color, label=label)
    left.set(xlabel="columns", yscale="log", title="what is counted, and what is answered")
    middle.set(
        xlabel="conjunctions that are counted",
        xscale="log",
        yscale="log",
        title="processor seconds of a release",
    )
    right.set(xlabel="conjunctions that are counted", xscale="log", yscale="log", title="bytes of its file")
    most = max(one["counted"] for one in cost)
    for panel, figure_name in ((middle, "processor_seconds"), (right, "bytes")):
        largest = max(one[figure_name] for one in cost)
        ends = (most / 1000, most)
        panel.plot(
            ends, [largest * end / most for end in ends], color="grey", linewidth=0.8, label="proportional"
        )
    for panel in (left, middle, right):
        panel.legend(fontsize=7)
    figure.savefig(path, dpi=80, metadata={"Software": None})
    plt.close(figure)
