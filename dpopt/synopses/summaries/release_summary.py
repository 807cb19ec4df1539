"""From a table behind its door to a summary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from dpopt.accounting.budget import Budget
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.measurements.conjunction_measurement import ConjunctionTable
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.schema.schema import Schema
from dpopt.synopses.release import Asked, Request, Running, reserved
from dpopt.synopses.summaries.error_goals import refuse_inaccurate
from dpopt.synopses.summaries.summary import Summary
from dpopt.synopses.summaries.summary_plan import SMALL_QUERIES, SummaryPlan, plan_summary
from dpopt.transcript.journal import MemoryJournal

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable


def summary(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str],
    k: int,
    *,
    columns: Sequence[str] | None = None,
    literals: str = "all",
    predicate: str = "and",
    n0: int | None = None,
    small_queries: float = SMALL_QUERIES,
    error: float | None = None,
    **asked: Unpack[Asked],
) -> Summary:
    """Release a summary of a table, which answers queries of up to k conditions with their bounds.

    Parameters
    ----------
    table : path or DataFrame
        CSV (also .gz), Parquet, or a pandas DataFrame. Private.
    schema : Schema or path
        Public.
    k : int
        The largest number of conditions of a query.
    columns : sequence of str, optional
        The columns that queries may ask of; all if left out.
    literals : str
        What is counted: "all" (every value) or "positive" (of columns with two values only the second one).
    predicate : str
        "and", "or" or "atleast:R": the queries whose error the plan minimizes. Others are answered, too.
    n0 : int, optional
        Under add-remove the public number of records that answers are shares of; if left out it is measured with 1 % of the
        budget, and rounded up so that hardly any table has more. Under replace the number of records is public, and read off
        the table.
    small_queries : float
        The share of the budget that is kept for queries of fewer conditions.
    error : float, optional
        Refuse a release whose predicted error is above this share of the records: with a declared number of records before the
        table is read; under replace, where the table gives the number, before anything is drawn; else once the number is
        measured.
    **asked
        epsilon (alone: Laplace noise), or epsilon and delta, or rho (Gaussian noise); neighbours, reading, accept_draft,
        progress, budget: see `dpopt.synopses.release.Asked`.

    Returns
    -------
    Summary
        Answers by `answer("smoker=yes,age>=50")`, and is kept by `write(path)`.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.

    Examples
    --------
    >>> import dpopt, pandas
    >>> bits = [dpopt.Attribute(name, dpopt.AttributeKind.BOOLEAN) for name in ("smoker", "member")]
    >>> table = pandas.DataFrame({"smoker": [True, False] * 300, "member": [True, True, False] * 200})
    >>> released = dpopt.summary(table, dpopt.Schema(tuple(bits)), 2, n0=600, epsilon=5)
    >>> one = released.answer("smoker=true,member=true", confidence=0.9999)
    >>> one.low <= 1 / 3 <= one.high
    True
    """
    request = Request(**asked)
    names = None if columns is None else tuple(columns)
    chosen = ChosenLiterals.of(request.declared(schema), names, literals)

    def planned(budget: Budget, size: int | None) -> SummaryPlan:
        return plan_summary(
            chosen,
            k,
            budget,
            size=size or 0,
            predicate=predicate,
            relation=request.relation,
            small_queries=small_queries,
        )

    def accurate(budget: Budget, size: int | None) -> SummaryPlan:
        made = planned(budget, size)
        if error is not None:
            refuse_inaccurate(made, error, small_queries)
        return made

    return request.release(
        "summary",
        accurate,
        lambda: request.table(table, chosen.schema),
        release_summary,
        size=n0,
        check=planned if n0 is None else accurate,
    )


def release_summary(dataset: PrivateDataset, plan: SummaryPlan, **how: Unpack[Running]) -> Summary:
    """Make the measurements of a plan and return the summary.

    Parameters
    ----------
    dataset : PrivateDataset
        The records, with the attributes of the plan's literals. Private.
    plan : SummaryPlan
    **how
        As `dpopt.synopses.release.Running` says.

    Raises
    ------
    PrivateDataError
        If the attributes are others, or under replace-one the number of records is.
    BudgetError
        If the plan costs more than its budget.
    """
    run = reserved(plan, plan.charges(), how)
    held = ConjunctionTable.of(dataset, plan.literals)
    curator = CountingCurator(
        held,
        run.ledger,
        MemoryJournal(keep=False),
        size=plan.size,
        noise=run.noise,
        progress=run.progress.share,
    )
    with run.stage("counting conjunctions"):
        held.count(plan.sizes[-1], progress=run.progress.share)
    with run.stage("measuring"):
        noisy = tuple(curator.measure(one).values for one in plan.measurements())
    return Summary(plan, noisy, run.privacy())
