"""`python -m experiments.wide_data`: Figures 2, 3 and 4 of the DualQuery paper, row by row."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from experiments.documents import circumstances, write_results
from experiments.machine import describe_circumstances
from experiments.tables import MissingDataError
from experiments.wide_data.document import tables
from experiments.wide_data.parts import rows
from experiments.wide_data.pictures import draw

HERE = Path(__file__).resolve().parent


def main(arguments: list[str] | None = None) -> int:
    """Measure what is not on file yet, print the tables, draw the pictures."""
    options = _options(arguments)
    report: dict[str, Any] = {**describe_circumstances(), "runs": options.runs, "quick": options.quick}
    report["results"] = []
    if options.json is not None and options.json.exists():
        report = json.loads(options.json.read_text(encoding="utf-8"))
        if report["quick"] != options.quick:
            print(f"{options.json} holds other results; name another file", file=sys.stderr)
            return 2
        report["runs"] = max(report["runs"], options.runs)
    try:
        if options.keep is None:
            with tempfile.TemporaryDirectory(prefix="dpopt-wide-data-") as folder:
                _measure(options, report, Path(folder))
        else:
            options.keep.mkdir(parents=True, exist_ok=True)
            _measure(options, report, options.keep)
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 2
    lines = list(tables(report["results"]))
    print("\n".join(lines))
    if options.document is not None:
        write_results(options.document, [circumstances(report), "", *lines])
        draw(report["results"], options.document.parent)
    return 0


def _measure(options: argparse.Namespace, report: dict[str, Any], folder: Path) -> None:
    from experiments.wide_data.measuring import Measuring

    known = {json.dumps(one["row"], sort_keys=True) for one in report["results"]}
    measuring = Measuring(folder, quick=options.quick)
    for figure in options.figures:
        for row in rows(figure, 1 if options.quick else options.runs, options.tables, quick=options.quick):
            if json.dumps(row.key(), sort_keys=True) in known:
                continue
            if options.columns and row.columns is not None and row.columns not in options.columns:
                continue
            found = {"row": row.key(), **_rounded(measuring.result(row))}
            report["results"].append(found)
            print(json.dumps(found), flush=True)
            if options.json is not None:
                options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.wide_data")
    parser.add_argument("--figures", nargs="+", type=int, choices=[2, 3, 4], default=[2, 3, 4])
    parser.add_argument("--tables", nargs="+", help="some of the tables of Figure 2")
    parser.add_argument("--columns", nargs="+", type=int, help="some of the widths of Figure 4")
    parser.add_argument("--runs", type=int, default=3, help="releases of each kind (3)")
    parser.add_argument("--quick", action="store_true", help="tiny made-up tables: shows that everything still runs")
    parser.add_argument("--keep", type=Path, help="folder in which the made-up tables stay (up to 9 GB); else they go")
    parser.add_argument("--document", type=Path, help="put the tables into this document, and the pictures beside it")
    parser.add_argument("--json", type=Path, help="results: read first, and written after every row")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
