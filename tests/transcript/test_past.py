"""What a transcript of each algorithm may hold, entry by entry: everything out of the order of the run is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from dpopt.algorithms.registry import algorithm_of
from dpopt.algorithms.run_release import run_release
from dpopt.errors import PlanError, TranscriptError
from dpopt.releases.job import Job
from dpopt.releases.run import Outcome, Walk, play_run, rebuild_so_far
from dpopt.releases.run import Run as TableRun
from dpopt.transcript.journal import JournalContents, MemoryJournal, read_journal
from dpopt.transcript.past import Past
from tests.tiny_jobs import JOBS, SCHEMA, TABLE, dualquery_job
from tests.tiny_runs import dataset_of

Entries = list[dict[str, Any]]
DRAWN = {"draw", "measurement", "selection", "query selection", "database"}
EVERY = pytest.mark.parametrize("name", JOBS)
TORN = {"kind": "torn"}


@pytest.fixture(scope="module")
def transcripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Entries]:
    """Play every job once."""
    found = {}
    for name, make in JOBS.items():
        folder = tmp_path_factory.mktemp("run") / "release"
        run_release(dataset_of(SCHEMA, TABLE), make(), folder)
        found[name] = read_journal(folder / "transcript.jsonl").entries
    return found


def read(name: str, entries: Entries, *, torn: bool = False) -> Outcome | None:
    """Return the outcome that these entries give; None if the run has not ended."""
    job = JOBS[name]()
    past = Past(JournalContents(copy.deepcopy(entries), 0, torn=torn))
    found = rebuild_so_far(algorithm_of(job.plan), job, past)
    return found if found.ended else None


def resumed(name: str, entries: Entries) -> tuple[Outcome, Entries]:
    """Continue a run; return its outcome, and what it wrote."""
    job, journal = JOBS[name](), MemoryJournal()
    past = Past(JournalContents(copy.deepcopy(entries), 0, torn=False))
    run = TableRun(dataset_of(SCHEMA, TABLE), journal, past)
    return play_run(algorithm_of(job.plan), job, run), journal.entries


@EVERY
def test_every_beginning_of_a_run_is_read_and_has_not_ended(name: str, transcripts: dict[str, Entries]) -> None:
    whole = transcripts[name]
    ended = read(name, whole)
    assert ended is not None
    assert {charge.label for charge in ended.ledger.entries} == {charge.label for charge in JOBS[name]().plan.charges()}
    for number in range(len(whole)):
        assert read(name, whole[:number]) is None


@EVERY
def test_a_run_goes_on_with_the_entries_that_are_missing(name: str, transcripts: dict[str, Entries]) -> None:
    whole = transcripts[name]
    for number in range(1, len(whole)):
        _, written = resumed(name, whole[:number])
        assert [one["kind"] for one in written] == [one["kind"] for one in whole[number:]]


@EVERY
def test_a_torn_line_that_held_no_draw_is_no_matter(name: str, transcripts: dict[str, Entries]) -> None:
    whole = transcripts[name]
    for number, entry in enumerate(whole):
        if entry["kind"] not in DRAWN:
            assert read(name, [*whole[:number], TORN, *whole[number:]]) is not None


@EVERY
def test_a_draw_after_its_torn_line_is_refused(name: str, transcripts: dict[str, Entries]) -> None:
    """Part of it may have been seen, so no entry may pretend that it was made for the same charge."""
    whole = transcripts[name]
    drawn = [number for number, entry in enumerate(whole) if entry["kind"] in DRAWN]
    assert drawn
    for number in drawn:
        with pytest.raises((TranscriptError, PlanError), match="does not fit|interruption lost"):
            read(name, [*whole[:number], TORN, *whole[number:]])


@EVERY
@pytest.mark.parametrize("by_mark", [True, False])
def test_a_torn_line_loses_the_open_draw_alone(name: str, transcripts: dict[str, Entries], by_mark: bool) -> None:
    """Whether it was noticed by the reader of the file or is on file as a mark of an earlier interruption."""
    whole = transcripts[name]
    for number in range(1, len(whole)):
        entries = [*whole[:number], TORN] if by_mark else whole[:number]
        job = JOBS[name]()
        past = Past(JournalContents(copy.deepcopy(entries), 0, torn=not by_mark))
        walk: Walk[Any] = Walk(job.ledger(None), None, None, past)
        try:
            walk.reserve(job)
            algorithm_of(job.plan).play(job, walk, None)
        except PlanError as error:
            assert "an interruption lost" in str(error)  # noqa: PT017  the only draw is lost, and said to be
        except Exception as error:  # noqa: BLE001
            assert type(error).__name__ == "NotEnded"  # noqa: PT017
        assert walk.lost == (whole[number - 1]["kind"] == "charge")


def of_kind(entries: Entries, *kinds: str) -> int:
    return next(place for place, entry in enumerate(entries) if entry["kind"] in kinds)


def last_of_kind(entries: Entries, *kinds: str) -> int:
    return max(place for place, entry in enumerate(entries) if entry["kind"] in kinds)


def swap(entries: Entries, one: int, two: int) -> None:
    entries[one], entries[two] = entries[two], entries[one]


def first_charge(entries: Entries) -> dict[str, Any]:
    charge: dict[str, Any] = entries[of_kind(entries, "charge")]["charge"]
    return charge


Change = Callable[[Entries], object]
OUT_OF_ORDER: dict[str, tuple[Change, str]] = {
    "no reservation": (lambda e: e.pop(0), "the reservation"),
    "two reservations": (lambda e: e.insert(1, e[0]), "'reserve'"),
    "a late second reservation": (lambda e: e.insert(-1, e[0]), "'reserve'"),
    "a cheaper reservation": (lambda e: e[0]["charges"].pop(), "the reservation is not that of plan.json"),
    "other inputs": (lambda e: e[0].update(inputs="0" * 64), "changed after the run had begun"),
    "a charge left out": (lambda e: e.pop(of_kind(e, "charge")), "expected the charge"),
    "a draw left out": (lambda e: e.pop(of_kind(e, *DRAWN)), "that .* paid for"),
    "a draw twice": (lambda e: e.insert(of_kind(e, *DRAWN), e[of_kind(e, *DRAWN)]), "expected"),
    "a charge twice": (lambda e: e.insert(of_kind(e, "charge"), e[of_kind(e, "charge")]), "'charge'"),
    "a draw before its charge": (lambda e: swap(e, of_kind(e, "charge"), of_kind(e, *DRAWN)), "expected the charge"),
    "a charge of less": (lambda e: first_charge(e).update(parameter=1e-9), "is not the next of the plan"),
    "a charge of another relation": (
        lambda e: first_charge(e).update(relation="add-remove"),
        "is not the next of the plan",
    ),
    "a charge that gives up a round": (
        lambda e: e[of_kind(e, "charge")].update(given_up=2),
        "is not the next of the plan",
    ),
    "a charge that is none": (lambda e: first_charge(e).clear(), "missing the key"),
    "no charge": (lambda e: e[of_kind(e, "charge")].pop("charge"), "'charge'"),
    "an end too early": (lambda e: e.insert(of_kind(e, *DRAWN), {"kind": "finish"}), "'finish'"),
    "an end without the last draw": (lambda e: e.__delitem__(last_of_kind(e, *DRAWN)), "expected"),
    "entries after the end": (lambda e: e.append(dict(TORN)), "the run had ended"),
    "two ends": (lambda e: e.append({"kind": "finish"}), "the run had ended"),
    "an unknown kind": (lambda e: e.insert(1, {"kind": "gift"}), "found 'gift'"),
    "no kind": (lambda e: e.insert(1, {}), "found None"),
}


@EVERY
@pytest.mark.parametrize("change", OUT_OF_ORDER)
def test_what_is_out_of_order_is_refused_with_its_line(name: str, change: str, transcripts: dict[str, Entries]) -> None:
    edit, message = OUT_OF_ORDER[change]
    entries = copy.deepcopy(transcripts[name])
    edit(entries)
    with pytest.raises(TranscriptError, match=rf"line \d+ of the transcript does not fit .*{message}"):
        read(name, entries)


def edit(kind: str, number: int = 0, **changes: object) -> Change:
    """Return what changes the entry of this kind."""

    def change(entries: Entries) -> None:
        places = [place for place, entry in enumerate(entries) if entry["kind"] == kind]
        entries[places[number]].update(changes)

    return change


def without(kind: str, key: str) -> Change:
    return lambda entries: entries[of_kind(entries, kind)].pop(key)


def exchanged(entries: Entries) -> None:
    """A selection where a measurement was charged."""
    entries[last_of_kind(entries, "measurement")] = dict(entries[of_kind(entries, "selection")], round=2)


def disguised(entries: Entries) -> None:
    """A measurement, named like it, where a selection was charged."""
    measured = entries[last_of_kind(entries, "measurement")]
    entries[of_kind(entries, "selection")] = dict(measured, name="selection of round 1")


def records_twice(entries: Entries) -> None:
    place = of_kind(entries, "records")
    entries.insert(place, entries[place])


QUERIES, MARGINALS = "mwem, queries", "mwem, marginals"
NOT_OF_THE_PLAN: dict[str, tuple[str, Change, str]] = {
    "a draw of another round": ("dualquery", edit("draw", round=2), "of round 2"),
    "a charge of another round": ("dualquery", edit("charge", 1, round=1), "is not the next"),
    "a round in words": ("dualquery", edit("draw", round="one"), "of round 'one'"),
    "more draws than charged": ("dualquery", edit("draw", queries=[0], counts=[4]), "do not come from"),
    "a record of another round": ("dualquery", edit("record", round=2), "the record of round 2"),
    "a record twice": (
        "dualquery",
        lambda e: e.insert(of_kind(e, "record"), e[of_kind(e, "record")]),
        "found 'record'",
    ),
    "a record that is none": ("dualquery", edit("record", record=[9, 9]), "does not fit the schema"),
    "one-way marginals of another name": (
        "dualquery with one-way marginals",
        edit("measurement", name="age"),
        "'age' was measured",
    ),
    "values of another name": ("selected", edit("measurement", name="age"), "'age' was measured"),
    "values of another scale": ("selected", edit("measurement", scale=0.5), "noise of scale 0.5 on file"),
    "values of another distribution": ("selected", edit("measurement", noise="discrete Laplace"), "Laplace"),
    "no values": ("selected", without("measurement", "values"), "missing the key values"),
    "values in words": ("selected", edit("measurement", values=["many"]), "fit int64"),
    "values that are no list": ("selected", edit("measurement", values=7), "found 7"),
    "a scale that is none": ("selected", edit("measurement", scale="x"), "a number, found a text"),
    "too few values": ("selected", edit("measurement", values=[1]), "1 values on file, its queries are 2"),
    "too many values": ("selected", edit("measurement", -1, values=[1] * 9), "9 values on file"),
    "a selection of another round": ("selected", edit("selection", round=2), "of round 2"),
    "a selection of no round": ("selected", edit("selection", round=0), "of round 0"),
    "a negative selection": ("selected", edit("selection", candidate=-1), "at least 0"),
    "half a selection": ("selected", edit("selection", candidate=0.5), "a whole number"),
    "no selection": ("selected", without("selection", "candidate"), "missing the key candidate"),
    "a candidate that does not exist": ("selected", edit("selection", candidate=6), "numbered from 0"),
    "a candidate far away": ("selected", edit("selection", candidate=2**70), "numbered from 0"),
    "a selection for a measurement": ("selected", exchanged, "found 'selection'"),
    "a measurement for a selection": ("selected", disguised, "found 'measurement'"),
    "records too early": ("selected", lambda e: e.insert(5, e[of_kind(e, "records")]), "found 'records'"),
    "records twice": ("selected", records_twice, "found 'records'"),
    "a query that is none": (QUERIES, edit("query selection", query=7_000), "numbered from 0"),
    "a marginal that is none": (MARGINALS, edit("selection", candidate=7), "numbered from 0"),
    "a query of another round": (QUERIES, edit("query selection", round=2), "of round 2"),
    "more values than a query has": (QUERIES, edit("measurement", values=[1, 2]), "values on file"),
    "a query of another scale": (QUERIES, edit("measurement", scale=1.0), "noise of scale 1.0 on file"),
    "another number of rounds": (QUERIES, edit("records", rounds=1), "before its plan does"),
    "a run that says it stopped": (QUERIES, edit("records", stopped_early=True), "before its plan does"),
    "a batch of another round": ("fem", edit("records", round=2), "out of order"),
    "too many fallbacks": ("fem", edit("records", fallbacks=99), "fallbacks"),
    "a batch of halves": ("fem", edit("records", records=[[0.5]]), "damaged"),
    "a batch that does not fit": ("fem", edit("records", records=[[0, 9]] * 2), "do not fit plan"),
    "a selected query below 0": ("fem", edit("query selection", query=-1), "at least 0"),
    "a selected query that is none": ("fem", edit("query selection", query=7), "selects query 7"),
    "a negation that is none": ("fem", edit("query selection", negated=1), "negated"),
    "counts without elements": ("smalldb", edit("database", counts=[1] * 9), "elements"),
    "a database too large": ("smalldb", edit("database", elements=[0], counts=[4]), "has 4 records"),
    "an element that is none": ("smalldb", edit("database", elements=[99], counts=[3]), "element 99"),
    "elements out of order": ("smalldb", edit("database", elements=[1, 0], counts=[1, 2]), "increasing"),
}


@pytest.mark.parametrize("case", NOT_OF_THE_PLAN)
def test_what_does_not_fit_the_plan_is_refused_with_its_line(case: str, transcripts: dict[str, Entries]) -> None:
    name, change, message = NOT_OF_THE_PLAN[case]
    entries = copy.deepcopy(transcripts[name])
    change(entries)
    with pytest.raises(TranscriptError, match=rf"line \d+ of the transcript does not fit .*{message}"):
        read(name, entries)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (edit("records", records=[[9, 9]], multiplicity=[1]), "does not fit the schema"),
        (edit("records", multiplicity=[0]), "have shape"),
        (edit("records", multiplicity=["many"]), "damaged"),
        (edit("records", distance=2), "distribution"),
    ],
)
def test_records_of_no_distribution_are_refused(change: Change, message: str, transcripts: dict[str, Entries]) -> None:
    entries = copy.deepcopy(transcripts[QUERIES])
    change(entries)
    with pytest.raises(TranscriptError, match=message):
        read(QUERIES, entries)


def again(entries: Entries, *, given_up: int) -> Entries:
    """Return a run of one charge whose draw was torn and paid for once more."""
    place = of_kind(entries, "charge")
    return [*entries[: place + 1], TORN, {**entries[place], "given_up": given_up}]


def test_a_torn_draw_of_dualquery_is_paid_for_by_the_last_round_and_no_other(transcripts: dict[str, Entries]) -> None:
    whole = transcripts["dualquery"]
    assert read("dualquery", again(whole, given_up=3)) is None
    for other in (1, 2, 4):
        with pytest.raises(TranscriptError, match="is not the next of the plan"):
            read("dualquery", again(whole, given_up=other))
    unlost = [entry for entry in again(whole, given_up=3) if entry != TORN]
    with pytest.raises(TranscriptError, match="found 'charge'"):
        read("dualquery", unlost)
    outcome, _ = resumed("dualquery", again(whole, given_up=3))
    assert [charge.label for charge in outcome.ledger.entries] == ["round 1", "round 1", "round 2"]


def test_a_lost_selection_passes_over_its_measurement(transcripts: dict[str, Entries]) -> None:
    whole = transcripts["selected"]
    first = of_kind(whole, "selection")
    outcome, written = resumed("selected", [*whole[:first], TORN])
    assert [entry["charge"]["label"] for entry in written if entry["kind"] == "charge"] == [
        "selection of round 2",
        "round 2",
    ]
    assert outcome.sections["measured"]["lost_to_interruptions"] == 1
    with pytest.raises(TranscriptError, match="'round 1' is not the next of the plan"):
        read("selected", [*whole[:first], TORN, *whole[first + 1 :]])


def test_another_plan_has_another_reservation(transcripts: dict[str, Entries]) -> None:
    other: Job = dualquery_job(5)
    past = Past(JournalContents(transcripts["dualquery"], 0, torn=False))
    with pytest.raises(TranscriptError, match="the reservation is not that of plan.json"):
        rebuild_so_far(algorithm_of(other.plan), other, past)
