from __future__ import annotations

from pathlib import Path

import pytest

from dpopt.errors import WorkloadError
from dpopt.files.reading import read_bytes, read_text


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


@pytest.mark.parametrize("path", ["a\0b", "/nowhere/at/all", "/", "x" * 5000, "/dev/zero"])
def test_a_path_that_cannot_be_read_is_refused_and_one_without_end_read_to_the_limit_only(path: str) -> None:
    with pytest.raises(WorkloadError, match="more than 100 bytes" if path == "/dev/zero" else "cannot be read"):
        read_bytes(path, "a", WorkloadError, 100)
