"""Figures 3, 5, 6 and 7 with the data at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpopt.cli.pictures import COLOURS, logarithmic, picture
from experiments.hay_2010 import unattributed as sequences
from experiments.hay_2010 import universal as histograms

Result = dict[str, Any]

_BLUE, _RED, _GREEN, _PINK, _ORANGE, _SKY, _GREY = COLOURS
_SEQUENCE_COLOURS = {
    sequences.NOISY: "lightgrey",
    sequences.SORTED: "grey",
    sequences.REAL: "black",
    sequences.ROUNDED: _BLUE,
    sequences.ABSOLUTE: _GREEN,
    sequences.DEFAULT: _ORANGE,
}
_RANGE_STYLES = {
    histograms.SINGLE: (_GREY, "-"),
    histograms.SINGLE_POSITIVE: (_GREY, ":"),
    histograms.TREE: (_RED, "-"),
    histograms.LEAST_SQUARES: (_BLUE, ":"),
    histograms.ZEROED: (_BLUE, "-"),
    histograms.DEFAULT: (_ORANGE, "--"),
    histograms.DEFAULT_SIZES: (_GREEN, "-."),
}


def draw(report: dict[str, Any], folder: Path) -> None:
    """Draw the pictures of the parts that were measured into a folder."""
    parts: dict[str, tuple[str, Callable[[Any, Path], None]]] = {
        "example": ("example.svg", _example),
        "unattributed": ("sorted_errors.svg", _sorted_errors),
        "positions": ("positions.svg", _positions),
        "universal": ("range_errors.svg", _range_errors),
    }
    for part, (name, painted) in parts.items():
        if part in report:
            painted(report[part], folder / name)


def _example(example: Result, path: Path) -> None:
    """Draw one draw of a short sequence, and the usual error of S~ and of S-bar around the truth."""
    counts = np.array(example["counts"])
    places = np.arange(1, counts.size + 1)
    with picture(path, (7, 3.6)) as ((axes,),):
        for name, variance, shade in (("S~", example["noise_variance"], "0.9"), ("S-bar", example["error"], "0.7")):
            usual = np.sqrt(variance)
            axes.fill_between(
                places, counts - usual, counts + usual, color=shade, label=f"{name}: usual error", step="mid"
            )
        axes.step(places, counts, "-", where="mid", color=_RED, linewidth=1, label="S")
        axes.plot(places, example["noisy"], "x", color="black", markersize=5, label="S~, one draw")
        axes.plot(places, example["inferred"], "o-", color=_BLUE, markersize=3, label="S-bar of this draw")
        axes.set(xlabel="position", ylabel="count")
        axes.legend(loc="upper left")


def _sorted_errors(results: Sequence[Result], path: Path) -> None:
    """Draw bars for each set, noise and estimate."""
    sets = list(dict.fromkeys(result["set"] for result in results))
    columns = min(3, len(sets))
    rows = -(-len(sets) // columns)
    width = 1.0 / (len(sequences.ESTIMATES) + 1)
    with picture(path, (3.8 * columns, 3 * rows + 0.6), rows, columns) as panels:
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
            axes.grid(visible=False, axis="x")
            axes.set_title(name)
            logarithmic(axes.yaxis)
        for axes in panels[:, 0]:
            axes.set_ylabel("total squared error")
        for axes in panels[-1]:
            axes.set_xlabel("epsilon / sensitivity")
        _legend_below(panels, 6)


def _positions(results: Sequence[Result], path: Path) -> None:
    """Draw counts with the usual errors around them, and the error of S-bar over that of S~, by rank."""
    with picture(path, (4.6 * len(results), 5.6), 2, len(results), sharex="col") as panels:
        for (above, below), result in zip(panels.T, results, strict=True):
            ranks, counts, errors = np.array(result["shown"]).T
            noise = np.sqrt(result["noise_variance"])
            above.plot(ranks, counts + noise, ":", color="0.5", linewidth=1, label="usual error of S~")
            above.plot(ranks, counts - noise, ":", color="0.5", linewidth=1)
            usual = noise * np.sqrt(errors)
            above.fill_between(
                ranks, counts - usual, counts + usual, color=_BLUE, alpha=0.5, label="of S-bar", linewidth=0
            )
            above.plot(ranks, counts, "-", color="black", linewidth=1, label="truth")
            above.set_title(result["set"])
            above.legend()
            below.plot(ranks, errors, "-", color=_BLUE, linewidth=0.8)
            below.axhline(1.0, color="0.5", linestyle=":")
            below.set_xlabel("rank from the largest count")
            logarithmic(above.yaxis)
            logarithmic(below.xaxis)
            logarithmic(below.yaxis)
        panels[0, 0].set_ylabel("count")
        panels[1, 0].set_ylabel("squared error of S-bar over that of S~")


def _range_errors(results: Sequence[Result], path: Path) -> None:
    """Draw errors against sizes of ranges, one panel for each set and budget."""
    sets = list(dict.fromkeys(result["set"] for result in results))
    budgets = sorted({result["epsilon"] for result in results}, reverse=True)
    size = (3.2 * len(budgets), 2.5 * len(sets) + 0.6)
    with picture(path, size, len(sets), len(budgets), sharex="row") as panels:
        for result in results:
            axes = panels[sets.index(result["set"]), budgets.index(result["epsilon"])]
            for name, (colour, line) in _RANGE_STYLES.items():
                axes.plot(result["sizes"], result["errors"][name], line, color=colour, linewidth=1.2, label=name)
            logarithmic(axes.xaxis, [16.0**power for power in range(5)])
            logarithmic(axes.yaxis)
            axes.set_title(f"{result['set'].split(', made')[0]}, epsilon {result['epsilon']:g}", fontsize="small")
            axes.tick_params(labelsize="small")
        for axes in panels[-1]:
            axes.set_xlabel("size of range")
        for axes in panels[:, 0]:
            axes.set_ylabel("mean squared error", fontsize="small")
        _legend_below(panels, 4)


def _legend_below(panels: Any, columns: int) -> None:
    handles, labels = panels[0, 0].get_legend_handles_labels()
    panels[0, 0].figure.legend(handles, labels, loc="outside lower center", ncols=columns)
