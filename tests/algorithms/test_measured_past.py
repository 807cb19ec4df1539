"""What a transcript may hold, entry by entry: everything out of the order of the plan is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from dpopt.algorithms.dualquery.past import reservation
from dpopt.algorithms.measured.driver import answered_on_file
from dpopt.algorithms.measured.past import MeasuredPast, place_in_plan, read_measured_past
from dpopt.algorithms.measured.plan import ADAPTIVE, NOISE, PROJECTION, MeasuredPlan
from dpopt.algorithms.release import release
from dpopt.errors import TranscriptError
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.releases.outcome import Sources
from dpopt.transcript.journal import JournalContents, read_journal
from dpopt.transcript.released import NoisyAnswers, SelectedMarginal
from tests.algorithms.measured_runs import measured_job
from tests.algorithms.small_runs import dataset, workload

Entries = list[dict[str, Any]]
JOBS = {algorithm: measured_job(algorithm) for algorithm in (NOISE, PROJECTION, ADAPTIVE)}


@pytest.fixture(scope="module")
def transcripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Entries]:
    found = {}
    for algorithm, job in JOBS.items():
        folder = tmp_path_factory.mktemp(algorithm) / "release"
        release(dataset(), job, folder, sources=Sources(words=SeededWords(1)))
        found[algorithm] = read_journal(folder / "transcript.jsonl").entries
    return found


def plan_of(algorithm: str) -> MeasuredPlan:
    plan = JOBS[algorithm].plan
    assert isinstance(plan, MeasuredPlan)
    return plan


def reserved_of(algorithm: str, entries: Entries) -> dict[str, Any]:
    """Return the reservation of a job; a run with seeded draws says so in its statement, and so in its inputs."""
    return {**reservation(JOBS[algorithm]), "inputs": entries[0].get("inputs") if entries else None}


def read(algorithm: str, entries: Entries, *, torn: bool = False, reserved: Any = None) -> MeasuredPast:
    return read_measured_past(
        JournalContents(entries, 0, torn=torn),
        plan_of(algorithm),
        reserved or reserved_of(algorithm, entries),
    )


@pytest.mark.parametrize("algorithm", JOBS)
def test_a_finished_run_is_read_in_the_order_of_its_plan(
    algorithm: str, transcripts: dict[str, Entries]
) -> None:
    past = read(algorithm, transcripts[algorithm])
    assert past.started
    assert past.finished
    assert (past.records is not None) == (algorithm != NOISE)
    assert tuple(known.charge for known in past.draws) == plan_of(algorithm).charges()
    kinds = [SelectedMarginal if "selection" in known.charge.label else NoisyAnswers for known in past.draws]
    assert [type(known.value) for known in past.draws] == kinds
    answered = answered_on_file(plan_of(algorithm), workload(), past)
    assert [one.answers.name for one in answered] == [
        known.charge.label for known in past.draws if "selection" not in known.charge.label
    ]


@pytest.mark.parametrize("algorithm", JOBS)
def test_every_beginning_of_a_run_is_read(algorithm: str, transcripts: dict[str, Entries]) -> None:
    whole = transcripts[algorithm]
    for number in range(len(whole)):
        past = read(algorithm, whole[:number], reserved=reserved_of(algorithm, whole))
        assert past.started == (number > 0)
        assert not past.finished
        kinds = [entry["kind"] for entry in whole[:number]]
        assert len(past.draws) == kinds.count("charge") == place_in_plan(past.draws, plan_of(algorithm))
        assert sum(known.value is not None for known in past.draws) == kinds.count(
            "measurement"
        ) + kinds.count("selection")
        assert not any(known.torn for known in past.draws)


@pytest.mark.parametrize("algorithm", JOBS)
def test_a_torn_line_loses_the_open_draw_and_nothing_else(
    algorithm: str, transcripts: dict[str, Entries]
) -> None:
    """Whether it was noticed by the reader of the file or is on file as a mark of an earlier interruption."""
    whole = transcripts[algorithm]
    for number in range(1, len(whole)):
        open_draw = whole[number - 1]["kind"] == "charge"
        by_reader = read(algorithm, whole[:number], torn=True)
        by_mark = read(algorithm, [*whole[:number], {"kind": "torn"}])
        for past in (by_reader, by_mark):
            assert [known.torn for known in past.draws] == [
                open_draw and known is past.draws[-1] for known in past.draws
            ]


def test_a_torn_line_before_the_reservation_is_no_matter(transcripts: dict[str, Entries]) -> None:
    reserved = transcripts[NOISE][0]
    assert not read(NOISE, [], torn=True, reserved=reserved).started
    assert read(NOISE, [{"kind": "torn"}, reserved], reserved=reserved).started


def test_a_lost_selection_passes_over_its_measurement(transcripts: dict[str, Entries]) -> None:
    whole, plan = transcripts[ADAPTIVE], plan_of(ADAPTIVE)
    first = next(place for place, entry in enumerate(whole) if entry["kind"] == "selection")
    lost = [
        *whole[:first],
        {"kind": "torn"},
        *whole[first + 3 :],
    ]  # without the selection and the measurement of its round
    past = read(ADAPTIVE, lost)
    assert past.finished
    assert len(past.draws) == len(plan.charges()) - 1
    assert [known.charge.label for known in past.draws if known.torn] == ["selection of round 1"]
    names = [one.answers.name for one in answered_on_file(plan, workload(), past)]
    assert names == [f"marginal {a}" for a in range(4)] + ["round 2", "round 3"]
    unpaid = [*whole[:first], {"kind": "torn"}, *whole[first + 1 :]]
    with pytest.raises(TranscriptError, match="'round 1' is not the next of the plan"):
        read(ADAPTIVE, unpaid)


def of_kind(entries: Entries, kind: str, number: int = 0) -> int:
    return [place for place, entry in enumerate(entries) if entry["kind"] == kind][number]


def swap(entries: Entries, one: int, two: int) -> None:
    entries[one], entries[two] = entries[two], entries[one]


def edit(entries: Entries, kind: str, number: int = 0, **changes: object) -> None:
    entries[of_kind(entries, kind, number)].update(changes)


def exchanged(entries: Entries) -> None:
    """A selection where a measurement was charged."""
    chosen = entries[of_kind(entries, "selection")]
    entries[of_kind(entries, "measurement", -1)] = dict(chosen, round=3)


def disguised(entries: Entries) -> None:
    """A measurement, named like it, where a selection was charged."""
    measured = entries[of_kind(entries, "measurement", -1)]
    entries[of_kind(entries, "selection", 0)] = dict(measured, name="selection of round 1")


Change = Callable[[Entries], object]
OUT_OF_ORDER: dict[str, tuple[Change, str]] = {
    "no reservation": (lambda e: e.pop(0), "nothing was reserved"),
    "two reservations": (lambda e: e.insert(1, e[0]), "the reservation is not that of plan.json"),
    "a late second reservation": (lambda e: e.insert(9, e[0]), "the reservation is not that of plan.json"),
    "a cheaper reservation": (lambda e: e[0]["charges"].pop(), "the reservation is not that of plan.json"),
    "a charge left out": (lambda e: e.pop(1), "a draw without its charge"),
    "a draw left out": (lambda e: e.pop(2), "is not the next of the plan"),
    "a draw twice": (lambda e: e.insert(3, e[2]), "a draw without its charge"),
    "a charge twice": (lambda e: e.insert(2, e[1]), "is not the next of the plan"),
    "two charges exchanged": (lambda e: swap(e, 1, 3), "is not the next of the plan"),
    "a draw before its charge": (lambda e: swap(e, 1, 2), "a draw without its charge"),
    "a draw after a torn line": (lambda e: e.insert(2, {"kind": "torn"}), "a draw without its charge"),
    "a cheaper charge": (lambda e: e[1]["charge"].update(parameter=1e-9), "is not the next of the plan"),
    "a charge of another relation": (
        lambda e: e[1]["charge"].update(relation="add-remove"),
        "is not the next of the plan",
    ),
    "a charge that is none": (lambda e: e[1].update(charge={}), "line 2 of transcript.jsonl does not fit"),
    "a charge without a charge": (lambda e: e[1].pop("charge"), "line 2 of transcript.jsonl does not fit"),
    "values of another name": (
        lambda e: edit(e, "measurement", name="age"),
        "'age' was measured, 'marginal 0'",
    ),
    "values of another scale": (lambda e: edit(e, "measurement", scale=0.5), "noise of scale 0.5 on file"),
    "values of another law": (
        lambda e: edit(e, "measurement", noise="discrete Laplace"),
        "discrete Laplace noise of scale",
    ),
    "no values": (lambda e: e[of_kind(e, "measurement")].pop("values"), "line 3 of transcript.jsonl"),
    "values in words": (lambda e: edit(e, "measurement", values=["many"]), "must be whole numbers"),
    "values that are no list": (lambda e: edit(e, "measurement", values=7), "must be one-dimensional"),
    "a scale that is none": (lambda e: edit(e, "measurement", scale="x"), "line 3 of transcript.jsonl"),
    "a selection of another round": (lambda e: edit(e, "selection", round=2), "round 2 selected a marginal"),
    "a selection of no round": (lambda e: edit(e, "selection", round=0), "rounds are numbered from 1"),
    "a negative selection": (lambda e: edit(e, "selection", candidate=-1), "candidates are numbered from 0"),
    "half a selection": (lambda e: edit(e, "selection", candidate=0.5), "candidates are numbered from 0"),
    "no selection": (lambda e: e[of_kind(e, "selection")].pop("candidate"), "does not fit what precedes"),
    "a selection for a measurement": (exchanged, "round 3 selected a marginal, 'round 3' was charged"),
    "a measurement for a selection": (disguised, "'selection of round 1' was charged"),
    "records too early": (
        lambda e: e.insert(5, e[of_kind(e, "records")]),
        "the run ends before its plan does",
    ),
    "records twice": (
        lambda e: e.insert(of_kind(e, "records"), e[of_kind(e, "records")]),
        "records were fitted before",
    ),
    "an end too early": (lambda e: e.insert(5, {"kind": "finish"}), "the run ends before its plan does"),
    "an end with an open draw": (
        lambda e: e.__delitem__(of_kind(e, "measurement", -1)),
        "ends before its plan",
    ),
    "entries after the end": (lambda e: e.append({"kind": "torn"}), "the run had ended"),
    "two ends": (lambda e: e.append({"kind": "finish"}), "the run had ended"),
    "an unknown kind": (lambda e: e.insert(3, {"kind": "surprise"}), "unknown kind 'surprise'"),
    "no kind": (lambda e: e.insert(3, {}), "line 4 of transcript.jsonl does not fit what precedes it"),
    "a draw of DualQuery": (
        lambda e: e.insert(3, {"kind": "draw", "round": 1, "queries": [0], "counts": [1]}),
        "unknown kind 'draw'",
    ),
}


@pytest.mark.parametrize("name", OUT_OF_ORDER)
def test_what_does_not_fit_the_plan_is_refused(name: str, transcripts: dict[str, Entries]) -> None:
    change, message = OUT_OF_ORDER[name]
    entries = copy.deepcopy(transcripts[ADAPTIVE])
    reserved = copy.deepcopy(entries[0])
    change(entries)
    with pytest.raises(TranscriptError, match=message):
        read(ADAPTIVE, entries, reserved=reserved)


def test_changed_inputs_are_refused(transcripts: dict[str, Entries]) -> None:
    reserved = {**transcripts[NOISE][0], "inputs": "0" * 64}
    with pytest.raises(TranscriptError, match=r"plan.json, schema.json or workload.json changed"):
        read(NOISE, transcripts[NOISE], reserved=reserved)


NOT_OF_THE_PLAN: dict[str, tuple[Change, str]] = {
    "a candidate that does not exist": (
        lambda e: edit(e, "selection", candidate=6),
        "round 1 selects marginal 6, which is no candidate of this plan",
    ),
    "a candidate far away": (lambda e: edit(e, "selection", candidate=2**70), "no candidate of this plan"),
    "too few values": (
        lambda e: e[of_kind(e, "measurement")]["values"].pop(),
        "'marginal 0' has 2 values on file, its queries are 3",
    ),
    "too many values": (
        lambda e: e[of_kind(e, "measurement", -1)]["values"].append(1),
        "'round 3' has .* values on file",
    ),
}


@pytest.mark.parametrize("name", NOT_OF_THE_PLAN)
def test_what_does_not_fit_the_workload_is_refused(name: str, transcripts: dict[str, Entries]) -> None:
    change, message = NOT_OF_THE_PLAN[name]
    entries = copy.deepcopy(transcripts[ADAPTIVE])
    change(entries)
    past = read(ADAPTIVE, entries)
    with pytest.raises(TranscriptError, match=message):
        answered_on_file(plan_of(ADAPTIVE), workload(), past)
