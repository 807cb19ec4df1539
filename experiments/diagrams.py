"""`python -m experiments.diagrams`: draw the diagrams of the documents, `docs/pictures`; their figures are made up."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from dpopt.cli.pictures import COLOURS
from experiments.narrow import legend_below, narrow_picture

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
_BLUE, _RED, _GREEN, _PINK, _ORANGE, _SKY, _GREY = COLOURS


def main() -> int:
    """Draw all of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    _two_sides(FOLDER / "two-sides.svg")
    _ledger(FOLDER / "ledger.svg")
    _best_response(FOLDER / "best-response.svg")
    _projection(FOLDER / "projection.svg")
    _certificate(FOLDER / "certificate.svg")
    _tree(FOLDER / "tree.svg")
    return 0


def _blank(axes: Any, width: float, height: float) -> None:
    axes.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    axes.axis("off")


def _box(axes: Any, x: float, y: float, text: str, *, size: tuple[float, float], colour: str) -> None:
    """Draw a box around a centre, with its text."""
    from matplotlib.patches import FancyBboxPatch

    width, height = size
    corner = (x - width / 2, y - height / 2)
    style = "round,pad=0,rounding_size=0.12"
    axes.add_patch(FancyBboxPatch(corner, width, height, boxstyle=style, facecolor="white", edgecolor=colour))
    axes.text(x, y, text, ha="center", va="center")


def _arrow(
    axes: Any, start: tuple[float, float], end: tuple[float, float], text: str = "", *, above: float = 0.16
) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "#222222", "linewidth": 1.1})
    if text:
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + above)
        axes.text(*middle, text, ha="center", va="center", fontsize=8, color="#222222")


def _two_sides(path: Path) -> None:
    with narrow_picture(path, 3.9) as ((axes,),):
        _blank(axes, 9.4, 7.8)
        axes.axvspan(0, 4.2, color=_RED, alpha=0.07, linewidth=0)
        axes.axvspan(5.2, 9.4, color=_BLUE, alpha=0.07, linewidth=0)
        axes.text(0.2, 7.3, "private side:\nsees the table", color=_RED, va="center")
        axes.text(9.2, 7.3, "public side: sees\nwhat was released", color=_BLUE, va="center", ha="right")
        _box(axes, 2.1, 6.1, "table", size=(2.4, 0.9), colour=_RED)
        _box(axes, 2.1, 4.4, "count, then draw\nnoise or queries", size=(3.4, 1.2), colour=_RED)
        _box(axes, 4.7, 2.4, "transcript", size=(2.2, 0.9), colour="#222222")
        _box(axes, 1.5, 2.4, "ledger", size=(1.9, 0.9), colour="#222222")
        _box(axes, 7.4, 4.4, "optimization\nmodel", size=(2.8, 1.2), colour=_BLUE)
        _box(axes, 7.4, 6.1, "synthetic records", size=(3.4, 0.9), colour=_BLUE)
        _box(axes, 7.9, 2.4, "any solver", size=(2.4, 0.9), colour=_BLUE)
        _arrow(axes, (2.1, 5.65), (2.1, 5.0))
        _arrow(axes, (1.5, 3.8), (1.5, 2.85))
        _arrow(axes, (3.0, 3.8), (4.3, 2.85))
        _arrow(axes, (5.2, 2.85), (6.4, 3.8))
        _arrow(axes, (7.4, 5.0), (7.4, 5.65))
        _arrow(axes, (7.5, 3.8), (7.5, 2.85))
        _arrow(axes, (8.3, 2.85), (8.3, 3.8))
        axes.text(0.2, 1.1, "each draw is charged\nbefore it is made", va="center")
        axes.text(9.3, 1.1, "a wrong answer costs\naccuracy, never privacy", va="center", ha="right")


def _ledger(path: Path) -> None:
    with narrow_picture(path, 3.4) as ((axes,),):
        _blank(axes, 9.4, 6.8)
        above = (("reserve the\nwhole plan", _GREY), ("charge\none draw", _GREY), ("draw", _RED))
        for place, (text, colour) in zip((1.5, 4.7, 7.9), above, strict=True):
            _box(axes, place, 6.0, text, size=(2.5, 1.2), colour=colour)
        _box(axes, 7.9, 3.7, "write it to\nthe journal", size=(2.5, 1.2), colour=_GREY)
        _box(axes, 4.2, 3.7, "hand it to the\npublic side", size=(3.0, 1.2), colour=_BLUE)
        _arrow(axes, (2.75, 6.0), (3.45, 6.0))
        _arrow(axes, (5.95, 6.0), (6.65, 6.0))
        _arrow(axes, (7.9, 5.4), (7.9, 4.3))
        _arrow(axes, (6.65, 3.7), (5.7, 3.7))
        _arrow(axes, (4.4, 4.3), (4.4, 5.4))
        axes.text(4.2, 4.85, "until the plan is done", ha="right", va="center")
        shares = ((0.01, _GREY), (0.97, _BLUE), (0.02, _ORANGE))
        left = 0.2
        for share, colour in shares:
            axes.barh(1.9, 9.0 * share, left=left, height=0.8, color=colour, edgecolor="white")
            left += 9.0 * share
        axes.text(4.7, 1.9, "counts 97 %", ha="center", va="center", color="white")
        axes.text(0.2, 1.0, "number of records 1 %", va="center")
        axes.text(9.2, 0.4, "numbers within bins 2 %", va="center", ha="right")


def _best_response(path: Path) -> None:
    with narrow_picture(path, 3.0) as ((axes,),):
        _blank(axes, 9.4, 6.0)
        axes.axvspan(0, 4.5, color=_RED, alpha=0.07, linewidth=0)
        axes.text(0.2, 5.6, "private side", color=_RED, va="center")
        axes.text(9.3, 5.6, "public side", color=_BLUE, va="center", ha="right")
        queries = "queries that the\nrecords answer badly\nweigh more;\ndraw some of them"
        _box(axes, 2.1, 2.9, queries, size=(3.9, 2.3), colour=_RED)
        program = "integer program:\nwhich record satisfies\nthe most queries?"
        _box(axes, 7.2, 4.1, program, size=(4.2, 1.8), colour=_BLUE)
        _box(axes, 7.2, 1.4, "best response:\na record of the\nsynthetic table", size=(4.2, 1.8), colour=_BLUE)
        _arrow(axes, (4.05, 3.6), (5.1, 4.1))
        _arrow(axes, (7.2, 3.2), (7.2, 2.3))
        _arrow(axes, (5.1, 1.4), (4.05, 2.2))
        axes.text(4.3, 1.2, "the next\nround", ha="right", va="center")


def _projection(path: Path) -> None:
    """Draw noisy counts that are negative and add up wrongly, and the nearest counts of records."""
    random = np.random.default_rng(21)
    truth = np.array([26.0, 14, 3, 1, 9, 17, 8, 2])
    noisy = truth + random.normal(0, 4, truth.size).round()
    # The nearest counts that are not negative and have the right sum: all moved by one number, those below 0 cut off.
    low, high = noisy.min() - truth.sum(), noisy.max()
    for _ in range(60):
        moved = (low + high) / 2
        low, high = (moved, high) if np.maximum(noisy - moved, 0).sum() > truth.sum() else (low, moved)
    fitted = np.maximum(noisy - low, 0)
    with narrow_picture(path, 3.8) as panels:
        axes = panels[0, 0]
        places = np.arange(truth.size)
        axes.bar(places, fitted, 0.6, color=_BLUE, alpha=0.75, label="counts of synthetic records")
        axes.plot(places, noisy, "x", color=_RED, markersize=7, label="noisy counts: all that is released")
        axes.plot(places, truth, "_", color="black", markersize=22, label="truth: stays on the private side")
        axes.axhline(0, color="#222222", linewidth=0.8, linestyle="-")
        axes.set(xlabel="cell of a marginal", ylabel="records", xticks=places)
        axes.grid(visible=False, axis="x")
        legend_below(panels, 1)


def _certificate(path: Path) -> None:
    seconds = np.array([0.1, 0.2, 0.4, 0.9, 1.8, 3.0, 5.0, 8.0])
    hand, bound = (np.array([61, 84, 92, 97, 97, 101, 101, 101]), np.array([140, 131, 122, 114, 111, 108, 104, 101]))
    with narrow_picture(path, 4.0) as panels:
        axes = panels[0, 0]
        axes.fill_between(seconds, hand, bound, step="post", color=_ORANGE, alpha=0.2, linewidth=0)
        axes.step(seconds, bound, "--", where="post", color=_RED, label="proven bound: no record has more")
        axes.step(seconds, hand, "-", where="post", color=_BLUE, label="in hand, counted outside the solver")
        axes.annotate("gap: not known", (0.7, 108), (0.8, 40), arrowprops={"arrowstyle": "->"})
        axes.plot(8.0, 101, "o", color="black")
        axes.annotate("certified optimum", (8.0, 101), (3.9, 78), arrowprops={"arrowstyle": "->"})
        axes.set(xlabel="seconds of a solver (made-up figures)", ylabel="satisfied queries", ylim=(0, 145))
        legend_below(panels, 1)


def _tree(path: Path) -> None:
    """Draw a tree of counts over 16 bins, and the four nodes that answer a range of eleven bins."""
    with narrow_picture(path, 3.0) as ((axes,),):
        start, stop = 3, 14
        chosen: set[tuple[int, int]] = set()
        left = start
        while left < stop:
            size = 1
            while left % (2 * size) == 0 and left + 2 * size <= stop:
                size *= 2
            chosen.add((left, left + size))
            left += size
        for level, size in enumerate((16, 8, 4, 2, 1)):
            for begin in range(0, 16, size):
                used = (begin, begin + size) in chosen
                axes.barh(
                    4 - level,
                    size - 0.08,
                    left=begin + 0.04,
                    height=0.62,
                    color=_BLUE if used else "#eeeeee",
                    edgecolor="#999999",
                    linewidth=0.6,
                )
        axes.annotate("", (start, -0.75), (stop, -0.75), arrowprops={"arrowstyle": "<->", "color": _RED})
        axes.text(
            (start + stop) / 2,
            -1.2,
            f"range of {stop - start} bins: {len(chosen)} counts in place of {stop - start}",
            ha="center",
            va="center",
            color=_RED,
        )
        axes.set(xlim=(-0.2, 16.2), ylim=(-1.6, 4.6))
        axes.set_yticks(range(5), ["bins", "pairs", "fours", "eights", "all"])
        axes.tick_params(left=False, bottom=False, labelbottom=False)
        axes.grid(visible=False)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)


if __name__ == "__main__":
    sys.exit(main())
