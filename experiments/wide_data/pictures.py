"""The pictures: errors by epsilon, errors and seconds by queries, errors, seconds and memory by columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.wide_data.document import COUNTING, ROUNDS, Result, found, listed, mean, seconds
from experiments.wide_data.parts import ACCOUNTANTS, SERIES, TRIVIAL

NAMES = {"theorem": "epsilon by Theorem 4.3", "zcdp": "epsilon by zCDP"}
GREY = {"zeros": "0.75", "uniform": "0.5"}


def draw(results: Sequence[Result], folder: Path) -> None:
    """Draw what there is: figure2.png, figure3.png and figure4.png."""
    import matplotlib as mpl

    mpl.use("Agg")
    figures: dict[int, Callable[[Sequence[Result], Any], Any]] = {2: _figure2, 3: _figure3, 4: _figure4}
    from matplotlib import pyplot as plt

    for number, of in figures.items():
        if found(results, figure=number, algorithm="dualquery"):
            picture = of([one for one in results if one["row"]["figure"] == number], plt)
            picture.savefig(folder / f"figure{number}.png", dpi=80, metadata={"Software": None})
            plt.close(picture)


def _figure2(results: Sequence[Result], plt: Any) -> Any:
    names = list(dict.fromkeys(one["row"]["table"] for one in results))
    picture, panels = plt.subplots(
        1, len(names), figsize=(4.4 * len(names), 3.6), layout="constrained", squeeze=False
    )
    for axes, table in zip(panels[0], names, strict=True):
        for number, accountant in enumerate(ACCOUNTANTS):
            for figure, style, size in (("max_error", "o-", "largest"), ("mean_error", "s:", "mean")):
                some = found(results, table=table, algorithm="dualquery", accountant=accountant)
                label = f"{size}, {NAMES[accountant]}"
                _plot(axes, some, "epsilon", figure, style, color=f"C{number}", label=label)
        _plot(
            axes,
            found(results, table=table, algorithm="noise"),
            "epsilon",
            "max_error",
            "--",
            color="C2",
            label="noise alone, largest",
        )
        for one in found(results, table=table, algorithm=TRIVIAL):
            axes.axhline(
                one["zeros"]["max_error"], color=GREY["zeros"], linewidth=0.9, label="zeros, largest"
            )
        axes.set(xlabel="epsilon", title=table, yscale="log")
    panels[0][0].set_ylabel("error")
    panels[0][-1].legend(fontsize=7)
    return picture


def _figure3(results: Sequence[Result], plt: Any) -> Any:
    picture, panels = plt.subplots(1, 3, figsize=(13, 3.6), layout="constrained")
    for number, series in enumerate(SERIES):
        some = found(results, series=series)
        for axes, figure in zip(panels, ("max_error", "mean_error"), strict=False):
            _plot(axes, some, "queries", figure, "o-", color=f"C{number}", label=series)
        queries = listed(some, "queries")
        taken = [seconds(found(some, queries=one), ROUNDS) for one in queries]
        panels[2].plot(queries, taken, "o-", color=f"C{number}", label=series)
    noise = found(results, algorithm="noise")
    for axes, figure, title in zip(
        panels, ("max_error", "mean_error"), ("largest error", "mean error"), strict=False
    ):
        _plot(axes, noise, "queries", figure, "--", color="black", label="noise alone, epsilon 1 by zCDP")
        axes.set(title=title, yscale="log")
    panels[2].set(title="seconds of all rounds")
    panels[2].set_ylim(bottom=0)
    for axes in panels:
        axes.set(xlabel="queries")
    panels[0].legend(fontsize=7)
    return picture


def _figure4(results: Sequence[Result], plt: Any) -> Any:
    picture, panels = plt.subplots(1, 4, figsize=(16, 3.6), layout="constrained")
    for number, accountant in enumerate(ACCOUNTANTS):
        some = found(results, algorithm="dualquery", accountant=accountant)
        for axes, figure in zip(panels, ("max_error", "mean_error"), strict=False):
            _plot(axes, some, "columns", figure, "o-", color=f"C{number}", label=NAMES[accountant])
        columns = listed(some, "columns")
        label = NAMES[accountant].removeprefix("epsilon ")
        for stage, style, what in ((ROUNDS, "o-", "rounds"), (COUNTING, "x:", "counting")):
            taken = [seconds(found(some, columns=one), stage) for one in columns]
            panels[2].plot(columns, taken, style, color=f"C{number}", label=f"{what}, {label}")
        _plot(panels[3], some, "columns", "peak_mb", "o-", color=f"C{number}", label=NAMES[accountant])
    for axes, figure, title in zip(
        panels, ("max_error", "mean_error"), ("largest error", "mean error"), strict=False
    ):
        _plot(
            axes,
            found(results, algorithm="noise"),
            "columns",
            figure,
            "--",
            color="black",
            label="noise alone",
        )
        _plot(
            axes,
            found(results, algorithm="projection"),
            "columns",
            figure,
            "^-",
            color="C2",
            label="projection",
        )
        for name, color in GREY.items():
            trivial = [{"row": one["row"], **one[name]} for one in found(results, algorithm=TRIVIAL)]
            _plot(axes, trivial, "columns", figure, "-", color=color, label=name)
        axes.set(title=title)
    panels[2].set(title="seconds", yscale="log")
    panels[3].set(title="peak memory of the process, MB", yscale="log")
    for axes in panels:
        axes.set(xlabel="columns", xscale="log")
    panels[1].legend(fontsize=7)
    panels[2].legend(fontsize=7)
    return picture


def _plot(axes: Any, some: Sequence[Result], along: str, figure: str, style: str, **how: Any) -> None:
    """Plot the mean of a figure over runs against an entry of the rows."""
    places = listed(some, along)
    axes.plot(
        places, [mean(found(some, **{along: place}), figure) for place in places], style, markersize=4, **how
    )
