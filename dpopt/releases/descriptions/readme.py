"""README.txt of a release folder: figures with intervals, its files, how to load them, how to cite.

A function of what the folder holds, so that a replay writes the same bytes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpopt.errors import visible
from dpopt.files.written_files import whole_file
from dpopt.releases.descriptions.description import FIGURES, about_figures, described
from dpopt.schema.schema import Schema

README = "README.txt"
_WIDTH = 78
_TEMPLATE = """\
{heading}

{verdict}

{what_it_is}

{notes}

{cost}

{figures}

FILES

{files}

HOW TO LOAD IT

{loading}

WHAT MAY BE PUBLISHED

{publishing}

HOW TO CHECK IT

'dpopt replay FOLDER -o AGAIN' rebuilds the records from plan and transcript, without the table, and compares every \
file. 'dpopt report FOLDER' shows the release as a page. 'dpopt evaluate FOLDER TABLE' and 'dpopt report FOLDER TABLE' \
need the private table; their output is for its owner only.

HOW TO CITE IT

{citation}
"""
"""Paragraphs are wrapped, those that begin with a space stay as they are, empty ones are left out."""
_FILES = {
    "release.json": "the request, its cost charge by charge, and the expected errors",
    "schema.json": "the columns and their values",
    "workload.json": "the queries that the records keep accurate",
    "plan.json": "how the budget is spent, fixed beforehand",
    "transcript.jsonl": "every released noisy value; the other files follow from these",
}
_LOAD = {
    "csv": ('pandas.read_csv("{file}")', 'read.csv("{file}", check.names = FALSE)'),
    "parquet": ('pandas.read_parquet("{file}")', 'arrow::read_parquet("{file}")'),
    "npz": ('scipy.sparse.load_npz("{file}")', 'reticulate::import("scipy.sparse")$load_npz("{file}")'),
    "txt": (
        '[line.split() for line in open("{file}", encoding="utf-8")]',
        'arules::read.transactions("{file}", sep = "")',
    ),
}
"""Python and R, by the ending of the file."""
_CSV_NOTES = (
    "schema.json declares under 'missing' how missing values are written, such as -1: leave them out of means.",
    "Spreadsheets treat cells that begin with =, +, - or @ as formulas: import text columns as text.",
    (
        'Codes such as 06108 lose their zeros if they are read as numbers: give dtype={"COLUMN": str} in Python, '
        'colClasses = c(COLUMN = "character") in R.'
    ),
)


def write_readme(
    folder: Path, statement: Mapping[str, Any], schema: Schema, figures: Sequence[Sequence[str]] = ()
) -> None:
    """Write README.txt of a release; parameters as of `readme_of`."""
    with whole_file(folder / README) as stream:
        stream.write(readme_of(statement, schema, figures).encode())


def readme_of(statement: Mapping[str, Any], schema: Schema | None = None, figures: Sequence[Sequence[str]] = ()) -> str:
    """Return README.txt of a release, given the contents of its release.json and its figures with intervals, in words."""
    records, privacy = statement["records"], statement["privacy"]
    held, release = records or statement["answers"], described(statement, schema)
    filled = _TEMPLATE.format(
        heading=f"{release.title}, {release.guarantee}".upper(),
        what_it_is=(
            "No row is a person. Together the rows answer the {} about as a private table does. Other figures "
            "computed from them can be far off."
            if records is not None
            else "Answers to the {} on a private table, with noise. There are no records."
        ).format(f"{statement['workload']['queries']:,} queries of workload.json"),
        verdict=release.verdict,
        notes="\n\n".join((*(note.sentence for note in release.notes), *release.repairs)),
        cost=""
        if not privacy["private"]
        else f"Neighbouring tables: {privacy['neighbours']}. release.json lists every charge with its theorem; the "
        f"accountant {privacy['accountant']!r} adds them up.",
        figures="" if records is None else _figures(figures),
        files=_files(statement, held),
        loading=_loading(held),
        publishing=_publishing(statement),
        citation=release.citation,
    )
    parts = (part.rstrip("\n") for part in filled.split("\n\n"))
    return "\n\n".join(part if part.startswith(" ") else _wrapped(part) for part in parts if part) + "\n"


def _figures(figures: Sequence[Sequence[str]]) -> str:
    before, after = about_figures(some=bool(figures))
    rows = [("", "estimate", "95 % interval", "for any numbers within bins"), *figures]
    wide = [max(len(row[place]) for row in rows) for place in range(3)]
    lines = [
        f"  {visible(name, kept=''):<{wide[0]}}  {estimate:>{wide[1]}}  {interval:<{wide[2]}}  {outer}".rstrip()
        for name, estimate, interval, outer in rows
    ]
    return "\n\n".join((FIGURES.upper(), before, *(["\n".join(lines)] if figures else []), after))


def _files(statement: Mapping[str, Any], held: Mapping[str, Any]) -> str:
    own = str(held.get("meaning")) if statement["records"] is None else f"{held['rows']:,} synthetic records"
    if statement["records"] is not None and held["weight_column"]:
        own += f"; column '{held['weight_column']}' is the weight of each"
    weights = {held["weight_file"]: "the weight of each record"} if held.get("weight_file") else {}
    meant = {held["file"]: own, **weights, **_FILES}
    return "\n".join(_wrapped(text, f"  {name:<18}") for name, text in meant.items())


def _loading(held: Mapping[str, Any]) -> str:
    name, weights = held["file"], held.get("weight_column")
    python, other = (line.format(file=name) for line in _LOAD[name.rsplit(".", 1)[-1]])
    library = "" if python[0] == "[" else f"import {python.split('.', 1)[0]}; "
    parts = [f"  Python   {library}records = {python}\n  R        records <- {other}"]
    if name.endswith(".csv"):
        parts += _CSV_NOTES
    if weights and not name.endswith(".npz"):
        parts.append(
            f'Use the weights in every mean and count: numpy.average(records[COLUMN], weights=records["{weights}"]) in '
            f'Python, weighted.mean(records[[COLUMN]], records[["{weights}"]]) in R.'
        )
    return "\n\n".join(parts)


def _publishing(statement: Mapping[str, Any]) -> str:
    if not statement["privacy"]["private"]:
        return (
            "Nothing. Some draws came from a seeded or scripted source, as in tests and demonstrations: this release "
            "protects nobody."
        )
    every = (
        "Every file of this folder, at the stated cost. The owner keeps the table and everything else that was computed "
        "from it (a report with the table, an evaluation, a log)."
    )
    if not statement["schema"]["drafted_from_private_data_and_not_reviewed"]:
        return every
    return (
        f"{every} But the schema was drafted from the table and not reviewed: its values and bins can reveal records, "
        f"which the stated cost does not cover. Review schema.json before you publish this folder."
    )


def _wrapped(text: str, first: str = "") -> str:
    """Return a text in lines, those after the first as far in as `first` is long."""
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
