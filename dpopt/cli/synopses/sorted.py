"""`dpopt sorted` and `dpopt degrees`: `plan`, `release`, `answer` and `export` of counts in order, of columns and graphs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import command
from dpopt.cli.synopses import shared
from dpopt.errors import PlanError
from dpopt.synopses.any_synopsis import KINDS

if TYPE_CHECKING:
    from dpopt.synopses.histograms.sorted.sorted_counts import SortedCountsRelease
    from dpopt.synopses.release import Request, RequestKeywords


SORTED = shared.Kind("sorted", "Counts in order: how many values have how many records.", KINDS["dpopt_sorted_counts"])
DEGREES = shared.Kind("degrees", "Degree sequences of graphs whose edges are private.", KINDS["dpopt_sorted_counts"])

EstimateOption = Annotated[
    str | None,
    typer.Option(
        "--estimate",
        help="How the sequence is estimated: posterior (means under the distribution of the noise), isotonic (the nearest "
        "nondecreasing sequence), rounded (the noisy counts, sorted).",
        show_default="posterior, or what --solver was asked for",
    ),
]
LeastOption = Annotated[list[int], "A number m: how many have a count of at least m? Can be repeated."]
PublicNOption = Annotated[
    int | None, "Number of records, if it is public; the estimate then has this total. Not needed under replace."
]
EdgesOption = Annotated[
    int | None, "Number of edges, if it is public; the estimate then has this total. Not needed under replace."
]
NodesOption = Annotated[
    str,
    "The declared number of nodes, those without an edge included; or 'noisy': the number of nodes with an edge is "
    "measured with 5 % of the budget. It is never read off the file.",
]
RankedOption = Annotated[
    int | None,
    typer.Option(
        "--ranked",
        help="How many of the largest degrees are measured one by one; of the others it is measured how many nodes have at "
        "least 1, 2, 3, ... edges. 0 for the numbers alone, the number of nodes for the degrees alone.",
        show_default="ten times the scale of the noise",
    ),
]
NOISY = "noisy"
_SHOWN = 40  # characters of what was found


@dataclass(frozen=True)
class TableOptions:
    """Where which estimate is written."""

    out: Annotated[Path, "-o", "--out", "New CSV file: each count that occurs, and how often."]
    estimate: EstimateOption = None
    sequence: Annotated[Path | None, "New CSV file beside it: the counts themselves, the largest first."] = None


@SORTED.plans()
def plan(request: Request, *, column: shared.ColumnOption = None, where: shared.BinOptions) -> shared.Output:
    """Show how many counts a release measures, and their noise. Reads no table."""
    return _planned(request, where.axis(request, column, in_order=False).number, graph=False)


@DEGREES.plans(shared.PlanBudgetOptions)
def plan_degrees(request: Request, *, nodes: NodesOption, ranked: RankedOption = None) -> shared.Output:
    """Show what a release measures of a graph, and the noise. Reads no edges."""
    return _planned(request, _number(nodes), graph=True, ranked=ranked)


@SORTED.releases(
    lambda released: (
        f"{released.counts.size:,} counts, some {released.counts.sum():,} records, largest count about "
        f"{released.counts[-1]:,}"
    )
)
def release(
    how: RequestKeywords,
    *,
    table: options.TableArgument,
    column: shared.ColumnOption = None,
    schema: shared.MaybeSchemaOption = None,
    counts: shared.CountsOption = None,
    solving: options.ModelSolverOptions,
) -> SortedCountsRelease:
    """Release the counts of a column's values in order: how many values have how many records, and not which values."""
    from dpopt.synopses.histograms.sorted.release_sorted import sorted_counts

    return sorted_counts(table, schema, column, counts=counts, **asdict(solving), **how)


@DEGREES.releases(
    lambda released: (
        f"{released.counts.size:,} nodes, some {released.counts.sum() // 2:,} edges, largest degree about "
        f"{released.counts[-1]:,}"
    ),
    shared.TextReleaseOptions,
)
def release_degrees(
    how: RequestKeywords,
    *,
    edges: Annotated[
        Path,
        typer.Argument(
            help="Two names of nodes in each line (also .gz), each edge once; lines that begin with # or % are no edges. Or a "
            "table, with --columns. Private: read here and nowhere else."
        ),
    ],
    nodes: NodesOption,
    columns: shared.ColumnsOption = None,
    ranked: RankedOption = None,
    solving: options.ModelSolverOptions,
    on_invalid: Annotated[
        str, "Lines that are no edge, loops and second copies: error, or drop (they do not count; no line ends a run)."
    ] = "error",
) -> SortedCountsRelease:
    """Release the degree sequence of a graph: how many nodes have how many edges, and not which nodes."""
    from dpopt.synopses.histograms.sorted.release_sorted import degrees

    declared, ends = _number(nodes), shared.named_columns(columns)
    if ends and (len(ends) != 2 or not all(ends)):
        raise PlanError(f"found --columns {columns}; expected the two ends of an edge, as in from,to")
    how["reading"] = replace(how["reading"], on_invalid=on_invalid)
    pair = (ends[0], ends[1]) if ends else None
    return degrees(edges, declared, columns=pair, ranked=ranked, **asdict(solving), **how)


@SORTED.shows("answer")
def answer(
    released: SortedCountsRelease, *, query: LeastOption, estimate: EstimateOption = None, n: PublicNOption = None
) -> shared.Output:
    """Give the number of values with at least m records. Costs no privacy."""
    return _answers(_with_total(released, "counts", n), query, estimate, "records")


@DEGREES.shows("answer")
def answer_degrees(
    released: SortedCountsRelease, *, query: LeastOption, estimate: EstimateOption = None, edges: EdgesOption = None
) -> shared.Output:
    """Give the number of nodes with at least m edges. Costs no privacy."""
    return _answers(_with_total(released, "degrees", edges), query, estimate, "edges")


@command("export", group=SORTED.group)
def export(
    *,
    file: Annotated[Path, typer.Argument(help="File of 'dpopt sorted release'.")],
    written: TableOptions,
    n: PublicNOption = None,
) -> None:
    """Write how many values have how many records, and the counts in order. Costs no privacy."""
    _export(file, written, "counts", n)


@command("export", group=DEGREES.group)
def export_degrees(
    *,
    file: Annotated[Path, typer.Argument(help="File of 'dpopt degrees release'.")],
    written: TableOptions,
    edges: EdgesOption = None,
    graphical: Annotated[
        bool, "Write the degree sequence of a graph near the estimate, instead of the estimate."
    ] = False,
    solving: options.ModelSolverOptions,
) -> None:
    """Write how many nodes have how many edges. Costs no privacy. --solver is for --graphical."""
    if solving.solver is not None and not graphical:
        raise PlanError("--solver finds the sequence of --graphical; give both, or leave it out")
    _export(file, written, "degrees", edges, graphical=solving if graphical else None)


def _planned(request: Request, length: int | None, *, graph: bool, ranked: int | None = None) -> shared.Output:
    """Return the plan of a number of counts; the number of records does not decide the noise."""
    from dpopt.synopses.histograms.sorted.release_sorted import plan_sorted

    plan = partial(plan_sorted, length, graph=graph, relation=request.relation, ranked=ranked)
    found = plan(request.noise(plan, None))
    rows = [] if found.length_scale is None else [("number of nodes with an edge", "1", f"{found.length_scale:.4g}")]
    if found.ranked is not None:
        rows.append(("largest degrees, one by one", f"{found.ranked:,}", f"{found.scale:.4g}"))
    others = "counts in order" if found.ranked is None else "nodes with at least 1, 2, ... edges"
    number = "one per node" if length is None else f"{length if found.ranked is None else length - 1:,}"
    return shared.Output(
        found.to_json(),
        [
            shared.noise_table(
                ("measured", "numbers", "noise: scale"),
                [*rows, (others, number, f"{found.scale:.4g}")],
                gaussian=found.gaussian,
            ),
            f"standard error of each number: {found.expected_error**0.5:,.2f}; less in the estimate, where counts are alike",
        ],
    )


def _number(nodes: str) -> int | None:
    from dpopt.synopses.histograms.counts_plan import whole_number

    number = whole_number(nodes)
    if number is None and nodes != NOISY:
        raise PlanError(f"found --nodes {nodes[:_SHOWN]}; expected the number of nodes, or 'noisy'")
    return number


def _with_total(released: SortedCountsRelease, what: str, n: int | None) -> SortedCountsRelease:
    if released.what != what:
        other = SORTED if what == "degrees" else DEGREES
        raise PlanError(f"the file holds {released.what}, expected {what}; use 'dpopt {other.name}'")
    if n is None:
        return released
    if released.solved:
        shared.say(f"with this total the estimates are dpopt's own; {released.solved[0].solver} solved without it")
    return released.with_total(2 * n if what == "degrees" else n)


def _chosen(released: SortedCountsRelease, estimate: str | None) -> str:
    if estimate is not None:
        return estimate
    return released.default.value if released.solved else "posterior"


def _answers(released: SortedCountsRelease, queries: list[int], estimate: str | None, heading: str) -> shared.Output:
    found = [(least, released.answer(least, estimate=_chosen(released, estimate))) for least in queries]
    rows = [(f"at least {least:,}", f"{one:,}") for least, one in found]
    return shared.Output(
        {"answers": [{"query": least, "value": value} for least, value in found]},
        [shared.table_of((heading, "number"), rows)],
    )


def _export(
    file: Path, written: TableOptions, what: str, n: int | None, *, graphical: options.ModelSolverOptions | None = None
) -> None:
    """Write an estimate of released sorted counts as tables."""
    from dpopt.files.written_files import check_new
    from dpopt.synopses.histograms.sorted.sorted_counts import write_frequencies, write_sequence

    places = [written.out] if written.sequence is None else [written.out, written.sequence]
    for new in places:
        check_new(new)
    if written.sequence == written.out:
        raise PlanError(f"found {written.out.name} for both tables; give --sequence another name")
    released = _with_total(SORTED.open(file), what, n)
    estimate = _chosen(released, written.estimate)
    counts = released.estimate(estimate)
    if graphical is not None:
        found = released.graphical(estimate, **asdict(graphical))
        counts = found.degrees
        shared.say(
            f"graphical: squared distance {found.squared_distance:,.1f} to the estimate, at most {found.gap:,.1f} "
            f"above the least; a graph with {len(found.edges()):,} edges has these degrees"
        )
    for write, place in zip((write_frequencies, write_sequence), places, strict=False):
        write(counts, place)
    shared.say(f"written to {' and '.join(map(str, places))}")
