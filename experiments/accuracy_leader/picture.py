"""Errors against epsilon, part by part, from the figures on file."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpopt.cli.pictures import COLOURS, logarithmic
from experiments.narrow import legend_below, narrow_picture

PARTS = {"adult13": "Adult, 13", "adult7": "Adult, 7", "loans": "loans, 48", "fire": "fire, 30", "kdd": "KDD99, 41"}
"""Titles of the parts, with the number of columns."""
_STYLES = {
    "projection": {"color": COLOURS[0], "marker": "o"},
    "adaptive": {"color": COLOURS[5], "marker": "s"},
    "dualquery": {"color": COLOURS[2], "marker": "D"},
    "fem": {"color": COLOURS[3], "marker": "^"},
    "noise": {"color": COLOURS[4], "marker": "v"},
}


def draw(results: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw largest and mean errors of algorithms that dpopt still has, and of the best peer: means over the runs."""
    with narrow_picture(path, 2.0 * len(PARTS) + 1.2, len(PARTS), 2, sharex="row") as panels:
        for sides, (part, title) in zip(panels, PARTS.items(), strict=True):
            neighbours = "replace" if part == "kdd" else "add-remove"
            own = [one for one in results if one["part"] == part and one.get("neighbours") == neighbours]
            for axes, (kind, words) in zip(sides, {"max_error": "largest", "mean_error": "mean"}.items(), strict=True):
                found = _means(own, kind)
                for algorithm, style in _STYLES.items():
                    points = {epsilon: mean for (name, epsilon), mean in found.items() if name == algorithm}
                    axes.plot(points.keys(), points.values(), **style, markersize=5, linewidth=1.2, label=algorithm)
                peers: dict[float, float] = {}
                for (name, epsilon), mean in found.items():
                    if " " in name:
                        peers[epsilon] = min(mean, peers.get(epsilon, mean))
                if peers:
                    axes.plot(peers.keys(), peers.values(), "x", color="black", markersize=8, label="best peer")
                axes.set_title(f"{title}: {words}")
                logarithmic(axes.xaxis, sorted({epsilon for _, epsilon in found}))
                logarithmic(axes.yaxis)
        for axes in panels[:, 0]:
            axes.set_ylabel("error (log)")
        for axes in panels[-1]:
            axes.set_xlabel("epsilon (log)")
        legend_below(panels, 2, of=panels[1, 0])


def _means(results: Sequence[dict[str, Any]], kind: str) -> dict[tuple[str, float], float]:
    """Return the mean over runs by algorithm and epsilon, in increasing order; peers have two words."""
    runs: dict[tuple[str, float], list[float]] = {}
    for one in results:
        if one["failed"] is None and (one["algorithm"] in _STYLES or " " in one["algorithm"]):
            runs.setdefault((one["algorithm"], one["epsilon"]), []).append(one[kind])
    return {key: statistics.fmean(found) for key, found in sorted(runs.items())}
