"""Rows of figures as commands show them: a table for people, some of many; a file of all of them, or a picture."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpopt.cli.reports.reports import print_table
from dpopt.errors import PlanError


def print_rows(
    rows: Sequence[Mapping[str, Any]], *, title: str, most: int = 20, declared: Collection[str] = ()
) -> None:
    """Print at most this number of the rows, evenly spread, without columns that are empty in all of them.

    Names of columns are words, but those that a schema declared, which stay as they are.
    """
    from dpopt.html_pages.shown import figure

    names = list(dict.fromkeys(name for row in rows for name in row if row[name] is not None))
    places = {round(place * (len(rows) - 1) / max(1, most - 1)) for place in range(most)}
    values = ([rows[place].get(name) for name in names] for place in sorted(places))
    cells = [
        ["" if one is None else one[:70] if isinstance(one, str) else figure(one) for one in row] for row in values
    ]
    words = [name if name in declared else name.replace("_", " ") for name in names]
    print_table(words, cells, title=title)


def check_ending(out: Path) -> None:
    """Refuse a file that is neither a table nor a picture."""
    from dpopt.cli.pictures import FORMATS

    if out.suffix not in (".csv", *FORMATS):
        raise PlanError(f"a picture ends with .svg, .png or .pdf, a table with .csv; found {out.name!r}")


def write_rows(
    rows: Sequence[Mapping[str, Any]], out: Path, draw: Callable[[Sequence[Mapping[str, Any]], Path], None]
) -> None:
    """Write all rows as a table where the file's name ends with .csv, else as a picture."""
    from dpopt.files.written_files import check_replaceable, whole_file
    from dpopt.releases.table_output import frame_of

    check_ending(out)
    if out.suffix != ".csv":
        draw(rows, out)
        return
    text = frame_of(rows).to_csv(index=False)
    check_replaceable(out, text[:6].encode(), "table of these figures")
    with whole_file(out) as stream:
        stream.write(text.encode())
