"""Bits column by column: on file, which is never torn or changed unnoticed, and in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError, ReleaseFolderError
from dpopt.private.curators.dualquery_curator import one_way_marginals
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.readers.binary import bit_file
from dpopt.private.readers.binary import bit_file as module
from dpopt.private.readers.binary.bit_file import BitFileTable, bit_table, packed_column, read_bit_file, write_bit_file
from dpopt.private.readers.read_binary_table import read_binary_table
from dpopt.queries.counting.binary_columns import BitColumns
from dpopt.schema.schema import Schema
from tests.wide_tables import some_cells

HEAD = 64


def packed(column: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return the words of a column by plain arithmetic."""
    words = [0] * ((column.size + 63) // 64)
    for row in np.flatnonzero(column).tolist():
        words[row // 64] |= 1 << row % 64
    return np.array(words, dtype=np.uint64)


@given(st.lists(st.booleans(), min_size=1, max_size=200))
@settings(max_examples=60, deadline=None)
def test_a_column_is_packed_the_same_from_every_form(values: list[bool]) -> None:
    column = np.array(values)
    for form in (column, column.astype(np.uint8), packed(column)):
        assert packed_column(form, column.size, 0).tolist() == packed(column).tolist()


def test_what_is_written_is_read_back_in_place(tmp_path: Path) -> None:
    cells = np.random.default_rng(1).random((9, 130)) < 0.3
    path = tmp_path / "table.bits"

    def columns() -> Iterator[NDArray[Any]]:
        for number, column in enumerate(cells):
            yield (column, column.astype(np.uint8), packed(column))[number % 3]

    assert write_bit_file(path, 130, columns()) == 9
    found = read_bit_file(path, 9)
    assert isinstance(found.words, np.memmap)
    assert not found.words.flags.writeable
    assert [found.dense(i).astype(bool).tolist() for i in range(9)] == cells.tolist()
    assert path.stat().st_size == HEAD + 9 * 3 * 8
    assert path.read_bytes()[:8] == b"DPOPTBIT"
    assert [file.name for file in tmp_path.iterdir()] == ["table.bits"]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.zeros(64, dtype=np.bool_), "column 1: expected 65 truth values, or 2 words"),
        (np.zeros((65, 1), dtype=np.bool_), "shape (65, 1)"),
        (np.zeros(65), "found float64"),
        (np.zeros(9, dtype=np.uint8), "found uint8 of shape (9,)"),
        (np.full(65, 2, dtype=np.uint8), "column 1, record 1: 2 is neither 0 nor 1"),
        (np.array([0, 2], dtype=np.uint64), "column 1: a bit is set beyond the last of 65 records"),
    ],
)
def test_a_column_of_another_form_is_refused_without_trace(tmp_path: Path, column: NDArray[Any], message: str) -> None:
    good = np.ones(65, dtype=np.bool_)
    for take in (bit_table, lambda rows, columns: write_bit_file(tmp_path / "table.bits", rows, columns)):
        with pytest.raises(PrivateDataError) as caught:
            take(65, iter([good, column]))
        assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_no_record_and_no_column_are_refused(tmp_path: Path) -> None:
    for take in (bit_table, lambda rows, columns: write_bit_file(tmp_path / "t", rows, columns)):
        for rows in (0, -1, 2**32, True, 1.5):
            with pytest.raises(PrivateDataError, match="the number of records is a whole number from 1"):
                take(rows, iter([np.ones(1, dtype=np.bool_)]))  # type: ignore[arg-type]
        with pytest.raises(PrivateDataError, match="0 columns were given"):
            take(3, iter([]))


def test_a_failing_generator_leaves_nothing(tmp_path: Path) -> None:
    def columns() -> Iterator[NDArray[Any]]:
        yield np.ones(3, dtype=np.bool_)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_bit_file(tmp_path / "table.bits", 3, columns())
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseFolderError, match="there is no folder"):
        write_bit_file(tmp_path / "no folder" / "table.bits", 3, iter([np.ones(3, dtype=np.bool_)]))


@pytest.fixture
def bits(tmp_path: Path) -> Path:
    path = tmp_path / "table.bits"
    write_bit_file(path, 65, iter(np.ones((4, 65), dtype=np.bool_)))
    return path


def test_a_torn_file_is_refused_wherever_it_ends(bits: Path) -> None:
    whole = bits.read_bytes()
    for end in range(len(whole)):
        bits.write_bytes(whole[:end])
        with pytest.raises(PrivateDataError, match="table.bits"):
            read_bit_file(bits, 4)
    bits.write_bytes(whole + b"\0")
    with pytest.raises(PrivateDataError, match="take 128: the file is torn"):
        read_bit_file(bits, 4)


@pytest.mark.parametrize(
    ("place", "byte", "message"),
    [
        (0, b"X", "is not a bit file"),
        (8, b"\x02", "another version"),
        (12, b"\x41", "another version"),
        (16, b"\x00\x00", "another version"),
        (24, b"\x05", "5 columns, and 4 are declared"),
        (32, b"\x03", "another version"),
        (40, b"\x01", "another version"),
        (HEAD + 8, b"\x03", "a bit is set beyond the last record"),
        (HEAD + 4 * 16 - 1, b"\x80", "a bit is set beyond the last record"),
    ],
)
def test_a_damaged_file_is_refused(bits: Path, place: int, byte: bytes, message: str) -> None:
    content = bytearray(bits.read_bytes())
    content[place : place + len(byte)] = byte
    bits.write_bytes(bytes(content))
    with pytest.raises(PrivateDataError, match=message):
        read_bit_file(bits, 4)


def test_a_table_in_memory_grows_with_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GROWTH", 40)
    cells = np.random.default_rng(2).random((23, 70)) < 0.5
    table = bit_table(70, iter(cells))
    assert [table._columns.dense(i).astype(bool).tolist() for i in range(23)] == cells.tolist()
    assert not table._columns.words.flags.writeable


CELLS = some_cells(70, 9)
SCHEMA = Schema.binary(9)
QUERIES = one_way_marginals(SCHEMA)


def written(folder: Path) -> Path:
    path = folder / "table.bits"
    write_bit_file(path, len(CELLS), list(CELLS.T))
    return path


def test_counts_on_a_bit_file_are_those_of_its_records(tmp_path: Path) -> None:
    table = read_binary_table(written(tmp_path), SCHEMA)
    assert isinstance(table, BitFileTable)
    ones = CELLS.sum(axis=0)
    for _ in range(2):
        found = exact_counts(table, QUERIES).reshape(-1, 2)
        np.testing.assert_array_equal(found, np.stack((len(CELLS) - ones, ones), axis=1))


def test_nothing_is_counted_on_a_file_that_was_changed(tmp_path: Path) -> None:
    path = written(tmp_path)
    table = read_binary_table(path, SCHEMA)
    exact_counts(table, QUERIES)
    with path.open("r+b") as stream:
        stream.seek(-1, 2)
        stream.write(b"\xff")  # bits beyond the last record, too
    with pytest.raises(PrivateDataError, match=r"table\.bits was changed while the table was in use"):
        exact_counts(table, QUERIES)
    path.unlink()
    with pytest.raises(PrivateDataError, match="cannot be read"):
        exact_counts(table, QUERIES)


def test_a_change_while_records_are_counted_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    table = read_binary_table(path, SCHEMA)
    pack_into = BitColumns.pack_into

    def changing(self: BitColumns, columns: np.ndarray, words: np.ndarray) -> None:
        pack_into(self, columns, words)
        path.write_bytes(path.read_bytes())

    monkeypatch.setattr(BitColumns, "pack_into", changing)
    with pytest.raises(PrivateDataError, match="was changed"):
        exact_counts(table, QUERIES)


def test_a_change_while_the_file_is_opened_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    columns = bit_file.read_bit_file(path, 9)

    def changing(path: Path, _width: int) -> BitColumns:
        path.write_bytes(path.read_bytes())
        return columns

    monkeypatch.setattr("dpopt.private.readers.binary.bit_file.read_bit_file", changing)
    with pytest.raises(PrivateDataError, match="was changed"):
        BitFileTable.open(path, SCHEMA)
