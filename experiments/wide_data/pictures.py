"""The pictures: errors by epsilon, errors and seconds by queries, errors, seconds and memory by columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dpopt.cli.pictures import logarithmic, series
from experiments.narrow import legend_below, narrow_picture
from experiments.wide_data.document import COUNTING, ROUNDS, Result, found, listed, mean, seconds
from experiments.wide_data.parts import ACCOUNTANTS, SERIES, TRIVIAL

NAMES = {"theorem": "epsilon by Theorem 4.3", "zcdp": "epsilon by zCDP"}
GREY = {"zeros": "0.75", "uniform": "0.5"}
ERRORS = ("largest error", "mean error")


def draw(results: Sequence[Result], folder: Path) -> None:
    """Draw what there is: figure2.svg, figure3.svg and figure4.svg."""
    figures: dict[int, Callable[[Sequence[Result], Path], None]] = {2: _figure2, 3: _figure3, 4: _figure4}
    for number, draw_figure in figures.items():
        if found(results, figure=number, algorithm="dualquery"):
            some = [one for one in results if one["row"]["figure"] == number]
            draw_figure(some, folder / f"figure{number}.svg")


def _figure2(results: Sequence[Result], path: Path) -> None:
    names = list(dict.fromkeys(one["row"]["table"] for one in results))
    with narrow_picture(path, 2.6 * len(names) + 1.6, len(names), 1) as panels:
        for axes, table in zip(panels[:, 0], names, strict=True):
            for number, accountant in enumerate(ACCOUNTANTS):
                for figure, line, size in (("max_error", "-", "largest"), ("mean_error", ":", "mean")):
                    some = found(results, table=table, algorithm="dualquery", accountant=accountant)
                    label = f"{size}, {NAMES[accountant]}"
                    _plot(axes, some, "epsilon", figure, linestyle=line, label=label, **series(number))
            noise = found(results, table=table, algorithm="noise")
            _plot(axes, noise, "epsilon", "max_error", linestyle="--", label="noise alone, largest", **series(2))
            for one in found(results, table=table, algorithm=TRIVIAL):
                error = one["zeros"]["max_error"]
                axes.axhline(error, color=GREY["zeros"], linestyle="-", linewidth=0.9, label="zeros, largest")
            axes.set(xlabel="epsilon", ylabel="error", title=table)
            logarithmic(axes.yaxis)
        legend_below(panels)


def _figure3(results: Sequence[Result], path: Path) -> None:
    with narrow_picture(path, 9.4, 3, 1) as panels:
        for number, name in enumerate(SERIES):
            some = found(results, series=name)
            for axes, figure in zip(panels[:, 0], ("max_error", "mean_error"), strict=False):
                _plot(axes, some, "queries", figure, linestyle="-", label=name, **series(number))
            queries = listed(some, "queries")
            taken = [seconds(found(some, queries=one), ROUNDS) for one in queries]
            panels[2, 0].plot(queries, taken, linestyle="-", label=name, **series(number))
        noise = found(results, algorithm="noise")
        for axes, figure, title in zip(panels[:, 0], ("max_error", "mean_error"), ERRORS, strict=False):
            label = "noise alone, epsilon 1 by zCDP"
            _plot(axes, noise, "queries", figure, linestyle="--", color="black", marker="x", label=label)
            axes.set(title=title)
            logarithmic(axes.yaxis)
        panels[2, 0].set(title="seconds of all rounds", ylim=(0, None))
        for axes in panels.flat:
            axes.set(xlabel="queries")
            axes.xaxis.set_major_formatter("{x:,.0f}")
            axes.locator_params(axis="x", nbins=4)
        legend_below(panels)


def _figure4(results: Sequence[Result], path: Path) -> None:
    with narrow_picture(path, 12.4, 4, 1) as panels:
        errors, time, memory = panels[:2, 0], panels[2, 0], panels[3, 0]
        for number, accountant in enumerate(ACCOUNTANTS):
            some = found(results, algorithm="dualquery", accountant=accountant)
            how = {"linestyle": "-", "label": NAMES[accountant], **series(number)}
            for axes, figure in zip(errors, ("max_error", "mean_error"), strict=True):
                _plot(axes, some, "columns", figure, **how)
            _plot(memory, some, "columns", "peak_mb", **how)
            columns = listed(some, "columns")
            for stage, line, what in ((ROUNDS, "-", "rounds"), (COUNTING, ":", "counting")):
                taken = [seconds(found(some, columns=one), stage) for one in columns]
                label = f"{what}, {NAMES[accountant].removeprefix('epsilon ')}"
                time.plot(columns, taken, linestyle=line, label=label, **series(number))
        for axes, figure, title in zip(errors, ("max_error", "mean_error"), ERRORS, strict=True):
            noise, projection = (found(results, algorithm=name) for name in ("noise", "projection"))
            _plot(axes, noise, "columns", figure, linestyle="--", color="black", label="noise alone")
            _plot(axes, projection, "columns", figure, linestyle="-", label="projection", **series(2))
            for name, color in GREY.items():
                trivial = [{"row": one["row"], **one[name]} for one in found(results, algorithm=TRIVIAL)]
                _plot(axes, trivial, "columns", figure, linestyle="-", color=color, label=name)
            axes.set(title=title)
        time.set(title="seconds")
        memory.set(title="peak memory of the process, MB")
        for axes in panels.flat:
            axes.set(xlabel="columns")
            logarithmic(axes.xaxis)
        for axes in (time, memory):
            logarithmic(axes.yaxis)
        legend_below(panels)


def _plot(axes: Any, some: Sequence[Result], along: str, figure: str, **how: Any) -> None:
    """Plot the mean of a figure over runs against an entry of the rows."""
    places = listed(some, along)
    axes.plot(places, [mean(found(some, **{along: place}), figure) for place in places], **how)
