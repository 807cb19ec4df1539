"""Mean and worst errors by what is released and how it is answered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpopt.cli.pictures import COLOURS, picture

_ESTIMATORS = {"average": 0.25, "debiased": 0.0, "regression": -0.25, "": 0.0}
"""By how much the bar of each is moved from its line; "" is a baseline."""


def draw(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw a panel for each budget: bars are mean errors, ticks the worst ones, crosses what was predicted."""
    budgets = list(dict.fromkeys(one["budget"] for one in results))
    names = list(dict.fromkeys(one["what"] for one in results))
    with picture(path, (5 * len(budgets), 0.42 * len(names) + 1.6), 1, len(budgets), sharey=True) as panels:
        for axes, budget in zip(panels[0], budgets, strict=True):
            for colour, (estimator, shift) in zip(COLOURS, _ESTIMATORS.items(), strict=False):
                some = [one for one in results if one["budget"] == budget and one["estimator"] == estimator]
                places = [len(names) - names.index(one["what"]) + shift for one in some]
                mean = [one["mean"] for one in some]
                axes.barh(places, mean, height=0.22, color=colour, label=estimator or "baseline")
                axes.plot([one["worst"] for one in some], places, "|", color=colour, markersize=9)
                axes.plot([one["predicted"] for one in some], places, "x", color="black", markersize=4)
            axes.set(
                xscale="log",
                title=f"{budget}: mean (bar), worst (tick), predicted (cross)",
                xlabel="error, share of records",
            )
            axes.grid(visible=False, axis="y")
        panels[0, 0].set_yticks(range(len(names), 0, -1), names)
        handles, labels = panels[0, 0].get_legend_handles_labels()
        panels[0, 0].figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
