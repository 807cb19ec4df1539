"""`python -m experiments.default_and_peers`: what a default release keeps of a table, beside peers and independent columns."""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from experiments import documents
from experiments.default_and_peers.measuring import FIGURES, HIGHER_IS_BETTER, Judge
from experiments.default_and_peers.releasing import (
    AIM_COLUMNS,
    AIM_EPSILONS,
    DEFAULT,
    INDEPENDENT,
    METHODS,
    Setting,
    halves,
    released,
)
from experiments.experiment import Report, Result, carry_out, in_processes, over_tables, rounded
from experiments.one_estimator.tables import QUICK, TABLES, load
from experiments.peers.run import PeerFailedError

EPSILONS = (1.0, 0.1, 10.0)
UNSHRUNKEN = "unshrunken"
LOSSES = 20
"""As many of the default's largest losses are named."""
LEAST_SLOPE, EXCESS = 0.75, 1.1
"""The bars: the least slope of a table, and group means over the better of unshrunken and independent."""
SLOPES = {"as bought": ("slope", "reliable"), "with equal shares": ("even slope", "even")}
"""Which precision the reliability of a pair goes by: its slope and the number of such pairs among `FIGURES`."""

Found = Mapping[tuple[str, float, str], dict[str, float]]
"""Means over runs and halves, by table, epsilon and method."""


def main(arguments: list[str] | None = None) -> int:
    """Measure the runs that are not on file, and print each method's figures, the bars and the default's largest losses."""
    parser = over_tables("default_and_peers", TABLES, EPSILONS, runs=5)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS[:2]), help="dpopt independent")
    parser.add_argument("--environments", type=Path, help="folder with one environment per peer")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a peer is ended (300)")
    parser.add_argument(
        "--records", type=Path, help="keep the records of every run in this folder, and take those there"
    )
    return carry_out(parser, arguments, {"rows": _rows}, markdown, continues=True)


def _rows(options: argparse.Namespace, known: list[Result]) -> Iterator[Result]:
    tables, epsilons = ([QUICK], (10.0,)) if options.quick else (options.tables, options.epsilon)
    held = {row["setting"] for row in known}
    every = itertools.product(range(options.runs), (0,) if options.quick else (0, 1), epsilons, tables, options.methods)
    settings = [(table, epsilon, run, half, method) for run, half, epsilon, table, method in every]
    missing = [one for one in settings if _label(one) not in held and _is_run(one)]
    measure = partial(measured, environments=options.environments, limit=options.limit, folder=options.records)
    for row in in_processes(options, measure, missing):
        yield from row


def measured(setting: Setting, environments: Path | None, limit: float, folder: Path | None) -> list[Result]:
    """Return the figures of a run; with those of independent columns come those of unshrunken pairs."""
    table, epsilon, run, half, method = setting
    judge = Judge(halves(table, run, half), epsilon)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a release warns of is measured here
            found = {method: judge.figures(*released(setting, environments, limit, folder))}
    except PeerFailedError as error:
        return [{"setting": _label(setting), "failed": str(error)}]
    if method == INDEPENDENT:
        found[UNSHRUNKEN] = judge.baseline(2 * run + half)
    return [
        {"setting": _label((table, epsilon, run, half, name)), "figures": rounded(figures)}
        for name, figures in found.items()
    ]


def _label(setting: Setting) -> str:
    table, epsilon, run, half, method = setting
    return f"{table}, {epsilon:g}, {run}, {half}, {method}"


def _is_run(setting: Setting) -> bool:
    table, epsilon, _, _, method = setting
    return method != METHODS[-1] or (epsilon in AIM_EPSILONS and len(load(table).sizes) <= AIM_COLUMNS)


def merged(rows: list[Result]) -> dict[tuple[str, float, str], dict[str, float]]:
    """Return the means over runs and halves, and the number of releases ("runs")."""
    groups = defaultdict(list)
    for row in rows:
        table, epsilon, _, _, method = row["setting"].split(", ")
        if "figures" in row:
            groups[table, float(epsilon), method].append(row["figures"])
    order = {name: place for place, name in enumerate((*TABLES, QUICK, *METHODS, UNSHRUNKEN))}
    return {
        key: {name: statistics.fmean(one[name] for one in group if name in one) for name in _names(group)}
        | {"runs": len(group)}
        for key, group in sorted(groups.items(), key=lambda one: (order[one[0][0]], one[0][1], order[one[0][2]]))
    }


def _names(group: list[dict[str, float]]) -> list[str]:
    return [name for name in FIGURES if any(name in one for one in group)]


def markdown(report: Report) -> Iterator[str]:
    """Yield the default against each method, the bars, its largest losses, and all figures."""
    found = merged(report["rows"])
    titles = ["epsilon", "against", "tables", *(title for name, title in FIGURES.items() if name in _judged())]
    caption = (
        "Errors of the default over those of others (of AUC, of what is missing to 1): geometric means, and on how many "
        "tables they are larger:"
    )
    yield from documents.captioned(caption, titles, _against(found))
    over = "group means over 1.1 times the better"
    titles = ["epsilon", "reliable", "tables with such pairs", "slope: mean", "least", "below .75", over]
    yield from documents.captioned("The bars (slopes of .85 in the mean and .75 on each table):", titles, _bars(found))
    parts = [f"{title}: {part}" for title, part in itertools.product(SLOPES, ("releases", "pairs", "slope"))]
    titles = ["table", "epsilon", *parts, "group means over the better's"]
    caption = "Slopes of each table, with the standard error of their mean over releases:"
    yield from documents.captioned(caption, titles, _slopes(report["rows"], found))
    titles = ["table", "epsilon", "figure", "default", "other", "has", "ratio"]
    yield from documents.captioned("The default's largest losses:", titles, itertools.islice(losses(found), LOSSES))
    titles = ["table", "epsilon", "method", "releases", *FIGURES.values()]
    figures = (
        [*key[:1], f"{key[1]:g}", key[2], row["runs"], *(_text(row, name) for name in FIGURES)]
        for key, row in found.items()
    )
    yield from documents.captioned("Means over releases:", titles, figures)
    failed = [[*row["setting"].split(", "), row["failed"]] for row in report["rows"] if "failed" in row]
    if failed:
        yield from documents.captioned(
            "Not released:", ["table", "epsilon", "run", "half", "method", "because"], failed
        )


def _judged() -> list[str]:
    return [name for name in FIGURES if name not in itertools.chain(*SLOPES.values())]


def _text(row: Mapping[str, float], name: str) -> str:
    return f"{row[name]:.3g}" if name in row else ""


def _error(name: str, row: Mapping[str, float]) -> float:
    return 1.0 - row[name] if name in HIGHER_IS_BETTER else row[name]


def _ratio(name: str, own: Mapping[str, float], other: Mapping[str, float]) -> float | None:
    """Return the default's error over another one's; None where a figure is missing or both are (nearly) without error."""
    if name not in own or name not in other:
        return None
    ours, theirs = _error(name, own), _error(name, other)
    return None if max(ours, theirs) < 1e-9 else max(ours, 1e-3) / max(theirs, 1e-3)


def _against(found: Found) -> Iterator[list[object]]:
    for epsilon, method in sorted({(key[1], key[2]) for key in found if key[2] != DEFAULT}):
        both = [(found[name, epsilon, DEFAULT], row) for (name, other, one), row in found.items()
                if (other, one) == (epsilon, method) and (name, epsilon, DEFAULT) in found]  # fmt: skip
        cells = []
        for name in _judged():
            ratios = [ratio for own, other in both if (ratio := _ratio(name, own, other)) is not None]
            larger = sum(ratio > 1 for ratio in ratios)
            cells.append(f"{statistics.geometric_mean(ratios):.2f} ({larger} of {len(ratios)})" if ratios else "")
        yield [f"{epsilon:g}", method, len(both), *cells]


def _bars(found: Found) -> Iterator[list[object]]:
    for epsilon, (title, (name, _)) in itertools.product(sorted({key[1] for key in found}), SLOPES.items()):
        own = {key[0]: row for key, row in found.items() if key[1:] == (epsilon, DEFAULT)}
        slopes = {table: row[name] for table, row in own.items() if name in row}
        excesses = {table: _over_the_better(found, table, epsilon) for table in own}
        over = [f"{table} ({excess:.2f})" for table, excess in excesses.items() if excess > EXCESS]
        low = [f"{table} ({slope:.2f})" for table, slope in slopes.items() if slope < LEAST_SLOPE]
        mean, least = (f"{one(slopes.values()):.3f}" if slopes else "" for one in (statistics.fmean, min))
        yield [f"{epsilon:g}", title, len(slopes), mean, least, ", ".join(low) or "none", ", ".join(over) or "none"]


def _over_the_better(found: Found, table: str, epsilon: float) -> float:
    """Return the default's error of group means over that of the better of unshrunken and independent; 0 without them."""
    others = [found.get((table, epsilon, one), {}).get("group", math.inf) for one in (INDEPENDENT, UNSHRUNKEN)]
    return found[table, epsilon, DEFAULT].get("group", 0.0) / min(others)


def _slopes(rows: list[Result], found: Found) -> Iterator[list[object]]:
    for table, epsilon in ((key[0], key[1]) for key in found if key[2] == DEFAULT):
        every = [row["figures"] for row in rows if "figures" in row and row["setting"].startswith(f"{table}, {epsilon:g}, ")
                 and row["setting"].endswith(f", {DEFAULT}")]  # fmt: skip
        cells: list[object] = []
        for slope, pairs in SLOPES.values():
            held = [one for one in every if slope in one]
            number, mean = (
                f"{statistics.fmean(one[name] for one in held):.3g}" if held else "" for name in (pairs, slope)
            )
            if len(held) > 1:
                mean += f" +- {statistics.stdev(one[slope] for one in held) / math.sqrt(len(held)):.2g}"
            cells += [len(held) or "", number, mean]
        if any(cells):
            yield [table, f"{epsilon:g}", *cells, f"{_over_the_better(found, table, epsilon):.2f}"]


def losses(found: Found) -> Iterator[list[object]]:
    """Yield where the default has a larger error than another method, the largest ratio first."""
    entries: list[tuple[float, list[object]]] = []
    for (name, epsilon, method), row in found.items():
        own = found.get((name, epsilon, DEFAULT))
        if own is None or method == DEFAULT:
            continue
        for figure in _judged():
            ratio = _ratio(figure, own, row)
            if ratio is not None and ratio > 1:
                cells = [FIGURES[figure], _text(own, figure), method, _text(row, figure), f"{ratio:.2f}"]
                entries.append((ratio, [name, f"{epsilon:g}", *cells]))
    for _, entry in sorted(entries, key=lambda one: -one[0]):
        yield entry


if __name__ == "__main__":
    sys.exit(main())
