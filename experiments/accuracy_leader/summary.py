"""The results as tables: figures of each algorithm, which one leads where, and the bars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Any

from experiments.accuracy_leader.measuring import PLAN, Result
from experiments.accuracy_leader.parts import PARTS, REMOVED, Bar, Part

ERRORS = ("max_error", "mean_error")
_WORDS = {"max_error": "max error", "mean_error": "mean error", "seconds": "seconds", "peak_mb": "peak MB"}
_CLOSE = 1.1
"""Within this factor of the least mean error a choice counts as the best one's."""


def markdown(results: Sequence[Result]) -> Iterator[str]:
    """Yield all tables: errors, the leader of each part and budget, the bars, and what could not run."""
    parts = [part for part in PARTS.values() if any(result["part"] == part.name for result in results)]
    yield from _figures(parts, results)
    yield ""
    yield from _leaders(parts, results)
    yield ""
    yield from _bars(parts, results)
    failures = list(_failures(results))
    if failures:
        yield ""
        yield "What did not run, and what was said:"
        yield ""
        yield from failures


def groups(part: Part, results: Iterable[Result]) -> dict[tuple[float, str, str], list[Result]]:
    """Return the runs of a part that released something, by epsilon, algorithm and neighbours."""
    found: dict[tuple[float, str, str], list[Result]] = {}
    for result in results:
        if result["part"] == part.name and result["algorithm"] != PLAN and not result["failed"]:
            key = (result["epsilon"], result["algorithm"], result["neighbours"])
            found.setdefault(key, []).append(result)
    return found


def mean_of(runs: Iterable[Result], figure: str) -> float | None:
    """Return the mean of a figure over some runs; None where they do not have it."""
    values = [run[figure] for run in runs if run.get(figure) is not None]
    return fmean(values) if values else None


def limit_of(bar: Bar, part: Part, results: Sequence[Result]) -> float | None:
    """Return the largest value that meets a bar; None where what it depends on was not measured."""
    if bar.of is None:
        return bar.most
    found = [
        mean_of(runs, bar.figure)
        for (epsilon, algorithm, neighbours), runs in groups(part, results).items()
        if epsilon == bar.epsilon
        and neighbours == part.neighbours
        and ("peer" in runs[0] if bar.of == "peers" else algorithm == bar.of)
    ]
    values = [value for value in found if value is not None]
    return bar.most * min(values) if values else None


def _figures(parts: Iterable[Part], results: Sequence[Result]) -> Iterator[str]:
    heads = ["part", "epsilon", "neighbours", "algorithm", "runs", "max error", "mean error", "predicted mean"]
    yield f"| {' | '.join([*heads, 'seconds', 'peak MB'])} |"
    yield "|" + "---|" * 10
    for part in parts:
        found = groups(part, results)
        order = [*(algorithm for algorithm, _ in part.variants()), *REMOVED]
        for key in sorted(found, key=lambda key: _place(key, part, order)):
            epsilon, algorithm, neighbours = key
            runs = found[key]
            predicted = _predicted(part, epsilon, algorithm, results) if neighbours == part.neighbours else None
            cells = [part.name, f"{epsilon:g}", neighbours, algorithm, str(len(runs))]
            cells += [_spread(runs, figure, "{:.3g}") for figure in ERRORS]
            cells += ["" if predicted is None else f"{predicted:.3g}"]
            cells += [_spread(runs, "seconds", "{:.1f}"), _spread(runs, "peak_mb", "{:.0f}")]
            yield "| " + " | ".join(cells) + " |"


def _place(key: tuple[float, str, str], part: Part, order: Sequence[str]) -> tuple[Any, ...]:
    epsilon, algorithm, neighbours = key
    place = order.index(algorithm) if algorithm in order else len(order)
    return epsilon, neighbours != part.neighbours, place, algorithm


def _leaders(parts: Iterable[Part], results: Sequence[Result]) -> Iterator[str]:
    yield "| part | epsilon | least max error | least mean error | `auto` takes | its mean error over the least |"
    yield "|" + "---|" * 6
    for part in parts:
        for epsilon in sorted({key[0] for key in groups(part, results)}):
            ours = _of_the_part(part, epsilon, results)
            if not ours:
                continue
            least = [_least(ours, figure) for figure in ERRORS]
            chosen = next(
                (result["chosen"]["algorithm"] for result in _plans(part, epsilon, results) if not result["failed"]),
                None,
            )
            with_records = {name: runs for name, runs in ours.items() if name != "noise"}
            ratio = ""
            if chosen in with_records:
                best = min(mean_of(runs, "mean_error") or 0.0 for runs in with_records.values())
                factor = (mean_of(with_records[chosen], "mean_error") or 0.0) / best
                ratio = f"{factor:.2f}" + ("" if factor <= _CLOSE else " (!)")
            cells = [part.name, f"{epsilon:g}", *least, chosen or "", ratio]
            yield "| " + " | ".join(cells) + " |"


def _least(ours: dict[str, list[Result]], figure: str) -> str:
    ranked = sorted((mean_of(runs, figure) or 0.0, name) for name, runs in ours.items())
    text = f"{ranked[0][1]} {ranked[0][0]:.3g}"
    return text if len(ranked) == 1 else f"{text}; then {ranked[1][1]} {ranked[1][0]:.3g}"


def _of_the_part(part: Part, epsilon: float, results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return the runs of our algorithms and of peers under the part's own neighbours at one epsilon."""
    return {
        algorithm: runs
        for (at, algorithm, neighbours), runs in groups(part, results).items()
        if at == epsilon and neighbours == part.neighbours
    }


def _bars(parts: Iterable[Part], results: Sequence[Result]) -> Iterator[str]:
    yield "| part | epsilon | figure | at most | because | best of ours | met |"
    yield "|" + "---|" * 7
    for part in parts:
        for bar in sorted(part.bars, key=lambda bar: bar.epsilon):
            runs = _of_the_part(part, bar.epsilon, results)
            contenders = (bar.held,) if bar.held else part.contenders
            values = [(mean_of(runs[name], bar.figure) or 0.0, name) for name in contenders if name in runs]
            limit = limit_of(bar, part, results)
            if not values:
                continue
            value, name = min(values)
            because = {None: "set", "peers": "the best peer"}.get(bar.of, f"{bar.most:g} of {bar.of}")
            met = "not measured" if limit is None else "yes" if value <= limit else "**no**"
            most = "" if limit is None else f"{limit:.3g}"
            cells = [part.name, f"{bar.epsilon:g}", _WORDS[bar.figure], most, because]
            yield "| " + " | ".join([*cells, f"{name} {value:.3g}", met]) + " |"


def _failures(results: Sequence[Result]) -> Iterator[str]:
    for result in results:
        if result["failed"]:
            yield f"- {result['part']}, epsilon {result['epsilon']:g}, {result['algorithm']}: {result['failed']}"


def _predicted(part: Part, epsilon: float, algorithm: str, results: Sequence[Result]) -> float | None:
    for result in _plans(part, epsilon, results):
        if not result["failed"]:
            considered = result["chosen"]["considered"].get(algorithm, {})
            error = considered.get("mean_error")
            return None if error is None else float(error)
    return None


def _plans(part: Part, epsilon: float, results: Iterable[Result]) -> list[Result]:
    return [
        result
        for result in results
        if (result["part"], result["epsilon"], result["algorithm"]) == (part.name, epsilon, PLAN)
    ]


def _spread(runs: Sequence[Result], figure: str, style: str) -> str:
    values = [run[figure] for run in runs if run.get(figure) is not None]
    if not values:
        return ""
    mean, least, most = (style.format(value) for value in (fmean(values), min(values), max(values)))
    return f"{mean} ({least} to {most})" if len(values) > 1 else mean
