"""`dpopt schema infer` drafts a schema from a table; `dpopt schema check` validates a table by a schema and its rules.

What the owner sees of rows that do not fit, or break declared rules, is not private: it goes to the terminal and is
stored nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpopt.cli import options
from dpopt.cli.application import command, command_group
from dpopt.cli.reports.reports import console, print_table
from dpopt.errors import counted, visible

if TYPE_CHECKING:
    from dpopt.private.evaluation import NonPrivateRuleReport
    from dpopt.private.readers.read_table import NonPrivateFit

schema_group = command_group("schema", "Draft a schema, and check a table against it.")


_SHORT = 8  # entries of a list on a terminal
_MOST_LINES = (
    500  # of a review on a terminal, where laying out a line takes longer than drafting it; the page has them all
)


def report_fit(table: Path, fit: NonPrivateFit, changed: Mapping[str, Any] | None) -> None:
    """Print the values of a table that do not fit its schema, how many rows are counted, and which values differ."""
    out, named = console(), visible(str(table))
    if not fit.misfits and fit.counted == fit.rows:
        out.print(f"{named} fits the schema")
        return
    out.print(f"with these options {fit.counted:,} of {fit.rows:,} rows are counted (NOT private; not stored)")
    if fit.misfits:
        out.print(f"{named} has values that do not fit the schema (NOT private; not stored)")
        out.print(fit.misfits)
    if changed is not None:
        out.print(visible("\n".join(changed["words"])))


def report_broken_rules(report: NonPrivateRuleReport, *, all_rows: bool) -> None:
    """Print which rules the rows of a table break, marked as not private; not all of the rows may be counted."""
    out = console()
    if not report.names:
        out.print("the schema declares no rules")
        return
    if not report.rows_breaking_any:
        out.print(f"all {report.rows:,} rows obey the {counted(len(report.names), 'rule')} (NOT private; not stored)")
        return
    found = zip(report.names, report.broken, report.first_rows, strict=True)
    print_table(
        ("rule", "rows that break it", "first such row"),
        [(name, f"{broken:,}", f"{first:,}") for name, broken, first in found if broken],
        title="broken rules (NOT private)",
    )
    numbered = "rows of data are" if all_rows else "rows that are left out have no number; the others are"
    out.print(
        f"{report.rows_breaking_any:,} of {report.rows:,} rows break {sum(map(bool, report.broken)):,} of the "
        f"{counted(len(report.names), 'rule')}; {numbered} counted from 1, without the header line. Synthetic records "
        f"will obey all rules. This output is for the owner of the table; dpopt does not store it."
    )


def _print_declared(columns: Mapping[str, Sequence[str]]) -> None:
    """Print the declaration of each column."""
    for name, words in [*columns.items()][:_MOST_LINES]:
        console().print(f"  {visible(name)}: {visible('; '.join(words))}", markup=False)
    if len(columns) > _MOST_LINES:
        console().print(f"  {len(columns) - _MOST_LINES:,} more columns are in the file")


@command("infer", group=schema_group)
def infer(
    *,
    table: options.TableArgument,
    out: Annotated[Path, "-o", "--out", "New schema file."],
    bins: Annotated[int, "About how many bins (ranges) each column of numbers gets."] = 20,
    max_values: Annotated[int, "Columns with more distinct values are not drafted as categories."] = 100,
    text: options.TextOptions,
    details: Annotated[
        bool, "Show every column with examples and the reasons for its draft, as the HTML page does."
    ] = False,
) -> None:
    """Draft a schema from TABLE, and list what to check in each column.

    A schema declares the values of each column, and for numbers the ranges (bins). The draft shows private data: review it
    before use. It also declares the format of a text file, which dpopt guesses.
    """
    from dpopt.private.drafts.infer_schema import infer_schema

    drafted = infer_schema(table, bins=bins, max_values=max_values, reading=text.text())
    beside = drafted.write(out)
    shown = console()
    for line in drafted.reading:
        shown.print(f"read with {line}", markup=False)
    declared = drafted.declared(_SHORT)
    said = [
        {
            "column": column.name,
            "drafted as": "; ".join(filter(None, [column.type, column.codes, *declared.get(column.name, ())])),
            "distinct": f"{column.distinct:,}",
            "missing": f"{column.missing:,}" if column.missing else "",
            "examples": column.examples,
            "why": column.why,
            "check": "; ".join(column.check) or (column.why if column.left_out else ""),
        }
        for column in drafted.columns
        if details or column.check or column.left_out
    ]
    lines = said if details else said[:_MOST_LINES]
    of_details = ["distinct", "missing", "examples", "why"] if details else []
    headings = ["column", "drafted as", *of_details, "check"]
    title = f"{drafted.title}: {drafted.rows:,} rows (NOT private)"
    if lines:
        print_table(headings, [[line[one] for one in headings] for line in lines], title=title)
    if len(lines) < len(said):
        are = "column to check is" if len(said) == len(lines) + 1 else "columns to check are"
        shown.print(f"{len(said) - len(lines):,} more {are} on the page", markup=False)
    if not details and len(said) < len(drafted.columns):
        others = [column for column in drafted.columns if not (column.check or column.left_out)]
        shown.print(f"nothing to check in {counted(len(others), 'column')}:", markup=False)
        _print_declared({column.name: [column.type, *declared[column.name]] for column in others})
    for line in (*(f"note: {note}" for note in drafted.notes), *drafted.proposed()):
        shown.print(visible(line), markup=False)
    if drafted.proposals:
        shown.print(
            "Every row of the table obeys each proposal, perhaps by chance. If one always holds, make it a rule for synthetic "
            f'rows: write "accept": true at its entry in the list "proposed" of {out}.',
            markup=False,
        )
    shown.print(
        f"drafted {len(drafted.schema)} of {len(drafted.columns)} columns in {out}; {beside} shows every column with "
        f"examples. Both files show private data. The schema is published with the release: replace every value that you "
        'could not know without seeing the table, then set "draft": false.',
        markup=False,
    )


@command("check", group=schema_group)
def check(
    *,
    schema: options.SchemaOption,
    table: Annotated[
        Path | None,
        typer.Argument(
            help="CSV (also .gz) or Parquet file. Private. If left out, dpopt checks the schema file alone."
        ),
    ] = None,
    reading: options.ReadingOptions,
) -> None:
    """Check that the rules of a schema can be obeyed together, and that TABLE fits the schema and its rules.

    What this prints about TABLE is NOT private: it is for the owner's terminal, and dpopt does not store it.
    """
    from dataclasses import replace

    from dpopt.algorithms.evaluation import changed_sheet
    from dpopt.private.drafts.unused_columns import unused_columns
    from dpopt.private.evaluation import broken_rows, numeric_figures
    from dpopt.private.readers.read_table import fit_of_table
    from dpopt.private.readers.table_reading import MOST_ROWS_PER_PERSON
    from dpopt.releases.rule_conflicts import feasible_record
    from dpopt.schema.finer import rough_differences
    from dpopt.schema.schema import Schema, attribute_to_json, declared_words

    declared = Schema.read(schema)
    feasible_record(declared.circuit(), declared.sizes)  # refuses rules that contradict each other
    draft = "; a draft, not reviewed yet" if declared.draft else ""
    summary = (
        f"{visible(str(schema))}: {counted(len(declared), 'column')}, {counted(len(declared.rules), 'rule')}{draft}"
    )
    rough = rough_differences(declared)

    def tell() -> None:
        for key, value in declared.reading:
            console().print(f"read with {key}: {visible(repr(value))}", markup=False)
        if not declared.is_binary:
            words = {one.name: declared_words(one, _SHORT) for one in declared.attributes}
            types = {one.name: str(attribute_to_json(one)["type"]) for one in declared.attributes}
            _print_declared({name: [types[name], *words[name]] for name in words})

    if table is None:
        console().print(summary)
        tell()
        for number, rule in enumerate(declared.rules, start=1):
            named = f"{rule.name}: " if rule.name else ""
            console().print(f"{number}. {named}{rule.describe()}")
        if rough is not None:
            console().print(f"note: {visible(rough)}")
        return
    if reading.person is not None and reading.rows_per_person is None:  # which is what is asked about
        reading = replace(reading, rows_per_person=MOST_ROWS_PER_PERSON)
    how = reading.reading(declared)
    dataset, fit = fit_of_table(table, declared, how)
    report = broken_rows(dataset, declared.circuit())
    console().print(summary)
    tell()
    if ignored := unused_columns(table, declared, how):
        console().print(ignored)
    report_fit(table, fit, changed_sheet(numeric_figures(dataset), {}))
    if fit.bounds:
        rows = [(f"{k:,}", f"{rows:,} ({rows / fit.rows:.0%})", f"{who:,}") for k, rows, who in fit.bounds]
        print_table(
            ("--rows-per-person", "rows dropped", "persons who lose rows"), rows, title="for you alone (NOT private)"
        )
        console().print(
            "Epsilon is divided by --rows-per-person among the rows of a person. The number is published: choose it without "
            "looking at this table, for example one that is usual in your field."
        )
    report_broken_rules(report, all_rows=fit.counted == fit.rows)
    if rough is not None:
        console().print(f"note: {visible(rough)}")
