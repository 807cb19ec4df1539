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
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant, total_rho
from dpopt.accounting.ledger import Budget
from dpopt.algorithms.dualquery.plan import DualQueryPlan, OneWayMeasurement, dualquery_plan
from dpopt.algorithms.release import release, resume
from dpopt.algorithms.release_folder import read_job
from dpopt.algorithms.replay import load, replay
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import PlanError, ReleaseFolderError, TranscriptError
from dpopt.private.selections.query_weights import ExactSampler, QueryWeights
from dpopt.releases.job import Job
from dpopt.releases.plan import FreeAttributes
from dpopt.transcript.journal import read_journal
from tests.tiny_runs import REPLACE, Table, bits_schema, conjunctions, dataset_of

SCHEMA = bits_schema(2)
WORKLOAD = conjunctions(SCHEMA, "a", "!a b", "b")
TABLE: Table = ((0, 1), (1, 1), (1, 0), (0, 1))


def make_job(rounds: int, *, one_way: bool = False) -> Job:
    """Return a job whose budget is exactly what its plan costs: one charge more would not fit."""
    plan = DualQueryPlan(
        rounds=rounds,
        draws=2,
        step=Decimal("0.5"),
        size=len(TABLE),
        relation=REPLACE,
        budget=Budget(None, 1e-6, 1e9, Accountant.ZCDP),
        attributes=2,
        free_attributes=FreeAttributes.ESTIMATED if one_way else FreeAttributes.RANDOM,
        one_way=OneWayMeasurement(3.0, gaussian=True) if one_way else None,
        work=5,
    )
    exact = Budget(None, 1e-6, total_rho(plan.charges()), Accountant.ZCDP)
    return Job(replace(plan, budget=exact), SCHEMA, WORKLOAD, {"format": "csv", "rows": None}, {})


class Killed(BaseException):
    """Stands for a kill: nothing in dpopt may catch it."""


@dataclass
class World:
    """Counts what is drawn and what is written, and kills at one chosen step.

    Steps are the calls of os.write and os.fsync and the renames of files, in their order. A kill at a write comes before it,
    after a part of it, or after all of it.
    """

    kill_at: int | None = None
    how: str = "before"
    step: int = 0
    drawn: Counter[int] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def going(self) -> Iterator[None]:
        write, move = os.write, Path.replace
        world = self

        class Counting(ExactSampler):
            def draw(self, weights: QueryWeights, draws: int) -> NDArray[np.int64]:
                world.drawn[weights.observed + 1] += 1
                return super().draw(weights, draws)

        def writing(file: int, data: bytes) -> int:
            def part(length: int) -> int:
                if length:
                    world._note(data)
                return write(file, data[:length])

            world._step(
                {
                    "before": lambda: None,
                    "within": lambda: part(len(data) // 2),
                    "after": lambda: part(len(data)),
                }
            )
            return part(len(data))

        def moving(path: Path, target: Path) -> Path:
            world._step({"before": lambda: None, "within": lambda: None, "after": lambda: move(path, target)})
            return move(path, target)

        def flushing(file: int) -> None:
            world._step(dict.fromkeys(("before", "within", "after"), lambda: None))

        with (
            mock.patch("os.write", writing),
            mock.patch("os.fsync", flushing),
            mock.patch.object(Path, "replace", moving),
            mock.patch("dpopt.private.curators.dualquery_curator.ExactSampler", Counting),
            mock.patch("dpopt.private.curators.door.ExactSampler", Counting),
        ):
            yield

    def _note(self, data: bytes) -> None:
        with suppress(ValueError):
            entry = json.loads(data)["entry"]
            if entry["kind"] in {"draw", "measurement"}:
                self.seen[
                    "one-way marginals" if entry["kind"] == "measurement" else f"round {entry['round']}"
                ] += 1

    def _step(self, at: dict[str, object]) -> None:
        self.step += 1
        if self.step - 1 == self.kill_at:
            at[self.how]()  # type: ignore[operator]
            raise Killed


def go_on(folder: Path, job: Job, world: World) -> SyntheticRelease | None:
    """Begin or continue a run; None if it was killed."""
    dataset = dataset_of(SCHEMA, TABLE)
    try:
        with world.going():
            if not (folder / "plan.json").exists():  # killed before anything could be spent
                assert (
                    not (folder / "transcript.jsonl").exists()
                    or not (folder / "transcript.jsonl").stat().st_size
                )
                shutil.rmtree(folder, ignore_errors=True)
                return release(dataset, job, folder)
            return resume(folder, dataset, read_job(folder))
    except Killed:
        close_files_in(folder)
        return None


def close_files_in(folder: Path) -> None:
    """Close what a killed process would no longer hold open, and with it the journal's lock."""
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if descriptor.readlink().is_relative_to(folder):
                os.close(int(descriptor.name))


def check(folder: Path, job: Job, made: SyntheticRelease, seen: Counter[str]) -> None:
    """Everything that was seen is charged, the total is within the reserved budget, and the release can be replayed."""
    charged = Counter(charge.label for charge in made.ledger.entries)
    assert not seen - charged, f"seen {seen}, charged {charged}"
    assert job.plan.budget.covers(made.ledger.spent())
    assert made.ledger.is_private
    lost = dualquery_plan(job.plan).rounds - len(made.rounds)
    repeated = sum(charged.values()) - len(charged)
    assert [done.sampled.round for done in made.rounds] == list(range(1, len(made.rounds) + 1))
    assert lost in {repeated, repeated + 1}
    target = folder.with_name("replayed")
    shutil.rmtree(target, ignore_errors=True)
    replay(folder, target)
    written = {path.name: path.read_bytes() for path in target.iterdir()}
    assert written == {
        path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")
    }


def kill_steps(folder: Path, job: Job) -> int:
    """Return how many steps a run has without a kill."""
    world = World()
    made = go_on(folder, job, world)
    assert made is not None
    check(folder, job, made, world.seen)
    assert world.drawn == dict.fromkeys(range(1, dualquery_plan(job.plan).rounds + 1), 1)
    shutil.rmtree(folder)
    return world.step


@pytest.mark.parametrize("how", ["before", "within", "after"])
@pytest.mark.parametrize("one_way", [False, True])
def test_a_kill_at_any_step_costs_nothing_that_is_not_charged(
    tmp_path: Path, how: str, one_way: bool
) -> None:
    job = make_job(3, one_way=one_way)
    folder = tmp_path / "release"
    for kill_at in range(kill_steps(folder, job)):
        shutil.rmtree(folder, ignore_errors=True)
        first, second = World(kill_at, how), World()
        if go_on(folder, job, first) is None and not (folder / "release.json").exists():
            made = go_on(folder, job, second)
            assert made is not None
            check(folder, job, made, first.seen + second.seen)


def test_two_kills_at_any_steps_cost_nothing_that_is_not_charged(tmp_path: Path) -> None:
    job = make_job(3)
    folder = tmp_path / "release"
    steps = kill_steps(folder, job)
    generator = np.random.default_rng(1)
    for kill_at, how in itertools.product(range(steps), ("before", "within", "after")):
        shutil.rmtree(folder, ignore_errors=True)
        worlds = [World(kill_at, how)]
        if go_on(folder, job, worlds[0]) is not None or (folder / "release.json").exists():
            continue
        kept = shutil.copytree(folder, tmp_path / "kept", dirs_exist_ok=False)
        for again in generator.integers(0, steps, 3).tolist():
            shutil.rmtree(folder)
            shutil.copytree(kept, folder)
            later = [World(again, str(generator.choice(["before", "within", "after"]))), World()]
            made = go_on(folder, job, later[0])
            if made is None and not (folder / "release.json").exists():
                made = go_on(folder, job, later[1])
            if made is not None:
                check(folder, job, made, worlds[0].seen + later[0].seen + later[1].seen)
        shutil.rmtree(kept)


def test_a_run_that_forgets_torn_draws_does_not_pass_the_check(tmp_path: Path) -> None:
    """The check has teeth: without the mark of a torn draw it is made twice for one charge."""
    job = make_job(3)
    folder = tmp_path / "release"
    caught = 0
    with mock.patch("dpopt.transcript.past.Past._is_torn", return_value=False):
        for kill_at in range(kill_steps(folder, job)):
            shutil.rmtree(folder, ignore_errors=True)
            first, second = World(kill_at, "within"), World()
            if go_on(folder, job, first) is None and not (folder / "release.json").exists():
                with suppress(TranscriptError):
                    made = go_on(folder, job, second)
                    assert made is not None
                    charged = Counter(charge.label for charge in made.ledger.entries)
                    caught += bool((first.seen + second.seen) - charged)
    assert caught == 3


def transcript_of(tmp_path: Path, job: Job) -> tuple[Path, list[bytes]]:
    folder = tmp_path / "whole"
    release(dataset_of(SCHEMA, TABLE), job, folder)
    return folder, (folder / "transcript.jsonl").read_bytes().splitlines(keepends=True)


def cut_off(whole: Path, folder: Path, data: bytes) -> Path:
    """Return a copy of a release folder that was interrupted when the transcript had come so far."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    for name in ("release.json", "synthetic.csv"):
        (folder / name).unlink()
    (folder / "transcript.jsonl").write_bytes(data)
    return folder


@pytest.mark.parametrize("one_way", [False, True])
def test_a_transcript_cut_off_anywhere_is_continued(tmp_path: Path, one_way: bool) -> None:
    """After every entry, and within every line: at its first byte, in its middle, before its end."""
    job = make_job(3, one_way=one_way)
    whole, lines = transcript_of(tmp_path, job)
    kinds = [json.loads(text)["entry"] for text in lines]
    for number in range(len(lines) + 1):
        before = b"".join(lines[:number])
        next_line = lines[number] if number < len(lines) else b""
        for length in sorted({0, 1, len(next_line) // 2, max(0, len(next_line) - 1)} if next_line else {0}):
            folder = cut_off(whole, tmp_path / "cut", before + next_line[:length])
            on_file = [entry for entry in kinds[:number] if entry["kind"] in {"draw", "measurement"}]
            torn = [kinds[number]] if length and kinds[number]["kind"] in {"draw", "measurement"} else []
            seen = Counter(
                f"round {entry['round']}" if entry["kind"] == "draw" else "one-way marginals"
                for entry in on_file + torn
            )
            world = World()
            made = go_on(folder, job, world)
            assert made is not None
            check(folder, job, made, seen + world.seen)
            after = (folder / "transcript.jsonl").read_bytes()
            assert after.startswith(before), "what is on file stays on file"
            for entry in on_file:
                if entry["kind"] == "draw":
                    assert world.drawn[entry["round"]] == 0, "a draw on file is not drawn again"
            given_up = sum(entry["kind"] == "draw" for entry in torn)
            assert len(made.rounds) == 3 - given_up


def test_a_charge_without_its_draw_pays_for_it(tmp_path: Path) -> None:
    job = make_job(3)
    whole, lines = transcript_of(tmp_path, job)
    folder = cut_off(whole, tmp_path / "cut", b"".join(lines[:5]))  # reserve, round 1, the charge of round 2
    world = World()
    made = go_on(folder, job, world)
    assert made is not None
    assert world.drawn == {2: 1, 3: 1}
    assert [charge.label for charge in made.ledger.entries] == ["round 1", "round 2", "round 3"]
    assert [entry["kind"] for entry in read_journal(folder / "transcript.jsonl").entries[4:7]] == [
        "charge",
        "draw",
        "record",
    ]


def test_a_torn_draw_is_charged_twice_and_the_last_round_given_up(tmp_path: Path) -> None:
    job = make_job(3)
    whole, lines = transcript_of(tmp_path, job)
    folder = cut_off(whole, tmp_path / "cut", b"".join(lines[:5]) + lines[5][:9])
    made = go_on(folder, job, World())
    assert made is not None
    assert [charge.label for charge in made.ledger.entries] == ["round 1", "round 2", "round 2"]
    assert len(made.rounds) == 2
    entries = read_journal(folder / "transcript.jsonl").entries
    assert [entry["kind"] for entry in entries[4:8]] == ["charge", "torn", "charge", "draw"]
    assert entries[6]["given_up"] == 3


def test_a_torn_draw_of_the_last_round_is_lost(tmp_path: Path) -> None:
    job = make_job(3)
    whole, lines = transcript_of(tmp_path, job)
    folder = cut_off(whole, tmp_path / "cut", b"".join(lines[:8]) + lines[8][:9])
    world = World()
    made = go_on(folder, job, world)
    assert made is not None
    assert world.drawn == {}
    assert [charge.label for charge in made.ledger.entries] == ["round 1", "round 2", "round 3"]
    assert len(made.rounds) == 2


def test_each_further_torn_draw_costs_a_further_round(tmp_path: Path) -> None:
    """Round 1 torn, its repetition torn too, then the repetition of that: rounds 5 and 4 are given up."""
    job = make_job(5)
    whole, lines = transcript_of(tmp_path, job)
    folder = cut_off(whole, tmp_path / "cut", b"".join(lines[:2]) + lines[2][:4])
    assert go_on(folder, job, World()) is not None
    again = (folder / "transcript.jsonl").read_bytes().splitlines(keepends=True)
    assert [json.loads(text)["entry"]["kind"] for text in again[:5]] == [
        "reserve",
        "charge",
        "torn",
        "charge",
        "draw",
    ]
    cut_off(whole, folder, b"".join(again[:4]) + again[4][:4])
    made = go_on(folder, job, World())
    assert made is not None
    assert [charge.label for charge in made.ledger.entries] == [
        f"round {number}" for number in (1, 1, 1, 2, 3)
    ]
    given_up = [entry.get("given_up") for entry in read_journal(folder / "transcript.jsonl").entries]
    assert [number for number in given_up if number is not None] == [5, 4]


def test_a_torn_measurement_is_lost_and_not_made_again(tmp_path: Path) -> None:
    job = make_job(3, one_way=True)
    whole, lines = transcript_of(tmp_path, job)
    assert json.loads(lines[2])["entry"]["kind"] == "measurement"
    folder = cut_off(whole, tmp_path / "cut", b"".join(lines[:2]) + lines[2][:9])
    world = World()
    made = go_on(folder, job, world)
    assert made is not None
    assert world.seen["one-way marginals"] == 0
    assert len(made.rounds) == 3


def test_a_run_that_lost_its_only_round_says_so(tmp_path: Path) -> None:
    job = make_job(1)
    whole, lines = transcript_of(tmp_path, job)
    folder = cut_off(whole, tmp_path / "cut", b"".join(lines[:2]) + lines[2][:9])
    with pytest.raises(PlanError, match="without a single record"):
        go_on(folder, job, World())


def test_a_finished_run_is_not_resumed(tmp_path: Path) -> None:
    folder, _ = transcript_of(tmp_path, make_job(2))
    with pytest.raises(ReleaseFolderError, match="there is nothing to resume"):
        resume(folder, dataset_of(SCHEMA, TABLE), read_job(folder))


def test_a_run_whose_transcript_is_gone_is_not_begun_again(tmp_path: Path) -> None:
    """It may have drawn; without the transcript nobody can tell."""
    job = make_job(2)
    whole, _ = transcript_of(tmp_path, job)
    folder = cut_off(whole, tmp_path / "cut", b"")
    (folder / "transcript.jsonl").unlink()
    with pytest.raises(TranscriptError, match="there is no transcript.jsonl to continue"):
        resume(folder, dataset_of(SCHEMA, TABLE), read_job(folder))


def test_a_damaged_line_stops_a_resumed_run_before_anything_is_drawn(tmp_path: Path) -> None:
    job = make_job(3)
    whole, lines = transcript_of(tmp_path, job)
    broken = lines[2].replace(b'"round":1', b'"round":2')
    folder = cut_off(whole, tmp_path / "cut", b"".join([*lines[:2], broken, *lines[3:5]]))
    world = World()
    with pytest.raises(TranscriptError, match="line 3 of transcript.jsonl is damaged"):
        go_on(folder, job, world)
    assert world.drawn == {}


def test_a_full_disk_keeps_what_was_drawn(tmp_path: Path) -> None:
    """Every write may be the one that fails; after making room the run goes on."""
    job = make_job(2)
    write = os.write
    for number in range(8):
        folder = tmp_path / f"release{number}"
        calls = itertools.count()

        def full(file: int, data: bytes, n: int = number, calls: Iterator[int] = calls) -> int:
            if next(calls) >= n:
                raise OSError(28, "No space left on device")
            return write(file, data)

        first = World()
        with (
            mock.patch("os.write", full),
            pytest.raises(ReleaseFolderError, match="What was drawn so far is kept"),
        ):
            release(dataset_of(SCHEMA, TABLE), job, folder)
        second = World()
        made = go_on(folder, job, second)
        assert made is not None
        check(folder, job, made, first.seen + second.seen)
        assert len(made.rounds) == 2


MANY = 150
CHILD = """
import sys
from pathlib import Path
from tests.boundary.test_crash_protocol import SCHEMA, TABLE, make_job
from tests.tiny_runs import dataset_of
from dpopt.algorithms.release import release, resume
from dpopt.algorithms.release_folder import read_job

folder, rounds = Path(sys.argv[1]), int(sys.argv[2])
dataset = dataset_of(SCHEMA, TABLE)
if (folder / "plan.json").exists():
    resume(folder, dataset, read_job(folder))
else:
    release(dataset, make_job(rounds), folder)
"""


def kill_when_it_has_come_so_far(folder: Path, lines: int, checkout: Path) -> bool:
    """Begin or continue a run in a process of its own; kill it at some instant after so many lines. False: it had ended."""
    path = os.pathsep.join([str(checkout), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), str(MANY)], env={**os.environ, "PYTHONPATH": path}
    )
    transcript = folder / "transcript.jsonl"
    while process.poll() is None and (
        not transcript.exists() or transcript.read_bytes().count(b"\n") < lines
    ):
        time.sleep(0.001)
    time.sleep(0.003 * (lines % 7))
    process.send_signal(signal.SIGKILL)
    process.wait()
    return not (folder / "release.json").exists()


@pytest.mark.slow
def test_runs_that_are_really_killed_go_on_to_a_release_within_the_budget(
    tmp_path: Path, checkout: Path
) -> None:
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
        resume(folder, dataset_of(SCHEMA, TABLE), read_job(folder))
    made = load(folder)
    entries = read_journal(folder / "transcript.jsonl").entries
    drawn = Counter(f"round {entry['round']}" for entry in entries if entry["kind"] == "draw")
    check(folder, make_job(MANY), made, drawn)
    assert max(drawn.values()) == 1
