"""Sparse matrices in memory, in npz files and in Matrix Market files: each entry is read by itself."""

from __future__ import annotations

import gzip
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import mmwrite
from scipy.sparse import coo_array

from dpopt.errors import PrivateDataError
from dpopt.private.readers.binary.matrices import (
    _summands,
    columns_of_arrays,
    columns_of_matrix,
    read_matrix_market,
    read_npz,
)
from dpopt.private.readers.table_sources import is_sparse_matrix
from dpopt.queries.counting.binary_columns import SparseColumns

GOOD: dict[str, Any] = {
    "format": np.array(b"csr"),
    "shape": np.array([2, 3]),
    "data": np.ones(3),
    "indices": np.array([0, 2, 1]),
    "indptr": np.array([0, 2, 3]),
}
COO: dict[str, Any] = {
    "format": np.array("coo"),
    "shape": np.array([2, 3]),
    "data": np.ones(3),
    "row": np.array([0, 0, 1]),
    "col": np.array([0, 2, 1]),
}


def cells_of(columns: SparseColumns) -> list[list[int]]:
    found: list[list[int]] = np.stack([columns.dense(i) for i in range(len(columns))], axis=1).tolist()
    return found


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(-2, 2)), max_size=25),
    st.sampled_from([np.int8, np.int64, np.float32, np.float64]),
)
@settings(max_examples=60, deadline=None)
def test_repeated_entries_are_added_up_and_a_sum_that_is_not_zero_is_a_one(
    entries: list[tuple[int, int, int]], dtype: type[np.generic]
) -> None:
    rows, items, values = (np.array([entry[i] for entry in entries], dtype=np.int64) for i in range(3))
    expected = np.zeros((4, 5), dtype=np.int64)
    np.add.at(expected, (rows, items), values)
    coo = sp.coo_array((values.astype(dtype), (rows, items)), shape=(4, 5))
    order = np.argsort(rows, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=4))))
    csr = sp.csr_array((values[order].astype(dtype), items[order], starts), shape=(4, 5))
    by_item = np.argsort(items, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(items, minlength=5))))
    csc = sp.csc_array((values[by_item].astype(dtype), rows[by_item], starts), shape=(4, 5))
    for matrix in (coo, csr, csc):
        assert cells_of(columns_of_matrix(matrix, 5)) == (expected != 0).astype(int).tolist()


def test_a_stored_zero_is_no_one() -> None:
    dtypes: list[type[Any]] = [np.bool_, np.uint64, np.int64, np.float64]
    for dtype in dtypes:
        for form in ("csr", "csc", "coo"):
            places = (np.array([0, 0, 1]), np.array([0, 1, 2]))
            stored: Any = sp.coo_array((np.array([0, 1, 5]).astype(dtype), places), shape=(2, 3))
            assert cells_of(columns_of_matrix(stored.asformat(form), 3)) == [[0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_entry_that_is_no_finite_number_is_refused_with_its_place(value: float) -> None:
    matrix = sp.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, value, 0.0]]))
    with pytest.raises(PrivateDataError, match="the sparse matrix: entry number 3 is (nan|inf|-inf)"):
        columns_of_matrix(matrix, 3)


@pytest.mark.parametrize(
    ("matrix", "columns", "message"),
    [
        (sp.csr_array(np.array([[1j, 0]])), 2, "the entries are complex128"),
        (sp.csr_array(np.array([[np.longdouble(0.5) ** 2000, 0], [0, 1]])), 2, "of more than 8 bytes"),
        (sp.csr_array((0, 3)), 3, "has no rows"),
        (sp.coo_array(np.array([1, 0, 1])), 3, "1 dimensions"),
    ],
)
def test_matrices_that_are_no_table_are_refused(matrix: Any, columns: int, message: str) -> None:
    with pytest.raises(PrivateDataError, match=message):
        columns_of_matrix(matrix, columns)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize(
    ("dtype", "entries"),
    [
        (np.int64, [(0, 2**62)] * 4 + [(1, 2**31 - 1)] + [(1, 1 - 2**31), (2, -5)]),
        (np.int64, [(0, 2**53), (0, 1), (0, -(2**53)), (1, 3)]),
        (np.int32, [(0, 2**31 - 1)] * 4 + [(1, -(2**31))]),
        (np.float64, [(0, 5e-324), (1, 1e308), (1, 1e308), (2, -1.0)]),
        (np.uint64, [(0, 2**63), (0, 2**63), (1, 0)]),
    ],
)
def test_entries_of_a_record_change_no_other(
    form: str, dtype: type[np.generic], entries: list[tuple[int, float]]
) -> None:
    """Row 0 is read the same whatever row 1 holds: nothing, a zero, something above 0 or below, or very large."""
    items = [item for item, _ in entries]
    read = []
    for other in ([], [0], [1], [2**31], [-1]):
        if other and np.issubdtype(dtype, np.integer) and not np.can_cast(np.min_scalar_type(other[0]), dtype):
            continue  # there is no such number in this type
        values = np.array([value for _, value in entries] + other, dtype=dtype)
        rows = np.repeat([0, 1], [len(entries), len(other)])
        columns = np.array(items + [0] * len(other))
        arrays = {"data": values, "row": rows, "col": columns}
        if form != "coo":
            major, minor = (rows, columns) if form == "csr" else (columns, rows)
            order, size = np.argsort(major, kind="stable"), 2 if form == "csr" else 3
            starts = np.concatenate(([0], np.cumsum(np.bincount(major, minlength=size))))
            arrays = {"data": values[order], "indices": minor[order], "indptr": starts}
        found = columns_of_arrays("the matrix", form, (2, 3), arrays.__getitem__, 3)
        read.append(cells_of(found)[0])
    assert all(row == read[0] for row in read)


def test_no_entry_decides_how_others_are_added_up() -> None:
    for value in (-1, -(2**31) - 1):
        assert getattr(_summands(np.array([1, value])), "dtype", None) == np.float64


def test_only_sparse_matrices_are_taken_for_some() -> None:
    assert is_sparse_matrix(sp.csr_array((1, 1)))
    assert is_sparse_matrix(sp.dok_matrix((1, 1)))
    assert not is_sparse_matrix(np.eye(2))


@pytest.mark.parametrize(
    ("whole", "changes", "message"),
    [
        (GOOD, {"format": None}, "holds no sparse matrix"),
        (GOOD, {"shape": None}, "holds no sparse matrix"),
        (GOOD, {"format": np.array(3)}, "'format' is not text"),
        (GOOD, {"format": np.array(b"bsr")}, "save matrix.tocsr"),
        (GOOD, {"shape": np.array([2, 3, 1])}, "not that of a matrix"),
        (GOOD, {"shape": np.array([-2, 3])}, "not that of a matrix"),
        (GOOD, {"shape": np.array([2.0, 3.0])}, "not that of a matrix"),
        (GOOD, {"shape": np.array([2, 4])}, "4 columns, and 3 are declared"),
        (GOOD, {"shape": np.array([2**33, 3])}, "at most 4,294,967,295"),
        (GOOD, {"data": None}, "no array 'data"),
        (GOOD, {"indices": None}, "no array 'indices"),
        (GOOD, {"data": np.ones((3, 1))}, "in one dimension"),
        (GOOD, {"data": np.array(["a", "b", "c"])}, "the entries are"),
        (COO, {"data": np.ones(2)}, "the array 'row' has the shape"),
        (GOOD, {"indices": np.array([0, 2, 3])}, "entry number 3 has indices 3, none of 0 .. 2"),
        (GOOD, {"indices": np.array([0, -1, 1])}, "entry number 2 has indices -1"),
        (GOOD, {"indices": np.array([0.0, 2.0, 1.0])}, "whole numbers"),
        (GOOD, {"indices": np.array(0)}, "has the shape"),
        (GOOD, {"indptr": np.array([0, 4, 3])}, "does not divide"),
        (GOOD, {"indptr": np.array([1, 2, 3])}, "does not divide"),
        (GOOD, {"indptr": np.array([0, 3])}, "'indptr' has the shape"),
        (GOOD, {"indptr": np.array([0, 2, 4])}, "does not divide"),
        (COO, {"row": np.array([0, 0, 2])}, "entry number 3 has row 2"),
        (COO, {"col": None}, "no array 'col"),
    ],
)
def test_a_damaged_npz_is_refused(tmp_path: Path, whole: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    path = tmp_path / "table.npz"
    np.savez(path, **whole)
    assert cells_of(read_npz(path, 3)) == [[1, 0, 1], [0, 1, 0]]
    np.savez(path, **{name: value for name, value in (whole | changes).items() if value is not None})
    with pytest.raises(PrivateDataError, match=message) as caught:
        read_npz(path, 3)
    assert str(caught.value).startswith("table.npz")


def test_a_torn_npz_file_is_refused_wherever_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    sp.save_npz(path, sp.csr_array(np.eye(50)))
    whole = path.read_bytes()
    for end in range(4, len(whole) - 1, 37):
        path.write_bytes(whole[:end])
        with pytest.raises(PrivateDataError, match="damaged npz file"):
            read_npz(path, 50)


@pytest.mark.parametrize("name", ["data", "indices", "indptr", "format", "shape"])
def test_an_array_that_does_not_fit_is_refused_before_it_is_unpacked(tmp_path: Path, name: str) -> None:
    path = tmp_path / "table.npz"
    np.savez_compressed(path, **{**GOOD, name: np.zeros(2**23)})
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    with pytest.raises(PrivateDataError, match=r"table\.npz"):
        read_npz(path, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    np.savez(path, **(GOOD | {"data": np.array([{}, 1, 2], dtype=object)}))
    with pytest.raises(PrivateDataError, match="damaged npz file"):
        read_npz(path, 3)


def test_another_zip_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(PrivateDataError, match="holds no sparse matrix"):
        read_npz(path, 3)


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
    path.write_text("%%MatrixMarket matrix coordinate pattern general\n\n4294967295 2 2\n\n4294967295 2\n1 2\n")
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
        (f"{HEAD}1 2 1\n1 3 1\n", "not a complete Matrix Market file: line 4"),
        (f"{HEAD}1 2 1\n0 1 1\n", "not a complete Matrix Market file: line 4"),
        (f"{HEAD}1 2 1\n1 x 1\n", "not a complete Matrix Market file: line 4"),
        (f"{HEAD}1 2 2\n1 1 1\n", "not a complete Matrix Market file"),
        (f"{HEAD}1 2\n", "not a complete Matrix Market file"),
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
        (f"{HEAD}0 2 0\n", "no rows"),
        ("%%MatrixMarket matrix array real general\n1 2\n1\n0\n", "dense matrix"),
        ("%%MatrixMarket matrix coordinate complex general\n1 2 1\n1 1 1 1\n", "complex numbers"),
        ("%%MatrixMarket matrix coordinate real general\n1 2 1\n1 1 nan\n", "line 3 holds .nan"),
        ("%%MatrixMarket nothing\n", "not a complete Matrix Market file"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "table.mtx"
    path.write_text(text)
    with pytest.raises(PrivateDataError, match=message) as caught:
        read_matrix_market(path, 2)
    assert str(caught.value).startswith("table.mtx")


def test_a_torn_gzip_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.mtx"
    path.write_bytes(gzip.compress(f"{HEAD}1 2 1\n1 2 1\n".encode() + b"%" * 999)[:-12])
    with pytest.raises(PrivateDataError, match="damaged or incomplete gzip"):
        read_matrix_market(path, 2)


def test_a_sum_of_a_record_does_not_depend_on_whether_another_record_is_in_order() -> None:
    """Forty entries in one place, whose sum is 0 or not by the order of addition; the other record is in order or is not."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        values = rng.permutation(np.append(rng.choice([1e16, -1e16, 1.0, -1.0], 39), 0.5))
        found = set()
        for others in ([0, 1, 2], [2, 0, 1]):
            items = np.array([*others, *[1] * 40])
            entries = np.array([1.0, -1.0, 1.0, *values])
            for rows in (2, 100):  # a second time with most records empty, by which only the others are grouped
                starts = np.append([0, 3], np.full(rows - 1, 43))
                matrix = sp.csr_array((entries, items, starts), shape=(rows, 3))
                pairs = sp.coo_array((entries, (np.repeat([0, 1], [3, 40]), items)), shape=(rows, 3))
                found |= {cells_of(columns_of_matrix(one, 3))[1][1] for one in (matrix, pairs)}
        assert len(found) == 1
