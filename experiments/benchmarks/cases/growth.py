"""How time grows with the number of queries and with the number of rounds.

The lines are fitted to processor seconds, which other processes on the machine hardly change; wall seconds stand beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.narrow import legend_below, narrow_picture
from experiments.runs import run_releases, spread
from experiments.tables import prepare

PLOT = Path(__file__).resolve().parent.parent / "growth.svg"
QUERIES, ROUNDS = [40_000, 100_000, 250_000, 500_000, 1_000_000, 2_000_000], [25, 50, 100, 200, 400]


@case("Do seconds grow in proportion to queries and rounds on KDD99 (s = 1,750, eta = 1.2)?")
def growth(setting: Setting) -> Result:
    """Measure whole releases without prediction; fit a straight line to each series; draw both."""
    table = prepare("kdd99-coded", setting.folder, quick=setting.quick)

    def seconds(queries: int, rounds: int) -> dict[str, Any]:
        options = ["--rounds", str(rounds), "--draws", "1750", "--step", "1.2", "--no-predict"]
        runs = run_releases(
            table,
            f"conjunctions:3,count={queries},seed=7",
            [*options, "--epsilon", setting.pick("10", "1e6"), "--delta", "1e-3"],
            setting.folder,
            runs=setting.runs,
            warm_up=False,
            with_errors=False,
        )
        return {
            "queries": queries,
            "rounds": rounds,
            "seconds": spread(run.process.seconds for run in runs),
            "processor_seconds": spread(run.process.processor_seconds for run in runs),
        }

    if setting.warm_up:
        seconds(QUERIES[0], ROUNDS[0])
    by_queries = [seconds(queries, setting.pick(100, 2)) for queries in setting.pick(QUERIES, [100, 200])]
    by_rounds = [seconds(setting.pick(500_000, 100), rounds) for rounds in setting.pick(ROUNDS, [1, 2])]
    lines = {"queries": _line(by_queries, "queries"), "rounds": _line(by_rounds, "rounds")}
    bars = [
        Bar(f"processor seconds against {name}, share of variance on a line", line["explained"], 0.98, at_least=True)
        for name, line in lines.items()
    ]
    rows = [*by_queries, *by_rounds, *({"line through": name, **line} for name, line in lines.items())]
    draw(rows, setting.pick(PLOT, setting.folder / PLOT.name))
    return Result(rows, bars)


def _line(points: Sequence[dict[str, Any]], key: str) -> dict[str, float]:
    """Return the least-squares line through (key, median processor seconds), and the share of variance that it explains."""
    x = np.array([point[key] for point in points], dtype=np.float64)
    y = np.array([point["processor_seconds"]["median"] for point in points])
    slope, start = np.polyfit(x, y, 1).tolist()
    left = np.sum((y - start - slope * x) ** 2) / np.sum((y - y.mean()) ** 2)
    return {"start, seconds": start, "seconds per unit": slope, "explained": float(1 - left)}


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw seconds against queries and rounds from the rows of a result, with the lines through them."""
    lines = {row["line through"]: row for row in rows if "line through" in row}
    points = [row for row in rows if "queries" in row]
    fixed = {"rounds": points[0]["rounds"], "queries": points[-1]["queries"]}
    with narrow_picture(path, 6.8, 2, 1) as panels:
        for axes, key, other in zip(panels[:, 0], ("queries", "rounds"), ("rounds", "queries"), strict=True):
            series_of = [one for one in points if one[other] == fixed[other]]
            x = np.array([one[key] for one in series_of], dtype=np.float64)
            axes.plot(x, [one["seconds"]["median"] for one in series_of], "x", color="0.5", label="wall")
            axes.plot(x, [one["processor_seconds"]["median"] for one in series_of], "o", color="C0", label="processor")
            fitted = lines[key]["start, seconds"] + lines[key]["seconds per unit"] * x
            axes.plot(x, fitted, "-", linewidth=1, color="C0", label="line through processor seconds")
            axes.set(xlabel=key, title=f"{series_of[0][other]:,} {other}", xlim=(0, None), ylim=(0, None))
            axes.set_ylabel("seconds, whole process")
            axes.locator_params(axis="x", nbins=5)
            axes.xaxis.set_major_formatter("{x:,.0f}")
        legend_below(panels)
