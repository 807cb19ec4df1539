"""From a file of decision lists to a summary that answers at every point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpopt.accounting.budget import Budget
from dpopt.accounting.ledger import Account
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.statement import privacy_statement
from dpopt.polynomials.linear_solver import DEFAULT
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.measurements.list_measurement import ListTable
from dpopt.private.mechanisms.noise import Noise
from dpopt.private.readers.read_lists import read_lists
from dpopt.private.tables.list_table import PrivateLists
from dpopt.programs.solver import Solver
from dpopt.queries.decision_lists.families import ListFamily
from dpopt.releases.ledgers import open_account, reserved_ledger
from dpopt.releases.measured_size import MARGIN, is_measured, size_of, with_size_measured
from dpopt.releases.progress import Progress, Silent, stage
from dpopt.synopses.decision_lists.list_plan import ListPlan
from dpopt.synopses.decision_lists.list_planning import check_plannable, plan_lists
from dpopt.synopses.decision_lists.list_summary import ListSummary
from dpopt.transcript.budget_ledger import BudgetLedger
from dpopt.transcript.journal import MemoryJournal

if TYPE_CHECKING:
    from dpopt.private.readers.read_lists import AnyLists


def release_lists(
    lists: PrivateLists,
    plan: ListPlan,
    *,
    noise: Noise | None = None,
    progress: Progress | None = None,
    account: Account | None = None,
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
    account : Account, optional
        From where it is paid besides (`dpopt.releases.ledgers.open_account`).

    Raises
    ------
    PrivateDataError
        If the rows were read by another declaration, or under replace-one their number is another one.
    BudgetError
        If the plan costs more than its budget.
    """
    told = progress or Silent()
    ledger = reserved_ledger(plan.budget, plan.relation, plan.charges(), account)
    held = ListTable.of(lists, plan.coefficients)
    curator = CountingCurator(
        held,
        ledger,
        MemoryJournal(keep=False),
        size=plan.size,
        noise=noise,
        progress=told.share,
    )
    with stage(told, "counting conjunctions"):
        held.count()
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
    encoding: str = "utf-8",
    progress: Progress | None = None,
    ledger: BudgetLedger | None = None,
) -> ListSummary:
    """Release a summary of decision lists that answers at every point of {0, 1}^m.

    Parameters
    ----------
    lists : path or sequence of str
        One row on each line, as `dpopt.private.readers.read_lists` says. Private.
    family : ListFamily
        The declaration. Public.
    budget : Budget
        With the accountant `PURE`: Laplace noise; with `ZCDP`: Gaussian noise.
    encoding : str
        Of the file: utf-8, latin-1, ...
    relation : NeighbouringRelation
    size : int, optional
        Under add-remove the public number of rows that answers are shares of; if left out it is measured with 1 % of the
        budget, and rounded up so that hardly any table has more. Under replace-one it is public, and read from the table.
    points, largest, solver :
        As for `plan_lists`.
    progress : Progress, optional
    ledger : BudgetLedger, optional
        The owner's budget over many releases, from which this one is paid.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    check_plannable(
        family,
        with_size_measured(budget) if is_measured(relation, size) else budget,
        size=1 if size is None else size,
        relation=relation,
        points=points,
        largest=largest,
        solver=solver,
    )  # before the table is read
    account = open_account(ledger, "lists", budget, relation)
    with stage(told, "reading the table"):
        rows = read_lists(lists, family, encoding)
    public = size_of(rows, relation, size, budget, margin=MARGIN, account=account)
    with stage(told, "planning"):
        plan = plan_lists(
            family,
            public.budget,
            size=public.number,
            relation=relation,
            points=points,
            largest=largest,
            solver=solver,
        )
    return release_lists(rows, plan, progress=told, account=account)
