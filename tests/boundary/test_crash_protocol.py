"""Kills at every step of a run: the ledger never understates, no draw is repeated unpaid, and the budget holds.

What might have been seen by someone is a draw of which at least one byte was written. A draw that was made and of which
nothing was written has not left the curator; the charge on file pays for making it again.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from dpopt.accounting.measurements import SIZE
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.measured.plan import PROJECTION
from dpopt.algorithms.options import SELECTED
from dpopt.algorithms.release_folder import read_begun, read_job
from dpopt.algorithms.replay import differing_files, load, replay
from dpopt.algorithms.request import ReleaseRequest
from dpopt.algorithms.run_release import resume_run, run_release
from dpopt.errors import PlanError, PrivateDataError, ReleaseFolderError, TranscriptError
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS
from dpopt.private.mechanisms.noise import OpendpNoise
from dpopt.releases.job import Job
from dpopt.releases.run import Sources
from dpopt.transcript.journal import line_of, read_journal
from tests.algorithms.multiplicative_runs import multiplicative_job, multiplicative_plan
from tests.crash_runs import (
    HOW,
    Killed,
    World,
    charged_of,
    check,
    cut_off,
    finish,
    go_on,
    kills_of,
    label_of,
    labels_of,
)
from tests.tiny_jobs import JOBS, SCHEMA, TABLE, asked_job, dualquery_job, measured_job, numbers_job
from tests.tiny_runs import dataset_of

NUMBERS = "dualquery, numbers within bins"
MEASURED_FIRST = "noise, number of records measured"
EVERY = pytest.mark.parametrize("name", JOBS)


class OtherNoise(OpendpNoise):
    """Noise of another type than the trusted one, as of tests and experiments."""


def begun_of(name: str) -> Job | ReleaseRequest:
    if name == NUMBERS:
        return numbers_job()
    return asked_job() if name == MEASURED_FIRST else JOBS[name]()


@pytest.mark.parametrize("name", [*JOBS, MEASURED_FIRST, NUMBERS])
def test_a_kill_at_any_step_costs_nothing_that_is_not_charged(tmp_path: Path, name: str) -> None:
    begun, folder = begun_of(name), tmp_path / "release"
    killed = again = 0
    for kill_at, how in kills_of(folder, begun):
        shutil.rmtree(folder, ignore_errors=True)
        first, second = World(kill_at, how), World()
        if go_on(folder, begun, first) is None and not (folder / "release.json").exists():
            killed += 1
            made = finish(folder, begun, second)
            seen = first.seen + second.seen
            if made is not None:
                check(folder, made, seen)
                again += sum(charged_of(made).values()) > len(charged_of(made))
                again += any(label.startswith(f"{SIZE}, draw 2") for label in charged_of(made))
            assert all(times == 1 for label, times in seen.items() if not _drawn_again(name, label))
    assert killed > 2 * len(first.drawn)
    assert again == {"dualquery": 2, NUMBERS: 2, MEASURED_FIRST: 1}.get(name.removesuffix(" with one-way marginals"), 0)


def _drawn_again(name: str, label: str) -> bool:
    """Return whether a torn draw of this label is made again, and charged again."""
    return name.startswith("dualquery") and label.startswith("round")


@pytest.mark.parametrize("name", ["dualquery", "fem", SELECTED, "mwem, marginals"])
def test_two_kills_at_any_steps_cost_nothing_that_is_not_charged(tmp_path: Path, name: str) -> None:
    begun, folder = begun_of(name), tmp_path / "release"
    kills = kills_of(folder, begun)
    steps = kills[-1][0] + 1
    generator = np.random.default_rng(1)
    finished = 0
    begin, times = (0, 3) if name == "dualquery" else (4, 1)
    for kill_at, how in (kill for kill in kills if kill[0] >= begin):
        shutil.rmtree(folder, ignore_errors=True)
        first = World(kill_at, how)
        if go_on(folder, begun, first) is not None or (folder / "release.json").exists():
            continue
        kept = shutil.copytree(folder, tmp_path / "kept")
        most = steps if name == "dualquery" else steps - kill_at
        for again in generator.integers(0, most, times).tolist():
            shutil.rmtree(folder)
            shutil.copytree(kept, folder)
            worlds = [first, World(again, str(generator.choice(HOW[1:])))]
            try:
                made = go_on(folder, begun, worlds[1])
            except PlanError:  # all was lost; `finish` says more of it
                continue
            if made is None and not (folder / "release.json").exists():
                worlds.append(World())
                made = finish(folder, begun, worlds[2])
            if made is not None:
                finished += 1
                check(folder, made, sum((world.seen for world in worlds), Counter[str]()))
        shutil.rmtree(kept)
    assert finished > 5


@EVERY
def test_a_run_that_forgets_torn_draws_does_not_pass_the_check(tmp_path: Path, name: str) -> None:
    """The check has teeth: without the mark of a torn draw it is made twice for one charge."""
    begun, folder, caught, drawn = begun_of(name), tmp_path / "release", 0, 0
    with mock.patch("dpopt.transcript.past.Past._is_torn", return_value=False):
        for kill_at, how in (kill for kill in kills_of(folder, begun) if kill[1] == "within"):
            shutil.rmtree(folder, ignore_errors=True)
            first, second = World(kill_at, how), World()
            if go_on(folder, begun, first) is None and not (folder / "release.json").exists():
                made = go_on(folder, begun, second)
                assert made is not None
                drawn = max(drawn, len(first.seen + second.seen))
                caught += bool((first.seen + second.seen) - charged_of(made))
    assert caught == drawn > 0


def whole_run(tmp_path: Path, begun: Job | ReleaseRequest) -> tuple[Path, list[bytes]]:
    """Return the folder of a finished run, and the lines of its transcript."""
    folder = tmp_path / "whole"
    assert go_on(folder, begun, World()) is not None
    return folder, (folder / "transcript.jsonl").read_bytes().splitlines(keepends=True)


@EVERY
def test_a_transcript_cut_off_anywhere_is_continued(tmp_path: Path, name: str) -> None:
    """After every entry, and within every line: at its first byte, and before its end; kills above write halves of lines."""
    begun = JOBS[name]()
    whole, lines = whole_run(tmp_path, begun)
    entries = [json.loads(text)["entry"] for text in lines]
    played = {label for entry in entries if (label := label_of(entry)) is not None}
    for number in range(len(lines) + 1):
        before, following = b"".join(lines[:number]), lines[number] if number < len(lines) else b""
        lengths = {0, 1, len(following) - 1} if following else {0}
        for length in sorted(lengths):
            folder = cut_off(whole, tmp_path / "cut", before + following[:length])
            on_file = [label for entry in entries[:number] if (label := label_of(entry)) is not None]
            torn = label_of(entries[number]) if length else None
            world = World()
            made = finish(folder, begun, world)
            after = (folder / "transcript.jsonl").read_bytes()
            assert after.startswith(before), "what is on file stays on file"
            assert not set(world.drawn) & set(on_file), "a draw on file is not made again"
            if made is None:
                continue
            check(folder, made, Counter(on_file) + Counter([torn] if torn else []) + world.seen)
            if isinstance(begun.plan, DualQueryPlan):
                lost = torn is not None and torn.startswith("round")
                assert len(made.played) == 3 - lost
                continue
            assert torn not in world.drawn, "what may have been seen is not drawn again"
            if begun.plan.algorithm != "pmw":
                skipped = {torn.removeprefix("selection of ")} if torn and "selection" in torn else set()
                skipped = set() if name == "fem" else skipped
                assert set(world.drawn) == played - {*on_file, torn} - skipped
            if number == len(lines):
                assert differing_files(whole, folder) == []


@EVERY
def test_a_charge_without_its_draw_pays_for_it(tmp_path: Path, name: str) -> None:
    begun = JOBS[name]()
    whole, lines = whole_run(tmp_path, begun)
    kinds = [json.loads(text)["entry"]["kind"] for text in lines]
    for number, kind in enumerate(kinds):
        if kind != "charge":
            continue
        folder = cut_off(whole, tmp_path / "cut", b"".join(lines[: number + 1]))
        world = World()
        made = go_on(folder, begun, world)
        assert made is not None
        assert sorted(charged_of(made)) == sorted(labels_of(begun))
        assert all(times == 1 for times in world.drawn.values())
        assert [entry["kind"] for entry in read_journal(folder / "transcript.jsonl").entries] == kinds


@EVERY
def test_another_table_is_refused_when_a_run_goes_on(tmp_path: Path, name: str) -> None:
    whole, lines = whole_run(tmp_path, JOBS[name]())
    folder = cut_off(whole, tmp_path / "cut", b"".join(lines[:2]))
    with pytest.raises(PrivateDataError, match="has 3 records but the plan was made for n = 4"):
        resume_run(folder, dataset_of(SCHEMA, TABLE[:-1]), read_job(folder))
    assert (folder / "transcript.jsonl").read_bytes() == b"".join(lines[:2])


@pytest.mark.parametrize(("kind", "change"), [("selection", {"candidate": 7}), ("measurement", {"values": [1]})])
def test_a_draw_on_file_that_does_not_fit_stops_the_run_before_anything_is_drawn(
    tmp_path: Path, kind: str, change: dict[str, Any]
) -> None:
    job = measured_job(SELECTED)
    whole, lines = whole_run(tmp_path, job)
    entries = [json.loads(text)["entry"] for text in lines]
    place = next(number for number, entry in enumerate(entries) if entry["kind"] == kind)
    edited = [*entries[:place], {**entries[place], **change}]
    folder = cut_off(whole, tmp_path / "cut", b"".join(map(line_of, edited)))
    world = World()
    with pytest.raises(TranscriptError, match="numbered from 0|values on file"):
        go_on(folder, job, world)
    assert world.drawn == {}


def test_fitted_records_on_file_are_taken_as_they_are(tmp_path: Path) -> None:
    """A run that was stopped after its fit fits nothing again, and gives the same release."""
    job = measured_job(PROJECTION)
    whole, lines = whole_run(tmp_path, job)
    folder = cut_off(whole, tmp_path / "cut", b"".join(lines[:-1]))
    with mock.patch("dpopt.algorithms.measured.fitting.fit", side_effect=AssertionError("fitted again")):
        assert go_on(folder, job, World()) is not None
    assert differing_files(whole, folder) == []


def test_a_run_that_stopped_early_charges_all_that_it_could_have_played(tmp_path: Path) -> None:
    """With alpha 1 the first measurement ends the run; a transcript that says otherwise is refused."""
    job = multiplicative_job(multiplicative_plan("pmw", rounds=5, alpha=1.0), SCHEMA)
    folder = tmp_path / "release"
    made = go_on(folder, job, World())
    assert made is not None
    assert [charge.label for charge in made.ledger.entries][:2] == ["selection of round 1", "round 1"]
    assert len(made.ledger.entries) == 10
    assert not made.ledger.unspent
    assert made.ledger.spent() == job.plan.budget.spent(job.plan.charges())
    section = made.statement["multiplicative_weights"]
    assert (section["rounds_played"], section["rounds_planned"], section["stopped_early"]) == (1, 5, True)
    check(folder, made, Counter())
    entries = [dict(one) for one in read_journal(folder / "transcript.jsonl").entries]
    entries[-2]["stopped_early"] = False
    (folder / "transcript.jsonl").write_bytes(b"".join(map(line_of, entries)))
    with pytest.raises(TranscriptError, match="does not say that it stopped early"):
        replay(folder, tmp_path / "again")


@pytest.mark.parametrize("seeded", [False, True])
def test_a_number_on_file_is_the_one_that_the_plan_is_made_with(tmp_path: Path, *, seeded: bool) -> None:
    """Killed between the value and the plan, a run goes on with the value on file and draws no other.

    Where the number was drawn from noise that is not trusted, the ledger of the resumed run still says that it is not private.
    """
    folder, sources = tmp_path / "release", Sources(noise=OtherNoise()) if seeded else Sources()
    with mock.patch("dpopt.algorithms.run_release.add_plan", side_effect=Killed), pytest.raises(Killed):
        run_release(dataset_of(SCHEMA, TABLE), asked_job(), folder, sources=sources)
    (value,) = [entry["values"] for entry in read_journal(folder / "transcript.jsonl").entries if "values" in entry]
    begun = read_begun(folder)
    assert isinstance(begun, ReleaseRequest)
    mark = NOT_PRIVATE_DRAWS if seeded else None
    assert begun == replace(asked_job(), workload=begun.workload, not_private=mark)
    with mock.patch("dpopt.releases.measured_size.CountingCurator", side_effect=AssertionError("drawn again")):
        made = resume_run(folder, dataset_of(SCHEMA, TABLE), begun)
    assert [made.job.plan.size] == value
    assert made.ledger.is_private is not seeded
    assert made.job.statement.get("not_private") == mark


@pytest.mark.parametrize("damage", ["another value", "no value", "another charge"])
def test_a_transcript_of_another_number_is_refused(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "release"
    run_release(dataset_of(SCHEMA, TABLE), asked_job(), folder)
    plan = folder / "plan.json"
    text = plan.read_text()
    size = f'"size": {read_begun(folder).plan.size}'  # type: ignore[union-attr]
    assert size in text
    if damage == "another value":
        plan.write_text(text.replace(size, '"size": 77'))
    else:
        lines = (folder / "transcript.jsonl").read_bytes().splitlines(keepends=True)
        kept = lines[:1] + lines[2:] if damage == "no value" else lines[1:]
        (folder / "transcript.jsonl").write_bytes(b"".join(kept))
    with pytest.raises(TranscriptError):
        replay(folder, tmp_path / "again")


def test_a_torn_draw_is_charged_twice_and_the_last_round_given_up(tmp_path: Path) -> None:
    job = dualquery_job(3)
    whole, lines = whole_run(tmp_path, job)
    folder = cut_off(whole, tmp_path / "cut", b"".join(lines[:5]) + lines[5][:9])
    made = go_on(folder, job, World())
    assert made is not None
    assert [charge.label for charge in made.ledger.entries] == ["round 1", "round 2", "round 2"]
    assert len(made.played) == 2
    entries = read_journal(folder / "transcript.jsonl").entries
    assert [entry["kind"] for entry in entries[4:8]] == ["charge", "torn", "charge", "draw"]
    assert entries[6]["given_up"] == 3


def test_a_torn_draw_of_the_last_round_is_lost(tmp_path: Path) -> None:
    job = dualquery_job(3)
    whole, lines = whole_run(tmp_path, job)
    folder = cut_off(whole, tmp_path / "cut", b"".join(lines[:8]) + lines[8][:9])
    world = World()
    made = go_on(folder, job, world)
    assert made is not None
    assert world.drawn == {}
    assert [charge.label for charge in made.ledger.entries] == ["round 1", "round 2", "round 3"]
    assert len(made.played) == 2


def test_each_further_torn_draw_costs_a_further_round(tmp_path: Path) -> None:
    """Round 1 torn, its repetition torn too, then the repetition of that: rounds 5 and 4 are given up."""
    job = dualquery_job(5)
    whole, lines = whole_run(tmp_path, job)
    folder = cut_off(whole, tmp_path / "cut", b"".join(lines[:2]) + lines[2][:4])
    assert go_on(folder, job, World()) is not None
    again = (folder / "transcript.jsonl").read_bytes().splitlines(keepends=True)
    assert [json.loads(text)["entry"]["kind"] for text in again[:5]] == ["reserve", "charge", "torn", "charge", "draw"]
    cut_off(whole, folder, b"".join(again[:4]) + again[4][:4])
    made = go_on(folder, job, World())
    assert made is not None
    assert [charge.label for charge in made.ledger.entries] == [f"round {number}" for number in (1, 1, 1, 2, 3)]
    given_up = [entry.get("given_up") for entry in read_journal(folder / "transcript.jsonl").entries]
    assert [number for number in given_up if number is not None] == [5, 4]


def test_a_torn_measurement_is_lost_and_not_made_again(tmp_path: Path) -> None:
    job = dualquery_job(3, one_way=True)
    whole, lines = whole_run(tmp_path, job)
    assert json.loads(lines[2])["entry"]["kind"] == "measurement"
    folder = cut_off(whole, tmp_path / "cut", b"".join(lines[:2]) + lines[2][:9])
    world = World()
    made = go_on(folder, job, world)
    assert made is not None
    assert world.seen["one-way marginals"] == 0
    assert len(made.played) == 3


def test_a_run_that_lost_its_only_round_says_so(tmp_path: Path) -> None:
    job = dualquery_job(1)
    whole, lines = whole_run(tmp_path, job)
    folder = cut_off(whole, tmp_path / "cut", b"".join(lines[:2]) + lines[2][:9])
    with pytest.raises(PlanError, match="without a single record"):
        go_on(folder, job, World())


def test_a_finished_run_is_not_resumed(tmp_path: Path) -> None:
    folder, _ = whole_run(tmp_path, dualquery_job(2))
    with pytest.raises(ReleaseFolderError, match="there is nothing to resume"):
        resume_run(folder, dataset_of(SCHEMA, TABLE), read_job(folder))


def test_a_run_whose_transcript_is_gone_is_not_begun_again(tmp_path: Path) -> None:
    """It may have drawn; without the transcript nobody can tell."""
    job = dualquery_job(2)
    whole, _ = whole_run(tmp_path, job)
    folder = cut_off(whole, tmp_path / "cut", b"")
    (folder / "transcript.jsonl").unlink()
    with pytest.raises(TranscriptError, match="there is no transcript.jsonl to continue"):
        resume_run(folder, dataset_of(SCHEMA, TABLE), read_job(folder))


def test_a_damaged_line_stops_a_resumed_run_before_anything_is_drawn(tmp_path: Path) -> None:
    job = dualquery_job(3)
    whole, lines = whole_run(tmp_path, job)
    broken = lines[2].replace(b'"round":1', b'"round":2')
    folder = cut_off(whole, tmp_path / "cut", b"".join([*lines[:2], broken, *lines[3:5]]))
    world = World()
    with pytest.raises(TranscriptError, match="line 3 of transcript.jsonl is damaged"):
        go_on(folder, job, world)
    assert world.drawn == {}


def test_a_full_disk_keeps_what_was_drawn(tmp_path: Path) -> None:
    """Every write may be the one that fails; after making room the run goes on."""
    job = dualquery_job(2)
    write = os.write
    for number in range(8):
        folder = tmp_path / f"release{number}"
        calls = itertools.count()

        def full(file: int, data: bytes, n: int = number, calls: Iterator[int] = calls) -> int:
            if next(calls) >= n:
                raise OSError(28, "No space left on device")
            return write(file, data)

        first = World()
        with mock.patch("os.write", full), pytest.raises(ReleaseFolderError, match="What was drawn so far is kept"):
            run_release(dataset_of(SCHEMA, TABLE), job, folder)
        second = World()
        made = go_on(folder, job, second)
        assert made is not None
        check(folder, made, first.seen + second.seen)
        assert len(made.played) == 2


MANY = 150
CHILD = """
import sys
from pathlib import Path
from tests.tiny_jobs import SCHEMA, TABLE, dualquery_job
from tests.tiny_runs import dataset_of
from dpopt.algorithms.run_release import resume_run, run_release
from dpopt.algorithms.release_folder import read_job

folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
dataset = dataset_of(SCHEMA, TABLE)
if (folder / "plan.json").exists():
    resume_run(folder, dataset, read_job(folder))
else:
    run_release(dataset, dualquery_job(rounds), folder)
"""


def kill_when_it_has_come_so_far(folder: Path, lines: int, checkout: Path) -> bool:
    """Begin or continue a run in a process of its own; kill it at some instant after so many lines. False: it had ended."""
    path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(checkout)])  # of two copies of dpopt the tested one
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), str(MANY)], env={**os.environ, "PYTHONPATH": path}
    )
    transcript = folder / "transcript.jsonl"
    while process.poll() is None and (not transcript.exists() or transcript.read_bytes().count(b"\n") < lines):
        time.sleep(0.001)
    time.sleep(0.003 * (lines % 7))
    process.send_signal(signal.SIGKILL)
    process.wait()
    return not (folder / "release.json").exists()


@pytest.mark.slow
def test_runs_that_are_really_killed_go_on_to_a_release_within_the_budget(tmp_path: Path, checkout: Path) -> None:
    """kill -9 at three instants of a run; each time it goes on, the last time to its end."""
    folder = tmp_path / "release"
    kills = 0
    for attempt in range(3):  # again, should a run on a busy machine have ended before it was killed
        shutil.rmtree(folder, ignore_errors=True)
        kills = 0
        for lines in (8 + attempt, 120, 241):
            if not kill_when_it_has_come_so_far(folder, lines, checkout):
                break
            kills += 1
        if kills > 1:
            break
    assert kills > 1
    if not (folder / "release.json").exists():
        resume_run(folder, dataset_of(SCHEMA, TABLE), read_job(folder))
    made = load(folder)
    entries = read_journal(folder / "transcript.jsonl").entries
    drawn = Counter(f"round {entry['round']}" for entry in entries if entry["kind"] == "draw")
    check(folder, made, drawn)
    assert max(drawn.values()) == 1
