"""Errors against epsilon, one panel per part and figure, both axes logarithmic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpopt.cli.pictures import logarithmic, picture, series
from experiments.accuracy_leader.measuring import Result
from experiments.accuracy_leader.parts import PARTS, Part
from experiments.accuracy_leader.summary import ERRORS, groups, limit_of, mean_of

_TITLES = {
    "adult13": "Adult, 13 columns",
    "adult7": "Adult, 7 columns",
    "loans": "loans, 48 columns",
    "fire": "fire, 15 columns",
    "kdd": "KDD99, 41 columns",
}
_PER_ROW = 7


def draw(results: Sequence[Result], path: Path) -> None:
    """Draw means over the runs: lines for the part's neighbours, dotted for the others, dashed for peers, bars in black."""
    parts = [part for part in PARTS.values() if groups(part, results)]
    names = sorted(
        {result["algorithm"] for result in results if not result["failed"] and result["algorithm"] != "plan"},
        key=lambda name: (" " in name, name),
    )
    size = (3.1 * len(parts), 5.4 + 0.25 * -(-len(names) // _PER_ROW))
    with picture(path, size, len(ERRORS), len(parts), sharex="col") as panels:
        for place, part in enumerate(parts):
            for axes, error in zip(panels[:, place], ERRORS, strict=True):
                _draw_panel(axes, part, error, results, names)
            panels[0, place].set_title(_TITLES.get(part.name, part.name))
            panels[-1, place].set_xlabel("epsilon")
        for row, error in enumerate(ERRORS):
            panels[row, 0].set_ylabel(error.replace("_", " ").replace("max", "largest"))
        handles: dict[str, Any] = {}
        for axes in panels.flat:
            found, labels = axes.get_legend_handles_labels()
            handles |= dict(zip(labels, found, strict=True))
        order = sorted(handles, key=lambda label: (label == "bar to reach", " " in label.split(",")[0], label))
        panels[0, 0].figure.legend(
            [handles[label] for label in order], order, loc="outside lower center", ncols=_PER_ROW
        )


def _draw_panel(axes: Any, part: Part, error: str, results: Sequence[Result], names: list[str]) -> None:
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
            linestyle="--" if peer else "-" if own else ":",
            label=algorithm if own else f"{algorithm}, replace-one",
            **series(names.index(algorithm)),
        )
    bars = sorted(
        (bar.epsilon, limit)
        for bar in part.bars
        if bar.figure == error and (limit := limit_of(bar, part, results)) is not None
    )
    if bars:
        axes.plot(
            *zip(*bars, strict=True), color="black", linestyle="none", marker="_", markersize=14, label="bar to reach"
        )
    logarithmic(axes.xaxis, sorted({key[0] for key in found}))
    logarithmic(axes.yaxis)
