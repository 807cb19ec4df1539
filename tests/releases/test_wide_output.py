"""Wide records as bytes: what is written reads back, and the same arguments give the same bytes."""

from __future__ import annotations

import hashlib
import io
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import PlanError
from dpopt.private.readers.binary.item_files import Items
from dpopt.private.readers.read_binary_table import read_binary_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.releases import wide_output
from dpopt.releases.wide_output import ones_of, write_baskets, write_npz, write_weights
from dpopt.schema.schema import Schema
from tests.wide_tables import Bits, cell_tables, cells_of, some_cells


def npz_of(cells: Bits, places: NDArray[np.int64] | None = None, weights: NDArray[np.float64] | None = None) -> bytes:
    stream = io.BytesIO()
    write_npz(stream, cells.shape[1], ones_of(cells.astype(np.int32)), places, weights)
    return stream.getvalue()


def baskets_of(cells: Bits, items: Items, places: NDArray[np.int64] | None = None) -> str:
    stream = io.BytesIO()
    write_baskets(stream, ones_of(cells.astype(np.int32)), places, items)
    return stream.getvalue().decode()


@given(cell_tables(), st.lists(st.integers(0, 10**6), max_size=20))
@settings(max_examples=40, deadline=None)
def test_what_is_written_is_read_back_to_the_same_codes(cells: Bits, drawn: list[int]) -> None:
    schema = Schema.binary(cells.shape[1])
    for places in (None, np.array(drawn, dtype=np.int64) % len(cells)):
        expected = cells if places is None else cells[places]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "synthetic"
            path.write_bytes(npz_of(cells, places))
            np.testing.assert_array_equal(sp.load_npz(path).toarray().astype(np.bool_), expected)
            if len(expected):
                np.testing.assert_array_equal(cells_of(read_binary_table(path, schema)), expected)
                path.write_text(baskets_of(cells, Items(cells.shape[1], 1), places))
                found = read_binary_table(path, schema, TableReading("baskets", 1))
                np.testing.assert_array_equal(cells_of(found), expected)


def test_records_that_are_kept_as_bits_are_written_the_same() -> None:
    cells = some_cells(150, 90)
    starts, items = ones_of(BitRecords.of(cells.astype(np.int32)))
    other = ones_of(cells.astype(np.int32))
    assert (starts.tolist(), items.tolist()) == (other[0].tolist(), other[1].tolist())
    rows, places = np.nonzero(cells)
    assert items.tolist() == places.tolist()
    assert np.repeat(np.arange(150), np.diff(starts)).tolist() == rows.tolist()


def test_the_bytes_of_an_npz_file_never_change() -> None:
    """An archive without times, nothing compressed, arrays in a fixed order, each with pinned bytes.

    The bytes between the arrays are Python's: its releases write some flags of an archive differently.
    """
    content = npz_of(np.eye(3, 5, dtype=np.bool_), np.array([2, 0, 2]), np.array([0.25, 0.25, 0.5]))
    assert content == npz_of(np.eye(3, 5, dtype=np.bool_), np.array([2, 0, 2]), np.array([0.25, 0.25, 0.5]))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        arrays = b"".join(archive.read(member) for member in members)
    assert {(member.date_time, member.compress_type) for member in members} == {NO_TIME}
    assert hashlib.sha256(arrays).hexdigest() == PINNED
    with np.load(io.BytesIO(content)) as held:
        assert list(held) == ["indices", "indptr", "format", "shape", "data", "weights"]
        assert held["indices"].tolist() == [2, 0, 2]
        assert held["shape"].tolist() == [3, 5]
        assert (held["data"].dtype, held["indices"].dtype, held["weights"].tolist()) == (
            np.uint8,
            np.int32,
            [0.25, 0.25, 0.5],
        )


PINNED = "ad5f34ac9044790a366413132b6e0416d41680b6b9b92cb9f786cc1eed64e116"
NO_TIME = ((1980, 1, 1, 0, 0, 0), zipfile.ZIP_STORED)


@pytest.mark.parametrize("block", [1, 3, 1000])
def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    cells, places = some_cells(20, 30), np.arange(50) % 20
    expected = npz_of(cells, places), baskets_of(cells, Items(30), places)
    monkeypatch.setattr(wide_output, "_BLOCK_ONES", block)
    monkeypatch.setattr(wide_output, "_ROWS_AT_ONCE", block)
    assert (npz_of(cells, places), baskets_of(cells, Items(30), places)) == expected


def test_baskets_hold_numbers_or_names() -> None:
    cells = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]], dtype=np.bool_)
    assert baskets_of(cells, Items(3)) == "0 2\n\n1\n"
    assert baskets_of(cells, Items(3, 1)) == "1 3\n\n2\n"
    assert baskets_of(cells, Items(3, 0, ("a", "b", "ç")), np.array([2, 0])) == "b\na ç\n"
    assert baskets_of(cells, Items(3, 0, ("a b", "b", "c"))) == "a b,c\n\nb\n"
    assert baskets_of(cells, Items(3, 0, ("a b", "b,c", "c"))) == "a b\tc\n\nb,c\n"


def test_weights_read_back_exactly() -> None:
    weights = np.array([1 / 3, 0.1, 1e-300])
    stream = io.BytesIO()
    write_weights(stream, weights)
    assert [float(line) for line in stream.getvalue().decode().splitlines()] == weights.tolist()


def test_more_ones_than_32_bits_number_are_refused() -> None:
    ones = (np.array([0, 2**20]), np.zeros(2**20, dtype=np.int32))
    with pytest.raises(PlanError, match="ask for fewer rows"):
        write_npz(io.BytesIO(), 5, ones, np.zeros(2**11, dtype=np.int64), None)
