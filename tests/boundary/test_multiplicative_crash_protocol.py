"""Kills at every step of pmw and mwem: what may have been seen is charged, nothing is drawn twice, the budget holds.

As in `test_measured_crash_protocol`: a torn draw stays charged and is lost, and the run goes on without it.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from dpopt.accounting.charges import Charge
from dpopt.algorithms.multiplicative_weights import past as multiplicative_past
from dpopt.algorithms.options import MARGINALS, QUERIES
from dpopt.algorithms.replay import differing_files, replay
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import TranscriptError
from dpopt.private.curators.multiplicative_curator import MultiplicativeCurator
from dpopt.releases.job import Job
from dpopt.transcript.journal import read_journal
from tests.algorithms.multiplicative_runs import multiplicative_job, multiplicative_plan
from tests.boundary.test_crash_protocol import SCHEMA, World, go_on
from tests.boundary.test_measured_crash_protocol import cut_off

SELECT = pytest.mark.parametrize("select", [QUERIES, MARGINALS])


def make_job(select: str) -> Job:
    return multiplicative_job(multiplicative_plan(select=select), SCHEMA)


def labels_of(job: Job) -> list[str]:
    return [charge.label for charge in job.plan.charges()]


def label_of(entry: dict[str, Any]) -> str | None:
    """Return the label of the charge that a draw on file was paid with."""
    if entry["kind"] == "measurement":
        return str(entry["name"])
    is_selection = entry["kind"] in {"selection", "query selection"}
    return f"selection of round {entry['round']}" if is_selection else None


class MultiplicativeWorld(World):
    """Counts draws by the label of their charge, when they are paid for and when a byte of them is written."""

    @contextmanager
    def going(self) -> Iterator[None]:
        usual, world = MultiplicativeCurator._paid_once, self

        def counting(curator: MultiplicativeCurator, charge: Charge, *given: Any, **more: Any) -> Charge:
            paid = usual(curator, charge, *given, **more)
            world.drawn[charge.label] += 1  # type: ignore[index]
            return paid

        with World.going(self), mock.patch.object(MultiplicativeCurator, "_paid_once", counting):
            yield

    def _note(self, data: bytes) -> None:
        with suppress(ValueError):
            label = label_of(json.loads(data)["entry"])
            if label is not None:
                self.seen[label] += 1


def check(folder: Path, job: Job, made: SyntheticRelease, seen: Counter[str]) -> None:
    """Everything that was seen is charged, once; the total is within the budget; the release can be replayed."""
    charged = Counter(charge.label for charge in made.ledger.entries)
    assert not seen - charged, f"seen {seen}, charged {charged}"
    assert set(charged) <= set(labels_of(job))
    assert max(charged.values()) == 1
    assert job.plan.budget.covers(made.ledger.spent())
    assert made.ledger.is_private
    drawn = [one for one in read_journal(folder / "transcript.jsonl").entries if label_of(one) is not None]
    section = made.statement["multiplicative_weights"]
    unplayed = 2 * (section["rounds_planned"] - section["rounds_played"]) if section["stopped_early"] else 0
    assert section["lost_to_interruptions"] == len(charged) - len(drawn) - unplayed
    assert made.records.weights.sum() == pytest.approx(1)
    assert np.all((made.records.distinct >= 0) & (made.records.distinct < SCHEMA.sizes))
    target = folder.with_name("replayed")
    shutil.rmtree(target, ignore_errors=True)
    replay(folder, target)
    assert differing_files(folder, target) == []


def whole_run(folder: Path, job: Job) -> int:
    """Return how many steps a run has without a kill; each draw is made once."""
    world = MultiplicativeWorld()
    made = go_on(folder, job, world)
    assert made is not None
    check(folder, job, made, world.seen)
    assert [charge.label for charge in made.ledger.entries] == labels_of(job)
    assert world.drawn == dict.fromkeys(labels_of(job), 1)
    shutil.rmtree(folder)
    return world.step


@pytest.mark.parametrize("how", ["before", "within", "after"])
@SELECT
def test_a_kill_at_any_step_costs_nothing_that_is_not_charged(tmp_path: Path, how: str, select: str) -> None:
    job, folder, killed = make_job(select), tmp_path / "release", 0
    for kill_at in range(whole_run(folder, job)):
        shutil.rmtree(folder, ignore_errors=True)
        first, second = MultiplicativeWorld(kill_at, how), MultiplicativeWorld()
        if go_on(folder, job, first) is None and not (folder / "release.json").exists():
            killed += 1
            made = go_on(folder, job, second)
            assert made is not None
            check(folder, job, made, first.seen + second.seen)
            assert all(times == 1 for times in (first.seen + second.seen).values())
    assert killed > 2 * len(labels_of(job))


def test_a_run_that_forgets_torn_draws_does_not_pass_the_check(tmp_path: Path) -> None:
    """The check has teeth: without the mark of a torn draw it is made twice for one charge."""
    job, folder, caught = make_job(QUERIES), tmp_path / "release", 0
    with mock.patch.object(multiplicative_past, "_tear"):
        for kill_at in range(whole_run(folder, job)):
            shutil.rmtree(folder, ignore_errors=True)
            first, second = MultiplicativeWorld(kill_at, "within"), MultiplicativeWorld()
            if go_on(folder, job, first) is None and not (folder / "release.json").exists():
                made = go_on(folder, job, second)
                assert made is not None
                caught += bool((first.seen + second.seen) - Counter(c.label for c in made.ledger.entries))
    assert caught == len(labels_of(job))


@SELECT
def test_a_transcript_cut_off_anywhere_is_continued(tmp_path: Path, select: str) -> None:
    """After every entry, and within every line: at its first byte, in its middle, before its end."""
    job, whole = make_job(select), tmp_path / "whole"
    assert go_on(whole, job, MultiplicativeWorld()) is not None
    lines = (whole / "transcript.jsonl").read_bytes().splitlines(keepends=True)
    entries = [json.loads(text)["entry"] for text in lines]
    for number in range(len(lines) + 1):
        before, following = b"".join(lines[:number]), lines[number] if number < len(lines) else b""
        lengths = {0, 1, len(following) // 2, max(0, len(following) - 1)} if following else {0}
        for length in sorted(lengths):
            folder = cut_off(whole, tmp_path / "cut", before + following[:length])
            on_file = [label for entry in entries[:number] if (label := label_of(entry)) is not None]
            torn = label_of(entries[number]) if length else None
            world = MultiplicativeWorld()
            made = go_on(folder, job, world)
            assert made is not None
            after = (folder / "transcript.jsonl").read_bytes()
            assert after.startswith(before), "what is on file stays on file"
            assert not set(map(str, world.drawn)) & {*on_file, torn}, (
                "what may have been seen is not drawn again"
            )
            check(folder, job, made, Counter(on_file) + Counter([torn] if torn else []) + world.seen)
            skipped = {torn.removeprefix("selection of ")} if torn and "selection" in torn else set()
            assert set(map(str, world.drawn)) == set(labels_of(job)) - {*on_file, torn} - skipped
            if number == len(lines):
                assert differing_files(whole, folder) == []


def test_a_run_that_stopped_early_charges_all_that_it_could_have_played(tmp_path: Path) -> None:
    """With alpha 1 the first measurement ends the run; a transcript that says otherwise is refused."""
    job = multiplicative_job(multiplicative_plan("pmw", rounds=5, alpha=1.0), SCHEMA)
    folder = tmp_path / "release"
    made = go_on(folder, job, MultiplicativeWorld())
    assert made is not None
    assert [charge.label for charge in made.ledger.entries][:2] == ["selection of round 1", "round 1"]
    assert len(made.ledger.entries) == 10
    assert not made.ledger.unspent
    assert made.ledger.spent() == job.plan.budget.spent(job.plan.charges())
    section = made.statement["multiplicative_weights"]
    assert (section["rounds_played"], section["rounds_planned"], section["stopped_early"]) == (1, 5, True)
    check(folder, job, made, Counter())
    from tests.algorithms.test_measured_runs import line

    entries = [dict(one) for one in read_journal(folder / "transcript.jsonl").entries]
    entries[-2]["stopped_early"] = False
    (folder / "transcript.jsonl").write_text("".join(map(line, entries)), encoding="utf-8")
    with pytest.raises(TranscriptError, match="does not say that it stopped early"):
        replay(folder, tmp_path / "again")


EDITS: dict[str, tuple[int, dict[str, Any], str]] = {
    "a query that is none": (2, {"query": 7_000}, "numbered from 0"),
    "another round": (2, {"round": 2}, "does not fit"),
    "more values": (4, {"values": [1, 2]}, "values on file"),
    "another scale": (4, {"scale": 1.0}, "not measured as the plan says"),
    "records that do not fit the schema": (
        -2,
        {"records": [[9, 9]], "multiplicity": [1]},
        "does not fit the schema",
    ),
    "weights that are none": (-2, {"multiplicity": [0]}, "have shape"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_damaged_transcript_is_refused(tmp_path: Path, edit: str) -> None:
    from tests.algorithms.test_measured_runs import line

    place, change, message = EDITS[edit]
    job, folder = make_job(QUERIES), tmp_path / "release"
    assert go_on(folder, job, MultiplicativeWorld()) is not None
    entries = [dict(one) for one in read_journal(folder / "transcript.jsonl").entries]
    entries[place] |= change
    (folder / "transcript.jsonl").write_text("".join(map(line, entries)), encoding="utf-8")
    with pytest.raises(TranscriptError, match=message):
        replay(folder, tmp_path / "again")
