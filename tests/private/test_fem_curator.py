from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import fem_charges
from dpopt.errors import BudgetError, PlanError
from dpopt.private.curators.fem_curator import FemCurator
from dpopt.private.mechanisms.randomness import RandomWords, SeededWords
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.kernels import satisfied
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import parse_workload
from dpopt.transcript.journal import MemoryJournal
from dpopt.transcript.released import SelectedQuery
from tests.tiny_runs import REPLACE, dataset_of, sized_schema

SCHEMA = sized_schema(p=3, q=2, r=4)
WORKLOAD = parse_workload("marginals:2", SCHEMA)
GENERATOR = np.random.default_rng(5)
TABLE = tuple(tuple(int(v) for v in GENERATOR.integers(0, [3, 2, 4])) for _ in range(30))
RECORDS = np.array([[0, 0, 0], [1, 1, 3], [1, 1, 3], [2, 0, 1]], dtype=np.int32)
RANGE = Decimal("0.7")


def marginals() -> MarginalSet:
    assert WORKLOAD.marginals is not None
    return WORKLOAD.marginals


def curator_on(
    queries: MarginalSet | Clauses,
    *,
    relation: NeighbouringRelation = REPLACE,
    size: int = 30,
    rounds: int = 2,
    words: RandomWords | None = None,
) -> tuple[FemCurator, Ledger, MemoryJournal]:
    ledger = Ledger(Budget(1e9, 1e-9, None, Accountant.ZCDP), relation)
    ledger.reserve(fem_charges(rounds, RANGE, relation))
    journal = MemoryJournal()
    curator = FemCurator(
        dataset_of(SCHEMA, TABLE),
        queries,
        ledger,
        journal,
        size=size,
        range_=RANGE,
        records=len(RECORDS),
        words=SeededWords(1) if words is None else words,
    )
    return curator, ledger, journal


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_marginals_and_their_cells_written_out_have_the_same_distribution(relation: NeighbouringRelation) -> None:
    """Counts, records' answers and the draw itself: cell by cell, against the clauses."""
    size = 30 if relation is REPLACE else 20
    whole, _, _ = curator_on(marginals(), relation=relation, size=size)
    listed, _, _ = curator_on(WORKLOAD.clauses, relation=relation, size=size)
    for mine, other in zip(whole._exact_counts(), listed._exact_counts(), strict=True):
        assert mine.tolist() == other.tolist()
    for mine, other in zip(whole._answers_of(RECORDS), listed._answers_of(RECORDS), strict=True):
        assert mine.tolist() == other.tolist()
    exact = np.zeros(len(WORKLOAD), dtype=np.int64)
    for record in TABLE:
        exact += satisfied(WORKLOAD.clauses, np.array(record, dtype=np.int32))
    held, counts = whole._exact_counts()
    assert counts.tolist() == exact[held].tolist()
    assert exact.sum() == counts.sum()


def test_a_selection_is_charged_then_made_then_on_file() -> None:
    curator, ledger, journal = curator_on(marginals())
    selected = curator.select(RECORDS, round=1)
    assert [entry["kind"] for entry in journal.entries] == ["charge", "query selection"]
    assert SelectedQuery.from_json(journal.entries[1], selected.charge) == selected
    assert ledger.entries[-1] == selected.charge == fem_charges(2, RANGE, REPLACE)[0]
    assert 0 <= selected.query < len(WORKLOAD)
    curator.select(RECORDS, round=2)
    with pytest.raises(BudgetError):
        curator.select(RECORDS, round=3)
    assert len(journal.entries) == 4


def test_a_charge_without_its_selection_is_completed() -> None:
    curator, ledger, journal = curator_on(marginals())
    charge = fem_charges(2, RANGE, REPLACE)[0]
    curator.recall(charge, drawn=False)
    selected = curator.select(RECORDS, round=1, again=True)
    assert selected.charge == charge
    assert [entry["kind"] for entry in journal.entries] == ["query selection"]
    assert [entry for entry in ledger.entries if entry.label] == [charge]
    with pytest.raises(BudgetError, match="selection of round 2"):
        curator.select(RECORDS, round=2, again=True)


def test_another_number_of_records_is_refused_before_anything_is_charged() -> None:
    curator, _, journal = curator_on(marginals())
    with pytest.raises(PlanError, match="4 records per round"):
        curator.select(RECORDS[:3], round=1)
    assert not journal.entries
