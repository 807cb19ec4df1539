"""Mean and worst errors by what is released and how it is answered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

COLOURS = {"average": "tab:grey", "debiased": "tab:orange", "regression": "tab:blue", "": "black"}


def draw(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw a panel for each budget: bars are mean errors, ticks the worst ones, crosses what was predicted."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    budgets = list(dict.fromkeys(one["budget"] for one in results))
    names = list(dict.fromkeys(one["what"] for one in results))
    figure, panels = plt.subplots(
        1,
        len(budgets),
        figsize=(6 * len(budgets), 0.45 * len(names) + 1.5),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    for axes, budget in zip(panels[0], budgets, strict=True):
        for estimator, colour in COLOURS.items():
            some = [one for one in results if one["budget"] == budget and one["estimator"] == estimator]
            shift = {"average": 0.25, "debiased": 0.0, "regression": -0.25, "": 0.0}[estimator]
            places = [len(names) - names.index(one["what"]) + shift for one in some]
            label = estimator or "baseline"
            axes.barh(places, [one["mean"] for one in some], height=0.22, color=colour, label=label)
            axes.plot([one["worst"] for one in some], places, "|", color=colour, markersize=9)
            axes.plot([one["predicted"] for one in some], places, "x", color=colour, markersize=4)
        axes.set_xscale("log")
        axes.set_title(f"{budget}: mean (bar), worst (tick), predicted (cross)")
        axes.set_xlabel("error, share of records")
    panels[0, 0].set_yticks(range(len(names), 0, -1), names)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=len(labels))
    figure.savefig(path, dpi=100, metadata={"Software": None})
    plt.close(figure)
