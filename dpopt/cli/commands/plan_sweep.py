"""What `dpopt plan` shows for several rounds, draws and steps: a table, a file of it, or a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from dpopt.algorithms.sweep import Sweep

_COLUMNS = {
    "T": "rounds",
    "s": "draws",
    "eta": "step",
    "epsilon": "epsilon",
    "pure": "epsilon_pure",
    "Theorem 4.3": "epsilon_theorem",
    "zcdp": "epsilon_zcdp",
    "gdp": "epsilon_gdp",
    "mean error": "mean_error",
    "largest": "max_error",
    "proven": "proven_error",
    "seconds": "seconds",
}
"""Headings of the table, and what stands below them."""


def show_sweep(found: Sweep, out: Path | None, *, as_json: bool) -> None:
    """Print a sweep, and write it to a file: a table where its name ends with .csv, else a picture."""
    from dpopt.cli.commands.plan import print_json

    if out is not None:
        _write(found, out)
    if as_json:
        print_json({"plans": list(found.rows)})
    else:
        _print(found)


def _write(found: Sweep, out: Path) -> None:
    from dpopt.cli.pictures import draw_sweep
    from dpopt.files.written_files import check_replaceable, whole_file

    if out.suffix != ".csv":
        draw_sweep(found.rows, out)
        return
    check_replaceable(out, b"rounds,", "table of plans")
    with whole_file(out) as stream:
        stream.write(found.to_pandas().to_csv(index=False).encode())


def _print(found: Sweep) -> None:
    from dpopt.cli.reports.reports import print_table
    from dpopt.html_pages.shown import figure

    rows = []
    for row in found.rows:
        values = [row.get(name) for name in _COLUMNS.values()]
        rows.append(["\N{EN DASH}" if value is None else figure(value) for value in values])
    delta = next(row["delta"] for row in found.rows if "delta" in row)
    print_table([*_COLUMNS], rows, title=f"plans of dualquery, epsilon at delta = {delta:g}")
    for reason in dict.fromkeys(row["refused"] for row in found.rows if "refused" in row):
        typer.echo(f"\N{EN DASH}: {reason}")
    typer.echo(
        "mean error, largest: predicted on public data; proven: bound on the largest error, if every best response is "
        "optimal\nseconds: of all rounds on this machine, judged by the first ones on public data"
    )
