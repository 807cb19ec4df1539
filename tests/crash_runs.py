"""Runs that are killed at a chosen step and go on, for every algorithm, and what must hold of them in the end."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

import pandas as pd

from dpopt.accounting.measurements import SIZE
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.release_folder import read_begun
from dpopt.algorithms.replay import differing_files, replay
from dpopt.algorithms.request import ReleaseRequest
from dpopt.algorithms.run_release import resume_run, run_release
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import PlanError
from dpopt.private.curators.door import Door
from dpopt.private.readers.read_table import read_table
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.releases.job import Job
from dpopt.schema.schema import Schema
from dpopt.transcript.journal import read_journal
from tests.tiny_jobs import NUMBERS, SCHEMA, TABLE
from tests.tiny_runs import dataset_of

T = TypeVar("T")
HOW = ("before", "within", "after")
NOTHING_LEFT = ("nothing to release", "without a single record", "interruptions lost every measurement")
"""What a run says that lost all of its draws to kills."""


class Killed(BaseException):
    """Stands for a kill: nothing in dpopt may catch it."""


@dataclass
class World:
    """Counts what is drawn and what is written, by the label of the charge, and kills at one chosen step.

    Steps are the calls of os.write and the renames of files, in their order. A kill at a write comes before it, after a part of
    it, or after all of it. (A kill at a flush finds what a kill after the write before it finds.) Without a kill, and with a
    folder to watch, `kills` becomes the list of kills that leave different files behind.
    """

    kill_at: int | None = None
    how: str = "before"
    step: int = 0
    watched: Path | None = None
    kills: list[tuple[int, str]] = field(default_factory=list)
    drawn: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    _left: object = None

    @contextmanager
    def going(self) -> Iterator[None]:
        """Count, and kill, while the body runs."""
        write, move, released = os.write, Path.replace, Door._released
        world = self

        def counting(door: Any, value: Any, entry: dict[str, Any]) -> Any:
            world.drawn[value.charge.label] += 1
            return released(door, value, entry)

        def writing(file: int, data: bytes) -> int:
            def part(length: int) -> int:
                if length:
                    world._note(data)
                return write(file, data[:length])

            return world._step(lambda: part(len(data)), lambda: part(len(data) // 2))

        def moving(path: Path, target: Path) -> Path:
            return world._step(lambda: move(path, target), None)

        with (
            mock.patch("os.write", writing),
            mock.patch.object(Path, "replace", moving),
            mock.patch.object(Door, "_released", counting),
            mock.patch("dpopt.algorithms.release_folder.withdraw"),  # a killed process takes nothing back
            mock.patch("dpopt.algorithms.run_release.withdraw"),
        ):
            yield

    def _note(self, data: bytes) -> None:
        with suppress(ValueError):
            label = label_of(json.loads(data)["entry"])
            if label is not None:
                self.seen[label] += 1

    def _step(self, whole: Callable[[], T], half: Callable[[], object] | None) -> T:
        number, self.step = self.step, self.step + 1
        if number == self.kill_at:
            if self.how == "after":
                whole()
            elif self.how == "within" and half is not None:
                half()
            raise Killed
        before = self._files()
        done = whole()
        after = self._files()
        different = (before != self._left, half is not None, after != before)
        self.kills += [(number, how) for how, one in zip(HOW, different, strict=True) if one]
        self._left = after
        return done

    def _files(self) -> object:
        """Return names, sizes and identities of all files in the folder that is watched."""
        every = [] if self.watched is None else sorted(self.watched.rglob("*"))
        return [(path, (found := path.lstat()).st_size, found.st_ino) for path in every]


def label_of(entry: dict[str, Any]) -> str | None:
    """Return the label of the charge that a draw on file was paid with; None for other entries."""
    kind = entry["kind"]
    if kind == "measurement":
        return str(entry["name"])
    if kind == "draw":
        return f"round {entry['round']}"
    if kind in {"selection", "query selection", "database"}:
        return f"selection of round {entry.get('round', 1)}"
    return None


def labels_of(job: Job) -> list[str]:
    """Return the labels of a job's charges."""
    return [charge.label for charge in job.charges()]


def charged_of(made: SyntheticRelease) -> Counter[str]:
    """Return how often each label was charged."""
    return Counter(charge.label for charge in made.ledger.entries)


def table_of(schema: Schema) -> PrivateDataset:
    """Return the table of a schema: the tiny one, or one with numbers, which are read from it."""
    if schema.attributes == SCHEMA.attributes:
        return dataset_of(SCHEMA, TABLE)
    return read_table(pd.DataFrame(NUMBERS), schema)


def go_on(folder: Path, begun: Job | ReleaseRequest, world: World) -> SyntheticRelease | None:
    """Begin or continue a run; None if it was killed."""
    dataset, transcript = table_of(begun.schema), folder / "transcript.jsonl"
    planned = (folder / "plan.json").exists() or (folder / "request.json").exists()
    try:
        with world.going():
            if not planned:  # killed before anything could be spent
                assert not transcript.exists() or not transcript.stat().st_size
                shutil.rmtree(folder, ignore_errors=True)
                return run_release(dataset, begun, folder)
            return resume_run(folder, dataset, read_begun(folder))
    except Killed:
        close_files_in(folder)
        return None


def finish(folder: Path, begun: Job | ReleaseRequest, world: World) -> SyntheticRelease | None:
    """Continue a run to its end; None where all that it drew was lost, which the error must say."""
    try:
        made = go_on(folder, begun, world)
    except PlanError as error:
        kinds = [entry["kind"] for entry in read_journal(folder / "transcript.jsonl").entries]
        if any(said in str(error) for said in NOTHING_LEFT) and "torn" in kinds:
            return None
        raise
    assert made is not None
    return made


def close_files_in(folder: Path) -> None:
    """Close what a killed process would no longer hold open, and with it the journal's lock."""
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if descriptor.readlink().is_relative_to(folder):
                os.close(int(descriptor.name))


def cut_off(whole: Path, folder: Path, data: bytes) -> Path:
    """Return a copy of a release folder that was interrupted when the transcript had come so far."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    for name in ("release.json", "synthetic.csv", "answers.csv"):
        (folder / name).unlink(missing_ok=True)
    (folder / "transcript.jsonl").write_bytes(data)
    return folder


def check(folder: Path, made: SyntheticRelease, seen: Counter[str]) -> None:
    """Everything that was seen is charged, the total is within the reserved budget, and the release can be replayed.

    Nothing is charged twice, but the rounds of DualQuery and the number of records, which are drawn again.
    """
    job, charged = made.job, charged_of(made)
    assert not seen - charged, f"seen {seen}, charged {charged}"
    assert job.plan.budget.covers(made.ledger.spent())
    assert made.ledger.is_private
    assert {label for label in charged if not label.startswith(SIZE)} <= set(labels_of(job))
    entries = read_journal(folder / "transcript.jsonl").entries
    drawn = [label for entry in entries if (label := label_of(entry)) is not None]
    if job.values is not None:
        torn = {label for label in charged if label.startswith("numbers within bins")} - set(drawn)
        assert set(made.statement["values"]["lost_to_interruptions"]) == torn
        assert ("lost_because" in made.statement["values"]) == bool(torn)
    if isinstance(job.plan, DualQueryPlan):
        lost, repeated = job.plan.rounds - len(made.played), sum(charged.values()) - len(charged)
        assert [done.sampled.round for done in made.played] == list(range(1, len(made.played) + 1))
        assert lost in {repeated, repeated + 1}
    else:
        assert max(charged.values()) == 1
        said = [value["lost_to_interruptions"] for value in made.statement.values() if _says_lost(value)]
        unplayed = len(set(charged) - {label_of_charge(entry) for entry in entries})
        earlier = len(job.plan.budget.earlier) - any(label.startswith(SIZE) for label in drawn)
        for number in said:
            assert number == len(charged) - len(drawn) - unplayed - earlier
    target = folder.with_name("replayed")
    shutil.rmtree(target, ignore_errors=True)
    replay(folder, target)
    assert differing_files(folder, target) == []
    left = {path.name for path in folder.iterdir()} - {path.name for path in target.iterdir()}
    assert all(name.startswith(".") for name in left)


def label_of_charge(entry: dict[str, Any]) -> str | None:
    """Return the label of a charge on file; None for other entries."""
    return str(entry["charge"]["label"]) if entry["kind"] == "charge" else None


def _says_lost(section: object) -> bool:
    return isinstance(section, dict) and "lost_to_interruptions" in section


def kills_of(folder: Path, begun: Job | ReleaseRequest) -> list[tuple[int, str]]:
    """Return the kills of a run that leave different files behind; without one each draw is made once."""
    world = World(watched=folder.parent)
    made = go_on(folder, begun, world)
    assert made is not None
    check(folder, made, world.seen)
    assert world.drawn == world.seen
    assert max(world.drawn.values()) == 1
    shutil.rmtree(folder)
    return world.kills
