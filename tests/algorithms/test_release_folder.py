from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dpopt.algorithms import release_folder
from dpopt.algorithms.release_folder import create_folder, read_job
from dpopt.algorithms.replay import load
from dpopt.algorithms.run_release import resume_run, run_release
from dpopt.errors import (
    BudgetError,
    DpoptError,
    PlanError,
    PrivateDataError,
    ReleaseFolderError,
    SolverUnavailableError,
    WorkloadError,
)
from dpopt.releases.folder_files import (
    TRANSCRIPT,
    check_empty,
    make_empty,
    missing_folders,
    read_json,
    withdraw,
    write_json,
)
from dpopt.releases.job import Job
from dpopt.releases.run import Sources
from dpopt.schema.schema import Schema
from dpopt.transcript.journal import FileJournal
from tests.algorithms.small_runs import AMPLE, SCHEMA, dataset, job, plan, seeded, small_release, workload


class Usage(NamedTuple):
    """What `shutil.disk_usage` returns."""

    total: int
    used: int
    free: int


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished release folder; copy it before changing it."""
    folder = tmp_path_factory.mktemp("finished") / "release"
    small_release(folder)
    return folder


def test_a_new_folder_holds_the_public_inputs_and_an_empty_transcript(tmp_path: Path) -> None:
    folder, made = tmp_path / "deep" / "release", job(output={"format": "parquet", "rows": 9})
    create_folder(folder, made, expected_bytes=1).close()
    names = {path.name for path in folder.iterdir()}
    assert names == {"plan.json", "schema.json", "workload.json", "transcript.jsonl"}
    assert (folder / "transcript.jsonl").read_bytes() == b""
    again = read_job(folder)
    assert (again.plan, again.schema) == (made.plan, made.schema)
    assert again.workload.fingerprint == made.workload.fingerprint
    assert (again.output, again.statement) == (made.output, made.statement)


def test_a_folder_that_holds_something_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for refused in (
        lambda: create_folder(tmp_path, job(), expected_bytes=1),
        lambda: make_empty(tmp_path),
        lambda: check_empty(tmp_path),
    ):
        with pytest.raises(ReleaseFolderError, match="is not empty. Choose a new folder$"):
            refused()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_an_interrupted_run_in_the_folder_is_pointed_out(tmp_path: Path, finished: Path) -> None:
    begun = shutil.copytree(finished, tmp_path / "begun")
    (begun / "release.json").unlink()
    with pytest.raises(ReleaseFolderError, match="or continue the run in it with 'dpopt resume"):
        make_empty(begun)
    with pytest.raises(ReleaseFolderError, match="is not empty. Choose a new folder$"):
        make_empty(finished)


@pytest.mark.parametrize("inside", [False, True])
def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path, inside: bool) -> None:
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "release" if inside else tmp_path / "file"
    for refused in (check_empty, make_empty, lambda folder: create_folder(folder, job(), expected_bytes=1)):
        with pytest.raises(ReleaseFolderError, match="cannot make .* Choose a folder that can be written"):
            refused(place)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_must_not_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests may run as root, who may write everywhere: the question to the operating system is answered here."""
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    with pytest.raises(ReleaseFolderError, match="cannot make .*: Permission denied"):
        create_folder(tmp_path / "release", job(), expected_bytes=1)
    assert list(tmp_path.iterdir()) == []


def test_too_little_room_is_refused_with_both_numbers_and_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def usage(place: Path) -> Usage:
        asked.append(place)
        return Usage(10**9, 0, 1_500_000)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    with pytest.raises(ReleaseFolderError, match="has 1.5 MB free, the release needs about 2.5 MB"):
        create_folder(tmp_path / "deep" / "release", job(), expected_bytes=2_500_000)
    assert asked == [tmp_path]
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_tells_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def usage(place: Path) -> Usage:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(shutil, "disk_usage", usage)
    with pytest.raises(ReleaseFolderError, match="the free space of .* Input/output error"):
        create_folder(tmp_path / "release", job(), expected_bytes=1)


@pytest.mark.parametrize("existed", [False, True])
def test_a_disk_that_fills_while_the_inputs_are_written_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existed: bool
) -> None:
    folder = tmp_path / "deep" / "release"
    if existed:
        folder.mkdir(parents=True)
    calls = 0

    def full(path: Path, obj: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise OSError(28, "No space left on device")
        write_json(path, obj)

    monkeypatch.setattr(release_folder, "write_json", full)
    with pytest.raises(ReleaseFolderError, match="No space left on device. Nothing has been spent"):
        create_folder(folder, job(), expected_bytes=1)
    assert folder.exists() == existed
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert (tmp_path / "deep").exists() == existed


def test_two_runs_that_begin_in_one_folder_at_once_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one passes the first checks before the first one has written anything."""
    first = create_folder(tmp_path / "release", job(), expected_bytes=1)
    before = {path.name: path.read_bytes() for path in (tmp_path / "release").iterdir()}
    monkeypatch.setattr(release_folder, "check_empty", lambda folder: None)
    monkeypatch.setattr(release_folder, "make_empty", lambda folder: None)
    for ended in (False, True):
        if ended:
            first.close()
        with pytest.raises(ReleaseFolderError, match="transcript.jsonl exists already"):
            create_folder(tmp_path / "release", job(rounds=3), expected_bytes=1)
    assert {path.name: path.read_bytes() for path in (tmp_path / "release").iterdir()} == before


def test_only_folders_that_were_made_are_removed_again(tmp_path: Path) -> None:
    folder = tmp_path / "one" / "two"
    made = missing_folders(folder)
    assert made == [folder, tmp_path / "one"]
    create_folder(folder, job(), expected_bytes=1).close()
    (tmp_path / "one" / "kept").write_text("")
    withdraw(folder, made)
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["kept"]


REFUSED: dict[str, tuple[dict[str, Any], type[DpoptError], str]] = {
    "a plan over its budget": ({"budget": replace(AMPLE, epsilon=1e-6)}, BudgetError, "the plan costs"),
    "another size than the table's": ({"size": 199}, PrivateDataError, "the table has 200 records"),
    "a solver that there is none of": ({"solver": "simplex"}, SolverUnavailableError, "no solver 'simplex'"),
    "a step that the sampler cannot hold": (
        {"step": Decimal(20_000), "budget": replace(AMPLE, epsilon=1e15)},
        PlanError,
        "is too large for a public size",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_before_the_reservation_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    changes, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        run_release(dataset(), job(**changes), tmp_path / "deep" / "release")
    assert list(tmp_path.iterdir()) == []


def test_a_plan_of_which_something_is_spent_stays_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PlanError("too late")

    monkeypatch.setattr("dpopt.algorithms.dualquery.algorithm.run", refuse)
    with pytest.raises(PlanError, match="too late"):
        run_release(dataset(), job(), tmp_path / "release")
    assert (tmp_path / "release" / "transcript.jsonl").stat().st_size > 0


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({"format": "xml"}, "the format is one of csv, parquet, npz, baskets; found 'xml'"),
        ({"format": None}, "found None"),
        ({"rows": 0}, "the number of rows must be a whole number of at least 1, found 0"),
        ({"rows": 2.5}, "found 2.5"),
        ({"rows": "7"}, "found '7'"),
    ],
)
def test_records_that_cannot_be_written_as_asked_are_refused(output: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        job(output=output)


def test_a_workload_over_another_schema_is_refused() -> None:
    first, *rest = SCHEMA.attributes
    shorter = Schema(tuple(rest))
    with pytest.raises(WorkloadError, match="differ first in the attributes 'colour' and 'age'"):
        Job(plan(), shorter, workload(), {}, {})
    with pytest.raises(WorkloadError, match="differ first in the attributes 'town' and nothing"):
        Job(plan(), Schema((first, *rest[:-1])), workload(), {}, {})
    assert Job(plan(), Schema(SCHEMA.attributes, draft=True), workload(), {}, {}).schema.draft


@pytest.mark.parametrize("name", ["plan.json", "schema.json", "workload.json"])
@pytest.mark.parametrize("damage", ["missing", "cut", "no object", "another object", "not UTF-8"])
def test_a_damaged_input_of_a_folder_is_refused(tmp_path: Path, finished: Path, name: str, damage: str) -> None:
    folder = shutil.copytree(finished, tmp_path / "release")
    path = folder / name
    whole = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(
            {
                "cut": whole[: len(whole) // 2],
                "no object": b"[1, 2]",
                "another object": b'{"a": 1}',
                "not UTF-8": b"\xff" + whole,
            }[damage]
        )
    for refused in (read_job, load):
        with pytest.raises(DpoptError) as refusal:
            refused(folder)
        assert name.removesuffix(".json") in str(refusal.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"output": [1]}, "output and statement must be JSON objects"),
        ({"statement": "none"}, "output and statement must be JSON objects"),
        ({"output": {"rows": "many"}}, "the number of rows must be a whole number"),
        ({"output": {"format": "exe"}}, "the format is one of csv, parquet, npz, baskets; found 'exe'"),
        ({"rounds": -1}, "the number of rounds must be a whole number of at least 1, found -1"),
        ({"algorithm": "mst"}, "for algorithm 'mst'; this dpopt reads plans of .*dualquery"),
        ({"dpopt_plan": 2}, "found 2 as 'dpopt_plan', expected 1"),
    ],
)
def test_a_plan_file_that_says_something_else_is_refused(
    tmp_path: Path, finished: Path, changes: dict[str, Any], message: str
) -> None:
    folder = shutil.copytree(finished, tmp_path / "release")
    write_json(folder / "plan.json", {**read_json(folder / "plan.json"), **changes})
    with pytest.raises(DpoptError, match=message):
        read_job(folder)


def test_a_foreign_folder_is_no_release_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for refused in (read_job, load):
        with pytest.raises(ReleaseFolderError, match="is not a release folder: it has no file plan.json"):
            refused(tmp_path)
    with pytest.raises(ReleaseFolderError, match="is not a release folder"):
        read_job(tmp_path / "nowhere")


def test_a_run_that_never_began_is_resumed_from_the_start(tmp_path: Path) -> None:
    folder = tmp_path / "release"
    create_folder(folder, job(), expected_bytes=1).close()
    assert len(resume_run(folder, dataset(), read_job(folder)).rounds) == 6


def test_of_two_that_resume_at_once_one_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other ends it after this one has found it unfinished, and before this one has the lock."""
    folder, reopen = tmp_path / "release", FileJournal.reopen
    create_folder(folder, job(), expected_bytes=1).close()

    def after_another(path: Path) -> object:
        with monkeypatch.context() as others:
            others.setattr(FileJournal, "reopen", reopen)
            resume_run(folder, dataset(), read_job(folder))
        return reopen(path)

    monkeypatch.setattr(FileJournal, "reopen", after_another)
    with pytest.raises(ReleaseFolderError, match="has ended; there is nothing to resume"):
        resume_run(folder, dataset(), read_job(folder))
    reopen(folder / TRANSCRIPT)[0].close()  # and is no longer locked


def test_a_json_file_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    write_json(path, {"name": "Zoë"})
    assert path.read_bytes() == '{\n "name": "Zoë"\n}\n'.encode()
    assert read_json(path) == {"name": "Zoë"}

    def fail(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        write_json(path, {"name": "other"})
    assert read_json(path) == {"name": "Zoë"}


def test_the_room_that_is_asked_for_is_enough_and_grows_with_the_rows(finished: Path) -> None:
    taken = sum(path.stat().st_size for path in finished.iterdir())
    assert taken < job().expected_bytes()
    assert job(output={"rows": 10**7}).expected_bytes() > 10**8


def test_draws_beyond_the_number_of_queries_need_no_more_room() -> None:
    """A draw is kept as the queries that were drawn, each with its net count."""
    many = job(draws=10**9).expected_bytes()
    assert many == job(draws=10**6).expected_bytes() < 10**7


def test_the_journal_of_a_release_is_locked_while_it_runs(tmp_path: Path) -> None:
    with_lock = create_folder(tmp_path / "release", job(), expected_bytes=1)
    with pytest.raises(ReleaseFolderError, match="another process is writing"):
        FileJournal.reopen(tmp_path / "release" / "transcript.jsonl")
    with_lock.close()


def test_a_scripted_run_says_so_in_its_plan_file(tmp_path: Path) -> None:
    run_release(dataset(), job(), tmp_path / "release", sources=Sources(sampler=seeded()))
    text = json.loads((tmp_path / "release" / "plan.json").read_text())
    assert text["statement"]["not_private"] == "draws came from a seeded or scripted source"
