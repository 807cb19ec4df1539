"""Counts that were made already: each row is a bin, and no row is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpopt.errors import PrivateDataError
from dpopt.private.readers.read_numbers import read_counts


def read(folder: Path, text: str) -> list[int]:
    path = folder / "counts.csv"
    path.write_bytes(text.encode())
    return read_counts(path, "n")._counts.tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "text", ["n\n1\n0\n2\n", "n\n1\n0\n2", "n\r\n1\r\n0\r\n2\r\n", "n,m\n1,a\n\n0,b\n2,c\n"]
)
def test_rows_are_bins(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == [1, 0, 2]


@pytest.mark.parametrize("text", ["n\n1\n\n2\n", "n\n1\n2\n\n", 'n\n1\n""\n', "n,m\n1,a\n,b\n"])
def test_an_empty_line_or_cell_is_refused_and_shifts_no_bin(tmp_path: Path, text: str) -> None:
    with pytest.raises(PrivateDataError, match="empty cells, or the file empty lines"):
        read(tmp_path, text)


def test_what_is_no_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrivateDataError, match="no number"):
        read(tmp_path, "n\n1\nmany\n")
