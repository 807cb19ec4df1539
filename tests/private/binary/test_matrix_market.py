"""Matrix Market files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array

from dpopt.errors import PrivateDataError
from dpopt.private.readers.binary.matrix_market import read_matrix_market

HEAD = "%%MatrixMarket matrix coordinate integer general\n% a remark\n"


def cells(path: Path, width: int) -> list[list[int]]:
    columns = read_matrix_market(path, width)
    found: list[list[int]] = np.stack([columns.dense(i) for i in range(len(columns))], axis=1).tolist()
    return found


def test_entries_that_are_not_zero_are_ones_and_repeated_ones_are_added_up(tmp_path: Path) -> None:
    path = tmp_path / "table.mtx"
    path.write_text(f"{HEAD}2 3 5\n1 1 7\n1 2 0\n2 3 1\n2 3 -1\n2 2 -4\n")
    assert cells(path, 3) == [[1, 0, 0], [0, 1, 0]]


def test_what_scipy_writes_is_read(tmp_path: Path) -> None:
    path, rng = tmp_path / "table.mtx", np.random.default_rng(1)
    matrix = rng.integers(-2, 3, (30, 7)) * rng.integers(0, 2, (30, 7))
    for values in (matrix, matrix * 0.3, matrix.astype(bool)):
        mmwrite(path, coo_array(values), symmetry="general")
        assert cells(path, 7) == (matrix != 0).astype(int).tolist()


def test_numbers_of_records_may_pass_31_bits(tmp_path: Path) -> None:
    path = tmp_path / "table.mtx"
    path.write_text(
        "%%MatrixMarket matrix coordinate pattern general\n\n4294967295 2 2\n\n4294967295 2\n1 2\n"
    )
    assert read_matrix_market(path, 2).listed.tolist() == [0, 2**32 - 2]


@pytest.mark.parametrize("suffix", [".mtx", ".mtx.gz", ".bz2", ""])
def test_the_name_of_the_file_says_nothing(tmp_path: Path, suffix: str) -> None:
    for packed in (False, True):
        text = f"{HEAD}1 2 1\n1 2 1\n".encode()
        path = tmp_path / f"table{suffix}"
        path.write_bytes(gzip.compress(text) if packed else text)
        assert cells(path, 2) == [[0, 1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{HEAD}1 2 1\n1 3 1\n", "no whole Matrix Market file: line 4"),
        (f"{HEAD}1 2 1\n0 1 1\n", "no whole Matrix Market file: line 4"),
        (f"{HEAD}1 2 1\n1 x 1\n", "no whole Matrix Market file: line 4"),
        (f"{HEAD}1 2 2\n1 1 1\n", "no whole Matrix Market file"),
        (f"{HEAD}1 2\n", "no whole Matrix Market file"),
        (f"{HEAD}1 2 1\n1 1 \0\n", "line 4"),
        (f"{HEAD}1 2 1\n1\0 1 1\n", "line 4"),
        (f"{HEAD}1 2 2\n1 1 1\n% late\n1 1 1\n", "line 5"),
        (f"{HEAD}1 2 2\n1 1 1\n1 1 1e\n", "line 5"),
        (f"{HEAD}1 2 1\n1 1\n", "line 4"),
        (f"{HEAD}1 {'9' * 5000} 1\n1 1 1\n", "line 3"),
        ("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n", "two records"),
        ("%%MatrixMarket", "first line"),
        ("%%MatrixMarket matrix coordinate pattern general\n% no size", "is missing"),
        (f"{HEAD}1 3 1\n1 1 1\n", "3 columns, and 2 are declared"),
        (f"{HEAD}0 2 0\n", "0 rows"),
        ("%%MatrixMarket matrix array real general\n1 2\n1\n0\n", "dense matrix"),
        ("%%MatrixMarket matrix coordinate complex general\n1 2 1\n1 1 1 1\n", "complex numbers"),
        ("%%MatrixMarket matrix coordinate real general\n1 2 1\n1 1 nan\n", "line 3 holds .nan"),
        ("%%MatrixMarket nothing\n", "no whole Matrix Market file"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "table.mtx"
    path.write_text(text)
    with pytest.raises(PrivateDataError, match=message) as told:
        read_matrix_market(path, 2)
    assert str(told.value).startswith("table.mtx")


def test_a_torn_gzip_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.mtx"
    path.write_bytes(gzip.compress(f"{HEAD}1 2 1\n1 2 1\n".encode() + b"%" * 999)[:-12])
    with pytest.raises(PrivateDataError, match="damaged or incomplete gzip"):
        read_matrix_market(path, 2)
