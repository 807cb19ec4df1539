"""`python -m experiments.diagrams`: draw the diagrams of the documents, `docs/pictures`; their figures are made up."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dpopt.cli.pictures import COLOURS, picture

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
    axes.text(x, y, text, ha="center", va="center", fontsize=9)


def _arrow(
    axes: Any, start: tuple[float, float], end: tuple[float, float], text: str = "", *, above: float = 0.16
) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "#222222", "linewidth": 1.1})
    if text:
        middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + above)
        axes.text(*middle, text, ha="center", va="center", fontsize=8, color="#222222")


def _two_sides(path: Path) -> None:
    with picture(path, (9, 3.5)) as ((axes,),):
        _blank(axes, 12, 4.6)
        axes.axvspan(0, 5.1, color=_RED, alpha=0.07, linewidth=0)
        axes.axvspan(6.9, 12, color=_BLUE, alpha=0.07, linewidth=0)
        axes.text(0.2, 4.3, "private side: sees the table", color=_RED, va="center")
        axes.text(11.8, 4.3, "public side: sees only what was released", color=_BLUE, va="center", ha="right")
        _box(axes, 1.2, 2.6, "table", size=(1.5, 0.8), colour=_RED)
        _box(axes, 3.7, 2.6, "count, then draw\nnoise or queries", size=(2.1, 0.8), colour=_RED)
        _box(axes, 6.0, 2.6, "transcript", size=(1.5, 0.8), colour="#222222")
        _box(axes, 6.0, 0.8, "ledger", size=(1.5, 0.8), colour="#222222")
        _box(axes, 8.4, 2.6, "optimization\nmodel", size=(1.7, 0.8), colour=_BLUE)
        _box(axes, 10.8, 2.6, "synthetic\nrecords", size=(1.6, 0.8), colour=_BLUE)
        _box(axes, 8.4, 0.8, "any solver", size=(1.7, 0.8), colour=_BLUE)
        _arrow(axes, (1.95, 2.6), (2.65, 2.6))
        _arrow(axes, (4.75, 2.6), (5.25, 2.6))
        _arrow(axes, (6.75, 2.6), (7.55, 2.6))
        _arrow(axes, (9.25, 2.6), (10.0, 2.6))
        _arrow(axes, (4.2, 2.2), (5.25, 1.0))
        axes.text(3.5, 1.35, "each draw is charged\nbefore it is made", ha="center", fontsize=8)
        _arrow(axes, (8.2, 2.2), (8.2, 1.2))
        _arrow(axes, (8.6, 1.2), (8.6, 2.2))
        axes.text(9.5, 0.8, "a wrong answer costs\naccuracy, never privacy", va="center", fontsize=8)


def _ledger(path: Path) -> None:
    with picture(path, (9, 2.7)) as ((axes,),):
        _blank(axes, 12, 3.6)
        steps = (
            "reserve the\nwhole plan",
            "charge\none draw",
            "draw",
            "write it\nto the journal",
            "hand it to the\npublic side",
        )
        places = [1.2, 3.7, 6.0, 8.3, 10.8]
        for place, text, colour in zip(places, steps, (_GREY, _GREY, _RED, _GREY, _BLUE), strict=True):
            _box(axes, place, 2.7, text, size=(1.8, 0.9), colour=colour)
        for one, other in pairwise(places):
            _arrow(axes, (one + 0.9, 2.7), (other - 0.9, 2.7))
        _arrow(axes, (8.3, 2.2), (3.7, 2.2))
        axes.text(6.0, 1.95, "until the plan is done", ha="center", va="center", fontsize=8)
        shares = (
            (0.01, _GREY, "number of records 1 %"),
            (0.97, _BLUE, "counts 97 %"),
            (0.02, _ORANGE, "numbers within bins 2 %"),
        )
        left = 0.3
        for share, colour, _ in shares:
            axes.barh(0.95, 11.4 * share, left=left, height=0.45, color=colour, edgecolor="white")
            left += 11.4 * share
        axes.text(6.0, 0.95, shares[1][2], ha="center", va="center", fontsize=8, color="white")
        axes.text(0.3, 0.45, shares[0][2], fontsize=8, va="center")
        axes.text(11.7, 0.45, shares[2][2], fontsize=8, va="center", ha="right")


def _best_response(path: Path) -> None:
    with picture(path, (9, 2.9)) as ((axes,),):
        _blank(axes, 12, 3.9)
        axes.axvspan(0, 3.9, color=_RED, alpha=0.07, linewidth=0)
        axes.text(0.2, 3.6, "private side", color=_RED, va="center")
        axes.text(11.8, 3.6, "public side", color=_BLUE, va="center", ha="right")
        _box(
            axes,
            1.9,
            2.4,
            "queries that the records\nanswer badly weigh more;\ndraw some of them",
            size=(3.1, 1.2),
            colour=_RED,
        )
        _box(
            axes,
            6.2,
            2.4,
            "integer program:\nwhich one record satisfies\nthe most of these queries?",
            size=(3.2, 1.2),
            colour=_BLUE,
        )
        _box(axes, 10.3, 2.4, "best response:\na record of the\nsynthetic table", size=(2.5, 1.2), colour=_BLUE)
        _arrow(axes, (3.45, 2.4), (4.6, 2.4))
        _arrow(axes, (7.8, 2.4), (9.05, 2.4))
        axes.annotate(
            "", (1.9, 1.75), (10.3, 1.75), arrowprops={"arrowstyle": "->", "connectionstyle": "bar,fraction=-0.12"}
        )
        axes.text(6.1, 0.35, "the next round", ha="center", va="center", fontsize=8)


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
    with picture(path, (8, 3)) as ((axes,),):
        places = np.arange(truth.size)
        axes.bar(places, fitted, 0.6, color=_BLUE, alpha=0.75, label="counts of synthetic records")
        axes.plot(places, noisy, "x", color=_RED, markersize=7, label="noisy counts: all that is released")
        axes.plot(places, truth, "_", color="black", markersize=22, label="truth: never leaves the private side")
        axes.axhline(0, color="#222222", linewidth=0.8, linestyle="-")
        axes.set(xlabel="cell of a marginal", ylabel="records", xticks=places)
        axes.grid(visible=False, axis="x")
        axes.legend()


def _certificate(path: Path) -> None:
    seconds = np.array([0.1, 0.2, 0.4, 0.9, 1.8, 3.0, 5.0, 8.0])
    hand, bound = (np.array([61, 84, 92, 97, 97, 101, 101, 101]), np.array([140, 131, 122, 114, 111, 108, 104, 101]))
    with picture(path, (7, 3)) as ((axes,),):
        axes.fill_between(seconds, hand, bound, step="post", color=_ORANGE, alpha=0.2, linewidth=0)
        axes.step(seconds, bound, "--", where="post", color=_RED, label="proven bound: no record satisfies more")
        axes.step(seconds, hand, "-", where="post", color=_BLUE, label="in hand, counted again outside the solver")
        axes.text(1.1, 105, "gap: what is not known", ha="center", va="center", fontsize=8)
        axes.plot(8.0, 101, "o", color="black")
        axes.annotate("certified optimum", (8.0, 101), (4.6, 84), arrowprops={"arrowstyle": "->"}, fontsize=8)
        axes.set(xlabel="seconds of a solver (made-up figures)", ylabel="satisfied queries", ylim=(50, 145))
        axes.legend(loc="lower right")


def _tree(path: Path) -> None:
    """Draw a tree of counts over 16 bins, and the four nodes that answer a range of eleven bins."""
    with picture(path, (8, 3.2)) as ((axes,),):
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
            -1.05,
            f"range of {stop - start} bins: the sum of {len(chosen)} counts in place of {stop - start}",
            ha="center",
            va="center",
            color=_RED,
            fontsize=9,
        )
        axes.set(xlim=(-0.2, 16.2), ylim=(-1.4, 4.6))
        axes.set_yticks(range(5), ["bins", "pairs", "fours", "eights", "all"])
        axes.tick_params(left=False, bottom=False, labelbottom=False)
        axes.grid(visible=False)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)


if __name__ == "__main__":
    sys.exit(main())
