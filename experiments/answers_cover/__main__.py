"""`python -m experiments.answers_cover`: how often intervals of answers hold the table's figures, and how wide they are."""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from experiments import documents
from experiments.answers_cover.examples import EXAMPLES, examples
from experiments.answers_cover.measuring import measured, shrunken
from experiments.answers_cover.questions import COUNTS, KINDS, MEANS, OUTER, SHARES
from experiments.answers_cover.releases import released
from experiments.answers_cover.widths import BESIDE, widths
from experiments.experiment import Report, Result, carry_out, in_processes, over_tables
from experiments.one_estimator.tables import QUICK, TABLES

EPSILONS = (0.1, 1.0, 10.0)
PLAYS, REDRAWS = 5, 50
"""Of one batch."""
WHOLE = (("car", 0.1, 1_000), ("german-credit", 1.0, 250), ("titanic", 1.0, 400))
"""Settings that are played often as a whole, with their number of plays: precisions follow from noise there."""
WIDTHS = ("car", "compas", "german-credit", "titanic")
"""Tables that dense least squares is tried on."""
SHRUNKEN, PLAYED = ("bank", "car", "compas", "german-credit", "titanic"), (10, 20)
"""Tables that posterior intervals are tried on, the number of plays, and of redraws of each."""
EXAMPLE = 1.0
"""Epsilon of the ten answers."""


def main(arguments: list[str] | None = None) -> int:
    """Measure what is not on file."""
    parser = over_tables("answers_cover", TABLES, EPSILONS, runs=10)
    measures = {"rows": _rows, "plays": _plays, "releases": _releases, "widths": _widths, "examples": _examples}
    measures["shrunken"] = _shrunken
    return carry_out(parser, arguments, measures, markdown, continues=True)


def _rows(options: argparse.Namespace, known: list[Result]) -> Iterator[Result]:
    seeds = range(1) if options.quick else range(-(-options.runs // PLAYS))
    times = (1, 2) if options.quick else (PLAYS, REDRAWS)
    wanted = [
        (name, epsilon, *times, seed) for seed, epsilon, name in itertools.product(seeds, *_settings(options, TABLES))
    ]
    held = {(row["table"], row["epsilon"], row["seed"]) for row in known}
    yield from in_processes(options, measured, [one for one in wanted if (one[0], one[1], one[-1]) not in held])


def _plays(options: argparse.Namespace, known: list[Result]) -> Iterator[Result]:
    wanted = [] if options.quick else [one for one in WHOLE if one[0] in options.tables]
    held = {(row["table"], row["epsilon"]) for row in known}
    settings = [(name, epsilon, plays, 0, 1) for name, epsilon, plays in wanted if (name, epsilon) not in held]
    yield from in_processes(options, measured, settings)


def _releases(options: argparse.Namespace, known: list[Result]) -> Iterator[Result]:
    yield from _one_each(options, known, released, TABLES)


def _widths(options: argparse.Namespace, known: list[Result]) -> Iterator[Result]:
    yield from _one_each(options, known, widths, WIDTHS)


def _shrunken(options: argparse.Namespace, known: list[Result]) -> Iterator[Result]:
    held = {(row["table"], row["epsilon"]) for row in known}
    pairs = itertools.product(*_settings(options, SHRUNKEN))
    wanted = [(name, epsilon, *PLAYED, 2) for epsilon, name in pairs if (name, epsilon) not in held]
    yield from in_processes(options, shrunken, [] if options.quick else wanted)


def _examples(options: argparse.Namespace, known: list[Result]) -> Iterator[Result]:
    missing = [name for name in EXAMPLES if name in options.tables and name not in {row["table"] for row in known}]
    yield from (examples((name, EXAMPLE)) for name in missing if not options.quick)


def _one_each(
    options: argparse.Namespace, known: list[Result], measure: Callable[[Any], Result], tables: Sequence[str]
) -> Iterator[Result]:
    held = {(row["table"], row["epsilon"]) for row in known}
    wanted = [(name, epsilon, 0) for epsilon, name in itertools.product(*_settings(options, tables))]
    yield from in_processes(options, measure, [one for one in wanted if one[:2] not in held])


def _settings(options: argparse.Namespace, tables: Sequence[str]) -> tuple[Sequence[float], Sequence[str]]:
    if options.quick:
        return (10.0,), (QUICK,)
    return options.epsilon, [name for name in tables if name in options.tables]


def markdown(report: Report) -> Iterator[str]:
    """Yield the tables of the document."""
    rows = report["rows"]
    epsilons = sorted({row["epsilon"] for row in rows})
    titles = ["figures", "epsilon", "intervals", "hold", "of whole plays", "hold", "unbounded", "by the rows"]
    large = [list(_covered(rows, *key)) for key in itertools.product((*KINDS, OUTER), epsilons)]
    yield from documents.table(titles, [one for one in large if one])
    yield ""
    small = [list(_covered(rows, f"{kind}, small", epsilon)) for kind, epsilon in itertools.product(KINDS, epsilons)]
    yield from documents.captioned("Groups of less than 1 % of the records:", titles, [one for one in small if one])
    yield ""
    calls = [_calls([row for row in rows if row["epsilon"] == epsilon], epsilon) for epsilon in epsilons]
    yield from documents.captioned(
        "All intervals of a call together, by Bonferroni:", ["epsilon", "calls", "all hold", "share"], calls
    )
    if report["plays"]:
        yield ""
        titles = ["table", "epsilon", "plays", "figures", "intervals", "hold", "by the rows"]
        caption = "All stages played anew each time, groups of at least 1 %:"
        yield from documents.captioned(caption, titles, _whole(report["plays"]))
    yield ""
    yield from _against_bootstrap(report["releases"])
    yield ""
    yield from _beside(report.get("shrunken", []))
    yield ""
    yield from _wide(report["widths"])
    for example in report["examples"]:
        yield ""
        titles = ["question", "truth", "estimate", "low", "high", "holds", "least", "greatest", "how"]
        caption = f"Ten answers of one release of {example['table']} at epsilon {example['epsilon']:g}:"
        yield from documents.captioned(caption, titles, [_answered(one) for one in example["answers"]])


def _covered(rows: Sequence[Result], label: str, epsilon: float) -> Iterator[object]:
    own = [row for row in rows if row["epsilon"] == epsilon]
    (held, number, unbounded, by_rows), (whole, plays, *_) = (totals(own, part, label) for part in ("fixed", "whole"))
    if number:
        yield from (label, f"{epsilon:g}", f"{number:,}", f"{held / number:.4f}", f"{plays:,}", f"{whole / plays:.3f}")
        yield from (f"{unbounded:,}", f"{by_rows:,}")


def _whole(rows: Sequence[Result]) -> Iterator[list[object]]:
    for name, epsilon in sorted({(row["table"], row["epsilon"]) for row in rows}):
        own = [row for row in rows if (row["table"], row["epsilon"]) == (name, epsilon)]
        plays = sum(row["plays"] for row in own)
        for kind in KINDS:
            held, number, _, by_rows = totals(own, "whole", kind)
            if number:
                share = f"{held / number:.4f}"
                yield [name, f"{epsilon:g}", plays, kind, f"{number:,}", share, f"{by_rows:,}"]


def totals(rows: Sequence[Result], part: str, label: str) -> list[int]:
    """Return how many intervals held, of how many, how many were unbounded, and figures by the rows."""
    found = [list(map(int, row[part][label].split())) for row in rows if label in row[part]]
    return [sum(column) for column in zip(*found, strict=True)] or [0] * 4


def _calls(rows: Sequence[Result], epsilon: float) -> list[object]:
    held, number = (sum(row["together"].get(key, 0) for row in rows) for key in ("held", "of"))
    return [f"{epsilon:g}", number, held, f"{held / max(1, number):.3f}"]


def _against_bootstrap(rows: Sequence[Result]) -> Iterator[str]:
    """Yield what intervals of whole releases hold, beside those of a bootstrap on their rows."""
    entries: list[list[object]] = []
    for kind, epsilon in itertools.product((COUNTS, SHARES, MEANS), sorted({row["epsilon"] for row in rows})):
        own = [row for row in rows if row["epsilon"] == epsilon]
        answered, naive, other = (
            totals(own, *key)[:2]
            for key in (("answers", kind), ("bootstrap", kind), ("bootstrap", f"{kind}, not measured"))
        )
        shares = [f"{held / number:.3f}" if number else "" for held, number in (answered, naive, other)]
        ratios = [row["widths"][kind] for row in own if kind in row["widths"]]
        ratio = f"{statistics.median(ratios):.3f}" if ratios else ""
        entries.append([kind, f"{epsilon:g}", answered[1], shares[0], shares[1], ratio, other[1], shares[2]])
    titles = ["figures", "epsilon", "measured", "answers hold", "bootstrap holds", "width over that of answers"]
    titles += ["not measured", "bootstrap holds"]
    yield from documents.captioned("Whole releases, and a bootstrap on their rows:", titles, entries)


def _beside(rows: Sequence[Result]) -> Iterator[str]:
    """Yield what posterior intervals hold beside the unbiased ones, of all tables and of the one where they hold least."""
    entries: list[list[object]] = []
    for kind, epsilon in itertools.product(KINDS, sorted({row["epsilon"] for row in rows})):
        own = [(row["table"], row["kinds"][kind]) for row in rows if row["epsilon"] == epsilon and kind in row["kinds"]]
        if not own:
            continue
        of = sum(one["of"] for _, one in own)
        held, plain = (sum(one[name] for _, one in own) / of for name in ("held", "unbiased"))
        least, table = min((one["held"] / one["of"], name) for name, one in own)
        squares = [sum(one["squares"][place] for _, one in own) for place in (0, 1)]
        width = statistics.median(one["width"] for _, one in own)
        shown = [f"{one:.3f}" for one in (held, plain)]
        shown += [f"{least:.3f} ({table})", f"{width:.2f}", f"{(squares[0] / squares[1]) ** 0.5:.2f}"]
        entries.append([kind, f"{epsilon:g}", f"{of:,}", *shown])
    titles = ["figures", "epsilon", "intervals", "shrunken hold", "unbiased hold", "least of a table", "width", "error"]
    caption = "Shrunken answers of groups of at least 1 %; width (median) and error over those of the unbiased ones:"
    yield from documents.captioned(caption, titles, entries)


def _wide(rows: Sequence[Result]) -> Iterator[str]:
    entries = []
    for row in rows:
        for kind, ratios in row["ratios"].items():
            shown = [" to ".join(ratios[title].split()) for title in BESIDE]
            entries.append([row["table"], kind, f"{row['epsilon']:g}", ratios["figures"], *shown])
    titles = ["table", "figures", "epsilon", "number", "over best linear", "over all measurements", "over alone"]
    yield from documents.captioned(
        "Standard errors over those of dense least squares, and of the question measured alone (median to largest):",
        titles,
        sorted(entries),
    )


def _answered(one: Result) -> list[object]:
    low, high, truth = one["low"], one["high"], one["truth"]
    ends = (low, high) if one["least"] is None else (one["least"], one["greatest"])
    holds = "" if low is None else "yes" if ends[0] <= truth <= ends[1] else "no"
    figures = [
        "" if one[key] is None else f"{one[key]:,.5g}"
        for key in ("truth", "estimate", "low", "high", "least", "greatest")
    ]
    return [f"`{one['question']}`", *figures[:4], holds, *figures[4:], one["how"]]


if __name__ == "__main__":
    sys.exit(main())
