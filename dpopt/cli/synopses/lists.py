"""`dpopt lists plan`, `release` and `answer`: rows that are decision lists, answered at every point of their variables."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import application, command
from dpopt.cli.commands.plan import print_json
from dpopt.cli.reports.reports import print_spent, warn_if_not_private

if TYPE_CHECKING:
    from dpopt.synopses.decision_lists.list_plan import ListPlan

lists_group = typer.Typer(
    help="Tables whose rows are decision lists, disjunctions or conjunctions; which share of them is true at a point.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
application.add_typer(lists_group, name="lists")

VariablesOption = Annotated[
    str,
    typer.Option(
        "--variables",
        help="Names with commas between them, x1..x30 for a range; or a file of them (JSON, or one on each line). Public.",
    ),
]
LengthOption = Annotated[
    int | None, typer.Option("--k", help="The largest number of literals of a row. Public.")
]
RowsOption = Annotated[
    str | None,
    typer.Option(
        "--rows", help="lists (x3:1, !x7:0, else:1), disjunctions (x3 | !x7) or conjunctions (x3 & !x7)."
    ),
]
ChangesOption = Annotated[
    int | None,
    typer.Option("--changes", help="How often the output of a list changes at most; k if left out. Public."),
]
PointsOption = Annotated[
    int | None,
    typer.Option("--points", help="For how many points together the error is predicted; all if left out."),
]
LargestOption = Annotated[
    int | None,
    typer.Option("--largest", help="The most literals of a conjunction that is counted."),
]
SolverOption = Annotated[str, typer.Option("--solver", help="Solver of linear programs.")]
SizeOption = Annotated[
    int | None,
    typer.Option(
        "--n0",
        help="Under add-remove a fixed public number that answers are shares of, at least that of the rows. Left out, it is "
        "measured with 1 % of the budget, and rounded up.",
    ),
]


@command("plan", group=lists_group)
def plan(
    *,
    variables: VariablesOption,
    n: Annotated[int, typer.Option("--n", help="Public number of rows.")],
    length: LengthOption = None,
    rows: RowsOption = None,
    changes: ChangesOption = None,
    spending: options.SpendingOptions,
    points: PointsOption = None,
    largest: LargestOption = None,
    solver: SolverOption = "highs",
    as_json: options.JsonOption = False,
) -> None:
    """Say which conjunctions would be counted with how much noise, and the error to expect: before any table is read."""
    from dpopt.synopses.decision_lists.list_files import read_declaration
    from dpopt.synopses.decision_lists.list_planning import plan_lists
    from dpopt.synopses.histograms.histogram_settings import HistogramSettings

    settings = HistogramSettings(**asdict(spending))
    planned = plan_lists(
        read_declaration(variables, length, rows, changes),
        settings.budget(),
        size=n,
        relation=settings.relation,
        points=points,
        largest=largest,
        solver=solver,
    )
    if as_json:
        print_json(planned.to_json())
        return
    _print_plan(planned)


@command("release", group=lists_group)
def release(
    *,
    lists: Annotated[Path, typer.Argument(help="Text file (also .gz), one row on each line. Private.")],
    variables: VariablesOption,
    out: Annotated[Path, typer.Option("-o", "--out", help="New file for the summary.")],
    length: LengthOption = None,
    rows: RowsOption = None,
    changes: ChangesOption = None,
    spending: options.SpendingOptions,
    paying: options.PayingOptions,
    n0: SizeOption = None,
    points: PointsOption = None,
    largest: LargestOption = None,
    solver: SolverOption = "highs",
    encoding: options.EncodingOption = "utf-8",
) -> None:
    """Release a summary of LISTS that says at every point which share of them is true there."""
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.cli.reports.reports import console
    from dpopt.releases.folder_files import check_new
    from dpopt.synopses.decision_lists.list_files import read_declaration, write_list_summary
    from dpopt.synopses.decision_lists.release_lists import summary_of_lists
    from dpopt.synopses.histograms.histogram_settings import HistogramSettings

    settings = HistogramSettings(**asdict(spending))
    check_new(out)
    with TerminalProgress() as progress:
        released = summary_of_lists(
            lists,
            read_declaration(variables, length, rows, changes),
            settings.budget(),
            relation=settings.relation,
            size=n0,
            encoding=encoding,
            points=points,
            largest=largest,
            solver=solver,
            progress=progress,
            ledger=paying.ledger(),
        )
        write_list_summary(released, out)
    print_spent(released.privacy)
    counted = sum(noisy.size for noisy in released.noisy)
    console().print(f"{counted:,} noisy counts; {_prediction(released.plan)}; written to {out}")


@command("answer", group=lists_group)
def answer(
    file: Annotated[Path, typer.Argument(help="File of 'dpopt lists release'.")],
    at: Annotated[
        list[str] | None,
        typer.Option("--at", help="A point: x1=1,x2=0,... with every variable, or digits. May be repeated."),
    ] = None,
    points: Annotated[
        Path | None,
        typer.Option(
            "--points", help="File of points: CSV with the variables on its first line, or an .npy array."
        ),
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the bounds, each for itself.")] = 0.95,
    as_json: options.JsonOption = False,
) -> None:
    """Say from a released summary which share of the rows is true at points, with bounds. Costs no privacy."""
    import numpy as np
    from rich.table import Table

    from dpopt.cli.reports.reports import console
    from dpopt.errors import WorkloadError
    from dpopt.synopses.decision_lists.list_files import read_list_summary, read_points

    if (points is None) == (not at):
        raise WorkloadError("expected points: --at once or more, or --points with a file, not both")
    summary = read_list_summary(file)
    warn_if_not_private(summary.privacy)
    family = summary.plan.family
    asked = np.stack([family.point(one) for one in at or ()]) if at else read_points(points or Path(), family)
    bound, values = summary.bound(confidence), summary.answers(asked).tolist()
    shown = ["".join(map(str, bits)) for bits in asked.tolist()]
    if as_json:
        print_json(
            {
                "variables": list(family.variables),
                "bound": bound,
                "approximation": summary.plan.approximation,
                "confidence": confidence,
                "answers": [
                    {"point": point, "value": value} for point, value in zip(shown, values, strict=True)
                ],
            }
        )
        return
    table = Table(title_justify="left")
    for heading in ("point", "share of rows", f"within ({100 * confidence:g}%)", "of it polynomial"):
        table.add_column(heading, overflow="fold")
    for point, value in zip(shown, values, strict=True):
        table.add_row(point, f"{value:.4f}", f"{bound:.4f}", f"{summary.plan.approximation:.4f}")
    console().print(table)


def _prediction(planned: ListPlan) -> str:
    every = planned.points == 2 ** len(planned.family.variables)
    points = "all points" if every else f"{planned.points:,} points"
    return f"{points} within {planned.predicted:.4g} with probability 95 %, of it polynomial {planned.approximation:.2g}"


def _print_plan(planned: ListPlan) -> None:
    from rich.table import Table

    from dpopt.cli.reports.reports import console

    out = console()
    noise = "Gaussian" if planned.gaussian else "Laplace"
    table = Table(
        "conjunctions of",
        "number",
        "noise: scale in rows",
        title=f"measured with {noise} noise",
        title_justify="left",
    )
    for size, share in zip(planned.sizes, planned.shares.tolist(), strict=True):
        table.add_row(
            f"{size} literals", f"{planned.coefficients.conjunctions(size):,}", f"{share * planned.size:.4g}"
        )
    out.print(table)
    out.print(_prediction(planned))
