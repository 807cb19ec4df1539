"""`python -m experiments.polynomial_release`: errors and cost of summaries, beside predictions and other methods."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from experiments.documents import circumstances, write_results
from experiments.machine import describe_circumstances
from experiments.polynomial_release import cost, methods, releases
from experiments.polynomial_release.markdown import markdown
from experiments.polynomial_release.picture import draw
from experiments.polynomial_release.tables import MADE_UP, NAMES, tables
from experiments.tables import MissingDataError

PARTS = ("releases", "methods", "cost")
PREDICATES = ("and", "or", "atleast:2", "atleast:3", "atleast:4")
PICTURE = "cost.svg"

Report = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Measure what is not on file yet, and print the tables."""
    options = _options(arguments)
    quick = options.quick
    report: Report = {**describe_circumstances(), "runs": options.runs, "quick": quick}
    report |= {part: [] for part in PARTS}
    if options.json is not None and options.json.exists():
        on_file = json.loads(options.json.read_text(encoding="utf-8"))
        if on_file["quick"] != quick:
            print(f"{options.json} holds other results (quick: {on_file['quick']}); name another file")
            return 2
        report = on_file
    try:
        for part, result in _all(options, report):
            report[part].append(_rounded(result))
            print(json.dumps(report[part][-1]), flush=True)
            if options.json is not None:
                _write(options.json, report)
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 2
    report["releases"].sort(key=_order)
    report["methods"].sort(key=_order)
    if options.json is not None:
        _write(options.json, report)
    lines = list(markdown(report))
    print("\n".join(lines))
    if options.document is not None:
        draw(report["cost"], options.document.parent / PICTURE)
        write_results(options.document, [circumstances(report), "", *lines])
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.polynomial_release")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS, help="some of the parts (all)")
    parser.add_argument("--runs", type=int, default=5, help="releases of each plan (5)")
    parser.add_argument("--rho", type=float, default=0.1, help="budget in zCDP (.1)")
    parser.add_argument("--tables", nargs="+", choices=NAMES, help="some of the tables (all)")
    parser.add_argument(
        "--predicates", nargs="+", choices=PREDICATES, default=PREDICATES, help="kinds of queries (all)"
    )
    parser.add_argument("--quick", action="store_true", help="a tiny made-up table: shows that it still runs")
    parser.add_argument("--document", type=Path, help="put the tables into this document, and the picture beside it")
    parser.add_argument("--json", type=Path, help="results: read first, and written after every run")
    return parser.parse_args(arguments)


def _all(options: argparse.Namespace, report: Report) -> Iterator[tuple[str, Report]]:
    """Yield what is not on file: releases, methods table by table, and the cost."""
    if "releases" in options.parts:
        for one in _releases(options, report["releases"]):
            yield "releases", one
    if "methods" in options.parts:
        for one in _methods(options, report["methods"]):
            yield "methods", one
    if "cost" in options.parts:
        for one in cost.measure(options.rho, quick=options.quick, known=report["cost"]):
            yield "cost", one


def _releases(options: argparse.Namespace, known: list[Report]) -> Iterator[Report]:
    runs = range(1 if options.quick else options.runs)
    done = {(_order(one)[:-1], one["run"]) for one in known}
    for table in tables(options.tables, quick=options.quick):
        effort = releases.MILLION if table.name == MADE_UP else releases.FULL
        for width, predicate in product(table.widths, options.predicates):
            left = [run for run in runs if (_order_of(table.name, width, predicate), run) not in done]
            if left and not _needs_more(predicate, width):
                yield from releases.runs(
                    table, width, predicate, options.rho, releases.QUICK if options.quick else effort, left
                )


def _needs_more(predicate: str, width: int) -> bool:
    """Return whether at least so many cannot hold."""
    return predicate.startswith("atleast:") and int(predicate.removeprefix("atleast:")) > width


def _methods(options: argparse.Namespace, known: list[Report]) -> Iterator[Report]:
    effort = methods.QUICK if options.quick else methods.FULL
    names = [MADE_UP] if options.quick else [one for one in options.tables or NAMES if one != MADE_UP]
    done = {one["table"] for one in known}
    for table in tables([name for name in names if name not in done], quick=options.quick):
        yield from methods.measure(table, options.rho, effort, _tell)


def _tell(text: str) -> None:
    print(text, flush=True)


def _order(one: Report) -> tuple[int, int, int, int]:
    """Return by what results are sorted; runs and methods of a case stay in their order."""
    return (*_order_of(one["table"], one["k"], one["predicate"]), one.get("run", 0))


def _order_of(table: str, width: int, predicate: str) -> tuple[int, int, int]:
    return NAMES.index(table), width, PREDICATES.index(predicate)


def _rounded(value: Any) -> Any:
    """Return JSON with five significant digits."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return value


def _write(path: Path, report: Report) -> None:
    """Write one result a line, after the other figures."""
    plain = {key: value for key, value in report.items() if key not in PARTS}
    parts = [
        f' "{part}": [\n  ' + ",\n  ".join(map(json.dumps, report[part])) + "\n ]" if report[part] else f' "{part}": []'
        for part in PARTS
    ]
    text = json.dumps(plain, indent=1)[:-2] + ",\n" + ",\n".join(parts) + "\n}\n"
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
