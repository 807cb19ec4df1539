"""`dpopt lists`: rows that are decision lists, answered at every point of their variables."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.algorithms.terms import N0
from dpopt.cli import options
from dpopt.cli.synopses import shared
from dpopt.errors import WorkloadError
from dpopt.synopses.any_synopsis import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpopt.accounting.budget import Budget
    from dpopt.models.model import Solution
    from dpopt.queries.decision_lists.families import ListFamily
    from dpopt.synopses.decision_lists.list_plan import ListPlan
    from dpopt.synopses.decision_lists.list_summary import ListSummary
    from dpopt.synopses.release import Request, RequestKeywords


LISTS = shared.Kind(
    "lists",
    "Tables whose rows are decision lists, disjunctions or conjunctions; which share of them is true at a point.",
    KINDS["dpopt_list_summary"],
)


@dataclass(frozen=True)
class RowOptions:
    """The declarations of rows."""

    variables: Annotated[
        str,
        "Names with commas between them, x1..x30 for a range; or a file of them (JSON, or one on each line). Public.",
    ]
    k: Annotated[int | None, "The largest number of literals of a row. Public."] = None
    kind: Annotated[str | None, "lists (x3:1, !x7:0, else:1), disjunctions (x3 | !x7) or conjunctions (x3 & !x7)."] = (
        None
    )
    changes: Annotated[int | None, "The most changes of the output of a list. Default: k. Public."] = None

    def family(self) -> ListFamily:
        """Return the declaration."""
        from dpopt.synopses.decision_lists.list_summary import read_declaration

        return read_declaration(self.variables, self.k, self.kind, self.changes)


@dataclass(frozen=True)
class CountedOptions:
    """The counts, and the number of points."""

    queries: Annotated[
        int | None, "Number of points for which the error is predicted simultaneously. Default: all."
    ] = None
    largest: Annotated[
        int | None, "Largest number of literals of a counted conjunction. Default: chosen by the plan."
    ] = None
    solver: options.ModelSolverOption = None


@LISTS.plans(shared.PlanBudgetOptions)
def plan(
    request: Request, *, rows: RowOptions, n: shared.NOption = None, n0: N0 = None, counted: CountedOptions
) -> shared.Output:
    """Show which conjunctions a release counts, their noise, and the predicted error. Reads no table."""
    from dpopt.synopses.decision_lists.list_plan import certified_plan

    family = rows.family()
    judged: dict[ListPlan, Callable[[], Solution]] = {}

    def certified(budget: Budget, size: int | None) -> ListPlan:
        made, judge = certified_plan(
            family,
            budget,
            size,
            relation=request.relation,
            points=counted.queries,
            largest=counted.largest,
            solver=counted.solver,
        )
        judged[made] = judge
        return made

    planned = request.plan(certified, n, n0)
    lines = [
        (f"{size} literals", f"{planned.coefficients.conjunctions(size):,}", f"{share * planned.size:.4g}")
        for size, share in zip(planned.sizes, planned.shares.tolist(), strict=True)
    ]
    table = shared.noise_table(("conjunctions of", "number", "noise: scale in rows"), lines, gaussian=planned.gaussian)
    solved = {} if counted.solver is None else {"model_decision_lists": str(judged[planned]())}
    return shared.Output(
        {**planned.to_json(), **solved},
        [table, _prediction(planned), *(f"model decision_lists by {solution}" for solution in solved.values())],
    )


@LISTS.releases(
    lambda released: f"{sum(noisy.size for noisy in released.noisy):,} noisy counts; {_prediction(released.plan)}",
    shared.ReleaseBudgetOptions,
)
def release(
    how: RequestKeywords,
    *,
    lists: Annotated[Path, typer.Argument(help="Text file (also .gz), one row on each line. Private.")],
    rows: RowOptions,
    n0: N0 = None,
    counted: CountedOptions,
    encoding: options.EncodingOption = None,
) -> ListSummary:
    """Release noisy counts of LISTS that give at every point the share of rows that are true there."""
    from dpopt.private.readers.table_reading import TableReading
    from dpopt.synopses.decision_lists.release_lists import decision_lists

    how["reading"] = TableReading(encoding=encoding)
    return decision_lists(lists, n0=n0, **asdict(rows), **asdict(counted), **how)


@LISTS.shows("answer")
def answer(
    summary: ListSummary,
    *,
    query: Annotated[
        list[str] | None, "A point: x1=1,x2=0,... with every variable, or digits such as 010. Can be repeated."
    ] = None,
    query_file: Annotated[
        Path | None, "File of points: CSV with the variables on its first line, or an .npy array."
    ] = None,
    confidence: shared.ConfidenceOption = 0.95,
) -> shared.Output:
    """Give the share of rows that are true at points, from a released summary, with bounds. Costs no privacy."""
    import numpy as np

    from dpopt.synopses.decision_lists.list_summary import read_points

    if (query_file is None) == (not query):
        raise WorkloadError("expected points: --query once or more, or --query-file, not both")
    family, own = summary.plan.family, summary.plan.approximation
    asked = (
        np.stack([family.point(one) for one in query or ()]) if query_file is None else read_points(query_file, family)
    )
    points = ["".join(map(str, bits)) for bits in asked.tolist()]
    bound, found = summary.bound(confidence), list(zip(points, summary.answers(asked).tolist(), strict=True))
    return shared.Output(
        {
            "variables": list(family.variables),
            "bound": bound,
            "approximation": own,
            "confidence": confidence,
            "answers": [{"query": point, "value": value} for point, value in found],
        },
        [
            shared.shares_table(
                ("point", "share of rows", f"within ({100 * confidence:g}%)", "error of the polynomial"),
                points,
                [(value, bound, own) for _, value in found],
            )
        ],
    )


LISTS.exports_json()


def _prediction(planned: ListPlan) -> str:
    every = planned.points == 2 ** len(planned.family.variables)
    points = "all points" if every else f"{planned.points:,} points"
    return (
        f"{points} within {planned.predicted:.4g} with probability 95 %, of which the polynomial's error is "
        f"{planned.approximation:.2g}"
    )
