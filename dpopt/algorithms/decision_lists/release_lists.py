"""From a file of decision lists to a summary that answers at every point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpopt.accounting.budget import Budget
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.decision_lists.list_plan import ListPlan
from dpopt.algorithms.decision_lists.list_planning import check_plannable, plan_lists
from dpopt.algorithms.decision_lists.list_summary import ListSummary
from dpopt.algorithms.progress import Progress, Silent, stage
from dpopt.algorithms.statement import privacy_statement
from dpopt.errors import PlanError
from dpopt.polynomials.linear_solver import DEFAULT
from dpopt.private.list_curator import ListCurator
from dpopt.private.list_reader import read_lists
from dpopt.private.list_table import PrivateLists
from dpopt.private.noise import Noise
from dpopt.private.public_facts import public_size
from dpopt.programs.solver import Solver
from dpopt.queries.decision_lists import ListFamily
from dpopt.transcript.journal import MemoryJournal

if TYPE_CHECKING:
    from dpopt.private.list_reader import AnyLists


def release_lists(
    lists: PrivateLists,
    plan: ListPlan,
    *,
    noise: Noise | None = None,
    progress: Progress | None = None,
) -> ListSummary:
    """Measure what a plan says and return the summary.

    Everything is charged before it is drawn. If the run ends before it returns, nothing has left the private side.

    Parameters
    ----------
    lists : PrivateLists
        Private.
    plan : ListPlan
    noise : Noise, optional
        Anything but the default marks the summary as not private.
    progress : Progress, optional

    Raises
    ------
    PrivateDataError
        If the rows were read by another declaration, or under replace-one their number is another one.
    BudgetError
        If the plan costs more than its budget.
    """
    told = progress or Silent()
    ledger = Ledger(plan.budget, plan.relation)
    ledger.reserve(plan.charges())
    curator = ListCurator(
        lists,
        plan.coefficients,
        ledger,
        MemoryJournal(keep=False),
        size=plan.size,
        noise=noise,
        progress=told.share,
    )
    with stage(told, "counting conjunctions"):
        curator.count()
    with stage(told, "measuring"):
        noisy = tuple(curator.measure(one).values for one in plan.measurements())
    return ListSummary(plan, noisy, privacy_statement(plan, ledger))


def summary_of_lists(
    lists: AnyLists,
    family: ListFamily,
    budget: Budget,
    *,
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    size: int | None = None,
    points: int | None = None,
    largest: int | None = None,
    solver: str | Solver = DEFAULT,
    progress: Progress | None = None,
) -> ListSummary:
    """Release a summary of decision lists that answers at every point of {0, 1}^m.

    Parameters
    ----------
    lists : path or sequence of str
        One row on each line, as `dpopt.private.list_reader` says. Private.
    family : ListFamily
        The declaration. Public.
    budget : Budget
        With the accountant `PURE`: Laplace noise; with `ZCDP`: Gaussian noise.
    relation : NeighbouringRelation
    size : int, optional
        Under add-remove the public number of rows that answers are shares of; needed there. Under replace-one the number of
        rows is public, and read from the table.
    points, largest, solver :
        As for `plan_lists`.
    progress : Progress, optional

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    if relation is NeighbouringRelation.ADD_REMOVE and size is None:
        raise PlanError(
            "answers are shares of a fixed public number of rows near the size of the table, which does not depend on it: give "
            "it (--n0)"
        )
    check_plannable(
        family,
        budget,
        size=1 if size is None else size,
        relation=relation,
        points=points,
        largest=largest,
        solver=solver,
    )  # before the table is read
    with stage(told, "reading the table"):
        rows = read_lists(lists, family)
    with stage(told, "planning"):
        plan = plan_lists(
            family,
            budget,
            size=public_size(rows, relation, size),
            relation=relation,
            points=points,
            largest=largest,
            solver=solver,
        )
    return release_lists(rows, plan, progress=told)
