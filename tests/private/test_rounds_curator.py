"""Sums of bins in rounds: what they cost over all neighbours of tiny tables, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from unittest import mock

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import fem_charges
from dpopt.errors import BudgetError, PlanError
from dpopt.private.curators.fem_curator import FemCurator
from dpopt.private.curators.prefix_curator import RoundsCurator
from dpopt.private.measurements.bin_measurement import SumsInRounds
from dpopt.private.mechanisms.randomness import RandomWords, SeededWords
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.kernels import satisfied
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import parse_workload
from dpopt.transcript.journal import MemoryJournal
from dpopt.transcript.released import SelectedQuery
from tests.exact_counts_loss import AMPLE, Watching, rounds_share
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal, dataset_of, sized_schema, trusted

ROUNDS = SumsInRounds("sums", (2.0, 3.0), False)
HALVES = np.array([0, 0, 1, 1])
NONE = np.zeros(2, dtype=np.bool_)
FIRST = np.array([True, False])


def curator_of(noise: Watching, reserved: SumsInRounds = ROUNDS) -> tuple[RoundsCurator, Ledger]:
    ledger = Ledger(AMPLE[False], ADD_REMOVE)
    ledger.reserve([reserved.charge(1, ADD_REMOVE)])
    counts = BinCounts.from_counts([5, 6, 0, 1])
    with mock.patch("dpopt.private.curators.door.is_trusted", trusted):
        return RoundsCurator(counts, ledger, EventJournal([]), size=4, noise=noise), ledger


@pytest.mark.parametrize(("relation", "least"), [(ADD_REMOVE, 0.99), (REPLACE, 0.65)])
@pytest.mark.parametrize("gaussian", [False, True])
def test_no_record_loses_more_than_rounds_cost(relation: NeighbouringRelation, least: float, gaussian: bool) -> None:
    """Under replace-one the first round, of all bins together, does not change."""
    assert least <= rounds_share(relation, gaussian=gaussian) <= 1


def test_a_group_of_a_last_time_gets_what_is_left_of_the_budget() -> None:
    noise = Watching()
    curator, ledger = curator_of(noise)
    np.testing.assert_array_equal(curator.measure_round(ROUNDS, HALVES, FIRST), [11, 1])
    np.testing.assert_array_equal(curator.measure_round(ROUNDS, np.array([-1, -1, 0, 1]), NONE), [0, 1])
    assert [(one.counts, round(one.scale, 6)) for one in noise.drawn] == [((1,), 2.0), ((11,), 1.2), ((0, 1), 3.0)]
    assert [charge.parameter for charge in ledger.entries] == pytest.approx([1 / 2 + 1 / 3])


@pytest.mark.parametrize(
    ("groups", "last", "error", "message"),
    [
        ([0, -1, 1, -1], NONE, BudgetError, "last time"),
        ([0, 0, 0], NONE, BudgetError, "last time"),
        ([-1, -1, 0, 2], NONE, PlanError, "numbered 0 to 1"),
    ],
)
def test_bad_rounds_are_refused_before_anything_is_drawn(groups: Any, last: Any, error: Any, message: str) -> None:
    noise = Watching()
    curator, _ = curator_of(noise)
    curator.measure_round(ROUNDS, HALVES, FIRST)
    drawn = len(noise.drawn)
    with pytest.raises(error, match=message):
        curator.measure_round(ROUNDS, np.array(groups), last)
    assert len(noise.drawn) == drawn


def test_neither_other_rounds_nor_more_of_them_nor_unreserved_ones_are_drawn() -> None:
    noise = Watching()
    curator, _ = curator_of(noise)
    curator.measure_round(ROUNDS, HALVES, NONE)
    with pytest.raises(BudgetError, match="1 of 1 rounds"):
        curator.measure_round(SumsInRounds("sums", (1.0,), False), HALVES, NONE)
    with pytest.raises(BudgetError, match="1 of 3 rounds"):
        curator.measure_round(SumsInRounds("sums", (9.0,) * 3, False), HALVES, NONE)
    curator.measure_round(ROUNDS, HALVES, NONE)
    with pytest.raises(BudgetError, match="2 of 2 rounds"):
        curator.measure_round(ROUNDS, HALVES, NONE)
    drawn = len(noise.drawn)
    other, _ = curator_of(noise, reserved=SumsInRounds("sums", (2.0, 4.0), False))
    with pytest.raises(BudgetError):
        other.measure_round(ROUNDS, HALVES, NONE)
    assert len(noise.drawn) == drawn


# Fem curator.

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
