"""What `dpopt intervals` prints: plans, releases, answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpopt.cli.reports.reports import print_spent

if TYPE_CHECKING:
    from dpopt.synopses.intervals.against_trees import TreeBeside
    from dpopt.synopses.intervals.partition_plan import PartitionPlan
    from dpopt.synopses.intervals.partition_release import PartitionAnswer, PartitionRelease


def print_plan(planned: PartitionPlan) -> None:
    """Print what a plan measures, and what it proves."""
    from dpopt.cli.reports.reports import console

    out, share = console(), planned.error / planned.size
    for sentence in planned.in_words():
        out.print(sentence)
    if share >= 1.0:
        out.print(
            "the proven error is not informative: at so small a budget it is at least the number of records"
        )
        return
    what = "range" if len(planned.shape) == 1 else "box"
    out.print(
        f"proven: no {what} is off by more than {planned.error:,.0f} records ({share:.3g} of {planned.size:,}), with "
        f"probability {1 - planned.beta:g}{planned.proven_for}"
    )


def print_tree(planned: PartitionPlan, beside: TreeBeside) -> None:
    """Print what a tree of counts would give with the same budget."""
    from dpopt.cli.reports.reports import console

    every = "no range is" if len(planned.shape) == 1 else "a box is not"
    message = (
        f"'{beside.command}' with this budget: standard error {beside.standard_error:,.2f} records (root of the mean "
        f"variance), {every} off by more than {beside.bound:,.0f}"
    )
    advice = f"use '{beside.command}'" if beside.better else "use intervals"
    console().print(f"{message}. Recommended: {advice}")


def print_release(released: PartitionRelease, out: Path) -> None:
    """Print what was spent and what was found."""
    from dpopt.cli.reports.reports import console

    print_spent(released.privacy)
    what = "intervals" if len(released.axes) == 1 else "boxes"
    console().print(
        f"{len(released.partition):,} {what}, some {released.total:,.0f} records; written to {out}"
    )


def print_answers(heading: str, answers: dict[str, PartitionAnswer], confidence: float) -> None:
    """Print a table of answers with their bounds and intervals."""
    from rich.table import Table

    from dpopt.cli.reports.reports import console

    table = Table(
        heading, "records", "off by at most", f"{100 * confidence:.12g}% interval", title_justify="left"
    )
    for text, one in answers.items():
        table.add_row(text, f"{one.value:,.1f}", f"{one.bound:,.1f}", f"{one.low:,.1f} to {one.high:,.1f}")
    console().print(table)
