"""`python -m experiments.intervals`: intervals of nearly equal counts beside trees of counts."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from experiments.documents import table
from experiments.experiment import Measure, Report, Result, carry_out, parser_of
from experiments.intervals import columns, picture, printed

PICTURE = Path(__file__).resolve().parent / "errors.svg"
SIZES, QUICK_SIZES = (10**4, 10**5, 10**6, 10**7), (10**4, 10**5)


def main(arguments: list[str] | None = None) -> int:
    """Measure every method on every table and print the tables."""
    parser = parser_of("intervals", runs=3)
    parser.add_argument("--picture", action="store_true", help="measure the curves and draw the picture, too")
    parts: dict[str, Measure] = {
        "printed": lambda options, _: printed.measure(2 if options.quick else 20),
        "columns": lambda options, _: columns.measure(options.runs, quick=options.quick),
        "curves": _curves,
    }
    return carry_out(parser, arguments, parts, markdown)


def _curves(options: argparse.Namespace, _: list[Result]) -> Iterator[Result]:
    if options.picture:
        found = []
        for curve in picture.measure(*((QUICK_SIZES, 2**8, 1) if options.quick else (SIZES, 2**12, 2))):
            found.append(curve)
            yield curve
        picture.draw(found, PICTURE)


def markdown(report: Report) -> Iterator[str]:
    """Yield the tables."""
    yield (
        f"Theorem 4.3 with {printed.COMPARISONS} comparisons to a search, epsilon {printed.EPSILON:g}, alpha = "
        f"{printed.ALPHA}, delta = {printed.DELTA}: the worst range, as a share of the records."
    )
    yield ""
    rows: Iterator[list[object]] = (
        [
            *(row["size"], f"{row['records']:,}", row["intervals"], f"{row['scale']:,.0f} records"),
            *(f"{row['worst']:.3f}", f"{row['kept']} of {row['runs']}"),
        ]
        for row in report["printed"]
    )
    yield from table(["size | records | intervals | noise of a comparison | worst error | runs within alpha"], rows)
    yield ""
    yield "One column: worst error of any range in all runs / root of the mean squared error of all ranges (proven error), as"
    yield "shares of the records."
    yield ""
    rows = (
        [
            *(row["set"], f"{row['bins']:,}", f"{row['records']:,}", f"{row['largest_bin']:,}", row["budget"]),
            *(_errors(row.get(method)) for method in columns.METHODS),
        ]
        for row in report["columns"]
    )
    yield from table(["set | bins | records | largest bin | budget", *columns.METHODS], rows)


def _errors(found: Result | None) -> str:
    if found is None:
        return "-"
    proven = f" ({found['proven']:.2g})" if found.get("proven") is not None else ""
    return f"{found['worst']:.2g} / {found['rms']:.2g}{proven}"


if __name__ == "__main__":
    sys.exit(main())
