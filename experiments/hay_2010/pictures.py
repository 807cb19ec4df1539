"""Figures 3, 5, 6 and 7 with the data at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.hay_2010 import unattributed as sequences
from experiments.hay_2010 import universal as histograms

Result = dict[str, Any]

_SEQUENCE_COLOURS = {
    sequences.NOISY: "lightgrey",
    sequences.SORTED: "grey",
    sequences.REAL: "black",
    sequences.ROUNDED: "tab:blue",
    sequences.ABSOLUTE: "tab:green",
    sequences.DEFAULT: "tab:orange",
}
_RANGE_STYLES = {
    histograms.SINGLE: ("tab:grey", "-"),
    histograms.SINGLE_POSITIVE: ("tab:grey", ":"),
    histograms.TREE: ("tab:red", "-"),
    histograms.LEAST_SQUARES: ("tab:blue", ":"),
    histograms.ZEROED: ("tab:blue", "-"),
    histograms.DEFAULT: ("tab:orange", "-"),
    histograms.DEFAULT_SIZES: ("tab:green", "-"),
}


def draw(report: dict[str, Any], folder: Path) -> None:
    """Draw the pictures of the parts that were measured into a folder."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    parts: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
        "example": ("example.png", _example),
        "unattributed": ("sorted_errors.png", _sorted_errors),
        "positions": ("positions.png", _positions),
        "universal": ("range_errors.png", _range_errors),
    }
    for part, (name, painted) in parts.items():
        if part in report:
            figure = painted(plt, report[part])
            figure.savefig(folder / name, dpi=90, metadata={"Software": None})
            plt.close(figure)


def _example(plt: Any, example: Result) -> Any:
    """Draw one draw of a short sequence, and the usual error of S~ and of S-bar around the truth."""
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    counts = np.array(example["counts"])
    places = np.arange(1, counts.size + 1)
    usual = np.sqrt(example["error"])
    spread = np.sqrt(example["noise_variance"])
    axes.fill_between(
        places, counts - spread, counts + spread, color="0.9", label="S~: usual error", step="mid"
    )
    axes.fill_between(
        places, counts - usual, counts + usual, color="0.7", label="S-bar: usual error", step="mid"
    )
    axes.step(places, counts, where="mid", color="tab:red", linewidth=1, label="S")
    axes.plot(places, example["noisy"], "x", color="black", markersize=5, label="S~, one draw")
    axes.plot(places, example["inferred"], "o-", color="tab:blue", markersize=3, label="S-bar of this draw")
    axes.set_xlabel("position")
    axes.set_ylabel("count")
    axes.legend(frameon=False, fontsize="small", loc="upper left")
    return figure


def _sorted_errors(plt: Any, results: Sequence[Result]) -> Any:
    """Draw bars for each set, noise and estimate."""
    sets = list(dict.fromkeys(result["set"] for result in results))
    columns = min(3, len(sets))
    rows = -(-len(sets) // columns)
    figure, panels = plt.subplots(
        rows, columns, figsize=(4.2 * columns + 0.6, 3.2 * rows + 0.6), squeeze=False, layout="constrained"
    )
    width = 1.0 / (len(sequences.ESTIMATES) + 1)
    for axes, name in zip(panels.flat, sets, strict=False):
        chosen = [result for result in results if result["set"] == name]
        for place, estimate in enumerate(sequences.ESTIMATES):
            axes.bar(
                [number + place * width for number in range(len(chosen))],
                [result["errors"][estimate]["mean"] for result in chosen],
                width,
                color=_SEQUENCE_COLOURS[estimate],
                label=estimate,
            )
        labels = [f"{result['epsilon']:g}\n/ {result['sensitivity']}" for result in chosen]
        axes.set_xticks([number + 2.5 * width for number in range(len(chosen))], labels, fontsize="small")
        axes.set_yscale("log")
        axes.set_title(name, fontsize="medium")
    for axes in panels[:, 0]:
        axes.set_ylabel("total squared error")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize="small")
    return figure


def _positions(plt: Any, results: Sequence[Result]) -> Any:
    """Draw counts with the usual errors around them, and the error of S-bar over that of S~, by rank."""
    figure, panels = plt.subplots(
        2, len(results), figsize=(5 * len(results), 6), squeeze=False, layout="constrained", sharex="col"
    )
    for (above, below), result in zip(panels.T, results, strict=True):
        ranks, counts, errors = np.array(result["shown"]).T
        noise = np.sqrt(result["noise_variance"])
        above.plot(ranks, counts + noise, ":", color="0.5", linewidth=1, label="usual error of S~")
        above.plot(ranks, counts - noise, ":", color="0.5", linewidth=1)
        usual = noise * np.sqrt(errors)
        above.fill_between(
            ranks, counts - usual, counts + usual, color="tab:blue", alpha=0.5, label="of S-bar"
        )
        above.plot(ranks, counts, color="black", linewidth=1, label="truth")
        above.set_yscale("log")
        above.set_title(result["set"], fontsize="medium")
        above.legend(frameon=False, fontsize="small")
        below.plot(ranks, errors, color="tab:blue", linewidth=0.8)
        below.axhline(1.0, color="0.5", linestyle=":")
        below.set_xscale("log")
        below.set_yscale("log")
        below.set_xlabel("rank from the largest count")
    panels[0, 0].set_ylabel("count")
    panels[1, 0].set_ylabel("squared error of S-bar over that of S~")
    return figure


def _range_errors(plt: Any, results: Sequence[Result]) -> Any:
    """Draw errors against sizes of ranges, one panel for each set and budget."""
    sets = list(dict.fromkeys(result["set"] for result in results))
    budgets = sorted({result["epsilon"] for result in results}, reverse=True)
    figure, panels = plt.subplots(
        len(sets),
        len(budgets),
        figsize=(3.4 * len(budgets) + 1, 2.5 * len(sets) + 0.6),
        squeeze=False,
        layout="constrained",
        sharex="row",
    )
    for result in results:
        axes = panels[sets.index(result["set"]), budgets.index(result["epsilon"])]
        for name, (colour, line) in _RANGE_STYLES.items():
            axes.plot(result["sizes"], result["errors"][name], line, color=colour, linewidth=1.2, label=name)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_title(f"{result['set'].split(', made')[0]}, epsilon {result['epsilon']:g}", fontsize="small")
        axes.tick_params(labelsize="small")
    for axes in panels[-1]:
        axes.set_xlabel("size of range")
    for axes in panels[:, 0]:
        axes.set_ylabel("mean squared error", fontsize="small")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize="small")
    return figure
