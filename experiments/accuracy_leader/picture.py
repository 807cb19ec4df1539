"""Errors against epsilon, one panel per part and figure, both axes logarithmic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.accuracy_leader.measuring import Result
from experiments.accuracy_leader.parts import PARTS, Part
from experiments.accuracy_leader.summary import ERRORS, groups, limit_of, mean_of

COLOURS = {
    "noise": "tab:grey",
    "projection": "tab:blue",
    "adaptive": "tab:orange",
    "dualquery": "tab:green",
    "fem": "tab:red",
    "sepfem": "tab:purple",
    "dqrs": "tab:brown",
}
_PEERS = ("tab:pink", "tab:olive", "tab:cyan", "black", "gold", "teal", "navy")


def draw(results: Sequence[Result], path: Path) -> None:
    """Draw means over the runs: lines for the part's neighbours, dotted for the others, crosses for peers, bars in black."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    parts = [part for part in PARTS.values() if groups(part, results)]
    colours = dict(COLOURS)
    peers = sorted({result["algorithm"] for result in results if "peer" in result})
    colours |= {peer: _PEERS[number % len(_PEERS)] for number, peer in enumerate(peers)}
    figure, panels = plt.subplots(
        len(ERRORS),
        len(parts),
        figsize=(3.2 * len(parts) + 1.6, 6),
        squeeze=False,
        layout="constrained",
        sharex="col",
    )
    for place, part in enumerate(parts):
        for axes, error in zip(panels[:, place], ERRORS, strict=True):
            _draw_panel(axes, part, error, results, colours)
        panels[0, place].set_title(part.name)
        panels[-1, place].set_xlabel("epsilon")
    for row, error in enumerate(ERRORS):
        panels[row, 0].set_ylabel(error.replace("_", " "))
    handles: dict[str, Any] = {}
    for axes in panels.flat:
        found, labels = axes.get_legend_handles_labels()
        handles |= dict(zip(labels, found, strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside right upper", frameon=False)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def _draw_panel(
    axes: Any, part: Part, error: str, results: Sequence[Result], colours: dict[str, str]
) -> None:
    found = groups(part, results)
    for algorithm, neighbours in sorted({key[1:] for key in found}):
        points = sorted(
            (epsilon, mean_of(runs, error))
            for (epsilon, name, under), runs in found.items()
            if (name, under) == (algorithm, neighbours)
        )
        own = neighbours == part.neighbours
        peer = any("peer" in run for runs in found.values() for run in runs if run["algorithm"] == algorithm)
        axes.plot(
            *zip(*points, strict=True),
            color=colours[algorithm],
            linestyle="-" if own else ":",
            marker="x" if peer else "o",
            markersize=4,
            label=algorithm if own else f"{algorithm}, {neighbours}",
        )
    bars = sorted(
        (bar.epsilon, limit)
        for bar in part.bars
        if bar.figure == error and (limit := limit_of(bar, part, results)) is not None
    )
    if bars:
        axes.plot(
            *zip(*bars, strict=True), color="black", linestyle="none", marker="_", markersize=14, label="bar"
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
