"""`dpopt degrees release` and `export`: the degree sequence of a graph whose edges are private."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import application, command
from dpopt.cli.histogram import EpsilonOption, NeighboursOption
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.algorithms.histograms.sorted_counts import SortedCountsRelease

degrees_group = typer.Typer(
    help="Degree sequences of graphs whose edges are private.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
application.add_typer(degrees_group, name="degrees")
NOISY = "noisy"


@command("release", group=degrees_group)
def release(
    edges: Annotated[
        Path,
        typer.Argument(
            help="Two names of nodes in each line, each edge once; or a table, with --columns. Private: read here and nowhere "
            "else."
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
    epsilon: EpsilonOption = None,
    delta: options.DeltaOption = None,
    rho: options.RhoOption = None,
    neighbours: NeighboursOption = "add-remove",
) -> None:
    """Release the degree sequence of a graph: how many nodes have how many edges, and not which nodes."""
    from dpopt.algorithms.histograms.histogram_of_table import (
        HistogramSettings,
        check_new,
        degrees_of_edges,
        write_histogram,
    )
    from dpopt.cli.progress import TerminalProgress

    settings = HistogramSettings(epsilon=epsilon, delta=delta, rho=rho, neighbours=neighbours)
    declared, named = _number(nodes), _columns(columns)
    check_new(out)
    with TerminalProgress() as progress:
        released = degrees_of_edges(edges, declared, settings, columns=named, progress=progress)
        write_histogram(released, out)
    _print_release(released, out)


@command("export", group=degrees_group)
def export(
    file: Annotated[Path, typer.Argument(help="File of 'dpopt degrees release'.")],
    out: Annotated[
        Path, typer.Option("-o", "--out", help="New CSV file: degree, and how many nodes have it.")
    ],
    graphical: Annotated[
        bool, typer.Option("--graphical", help="Of a sequence near it that a graph can have.")
    ] = False,
) -> None:
    """Write how many nodes have how many edges. Costs no privacy."""
    from dpopt.algorithms.histograms.histogram_of_table import check_new, read_sorted_counts
    from dpopt.algorithms.histograms.histogram_table import write_frequencies
    from dpopt.cli.reports import console

    check_new(out)
    released = read_sorted_counts(file)
    counts = released.counts
    if graphical:
        found = released.graphical
        counts = found.degrees
        console().print(
            f"graphical: squared distance {found.squared_distance:,.1f} to the estimate, at most {found.gap:,.1f} above the "
            f"least; a graph with {len(found.edges()):,} edges has these degrees"
        )
    write_frequencies(released.frequencies(counts), out)
    console().print(f"written to {out}")


def _number(nodes: str) -> int | None:
    if nodes == NOISY:
        return None
    if not nodes.isdecimal():
        raise PlanError(f"found --nodes {nodes}; expected the number of nodes, or 'noisy'")
    return int(nodes)


def _columns(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2 or not all(parts):
        raise PlanError(f"found --columns {text}; expected two names and a comma")
    return parts[0], parts[1]


def _print_release(released: SortedCountsRelease, out: Path) -> None:
    from dpopt.cli.reports import console

    shown, privacy = console(), released.privacy
    at = f" at delta = {privacy['delta']:g}" if privacy["delta"] else ""
    shown.print(
        f"spent: epsilon = {privacy['epsilon']:.4f}{at} (rho = {privacy['rho']:.6f}), {privacy['neighbours']}"
    )
    counts = released.counts
    shown.print(
        f"{counts.size:,} nodes, some {counts.sum() / 2:,.0f} edges, largest degree about {counts[-1]:,}; written to {out}"
    )
