"""`dpopt budget create`, `show` and `forget`: the owner's budget over many releases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.algorithms.terms import Rho
from dpopt.cli import options
from dpopt.cli.application import command, command_group
from dpopt.cli.commands.plan import print_json
from dpopt.cli.reports.reports import console, print_table

if TYPE_CHECKING:
    from dpopt.transcript.budget_contents import BudgetContents

budget_group = command_group("budget", "Keep one budget over many releases.")


@command("create", group=budget_group)
def create(
    *,
    file: Annotated[Path, typer.Argument(help="New file. Private: for the owner of the tables.")],
    epsilon: Annotated[float | None, "Total epsilon."] = None,
    delta: Annotated[
        float | None,
        "Total delta. Default: 1e-9. With 0 (pure differential privacy) it pays only for releases with Laplace noise.",
    ] = None,
    rho: Rho = None,
    neighbours: Annotated[str, "add-remove (one more or one fewer) or replace (one changed)."] = "add-remove",
    person: Annotated[
        str | None, "Column that names a person: the budget then protects all rows of a person, not one record."
    ] = None,
) -> None:
    """Make a budget file: releases with --budget FILE pay from its total."""
    from dpopt.transcript.budget_ledger import BudgetLedger

    made = BudgetLedger.create(
        file, epsilon=epsilon, delta=delta, rho=rho, neighbours=neighbours, person=person
    ).contents()
    console().print(f"{_total(made)} for {made.unit}, {made.relation.value} neighbours; written to {file}")


@command("show", group=budget_group)
def show(
    *, file: Annotated[Path, typer.Argument(help="File of 'dpopt budget create'.")], as_json: options.JsonOption = False
) -> None:
    """List the releases that a budget paid for, their costs, and what is left."""
    from dpopt.transcript.budget_ledger import BudgetLedger

    contents = BudgetLedger(file).contents()
    if as_json:
        print_json(contents.report())
        return
    _print(contents)


@command("forget", group=budget_group)
def forget() -> None:
    """Forget which tables were released without a budget file, or began a run; DPOPT_STATE is the folder of both."""
    from dpopt.releases.remembered_tables import forget, remembered_file

    console().print(f"{forget():,} tables forgotten; the list was {remembered_file()}", markup=False)


def _print(contents: BudgetContents) -> None:
    from dpopt.accounting.many_releases import THEOREMS

    out = console()
    out.print(f"{_total(contents)} for {contents.unit}, {contents.relation.value} neighbours; since {contents.created}")
    if contents.releases:
        at, rows = f"epsilon at delta = {contents.delta:g}", []
        for release in contents.releases:
            pure = "" if release.cost.epsilon is None else f"{release.cost.epsilon:.6g}"
            costs = (f"{release.cost.rho:.6g}", f"{release.epsilon(contents.delta):.6g}", pure)
            rows.append((release.date[:16].replace("T", " "), release.command, *costs, release.note))
        print_table(("date (UTC)", "command", "rho", at, "pure epsilon", "converted"), rows)
        if any(release.cost.epsilon is None for release in contents.releases):
            out.print(
                f"Each epsilon is computed at delta = {contents.delta:g}. At a smaller delta, such as the release's own, "
                f"the same noise has a larger epsilon. For such releases add up rhos, not epsilons."
            )
    total = contents.total()
    out.print(f"used: {total.share:.2%} of the budget, by {THEOREMS[total.theorem]}")
    out.print(f"left for one more release: {contents.left_text()}")


def _total(contents: BudgetContents) -> str:
    budget = contents.budget
    if budget.rho is not None:
        return f"a total of rho = {budget.rho:g}"
    return f"a total of epsilon = {budget.epsilon:g}" + (f" at delta = {budget.delta:g}" if budget.delta else "")
