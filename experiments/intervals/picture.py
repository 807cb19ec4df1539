"""The picture: the worst error of any range by the number of records, proven and measured."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from experiments.intervals.columns import BUDGETS, METHODS, releases, smooth, worst_error

_COLOURS = ("tab:grey", "tab:red", "tab:orange", "tab:blue")


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
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for colour, method in zip(_COLOURS, METHODS, strict=False):
        rows_of = [row for row in rows if method in row]
        records = [row["records"] for row in rows_of]
        axes.plot(records, [row[method]["proven"] for row in rows_of], color=colour, linestyle=":")
        axes.plot(records, [row[method]["worst"] for row in rows_of], color=colour, marker="o", label=method)
    axes.plot([], [], color="black", linestyle=":", label="proven, with probability 0.95")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="records",
        ylabel="worst error of any range, as a share of the records",
        title=f"{rows[0]['bins']:,} bins, epsilon 1",
        ylim=(None, 1.0),
    )
    axes.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)
