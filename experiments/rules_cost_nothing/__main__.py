"""`python -m experiments.rules_cost_nothing`: the same run with and without rules on records, table by table."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from dpopt.cli.pictures import COLOURS, logarithmic
from dpopt.schema.schema import Schema
from experiments.documents import table
from experiments.experiment import Report, Result, carry_out, parser_of
from experiments.narrow import narrow_picture
from experiments.rules_cost_nothing.plain_checks import violations
from experiments.runs import run_dpopt, spread, spread_text
from experiments.tables import Table, prepare

COLUMNS = ["table | rules | T | s | rows that break a rule | distinct records | max error", "mean error | seconds"]


@dataclass(frozen=True, slots=True)
class Case:
    """One table, its workload, and how many rows are written."""

    name: str
    epsilon: float
    workload: str | None
    rows: int


CASES = (
    Case("nist-acs", 1.0, None, 27_253),
    Case("adult-raw", 1.0, "marginals:3", 32_561),
    Case("tic-tac-toe", 1.0, "marginals:2", 958),
)


def main(arguments: list[str] | None = None) -> int:
    """Measure every table with and without its rules and print the table."""
    return carry_out(parser_of("rules_cost_nothing", runs=5), arguments, {"rows": _rows}, markdown, draw=_draw)


def _rows(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    for case in CASES[2:] if options.quick else CASES:
        with tempfile.TemporaryDirectory(prefix="dpopt-experiment-") as place:
            yield from _measure(case, Path(place), runs=options.runs, quick=options.quick)


def _draw(report: Report, folder: Path) -> None:
    draw(report["rows"], folder / "errors.svg")


def _measure(case: Case, folder: Path, *, runs: int, quick: bool) -> list[dict[str, Any]]:
    """Return one row per variant; the variants take turns, so that a busy machine disturbs both alike."""
    made = prepare(f"{case.name}-rules", folder, quick=quick)
    schemas = {"with": made.schema, "without": _without_rules(made.schema, folder)}
    workload = case.workload or str(_all_pairs_and_some_triples(made.schema, folder))
    budget = ["--epsilon", "1e6", "--rounds", "3"] if quick else ["--epsilon", str(case.epsilon)]
    found: dict[str, list[dict[str, Any]]] = {variant: [] for variant in schemas}
    for _ in range(runs):
        for variant, schema in schemas.items():
            rows = min(case.rows, made.rows)
            found[variant].append(_one(case.name, made, schema, workload, budget=budget, rows=rows, folder=folder))
    return [_summary(case.name, variant, results) for variant, results in found.items()]


def _one(
    name: str, made: Table, schema: Path, workload: str, *, budget: Sequence[str], rows: int, folder: Path
) -> dict[str, Any]:
    out = folder / "release"
    shutil.rmtree(out, ignore_errors=True)
    command = [
        "release",
        str(made.path),
        "--schema",
        str(schema),
        "--algorithm",
        "dualquery",
        "--neighbours",
        "replace",
        "--workload",
        workload,
        "--out",
        str(out),
        "--quiet",
    ]
    process = run_dpopt([*command, "--delta", "1e-9", "--no-predict", "--rows", str(rows), *budget])
    errors = json.loads(run_dpopt(["evaluate", str(out), str(made.path), "--json"]).output)
    statement = json.loads((out / "release.json").read_text(encoding="utf-8"))
    return {
        "rounds": statement["plan"]["rounds"],
        "draws": statement["plan"]["draws"],
        "violations": violations(name, out / statement["records"]["file"]),
        "rows": statement["records"]["rows"],
        "distinct": statement["records"]["distinct"],
        "max_error": errors["max_error"],
        "mean_error": errors["mean_error"],
        "seconds": process.seconds,
        "queries": statement["workload"]["queries"],
    }


def _summary(name: str, variant: str, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    first = results[0]
    figures = ("violations", "distinct", "max_error", "mean_error", "seconds")
    return {
        "table": name,
        "variant": variant,
        **{key: first[key] for key in ("rounds", "draws", "rows", "queries")},
        **{key: spread(float(result[key]) for result in results) for key in figures},
    }


def _without_rules(schema: Path, folder: Path) -> Path:
    declared = json.loads(schema.read_text(encoding="utf-8"))
    declared.pop("rules")
    path = folder / "without-rules.json"
    path.write_text(json.dumps(declared), encoding="utf-8")
    return path


def _all_pairs_and_some_triples(schema: Path, folder: Path) -> Path:
    """Write the workload of all two-way and 1,000 random three-way marginals; public choice, seed 0."""
    names = list(Schema.read(schema).names)
    pairs, triples = list(combinations(names, 2)), list(combinations(names, 3))
    chosen = np.random.default_rng(0).choice(len(triples), size=min(1000, len(triples)), replace=False)
    marginals = [list(one) for one in pairs] + [list(triples[number]) for number in sorted(chosen.tolist())]
    path = folder / "workload.json"
    path.write_text(json.dumps({"dpopt_workload": 1, "marginals": marginals}), encoding="utf-8")
    return path


def markdown(report: Report) -> Iterator[str]:
    """Yield the lines of the table: medians, errors with their range."""
    yield from table(COLUMNS, map(_cells, report["rows"]))


def _cells(row: Result) -> list[object]:
    broken = f"{row['violations']['median']:,.0f} of {row['rows']:,}"
    cells = [row["table"], row["variant"], row["rounds"], row["draws"], broken, f"{row['distinct']['median']:,.0f}"]
    errors = (spread_text(row["max_error"]), spread_text(row["mean_error"]))
    return [*cells, *errors, f"{row['seconds']['median']:.1f}"]


def draw(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw mean errors with and without rules, and the share of rows that break a rule."""
    names = list(dict.fromkeys(row["table"] for row in rows))
    with narrow_picture(path, 4.2, 2, 1) as ((above,), (below,)):
        for shift, variant, colour in ((-0.15, "with", COLOURS[0]), (0.15, "without", COLOURS[1])):
            chosen = [row for row in rows if row["variant"] == variant]
            places = np.arange(len(names)) + shift
            middle, low, high = ([row["mean_error"][key] for row in chosen] for key in ("median", "least", "largest"))
            above.hlines(places, low, high, color=colour, linewidth=2)
            above.plot(middle, places, "o", color=colour, markersize=6)
            above.text(1.25 * high[-1], places[-1], f"{variant} rules", color=colour, va="center")
            shares = [100 * row["violations"]["median"] / row["rows"] for row in chosen]
            below.barh(places, shares, 0.28, color=colour)
            for place, share in zip(places, shares, strict=True):
                below.text(share + 2, place, f"{share:.0f} %, {variant} rules", color=colour, va="center")
        above.set(xlabel="mean error: median and range of runs (log)", xlim=(0.0005, 0.5), xscale="log")
        logarithmic(above.xaxis, [0.001, 0.01, 0.1])
        below.set(xlabel="rows that break a rule, per cent", xlim=(0, 160), xticks=range(0, 101, 25))
        for axes in (above, below):
            axes.set_yticks(range(len(names)), names)
            axes.set_ylim(len(names) - 0.5, -0.5)
            axes.grid(visible=False, axis="y")


if __name__ == "__main__":
    sys.exit(main())
