"""`python -m experiments.answers_cover`: how often intervals of answers hold the figures of the table, and how wide they are."""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
from collections.abc import Iterator, Sequence

import numpy as np

from experiments import documents
from experiments.answers_cover.measuring import measured
from experiments.answers_cover.questions import KINDS, OUTER
from experiments.experiment import Report, Result, carry_out, parser_of
from experiments.one_estimator.tables import QUICK, TABLES

EPSILONS = (0.1, 1.0, 10.0)
PLAYS, REDRAWS = 5, 50
"""Of one batch."""


def main(arguments: list[str] | None = None) -> int:
    """Measure the draws that are not on file."""
    parser = parser_of("answers_cover", runs=10)
    parser.add_argument(
        "--tables", nargs="+", choices=TABLES, default=list(TABLES), metavar="TABLE", help="some of them"
    )
    parser.add_argument("--epsilon", nargs="+", type=float, default=list(EPSILONS), help="budgets (all three)")
    parser.add_argument("--processes", type=int, default=1, help="settings measured at a time (1)")
    return carry_out(parser, arguments, {"rows": _rows}, markdown, continues=True)


def _rows(options: argparse.Namespace, known: list[Result]) -> Iterator[Result]:
    if options.quick:
        yield measured((QUICK, 1.0, 1, 2, 0))
        return
    batches = -(-options.runs // PLAYS)
    held = {(row["table"], row["epsilon"], row["seed"]) for row in known}
    missing = [
        (name, epsilon, PLAYS, REDRAWS, seed)
        for seed, epsilon, name in itertools.product(range(batches), options.epsilon, options.tables)
        if (name, epsilon, seed) not in held
    ]
    if options.processes == 1:
        yield from map(measured, missing)
        return
    with multiprocessing.get_context("spawn").Pool(options.processes, maxtasksperchild=12) as pool:
        yield from pool.imap_unordered(measured, missing)


def totals(rows: Sequence[Result], part: str, label: str) -> np.ndarray:
    """Return how many intervals held, of how many, how many were unbounded, and figures by the rows, (4,)."""
    found = [row[part][label].split() for row in rows if label in row[part]]
    return np.sum(np.array([[0] * 4, *found], dtype=np.int64), axis=0)


def markdown(report: Report) -> Iterator[str]:
    """Yield the tables of the document."""
    rows = report["rows"]
    labels = [label for one in (*KINDS, OUTER) for label in (one, f"{one}, small")]
    entries = []
    for label, epsilon in itertools.product(labels, sorted({row["epsilon"] for row in rows})):
        own = [row for row in rows if row["epsilon"] == epsilon]
        held, number, unbounded, by_rows = totals(own, "fixed", label)
        whole = totals(own, "whole", label)
        if number:
            entries.append([label, f"{epsilon:g}", number, f"{held / number:.4f}", unbounded, by_rows, f"{whole[0] / max(1, whole[1]):.4f}"])
    yield from documents.table(["figures", "epsilon", "intervals", "hold", "unbounded", "by the rows", "of whole plays hold"], entries)


if __name__ == "__main__":
    sys.exit(main())
