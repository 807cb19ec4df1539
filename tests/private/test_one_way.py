from __future__ import annotations

from decimal import Decimal
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import ChargeKind
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.measurements import one_way_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError
from dpopt.private.curators.dualquery_curator import Curator
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.transcript.released import NoisyAnswers
from tests.noises import NoNoise
from tests.tiny_runs import ADD_REMOVE, EventJournal, Table, at_their_word, conjunctions, dataset_of, universe

SCHEMA = Schema(
    (
        Attribute("a", AttributeKind.BOOLEAN),
        Attribute("b", AttributeKind.CATEGORICAL, ("x", "y", "z"), missing="?"),
        Attribute("c", AttributeKind.BOOLEAN),
    )
)
WORKLOAD = conjunctions(SCHEMA, "a", "c")
TABLE: Table = ((0, 3, 1), (1, 3, 1), (1, 0, 0), (1, 1, 1))
EXACT = [1, 3, 1, 1, 0, 2, 1, 3]
RHO = Budget(None, 1e-9, 1e9, Accountant.ZCDP)


@pytest.fixture(autouse=True)
def _claims_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take scripted sources of these tests at their word, so that ledgers can be compared."""
    monkeypatch.setattr("dpopt.private.curators.door.is_trusted", at_their_word)


def measured(
    table: Table, relation: NeighbouringRelation = ADD_REMOVE, *, gaussian: bool = True, scale: float = 2.0
) -> tuple[Curator, NoNoise, Ledger, EventJournal]:
    events: list[str] = []
    ledger = Ledger(RHO, relation)
    ledger.reserve([one_way_charge(3, scale=scale, gaussian=gaussian, relation=relation)])
    noise, journal = NoNoise(events), EventJournal(events)
    curator = Curator(
        dataset_of(SCHEMA, table), WORKLOAD.clauses, ledger, journal, size=len(TABLE), step=Decimal(1), noise=noise
    )
    return curator, noise, ledger, journal


@pytest.mark.parametrize("gaussian", [True, False])
def test_the_marginals_are_charged_then_on_file_then_measured_then_on_file(gaussian: bool) -> None:
    curator, noise, ledger, journal = measured(TABLE, gaussian=gaussian)
    answers = curator.measure_one_way(scale=2.0, gaussian=gaussian)
    assert journal.events == ["journal charge", "gaussian" if gaussian else "laplace", "journal measurement"]
    assert answers.values.tolist() == EXACT
    assert noise.scales == [answers.scale] == [2.0]
    assert answers.charge == ledger.entries[0]
    assert answers.noise == ("discrete Gaussian" if gaussian else "discrete Laplace")
    charge, measurement = journal.memory.entries
    assert charge["round"] == 0
    read = NoisyAnswers.from_json(measurement, answers.charge)
    assert read.values.tolist() == EXACT
    assert (read.name, read.noise, read.scale) == (answers.name, answers.noise, answers.scale)


def test_they_are_measured_once() -> None:
    curator, noise, _, _ = measured(TABLE)
    curator.measure_one_way(scale=2.0, gaussian=True)
    with pytest.raises(BudgetError, match="was drawn before"):
        curator.measure_one_way(scale=2.0, gaussian=True)
    assert len(noise.counts) == 1


@pytest.mark.parametrize(("scale", "gaussian"), [(1.9, True), (2.0, False), (20.0, True)])
def test_another_noise_than_planned_is_refused_and_nothing_is_measured(scale: float, gaussian: bool) -> None:
    curator, noise, _, journal = measured(TABLE)
    with pytest.raises(BudgetError, match="not part of the reserved plan"):
        curator.measure_one_way(scale=scale, gaussian=gaussian)
    assert noise.counts == []
    assert journal.events == []


def test_a_charge_on_file_is_completed_and_not_charged_again() -> None:
    curator, _, ledger, journal = measured(TABLE)
    curator.recall(ledger.reserved[0], drawn=False)
    assert curator.measure_one_way(scale=2.0, gaussian=True, again=True).values.tolist() == EXACT
    assert journal.events == ["gaussian", "journal measurement"]
    with pytest.raises(BudgetError, match="was drawn before"):
        curator.measure_one_way(scale=2.0, gaussian=True, again=True)


def exact_counts(table: Table) -> NDArray[np.int64]:
    curator, noise, _, _ = measured(table)
    curator.measure_one_way(scale=2.0, gaussian=True)
    return noise.counts[0]


def largest_moves(relation: NeighbouringRelation) -> tuple[int, int]:
    """Return the largest L1 and squared L2 distance between the counts of neighbours, over a universe of 16 records."""
    base: Table = TABLE[:2]
    counts = {record: exact_counts((*base, record)) for record in universe(SCHEMA)}
    if relation is ADD_REMOVE:
        moves = [found - exact_counts(base) for found in counts.values()]
    else:
        moves = [counts[one] - counts[two] for one, two in product(counts, repeat=2)]
    return max(int(np.abs(m).sum()) for m in moves), max(int((m**2).sum()) for m in moves)


@pytest.mark.parametrize("scale", [0.3, 2.0, 777.7])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_the_charge_covers_the_largest_move_of_the_counts_and_little_more(
    relation: NeighbouringRelation, scale: float
) -> None:
    one_norm, squared_two_norm = largest_moves(relation)
    assert (one_norm, squared_two_norm) == ((3, 3) if relation is ADD_REMOVE else (6, 6))
    gaussian = one_way_charge(3, scale=scale, gaussian=True, relation=relation)
    laplace = one_way_charge(3, scale=scale, gaussian=False, relation=relation)
    assert gaussian.kind is ChargeKind.CONCENTRATED
    assert laplace.kind is ChargeKind.PURE
    exact_rho = squared_two_norm / (2 * Decimal(scale) ** 2)
    exact_epsilon = one_norm / Decimal(scale)
    assert exact_rho <= Decimal(gaussian.parameter) <= exact_rho * (1 + Decimal("1e-14"))
    assert exact_epsilon <= Decimal(laplace.parameter) <= exact_epsilon * (1 + Decimal("1e-14"))


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_opendps_own_privacy_map_agrees_with_the_charge(relation: NeighbouringRelation) -> None:
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    cells, scale = (3 if relation is ADD_REMOVE else 6), 12.5
    domain = opendp.vector_domain(opendp.atom_domain(T="i64"))
    gaussian: Any = opendp.m.make_gaussian(domain, opendp.l2_distance(T="f64"), scale=scale)
    laplace: Any = opendp.m.make_laplace(domain, opendp.l1_distance(T="i64"), scale=scale)
    charges = [one_way_charge(3, scale=scale, gaussian=g, relation=relation) for g in (True, False)]
    assert gaussian.map(d_in=sqrt(cells)) == pytest.approx(charges[0].parameter, rel=1e-12)
    assert laplace.map(d_in=cells) == pytest.approx(charges[1].parameter, rel=1e-12)


def test_the_usual_noise_is_opendps_with_the_planned_scale() -> None:
    """Noise of scale 1e9 on 8 counts: all of them stay within 1,000 with probability below 1e-40."""
    ledger = Ledger(RHO, ADD_REMOVE)
    ledger.reserve([one_way_charge(3, scale=1e9, gaussian=True, relation=ADD_REMOVE)])
    curator = Curator(dataset_of(SCHEMA, TABLE), WORKLOAD.clauses, ledger, EventJournal([]), size=4, step=Decimal(1))
    answers = curator.measure_one_way(scale=1e9, gaussian=True)
    assert ledger.is_private
    assert int(np.abs(answers.values).max()) > 1000
    assert int(np.abs(answers.values).max()) < 10**11
