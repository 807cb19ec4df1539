"""What the owner is told of rows that do not fit or break declared rules: on the terminal, not private, stored nowhere."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from dpopt.cli.reports.reports import console
from dpopt.private.evaluation.broken_rules import NonPrivateRuleReport
from dpopt.private.readers.read_table import NonPrivateFit


def report_fit(table: Path, fit: NonPrivateFit) -> None:
    """Print what of a table does not fit its schema, and how many rows are counted."""
    out = console()
    if not fit.misfits and fit.counted == fit.rows:
        out.print(f"{table} fits the schema", markup=False)
        return
    if fit.misfits:
        out.print(f"{table} does not fit the schema everywhere (NOT private; stored nowhere)", markup=False)
        out.print(fit.misfits, markup=False)
    out.print(
        f"read in this way, {fit.counted:,} of {fit.rows:,} rows are counted (NOT private; stored nowhere)"
    )


def report_broken_rules(report: NonPrivateRuleReport) -> None:
    """Print which rules the rows of a table break, marked as not private."""
    out = console()
    if not report.names:
        out.print("the schema declares no rules")
        return
    if not report.rows_breaking_any:
        out.print(
            f"all {report.rows:,} rows obey the {len(report.names)} rules (NOT private; stored nowhere)"
        )
        return
    table = Table(
        "rule",
        "rows that break it",
        "first such row",
        title="broken rules (NOT private)",
        title_justify="left",
    )
    for name, broken, first in zip(report.names, report.broken, report.first_rows, strict=True):
        if broken:
            table.add_row(name, f"{broken:,}", f"{first:,}")
    out.print(table)
    out.print(
        f"{report.rows_breaking_any:,} of {report.rows:,} rows break {sum(map(bool, report.broken)):,} of the "
        f"{len(report.names):,} rules; rows of data are counted from 1, without the line of names. Synthetic records will "
        "obey all rules. This is for the owner of the table, and is stored nowhere."
    )
