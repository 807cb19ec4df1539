from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.charges import Charge
from dpopt.accounting.dualquery import draw_charge, plan_charges
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError, WorkloadError
from dpopt.files.codec import decode
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS
from dpopt.private.curators.dualquery_curator import Curator
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.selections.query_weights import ExactSampler, QuerySampler, QueryWeights
from dpopt.queries.counting.kernels import satisfied
from dpopt.queries.workloads.workload import parse_workload
from dpopt.transcript.released import SampledQueries
from tests.exact_distribution import integer_weights, scripted_points, signed_scores
from tests.scripted import ScriptedNoise, ScriptedSampler
from tests.tiny_runs import (
    ADD_REMOVE,
    AMPLE,
    REPLACE,
    CallbackSampler,
    EventJournal,
    Table,
    at_their_word,
    bits_schema,
    conjunctions,
    dataset_of,
)

SCHEMA = bits_schema(2)
WORKLOAD = conjunctions(SCHEMA, "a", "b", "a !b")
TABLE: Table = ((0, 1), (1, 1), (1, 0))
STEP = Decimal("0.5")


@pytest.fixture(autouse=True)
def _claims_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take scripted sources of these tests at their word, so that ledgers can be compared."""
    monkeypatch.setattr("dpopt.private.curators.door.is_trusted", at_their_word)


class RecordingLedger(Ledger):
    """A ledger that notes what is spent in a list of events shared with others."""

    def __init__(self, events: list[str], budget: Budget, relation: NeighbouringRelation) -> None:
        super().__init__(budget, relation)
        self._events = events

    def spend(self, charge: Charge) -> None:
        super().spend(charge)
        self._events.append("spend")

    def substitute(self, charge: Charge, given_up: Charge) -> None:
        super().substitute(charge, given_up)
        self._events.append("substitute")

    __slots__ = ("_events",)


@dataclass
class Setting:
    """A curator and the events around it, in order."""

    events: list[str] = field(default_factory=list)
    relation: NeighbouringRelation = REPLACE
    rounds: int = 3
    draws: int = 2
    table: Table = TABLE
    sampler: QuerySampler | None = None
    journal: EventJournal = field(init=False)
    ledger: RecordingLedger = field(init=False)

    def __post_init__(self) -> None:
        self.journal = EventJournal(self.events)
        self.ledger = RecordingLedger(self.events, AMPLE, self.relation)
        self.ledger.reserve(plan_charges(self.rounds, self.draws, float(STEP), 3, self.relation))

    def curator(self, **more: Any) -> Curator:
        given = {"sampler": self.sampler or CallbackSampler(self._choose)} | more
        data = dataset_of(SCHEMA, self.table)
        return Curator(data, WORKLOAD.clauses, self.ledger, self.journal, size=3, step=STEP, **given)

    def charge(self, number: int) -> Charge:
        return draw_charge(number, self.draws, float(STEP), 3, self.relation)

    def _choose(self, weights: QueryWeights, draws: int) -> list[int]:
        self.events.append("draw")
        return [0, 3][:draws]


RECORD = np.array([1, 0], dtype=np.int32)


def test_a_draw_is_charged_then_on_file_as_charged_then_made_then_on_file() -> None:
    setting = Setting()
    setting.curator().draw_queries(2)
    assert setting.events == ["spend", "journal charge", "draw", "journal draw"]


def test_the_charge_is_that_of_the_round_whatever_the_caller_says() -> None:
    setting = Setting()
    curator = setting.curator()
    for number in (1, 2, 3):
        sampled = curator.draw_queries(2)
        assert sampled.round == number
        assert sampled.charge == setting.ledger.entries[-1] == setting.charge(number)
        curator.observe(RECORD)
    assert setting.ledger.unspent == ()


@pytest.mark.parametrize("draws", [1, 3])
def test_another_number_of_draws_than_reserved_is_refused_and_nothing_is_drawn(draws: int) -> None:
    setting = Setting()
    with pytest.raises(BudgetError, match="not part of the reserved plan"):
        setting.curator().draw_queries(draws)
    assert setting.events == []


@pytest.mark.parametrize("observed", [False, True])
def test_a_second_draw_of_a_round_and_a_round_beyond_the_plan_are_refused(observed: bool) -> None:
    setting = Setting(rounds=1)
    curator = setting.curator()
    curator.draw_queries(2)
    if observed:
        curator.observe(RECORD)
    before = list(setting.events)
    with pytest.raises(BudgetError, match="not part of the reserved plan" if observed else "is spent already"):
        curator.draw_queries(2)
    assert setting.events == before


def test_nothing_is_drawn_before_a_plan_is_reserved_or_its_charge_is_on_file() -> None:
    setting = Setting()
    setting.ledger = RecordingLedger(setting.events, AMPLE, REPLACE)
    with pytest.raises(BudgetError, match="no plan is reserved"):
        setting.curator().draw_queries(2)
    assert setting.events == []
    setting = Setting()

    class Full(EventJournal):
        def append(self, entry: dict[str, object], *, wait: bool = True) -> None:
            raise OSError("disk full")

    setting.journal = Full(setting.events)
    with pytest.raises(OSError, match="disk full"):
        setting.curator().draw_queries(2)
    assert setting.events == ["spend"]


@pytest.mark.parametrize(("drawn", "queries", "counts"), [([0, 1, 3, 3, 4, 5], [1], [-2]), ([4, 5], [], [])])
def test_net_counts_leave_out_a_query_drawn_as_often_as_its_negation(
    drawn: list[int], queries: list[int], counts: list[int]
) -> None:
    setting = Setting(draws=len(drawn), sampler=CallbackSampler(lambda weights, draws: drawn))
    sampled = setting.curator().draw_queries(len(drawn))
    assert sampled.queries.tolist() == queries
    assert sampled.counts.tolist() == counts


def test_what_is_on_file_is_what_was_returned() -> None:
    setting = Setting()
    sampled = setting.curator().draw_queries(2)
    charge, draw = setting.journal.memory.entries
    assert decode(Charge, charge["charge"], "a charge") == sampled.charge
    assert charge["round"] == draw["round"] == 1
    read = SampledQueries.from_json(draw, sampled.charge)
    assert read.queries.tolist() == sampled.queries.tolist() == [0, 1]
    assert read.counts.tolist() == sampled.counts.tolist() == [1, -1]


def draw_at(point: int, weights: QueryWeights, draws: int) -> list[int]:
    """Draw at a point of the cumulative weights in round 3, query 0 before it."""
    if weights.observed < 2:
        return [0] * draws
    drawn: list[int] = weights.draw(draws, scripted_points([point] * draws)).tolist()
    return drawn


def test_draws_follow_the_exact_weights_of_the_table_and_the_records() -> None:
    for relation, table in ((REPLACE, TABLE), (ADD_REMOVE, TABLE[:2])):
        records = [np.array(r, dtype=np.int32) for r in ((1, 1), (0, 1))]
        counts = [
            sum(int(satisfied(WORKLOAD.clauses, np.array(r, dtype=np.int32))[i]) for r in table) for i in range(3)
        ]
        answers = [satisfied(WORKLOAD.clauses, record) for record in records]
        weights = integer_weights(signed_scores(counts, answers, rows=len(table), size=3), STEP, 3)
        for query in range(6):
            setting = Setting(relation=relation, table=table, draws=1)
            setting.sampler = CallbackSampler(partial(draw_at, sum(weights[:query])))
            curator = setting.curator()
            for record in records:
                curator.draw_queries(1)
                curator.observe(record)
            sampled = curator.draw_queries(1)
            assert (2 * sampled.queries[0] + (sampled.counts[0] < 0)) == query


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_under_add_remove_a_table_of_any_size_is_accepted(rows: int) -> None:
    setting = Setting(relation=ADD_REMOVE, table=(TABLE * 2)[:rows])
    assert setting.curator().draw_queries(2).round == 1


@pytest.mark.parametrize(
    "sources",
    [{"sampler": ExactSampler(SeededWords(1))}, {"sampler": ScriptedSampler([])}, {"noise": ScriptedNoise([0])}],
)
def test_a_source_that_is_not_private_marks_the_ledger(sources: dict[str, object]) -> None:
    setting = Setting()
    setting.curator(sampler=None).draw_queries(2)
    assert setting.ledger.is_private
    setting = Setting()
    setting.curator(**{"sampler": None} | sources)
    assert setting.ledger.entries[0].mechanism == NOT_PRIVATE_DRAWS
    assert setting.ledger.spent().epsilon == float("inf")


def test_a_charge_on_file_without_its_draw_is_completed_and_not_charged_again() -> None:
    setting = Setting()
    curator = setting.curator()
    curator.recall(setting.charge(1), drawn=False)
    sampled = curator.complete_draw()
    assert sampled.charge == setting.charge(1)
    assert setting.events == ["spend", "draw", "journal draw"]
    with pytest.raises(BudgetError, match="transcript and plan do not fit together"):
        curator.complete_draw()


@pytest.mark.parametrize(("number", "drawn"), [(1, True), (2, False)])
def test_a_draw_on_file_and_a_charge_of_another_round_are_not_completed(number: int, drawn: bool) -> None:
    setting = Setting()
    curator = setting.curator()
    curator.recall(setting.charge(number), drawn=drawn)
    with pytest.raises(BudgetError, match="not that of the next round"):
        curator.complete_draw()
    assert "draw" not in setting.events


def test_a_charge_on_file_that_the_plan_does_not_hold_is_refused() -> None:
    curator = Setting().curator()
    with pytest.raises(BudgetError, match="not part of the reserved plan"):
        curator.recall(draw_charge(1, 5, float(STEP), 3, REPLACE), drawn=True)


def test_a_torn_draw_is_repeated_for_the_price_of_a_later_round() -> None:
    setting = Setting()
    curator = setting.curator()
    curator.recall(setting.charge(1), drawn=True)
    sampled = curator.repeat_draw(2, given_up=setting.charge(3), given_up_round=3)
    assert setting.events == ["spend", "substitute", "journal charge", "draw", "journal draw"]
    assert sampled.round == 1
    assert setting.ledger.entries == (setting.charge(1), setting.charge(1))
    assert setting.ledger.unspent == (setting.charge(2),)
    assert setting.journal.memory.entries[0]["given_up"] == 3


def test_a_torn_draw_is_not_repeated_for_the_price_of_a_round_that_was_played() -> None:
    setting = Setting()
    curator = setting.curator()
    curator.recall(setting.charge(1), drawn=True)
    with pytest.raises(BudgetError, match="is spent already"):
        curator.repeat_draw(2, given_up=setting.charge(1), given_up_round=1)
    assert "draw" not in setting.events


def test_a_repetition_on_file_is_recalled_with_what_it_gave_up() -> None:
    setting = Setting()
    curator = setting.curator()
    curator.recall(setting.charge(1), drawn=True)
    curator.recall(setting.charge(1), given_up=setting.charge(3), drawn=False)
    curator.complete_draw()
    assert setting.ledger.entries == (setting.charge(1), setting.charge(1))
    assert setting.ledger.unspent == (setting.charge(2),)


def test_cells_of_marginals_are_counted_as_their_clauses_are() -> None:
    schema = bits_schema(3)
    table = dataset_of(schema, ((0, 1, 1), (1, 1, 0), (1, 0, 1), (1, 1, 1)))
    workload = parse_workload("marginals:2", schema)
    assert workload.marginals is not None
    charges = plan_charges(1, 1, float(STEP), 4, REPLACE)
    counts, scores = [], []
    for marginals in (workload.marginals, None):
        ledger = Ledger(AMPLE, REPLACE)
        ledger.reserve(charges)
        curator = Curator(table, workload.clauses, ledger, EventJournal([]), size=4, step=STEP, marginals=marginals)
        counts.append(curator._weights._counts)
        curator.observe(np.array([0, 1, 1], dtype=np.int32))
        scores.append(curator._weights._scores)
    np.testing.assert_array_equal(counts[0], counts[1])
    np.testing.assert_array_equal(scores[0], scores[1])
    assert counts[0].sum() == 4 * len(workload.marginals)


def test_marginals_of_another_number_of_cells_are_refused() -> None:
    schema = bits_schema(3)
    table = dataset_of(schema, ((0, 1, 1),))
    one, two = (parse_workload(f"marginals:{width}", schema) for width in (1, 2))
    with pytest.raises(WorkloadError, match="12 cells, and there are 6 clauses"):
        Curator(
            table, one.clauses, Ledger(AMPLE, REPLACE), EventJournal([]), size=1, step=STEP, marginals=two.marginals
        )
