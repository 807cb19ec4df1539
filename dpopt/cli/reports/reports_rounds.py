"""What commands show of the rounds of a run: a table, a file of it, or a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpopt.errors import PlanError

MOST_SHOWN = 20
"""Rounds that are listed, evenly spread from the first to the last; a file holds all."""
_COLUMNS = {
    "round": "round",
    "value": "value",
    "proven bound": "proven_bound",
    "reported bound": "reported_bound",
    "gap": "gap",
    "seconds": "seconds",
    "answered by": "answered_by",
    "stopped": "stopped",
}
"""Headings of the table, and what stands below them."""


def report_rounds(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print some of the rounds, and in how many the fallback answered."""
    from dpopt.cli.reports.reports import console, print_table

    number = min(MOST_SHOWN, len(rows))
    places = sorted({round(place * (len(rows) - 1) / max(1, number - 1)) for place in range(number)})
    shown = {title: name for title, name in _COLUMNS.items() if any(row[name] is not None for row in rows)}
    table = [[_text(rows[place][name]) for name in shown.values()] for place in places]
    print_table([*shown], table, title=f"{len(rows):,} rounds, of which {len(table)} are listed")
    fallbacks = sum(row["fallback"] is not None for row in rows)
    gap = sum(row["gap"] / row["draws"] for row in rows) / len(rows)
    console().print(f"mean gap {gap:.4f} per draw; the fallback answered in {fallbacks:,} rounds")


def write_rounds(rows: Sequence[Mapping[str, Any]], out: Path) -> None:
    """Write the rounds to a file: a table where its name ends with .csv, else a picture."""
    from dpopt.algorithms.dualquery.rounds_table import rounds_table
    from dpopt.cli.pictures import draw_rounds
    from dpopt.files.written_files import check_replaceable, whole_file

    if not rows:
        raise PlanError("there are no rounds of dualquery to write; leave --out out, or name the folder of such a run")
    if out.suffix != ".csv":
        draw_rounds(rows, out)
        return
    check_replaceable(out, b"round,", "table of rounds")
    with whole_file(out) as stream:
        stream.write(rounds_table(rows).to_csv(index=False).encode())


def _text(value: float | str | None) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return "\N{EN DASH}" if value is None else f"{value:,}" if isinstance(value, int) else value
