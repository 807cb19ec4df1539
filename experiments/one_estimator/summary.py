"""The runs put together: one row for each table, workload, budget and method, and the tables of the document."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from experiments.one_estimator.methods import CONTAINED, TODAY
from experiments.one_estimator.tables import HALVES, KINDS, TABLES

ASKED = ("tv", "largest", "mean")
BESIDE = ("tv4", "tv5", "association", "accuracy")
FIGURES = (*ASKED, *BESIDE, "seconds", "processor_seconds")
SAID = {"predicted": "predicted", "found": "found after measuring"}
STATED = {"mean": "mean", "largest": "largest", "low": "mean", "high": "mean"}
"""What a release states, and the measured error that is held against it."""
NAMES = {"all2": "all pairs", "64of2": "64 pairs", "64of3": "64 triples", "all3": "all triples"}

Row = Mapping[str, Any]
Setting = tuple[str, str, float]


def rows(results: Iterable[Row]) -> list[dict[str, Any]]:
    """Return medians over runs, failures and predictions, in a fixed order."""
    groups: dict[tuple[str, str, float, str], list[Row]] = {}
    for result in results:
        key = result["kind"], result["table"], result["epsilon"], result["method"]
        groups.setdefault(key, []).append(result)
    return [_row(key, groups[key]) for key in sorted(groups, key=_place)]


def replaced(kept: Iterable[dict[str, Any]], found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows on file and new ones, which take the place of those of the same setting and method."""
    named = {tuple(row[key] for key in ("kind", "table", "epsilon", "method")): row for row in (*kept, *found)}
    return [named[key] for key in sorted(named, key=_place)]


def markdown(found: Sequence[Row], accuracies: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Return the tables of the document."""
    measured = [row for row in found if row["runs"]]
    yield from _bar(measured)
    yield ""
    yield from _every_setting(measured)
    yield ""
    yield from _beside(measured, accuracies)
    yield ""
    yield from _predictions(measured)
    yield ""
    yield from _intervals(measured)
    failed = [row for row in found if row["failed"]]
    if failed:
        yield ""
        yield "| what did not run | table | queries | epsilon | why |"
        yield "|---|---|---|---|---|"
        for row in failed:
            yield _line(row["method"], row["table"], NAMES[row["kind"]], f"{row['epsilon']:g}", row["failed"])


def _row(key: tuple[str, str, float, str], runs: Sequence[Row]) -> dict[str, Any]:
    kind, table, epsilon, method = key
    ended = [run for run in runs if "failed" not in run]
    row: dict[str, Any] = {
        "kind": kind, "table": table, "epsilon": epsilon, "method": method, "runs": len(ended),
        "failed": next((run["failed"] for run in runs if "failed" in run), None),
    }  # fmt: skip
    for figure in FIGURES:
        values = [run[figure] for run in ended if figure in run]
        if values:
            row[figure] = float(f"{statistics.median(values):.4g}")
    for said in SAID:
        over = [
            [float(f"{run[of] / run[said][figure]:.3g}") for figure, of in STATED.items() if figure in run[said]]
            for run in ended
            if said in run
        ]
        row |= {f"over_{said}": over} if over else {}
    return row


def _place(key: tuple[str, str, float, str]) -> tuple[int, int, float, int, str]:
    kind, table, epsilon, method = key
    tables = [*TABLES, table]
    methods = [*CONTAINED, method]
    return KINDS.index(kind), tables.index(table), epsilon, methods.index(method), method


def _settings(measured: Sequence[Row]) -> dict[Setting, dict[str, Row]]:
    settings: dict[Setting, dict[str, Row]] = {}
    for row in measured:
        settings.setdefault((row["kind"], row["table"], row["epsilon"]), {})[row["method"]] = row
    return settings


def _methods(measured: Sequence[Row]) -> list[str]:
    names = {row["method"] for row in measured}
    return [name for name in CONTAINED if name in names] + sorted(names - set(CONTAINED))


def _bar(measured: Sequence[Row]) -> Iterator[str]:
    """Yield what every method has over the least, by workload and budget, and by half of the tables."""
    settings = _settings(measured)
    yield (
        "| queries | epsilon | method | tables | least TV on | TV over the least: mean | at worst | largest error over "
        "the least: at worst | TV over the better of today's two: mean |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for kind in KINDS:
        budgets = sorted({epsilon for other, _, epsilon in settings if other == kind})
        for label, epsilons, tables in [
            *((f"{epsilon:g}", (epsilon,), None) for epsilon in budgets),
            *((f"all, half {number}", budgets, half) for number, half in enumerate(HALVES, start=1)),
        ]:
            chosen = [
                entries
                for (other, table, epsilon), entries in settings.items()
                if other == kind and epsilon in epsilons and (tables is None or table in tables)
            ]
            for method in _methods(measured):
                cells = list(_against(chosen, method))
                if cells:
                    yield _line(NAMES[kind], label, method, *cells)


def _against(chosen: Sequence[Mapping[str, Row]], method: str) -> Iterator[str]:
    """Yield the figures of a method over some settings; nothing where it was not run."""
    own = [entries for entries in chosen if method in entries]
    if not own:
        return
    least = {figure: [_least(entries, figure) for entries in own] for figure in ASKED}
    over = {
        figure: [_over(entries[method][figure], value) for entries, value in zip(own, least[figure], strict=True)]
        for figure in ASKED
    }
    today = [
        entries[method]["tv"] / min(entries[name]["tv"] for name in TODAY)
        for entries in own
        if all(name in entries for name in TODAY)
    ]
    yield str(len(own))
    yield str(sum(ratio <= 1.0 for ratio in over["tv"]))
    yield f"{_geometric(over['tv']):.3f}"
    yield f"{max(over['tv']):.2f}"
    yield f"{max(over['largest']):.2f}"
    yield f"{_geometric(today):.3f}" if today else ""


def _least(entries: Mapping[str, Row], figure: str) -> float:
    """Return the least figure of what one estimator has to contain, and of the peers that ran; of all, if none of them did."""
    contained = [row for name, row in entries.items() if name in CONTAINED]
    least: float = min(row[figure] for row in contained or entries.values())
    return least


def _every_setting(measured: Sequence[Row]) -> Iterator[str]:
    methods = _methods(measured)
    yield f"| table | queries | epsilon | runs | {' | '.join(methods)} |"
    yield "|" + "---|" * (4 + len(methods))
    for (kind, table, epsilon), entries in _settings(measured).items():
        least = _least(entries, "tv")
        runs = sorted({row["runs"] for row in entries.values()})
        cells = [_marked(entries[name]["tv"], least) if name in entries else "" for name in methods]
        yield _line(table, NAMES[kind], f"{epsilon:g}", " to ".join(map(str, runs[:: max(1, len(runs) - 1)])), *cells)


def _beside(measured: Sequence[Row], accuracies: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield, at epsilon 1, the errors of what nobody asked for."""
    yield (
        "| table, epsilon 1 | queries | method | TV, 4 columns | TV, 5 columns | Cramer's V off by | accuracy | of the "
        "table itself | of the most frequent class | seconds of the processor |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for row in measured:
        if row["epsilon"] == 1.0 and row["kind"] == KINDS[0]:
            figures = [f"{row[figure]:.3g}" if figure in row else "" for figure in BESIDE]
            real = [f"{value:.3g}" for value in accuracies[row["table"]]]
            yield _line(
                row["table"], NAMES[row["kind"]], row["method"], *figures, *real, f"{row['processor_seconds']:.3g}"
            )


def _predictions(measured: Sequence[Row]) -> Iterator[str]:
    """Yield how far measured errors were from those that dpopt had predicted, and from those that it found."""
    yield (
        "| stated | method | figure | epsilon | runs | measured over stated: median | least to largest | within 10 % | "
        "within a factor of 1.5 |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for said, method in itertools.product(SAID, _methods(measured)):
        for place, figure in enumerate(("mean error", "largest error")):
            for epsilon in (None, *sorted({row["epsilon"] for row in measured})):
                ratios = [over[place] for _, over in _over_stated(measured, said, method, epsilon)]
                if ratios:
                    label = "all" if epsilon is None else f"{epsilon:g}"
                    yield _line(SAID[said], method, figure, label, *_spread(ratios))


def _intervals(measured: Sequence[Row]) -> Iterator[str]:
    """Yield how often the mean error was within the interval that was stated, by workload, budget and half of the tables."""
    yield "| stated | method | queries | epsilon | runs | within | below | above | its ends apart: median | tables without |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for said, method, kind in itertools.product(SAID, _methods(measured), KINDS):
        of_kind = [row for row in measured if row["kind"] == kind]
        for label, epsilon, tables in [
            *((f"{epsilon:g}", epsilon, TABLES) for epsilon in sorted({row["epsilon"] for row in of_kind})),
            *((f"all, half {number}", None, half) for number, half in enumerate(HALVES, start=1)),
            ("all", None, TABLES),
        ]:
            chosen = [row for row in of_kind if row["table"] in tables]
            found = [pair for pair in _over_stated(chosen, said, method, epsilon) if len(pair[1]) == len(STATED)]
            if not found:
                continue
            below, above = ([table for table, over in found if wrong(over)] for wrong in (_is_below, _is_above))
            apart = statistics.median(over[2] / over[3] for _, over in found)
            within = 1 - (len(below) + len(above)) / len(found)
            missed = ", ".join(dict.fromkeys([*below, *above]))
            cells = (str(len(found)), f"{within:.0%}", str(len(below)), str(len(above)), f"{apart:.2f}", missed)
            yield _line(SAID[said], method, NAMES[kind], label, *cells)


def _is_below(over: Sequence[float]) -> bool:
    return over[2] < 1


def _is_above(over: Sequence[float]) -> bool:
    return over[3] > 1


def _over_stated(
    measured: Sequence[Row], said: str, method: str, epsilon: float | None
) -> list[tuple[str, Sequence[float]]]:
    """Return for each run its table, and the measured figures over those that were stated."""
    return [
        (row["table"], over)
        for row in measured
        if row["method"] == method and epsilon in {None, row["epsilon"]}
        for over in row.get(f"over_{said}", ())
    ]


def _spread(ratios: Sequence[float]) -> Iterator[str]:
    yield str(len(ratios))
    yield f"{statistics.median(ratios):.2f}"
    yield f"{min(ratios):.2f} to {max(ratios):.2f}"
    for factor in (1.1, 1.5):
        yield f"{sum(1 / factor <= ratio <= factor for ratio in ratios) / len(ratios):.0%}"


def _over(value: float, least: float) -> float:
    return value / least if least else math.inf if value else 1.0


def _geometric(ratios: Sequence[float]) -> float:
    return statistics.geometric_mean(ratios) if min(ratios) > 0 else 0.0


def _marked(value: float, least: float) -> str:
    return f"**{value:.3g}**" if value <= least else f"{value:.3g}"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
