"""`dpopt plan`: what a run would cost and how accurate it would be, from public values alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpopt.cli import options
from dpopt.cli.application import command
from dpopt.cli.declared import declared_reading, declared_schema
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.accounting.relations import NeighbouringRelation


@command("plan")
def plan(
    workload: options.WorkloadOption,
    schema: options.DeclaredSchemaOption = None,
    binary_columns: options.BinaryColumnsOption = None,
    names: options.NamesOption = None,
    layout: options.LayoutOption = None,
    n: Annotated[int | None, typer.Option("--n", help="Public number of records (replace-one).")] = None,
    epsilon: options.EpsilonOption = None,
    delta: options.DeltaOption = None,
    rho: options.RhoOption = None,
    accuracy: Annotated[
        float | None, typer.Option("--accuracy", help="Wanted largest error: the paper's parameters for it.")
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="Probability for --accuracy.")] = 0.95,
    algorithm: options.AlgorithmOption = "auto",
    accountant: options.AccountantOption = "zcdp",
    neighbours: options.NeighboursOption = "replace",
    n0: options.N0Option = None,
    rounds: options.RoundsOption = None,
    draws: options.DrawsOption = None,
    step: options.StepOption = None,
    plan_by: options.PlanByOption = "rule",
    selections: options.SelectionsOption = None,
    records: options.RecordsOption = None,
    smoothing: options.SmoothingOption = None,
    alpha: options.AlphaOption = None,
    select: options.SelectOption = None,
    update: options.UpdateOption = None,
    selection_share: options.SelectionShareOption = None,
    replays: options.ReplaysOption = None,
    average: options.AverageOption = False,
    free_attributes: options.FreeOption = "first",
    encoding: options.EncodingOption = "records",
    fill: options.FillOption = None,
    predict: Annotated[bool, typer.Option("--predict/--no-predict", help="Simulate the errors.")] = True,
    as_json: options.JsonOption = False,
) -> None:
    """Plan a run: what each accountant charges, the proven bound, and the predicted errors. Touches no record."""
    from dpopt.accounting.relations import NeighbouringRelation
    from dpopt.algorithms.explain import explain_accuracy, explain_any
    from dpopt.algorithms.plan_request import DEFAULT_DELTA
    from dpopt.algorithms.rule_conflicts import legal_record
    from dpopt.algorithms.settings import Settings, choice
    from dpopt.algorithms.stating import delta_warning, fill_note, plan_and_statement, size_note
    from dpopt.cli.progress import TerminalProgress
    from dpopt.queries.workload import parse_workload

    relation = choice(NeighbouringRelation, neighbours, "neighbours")
    size = _size(relation, n, n0)
    declared = declared_schema(schema, binary_columns, names)
    reading = declared_reading(declared, layout, None, None, no_header=False)
    queries = parse_workload(workload, declared)
    legal_record(declared.circuit(), declared.sizes)  # refuses rules that contradict each other
    if accuracy is not None:
        if rho is not None:
            raise PlanError("--accuracy goes with --epsilon and --delta (or with neither), not with --rho")
        if not (rounds is None and draws is None and step is None):
            raise PlanError("--accuracy fixes rounds, draws and step; leave --rounds, --draws and --step out")
        explained = explain_accuracy(
            accuracy,
            confidence,
            queries,
            size=size,
            relation=relation,
            epsilon=1.0 if epsilon is None else epsilon,
            delta=DEFAULT_DELTA if delta is None else delta,
        )
        print_json(explained) if as_json else _report_accuracy(explained)
        return
    settings = Settings(
        algorithm=algorithm,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        accountant=accountant,
        neighbours=neighbours,
        rounds=rounds,
        draws=draws,
        step=step,
        plan_by=plan_by,
        selections=selections,
        records=records,
        smoothing=smoothing,
        alpha=alpha,
        select=select,
        update=update,
        selection_share=selection_share,
        replays=replays,
        average=average,
        free_attributes=free_attributes,
        encoding=encoding,
        predict=predict,
        fill=fill,
    )
    settings.check()
    made, statement = plan_and_statement(
        settings,
        size,
        queries,
        TerminalProgress(),
        runs=2,
        compare=True,
        form=None if reading is None or reading.layout is None else str(reading.layout),
    )
    for remark in (delta_warning(made), size_note(made), fill_note(made, statement)):
        if remark is not None:
            typer.echo(remark, err=True)
    explained = explain_any(made, queries, statement)
    if as_json:
        print_json(explained)
    else:
        from dpopt.cli.reports import report_plan

        report_plan(explained)


def _size(relation: NeighbouringRelation, n: int | None, n0: int | None) -> int:
    """Return the public size: n under replace-one, n0 under add-remove; the other one has no place there."""
    fixed = relation.value == "add-remove"
    size, other = (n0, n) if fixed else (n, n0)
    needed, wrong = ("--n0", "--n") if fixed else ("--n", "--n0")
    if size is None:
        raise PlanError(f"the plan needs the public size: give {needed}")
    if other is not None:
        raise PlanError(f"under {relation.describe()} the public size is {needed}; leave {wrong} out")
    return size


def print_json(obj: dict[str, Any]) -> None:
    """Print a JSON object on standard output."""
    typer.echo(json.dumps(obj, indent=1, ensure_ascii=False))


def _report_accuracy(explained: dict[str, Any]) -> None:
    from dpopt.cli.reports import console

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
