"""Kills at every step of runs that measure: what may have been seen is charged, nothing is drawn twice, the budget holds.

As in `test_crash_protocol`: what might have been seen is a draw of which at least one byte was written. Here nothing is ever
charged again: a torn draw is lost, and the run goes on without it.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant, total_rho
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.algorithms.measured import past as measured_past
from dpopt.algorithms.measured.plan import (
    ADAPTIVE,
    NOISE,
    PROJECTION,
    FitPlan,
    MeasuredPlan,
    PlannedMeasurement,
    PlannedSelections,
)
from dpopt.algorithms.release import resume
from dpopt.algorithms.release_folder import read_job
from dpopt.algorithms.replay import differing_files, replay
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import PlanError, TranscriptError
from dpopt.private.curators.measuring_curator import MeasuringCurator
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.job import Job
from dpopt.transcript.journal import read_journal
from tests.boundary.test_crash_protocol import SCHEMA, TABLE, World, go_on
from tests.tiny_runs import REPLACE, dataset_of

WORKLOAD = parse_workload("marginals:2", SCHEMA)
FIT = FitPlan(records=6, sweeps=1)


def make_job(algorithm: str) -> Job:
    """Return a job whose budget is exactly what its plan costs: one charge more would not fit."""
    one_way = tuple(PlannedMeasurement(f"marginal {a}", (a,), 2, 2.0) for a in range(2))
    everything = (PlannedMeasurement("workload", None, 2, 1.5),)
    plan = MeasuredPlan(
        algorithm=algorithm,
        size=len(TABLE),
        relation=REPLACE,
        budget=Budget(None, 1e-6, 1e9, Accountant.ZCDP),
        gaussian=True,
        measurements={NOISE: everything, PROJECTION: one_way + everything, ADAPTIVE: one_way}[algorithm],
        selections=PlannedSelections(2, Decimal("0.5"), 2.0, ("max", "l1"), 100)
        if algorithm == ADAPTIVE
        else None,
        fit=None if algorithm == NOISE else FIT,
    )
    exact = Budget(None, 1e-6, total_rho(plan.charges()), Accountant.ZCDP)
    return Job(replace(plan, budget=exact), SCHEMA, WORKLOAD, {"format": "csv", "rows": None}, {})


def labels_of(job: Job) -> list[str]:
    return [charge.label for charge in job.plan.charges()]


class MeasuredWorld(World):
    """Counts draws by the label of their charge, when they are made and when a byte of them is written."""

    @contextmanager
    def going(self) -> Iterator[None]:
        world = self

        def counting(name: str, place: int) -> Any:
            usual = getattr(MeasuringCurator, name)

            def method(curator: MeasuringCurator, *given: Any, **where: Any) -> Any:
                charge = given[place]
                assert isinstance(charge, Charge)
                world.drawn[charge.label] += 1  # type: ignore[index]
                return usual(curator, *given, **where)

            return mock.patch.object(MeasuringCurator, name, method)

        with World.going(self), counting("_noisy", 2), counting("_select", 1):
            yield

    def _note(self, data: bytes) -> None:
        with suppress(ValueError):
            entry = json.loads(data)["entry"]
            if label_of(entry) is not None:
                self.seen[str(label_of(entry))] += 1


def label_of(entry: dict[str, Any]) -> str | None:
    """Return the label of the charge that a draw on file was paid with."""
    if entry["kind"] == "measurement":
        return str(entry["name"])
    return f"selection of round {entry['round']}" if entry["kind"] == "selection" else None


def check(folder: Path, job: Job, made: SyntheticRelease, seen: Counter[str]) -> None:
    """Everything that was seen is charged, once; the total is within the budget; the release can be replayed."""
    charged = Counter(charge.label for charge in made.ledger.entries)
    assert not seen - charged, f"seen {seen}, charged {charged}"
    assert set(charged) <= set(labels_of(job))
    assert max(charged.values()) == 1
    assert job.plan.budget.covers(made.ledger.spent())
    assert made.ledger.is_private
    measured = made.statement["measured"]
    drawn = [
        entry for entry in read_journal(folder / "transcript.jsonl").entries if label_of(entry) is not None
    ]
    assert measured["measurements"] == sum(entry["kind"] == "measurement" for entry in drawn)
    assert measured["selected"] == sum(str(entry.get("name")).startswith("round") for entry in drawn)
    assert measured["lost_to_interruptions"] == len(charged) - len(drawn)
    if made.synthetic is not None:
        assert made.synthetic.weights.sum() == pytest.approx(1)
        assert np.all((made.synthetic.distinct >= 0) & (made.synthetic.distinct < SCHEMA.sizes))
    target = folder.with_name("replayed")
    shutil.rmtree(target, ignore_errors=True)
    replay(folder, target)
    assert differing_files(folder, target) == []


def whole_run(folder: Path, job: Job) -> int:
    """Return how many steps a run has without a kill; each draw is made once."""
    world = MeasuredWorld()
    made = go_on(folder, job, world)
    assert made is not None
    check(folder, job, made, world.seen)
    assert [charge.label for charge in made.ledger.entries] == labels_of(job)
    assert world.drawn == dict.fromkeys(labels_of(job), 1)
    shutil.rmtree(folder)
    return world.step


def lost_everything(job: Job, folder: Path) -> bool:
    """Return whether a release of answers has its only measurement torn: then there is nothing to release."""
    kinds = [entry["kind"] for entry in read_journal(folder / "transcript.jsonl").entries]
    return job.plan.algorithm == NOISE and "torn" in kinds and "measurement" not in kinds


def finish(folder: Path, job: Job, world: World) -> SyntheticRelease | None:
    """Continue a run to its end; None where all was lost, which the error must say."""
    try:
        made = go_on(folder, job, world)
    except PlanError as error:
        if "it stays charged, and there is nothing to release" in str(error) and lost_everything(job, folder):
            return None
        raise
    assert made is not None
    return made


@pytest.mark.parametrize("how", ["before", "within", "after"])
@pytest.mark.parametrize("algorithm", [NOISE, PROJECTION, ADAPTIVE])
def test_a_kill_at_any_step_costs_nothing_that_is_not_charged(
    tmp_path: Path, how: str, algorithm: str
) -> None:
    job = make_job(algorithm)
    folder = tmp_path / "release"
    killed = 0
    for kill_at in range(whole_run(folder, job)):
        shutil.rmtree(folder, ignore_errors=True)
        first, second = MeasuredWorld(kill_at, how), MeasuredWorld()
        if go_on(folder, job, first) is None and not (folder / "release.json").exists():
            killed += 1
            made = finish(folder, job, second)
            if made is not None:
                check(folder, job, made, first.seen + second.seen)
            assert all(times == 1 for times in (first.seen + second.seen).values())
    assert killed > 2 * len(labels_of(job))


def test_two_kills_cost_nothing_that_is_not_charged(tmp_path: Path) -> None:
    job = make_job(ADAPTIVE)
    folder = tmp_path / "release"
    steps = whole_run(folder, job)
    generator = np.random.default_rng(2)
    finished = 0
    for kill_at in range(8, steps, 3):
        shutil.rmtree(folder, ignore_errors=True)
        worlds = [MeasuredWorld(kill_at, str(generator.choice(["before", "within", "after"])))]
        if go_on(folder, job, worlds[0]) is not None:
            continue
        made = None
        for how in ("within", "after"):
            if (folder / "release.json").exists() or not (folder / "plan.json").exists():
                break
            worlds.append(MeasuredWorld(int(generator.integers(1, 12)), how))
            made = go_on(folder, job, worlds[-1])
        if made is None and not (folder / "release.json").exists():
            worlds.append(MeasuredWorld())
            made = finish_adaptive(folder, job, worlds[-1])
        if made is not None:
            finished += 1
            seen = sum((world.seen for world in worlds), Counter[str]())
            charged = Counter(charge.label for charge in made.ledger.entries)
            assert not seen - charged
            assert job.plan.budget.covers(made.ledger.spent())
    assert finished > 5


def finish_adaptive(folder: Path, job: Job, world: World) -> SyntheticRelease | None:
    """Continue to the end; None where every measurement was lost, which the error must say."""
    try:
        return go_on(folder, job, world)
    except PlanError as error:
        if "every measurement was lost in interruptions" in str(error):
            return None
        raise


def test_a_run_that_forgets_torn_draws_does_not_pass_the_check(tmp_path: Path) -> None:
    """The check has teeth: without the mark of a torn draw it is made twice for one charge."""
    job = make_job(ADAPTIVE)
    folder = tmp_path / "release"
    caught = 0
    with mock.patch.object(measured_past, "_tear"):
        for kill_at in range(whole_run(folder, job)):
            shutil.rmtree(folder, ignore_errors=True)
            first, second = MeasuredWorld(kill_at, "within"), MeasuredWorld()
            if go_on(folder, job, first) is None and not (folder / "release.json").exists():
                made = go_on(folder, job, second)
                assert made is not None
                caught += bool((first.seen + second.seen) - Counter(c.label for c in made.ledger.entries))
    assert caught == len(labels_of(job))


def transcript_of(tmp_path: Path, job: Job) -> tuple[Path, list[bytes]]:
    folder = tmp_path / "whole"
    assert go_on(folder, job, MeasuredWorld()) is not None
    return folder, (folder / "transcript.jsonl").read_bytes().splitlines(keepends=True)


def cut_off(whole: Path, folder: Path, data: bytes) -> Path:
    """Return a copy of a release folder that was interrupted when the transcript had come so far."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    for name in ("release.json", "synthetic.csv", "answers.csv"):
        (folder / name).unlink(missing_ok=True)
    (folder / "transcript.jsonl").write_bytes(data)
    return folder


@pytest.mark.parametrize("algorithm", [NOISE, PROJECTION, ADAPTIVE])
def test_a_transcript_cut_off_anywhere_is_continued(tmp_path: Path, algorithm: str) -> None:
    """After every entry, and within every line: at its first byte, in its middle, before its end."""
    job = make_job(algorithm)
    whole, lines = transcript_of(tmp_path, job)
    entries = [json.loads(text)["entry"] for text in lines]
    for number in range(len(lines) + 1):
        before = b"".join(lines[:number])
        next_line = lines[number] if number < len(lines) else b""
        for length in sorted({0, 1, len(next_line) // 2, max(0, len(next_line) - 1)} if next_line else {0}):
            folder = cut_off(whole, tmp_path / "cut", before + next_line[:length])
            on_file = [label for entry in entries[:number] if (label := label_of(entry)) is not None]
            torn = label_of(entries[number]) if length else None
            world = MeasuredWorld()
            made = finish(folder, job, world)
            after = (folder / "transcript.jsonl").read_bytes()
            assert after.startswith(before), "what is on file stays on file"
            assert not set(world.drawn) & {*on_file, torn}, "a draw that may have been seen is not made again"
            if made is None:
                continue
            check(folder, job, made, Counter(on_file) + Counter([torn] if torn else []) + world.seen)
            assert made.statement["measured"]["lost_to_interruptions"] == (torn is not None)
            skipped = {torn.removeprefix("selection of ")} if torn and "selection" in torn else set()
            assert set(map(str, world.drawn)) == set(labels_of(job)) - {*on_file, torn} - skipped


def test_a_charge_without_its_draw_pays_for_it(tmp_path: Path) -> None:
    job = make_job(ADAPTIVE)
    whole, lines = transcript_of(tmp_path, job)
    kinds = [json.loads(text)["entry"]["kind"] for text in lines]
    for number, kind in enumerate(kinds):
        if kind != "charge":
            continue
        folder = cut_off(whole, tmp_path / "cut", b"".join(lines[: number + 1]))
        world = MeasuredWorld()
        made = go_on(folder, job, world)
        assert made is not None
        assert [charge.label for charge in made.ledger.entries] == labels_of(job)
        assert all(times == 1 for times in world.drawn.values())
        entries = read_journal(folder / "transcript.jsonl").entries
        assert [entry["kind"] for entry in entries] == kinds


def test_fitted_records_on_file_are_taken_as_they_are(tmp_path: Path) -> None:
    """A run that was stopped after its fit fits nothing again, and gives the same release."""
    job = make_job(PROJECTION)
    whole, lines = transcript_of(tmp_path, job)
    folder = cut_off(whole, tmp_path / "cut", b"".join(lines[:-1]))
    with mock.patch("dpopt.algorithms.measured.fitting.fit", side_effect=AssertionError("fitted again")):
        assert go_on(folder, job, MeasuredWorld()) is not None
    assert differing_files(whole, folder) == []


def test_a_draw_on_file_that_does_not_fit_stops_the_run_before_anything_is_drawn(tmp_path: Path) -> None:
    from tests.algorithms.test_measured_runs import line

    job = make_job(ADAPTIVE)
    whole, lines = transcript_of(tmp_path, job)
    entries = [json.loads(text)["entry"] for text in lines]
    place = next(number for number, entry in enumerate(entries) if entry["kind"] == "selection")
    edited = [dict(entry) for entry in entries[: place + 1]]
    edited[place]["candidate"] = 7
    folder = cut_off(whole, tmp_path / "cut", "".join(map(line, edited)).encode())
    world = MeasuredWorld()
    with pytest.raises(TranscriptError, match="no candidate of this plan"):
        go_on(folder, job, world)
    edited = [dict(entry) for entry in entries[:3]]
    edited[2]["values"] = edited[2]["values"][:-1]
    folder = cut_off(whole, tmp_path / "cut", "".join(map(line, edited)).encode())
    with pytest.raises(TranscriptError, match="values on file"):
        go_on(folder, job, world)
    assert world.drawn == {}


def test_another_table_is_refused_when_a_run_goes_on(tmp_path: Path) -> None:
    from dpopt.errors import PrivateDataError

    job = make_job(PROJECTION)
    whole, lines = transcript_of(tmp_path, job)
    folder = cut_off(whole, tmp_path / "cut", b"".join(lines[:3]))
    with pytest.raises(PrivateDataError, match="has 3 records but the plan was made for n = 4"):
        resume(folder, dataset_of(SCHEMA, TABLE[:-1]), read_job(folder))
    assert (folder / "transcript.jsonl").read_bytes() == b"".join(lines[:3])
