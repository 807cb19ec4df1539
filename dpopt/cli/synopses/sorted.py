"""`dpopt sorted release` and `export`: how many values of a column have how many records, and not which values."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import application, command
from dpopt.cli.reports.spent import print_spent
from dpopt.cli.synopses import sorted_export
from dpopt.cli.synopses.histogram import (
    AcceptDraftOption,
    ColumnOption,
    CountsOption,
    SchemaFileOption,
    check_source,
)

if TYPE_CHECKING:
    from dpopt.synopses.histograms.sorted.sorted_counts import SortedCountsRelease

sorted_group = typer.Typer(
    help="Counts in order: how many values have how many records.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
application.add_typer(sorted_group, name="sorted")


@command("release", group=sorted_group)
def release(
    *,
    table: options.TableArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="New file (JSON) for the sorted counts.")],
    column: ColumnOption = None,
    schema: SchemaFileOption = None,
    counts: CountsOption = None,
    spending: options.SpendingOptions,
    paying: options.PayingOptions,
    reading: options.ReadingOptions,
    accept_draft: AcceptDraftOption = False,
) -> None:
    """Release the counts of a column's values in order: how many values have how many records, and not which values."""
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.releases.new_files import check_new
    from dpopt.synopses.histograms.histogram_files import write_histogram
    from dpopt.synopses.histograms.histogram_settings import HistogramSettings
    from dpopt.synopses.histograms.sorted.sorted_of_table import (
        sorted_counts_of_column,
        sorted_counts_of_counts,
    )

    settings = HistogramSettings(
        **asdict(spending),
        reading=reading.reading(),
        accept_draft=accept_draft,
    )
    check_source(column, schema, counts)
    check_new(out)
    with TerminalProgress() as progress:
        if column is not None and schema is not None:
            released = sorted_counts_of_column(
                table, schema, column, settings, progress=progress, budget=paying.ledger()
            )
        else:
            released = sorted_counts_of_counts(
                table, str(counts), settings, progress=progress, budget=paying.ledger()
            )
        write_histogram(released, out)
    _print_release(released, out)


@command("export", group=sorted_group)
def export(
    file: Annotated[Path, typer.Argument(help="File of 'dpopt sorted release'.")],
    out: sorted_export.OutOption,
    estimate: sorted_export.EstimateOption = "posterior",
    sequence: sorted_export.SequenceOption = None,
    records: Annotated[
        int | None,
        typer.Option(
            "--records", help="The number of records, if it is public; under replace it is known already."
        ),
    ] = None,
) -> None:
    """Write how many values have how many records, and the counts in order. Costs no privacy."""
    sorted_export.export_sorted(file, out, "counts", estimate=estimate, sequence=sequence, total=records)


def _print_release(released: SortedCountsRelease, out: Path) -> None:
    from dpopt.cli.reports.reports import console

    print_spent(released.privacy)
    counts = released.counts
    console().print(
        f"{counts.size:,} counts, some {counts.sum():,} records, largest count about {counts[-1]:,}; written to {out}"
    )
