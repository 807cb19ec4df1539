"""`python -m experiments.benchmarks [CASE ...]`: run cases and print what they measured."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from experiments.benchmarks.registry import Case, Result, Setting, load_cases
from experiments.experiment import write_report
from experiments.machine import describe_circumstances
from experiments.tables import MissingDataError


def main(arguments: list[str] | None = None) -> int:
    """Run the cases that are named, or all of them; return 1 if a limit is not kept at full size."""
    cases = load_cases()
    options = _parser(cases).parse_args(arguments)
    runs = 1 if options.quick else options.runs
    circumstances = {**describe_circumstances(), "runs": runs}
    report: dict[str, Any] = {"dpopt_benchmarks": 1, **circumstances, "quick": options.quick, "cases": {}}
    earlier = None if options.quick or not options.cases else earlier_report(options.json)
    report = report if earlier is None else earlier
    missed = 0
    for name in options.cases or list(cases):
        print(f"\n{name}: {cases[name].question}", flush=True)
        with tempfile.TemporaryDirectory(prefix="dpopt-benchmark-") as folder:
            try:
                result = cases[name].measure(Setting(runs, options.quick, Path(folder)))
            except MissingDataError as error:
                print(f"error: {error}", file=sys.stderr)
                return 2
        show(result, quick=options.quick)
        missed += 0 if options.quick else sum(not bar.kept for bar in result.bars)
        bars = [] if options.quick else [bar.to_json() for bar in result.bars]
        report["cases"][name] = {"question": cases[name].question, "rows": result.rows, "bars": bars}
        if earlier is not None:
            report["cases"][name]["circumstances"] = circumstances
        write_report(options.json, report)
    return 1 if missed else 0


def earlier_report(file: Path | None) -> dict[str, Any] | None:
    """Return the results on file, to which cases that are named are added; None where there are none at full size."""
    if file is None or not file.exists():
        return None
    report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return None if report["quick"] else report


def show(result: Result, *, quick: bool) -> None:
    """Print rows and bars; of a quick run only the rows, whose figures mean nothing."""
    for row in result.rows:
        print("  ---")
        for key, value in row.items():
            print(f"  {key}: {_text(value)}")
    for bar in [] if quick else result.bars:
        sign = ">=" if bar.at_least else "<="
        print(f"  {'kept  ' if bar.kept else 'MISSED'} {bar.figure}: {bar.value:.4g} {sign} {bar.limit:g}", flush=True)


def _text(value: Any) -> str:
    if isinstance(value, dict) and set(value) == {"median", "least", "largest"}:
        return f"{value['median']:.4g} ({value['least']:.4g} to {value['largest']:.4g})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} {_text(part)}" for key, part in value.items()) + "}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _parser(cases: dict[str, Case]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.benchmarks", description="Measure dpopt.", epilog="cases: " + ", ".join(cases)
    )
    parser.add_argument("cases", metavar="CASE", nargs="*", choices=[[], *cases], help="all if none is named")
    parser.add_argument("--runs", type=int, default=5, help="runs that are counted (5)")
    parser.add_argument("--quick", action="store_true", help="tiny made-up tables: shows that each case still runs")
    parser.add_argument(
        "--json",
        type=Path,
        help="write the results to this file; cases that are named are added to those that are there",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
