"""From a table behind its door to released halfspaces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.accounting.ledger import Account
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.statement import privacy_statement
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.measurements.halfspace_measurement import ProjectedPoints
from dpopt.private.mechanisms.noise import Noise
from dpopt.private.readers.read_numbers import HalfspacePoints, read_points
from dpopt.queries.halfspaces.halfspaces import COPIES, PointColumns
from dpopt.releases.ledgers import open_account, reserved_ledger
from dpopt.releases.measured_size import is_measured, size_of, with_size_measured
from dpopt.releases.progress import Progress, Silent, stage
from dpopt.synopses.halfspaces.halfspace_plan import HalfspacePlan
from dpopt.synopses.halfspaces.halfspaces import Halfspaces
from dpopt.synopses.halfspaces.planning import Shape, plan_halfspaces
from dpopt.transcript.budget_ledger import BudgetLedger
from dpopt.transcript.journal import MemoryJournal

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable
    from dpopt.private.readers.table_reading import TableReading


def release_halfspaces(
    points: HalfspacePoints,
    plan: HalfspacePlan,
    *,
    noise: Noise | None = None,
    progress: Progress | None = None,
    account: Account | None = None,
) -> Halfspaces:
    """Measure what a plan says and return the release.

    Everything is charged before it is drawn. If the run ends before it returns, nothing has left the private side.

    Parameters
    ----------
    points : HalfspacePoints
        Private.
    plan : HalfspacePlan
    noise : Noise, optional
        Anything but the default marks the release as not private.
    progress : Progress, optional
    account : Account, optional
        From where it is paid besides (`dpopt.releases.ledgers.open_account`).

    Raises
    ------
    PrivateDataError
        If the points have another number of coordinates, or under replace-one their number is another one.
    BudgetError
        If the plan costs more than its budget.
    """
    told = progress or Silent()
    ledger = reserved_ledger(plan.budget, plan.relation, plan.charges(), account)
    held = ProjectedPoints.of(points, plan.projections)
    curator = CountingCurator(held, ledger, MemoryJournal(keep=False), size=plan.size, noise=noise)
    with stage(told, "measuring"):
        noisy = tuple(curator.measure(one).values for one in plan.measurements())
    return Halfspaces(plan, noisy, privacy_statement(plan, ledger))


def halfspaces_of_table(
    table: AnyTable | NDArray[np.float64],
    columns: PointColumns,
    budget: Budget,
    *,
    margin: float,
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    size: int | None = None,
    shapes: Sequence[Shape] | None = None,
    queries: int = 1000,
    seed: int = 0,
    copies: int = COPIES,
    reading: TableReading | None = None,
    progress: Progress | None = None,
    ledger: BudgetLedger | None = None,
) -> Halfspaces:
    """Release halfspaces of a table.

    Parameters
    ----------
    table : path, DataFrame or (n, d) array
        CSV (also .gz), Parquet or .npy; or in memory. Private.
    columns : PointColumns
    budget : Budget
        With the accountant `PURE`: Laplace noise; with `ZCDP`: Gaussian noise.
    margin, relation, shapes, queries, seed, copies :
        As for `plan_halfspaces`.
    size : int, optional
        Under add-remove the public number of records that answers are shares of; measured with 1 % of the budget if left out.
        Under replace-one the number of records is public, and read from the table.
    reading : TableReading, optional
        How a text file is written.
    progress : Progress, optional
    ledger : BudgetLedger, optional
        The owner's budget over many releases, from which this one is paid.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    make = partial(
        plan_halfspaces,
        columns,
        margin=margin,
        relation=relation,
        shapes=shapes,
        queries=queries,
        seed=seed,
        copies=copies,
    )
    plan = None
    if is_measured(relation, size):
        with stage(told, "planning"):
            make(budget=with_size_measured(budget), size=1)  # refuses what cannot be planned
    if size is not None:
        with stage(told, "planning"):
            plan = make(budget=budget, size=size)  # refuses what cannot be planned before the table is read
    account = open_account(ledger, "halfspaces", budget, relation)
    with stage(told, "reading the table"):
        points = read_points(table, columns, reading)
    public = size_of(points, relation, size, budget, account=account)
    if plan is None:
        with stage(told, "planning"):
            plan = make(budget=public.budget, size=public.number)
    return release_halfspaces(points, plan, progress=told, account=account)
