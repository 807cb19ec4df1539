"""The net mechanism for any finite public net: which of some public databases answers a workload most as the table does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import lcm, log

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_charge
from dpopt.algorithms.small_database.accuracy import FAILURE
from dpopt.algorithms.small_database.planning import range_of_one
from dpopt.errors import PlanError
from dpopt.private.curators.net_curator import NetCurator
from dpopt.private.readers.open_table import AnyTable
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import AS_USUAL, TableReading
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.job import check_workload
from dpopt.releases.ledgers import open_account, reserved_ledger
from dpopt.releases.measured_size import size_of
from dpopt.schema.schema import Schema
from dpopt.transcript.budget_ledger import BudgetLedger
from dpopt.transcript.journal import MemoryJournal

MOST_RECORDS_IN_COMMON = 2**20


@dataclass(frozen=True, slots=True)
class NetSelection:
    """What the net mechanism selected.

    Attributes
    ----------
    candidate : int
        Position of the selected candidate, from 0.
    worse_by : float
        With probability 0.95 its largest error is above that of the best candidate by at most this much.
    ledger : Ledger
        What was charged.
    """

    candidate: int
    worse_by: float
    ledger: Ledger


def select_from_net(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str],
    workload: Workload | str,
    candidates: Sequence[NDArray[np.integer]],
    *,
    epsilon: float | str | Decimal,
    neighbours: str = "add-remove",
    n0: int | None = None,
    reading: TableReading | None = None,
    budget: BudgetLedger | None = None,
) -> NetSelection:
    """Select one of some public databases, with probability proportional to exp(-epsilon n e / 2), e its largest error.

    Parameters
    ----------
    table : path or DataFrame
        Private.
    schema, workload
        As for `dpopt.release`. Public.
    candidates : sequence of (r, d) integer arrays
        The net: databases of coded records, of any number of records each, such as releases made on a part of the budget.
        They must be public: made without the table, or released.
    epsilon
        Of pure differential privacy; a selection alone is also (epsilon^2 / 8)-zCDP.
    neighbours, n0, reading, budget
        As for `dpopt.release`.

    Raises DpoptError: for whatever is wrong with the input; nothing has been spent then.

    Source: Blum, Ligett and Roth 2013, section 3 (the net mechanism), Proposition 3.4.
    """
    schema = schema if isinstance(schema, Schema) else Schema.read(schema)
    queries = parse_workload(workload, schema) if isinstance(workload, str) else workload
    check_workload(queries, schema)
    answers, records = _answers(queries, candidates)
    relation = NeighbouringRelation(neighbours)
    (reading or AS_USUAL).check_relation(relation)
    range_ = Decimal(str(epsilon))
    asked = Budget(selection_charge(1, range_, relation).parameter, 0.0, None, Accountant.PURE)
    account = open_account(budget, "net", asked, relation, reading)
    dataset = read_table(table, schema, reading)
    public = size_of(dataset, relation, n0, asked, account=account)
    size, asked = public.number, public.budget
    if asked.earlier:
        range_ = range_of_one(asked, relation)
    ledger = reserved_ledger(asked, relation, (selection_charge(1, range_, relation),), account)
    curator = NetCurator(
        dataset, queries.queries, ledger, MemoryJournal(keep=False), size=size, range_=range_
    )
    selected = curator.select_candidate(answers, records=records)
    worse_by = 2 / (float(range_) * size) * (log(len(candidates)) + log(1 / FAILURE))
    return NetSelection(selected.candidate, worse_by, ledger)


def _answers(workload: Workload, candidates: Sequence[NDArray[np.integer]]) -> tuple[NDArray[np.int64], int]:
    """Return the answers of the candidates times the least number that makes all of them whole, and that number.

    Raises PlanError if there is no candidate, one is no database of the schema, or their sizes have no small common multiple.
    """
    if not candidates:
        raise PlanError("a net needs at least one candidate database, found none")
    arrays = [np.ascontiguousarray(candidate, dtype=np.int32) for candidate in candidates]
    for place, array in enumerate(arrays):
        if array.ndim != 2 or not len(array) or array.shape[1] != len(workload.schema):
            raise PlanError(
                f"candidate {place} has the shape {array.shape}; expected records of {len(workload.schema)} codes, at least one"
            )
    records = lcm(*map(len, arrays))
    if records > MOST_RECORDS_IN_COMMON:
        raise PlanError(
            f"the numbers of records of the candidates have no common multiple up to {MOST_RECORDS_IN_COMMON:,}; resample them "
            "to one number"
        )
    shares = np.stack([workload.answers_on(array) for array in arrays])
    return np.rint(shares * records).astype(np.int64), records
