"""`python -m experiments.intervals`: intervals and boxes of nearly equal counts beside trees of counts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.documents import circumstances, write_results
from experiments.intervals import columns, picture, printed, rectangles
from experiments.machine import describe_circumstances
from experiments.tables import MissingDataError

Result = dict[str, Any]
PICTURE = Path(__file__).resolve().parent / "errors.svg"


def main(arguments: list[str] | None = None) -> int:
    """Measure every method on every table and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m experiments.intervals")
    parser.add_argument("--runs", type=int, default=3, help="releases of each method (3)")
    parser.add_argument("--quick", action="store_true", help="small made-up tables: shows that it still runs")
    parser.add_argument("--document", type=Path, help="put the tables into this document")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--picture", action="store_true", help="measure the curves and draw the picture, too")
    options = parser.parse_args(arguments)
    quick, runs = options.quick, 1 if options.quick else options.runs
    report: dict[str, Any] = {**describe_circumstances(), "runs": runs, "quick": quick}

    def keep(part: str, rows: Iterator[Result]) -> None:
        report[part] = []
        for row in rows:
            report[part].append(row)
            print(json.dumps(row), flush=True)
            if options.json is not None:
                options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")

    try:
        keep("printed", printed.measure(2 if quick else 20))
        keep("columns", columns.measure(runs, quick=quick))
        keep("rectangles", rectangles.measure(runs, quick=quick))
        if options.picture:
            sizes = [10**4, 10**5] if quick else [10**4, 10**5, 10**6, 10**7]
            keep("curves", iter(picture.measure(sizes, 2**8 if quick else 2**12, 1 if quick else 2)))
            picture.draw(report["curves"], PICTURE)
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 2
    lines = list(markdown(report))
    print("\n".join(lines))
    if options.document is not None:
        write_results(options.document, [circumstances(report), "", *lines])
    return 0


def markdown(report: dict[str, Any]) -> Iterator[str]:
    """Yield the tables."""
    yield (
        f"Theorem 4.3 with {printed.COMPARISONS} comparisons to a search, epsilon {printed.EPSILON:g}, alpha = "
        f"{printed.ALPHA}, delta = {printed.DELTA}: the worst range, as a share of the records."
    )
    yield ""
    yield "| size | records | intervals | noise of a comparison | worst error | runs within alpha |"
    yield "|" + "---|" * 6
    for row in report["printed"]:
        yield (
            f"| {row['size']} | {row['records']:,} | {row['intervals']} | {row['scale']:,.0f} records | "
            f"{row['worst']:.3f} | {row['kept']} of {row['runs']} |"
        )
    yield ""
    yield "One column: worst error of any range in all runs / root of the mean squared error of all ranges (proven error), as"
    yield "shares of the records."
    yield ""
    yield "| set | bins | records | largest bin | budget | " + " | ".join(columns.METHODS) + " |"
    yield "|" + "---|" * (5 + len(columns.METHODS))
    for row in report["columns"]:
        cells = [row["set"], f"{row['bins']:,}", f"{row['records']:,}", f"{row['largest_bin']:,}", row["budget"]]
        cells += [_errors(row.get(method)) for method in columns.METHODS]
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield f"Two columns: worst error / root of the mean squared error over {rectangles.BOXES:,} random boxes, as shares of the"
    yield "records; of boxes at noisy medians also the mean bound of an answer, and how many of them held."
    yield ""
    yield f"| set | cells | records | empty | budget | boxes | {rectangles.SPLIT} | their bounds | {rectangles.GRID} |"
    yield "|" + "---|" * 9
    for row in report["rectangles"]:
        split = row[rectangles.SPLIT]
        cells = [row["set"], " x ".join(map(str, row["shape"])), f"{row['records']:,}", f"{row['empty']:.0%}"]
        cells += [row["budget"], f"{row['boxes']:,}", _errors(split)]
        cells += [f"{split['bound']:.2g} ({split['kept']:.1%} held)", _errors(row[rectangles.GRID])]
        yield f"| {' | '.join(cells)} |"


def _errors(found: Result | None) -> str:
    if found is None:
        return "-"
    proven = f" ({found['proven']:.2g})" if found.get("proven") is not None else ""
    return f"{found['worst']:.2g} / {found['rms']:.2g}{proven}"


if __name__ == "__main__":
    sys.exit(main())
