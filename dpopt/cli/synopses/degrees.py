"""`dpopt degrees release` and `export`: the degree sequence of a graph whose edges are private."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import application, command
from dpopt.cli.reports.reports import print_spent
from dpopt.cli.synopses import sorted as sorted_counts
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.synopses.histograms.sorted.sorted_counts import SortedCountsRelease

degrees_group = typer.Typer(
    help="Degree sequences of graphs whose edges are private.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
application.add_typer(degrees_group, name="degrees")
NOISY = "noisy"
_SHOWN = 40  # characters of what was found


@command("release", group=degrees_group)
def release(
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
            help="The declared number of nodes, those without an edge included; or 'noisy': the number of nodes with an edge "
            "is bought with 5 % of the budget. It is never read off the file.",
        ),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="New file (JSON) for the degrees.")],
    columns: Annotated[
        str | None,
        typer.Option("--columns", help="Names of the two columns with the ends of the edges: from,to."),
    ] = None,
    spending: options.SpendingOptions,
    text: options.TextOptions,
    on_invalid: Annotated[
        str,
        typer.Option(
            "--on-invalid",
            help="Lines that are no edge, loops and second copies: error, or drop (they do not count; no line ends a run).",
        ),
    ] = "error",
    paying: options.PayingOptions,
) -> None:
    """Release the degree sequence of a graph: how many nodes have how many edges, and not which nodes."""
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.releases.folder_files import check_new
    from dpopt.synopses.histograms.histogram_files import write_histogram
    from dpopt.synopses.histograms.histogram_settings import HistogramSettings
    from dpopt.synopses.histograms.sorted.sorted_of_table import degrees_of_edges

    settings = HistogramSettings(**asdict(spending), reading=text.text(on_invalid))
    declared, named = _number(nodes), _columns(columns)
    check_new(out)
    with TerminalProgress() as progress:
        released = degrees_of_edges(
            edges, declared, settings, columns=named, progress=progress, budget=paying.ledger()
        )
        write_histogram(released, out)
    _print_release(released, out)


@command("export", group=degrees_group)
def export(
    file: Annotated[Path, typer.Argument(help="File of 'dpopt degrees release'.")],
    out: sorted_counts.OutOption,
    estimate: sorted_counts.EstimateOption = "posterior",
    graphical: Annotated[
        bool, typer.Option("--graphical", help="Of a sequence near it that a graph can have.")
    ] = False,
    edges: Annotated[
        int | None,
        typer.Option(
            "--edges", help="The number of edges, if it is public; under replace it is known already."
        ),
    ] = None,
    sequence: sorted_counts.SequenceOption = None,
) -> None:
    """Write how many nodes have how many edges. Costs no privacy."""
    sorted_counts.export_sorted(
        file,
        out,
        "degrees",
        estimate=estimate,
        sequence=sequence,
        total=None if edges is None else 2 * edges,
        graphical=graphical,
    )


def _number(nodes: str) -> int | None:
    if nodes == NOISY:
        return None
    from dpopt.synopses.histograms.counts_plan import whole_number

    number = whole_number(nodes)
    if number is None:
        raise PlanError(f"found --nodes {nodes[:_SHOWN]}; expected the number of nodes, or 'noisy'")
    return number


def _columns(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2 or not all(parts):
        raise PlanError(f"found --columns {text}; expected two names and a comma")
    return parts[0], parts[1]


def _print_release(released: SortedCountsRelease, out: Path) -> None:
    from dpopt.cli.reports.reports import console

    print_spent(released.privacy)
    counts = released.counts
    console().print(
        f"{counts.size:,} nodes, some {counts.sum() // 2:,} edges, largest degree about {counts[-1]:,}; written to {out}"
    )
