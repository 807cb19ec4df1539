"""What `dpopt degrees export` and `dpopt sorted export` have in common: estimates of sorted counts as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpopt.cli.reports.spent import warn_if_not_private
from dpopt.errors import PlanError

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
    from dpopt.releases.new_files import check_new
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
