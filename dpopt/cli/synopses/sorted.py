"""`dpopt sorted release` and `export`: how many values of a column have how many records, and not which values.

`dpopt degrees export` writes its tables by the same function (`export_sorted`).
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import application, command
from dpopt.cli.reports.reports import print_spent, warn_if_not_private
from dpopt.cli.synopses.histogram import (
    AcceptDraftOption,
    ColumnOption,
    CountsOption,
    SchemaFileOption,
    check_source,
)
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.synopses.histograms.sorted.sorted_counts import SortedCountsRelease

OutOption = Annotated[
    Path, typer.Option("-o", "--out", help="New CSV file: each count that occurs, and how often.")
]
EstimateOption = Annotated[
    str,
    typer.Option(
        "--estimate",
        help="posterior (means under the law of the noise), isotonic (the nearest sequence that does not fall), "
        "least-absolute (the nearest by absolute differences), rounded (the noisy counts, sorted).",
    ),
]
SequenceOption = Annotated[
    Path | None,
    typer.Option("--sequence", help="New CSV file beside it: the counts themselves, the largest first."),
]


def export_sorted(
    file: Path,
    out: Path,
    what: str,
    *,
    estimate: str,
    sequence: Path | None,
    total: int | None,
    graphical: bool = False,
) -> None:
    """Write an estimate of released sorted counts as tables.

    Parameters
    ----------
    what : str
        What the file must hold: "degrees" or "counts".
    total : int or None
        What the counts add up to, if the user says so.
    graphical : bool
        Whether degrees become those of a graph near the estimate.

    Raises
    ------
    PlanError
        If the file holds something else, or both tables have one name.
    DpoptError
        For whatever else cannot be read, estimated or written.
    """
    from dpopt.cli.reports.reports import console
    from dpopt.releases.folder_files import check_new
    from dpopt.synopses.histograms.histogram_files import read_sorted_counts
    from dpopt.synopses.histograms.histogram_table import write_frequencies, write_sequence

    for new in (out, *([] if sequence is None else [sequence])):
        check_new(new)
    if sequence == out:
        raise PlanError(f"found {out.name} for both tables; give --sequence another name")
    released = read_sorted_counts(file)
    warn_if_not_private(released.privacy)
    if released.what != what:
        command = "dpopt sorted export" if what == "degrees" else "dpopt degrees export"
        raise PlanError(f"{file.name} holds {released.what}, expected {what}; use '{command}'")
    if total is not None:
        released = released.with_total(total)
    counts = released.estimate(estimate)
    if graphical:
        found = released.graphical(estimate)
        counts = found.degrees
        console().print(
            f"graphical: squared distance {found.squared_distance:,.1f} to the estimate, at most {found.gap:,.1f} above the "
            f"least; a graph with {len(found.edges()):,} edges has these degrees"
        )
    write_frequencies(counts, out)
    if sequence is not None:
        write_sequence(counts, sequence)
    console().print(f"written to {out}" + ("" if sequence is None else f" and {sequence}"))


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
    from dpopt.releases.folder_files import check_new
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
    out: OutOption,
    estimate: EstimateOption = "posterior",
    sequence: SequenceOption = None,
    records: Annotated[
        int | None,
        typer.Option(
            "--records", help="The number of records, if it is public; under replace it is known already."
        ),
    ] = None,
) -> None:
    """Write how many values have how many records, and the counts in order. Costs no privacy."""
    export_sorted(file, out, "counts", estimate=estimate, sequence=sequence, total=records)


def _print_release(released: SortedCountsRelease, out: Path) -> None:
    from dpopt.cli.reports.reports import console

    print_spent(released.privacy)
    counts = released.counts
    console().print(
        f"{counts.size:,} counts, some {counts.sum():,} records, largest count about {counts[-1]:,}; written to {out}"
    )
