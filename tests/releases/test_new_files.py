"""New files: what cannot be written is noticed beforehand, and nothing is left behind."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

import pytest

from dpopt.errors import ReleaseFolderError
from dpopt.releases.folder_files import check_new


def test_a_new_file_in_a_folder_is_accepted_and_leaves_nothing(tmp_path: Path) -> None:
    check_new(tmp_path / "new.npz")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    with pytest.raises(ReleaseFolderError, match="Read-only file system; choose a folder that can"):
        check_new(tmp_path / "new.json")
    assert [path.name for path in tmp_path.iterdir()] == ["there.json"]
