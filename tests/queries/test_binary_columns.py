from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import SchemaError
from dpopt.queries.counting.binary_columns import BinaryColumns, BitColumns, SparseColumns

Table = NDArray[np.uint8]


def sparse(table: Table) -> SparseColumns:
    lists = [np.flatnonzero(column) for column in table.T]
    starts = np.concatenate(([0], np.cumsum([len(rows) for rows in lists]))).astype(np.int64)
    listed = np.concatenate([*lists, []]).astype(np.uint32)
    return SparseColumns(len(table), starts, listed)


def bits(table: Table, *, spare: int = 0) -> BitColumns:
    words = np.zeros((table.shape[1], -(-len(table) // 64) + spare), dtype=np.uint64)
    packed = np.packbits(table.T, axis=1, bitorder="little")
    words.view(np.uint8)[:, : packed.shape[1]] = packed
    return BitColumns(len(table), words)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    rows, columns = draw(st.integers(1, 200)), draw(st.integers(1, 8))
    seed, share = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([0.0, 0.02, 0.5, 1.0]))
    return np.asarray(np.random.default_rng(seed).random((rows, columns)) < share, dtype=np.uint8)


@settings(max_examples=60, deadline=None)
@given(tables())
def test_columns_are_the_same_however_they_are_kept(table: Table) -> None:
    rows, columns = table.shape
    for kept in (sparse(table), bits(table), bits(table, spare=2)):
        assert (kept.rows, len(kept)) == (rows, columns)
        assert np.array_equal(np.stack(list(kept), axis=1), table)
        assert np.array_equal(kept[-1], table[:, -1])
        assert np.array_equal(np.stack(kept[0:columns:2], axis=1), table[:, ::2])
        asked = np.array([[columns - 1], [0]])
        assert np.array_equal(kept.ones(asked)[:, 0], table[:, [columns - 1, 0]].sum(axis=0))
        words = np.zeros((2, -(-rows // 64)), dtype=np.uint64)
        kept.pack_into(asked[:, 0], words)
        unpacked = np.unpackbits(words.view(np.uint8), axis=1, count=rows, bitorder="little")
        assert np.array_equal(unpacked.T, table[:, [columns - 1, 0]])
        assert not kept[0].flags.writeable


def test_nothing_is_said_of_records_when_a_table_is_printed() -> None:
    table = np.ones((77, 3), dtype=np.uint8)
    for kept in (sparse(table), bits(table)):
        assert "77" not in repr(kept)
        with pytest.raises(IndexError):
            kept[3]


@pytest.mark.parametrize(
    ("starts", "listed", "said"),
    [
        ([0, 2], [1, 1], "must increase"),
        ([0, 2], [2, 1], "must increase"),
        ([0, 1], [4], "must increase"),
        ([0, 2], [1], "as long as"),
        ([1, 2], [1, 2], "begin with 0"),
        ([0, 2, 1], [1, 2], "begin with 0"),
        ([], [], "begin with 0"),
    ],
)
def test_lists_that_are_none_are_refused(starts: list[int], listed: list[int], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        SparseColumns(4, np.array(starts, dtype=np.int64), np.array(listed, dtype=np.uint32))


def test_bits_beyond_the_last_record_are_refused() -> None:
    for rows, word in ((3, 8), (64, 1)):
        words = np.array([[0, 0], [0, 1]] if rows == 64 else [[word]], dtype=np.uint64)
        with pytest.raises(SchemaError, match="beyond"):
            BitColumns(rows, words)
    with pytest.raises(SchemaError, match="hold"):
        BitColumns(65, np.zeros((1, 1), dtype=np.uint64))


def test_the_base_alone_is_no_table() -> None:
    with pytest.raises(TypeError):
        BinaryColumns()  # type: ignore[abstract]
