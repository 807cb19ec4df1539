"""The curator of the net mechanism."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.selections import selection_charge
from dpopt.algorithms.small_database.universe import Universe
from dpopt.errors import BudgetError, PlanError
from dpopt.private.curators.net_curator import NetCurator
from dpopt.private.mechanisms.net.net_distribution import Multisets
from dpopt.private.mechanisms.randomness import RandomWords
from dpopt.queries.workloads.workload import parse_workload
from dpopt.transcript.journal import MemoryJournal
from dpopt.transcript.released import SelectedDatabase
from tests.tiny_runs import REPLACE, dataset_of, sized_schema

SCHEMA = sized_schema(p=3, q=2)
WORKLOAD = parse_workload("marginals:2", SCHEMA)
TABLE = tuple((i % 3, int(i % 5 < 2)) for i in range(30))
RANGE = Decimal("0.7")


def curator_on(
    *, clauses: bool = False, words: RandomWords | None = None, size: int = 30, relation: object = REPLACE
) -> tuple[NetCurator, Ledger, MemoryJournal]:
    ledger = Ledger(Budget(1.0, 0.0, None, Accountant.PURE), relation)  # type: ignore[arg-type]
    ledger.reserve((selection_charge(1, RANGE, relation),))  # type: ignore[arg-type]
    journal = MemoryJournal()
    curator = NetCurator(
        dataset_of(SCHEMA, TABLE),
        WORKLOAD.clauses if clauses else WORKLOAD.queries,
        ledger,
        journal,
        size=size,
        range_=RANGE,
        words=words,
    )
    return curator, ledger, journal


def multisets(records: int = 2) -> Multisets:
    return Multisets(Universe.of(WORKLOAD).answers, records)


def test_marginals_and_their_cells_written_out_have_the_same_counts() -> None:
    whole, listed = curator_on()[0]._counts, curator_on(clauses=True)[0]._counts
    assert whole.tolist() == listed.tolist()
    assert whole.tolist() == [sum(t == (p, q) for t in TABLE) for p in range(3) for q in range(2)]


def test_a_selection_is_on_file_after_its_charge() -> None:
    curator, ledger, journal = curator_on()
    selected = curator.select_database(multisets(), reach=Decimal(1))
    assert [entry["kind"] for entry in journal.entries] == ["charge", "database"]
    assert int(selected.counts.sum()) == 2
    assert ledger.spent().epsilon == pytest.approx(0.7)
    assert ledger.is_private
    read = SelectedDatabase.from_json(journal.entries[1], selected.charge)
    assert (read.elements.tolist(), read.counts.tolist()) == (selected.elements.tolist(), selected.counts.tolist())


def test_nothing_is_selected_twice() -> None:
    curator, _, _ = curator_on()
    curator.select_database(multisets(), reach=Decimal(1))
    with pytest.raises(BudgetError, match="drawn before"):
        curator.select_database(multisets(), reach=Decimal(1))


def test_multisets_that_do_not_fit_are_refused_unspent() -> None:
    curator, ledger, journal = curator_on()
    with pytest.raises(PlanError, match="queries"):
        curator.select_database(Multisets(np.ones((1, 3), dtype=np.int8), 2), reach=Decimal(1))
    assert journal.entries == []
    assert ledger.entries == ()
