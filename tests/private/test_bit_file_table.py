"""A bit file is read where it lies: what is counted on a file that was changed is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpopt.errors import PrivateDataError
from dpopt.private.curators.dualquery_curator import one_way_marginals
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.readers.binary import bit_file
from dpopt.private.readers.binary.bit_file import BitFileTable, write_bit_file
from dpopt.private.readers.read_binary_table import read_binary_table
from dpopt.queries.counting.binary_columns import BitColumns
from dpopt.schema.schema import Schema
from tests.wide_tables import some_cells

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


def test_a_change_while_records_are_counted_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path)
    table = read_binary_table(path, SCHEMA)
    pack_into = BitColumns.pack_into

    def changing(self: BitColumns, columns: np.ndarray, words: np.ndarray) -> None:
        pack_into(self, columns, words)
        path.write_bytes(path.read_bytes())

    monkeypatch.setattr(BitColumns, "pack_into", changing)
    with pytest.raises(PrivateDataError, match="was changed"):
        exact_counts(table, QUERIES)


def test_a_change_while_the_file_is_opened_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path)
    columns = bit_file.read_bit_file(path, 9)

    def changing(path: Path, _width: int) -> BitColumns:
        path.write_bytes(path.read_bytes())
        return columns

    monkeypatch.setattr("dpopt.private.readers.binary.bit_file.read_bit_file", changing)
    with pytest.raises(PrivateDataError, match="was changed"):
        BitFileTable.open(path, SCHEMA)
