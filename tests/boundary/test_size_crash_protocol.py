"""Kills at every step of a run whose number of records is measured first: charged before seen, and never drawn again unpaid."""

from __future__ import annotations

import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest

from dpopt.accounting.size import SIZE
from dpopt.algorithms.asked import Asked, Terms
from dpopt.algorithms.release import resume
from dpopt.algorithms.release_folder import read_begun
from dpopt.algorithms.replay import replay
from dpopt.algorithms.sized_release import release_asked, resume_asked
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import PlanError, TranscriptError
from dpopt.transcript.journal import read_journal
from tests.boundary.test_crash_protocol import Killed, World, close_files_in
from tests.tiny_runs import bits_schema, conjunctions, dataset_of

SCHEMA = bits_schema(2)
WORKLOAD = conjunctions(SCHEMA, "a", "b")
TABLE = tuple((place % 2, 1) for place in range(40))
SETTINGS = Terms.of(algorithm="noise", epsilon=1e3, delta=1e-6, predict=False)


def go_on(folder: Path, world: World) -> SyntheticRelease | None:
    """Begin or continue a run; None if it was killed."""
    dataset, asked = dataset_of(SCHEMA, TABLE), Asked(SETTINGS, SCHEMA, WORKLOAD)
    transcript = folder / "transcript.jsonl"
    try:
        with world.going():
            if not transcript.exists() or not transcript.stat().st_size:  # nothing was spent
                shutil.rmtree(folder, ignore_errors=True)
                return release_asked(dataset, asked, folder)
            begun = read_begun(folder)
            if isinstance(begun, Asked):
                return resume_asked(folder, dataset, begun)
            return resume(folder, dataset, begun)
    except Killed:
        close_files_in(folder)
        return None


def check(folder: Path, made: SyntheticRelease, values: int) -> None:
    """Every draw of the number that may have been seen is charged, within the budget; the folder replays byte for byte."""
    entries = read_journal(folder / "transcript.jsonl").entries
    assert [entry["kind"] for entry in entries if entry["kind"] != "torn"][:2] in (
        ["charge", "measurement"],
        ["charge", "charge"],
    )
    charged = Counter(charge.label.split(",")[0] for charge in made.ledger.entries)
    assert charged[SIZE] >= values
    assert made.job.plan.budget.covers(made.ledger.spent())
    on_file = [entry for entry in entries if str(entry.get("name", "")).startswith(SIZE)]
    assert len(on_file) == 1
    assert on_file[0]["values"] == [made.job.plan.size]
    assert not (folder / "request.json").exists()
    target = folder.with_name("replayed")
    shutil.rmtree(target, ignore_errors=True)
    replay(folder, target)
    written = {path.name: path.read_bytes() for path in target.iterdir()}
    assert written == {
        path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")
    }


@pytest.mark.parametrize("how", ["before", "within", "after"])
def test_a_kill_at_any_step_costs_nothing_that_is_not_charged(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "release"
    world = World()
    made = go_on(folder, world)
    assert made is not None
    check(folder, made, 1)
    torn = 0
    for kill_at in range(world.step):
        shutil.rmtree(folder, ignore_errors=True)
        first, second = World(kill_at, how), World()
        if go_on(folder, first) is None and not (folder / "release.json").exists():
            made = None
            with suppress(PlanError):  # the answers themselves were torn: nothing is left to release
                made = go_on(folder, second)
            if made is None:
                assert how == "within"
                continue
            values = 1
            if len(made.job.plan.budget.earlier) == 2:
                torn, values = torn + 1, 2
            check(folder, made, values)
    assert torn == (1 if how == "within" else 0)


def test_a_number_on_file_is_the_one_that_the_plan_is_made_with(tmp_path: Path) -> None:
    """Killed between the value and the plan, a run goes on with the value on file and draws no other."""
    folder = tmp_path / "release"
    with (
        mock.patch("dpopt.algorithms.sized_release.add_plan", side_effect=Killed),
        pytest.raises(Killed),
    ):
        release_asked(dataset_of(SCHEMA, TABLE), Asked(SETTINGS, SCHEMA, WORKLOAD), folder)
    (value,) = [
        entry["values"] for entry in read_journal(folder / "transcript.jsonl").entries if "values" in entry
    ]
    begun = read_begun(folder)
    assert isinstance(begun, Asked)
    assert begun == Asked(SETTINGS, SCHEMA, begun.workload)
    with mock.patch(
        "dpopt.releases.measured_size.CountingCurator", side_effect=AssertionError("drawn again")
    ):
        made = resume_asked(folder, dataset_of(SCHEMA, TABLE), begun)
    assert [made.job.plan.size] == value


@pytest.mark.parametrize("damage", ["another value", "no value", "another charge"])
def test_a_transcript_of_another_number_is_refused(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "release"
    release_asked(dataset_of(SCHEMA, TABLE), Asked(SETTINGS, SCHEMA, WORKLOAD), folder)
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
