"""The results as tables, one for each figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, median
from typing import Any

from experiments.wide_data.parts import ACCOUNTANTS, SERIES, TRIVIAL

Result = dict[str, Any]
ROUNDS, COUNTING = "playing rounds", "counting exact answers"


def tables(results: Sequence[Result]) -> Iterator[str]:
    """Yield the lines of all tables."""
    for title, of_figure in (("Figure 2", _figure2), ("Figure 3", _figure3), ("Figure 4", _figure4)):
        lines = list(of_figure(results))
        if len(lines) > 2:
            yield f"**{title}**"
            yield ""
            yield from lines
            yield ""


def found(results: Sequence[Result], **wanted: Any) -> list[Result]:
    """Return the results whose rows have these entries."""
    return [one for one in results if all(one["row"][name] == value for name, value in wanted.items())]


def listed(results: Sequence[Result], name: str, **wanted: Any) -> list[Any]:
    """Return the different entries of rows with these other entries, in order."""
    return sorted({one["row"][name] for one in results if all(one["row"][key] == wanted[key] for key in wanted)})


def mean(runs: Sequence[Result], figure: str) -> float | None:
    """Return the mean of a figure over runs; None without runs."""
    return fmean(run[figure] for run in runs) if runs else None


def seconds(runs: Sequence[Result], stage: str, clock: str = "seconds") -> float | None:
    """Return the median seconds of a stage over runs; None without runs."""
    return median(run[clock][stage] for run in runs) if runs else None


def _figure2(results: Sequence[Result]) -> Iterator[str]:
    yield from _head(
        "table", "epsilon", "T, Theorem 4.3", "T, zCDP", "largest error, Theorem 4.3", "largest error, zCDP",
        "mean error, Theorem 4.3", "mean error, zCDP", "noise alone: largest", "noise alone: mean", "runs",
    )  # fmt: skip
    for table in dict.fromkeys(one["row"]["table"] for one in results if one["row"]["figure"] == 2):
        for epsilon in listed(results, "epsilon", figure=2, table=table, algorithm="dualquery"):
            place = {"figure": 2, "table": table, "epsilon": epsilon}
            both = [found(results, algorithm="dualquery", accountant=name, **place) for name in ACCOUNTANTS]
            noise = found(results, algorithm="noise", **place)
            yield _line(
                table,
                epsilon,
                *(mean(runs, "rounds") for runs in both),
                *(mean(runs, "max_error") for runs in both),
                *(mean(runs, "mean_error") for runs in both),
                mean(noise, "max_error"),
                mean(noise, "mean_error"),
                min(map(len, both)),
            )
        yield from _trivial(results, 8, 2, figure=2, table=table)


def _figure3(results: Sequence[Result]) -> Iterator[str]:
    yield from _head(
        "queries", "runs of", "T", "epsilon by Theorem 4.3", "epsilon by zCDP", "largest error", "mean error",
        "rounds, seconds", "rounds, processor seconds", "runs",
    )  # fmt: skip
    for queries in listed(results, "queries", figure=3):
        for series in SERIES:
            runs = found(results, figure=3, queries=queries, series=series)
            if runs:
                costs = [runs[0]["epsilon_by_accountant"][name] for name in ACCOUNTANTS]
                yield _line(
                    queries,
                    series,
                    mean(runs, "rounds"),
                    *costs,
                    mean(runs, "max_error"),
                    mean(runs, "mean_error"),
                    seconds(runs, ROUNDS),
                    seconds(runs, ROUNDS, "processor_seconds"),
                    len(runs),
                )
        noise = found(results, figure=3, queries=queries, algorithm="noise")
        if noise:
            errors = (mean(noise, "max_error"), mean(noise, "mean_error"))
            yield _line(queries, "noise alone, epsilon 1 by zCDP", *[None] * 3, *errors, *[None] * 3)
        for one in found(results, figure=3, queries=queries, algorithm=TRIVIAL):
            for name in ("zeros", "uniform"):
                errors = (one[name]["max_error"], one[name]["mean_error"])
                yield _line(queries, name, *[None] * 3, *errors, *[None] * 3)


def _figure4(results: Sequence[Result]) -> Iterator[str]:
    yield from _head(
        "columns", "algorithm", "s", "T", "largest error", "mean error", "rounds, seconds", "counting, seconds",
        "process, seconds", "peak MB", "release, MB", "runs",
    )  # fmt: skip
    for columns in listed(results, "columns", figure=4):
        for algorithm, accountant, label in (
            ("dualquery", "theorem", "dualquery, Theorem 4.3"),
            ("dualquery", "zcdp", "dualquery, zCDP"),
            ("projection", "zcdp", "projection, zCDP"),
        ):
            runs = found(results, figure=4, columns=columns, algorithm=algorithm, accountant=accountant)
            if runs:
                yield _line(
                    columns,
                    label,
                    runs[0].get("draws"),
                    mean(runs, "rounds") if algorithm == "dualquery" else None,
                    mean(runs, "max_error"),
                    mean(runs, "mean_error"),
                    seconds(runs, ROUNDS) if algorithm == "dualquery" else None,
                    seconds(runs, COUNTING) if COUNTING in runs[0]["seconds"] else None,
                    mean(runs, "process_seconds"),
                    mean(runs, "peak_mb"),
                    mean(runs, "release_mb"),
                    len(runs),
                )
        for one in found(results, figure=4, columns=columns, algorithm="noise"):
            yield _line(columns, "noise alone, zCDP", None, None, one["max_error"], one["mean_error"], *[None] * 6)
        for one in found(results, figure=4, columns=columns, algorithm=TRIVIAL):
            for name in ("zeros", "uniform"):
                errors = (one[name]["max_error"], one[name]["mean_error"])
                yield _line(columns, name, None, None, *errors, *[None] * 6)


def _trivial(results: Sequence[Result], width: int, before: int, **place: Any) -> Iterator[str]:
    for one in found(results, algorithm=TRIVIAL, **place):
        for name in ("zeros", "uniform"):
            errors = [one[name]["max_error"], None, one[name]["mean_error"], *[None] * (width - 6)]
            yield _line(f"{place['table']}: {name}", *[None] * (before + 1), *errors, *[None] * 2)


def _head(*titles: str) -> Iterator[str]:
    yield _line(*titles)
    yield "|" + "---|" * len(titles)


def _line(*values: Any) -> str:
    return "| " + " | ".join(map(_text, values)) + " |"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if abs(value) >= 1_000 or (float(value).is_integer() and value):
        return f"{value:,.0f}"
    return f"{value:.3g}"
