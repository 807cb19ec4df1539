"""`python -m experiments.wide_data`: Figures 2, 3 and 4 of the DualQuery paper, row by row."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from experiments.experiment import Report, Result, carry_out, parser_of, rounded
from experiments.wide_data.document import tables
from experiments.wide_data.parts import rows
from experiments.wide_data.pictures import draw


def main(arguments: list[str] | None = None) -> int:
    """Measure what is not on file yet, print the tables, draw the pictures."""
    parser = parser_of("wide_data", runs=3)
    parser.add_argument("--figures", nargs="+", type=int, choices=[2, 3, 4], default=[2, 3, 4])
    parser.add_argument("--tables", nargs="+", help="some of the tables of Figure 2")
    parser.add_argument("--columns", nargs="+", type=int, help="some of the widths of Figure 4")
    parser.add_argument("--keep", type=Path, help="folder in which the made-up tables stay (up to 9 GB); else they go")
    return carry_out(parser, arguments, {"results": _results}, markdown, continues=True, draw=_draw)


def markdown(report: Report) -> Iterator[str]:
    """Yield the tables."""
    return tables(report["results"])


def _draw(report: Report, folder: Path) -> None:
    draw(report["results"], folder)


def _results(options: argparse.Namespace, known: list[Result]) -> Iterator[Result]:
    if options.keep is None:
        with tempfile.TemporaryDirectory(prefix="dpopt-wide-data-") as folder:
            yield from _measured(options, known, Path(folder))
    else:
        options.keep.mkdir(parents=True, exist_ok=True)
        yield from _measured(options, known, options.keep)


def _measured(options: argparse.Namespace, known: list[Result], folder: Path) -> Iterator[Result]:
    from experiments.wide_data.measuring import Measuring

    done = {json.dumps(one["row"], sort_keys=True) for one in known}
    measuring = Measuring(folder, quick=options.quick)
    for figure in options.figures:
        for row in rows(figure, options.runs, options.tables, quick=options.quick):
            wanted = not options.columns or row.columns is None or row.columns in options.columns
            if wanted and json.dumps(row.key(), sort_keys=True) not in done:
                yield {"row": row.key(), **rounded(measuring.result(row))}


if __name__ == "__main__":
    sys.exit(main())
