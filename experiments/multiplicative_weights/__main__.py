"""`python -m experiments.multiplicative_weights`: pmw and mwem on marginals of Adult and on parities, beside others."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dpopt.algorithms.request import Terms
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.schema import Schema
from experiments.documents import table
from experiments.experiment import Report, Result, carry_out, parser_of, rounded
from experiments.labels import options_of
from experiments.multiplicative_weights.binary_adult import bits
from experiments.multiplicative_weights.measure import measure
from experiments.tables import load_seven_of_adult

Cases = Mapping[str, Mapping[str, Any]]
MARGINALS: Cases = {
    "mwem": {"algorithm": "mwem"},
    "mwem, single queries": {"algorithm": "mwem", "select": "queries"},
    "mwem, step of the paper, replays": {"algorithm": "mwem", "update": "mwem", "replays": 10},
    "projection": options_of("projection"),
    "adaptive": options_of("adaptive"),
}
REMOVED = "mwem, exact projections"
"""An update that dpopt had once: its figures stay, and are not measured again."""
PARITIES: Cases = {
    "pmw": {"algorithm": "pmw"},
    "pmw, planned by the bound": {"algorithm": "pmw", "plan_by": "bound"},
    "mwem": {"algorithm": "mwem"},
    REMOVED: {},
    "mwem, step of the paper": {"algorithm": "mwem", "update": "mwem", "replays": 0, "average": True},
    "projection": options_of("projection"),
    "dualquery": {"algorithm": "dualquery"},
}
PARTS: Mapping[str, tuple[str, Cases, tuple[float, ...], str]] = {
    "adult7": ("marginals:3", MARGINALS, (1.0, 0.1), "add-remove"),
    "parities": ("parity:3", PARITIES, (1.0,), "replace"),
}


def main(arguments: list[str] | None = None) -> int:
    """Measure what is not on file yet, and print the tables."""
    parser = parser_of("multiplicative_weights", runs=3)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="some of the parts")
    return carry_out(parser, arguments, {"results": _results}, markdown, continues=True)


def _results(options: argparse.Namespace, known: list[Result]) -> Iterator[Result]:
    done = {tuple(one[key] for key in ("part", "epsilon", "algorithm", "run")) for one in known}
    for part in options.parts:
        text, cases, budgets, neighbours = PARTS[part]
        schema, dataset, size = _table(part, quick=options.quick)
        workload = parse_workload(text, schema)
        for run in range(options.runs):
            for epsilon in (1.0,) if options.quick else budgets:
                for name, chosen in cases.items():
                    if name == REMOVED or (part, epsilon, name, run) in done:
                        continue
                    settings = Terms.of(
                        epsilon=epsilon,
                        delta=float(f"{1 / size**2:.4g}"),
                        neighbours=neighbours,
                        n0=size if neighbours == "add-remove" else None,
                        predict=False,
                        seed=run,
                        **chosen,
                    )
                    found = measure(dataset, schema, workload, size, settings)
                    yield {"part": part, "epsilon": epsilon, "algorithm": name, "run": run, **rounded(found)}


def _table(part: str, *, quick: bool) -> tuple[Schema, PrivateDataset, int]:
    if part == "parities" or quick:
        return bits(5 if quick else 20, quick=quick)
    schema, codes = load_seven_of_adult()
    columns = [np.ascontiguousarray(column) for column in codes.T]
    return schema, PrivateDataset.from_codes(schema, columns), len(codes)


def markdown(report: Report) -> Iterator[str]:
    """Yield a table of mean errors over the runs, one line for each part, budget and algorithm."""
    titles = ["part | epsilon | algorithm | runs | largest error | mean error | rounds | proven", "spent | seconds"]
    yield from table(titles, _lines(report["results"]))


def _lines(results: Sequence[Result]) -> Iterator[list[object]]:
    for part, (_, cases, _, _) in PARTS.items():
        for epsilon in sorted({one["epsilon"] for one in results if one["part"] == part}):
            for name in cases:
                labels = (part, epsilon, name)
                runs = [one for one in results if (one["part"], one["epsilon"], one["algorithm"]) == labels]
                if runs:
                    yield _line(*labels, runs)


def _line(part: str, epsilon: float, name: str, runs: Sequence[Result]) -> list[object]:
    largest, mean = (statistics.mean(one[key] for one in runs) for key in ("max_error", "mean_error"))
    seconds = statistics.median(one["seconds"] for one in runs)
    first = runs[0]
    rounds = "" if "rounds" not in first else f"{first['rounds']} of {first['planned']}"
    proven = ""
    if first.get("bound") is not None:
        proven = f"{first['bound']:.3g}" + (" if it stops early" if first["bound_if"] else "")
    cells = [part, f"{epsilon:g}", name, len(runs), f"{largest:.4f}", f"{mean:.6f}", rounds, proven]
    return [*cells, f"{first['epsilon_spent']:.3g}", f"{seconds:.1f}"]


if __name__ == "__main__":
    sys.exit(main())
