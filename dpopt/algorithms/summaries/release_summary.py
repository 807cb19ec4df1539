"""From a table behind its door to a summary."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dpopt.accounting.budget import Budget
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.progress import Progress, Silent, stage
from dpopt.algorithms.release import refuse_unreviewed
from dpopt.algorithms.statement import privacy_statement
from dpopt.algorithms.summaries.error_goals import refuse_inaccurate
from dpopt.algorithms.summaries.summary import Summary
from dpopt.algorithms.summaries.summary_plan import SMALL_QUERIES, SummaryPlan, plan_summary
from dpopt.errors import PlanError
from dpopt.private.conjunction_curator import ConjunctionCurator
from dpopt.private.dataset import PrivateDataset
from dpopt.private.noise import Noise
from dpopt.private.on_unknown import parse_on_unknown
from dpopt.private.public_facts import public_size
from dpopt.private.read_table import read_table
from dpopt.queries.chosen_literals import ChosenLiterals
from dpopt.queries.schema import Schema
from dpopt.transcript.journal import MemoryJournal

if TYPE_CHECKING:
    from dpopt.private.open_table import AnyTable


def release_summary(
    dataset: PrivateDataset,
    plan: SummaryPlan,
    *,
    noise: Noise | None = None,
    progress: Progress | None = None,
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

    Raises
    ------
    PrivateDataError
        If the attributes are others, or under replace-one the number of records is.
    BudgetError
        If the plan costs more than its budget.
    """
    told = progress or Silent()
    ledger = Ledger(plan.budget, plan.relation)
    ledger.reserve(plan.charges())
    curator = ConjunctionCurator(
        dataset,
        plan.literals,
        ledger,
        MemoryJournal(keep=False),
        size=plan.size,
        noise=noise,
        progress=told.share,
    )
    with stage(told, "counting conjunctions"):
        curator.count(plan.sizes[-1])
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
    on_unknown: str = "error",
    accept_draft: bool = False,
    progress: Progress | None = None,
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
        Under add-remove the public number of records that answers are shares of; needed there. Under replace-one the number of
        records is public, and read from the table.
    small_queries : float
        As for `plan_summary`.
    error : float, optional
        Refuse a release whose predicted error is above: under add-remove before the table is read, under replace-one, where the
        table says the number of records, before anything is drawn.
    on_unknown, accept_draft :
        As for `dpopt release`.
    progress : Progress, optional

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    declared = schema if isinstance(schema, Schema) else Schema.read(schema)
    refuse_unreviewed(declared, accepted=accept_draft)
    chosen = ChosenLiterals.of(declared, columns, literals)
    if relation is NeighbouringRelation.ADD_REMOVE and size is None:
        raise PlanError(
            "answers are shares of a fixed public number of records near the size of the table, which does not depend on it: "
            "give it (--n0)"
        )
    if relation is NeighbouringRelation.REPLACE_ONE and size is not None:
        raise PlanError(
            "n0 belongs to add-remove; under replace-one the table's size n is used. Leave n0 out"
        )

    def planned(records: int) -> SummaryPlan:
        return plan_summary(
            chosen,
            width,
            budget,
            size=records,
            predicate=predicate,
            relation=relation,
            small_queries=small_queries,
        )

    # Refuses what cannot be planned, or not accurately enough, before the table is read.
    trial = planned(1 if size is None else size)
    if error is not None and size is not None:
        refuse_inaccurate(trial, error, small_queries)
    with stage(told, "reading the table"):
        dataset = read_table(table, chosen.schema, on_unknown=parse_on_unknown(on_unknown))
    plan = planned(public_size(dataset, relation, size))
    if error is not None:
        refuse_inaccurate(plan, error, small_queries)
    return release_summary(dataset, plan, progress=told)
