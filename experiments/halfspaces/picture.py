"""Mean and worst errors by what is released and how it is answered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpopt.cli.pictures import COLOURS, logarithmic
from experiments.narrow import legend_below, narrow_picture

_ESTIMATORS = {
    "average": (0.25, COLOURS[0], "o"),
    "debiased": (0.0, COLOURS[1], "s"),
    "regression": (-0.25, "black", "D"),
    "": (0.0, COLOURS[3], "^"),
}
"""By how much the dots of each are moved from its line, their colour and mark; "" is a baseline."""


def draw(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw a panel for each budget: marks are mean errors, lines go on to the worst ones, crosses were predicted."""
    budgets = list(dict.fromkeys(one["budget"] for one in results))
    names = list(dict.fromkeys(one["what"] for one in results))
    with narrow_picture(path, 0.4 * len(names) * len(budgets) + 1.6, len(budgets), 1, sharex=True) as panels:
        for axes, budget in zip(panels[:, 0], budgets, strict=True):
            for estimator, (shift, colour, mark) in _ESTIMATORS.items():
                some = [one for one in results if one["budget"] == budget and one["estimator"] == estimator]
                places = [len(names) - names.index(one["what"]) + shift for one in some]
                mean, worst, predicted = ([one[key] for one in some] for key in ("mean", "worst", "predicted"))
                axes.plot(mean, places, mark, color=colour, markersize=5, label=estimator or "baseline")
                axes.hlines(
                    places, mean, worst, color=colour, linewidth=1.2, label=None if estimator else "to the worst"
                )
                label = None if estimator else "predicted for all"
                axes.plot(predicted, places, "x", color="0.5", markersize=4, label=label)
            axes.set_title(f"{budget}; rows: T / m / U, what is released", loc="right")
            axes.set_yticks(range(len(names), 0, -1), [_shown(name) for name in names])
            axes.grid(visible=False, axis="y")
            logarithmic(axes.xaxis, [0.001, 0.01, 0.1, 1])
        panels[-1, 0].set_xlabel("error, share of records (log)")
        legend_below(panels, 2)


def _shown(name: str) -> str:
    """Return what is released in few letters: T, m and U, and its kind where it is not the usual one."""
    numbers = [part.partition(" = ")[2] or part for part in name.split(", ")]
    short = name if len(numbers) == 1 else f"{numbers[0]} / {numbers[1]} / {numbers[2]} {numbers[3]}"
    return short.replace("each query with noise of its own", "noise on each query").replace(" of arcs", "")
