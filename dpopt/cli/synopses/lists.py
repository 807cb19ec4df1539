"""`dpopt lists plan`, `release` and `answer`: rows that are decision lists, answered at every point of their variables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import command
from dpopt.cli.commands.plan import print_json
from dpopt.cli.synopses import shared

if TYPE_CHECKING:
    from dpopt.synopses.decision_lists.list_plan import ListPlan

lists_group = shared.synopsis_group(
    "lists",
    "Tables whose rows are decision lists, disjunctions or conjunctions; which share of them is true at a point.",
)

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
KindOption = Annotated[
    str | None,
    typer.Option(
        "--kind", help="lists (x3:1, !x7:0, else:1), disjunctions (x3 | !x7) or conjunctions (x3 & !x7)."
    ),
]
ChangesOption = Annotated[
    int | None,
    typer.Option("--changes", help="How often the output of a list changes at most; k if left out. Public."),
]
QueriesOption = Annotated[
    int | None,
    typer.Option(
        "--queries", help="Number of points for which the error is predicted simultaneously; all if left out."
    ),
]
LargestOption = Annotated[
    int | None,
    typer.Option(
        "--largest",
        help="Largest number of literals of a counted conjunction; chosen by the plan if left out.",
    ),
]
SolverOption = Annotated[str, typer.Option("--solver", help="Solver of linear programs.")]


@command("plan", group=lists_group)
def plan(
    *,
    variables: VariablesOption,
    n: shared.NOption = None,
    n0: shared.N0Option = None,
    length: LengthOption = None,
    kind: KindOption = None,
    changes: ChangesOption = None,
    spending: options.SpendingOptions,
    queries: QueriesOption = None,
    largest: LargestOption = None,
    solver: SolverOption = "highs",
    as_json: options.JsonOption = False,
) -> None:
    """Show which conjunctions would be counted with how much noise, and the predicted error, before any table is read."""
    from dataclasses import asdict

    from dpopt.synopses.decision_lists.list_files import read_declaration
    from dpopt.synopses.decision_lists.list_planning import plan_lists
    from dpopt.synopses.release import Request

    request, family = Request(**asdict(spending)), read_declaration(variables, length, kind, changes)
    planned = request.plan(
        lambda budget, size: plan_lists(
            family,
            budget,
            size=size or 0,
            relation=request.relation,
            points=queries,
            largest=largest,
            solver=solver,
        ),
        n,
        n0,
    )
    if as_json:
        print_json(planned.to_json())
        return
    shared.print_noise(
        ("conjunctions of", "number", "noise: scale in rows"),
        [
            (
                f"{size} literals",
                f"{planned.coefficients.conjunctions(size):,}",
                f"{share * planned.size:.4g}",
            )
            for size, share in zip(planned.sizes, planned.shares.tolist(), strict=True)
        ],
        gaussian=planned.gaussian,
    )
    shared.say(_prediction(planned))


@command("release", group=lists_group)
def release(
    *,
    lists: Annotated[Path, typer.Argument(help="Text file (also .gz), one row on each line. Private.")],
    variables: VariablesOption,
    out: shared.OutOption,
    length: LengthOption = None,
    kind: KindOption = None,
    changes: ChangesOption = None,
    spending: options.SpendingOptions,
    paying: options.PayingOptions,
    n0: shared.N0Option = None,
    queries: QueriesOption = None,
    largest: LargestOption = None,
    solver: SolverOption = "highs",
    encoding: options.EncodingOption = "utf-8",
) -> None:
    """Release noisy counts of LISTS that give at every point the share of rows that are true there."""
    from dataclasses import asdict

    from dpopt.private.readers.table_reading import TableReading
    from dpopt.synopses.decision_lists.release_lists import decision_lists

    reading = TableReading(encoding=encoding)
    released = shared.make(
        out,
        lambda how: decision_lists(
            lists,
            variables,
            length,
            kind=kind,
            changes=changes,
            n0=n0,
            queries=queries,
            largest=largest,
            solver=solver,
            **how,
        ),
        {**asdict(spending), "reading": reading, "budget": paying.ledger()},  # type: ignore[typeddict-item]  # as in `shared`
    )
    counted = sum(noisy.size for noisy in released.noisy)
    shared.say(f"{counted:,} noisy counts; {_prediction(released.plan)}; written to {out}")


@command("answer", group=lists_group)
def answer(
    file: Annotated[Path, typer.Argument(help="File of 'dpopt lists release'.")],
    queries: Annotated[
        list[str] | None,
        typer.Option(
            "--query",
            help="A point: x1=1,x2=0,... with every variable, or digits such as 010. May be repeated.",
        ),
    ] = None,
    query_file: Annotated[
        Path | None,
        typer.Option(
            "--query-file", help="File of points: CSV with the variables on its first line, or an .npy array."
        ),
    ] = None,
    confidence: shared.ConfidenceOption = 0.95,
    as_json: options.JsonOption = False,
) -> None:
    """Give the share of rows that are true at points, from a released summary, with bounds. Costs no privacy."""
    import numpy as np

    from dpopt.errors import WorkloadError
    from dpopt.synopses.decision_lists.list_files import read_points
    from dpopt.synopses.decision_lists.list_summary import ListSummary

    if (query_file is None) == (not queries):
        raise WorkloadError("expected points: --query once or more, or --query-file, not both")
    summary = shared.opened(ListSummary, file)
    family = summary.plan.family
    asked = (
        np.stack([family.point(one) for one in queries or ()])
        if query_file is None
        else read_points(query_file, family)
    )
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
                    {"query": point, "value": value} for point, value in zip(shown, values, strict=True)
                ],
            }
        )
        return
    shared.print_table(
        ("point", "share of rows", f"within ({100 * confidence:g}%)", "error of the polynomial"),
        [
            (point, f"{value:.4f}", f"{bound:.4f}", f"{summary.plan.approximation:.4f}")
            for point, value in zip(shown, values, strict=True)
        ],
        fold=True,
    )


def _prediction(planned: ListPlan) -> str:
    every = planned.points == 2 ** len(planned.family.variables)
    points = "all points" if every else f"{planned.points:,} points"
    return (
        f"{points} within {planned.predicted:.4g} with probability 95 %, of which the polynomial's error is "
        f"{planned.approximation:.2g}"
    )
