"""The picture: the worst error of any range by the number of records, proven and measured."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dpopt.cli.pictures import logarithmic, series
from experiments.intervals.columns import BUDGETS, METHODS, releases, smooth, worst_error
from experiments.narrow import legend_below, narrow_picture


def measure(sizes: Iterable[int], bins: int, runs: int) -> list[dict[str, Any]]:
    """Return proven and worst measured errors for each number of records, at epsilon 1."""
    found = []
    for size in sizes:
        counts = smooth(bins, size)
        row: dict[str, Any] = {"records": int(counts.sum()), "bins": bins}
        for method, proven, release in releases(counts, BUDGETS["epsilon 1"], joined=False):
            worst = max(worst_error(release(), counts) for _ in range(runs))
            row[method] = {"proven": proven, "worst": worst / float(counts.sum())}
        found.append(row)
    return found


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw them."""
    with narrow_picture(path, 5.0) as panels:
        axes = panels[0, 0]
        for number, method in enumerate(METHODS):
            rows_of = [row for row in rows if method in row]
            if not rows_of:
                continue
            records = [row["records"] for row in rows_of]
            mark = series(number)
            proven = [row[method]["proven"] for row in rows_of]
            axes.plot(records, proven, color=mark["color"], linestyle=":")
            axes.plot(records, [row[method]["worst"] for row in rows_of], linestyle="-", label=method, **mark)
        axes.plot([], [], color="black", linestyle=":", label="proven, with probability 0.95")
        axes.set(
            xlabel="records",
            ylabel="worst error of any range, share of records",
            title=f"{rows[0]['bins']:,} bins, epsilon 1",
        )
        logarithmic(axes.xaxis)
        logarithmic(axes.yaxis)
        axes.set_ylim(None, 1.0)
        legend_below(panels)
