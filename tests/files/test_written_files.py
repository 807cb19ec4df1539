from __future__ import annotations

import os
import resource
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpopt.errors import ReleaseFolderError
from dpopt.files.written_files import check_replaceable, open_private, unfinished_files, whole_file


@pytest.fixture(params=[0o002, 0o022, 0o027, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("before", [None, 0o600, 0o666])
def test_a_file_is_as_wide_as_the_umask_says_or_its_owners_alone(
    tmp_path: Path, umask: int, private: bool, before: int | None
) -> None:
    """Also while it is written, and whatever stood in its place."""
    path = tmp_path / "a"
    if before is not None:
        path.touch()
        path.chmod(before)
    expected = (0o600 if private else 0o666) & ~umask
    with whole_file(path, private=private) as stream:
        assert [mode(part) for part in unfinished_files(tmp_path)] == [expected]
        stream.write(b"x")
    assert mode(path) == expected
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("before", [None, 0o644, 0o400, 0o666, 0o777])
def test_a_private_file_that_grows_is_its_owners_alone(tmp_path: Path, umask: int, before: int | None) -> None:
    path = tmp_path / "a"
    if before is not None:
        path.write_text("kept ")
        path.chmod(before | 0o200)
    with os.fdopen(open_private(path, os.O_WRONLY | os.O_APPEND), "w") as stream:
        stream.write("more")
    assert path.read_text() == ("" if before is None else "kept ") + "more"
    assert mode(path) & ~0o600 == 0


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    """Not even by whoever may: a device, a pipe, a folder."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(ReleaseFolderError, match="is not a regular file"), whole_file(path):
            pass
    assert [one.name for one in tmp_path.iterdir()] == ["pipe"]


def test_a_link_laid_in_the_way_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even by who has guessed the temporary name."""
    monkeypatch.setattr("uuid.uuid4", lambda: uuid.UUID(int=3))
    victim, trap = tmp_path / "victim", tmp_path / f".a.{uuid.UUID(int=3).hex[:12]}.tmp"
    victim.write_text("kept")
    trap.symlink_to(victim)
    with pytest.raises(ReleaseFolderError, match="File exists"), whole_file(tmp_path / "a"):
        pass
    assert (victim.read_text(), (tmp_path / "a").exists()) == ("kept", False)


def test_nothing_is_left_when_an_interruption_meets_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*how: Any) -> int:
        os.close(made(*how))
        raise KeyboardInterrupt

    made = os.open
    monkeypatch.setattr("os.open", interrupted)
    with pytest.raises(KeyboardInterrupt), whole_file(tmp_path / "a"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [2**12, 2**22])  # written when the body ends, and within it
def test_an_error_of_the_body_is_its_own_and_a_full_disk_is_the_place(tmp_path: Path, size: int) -> None:
    def copy(read: Path) -> None:
        with whole_file(tmp_path / "a") as stream:
            stream.write(read.read_bytes())

    with pytest.raises(FileNotFoundError, match="missing"):
        copy(tmp_path / "missing")
    (tmp_path / "some").write_bytes(bytes(size))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**10, before[1]))
        with pytest.raises(ReleaseFolderError, match="a cannot be written: File too large"):
            copy(tmp_path / "some")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [one.name for one in tmp_path.iterdir()] == ["some"]


def test_nothing_is_left_of_a_file_that_fails(tmp_path: Path) -> None:
    def fail() -> None:
        with whole_file(tmp_path / "a") as stream:
            stream.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_by_its_own_kind_alone(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    for allowed in (None, b"", b'{"kind": 2}', b'\n{\n "Kind" :'):
        if allowed is not None:
            path.write_bytes(allowed)
        check_replaceable(path, b'{"kind"', "plan")
    for refused in (b'{"kin', b"age,kind\n1,2\n", b"\xff", b'{"other": 1, "kind": 2}'):
        path.write_bytes(refused)
        with pytest.raises(ReleaseFolderError, match="exists already and is not a plan"):
            check_replaceable(path, b'{"kind"', "plan")
    for place, message in ((tmp_path, "is not a plan"), (tmp_path / "none" / "plan.json", "no folder")):
        with pytest.raises(ReleaseFolderError, match=message):
            check_replaceable(place, b'{"kind"', "plan")
