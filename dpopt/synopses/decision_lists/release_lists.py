"""From a file of decision lists to a summary that answers at every point."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from dpopt.private.measurements.conjunction_measurement import ListTable
from dpopt.private.readers.read_lists import read_lists
from dpopt.private.tables.list_table import PrivateLists
from dpopt.programs.solver import Solver
from dpopt.queries.decision_lists.families import ListFamily
from dpopt.synopses.decision_lists.list_plan import ListPlan, plan_lists, plannable
from dpopt.synopses.decision_lists.list_summary import ListSummary, read_declaration
from dpopt.synopses.release import Request, RequestKeywords, Reserved, Running

if TYPE_CHECKING:
    from dpopt.private.readers.read_lists import AnyLists


def decision_lists(
    lists: AnyLists,
    variables: ListFamily | str | os.PathLike[str],
    k: int | None = None,
    *,
    kind: str | None = None,
    changes: int | None = None,
    n0: int | None = None,
    queries: int | None = None,
    largest: int | None = None,
    solver: str | Solver | None = None,
    **keywords: Unpack[RequestKeywords],
) -> ListSummary:
    """Release a summary of decision lists, one a row: at each point of {0, 1}^m the share of rows that are 1.

    Parameters
    ----------
    lists : path or sequence of str
        One row on each line (`dpopt.private.readers.read_lists`). Private.
    variables : ListFamily, str or path
        The declaration: names with commas between them ("x1..x30" for a range), or a file of them. Public.
    k : int, optional
        The largest number of literals of a row, where the declaration does not give it. Public.
    kind : str, optional
        "lists" (x3:1, !x7:0, else:1), "disjunctions" (x3 | !x7) or "conjunctions" (x3 & !x7). Public.
    changes : int, optional
        How often the output of a list changes at most; k if left out. Public.
    n0 : int, optional
        Under add-remove the public number of rows that answers are shares of; if left out it is measured with 1 % of
        the budget, and rounded up so that hardly any table has more. Under replace it is public, and read off the
        table.
    queries : int, optional
        Number of points for which the error is predicted simultaneously. Default: all.
    largest : int, optional
        Largest number of literals of a counted conjunction. Default: chosen by the plan.
    solver : str or Solver, optional
        Solver of the linear programs of the plan (models/decision_lists); highs if left out.
    **keywords
        epsilon (delta=0: pure), or rho; neighbours, progress, budget, reading (its encoding): see
        `dpopt.synopses.release.RequestKeywords`.

    Returns
    -------
    ListSummary
        Answers by `answer("x1=1,x2=0")`, and is kept by `write(path)`.
    Raises DpoptError for whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote
    the table.

    Examples
    --------
    >>> import dpopt
    >>> rows = ["x1:1, else:0", "x2:1, else:0"] * 200
    >>> released = dpopt.decision_lists(rows, "x1,x2", 1, n0=400, epsilon=5)
    >>> one = released.answer("x1=1,x2=0", confidence=0.9999)
    >>> abs(one.value - 0.5) <= one.bound
    True
    """
    request = Request(**keywords)
    request.refuse_reading("a row of lists is a record; leave them out")
    family = variables if isinstance(variables, ListFamily) else read_declaration(variables, k, kind, changes)
    how: dict[str, Any] = {"relation": request.relation, "points": queries, "largest": largest, "solver": solver}
    return request.release(
        "lists",
        lists,
        partial(plan_lists, family, **how),
        lambda: read_lists(lists, family, request.reading.encoding),
        release_lists,
        size=n0,
        check=partial(plannable, family, **how),
    )


def release_lists(lists: PrivateLists, plan: ListPlan, **how: Unpack[Running]) -> ListSummary:
    """Make the measurements of a plan and return the summary, as `dpopt.synopses.release.Measure` says.

    The rows were read by the declaration of the plan.
    """
    run = Reserved.of(plan, how)
    held = ListTable.of(lists, plan.coefficients)
    return ListSummary(plan, run.measured(held, plan.measurements(), counting=held.count), run.privacy())
