"""The loop that experiments share: options, results kept in a file, tables printed and put into a document."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from experiments.documents import circumstances, write_results
from experiments.machine import describe_circumstances
from experiments.tables import MissingDataError

Result = dict[str, Any]
Report = dict[str, Any]
Measure = Callable[[argparse.Namespace, list[Result]], Iterable[Result]]
"""Yields results of one part, from the options and the results of that part on file."""
_Measured = TypeVar("_Measured")


def parser_of(name: str, *, runs: int | None = None) -> argparse.ArgumentParser:
    """Return a parser with the options of all experiments, and --runs where a number of runs is usual."""
    parser = argparse.ArgumentParser(prog=f"python -m experiments.{name}")
    parser.set_defaults(runs=1)
    if runs is not None:
        parser.add_argument("--runs", type=int, default=runs, help=f"runs of each case ({runs})")
    parser.add_argument("--quick", action="store_true", help="tiny made-up data and one run: shows that it still runs")
    parser.add_argument("--document", type=Path, help="put the tables into this document, and pictures beside it")
    parser.add_argument("--json", type=Path, help="results, written after every one")
    return parser


def over_tables(name: str, tables: Iterable[str], epsilons: Sequence[float], *, runs: int) -> argparse.ArgumentParser:
    """Return the parser of an experiment over tables and budgets, whose settings `in_processes` measures."""
    parser, named = parser_of(name, runs=runs), list(tables)
    parser.add_argument("--tables", nargs="+", choices=named, default=named, metavar="TABLE", help="some of them")
    parser.add_argument("--epsilon", nargs="+", type=float, default=list(epsilons), help="budgets (all)")
    parser.add_argument("--processes", type=int, default=1, help="settings measured at a time (1)")
    return parser


def in_processes(
    options: argparse.Namespace, measure: Callable[[Any], _Measured], settings: Sequence[Any]
) -> Iterator[_Measured]:
    """Yield what is measured of each setting, by as many processes as `over_tables` was asked for."""
    if options.processes == 1 or not settings:
        yield from map(measure, settings)
        return
    with multiprocessing.get_context("spawn").Pool(options.processes, maxtasksperchild=12) as pool:
        yield from pool.imap_unordered(measure, settings)


def carry_out(
    parser: argparse.ArgumentParser,
    arguments: list[str] | None,
    measures: Mapping[str, Measure],
    markdown: Callable[[Report], Iterable[str]],
    *,
    continues: bool = False,
    draw: Callable[[Report, Path], None] | None = None,
    failed: Callable[[Report], bool] | None = None,
) -> int:
    """Measure each part, print the tables, and return the exit code: 2 if data are missing or a file has other results.

    With `continues`, results that --json names are read first, and a part yields what is not among them. `draw` gets the
    folder of the document. The exit code is 1 if the results have `failed`.
    """
    options = parser.parse_args(arguments)
    if options.quick:
        options.runs = 1
    report: Report = {**describe_circumstances(), "runs": options.runs, "quick": options.quick}
    if continues and options.json is not None and options.json.exists():
        report = json.loads(options.json.read_text(encoding="utf-8"))
        if report["quick"] != options.quick:
            print(f"{options.json} holds other results (quick: {report['quick']}); name another file", file=sys.stderr)
            return 2
        report["runs"] = max(report["runs"], options.runs)
    report = {**dict.fromkeys(measures), **report}
    try:
        for part, measure in measures.items():
            report[part] = report.get(part) or []
            for result in measure(options, report[part]):
                report[part].append(result)
                print(json.dumps(result), flush=True)
                write_report(options.json, report)
            write_report(options.json, report)
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 2
    present(report, markdown(report), options.document)
    if options.document is not None and draw is not None:
        draw(report, options.document.parent)
    return int(failed is not None and failed(report))


def present(report: Report, lines: Iterable[str], document: Path | None) -> None:
    """Print tables, and put them into a document, where one is named, below what they were measured on."""
    listed = list(lines)
    print("\n".join(listed))
    if document is not None:
        write_results(document, [circumstances(report), "", *listed])


def on_file(options: argparse.Namespace, part: str) -> list[Result]:
    """Return the results of a part that are in the file that --json names."""
    if options.json is None or not options.json.exists():
        return []
    return list(json.loads(options.json.read_text(encoding="utf-8"))[part])


def write_report(path: Path | None, report: Report) -> None:
    """Write results as JSON, where a file is named for them."""
    if path is not None:
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def rounded(value: Any, digits: int = 4) -> Any:
    """Return JSON with so many significant digits."""
    if isinstance(value, dict):
        return {key: rounded(part, digits) for key, part in value.items()}
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value
