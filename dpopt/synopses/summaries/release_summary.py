"""From a table behind its door to a summary."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dpopt.accounting.budget import Budget
from dpopt.accounting.ledger import Account
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.statement import privacy_statement
from dpopt.errors import PlanError
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.measurements.conjunction_measurement import ConjunctionTable
from dpopt.private.mechanisms.noise import Noise
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import AS_USUAL, TableReading
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.releases.job import refuse_unreviewed
from dpopt.releases.ledgers import for_unit, open_account, reserved_ledger
from dpopt.releases.measured_size import MARGIN, PublicSize, is_measured, size_of, with_size_measured
from dpopt.releases.progress import Progress, Silent, stage
from dpopt.schema.schema import Schema
from dpopt.synopses.summaries.error_goals import refuse_inaccurate
from dpopt.synopses.summaries.summary import Summary
from dpopt.synopses.summaries.summary_plan import SMALL_QUERIES, SummaryPlan, plan_summary
from dpopt.transcript.budget_ledger import BudgetLedger
from dpopt.transcript.journal import MemoryJournal

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable


def release_summary(
    dataset: PrivateDataset,
    plan: SummaryPlan,
    *,
    noise: Noise | None = None,
    progress: Progress | None = None,
    account: Account | None = None,
) -> Summary:
    """Measure what a plan says and return the summary.

    Everything is charged before it is drawn. If the run ends before it returns, nothing has left the private side.

    Parameters
    ----------
    dataset : PrivateDataset
        The records, with the attributes of the plan's literals. Private.
    plan : SummaryPlan
    noise : Noise, optional
        Anything but the default marks the summary as not private.
    progress : Progress, optional
    account : Account, optional
        From where it is paid besides (`dpopt.releases.ledgers.open_account`).

    Raises
    ------
    PrivateDataError
        If the attributes are others, or under replace-one the number of records is.
    BudgetError
        If the plan costs more than its budget.
    """
    told = progress or Silent()
    ledger = reserved_ledger(plan.budget, plan.relation, plan.charges(), account)
    held = ConjunctionTable.of(dataset, plan.literals)
    curator = CountingCurator(
        held,
        ledger,
        MemoryJournal(keep=False),
        size=plan.size,
        noise=noise,
        progress=told.share,
    )
    with stage(told, "counting conjunctions"):
        held.count(plan.sizes[-1], progress=told.share)
    with stage(told, "measuring"):
        noisy = tuple(curator.measure(one).values for one in plan.measurements())
    return Summary(plan, noisy, privacy_statement(plan, ledger))


def summary_of_table(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str],
    width: int,
    budget: Budget,
    *,
    columns: tuple[str, ...] | None = None,
    literals: str = "all",
    predicate: str = "and",
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    size: int | None = None,
    small_queries: float = SMALL_QUERIES,
    error: float | None = None,
    reading: TableReading | None = None,
    accept_draft: bool = False,
    progress: Progress | None = None,
    ledger: BudgetLedger | None = None,
) -> Summary:
    """Release a summary of a table that answers queries of up to k literals.

    Parameters
    ----------
    table : path or DataFrame
        CSV (also .gz), Parquet, or a pandas DataFrame. Private.
    schema : Schema or path
        Public.
    width : int
        k, the largest number of conditions of a query.
    budget : Budget
        With the accountant `PURE`: Laplace noise; with `ZCDP`: Gaussian noise.
    columns : tuple of str, optional
        The columns that queries may ask of; all if left out.
    literals : str
        "all" or "positive" (`ChosenLiterals`).
    predicate : str
        "and", "or" or "atleast:R": for which queries the budget is spread.
    relation : NeighbouringRelation
    size : int, optional
        Under add-remove the public number of records that answers are shares of; if left out it is measured with 1 % of the
        budget, and rounded up so that hardly any table has more. Under replace-one it is public, and read from the table.
    small_queries : float
        As for `plan_summary`.
    error : float, optional
        Refuse a release whose predicted error is above: with a declared number of records before the table is read, under
        replace-one, where the table says the number, before anything is drawn, and else once the number is measured.
    reading : TableReading, optional
        How the table is read.
    accept_draft : bool
        Whether a drafted, unreviewed schema may be used.
    progress : Progress, optional
    ledger : BudgetLedger, optional
        The owner's budget over many releases, from which this one is paid.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    budget = for_unit(budget, reading)
    declared = schema if isinstance(schema, Schema) else Schema.read(schema)
    refuse_unreviewed(declared, accepted=accept_draft)
    chosen = ChosenLiterals.of(declared, columns, literals)
    if relation is NeighbouringRelation.REPLACE_ONE and size is not None:
        raise PlanError(
            "n0 belongs to add-remove; under replace-one the table's size n is used. Leave n0 out"
        )

    def planned(public: PublicSize) -> SummaryPlan:
        return plan_summary(
            chosen,
            width,
            public.budget,
            size=public.number,
            predicate=predicate,
            relation=relation,
            small_queries=small_queries,
        )

    # Refuses what cannot be planned, or not accurately enough, before the table is read.
    trial_budget = with_size_measured(budget) if is_measured(relation, size) else budget
    trial = planned(PublicSize(1 if size is None else size, trial_budget))
    if error is not None and size is not None:
        refuse_inaccurate(trial, error, small_queries)
    (reading or AS_USUAL).check_relation(relation)
    account = open_account(ledger, "summary", budget, relation, reading)
    with stage(told, "reading the table"):
        dataset = read_table(table, chosen.schema, reading)
    plan = planned(size_of(dataset, relation, size, budget, margin=MARGIN, account=account))
    if error is not None:
        refuse_inaccurate(plan, error, small_queries)
    return release_summary(dataset, plan, progress=told, account=account)
