"""The files of a release folder, and whether a new file can be written."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from unittest import mock

import pytest

from dpopt.algorithms.release import resume
from dpopt.errors import ReleaseFolderError
from dpopt.files.written_files import check_new
from dpopt.releases.folder_files import check_empty, never_began, remove_unfinished
from tests.algorithms.small_runs import small_release, write_table


def test_what_a_killed_run_left_half_written_is_removed_and_nothing_else(tmp_path: Path) -> None:
    left = [".release.json.3-0.tmp", ".transcript.jsonl.part", ".transcript.jsonl.lock", ".synthetic.csv.71-2.tmp"]
    kept = ["release.json", "transcript.jsonl", "synthetic.csv", ".hidden", "notes.tmp", ".other.part"]
    for name in (*left, *kept):
        (tmp_path / name).write_text("")
    remove_unfinished(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(kept)


def test_a_folder_whose_run_never_began_says_that_nothing_was_spent(tmp_path: Path) -> None:
    table, out = write_table(tmp_path), tmp_path / "out"
    out.mkdir()
    assert not never_began(out)
    for name in ("transcript.jsonl", ".plan.json.3-0.tmp", "schema.json"):
        (out / name).write_text("")
    assert never_began(out)
    with pytest.raises(ReleaseFolderError, match="nothing has been spent. Remove the folder and release"):
        resume(out, table)
    with pytest.raises(ReleaseFolderError, match="or remove it: a run in it was killed before anything was"):
        check_empty(out)


@pytest.mark.parametrize(
    ("asked", "journal"), [("plan.json", b""), ("request.json", b""), (None, b"{"), ("plan.json", b"{")]
)
def test_a_folder_with_a_plan_a_request_or_a_line_has_begun(tmp_path: Path, asked: str | None, journal: bytes) -> None:
    (tmp_path / "transcript.jsonl").write_bytes(journal)
    if asked is not None:
        (tmp_path / asked).write_text("{}")
    assert not never_began(tmp_path)


def test_times_are_equal_before_a_release_has_its_name(tmp_path: Path) -> None:
    """A kill right after the renaming finds nothing left to do."""
    move, seen = Path.replace, []

    def moving(path: Path, target: Path) -> Path:
        if target.name == "release.json":
            for one in tmp_path.joinpath("out").iterdir():
                assert one.stat().st_mtime == int(one.stat().st_mtime)
                seen.append(one.stat().st_mtime)
        else:
            os.utime(path, (1_000 + len(path.name), 1_000 + len(path.name)))
        return move(path, target)

    with mock.patch.object(Path, "replace", moving):
        small_release(tmp_path / "out")
    assert len(seen) == 7  # the other six, and the release under another name
    assert len(set(seen)) == 1


def test_a_new_file_in_a_folder_is_accepted_and_leaves_nothing(tmp_path: Path) -> None:
    check_new(tmp_path / "new.npz")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "there.json"
    there.write_text("{}")
    for path, message in [
        (there, "exists already"),
        (tmp_path / "none" / "new.json", "there is no folder"),
        (there / "new.json", "there is no folder"),
        (tmp_path / ("x" * 300), "cannot be written: File name too long"),
        (tmp_path / ("x" * 254), "cannot be written: File name too long"),  # writers need a few letters more
    ]:
        with pytest.raises(ReleaseFolderError, match=message):
            check_new(path)

    def read_only(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", read_only)
    with pytest.raises(ReleaseFolderError, match="Read-only file system; choose a folder that exists, can"):
        check_new(tmp_path / "new.json")
    assert [path.name for path in tmp_path.iterdir()] == ["there.json"]
