"""`python -m experiments.hay_2010`: Figures 3, 5, 6 and 7 of Hay et al. 2010 and their theorems, with the data at hand."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from experiments.experiment import present, write_report
from experiments.hay_2010 import degrees, theory, unattributed, universal, wavelets
from experiments.hay_2010.degrees import degree_tables
from experiments.hay_2010.pictures import draw
from experiments.hay_2010.range_tables import range_tables, theorem_4_table
from experiments.hay_2010.sequence_tables import bound_table, error_tables, example_table, position_table
from experiments.hay_2010.sets import POSITIONS_OF, SortedCounts, ranged_histograms, sorted_counts
from experiments.machine import describe_circumstances
from experiments.tables import MissingDataError

Result = dict[str, Any]

PARTS: dict[str, Callable[[Any], Iterator[str]]] = {
    "example": example_table,
    "unattributed": error_tables,
    "degrees": degree_tables,
    "bound": bound_table,
    "positions": position_table,
    "universal": range_tables,
    "theorem_4": theorem_4_table,
    "wavelets": wavelets.wavelet_tables,
}
"""The parts, and what writes their tables."""
BUDGETS = (0.01, 0.1, 1.0)
LEVELS, DRAWN_LEVELS, DRAWS = range(4, 17), 10, 20_000
BOUND_DRAWS, DEGREE_DRAWS = 500, 5


def main(arguments: list[str] | None = None) -> int:
    """Measure the parts and print their tables."""
    options = _options(arguments)
    if options.quick:
        options.runs, options.ranges = 2, 20
    report: dict[str, Any] = {**describe_circumstances(), "runs": options.runs, "quick": options.quick}
    report |= {"ranges": options.ranges, "seconds": {}}
    if options.json is not None and options.json.exists():
        on_file = json.loads(options.json.read_text(encoding="utf-8"))
        if all(on_file[name] == report[name] for name in ("quick", "runs", "ranges")):
            report |= {part: on_file[part] for part in (*PARTS, "seconds") if part in on_file}
    try:
        for part in options.parts:
            started = perf_counter(), process_time()
            report[part] = _measure(part, options)
            report["seconds"][part] = [
                round(clock() - start, 1) for clock, start in zip((perf_counter, process_time), started, strict=True)
            ]
            write_report(options.json, report)
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 2
    present(report, markdown(report), options.document)
    if options.document is not None:
        draw(report, options.document.parent)
    return 0


def markdown(report: dict[str, Any]) -> Iterator[str]:
    """Yield the tables of the parts that were measured."""
    for name, tables in PARTS.items():
        if name in report:
            yield from tables(report[name])
    seconds = ", ".join(f"{name} {wall:,.0f} ({busy:,.0f})" for name, (wall, busy) in report["seconds"].items())
    yield f"Seconds by part, of the processor in brackets: {seconds}."


def _measure(part: str, options: argparse.Namespace) -> Any:
    if part == "example":
        return unattributed.measure_example(200 if options.quick else unattributed.EXAMPLE_SAMPLES)
    if part == "theorem_4":
        levels = range(4, 7) if options.quick else LEVELS
        draws = 200 if options.quick else DRAWS
        return list(theory.theorem_4(levels, levels[-1] if options.quick else DRAWN_LEVELS, draws))
    if part == "wavelets":
        return [
            wavelets.measure(bins, 200 if options.quick else 2_000)
            for bins in ((16,) if options.quick else (256, 1024))
        ]
    found = []
    measured = {
        "unattributed": _unattributed,
        "degrees": _degrees,
        "bound": _bounds,
        "positions": _positions,
        "universal": _universal,
    }[part]
    for result in measured(options):
        print(part, result["set"], result.get("epsilon", ""), file=sys.stderr, flush=True)
        found.append(result)
    return found


def _unattributed(options: argparse.Namespace) -> Iterator[Result]:
    for given, sensitivity, epsilon in _noises(options):
        yield unattributed.measure(given, epsilon, sensitivity, options.runs)


def _degrees(options: argparse.Namespace) -> Iterator[Result]:
    graphs = [given for given in sorted_counts(quick=options.quick) if given.graph]
    for given, epsilon, gaussian in product(graphs, BUDGETS, (False, True)):
        yield degrees.measure(given, epsilon, 2 if options.quick else DEGREE_DRAWS, gaussian=gaussian)


def _bounds(options: argparse.Namespace) -> Iterator[Result]:
    for given, sensitivity, epsilon in _noises(options):
        yield unattributed.measure_bound(given, epsilon, sensitivity, 2 if options.quick else BOUND_DRAWS)


def _noises(options: argparse.Namespace) -> Iterator[tuple[SortedCounts, int, float]]:
    """Yield counts, sensitivity and epsilon: for degrees the sensitivity of the paper, 1, and the one that is right, 2."""
    for given in sorted_counts(quick=options.quick):
        yield from product([given], (1, 2) if given.graph else (1,), BUDGETS)


def _positions(options: argparse.Namespace) -> Iterator[Result]:
    for given in sorted_counts(quick=options.quick):
        if options.quick or given.name in POSITIONS_OF:
            yield unattributed.measure_positions(given, 4 if options.quick else unattributed.POSITION_SAMPLES)


def _universal(options: argparse.Namespace) -> Iterator[Result]:
    for histogram in ranged_histograms(quick=options.quick):
        for epsilon in BUDGETS:
            yield universal.measure(histogram, epsilon, options.runs, options.ranges)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.hay_2010")
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=PARTS,
        default=list(PARTS),
        help="some of the parts; the others stay as on file (all)",
    )
    parser.add_argument("--runs", type=int, default=50, help="draws of each method (50)")
    parser.add_argument("--ranges", type=int, default=1000, help="ranges of each size in each draw (1,000)")
    parser.add_argument("--quick", action="store_true", help="made-up counts: shows that it still runs")
    parser.add_argument("--document", type=Path, help="put the tables into this document, and pictures beside it")
    parser.add_argument("--json", type=Path, help="results: other parts are kept, and each is written when it is done")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
