"""Planted defects of the private side of a count that is drawn from a matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpopt.accounting.charges import ChargeKind
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.curators import net_curator
from dpopt.private.curators.door import Door
from dpopt.private.curators.net_curator import MatrixCurator
from dpopt.synopses import optimal_count
from tests.boundary.planted import (
    BOTH,
    REP,
    Mechanism,
    attempt,
    defect,
    forget_what_was_drawn,
    put_on_file_unspent,
    several,
    wrap,
)
from tests.tiny_matrices import WHERE, check_matrix_loss, curator_of, distribution, expected, plan_of
from tests.tiny_runs import ADD_REMOVE, Table

TABLE: Table = ((0, 1), (1, 1))


FEW: tuple[Table, ...] = ((), ((0, 0),), ((1, 0),), ((1, 0), (1, 1)))


def check_exact_loss(relation: NeighbouringRelation) -> None:
    """No pair of neighbours is told apart by more than the ledger says, and some nearly by as much."""
    pairs: list[tuple[Table, Table]] = [(one, (*one, new)) for one in FEW for new in ((1, 0), (0, 0))]
    if relation is not ADD_REMOVE:
        pairs = [((one, (0, 0)), (one, (0, 1))) for one in ((0, 0), (1, 1))]
    for delta in (0.0, 0.01):
        plan = plan_of(relation, delta)
        assert check_matrix_loss(plan, pairs) > 0.999, "only part of the charge is reached"


def check_exact_distribution(relation: NeighbouringRelation) -> None:
    plan = plan_of(relation)
    assert distribution(plan, TABLE) == expected(plan, TABLE), "distribution"


def check_order_of_events(relation: NeighbouringRelation) -> None:
    plan = plan_of(relation, 0.01)
    curator, ledger, journal = curator_of(plan, TABLE, (0, 9, 0, 9))
    attempt(*[lambda: curator.draw(WHERE, plan.weights, epsilon=plan.epsilon)] * 2)
    assert journal.events == ["journal charge", "journal charge", "journal candidate"], "order"
    assert len(ledger.entries) == 2, f"charged {len(ledger.entries)} times"


def without_delta(usual: Any, *given: Any) -> Any:
    return tuple(charge for charge in usual(*given) if charge.kind is not ChargeKind.DELTA)


def halved(usual: Any, *given: Any) -> Any:
    return tuple(replace(charge, parameter=charge.parameter / 2) for charge in usual(*given))


LOST, ORDER = "of the charge is lost", "order"
CHARGED = [net_curator, optimal_count]
MATRICES = Mechanism(
    [check_exact_loss, check_exact_distribution, check_order_of_events],
    {
        "charge half": defect(wrap(CHARGED, "matrix_charges", halved), (check_exact_loss, BOTH, LOST)),
        "forget delta": defect(
            wrap(CHARGED, "matrix_charges", without_delta),
            (check_exact_loss, BOTH, LOST),
            (check_order_of_events, REP, ORDER),
        ),
        "count each record twice": defect(
            wrap(net_curator, "exact_counts", lambda usual, *given, **more: 2 * usual(*given, **more)),
            (check_exact_loss, BOTH, LOST),
            (check_exact_distribution, REP, "distribution"),
        ),
        "draw without a charge": defect(
            put_on_file_unspent(MatrixCurator), (check_order_of_events, REP, "charged 0 times")
        ),
        "draw again": defect(
            several(forget_what_was_drawn, wrap(Door, "_charged", lambda usual, self, charge, **where: charge)),
            (check_order_of_events, REP, ORDER),
        ),
    },
)
