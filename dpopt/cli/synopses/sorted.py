"""`dpopt sorted` and `dpopt degrees`: `release`, `answer` and `export` of counts in order, of columns and graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import command
from dpopt.cli.commands.plan import print_json
from dpopt.cli.synopses import shared
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.synopses.histograms.sorted.sorted_counts import SortedCountsRelease

sorted_group = shared.synopsis_group("sorted", "Counts in order: how many values have how many records.")
degrees_group = shared.synopsis_group("degrees", "Degree sequences of graphs whose edges are private.")

TableOption = Annotated[
    Path, typer.Option("-o", "--out", help="New CSV file: each count that occurs, and how often.")
]
EstimateOption = Annotated[
    str,
    typer.Option(
        "--estimate",
        help="How the sequence is estimated: posterior (means under the distribution of the noise), isotonic (the nearest "
        "nondecreasing sequence), least-absolute (the nearest by absolute differences), rounded (the noisy counts, "
        "sorted).",
    ),
]
SequenceOption = Annotated[
    Path | None,
    typer.Option("--sequence", help="New CSV file beside it: the counts themselves, the largest first."),
]
LeastOption = Annotated[
    list[int],
    typer.Option("--query", help="A number m: how many have a count of at least m? May be repeated."),
]
EdgesOption = Annotated[
    int | None,
    typer.Option(
        "--edges",
        help="Number of edges, if it is public; the estimate then has this total. Not needed under replace.",
    ),
]
DegreesFile = Annotated[Path, typer.Argument(help="File of 'dpopt degrees release'.")]
SortedFile = Annotated[Path, typer.Argument(help="File of 'dpopt sorted release'.")]
NOISY = "noisy"
_SHOWN = 40  # characters of what was found


@command("release", group=sorted_group)
def release(
    *,
    table: options.TableArgument,
    out: shared.OutOption,
    column: shared.ColumnOption = None,
    schema: shared.MaybeSchemaOption = None,
    counts: shared.CountsOption = None,
    asked: shared.ReleaseOptions,
) -> None:
    """Release the counts of a column's values in order: how many values have how many records, and not which values."""
    from dpopt.synopses.histograms.sorted.release_sorted import sorted_counts

    released = shared.make(
        out, lambda how: sorted_counts(table, schema, column, counts=counts, **how), asked.asked(schema)
    )
    found = released.counts
    shared.say(
        f"{found.size:,} counts, some {found.sum():,} records, largest count about {found[-1]:,}; written to {out}"
    )


@command("release", group=degrees_group)
def release_degrees(
    *,
    edges: Annotated[
        Path,
        typer.Argument(
            help="Two names of nodes in each line (also .gz), each edge once; lines that begin with # or % are no edges. Or a "
            "table, with --columns. Private: read here and nowhere else."
        ),
    ],
    nodes: Annotated[
        str,
        typer.Option(
            "--nodes",
            help="The declared number of nodes, those without an edge included; or 'noisy': the number of nodes with an "
            "edge is measured with 5 % of the budget. It is never read off the file.",
        ),
    ],
    out: shared.OutOption,
    columns: shared.ColumnsOption = None,
    asked: shared.TextReleaseOptions,
    on_invalid: Annotated[
        str,
        typer.Option(
            "--on-invalid",
            help="Lines that are no edge, loops and second copies: error, or drop (they do not count; no line ends a run).",
        ),
    ] = "error",
) -> None:
    """Release the degree sequence of a graph: how many nodes have how many edges, and not which nodes."""
    from dpopt.synopses.histograms.sorted.release_sorted import degrees

    declared, ends = _number(nodes), shared.named_columns(columns)
    if ends is not None and (len(ends) != 2 or not all(ends)):
        raise PlanError(f"found --columns {columns}; expected the two ends of an edge, as in from,to")
    released = shared.make(
        out,
        lambda how: degrees(edges, declared, columns=None if ends is None else (ends[0], ends[1]), **how),
        asked.asked(on_invalid),
    )
    found = released.counts
    shared.say(
        f"{found.size:,} nodes, some {found.sum() // 2:,} edges, largest degree about {found[-1]:,}; written to {out}"
    )


@command("answer", group=sorted_group)
def answer(
    file: SortedFile,
    queries: LeastOption,
    estimate: EstimateOption = "posterior",
    n: shared.PublicNOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Say how many values have at least so many records. Costs no privacy."""
    _answer(file, "counts", queries, estimate, n, as_json=as_json)


@command("answer", group=degrees_group)
def answer_degrees(
    file: DegreesFile,
    queries: LeastOption,
    estimate: EstimateOption = "posterior",
    edges: EdgesOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Say how many nodes have at least so many edges. Costs no privacy."""
    _answer(file, "degrees", queries, estimate, edges, as_json=as_json)


@command("export", group=sorted_group)
def export(
    file: SortedFile,
    out: TableOption,
    estimate: EstimateOption = "posterior",
    sequence: SequenceOption = None,
    n: shared.PublicNOption = None,
) -> None:
    """Write how many values have how many records, and the counts in order. Costs no privacy."""
    _export(file, out, "counts", estimate, sequence, n)


@command("export", group=degrees_group)
def export_degrees(
    file: DegreesFile,
    out: TableOption,
    estimate: EstimateOption = "posterior",
    sequence: SequenceOption = None,
    edges: EdgesOption = None,
    graphical: Annotated[
        bool,
        typer.Option(
            "--graphical",
            help="Write the degree sequence of a graph near the estimate, in place of the estimate.",
        ),
    ] = False,
) -> None:
    """Write how many nodes have how many edges. Costs no privacy."""
    _export(file, out, "degrees", estimate, sequence, edges, graphical=graphical)


def _number(nodes: str) -> int | None:
    from dpopt.synopses.histograms.counts_plan import whole_number

    number = whole_number(nodes)
    if number is None and nodes != NOISY:
        raise PlanError(f"found --nodes {nodes[:_SHOWN]}; expected the number of nodes, or 'noisy'")
    return number


def _opened(file: Path, what: str, n: int | None) -> SortedCountsRelease:
    from dpopt.synopses.histograms.sorted.sorted_counts import DEGREES, SortedCountsRelease

    released = shared.opened(SortedCountsRelease, file)
    if released.what != what:
        other = "dpopt sorted" if what == DEGREES else "dpopt degrees"
        raise PlanError(f"{file.name} holds {released.what}, expected {what}; use '{other}'")
    return released if n is None else released.with_total(2 * n if what == DEGREES else n)


def _answer(
    file: Path, what: str, queries: list[int], estimate: str, n: int | None, *, as_json: bool
) -> None:
    released = _opened(file, what, n)
    found = [released.answer(least, estimate=estimate) for least in queries]
    if as_json:
        rows = [{"query": least, "value": value} for least, value in zip(queries, found, strict=True)]
        print_json({"answers": rows})
        return
    rows_shown = [(f"at least {least:,}", f"{one:,}") for least, one in zip(queries, found, strict=True)]
    shared.print_table(("records" if what == "counts" else "edges", "number"), rows_shown)


def _export(
    file: Path,
    out: Path,
    what: str,
    estimate: str,
    sequence: Path | None,
    n: int | None,
    *,
    graphical: bool = False,
) -> None:
    """Write an estimate of released sorted counts as tables."""
    from dpopt.synopses.histograms.histogram_table import write_frequencies, write_sequence

    for new in (out, *([] if sequence is None else [sequence])):
        shared.check_export(new)
    if sequence == out:
        raise PlanError(f"found {out.name} for both tables; give --sequence another name")
    released = _opened(file, what, n)
    counts = released.estimate(estimate)
    if graphical:
        found = released.graphical(estimate)
        counts = found.degrees
        shared.say(
            f"graphical: squared distance {found.squared_distance:,.1f} to the estimate, at most {found.gap:,.1f} above the "
            f"least; a graph with {len(found.edges()):,} edges has these degrees"
        )
    write_frequencies(counts, out)
    if sequence is not None:
        write_sequence(counts, sequence)
    shared.say(f"written to {out}" + ("" if sequence is None else f" and {sequence}"))
