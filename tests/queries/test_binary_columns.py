from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import SchemaError
from dpopt.queries.counting.binary_columns import (
    WIDE,
    BinaryColumns,
    BitColumns,
    BitRecords,
    SparseColumns,
    are_kept_as_bits,
)

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
        ([0, 2], [1, 1], "must increase"), ([0, 2], [2, 1], "must increase"), ([0, 1], [4], "must increase"),
        ([0, 2], [1], "as long as"), ([1, 2], [1, 2], "begin with 0"), ([0, 2, 1], [1, 2], "begin with 0"),
        ([], [], "begin with 0"),
    ],
)  # fmt: skip
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


# Bit records.

RECORDS = st.tuples(st.integers(1, 140), st.integers(1, 70)).flatmap(
    lambda shape: arrays(np.int32, shape, elements=st.integers(0, 1))
)


@given(RECORDS)
def test_codes_columns_and_numbers_of_ones_come_back(records: NDArray[np.int32]) -> None:
    held = BitRecords.of(records)
    assert (len(held), held.shape) == (len(records), records.shape)
    assert held.octets.shape == (len(records), -(-records.shape[1] // 8))
    assert held.codes().dtype == np.int32
    assert np.array_equal(held.codes(), records)
    assert np.array_equal(held.ones(), records.sum(axis=1))
    columns = held.columns()
    assert (columns.rows, len(columns)) == records.shape
    assert np.array_equal(np.stack(list(columns), axis=1), records)


@given(RECORDS, st.integers(0, 2**32 - 1))
def test_distinct_records_are_those_of_numpy_in_the_same_order(records: NDArray[np.int32], seed: int) -> None:
    """Bytes in order are records in order."""
    repeated = records[np.random.default_rng(seed).integers(0, len(records), 2 * len(records))]
    found, counts, places = BitRecords.of(repeated).distinct()
    expected, inverse, number = np.unique(repeated, axis=0, return_inverse=True, return_counts=True)
    assert np.array_equal(found.codes(), expected)
    assert counts.tolist() == number.tolist()
    assert places.tolist() == inverse.ravel().tolist()


@given(RECORDS)
def test_records_are_taken_and_joined(records: NDArray[np.int32]) -> None:
    held, order = BitRecords.of(records), np.arange(len(records))[::-1]
    assert np.array_equal(held.take(order).codes(), records[::-1])
    joined = BitRecords.joined([held, held.take(order[:1])])
    assert np.array_equal(joined.codes(), np.concatenate([records, records[-1:]]))


@pytest.mark.parametrize("code", [2, -1])
def test_a_code_that_is_no_bit_is_refused(code: int) -> None:
    with pytest.raises(SchemaError, match="expected rows of codes 0 and 1"):
        BitRecords.of(np.array([[0, code]]))


@pytest.mark.parametrize("width", [0, 7, 17])
def test_octets_that_do_not_fit_the_width_are_refused(width: int) -> None:
    with pytest.raises(SchemaError, match=f"records of {width} bits are rows of {-(-width // 8)} octets"):
        BitRecords(width, np.zeros((3, 2), dtype=np.uint8))


@pytest.mark.parametrize(("width", "last"), [(9, 0b0100_0000), (15, 1), (12, 0b0000_1000)])
def test_a_bit_beyond_the_last_attribute_is_refused(width: int, last: int) -> None:
    BitRecords(width, np.array([[255, 0x100 - 2 * last]], dtype=np.uint8))
    with pytest.raises(SchemaError, match=f"a bit is set beyond the last of {width} attributes"):
        BitRecords(width, np.array([[0, last]], dtype=np.uint8))


def test_nobody_changes_the_octets() -> None:
    octets = np.zeros((1, 1), dtype=np.uint8)
    held = BitRecords(8, octets)
    octets[:] = 255
    assert not held.codes().any()
    with pytest.raises(ValueError, match="read-only"):
        held.octets[0, 0] = 1
    assert BitRecords(8, freeze(octets)).octets is octets


def test_many_attributes_of_two_codes_are_kept_as_bits_and_no_others() -> None:
    two = np.full(WIDE, 2, dtype=np.int32)
    assert are_kept_as_bits(two)
    assert are_kept_as_bits(np.where(np.arange(WIDE) == 5, 1, two))
    assert not are_kept_as_bits(two[1:])
    assert not are_kept_as_bits(np.where(np.arange(WIDE) == 5, 3, two))


@given(RECORDS, st.integers(0, 2**32 - 1))
def test_some_attributes_are_taken_in_any_order(records: NDArray[np.int32], seed: int) -> None:
    random, width = np.random.default_rng(seed), records.shape[1]
    attributes = random.permutation(width)[: random.integers(1, width + 1)]
    found = BitRecords.of(records).over(attributes)
    assert np.array_equal(found.codes(), records[:, attributes])


@given(RECORDS, st.integers(0, 2**32 - 1))
def test_the_order_is_the_lexicographic_one_and_stable(records: NDArray[np.int32], seed: int) -> None:
    repeated = records[np.random.default_rng(seed).integers(0, len(records), 2 * len(records))]
    assert np.array_equal(BitRecords.of(repeated).order(), np.lexsort(repeated.T[::-1]))
