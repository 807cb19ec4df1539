"""What `dpopt intervals` prints: plans, releases, answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpopt.cli.reports.reports import print_spent

if TYPE_CHECKING:
    from dpopt.synopses.intervals.against_trees import TreeBeside
    from dpopt.synopses.intervals.any_partition_plan import PartitionPlan
    from dpopt.synopses.intervals.partition_release import PartitionAnswer, PartitionRelease


def print_plan(planned: PartitionPlan) -> None:
    """Print what a plan measures, and what it proves."""
    from dpopt.cli.reports.reports import console
    from dpopt.synopses.intervals.interval_plan import IntervalPlan

    out = console()
    noise = "Gaussian" if planned.gaussian else "Laplace"
    if isinstance(planned, IntervalPlan):
        out.print(
            f"at most {planned.intervals:,} intervals of some {planned.threshold:,} records: {planned.searches:,} searches of "
            f"{planned.comparisons} comparisons, each with {noise} noise of scale {planned.scale:,.4g}"
        )
        if planned.mass_scale is None:
            out.print("weights are printed ones: each interval has as many records as it was searched for")
        else:
            out.print(f"intervals are counted with noise of scale {planned.mass_scale:,.4g}")
    else:
        steps = sum(cut.comparisons for cut in planned.cuts)
        out.print(
            f"each column is cut {planned.rounds} times, into {2**planned.depth:,} boxes: {steps} comparisons of all boxes, "
            f"with {noise} noise of scale {planned.scale:,.4g}"
        )
        levels = ", ".join(
            f"{depth} (scale {scale:,.4g})"
            for depth, scale in zip(planned.mass_depths, planned.mass_scales, strict=True)
        )
        out.print(f"boxes are counted after these numbers of cuts: {levels}")
        out.print(
            f"expected bound of a large box: {planned.expected:,.0f} records ({planned.expected / planned.size:.3g} of all); "
            "the bound of an answer comes from the counts of boxes"
        )
    _print_error(planned)


def _print_error(planned: PartitionPlan) -> None:
    from dpopt.cli.reports.reports import console
    from dpopt.synopses.intervals.interval_plan import IntervalPlan

    out, share = console(), planned.error / planned.size
    if share >= 1.0:
        out.print(
            "the proven error is not informative: at so small a budget it is at least the number of records"
        )
        return
    printed = isinstance(planned, IntervalPlan) and planned.mass_scale is None
    what = "range" if isinstance(planned, IntervalPlan) else "box"
    condition = ""
    if printed and isinstance(planned, IntervalPlan):
        condition = f", if no bin holds more than {planned.atom:,} of them"
    elif not isinstance(planned, IntervalPlan):
        condition = ", if few records share a value"
    out.print(
        f"proven: no {what} is off by more than {planned.error:,.0f} records ({share:.3g} of {planned.size:,}), with "
        f"probability {1 - planned.beta:g}{condition}"
    )


def print_tree(planned: PartitionPlan, beside: TreeBeside) -> None:
    """Print what a tree of counts would give with the same budget."""
    from dpopt.cli.reports.reports import console
    from dpopt.synopses.intervals.interval_plan import IntervalPlan

    every = "no range is" if isinstance(planned, IntervalPlan) else "a box is not"
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
