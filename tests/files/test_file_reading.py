from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dpopt.cli.reports.holdings import held_in
from dpopt.errors import DpoptError, WorkloadError
from dpopt.files.array_files import read_array
from dpopt.files.reading import read_bytes, read_text
from dpopt.private.readers.open_table import first_bytes
from dpopt.private.readers.read_numbers import read_points
from dpopt.queries.halfspaces.halfspaces import PointColumns, Scaling
from dpopt.transcript.journal import begins_as_journal, read_journal


def test_a_text_is_read_without_the_mark_before_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes("\ufeffä\r\nb\n".encode())
    assert read_text(path, "a", WorkloadError) == "ä\r\nb\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\xe9", "not UTF-8 text .line 2 holds the byte 0xe9"),
        ("a".encode("utf-16"), "not UTF-8"),
        (b"a\n\0", "line 2 holds a NUL"),
        ("a\nb\n\ufeffc".encode(), "line 3 holds a byte order mark"),
        ("\ufeff\ufeffc".encode(), "line 1 holds a byte order mark"),
    ],
)
def test_a_text_that_shows_otherwise_than_it_is_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(WorkloadError, match=message):
        read_text(tmp_path / "a", "a", WorkloadError)


def test_a_long_file_is_read_to_the_limit_only(tmp_path: Path) -> None:
    with (tmp_path / "long").open("wb") as file:
        file.truncate(2**40)  # without blocks on the disk
    with pytest.raises(WorkloadError, match="more than 100 bytes"):
        read_bytes(tmp_path / "long", "a", WorkloadError, 100)


def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    """A pipe into which nobody writes, a device: by each door that opens files."""
    os.mkfifo(pipe := tmp_path / "pipe.csv")
    doors: list[Callable[[], object]] = [
        lambda: read_bytes("/dev/zero", "a", WorkloadError),
        lambda: read_text(pipe, "a", WorkloadError),
        lambda: read_array(pipe, "a", WorkloadError),
        lambda: read_journal(pipe),
        lambda: first_bytes(pipe),
        lambda: read_points(pipe, PointColumns(("x", "y"), Scaling.UNIT)),
        lambda: held_in(pipe),
    ]
    for door in doors:
        with pytest.raises(DpoptError, match="is not a regular file"):
            door()
    assert not begins_as_journal(pipe)


@pytest.mark.parametrize("path", ["a\0b", "/nowhere/at/all", "/", "x" * 5000])
def test_a_path_that_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(WorkloadError, match="cannot be read"):
        read_bytes(path, "a", WorkloadError)
