"""`python -m experiments.ablations`: errors of default releases without one part of the estimate at a time."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator

import numpy as np

from experiments import documents
from experiments.ablations.measuring import FIGURES, NONE, WITHOUT, measured
from experiments.error_falls.tables import TABLES, TINY
from experiments.experiment import Report, Result, carry_out, in_processes, over_tables

EPSILONS = (0.1, 1.0)
USUAL = ("compas", "titanic", "car", "factorial 0", "independent 0", "trend 3", "classes 0")


def main(arguments: list[str] | None = None) -> int:
    """Measure the settings that are not on file."""
    parser = over_tables("ablations", (*TABLES, *TINY), EPSILONS, runs=6)
    parser.set_defaults(tables=USUAL)
    return carry_out(parser, arguments, {"rows": _rows}, markdown, continues=True)


def _rows(options: argparse.Namespace, found: list[Result]) -> Iterator[Result]:
    tables, epsilons = (("tiny functional",), (10.0,)) if options.quick else (options.tables, options.epsilon)
    held = {(row["without"], row["table"], row["epsilon"]) for row in found}
    settings = [(*one, options.runs) for one in itertools.product(WITHOUT, tables, epsilons) if one not in held]
    yield from in_processes(options, measured, settings)


def markdown(report: Report) -> Iterator[str]:
    """Yield errors over those of whole releases: geometric means of tables, and of each table those of two columns."""
    found = {(row["without"], row["table"], row["epsilon"]): row for row in report["rows"]}
    tables = list(dict.fromkeys(name for _, name, _ in found))
    overall, each = [], []
    for epsilon, without in itertools.product(sorted({key[2] for key in found}), WITHOUT):
        ratios = np.array([_ratios(found[NONE, name, epsilon], found[without, name, epsilon]) for name in tables])
        means = np.exp(np.log(ratios).mean(axis=0))
        overall.append([f"{epsilon:g}", without, *(f"{mean:.3f}" for mean in means)])
        each.append([f"{epsilon:g}", without, *(f"{ratio:.2f}" for ratio in ratios[:, 1])])
    yield from documents.captioned("Geometric means over tables:", ["epsilon", "without", *FIGURES], overall)
    yield from documents.captioned("Two columns of each table:", ["epsilon", "without", *tables], each)
    whole = [
        [name, f"{epsilon:g}", *(f"{row[figure]:.4g}" for figure in FIGURES)]
        for (without, name, epsilon), row in found.items()
        if without == NONE
    ]
    yield from documents.captioned("Errors of whole releases:", ["table", "epsilon", *FIGURES], whole)


def _ratios(whole: Result, part: Result) -> list[float]:
    return [part[figure] / whole[figure] for figure in FIGURES]


if __name__ == "__main__":
    sys.exit(main())
