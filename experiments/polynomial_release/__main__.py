"""`python -m experiments.polynomial_release`: errors and cost of summaries, beside predictions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from experiments.experiment import Measure, Report, Result, carry_out, parser_of, rounded
from experiments.polynomial_release import cost, releases
from experiments.polynomial_release.markdown import markdown
from experiments.polynomial_release.picture import draw
from experiments.polynomial_release.tables import MADE_UP, NAMES, tables

PREDICATES = ("and", "or", "atleast:2", "atleast:3", "atleast:4")
PICTURE, DIGITS = "cost.svg", 5


def main(arguments: list[str] | None = None) -> int:
    """Measure what is not on file yet, and print the tables."""
    parser = parser_of("polynomial_release", runs=5)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS), help="some of the parts (all)")
    parser.add_argument("--rho", type=float, default=0.1, help="budget in zCDP (.1)")
    parser.add_argument("--tables", nargs="+", choices=NAMES, help="some of the tables (all)")
    parser.add_argument(
        "--predicates", nargs="+", choices=PREDICATES, default=PREDICATES, help="kinds of queries (all)"
    )
    return carry_out(parser, arguments, PARTS, markdown, continues=True, draw=_draw)


def _draw(report: Report, folder: Path) -> None:
    draw(report["cost"], folder / PICTURE)


def _releases(options: argparse.Namespace, known: list[Result]) -> Iterator[Result]:
    if "releases" not in options.parts:
        return
    done = {(_order(one)[:-1], one["run"]) for one in known}
    for table in tables(options.tables, quick=options.quick):
        effort = releases.MILLION if table.name == MADE_UP else releases.FULL
        for width, predicate in product(table.widths, options.predicates):
            left = [run for run in range(options.runs) if (_order_of(table.name, width, predicate), run) not in done]
            if left and not _needs_more(predicate, width):
                effort = releases.QUICK if options.quick else effort
                for one in releases.runs(table, width, predicate, options.rho, effort, left):
                    yield rounded(one, DIGITS)
    known.sort(key=_order)


def _needs_more(predicate: str, width: int) -> bool:
    """Return whether at least so many cannot hold."""
    return predicate.startswith("atleast:") and int(predicate.removeprefix("atleast:")) > width


def _cost(options: argparse.Namespace, known: list[Result]) -> Iterator[Result]:
    if "cost" in options.parts:
        for one in cost.measure(options.rho, quick=options.quick, known=list(known)):
            yield rounded(one, DIGITS)


def _order(one: Result) -> tuple[int, int, int, int]:
    """Return by what results are sorted."""
    return (*_order_of(one["table"], one["k"], one["predicate"]), one.get("run", 0))


def _order_of(table: str, width: int, predicate: str) -> tuple[int, int, int]:
    return NAMES.index(table), width, PREDICATES.index(predicate)


PARTS: dict[str, Measure] = {"releases": _releases, "cost": _cost}


if __name__ == "__main__":
    sys.exit(main())
