"""Counts drawn from a matrix, on tiny tables: the real curator, and its exact distribution from scripted words."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import e, log
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.curators.net_curator import MatrixCurator
from dpopt.queries.condition import Condition
from dpopt.synopses.optimal_count import CountPlan, plan_count
from tests.scripted import ScriptedWords
from tests.tiny_runs import EventJournal, Table, bits_schema, dataset_of, trusted

SCHEMA, MOST = bits_schema(2), 3
WHERE = Condition.of("a = true or b = true", SCHEMA)
"""True of three of the four records."""


@cache
def plan_of(relation: NeighbouringRelation, delta: float = 0.0) -> CountPlan:
    """Return a plan for epsilon 1."""
    return plan_count(Budget(1.0, delta, None, Accountant.PURE), most=MOST, relation=relation)


def curator_of(
    plan: CountPlan, table: Table, words: tuple[int, ...] = ()
) -> tuple[MatrixCurator, Ledger, EventJournal]:
    """Return the curator of a table, whose words are scripted and taken for the system's."""
    ledger, journal = Ledger(plan.budget, plan.relation), EventJournal([])
    ledger.reserve(plan.charges())
    with mock.patch("dpopt.private.curators.door.is_trusted", trusted):
        curator = MatrixCurator(dataset_of(SCHEMA, table), ledger, journal, size=len(table), words=ScriptedWords(words))
    return curator, ledger, journal


def drawn(plan: CountPlan, table: Table, point: int) -> tuple[int, tuple[Charge, ...]]:
    """Return what is drawn at a point of the row's sum, and what was charged."""
    curator, ledger, _ = curator_of(plan, table, (0, point))
    found = curator.draw(WHERE, plan.weights, epsilon=plan.epsilon).candidate
    return found, ledger.entries


def ends_of(plan: CountPlan, table: Table) -> list[int]:
    """Return where the points of each output end, by bisection on what the curator draws.

    It begins beside the ends of every row of the matrix, one of which it is but for a defect: else it takes sixty draws.
    """
    total, ends = int(plan.weights[0].sum()), list[int]()
    for output, likely in enumerate(np.cumsum(plan.weights, axis=1).T.tolist()):
        low, high = ends[-1] if ends else 0, total
        near = iter([point for end in likely for point in (end - 1, end)])
        while low < high:
            middle = next((point for point in near if low <= point < high), (low + high) // 2)
            low, high = (middle + 1, high) if drawn(plan, table, middle)[0] <= output else (low, middle)
        ends.append(low)
    return ends


def distribution(plan: CountPlan, table: Table) -> list[Fraction]:
    """Return the exact probability of every output."""
    ends, total = ends_of(plan, table), int(plan.weights[0].sum())
    return [Fraction(end - start, total) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def expected(plan: CountPlan, table: Table) -> list[Fraction]:
    """Return the row of the matrix of the count, by arithmetic of its own."""
    count = min(sum(1 for record in table if any(record)), MOST)
    row = plan.weights[count].tolist()
    return [Fraction(one, sum(row)) for one in row]


def check_matrix_loss(plan: CountPlan, pairs: list[tuple[Table, Table]]) -> float:
    """Check every pair of neighbours against what the ledger was charged; return the largest share of it that is used up.

    Of a pure charge the largest log ratio; with delta the largest P(S) - e^epsilon P'(S), in rationals but for e^epsilon.
    """
    tables = sorted({table for pair in pairs for table in pair})
    found: dict[Table, NDArray[np.object_]] = {one: np.array(distribution(plan, one), dtype=object) for one in tables}
    (charges,) = {drawn(plan, table, 0)[1] for table in tables}
    amounts = {charge.kind: charge.parameter for charge in charges}
    reached, epsilon = 0.0, amounts[ChargeKind.PURE]
    for one, two in [pair for a, b in pairs for pair in ((a, b), (b, a))]:
        p, q = found[one], found[two]
        if ChargeKind.DELTA in amounts:
            over = sum(max(Fraction(0), a - Fraction(e**epsilon) * b) for a, b in zip(p, q, strict=True))
            share = float(over) / amounts[ChargeKind.DELTA]
        else:
            share = max(log(a / b) for a, b in zip(p, q, strict=True)) / epsilon
        assert share <= 1 + 1e-9, f"{share} of the charge is lost"
        reached = max(reached, share)
    return reached
