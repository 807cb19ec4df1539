"""From a table behind its door to a summary that is accurate enough."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache, partial
from math import isfinite
from typing import TYPE_CHECKING, Any, Unpack

from dpopt.accounting.budget import Budget
from dpopt.errors import DpoptError, PlanError
from dpopt.private.measurements.conjunction_measurement import ConjunctionTable
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.programs.solver import Solver
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.schema.schema import Schema
from dpopt.synopses.release import Request, RequestKeywords, Reserved, Running
from dpopt.synopses.sufficient import sufficient_budget, sufficient_records
from dpopt.synopses.summaries.summary import Summary
from dpopt.synopses.summaries.summary_plan import SMALL_QUERIES, SummaryPlan, plan_summary

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable

MOST_RECORDS = 10**15


def refuse_inaccurate(plan: SummaryPlan, error: float, small_queries: float = SMALL_QUERIES) -> None:
    """Refuse a plan whose predicted error is above the wanted one, a share of the records, before any table is read.

    Each number that the message names was planned: the least number of records of four digits at this budget, the least
    budget of three digits for these records, and the largest k for both.
    """
    if not (isfinite(error) and error > 0.0):
        raise PlanError(f"found the error {error!r}; expected a share of the records above 0, such as 0.05")
    if plan.predicted <= error:
        return

    of_kind = partial(plan_summary, predicate=plan.predicate, relation=plan.relation, small_queries=small_queries)

    def reached(*, size: int = plan.size, budget: Budget = plan.budget, width: int = plan.width) -> bool:
        """Return whether the error is predicted with other numbers; it is not where their plan is refused."""
        try:
            return of_kind(plan.literals, width, budget, size).predicted <= error
        except DpoptError:
            return False

    records = sufficient_records(lambda size: reached(size=size), plan.size, MOST_RECORDS)
    budget = sufficient_budget(lambda budget: reached(budget=budget), plan.budget)
    width = next((k for k in range(plan.width - 1, 0, -1) if reached(width=k)), None)
    enough = [
        None if records is None else f"n = {records:,} is sufficient at this budget",
        None if budget is None else f"{budget} for this n",
        None if width is None else f"k = {width} at this budget and this n",
    ]
    remedies = [one for one in enough if one is not None] or [
        "no number of records, no budget and no smaller k is sufficient: take fewer columns (--columns)"
    ]
    raise PlanError(
        f"n = {plan.size:,} is too small for the error {error:g}: queries of k = {plan.width} conditions are predicted "
        f"to be within {plan.predicted:.4g} at {plan.budget.describe()}. {'; or '.join(remedies)}"
    )


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
    solver: str | Solver | None = None,
    **keywords: Unpack[RequestKeywords],
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
        Under add-remove the public number of records that answers are shares of; if left out it is measured with 1 % of
        the budget, and rounded up so that hardly any table has more. Under replace the number of records is public, and
        read off the table.
    small_queries : float
        The share of the budget that is kept for queries of fewer conditions.
    error : float, optional
        Refuse a release whose predicted error is above this share of the records: with a declared number of records
        before the table is read; under replace, where the table gives the number, before anything is drawn; else once
        the number is measured.
    solver : str or Solver, optional
        Solver of linear programs with which the exact method of the plan begins (models/approximation_plus_noise);
        highs if left out. It has no part in how good the plan is.
    **keywords
        epsilon (delta=0: pure), or rho; neighbours, reading, accept_draft, progress, budget: see
        `dpopt.synopses.release.RequestKeywords`.

    Returns
    -------
    Summary
        Answers by `answer("smoker=yes,age>=50")`, and is kept by `write(path)`.
    Raises DpoptError for whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote
    the table.

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
    request = Request(**keywords)
    names = None if columns is None else tuple(columns)
    chosen = ChosenLiterals.of(request.declared(schema, n0), names, literals)

    how: dict[str, Any] = {"predicate": predicate, "small_queries": small_queries, "solver": solver}
    planned = cache(partial(plan_summary, chosen, k, relation=request.relation, **how))

    def accurate(budget: Budget, size: int | None) -> SummaryPlan:
        made = planned(budget, size)
        if error is not None:
            refuse_inaccurate(made, error, small_queries)
        return made

    return request.release(
        "summary",
        table,
        accurate,
        lambda: request.table(table, chosen.schema),
        release_summary,
        size=n0,
        check=planned if n0 is None else accurate,
        compared=planned,
    )


def release_summary(dataset: PrivateDataset, plan: SummaryPlan, **how: Unpack[Running]) -> Summary:
    """Make the measurements of a plan and return the summary, as `dpopt.synopses.release.Measure` says.

    The records have the attributes of the plan's literals.
    """
    run = Reserved.of(plan, how)
    held = ConjunctionTable.of(dataset, plan.literals)
    counting = partial(held.count, plan.sizes[-1], progress=run.progress.share)
    return Summary(plan, run.measured(held, plan.measurements(), counting=counting), run.privacy())
