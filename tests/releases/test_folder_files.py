"""The files of a release folder, and whether a new file can be written."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.algorithms.release import resume
from dpopt.errors import ReleaseFolderError, TranscriptError
from dpopt.files.written_files import check_new
from dpopt.queries.counting.binary_columns import WIDE, BitRecords
from dpopt.releases.folder_files import check_empty, never_began, remove_unfinished
from dpopt.releases.kept_records import codes_of, kept, record_from_json, record_to_json
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


# Kept records.

NARROW = np.array([3, 2, 1, 4], dtype=np.int32)
WIDTHS = st.integers(WIDE, WIDE + 20)


def bits(width: int, share: float, seed: int) -> NDArray[np.int32]:
    return (np.random.default_rng(seed).random(width) < share).astype(np.int32)


def two(width: int) -> NDArray[np.int32]:
    return np.full(width, 2, dtype=np.int32)


@given(WIDTHS, st.sampled_from([0.0, 0.01, 0.05, 0.12, 0.15, 0.2, 0.5, 1.0]), st.integers(0, 2**32 - 1))
def test_a_wide_record_is_written_in_the_shorter_form_and_read_back(width: int, share: float, seed: int) -> None:
    record = bits(width, share, seed)
    held = kept(record, two(width))
    assert isinstance(held, BitRecords)
    assert np.array_equal(codes_of(held), record)
    written = json.loads(json.dumps(record_to_json(held)))
    ones = {"columns": width, "ones": np.flatnonzero(record).tolist()}
    text = json.dumps(written, separators=(",", ":"))
    assert len(text) <= min(len(json.dumps(ones, separators=(",", ":"))), 40 + width / 6)
    again = record_from_json(written, two(width))
    assert isinstance(again, BitRecords)
    assert np.array_equal(codes_of(again), record)
    assert record_to_json(again) == written


def test_both_forms_occur_and_a_list_of_codes_is_read_as_well() -> None:
    """Folders written before records were kept as bits hold lists."""
    few, many = bits(WIDE, 0.01, 1), bits(WIDE, 0.5, 1)
    assert set(json.loads(json.dumps(record_to_json(kept(few, two(WIDE)))))) == {"columns", "ones"}
    assert set(json.loads(json.dumps(record_to_json(kept(many, two(WIDE)))))) == {"columns", "bits"}
    old = record_from_json(many.tolist(), two(WIDE))
    assert isinstance(old, BitRecords)
    assert np.array_equal(codes_of(old), many)


def test_a_record_of_half_a_million_columns_takes_less_than_90_kilobytes() -> None:
    held = kept(bits(512_000, 0.5, 0), two(512_000))
    assert len(json.dumps(record_to_json(held))) < 90_000
    assert isinstance(held, BitRecords)
    assert held.octets.nbytes == 64_000


def test_a_narrow_record_is_kept_and_written_code_by_code() -> None:
    record = np.array([2, 1, 0, 3], dtype=np.int32)
    held = kept(record, NARROW)
    assert record_to_json(held) == [2, 1, 0, 3]
    assert codes_of(held) is held
    record[0] = 1
    assert codes_of(held).tolist() == [2, 1, 0, 3]
    with pytest.raises(ValueError, match="read-only"):
        codes_of(held)[0] = 1


def test_the_form_of_bits_is_read_for_narrow_records_too() -> None:
    sizes = np.array([2, 3, 1, 2], dtype=np.int32)
    for written in ({"columns": 4, "ones": [0, 3]}, {"columns": 4, "bits": "kA=="}):
        assert codes_of(record_from_json(written, sizes)).tolist() == [1, 0, 0, 1]
    with pytest.raises(TranscriptError, match="does not fit the schema"):
        record_from_json({"columns": 4, "ones": [2]}, sizes)


@pytest.mark.parametrize(
    "written",
    [
        *({"columns": columns, "ones": []} for columns in (11, 10**15, True, 10.0)),
        *(
            {"columns": 10, "ones": ones}
            for ones in ([1, 10], [-1], [10**30], [3, 3], [3, 2], [True], [1.0], "AAA=", None)
        ),
        *({"columns": 10, "bits": bits} for bits in (5, "A", "AA A=", "AAé=", "", "AA==", "AAAA", "ACA=", "AAB=")),
        {"columns": 10},
        {"ones": []},
        {"columns": 10, "ones": [], "bits": "AAA="},
        {"columns": 10, "ones": [], "more": 1},
        "AAA=",
        *([0] * 9 + more for more in ([], [2], [-1], [2**40], [True], [0.0])),
    ],
)
def test_a_damaged_record_is_refused(written: object) -> None:
    assert codes_of(record_from_json({"columns": 10, "bits": "AEA="}, two(10))).tolist() == [0] * 9 + [1]
    with pytest.raises(TranscriptError, match="the record on file does not fit the schema, or is damaged"):
        record_from_json(written, two(10))
