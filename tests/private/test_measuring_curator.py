from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError, PlanError, PrivateDataError, WorkloadError
from dpopt.files.codec import decode
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS
from dpopt.private.curators.measuring_curator import MeasuringCurator
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.mechanisms.noise import OpendpNoise
from dpopt.private.mechanisms.randomness import SeededWords, SystemWords
from dpopt.queries.residuals import Residuals
from dpopt.transcript.released import NoisyAnswers, SelectedMarginal
from tests.exact_distribution import exp_minus
from tests.scripted import ScriptedNoise, ScriptedWords
from tests.tiny_measuring import MULTIPLICITY, RECORDS, RHO, SCHEMA, Measuring, marginals, neighbours, selection
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal, Table, bits_schema, conjunctions, dataset_of

TABLE: Table = ((0, 2), (1, 2), (1, 0))
BOTH = Measurement("both", marginals([0], [0, 1]), 2.0, gaussian=True)
OTHER = Measurement("other", marginals([1]), 3.0, gaussian=True)
EXACT = [1, 2, 0, 0, 1, 1, 0, 1]
CHARGES = [w.charge(SCHEMA.sizes, ADD_REMOVE) for w in (BOTH, OTHER)]
SELECTIONS = [selection("l1"), selection("max", number=2)]


def measuring(*more: Charge, table: Table = TABLE, relation: NeighbouringRelation = ADD_REMOVE) -> Measuring:
    charges = [w.charge(SCHEMA.sizes, relation) for w in (BOTH, OTHER)]
    return Measuring(table, [*charges, *(s.charge(relation) for s in SELECTIONS), *more], relation, size=3)


@pytest.mark.parametrize("gaussian", [True, False])
def test_counts_are_charged_then_on_file_then_measured_then_on_file(gaussian: bool) -> None:
    what = Measurement("both", BOTH.queries, 2.0, gaussian)
    run = Measuring(TABLE, [what.charge(SCHEMA.sizes, ADD_REMOVE)], size=3)
    answers = run.curator.measure(what, round=5)
    assert run.events == ["journal charge", "gaussian" if gaussian else "laplace", "journal measurement"]
    assert answers.values.tolist() == EXACT
    assert answers.charge == run.ledger.entries[0]
    charge, measurement = run.journal.memory.entries
    assert decode(Charge, charge["charge"], "a charge") == answers.charge
    assert charge["round"] == measurement["round"] == 5
    read = NoisyAnswers.from_json(measurement, answers.charge)
    assert read.values.tolist() == EXACT
    assert (read.name, read.noise, read.scale) == (answers.name, answers.noise, answers.scale)


def test_clauses_are_measured_one_by_one() -> None:
    schema = bits_schema(2)
    clauses = conjunctions(schema, "a", "a !b", "b").clauses
    what = Measurement("clauses", clauses, 2.0, gaussian=False)
    run = Measuring(((1, 0), (1, 1), (1, 0)), [what.charge(schema.sizes, ADD_REMOVE)], schema=schema)
    assert run.curator.measure(what).values.tolist() == [3, 2, 1]


def test_residuals_are_whole_numbers_that_are_charged_together() -> None:
    """Of a with factor 2: counts 1 and 2; of a and b: 2 I - J on the rows of [[0, 0, 1], [1, 0, 1]], 3 I - J on its columns."""
    what = Measurement("x", Residuals(marginals([0], [0, 1]), np.array([2, 1])), 9.0, gaussian=True)
    run = Measuring(TABLE, [what.charge(SCHEMA.sizes, ADD_REMOVE)], size=3)
    answers = run.curator.measure(what)
    assert run.events == ["journal charge", "gaussian", "journal measurement"]
    assert answers.values.tolist() == [-2, 2, -2, 1, 1, 2, -1, -1]
    assert answers.charge.parameter == pytest.approx((4 * 2 + 12) / (2 * 9.0**2), rel=1e-14)
    read = NoisyAnswers.from_json(run.journal.memory.entries[1], answers.charge)
    assert read.values.tolist() == answers.values.tolist()


def test_so_many_records_that_residuals_might_wrap_around_are_refused_before_anything_is_spent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dpopt.private.measurements.measurement.MOST_RECORDS", 3)
    what = Measurement("x", Residuals(marginals([0]), np.array([1])), 9.0, gaussian=True)
    run = Measuring(TABLE, [what.charge(SCHEMA.sizes, ADD_REMOVE)], size=3)
    with pytest.raises(PrivateDataError, match="fewer than 2"):
        run.curator.measure(what)
    assert (run.events, run.ledger.entries) == ([], ())


@pytest.mark.parametrize(
    "what",
    [
        Measurement("both", BOTH.queries, 1.9, gaussian=True),
        Measurement("both", BOTH.queries, 2.0, gaussian=False),
        Measurement("both", marginals([0], [0, 1], [1]), 2.0, gaussian=True),
        Measurement("new", BOTH.queries, 2.0, gaussian=True),
    ],
)
def test_another_measurement_than_planned_is_refused_and_nothing_is_drawn(what: Measurement) -> None:
    run = measuring()
    with pytest.raises(BudgetError, match="not part of the reserved plan"):
        run.curator.measure(what)
    assert run.events == []
    assert run.ledger.entries == ()


def test_queries_of_another_schema_are_refused_before_anything_is_spent() -> None:
    run = measuring()
    other = marginals([0], schema=bits_schema(3))
    with pytest.raises(WorkloadError, match="belong to another schema"):
        run.curator.measure(Measurement("both", other, 2.0, gaussian=True))
    with pytest.raises(WorkloadError, match="belong to another schema"):
        run.select(selection(candidates=other.take([0, 0, 0])))
    assert run.events == []


def test_a_charge_on_file_is_completed_and_not_charged_again() -> None:
    run = measuring()
    run.curator.recall(CHARGES[0], drawn=False)
    assert run.curator.measure(BOTH, round=2, again=True).values.tolist() == EXACT
    assert run.events == ["gaussian", "journal measurement"]
    assert run.journal.memory.entries[0]["round"] == 2
    assert run.ledger.entries == (CHARGES[0],)
    with pytest.raises(BudgetError, match="was drawn before"):
        run.curator.measure(BOTH, again=True)


def test_a_charge_of_another_measurement_is_not_completed() -> None:
    run = measuring()
    run.curator.recall(CHARGES[0], drawn=False)
    with pytest.raises(BudgetError, match="not that of the measurement 'other'"):
        run.curator.measure(OTHER, again=True)
    assert run.events == []


def test_what_is_on_file_or_torn_is_not_drawn_again() -> None:
    run = measuring(*CHARGES, *(s.charge(ADD_REMOVE) for s in SELECTIONS))
    for charge in (CHARGES[0], SELECTIONS[0].charge(ADD_REMOVE)):
        run.curator.recall(charge, drawn=True)
    with pytest.raises(BudgetError, match="was drawn before"):
        run.curator.measure(BOTH)
    with pytest.raises(BudgetError, match="was drawn before"):
        run.select(SELECTIONS[0])
    with pytest.raises(BudgetError, match="was drawn before"):
        run.curator.measure(BOTH, again=True)
    assert run.events == []


def test_a_candidate_is_charged_then_on_file_then_drawn_then_on_file() -> None:
    run = measuring()
    run.chosen = 2
    with run.drawing():
        selected = run.curator.select(SELECTIONS[0], RECORDS, MULTIPLICITY)
    assert run.events == ["journal charge", "draw", "journal selection"]
    assert (selected.round, selected.candidate) == (1, 2)
    assert selected.charge == run.ledger.entries[0] == SELECTIONS[0].charge(ADD_REMOVE)
    charge, drawn = run.journal.memory.entries
    assert charge["round"] == drawn["round"] == 1
    assert SelectedMarginal.from_json(drawn, selected.charge) == selected


def test_a_selection_on_file_as_charged_is_completed_and_not_charged_again() -> None:
    run = measuring()
    run.curator.recall(SELECTIONS[0].charge(ADD_REMOVE), drawn=False)
    with run.drawing():
        run.curator.select(SELECTIONS[0], RECORDS, MULTIPLICITY, again=True)
    assert run.events == ["draw", "journal selection"]
    with run.drawing(), pytest.raises(BudgetError, match="was drawn before"):
        run.curator.select(SELECTIONS[0], RECORDS, MULTIPLICITY, again=True)


def test_a_round_selects_once_even_if_it_was_reserved_twice() -> None:
    run = measuring(SELECTIONS[0].charge(ADD_REMOVE))
    run.select(SELECTIONS[0])
    with pytest.raises(BudgetError, match="'selection of round 1' was drawn before"):
        run.select(SELECTIONS[0])
    assert len(run.weights) == 1


def test_another_selection_than_planned_is_refused_and_nothing_is_drawn() -> None:
    run = measuring()
    for what in (selection(range_="1.6"), selection(number=3)):
        with pytest.raises(BudgetError, match="not part of the reserved plan"):
            run.select(what)
    assert run.events == []


def test_records_and_ranges_that_do_not_fit_are_refused_before_anything_is_spent() -> None:
    large = selection(range_="400")
    run = measuring(large.charge(ADD_REMOVE))
    with pytest.raises(PlanError, match="do not fit a schema"):
        run.select(SELECTIONS[0], RECORDS[:, :1])
    with pytest.raises(PlanError, match="choose a smaller range"):
        run.select(large)
    assert run.events == []
    assert run.ledger.entries == ()


@pytest.mark.parametrize("score", ["l1", "max"])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_the_distribution_is_that_of_the_exponential_mechanism(relation: NeighbouringRelation, score: str) -> None:
    """Scores by hand: of a, b, and both, on three records, against 2 (0, 0), 1 (1, z), 2 (0, y), size 3, N = 5."""
    exact: list[dict[object, int]] = [{0: 1, 1: 2}, {0: 1, 2: 2}, {(0, 2): 1, (1, 2): 1, (1, 0): 1}]
    public: list[dict[object, int]] = [{0: 4, 1: 1}, {0: 2, 2: 1, 1: 2}, {(0, 0): 2, (1, 2): 1, (0, 1): 2}]
    distances = [[abs(5 * k.get(c, 0) - 3 * m.get(c, 0)) for c in {*k, *m}] for k, m in zip(exact, public, strict=True)]
    penalties = [0, 1, -1]
    scores = [(sum(d) if score == "l1" else max(d)) - 5 * p for d, p in zip(distances, penalties, strict=True)]
    spread = 4 if score == "l1" and relation is REPLACE else 2
    rate = Fraction(3, 2) / (spread * 5)
    weights = [exp_minus(rate * (max(scores) - s)) for s in scores]
    what = selection(score, range_="1.5", penalties=penalties)
    found = Measuring(TABLE, [what.charge(relation)], relation, 3).select(what)
    for share, weight in zip(found, weights, strict=True):
        assert abs(share / (weight / sum(weights)) - 1) < Fraction(1, 2**60)


def test_penalties_are_taken_off() -> None:
    """A penalty of 20 records at range 2 and spread 2 takes off a factor of exp(-20)."""
    shares = []
    for penalty in (0, 20):
        what = selection("max", range_="2", penalties=(0, penalty, 0))
        shares.append(Measuring(TABLE, [what.charge(ADD_REMOVE)], ADD_REMOVE, 3).select(what))
    odds = [share[1] / share[0] for share in shares]
    assert abs(float(odds[1] / odds[0]) / np.exp(-20) - 1) < 1e-9


@pytest.mark.parametrize("scale", [0.3, 2.0, 777.7])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_the_charge_covers_the_largest_move_of_the_counts_and_little_more(
    relation: NeighbouringRelation, scale: float
) -> None:
    pairs = neighbours(relation, [2])
    moves = [
        np.concatenate(two) - np.concatenate(one)
        for one, two in ((counts(one, relation), counts(two, relation)) for one, two in pairs)
    ]
    sensitivity = max(int(np.abs(move).sum()) for move in moves)
    assert sensitivity == max(int((move**2).sum()) for move in moves) == (2 if relation is ADD_REMOVE else 4)
    for gaussian in (True, False):
        charge = Measurement("x", BOTH.queries, scale, gaussian).charge(SCHEMA.sizes, relation)
        exact = sensitivity / (2 * Decimal(scale) ** 2) if gaussian else sensitivity / Decimal(scale)
        assert exact <= Decimal(charge.parameter) <= exact * (1 + Decimal("1e-14"))


def counts(table: Table, relation: NeighbouringRelation) -> list[NDArray[np.int64]]:
    what = Measurement("both", BOTH.queries, 2.0, gaussian=True)
    run = Measuring(table, [what.charge(SCHEMA.sizes, relation)], relation, len(table))
    run.curator.measure(what)
    return run.noise.counts


@pytest.mark.parametrize(
    ("sources", "private"),
    [
        ({}, True),
        ({"noise": OpendpNoise(), "words": SystemWords()}, True),
        ({"noise": ScriptedNoise([1])}, False),
        ({"words": SeededWords(1)}, False),
        ({"words": ScriptedWords([0, 0])}, False),
    ],
)
def test_a_source_that_is_not_private_marks_the_ledger(sources: dict[str, object], private: bool) -> None:
    ledger = Ledger(RHO, ADD_REMOVE)
    ledger.reserve([SELECTIONS[0].charge(ADD_REMOVE), CHARGES[0]])
    curator = MeasuringCurator(
        dataset_of(SCHEMA, TABLE),
        ledger,
        EventJournal([]),
        size=3,
        **sources,  # type: ignore[arg-type]
    )
    curator.measure(BOTH)
    assert 0 <= curator.select(SELECTIONS[0], RECORDS, MULTIPLICITY).candidate < 3
    assert ledger.is_private is private
    assert private or ledger.entries[0].mechanism == NOT_PRIVATE_DRAWS


def test_progress_of_measuring_and_selecting_is_reported() -> None:
    shares: list[float] = []
    ledger = Ledger(RHO, ADD_REMOVE)
    ledger.reserve([SELECTIONS[0].charge(ADD_REMOVE), CHARGES[0]])
    curator = MeasuringCurator(dataset_of(SCHEMA, TABLE), ledger, EventJournal([]), size=3, progress=shares.append)
    curator.measure(BOTH)
    curator.select(SELECTIONS[0], RECORDS, MULTIPLICITY)
    assert shares == [1.0, 1.0]


@pytest.mark.parametrize("lines", [0, 1])
def test_a_journal_that_cannot_be_written_stops_before_the_draw_or_before_it_is_handed_out(lines: int) -> None:
    """Spent in either case: resuming completes the draw, or treats it as seen."""
    for select in (False, True):
        run = measuring()
        append = run.journal.append
        written: list[object] = []

        def full(
            entry: dict[str, object], *, wait: bool = True, written: list[object] = written, append: Any = append
        ) -> None:
            if len(written) == lines:
                raise OSError("disk full")
            written.append(entry)
            append(entry, wait=wait)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(EventJournal, "append", lambda self, entry, *, wait=True, full=full: full(entry, wait=wait))
            with pytest.raises(OSError, match="disk full"):
                run.select(SELECTIONS[0]) if select else run.curator.measure(BOTH)
        drawn = [event for event in run.events if event in {"draw", "gaussian"}]
        assert len(drawn) == lines
        assert len(run.ledger.entries) == 1
