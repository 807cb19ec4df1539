"""Figures 3, 5, 6 and 7 with the data at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpopt.cli.pictures import COLOURS, logarithmic
from experiments.hay_2010 import unattributed as sequences
from experiments.hay_2010 import universal as histograms
from experiments.narrow import dots, legend_below, narrow_picture

Result = dict[str, Any]

_BLUE, _RED, _GREEN, _PINK, _ORANGE, _SKY, _GREY = COLOURS
_SEQUENCE_STYLES = {
    sequences.NOISY: {"color": "0.6", "marker": "x"},
    sequences.SORTED: {"color": "0.3", "marker": "+"},
    sequences.REAL: {"color": "black", "marker": "o", "markerfacecolor": "white"},
    sequences.ROUNDED: {"color": _BLUE, "marker": "s"},
    sequences.ABSOLUTE: {"color": _GREEN, "marker": "^"},
    sequences.DEFAULT: {"color": _RED, "marker": "D"},
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
    with narrow_picture(path, 4.4) as panels:
        axes = panels[0, 0]
        for name, variance, shade in (("S~", example["noise_variance"], "0.9"), ("S-bar", example["error"], "0.7")):
            usual = np.sqrt(variance)
            label = f"{name}: usual error"
            axes.fill_between(places, counts - usual, counts + usual, color=shade, label=label, step="mid")
        axes.step(places, counts, "-", where="mid", color=_RED, linewidth=1, label="S")
        axes.plot(places, example["noisy"], "x", color="black", markersize=5, label="S~, one draw")
        axes.plot(places, example["inferred"], "o-", color=_BLUE, markersize=3, label="S-bar of this draw")
        axes.set(xlabel="position", ylabel="count (from 6, not from 0)")
        legend_below(panels, 2)


def _sorted_errors(results: Sequence[Result], path: Path) -> None:
    """Draw a dot for each estimate, by set, sensitivity and epsilon."""
    sets = list(dict.fromkeys(result["set"] for result in results))
    columns = min(2, len(sets))
    rows = -(-len(sets) // columns)
    with narrow_picture(path, 2.1 * rows + 1.2, rows, columns) as panels:
        for axes, name in zip(panels.flat, sets, strict=False):
            chosen = [result for result in results if result["set"] == name]
            for place, (estimate, style) in enumerate(_SEQUENCE_STYLES.items()):
                means = [result["errors"][estimate]["mean"] for result in chosen]
                dots(axes, np.arange(len(means)) + 0.1 * place - 0.25, means, style, markersize=4.5, label=estimate)
            axes.set_xticks(range(len(chosen)), [f"{result['epsilon']:g}".removeprefix("0") for result in chosen])
            last = len(chosen) - 1
            for place in range(1, len(chosen)):
                if chosen[place]["sensitivity"] != chosen[place - 1]["sensitivity"]:
                    axes.axvline(place - 0.5, color="0.5", linewidth=0.8)
                    axes.set_xlabel("sensitivity 1 | 2")
            axes.set(title=name.split(" of ")[0] if " of " in name else name, xlim=(-0.5, last + 0.5))
            axes.grid(visible=False, axis="x")
            logarithmic(axes.yaxis)
        for axes in panels[:, 0]:
            axes.set_ylabel("total sq. error (log)")
        for axes in panels[-1]:
            axes.set_xlabel("epsilon (sensitivity 1)")
        legend_below(panels, 2)


def _positions(results: Sequence[Result], path: Path) -> None:
    """Draw counts with the usual errors around them, and the error of S-bar over that of S~, by rank."""
    with narrow_picture(path, 5.2, 2, len(results), sharex="col") as panels:
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
            above.set_title(result["set"].split(", made")[0].replace(" of ", "\nof "))
            below.plot(ranks, errors, "-", color=_BLUE, linewidth=0.8)
            below.axhline(1.0, color="0.5", linestyle=":")
            below.set_xlabel("rank from the\nlargest count")
            logarithmic(above.yaxis)
            logarithmic(below.xaxis)
            logarithmic(below.yaxis)
        panels[0, 0].set_ylabel("count")
        panels[1, 0].set_ylabel("squared error of\nS-bar over that of S~")
        legend_below(panels, 2)


def _range_errors(results: Sequence[Result], path: Path) -> None:
    """Draw errors against sizes of ranges: a row for each set, a column for the largest and the smallest budget."""
    sets = list(dict.fromkeys(result["set"] for result in results))
    budgets = sorted({result["epsilon"] for result in results}, reverse=True)
    budgets = list(dict.fromkeys((budgets[0], budgets[-1])))
    with narrow_picture(path, 2.4 * len(sets) + 1.2, len(sets), len(budgets), sharex="row") as panels:
        for result in results:
            if result["epsilon"] not in budgets:
                continue
            axes = panels[sets.index(result["set"]), budgets.index(result["epsilon"])]
            for name, (colour, line) in _RANGE_STYLES.items():
                axes.plot(result["sizes"], result["errors"][name], line, color=colour, linewidth=1.5, label=name)
            logarithmic(axes.xaxis, [256.0**power for power in range(3)])
            logarithmic(axes.yaxis)
            axes.set_title(f"{result['set'].split(' of ')[0]},\nepsilon {result['epsilon']:g}")
        for axes in panels[-1]:
            axes.set_xlabel("size of range")
        for axes in panels[:, 0]:
            axes.set_ylabel("mean sq. error (log)")
        legend_below(panels, 2)
