"""`python -m experiments.multiplicative_weights`: pmw and mwem on marginals of Adult and on parities, beside others."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpopt.algorithms.request import Terms
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.schema import Schema
from experiments.documents import circumstances, write_results
from experiments.labels import options_of
from experiments.machine import describe_circumstances
from experiments.multiplicative_weights.binary_adult import bits
from experiments.multiplicative_weights.measure import measure
from experiments.tables import MissingDataError, load_peers

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

Report = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Measure what is not on file yet, and print the tables."""
    options = _options(arguments)
    report: Report = {**describe_circumstances(), "runs": options.runs, "quick": options.quick, "results": []}
    if options.json is not None and options.json.exists():
        report = json.loads(options.json.read_text(encoding="utf-8"))
        if report["quick"] != options.quick:
            print(f"{options.json} holds other results; name another file")
            return 2
    try:
        for result in _results(options, report["results"]):
            report["results"].append(result)
            print(json.dumps(result), flush=True)
            if options.json is not None:
                options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 2
    lines = table(report["results"])
    print("\n".join(lines))
    if options.document is not None:
        write_results(options.document, [circumstances(report), "", *lines])
    return 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.multiplicative_weights")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="some of the parts")
    parser.add_argument("--runs", type=int, default=3, help="runs of each case (3)")
    parser.add_argument("--quick", action="store_true", help="made-up records and one budget")
    parser.add_argument("--document", type=Path, help="put the table into this document")
    parser.add_argument("--json", type=Path, help="results: read first, and written after every run")
    return parser.parse_args(arguments)


def _results(options: argparse.Namespace, known: Sequence[Report]) -> Iterator[Report]:
    done = {tuple(one[key] for key in ("part", "epsilon", "algorithm", "run")) for one in known}
    for part in options.parts:
        text, cases, budgets, neighbours = PARTS[part]
        schema, dataset, size = _table(part, quick=options.quick)
        workload = parse_workload(text, schema)
        for run in range(1 if options.quick else options.runs):
            for epsilon in (50.0,) if options.quick else budgets:
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
                    yield {"part": part, "epsilon": epsilon, "algorithm": name, "run": run, **_rounded(found)}


def _table(part: str, *, quick: bool) -> tuple[Schema, PrivateDataset, int]:
    if part == "parities" or quick:
        return bits(6 if quick else 20, quick=quick)
    schema, codes = load_peers("adult-gem-7")
    columns = [np.ascontiguousarray(column) for column in codes.T]
    return schema, PrivateDataset.from_codes(schema, columns), len(codes)


def table(results: Sequence[Report]) -> list[str]:
    """Return a table of mean errors over the runs, one line for each part, budget and algorithm."""
    lines = [
        "| part | epsilon | algorithm | runs | largest error | mean error | rounds | proven | spent | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for part, (_, cases, _, _) in PARTS.items():
        for epsilon in sorted({one["epsilon"] for one in results if one["part"] == part}):
            for name in cases:
                labels = (part, epsilon, name)
                runs = [one for one in results if (one["part"], one["epsilon"], one["algorithm"]) == labels]
                if runs:
                    lines.append(_line(*labels, runs))
    return lines


def _line(part: str, epsilon: float, name: str, runs: Sequence[Report]) -> str:
    largest, mean = (statistics.mean(one[key] for one in runs) for key in ("max_error", "mean_error"))
    seconds = statistics.median(one["seconds"] for one in runs)
    first = runs[0]
    rounds = "" if "rounds" not in first else f"{first['rounds']} of {first['planned']}"
    proven = ""
    if first.get("bound") is not None:
        proven = f"{first['bound']:.3g}" + (" if it stops early" if first["bound_if"] else "")
    return (
        f"| {part} | {epsilon:g} | {name} | {len(runs)} | {largest:.4f} | {mean:.6f} | {rounds} | {proven} | "
        f"{first['epsilon_spent']:.3g} | {seconds:.1f} |"
    )


def _rounded(found: Report) -> Report:
    return {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in found.items()}


if __name__ == "__main__":
    sys.exit(main())
