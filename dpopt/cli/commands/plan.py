"""`dpopt plan`: what a run would cost and how accurate it would be, from public values alone."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpopt.cli import options
from dpopt.cli.application import NamedAlgorithm, command
from dpopt.cli.reports.declared import declared_schema
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.accounting.relations import NeighbouringRelation


@command("plan")
def plan(
    *,
    workload: options.WorkloadOption,
    schema: options.DeclaredSchemaOption = None,
    binary_columns: options.BinaryColumnsOption = None,
    names: options.NamesOption = None,
    layout: options.LayoutOption = None,
    n: Annotated[
        int | None,
        "Number of records to plan for. Under replace it is public; under add-remove it is a guess, since a "
        "release measures the number (or takes that of --n0).",
    ] = None,
    spending: options.SpendingOptions,
    unit: options.UnitOptions,
    accuracy: Annotated[
        float | None,
        "--error",
        "In place of a plan: the parameters of the DualQuery paper for this largest error, a share between 0 and 1, "
        "and what each accountant charges for them.",
    ] = None,
    confidence: Annotated[float, "Probability with which the error of --error holds."] = 0.95,
    algorithm: NamedAlgorithm,
    accountant: options.AccountantOption = None,
    n0: options.N0Option = None,
    density: options.DensityOption = None,
    predict: Annotated[
        bool, "--predict/--no-predict", "Predict the errors by simulation on public synthetic data."
    ] = True,
    compare: Annotated[
        bool,
        "--compare",
        "With auto, predict also the errors of algorithms that it would not take; takes longer.",
    ] = False,
    as_json: options.JsonOption = False,
) -> None:
    """Plan a run: its cost, the proven bound, and the predicted errors. Reads no record."""
    from dpopt.accounting.relations import NeighbouringRelation
    from dpopt.algorithms.asked import Terms
    from dpopt.algorithms.explain import explain, explain_accuracy
    from dpopt.algorithms.stating import plan_and_statement, prepare, remarks_on
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.releases.measured_size import is_measured, with_size_measured
    from dpopt.releases.plan import DEFAULT_DELTA, choice

    relation = choice(NeighbouringRelation, spending.neighbours, "neighbours")
    size = _size(relation, n, n0)
    measured = is_measured(relation, n0)
    declared = declared_schema(schema, binary_columns, names)
    reading = unit.reading(layout)
    if accuracy is not None:
        from dpopt.queries.workloads.workload import parse_workload

        if unit.rows_per_person is not None:
            raise PlanError(
                "--error shows the paper's parameters, which are for single records; leave --rows-per-person out"
            )
        if spending.rho is not None:
            raise PlanError("--error goes with --epsilon and --delta (or with neither), not with --rho")
        if algorithm.given:
            given = next(iter(algorithm.given)).replace("_", "-")
            raise PlanError(f"--error fixes rounds, draws and step; leave --{given} out")
        explained = explain_accuracy(
            accuracy,
            confidence,
            parse_workload(workload, declared),
            size=size,
            relation=relation,
            epsilon=1.0 if spending.epsilon is None else spending.epsilon,
            delta=DEFAULT_DELTA if spending.delta is None else spending.delta,
        )
        print_json(explained) if as_json else _report_accuracy(explained)
        return
    terms = Terms(
        algorithm.options(),
        **asdict(spending),
        accountant=accountant,
        reading=reading,
        accept_draft=True,
        predict=predict,
        density=density,
    )
    progress = TerminalProgress()
    queries, budget = prepare(terms, declared, workload, progress).workload, terms.budget()
    made, statement = plan_and_statement(
        terms,
        size,
        queries,
        progress,
        runs=2,
        compare=compare,
        form=None if reading.layout is None else str(reading.layout),
        budget=with_size_measured(budget) if measured else budget,
    )
    for remark in remarks_on(made, statement):
        typer.echo(remark, err=True)
    explained = explain(made, queries, statement)
    if as_json:
        print_json(explained)
    else:
        from dpopt.cli.reports.reports import report_plan

        report_plan(explained)


def _size(relation: NeighbouringRelation, n: int | None, n0: int | None) -> int:
    """Return the number of records to plan for: n, or under add-remove the n0 that a release would declare."""
    if n0 is not None and relation.value != "add-remove":
        raise PlanError(
            f"--n0 is for add-remove; under {relation.describe()} give the number of records by --n"
        )
    if n is not None and n0 is not None:
        raise PlanError(
            "found --n and --n0; give --n, a guess of the number that a release measures, or --n0, the number that it declares"
        )
    if n is None and n0 is None:
        raise PlanError("the plan needs a number of records: give --n")
    return n if n0 is None else n0  # type: ignore[return-value]  # one of the two is given


def print_json(obj: dict[str, Any]) -> None:
    """Print a JSON object on standard output."""
    typer.echo(json.dumps(obj, indent=1, ensure_ascii=False))


def _report_accuracy(explained: dict[str, Any]) -> None:
    from dpopt.cli.reports.reports import console

    out = console()
    out.print(
        f"largest error {explained['accuracy']:g} with probability {explained['confidence']:g} by {explained['theorem']}:\n"
        f"T = {explained['rounds']:,}, s = {explained['draws']:,}, eta = {explained['step']}, "
        f"best responses within {explained['solver_gap_allowed']:g} of optimal; {explained['neighbours']}"
    )
    for row in explained["accountants"]:
        if row["epsilon"] is None:
            out.print(f"{row['accountant']:>9}: {row['refused']}")
            continue
        needed = "beyond 10^15" if row["size_needed"] is None else f"{row['size_needed']:,}"
        out.print(
            f"{row['accountant']:>9}: epsilon = {row['epsilon']:.4g} at n = {explained['size']:,}, delta = {row['delta']:g}; "
            f"epsilon = {explained['epsilon_wanted']:g} needs n = {needed}"
        )
