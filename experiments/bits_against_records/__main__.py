"""`python -m experiments.bits_against_records`: valid records, beside the kept figures of the paper's free bits."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.documents import circumstances, write_results
from experiments.machine import describe_circumstances
from experiments.runs import run_releases, summarize
from experiments.tables import Table, prepare

PRIVACY = ["--epsilon", "1", "--delta", "1e-3"]
PAPER = ["--step", "2", "--draws", "1000"]
COLUMNS = ("variant", "accountant", "encoding", "T", "s", "eta", "max error", "mean error", "decode", "seconds")


@dataclass(frozen=True, slots=True)
class Variant:
    """One row of the table: a name and the options that make it."""

    name: str
    options: Sequence[str]


VARIANTS = (
    Variant("valid records, paper's parameters, zCDP", ["--accountant", "zcdp", *PAPER]),
    Variant("dpopt's default", []),
)


def main(arguments: list[str] | None = None) -> int:
    """Measure every variant on both tables and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.bits_against_records")
    parser.add_argument("--runs", type=int, default=5, help="runs of each variant (5)")
    parser.add_argument("--quick", action="store_true", help="tiny made-up tables: shows that it still runs")
    parser.add_argument("--document", type=Path, help="put the tables into this document")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    options = parser.parse_args(arguments)
    runs = 1 if options.quick else options.runs
    report: dict[str, Any] = {**describe_circumstances(), "runs": runs, "quick": options.quick}
    lines = [circumstances(report), ""]
    for name in ["adult-coded"] if options.quick else ["adult-coded", "kdd99-coded"]:
        with tempfile.TemporaryDirectory(prefix="dpopt-experiment-") as place:
            folder = Path(place)
            table = prepare(name, folder, quick=options.quick)
            report[name] = _measure(table, folder, runs=runs, quick=options.quick)
        rows = [*markdown(name, report[name]), ""]
        print("\n".join(rows), flush=True)
        lines += rows
        if options.json is not None:
            options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.document is not None:
        write_results(options.document, lines[:-1])
    return 0


def _measure(table: Table, folder: Path, *, runs: int, quick: bool) -> dict[str, dict[str, Any]]:
    workload = f"conjunctions:3,count={300 if quick else 500_000},seed=7"
    privacy = ["--epsilon", "1e6", "--delta", "1e-3", "--rounds", "2"] if quick else PRIVACY
    return {
        variant.name: summarize(
            run_releases(table, workload, [*privacy, *variant.options], folder, runs=runs, warm_up=not quick)
        )
        for variant in VARIANTS
    }


def markdown(title: str, summaries: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of one table: a row per variant, then the two baselines in each encoding."""
    yield f"**{title}**\n"
    yield "| " + " | ".join(COLUMNS) + " |"
    yield "|" + "---|" * len(COLUMNS)
    for name, row in summaries.items():
        cells = [name, row["accountant"], row["encoding"], row["rounds"], row["draws"], row["step"]]
        cells += [_range(row["max_error"]), _range(row["mean_error"])]
        cells += [f"{row['share_of_records_that_decode']:.0%}", f"{row['seconds']['median']:.1f}"]
        yield "| " + " | ".join(map(str, cells)) + " |"
    for encoding in dict.fromkeys(row["encoding"] for row in summaries.values()):
        first = next(row for row in summaries.values() if row["encoding"] == encoding)
        for name, errors in first["baselines"].items():
            figures = f"{errors['max_error']:.3g} | {errors['mean_error']:.3g}"
            yield f"| baseline: {name} | | {encoding} | | | | {figures} | | |"


def _range(figure: dict[str, float]) -> str:
    return f"{figure['median']:.3g} ({figure['least']:.3g} to {figure['largest']:.3g})"


if __name__ == "__main__":
    sys.exit(main())
