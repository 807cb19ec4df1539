"""Finding lines in a CSV file after something was wrong with it: slow, exact, and only then."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence

MOST_LINES = 3


def find_lines(
    text: Iterable[str], fields: int, rows: Sequence[int], *, header: bool
) -> tuple[dict[int, int], list[tuple[int, int]]]:
    """Find where rows start in a file with `fields` columns.

    Parameters
    ----------
    text
        The file, opened with newline="".
    fields
        Number of columns. Records with more or fewer fields are not counted as rows.
    rows
        Rows (from 0) to find. If there are none, the first records with a wrong number of fields are looked for.
    header
        Whether the first record holds the names of the columns.

    Returns
    -------
    lines
        Row -> line (from 1). Rows that were not found are left out.
    bad
        (line, number of fields) of the first records with a wrong number of fields.
    """
    wanted = set(rows)
    lines: dict[int, int] = {}
    bad: list[tuple[int, int]] = []
    reader = csv.reader(text)
    next_row = -1 if header else 0
    start = 1
    try:
        for record in reader:
            line, start = start, reader.line_num + 1
            found = len(record)
            if not found:
                if fields != 1:
                    continue
                found = 1  # in a file of one column an empty line is a row with an empty value
            if found != fields:
                bad.append((line, found))
                if not wanted and len(bad) == MOST_LINES:
                    break
                continue
            if next_row in wanted:
                lines[next_row] = line
                if len(lines) == len(wanted):
                    break
            next_row += 1
    except csv.Error:  # a value longer than the csv module takes; the rest goes without lines
        pass
    return lines, bad[:MOST_LINES]


def unclosed_quote(text: Iterable[str]) -> str | None:
    """Return where a quote is opened and not closed properly, as a text that starts with the line; else None."""
    reader = csv.reader(text, strict=True)
    start = 1
    try:
        for _ in reader:
            start = reader.line_num + 1
    except csv.Error as problem:
        return (
            f"line {start}: a value in quotes is not closed properly ({problem}); close it, and write a quote inside "
            'a value in quotes twice: "say ""yes"""'
        )
    return None


def first_bad_line(lines: Iterable[bytes]) -> tuple[int, bytes] | None:
    """Return the first line (from 1) that is not UTF-8, and the bytes at fault."""
    for number, line in enumerate(lines, start=1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as problem:
            return number, line[problem.start : problem.end]
    return None
