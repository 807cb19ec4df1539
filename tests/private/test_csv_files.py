"""Folders of CSV files: one table, whose rows are found by file and line; other columns are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpopt.errors import PrivateDataError
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.readers.csv_source import CsvFile, CsvFilesSource
from dpopt.private.readers.open_table import open_table
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import TableReading
from tests.private.tables_in_files import (
    ROWS,
    SCHEMA,
    frame,
    queries,
    write_csv,
    write_csv_folder,
    write_parquet,
)


@pytest.mark.parametrize("header", [True, False])
def test_a_folder_is_the_table_whose_parts_it_holds(tmp_path: Path, header: bool) -> None:
    whole = read_table(write_csv(tmp_path / "t.csv", frame()), SCHEMA)
    folder = write_csv_folder(tmp_path / "parts", frame(), header=header)
    (folder / "_SUCCESS.csv").write_text("not a part\n")
    (folder / "release").mkdir()
    (folder / "release" / "synthetic.csv").write_text("not a part\n")
    shares: list[float] = []
    names = None if header else list(frame().columns)
    parts = read_table(folder, SCHEMA, TableReading(column_names=names), progress=shares.append)
    assert parts._rows == whole._rows == ROWS
    for asked in queries():
        assert np.array_equal(exact_counts(parts, asked), exact_counts(whole, asked))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_rows_are_found_by_file_and_line(tmp_path: Path) -> None:
    folder = write_csv_folder(tmp_path / "parts", frame())
    source = open_table(folder, None)
    assert isinstance(source, CsvFilesSource)
    assert sum(len(array) for _, array in source.pieces([0], None)) == ROWS
    assert source.places([0, 1_099, 1_100, 1_299, 1_300]) == {
        0: "a.csv, line 2",
        1_099: "a.csv, line 1101",
        1_100: "c.csv.gz, line 2",
        1_299: "c.csv.gz, line 201",
        1_300: "d.csv, line 2",
    }


def test_files_with_other_columns_are_refused(tmp_path: Path) -> None:
    folder = write_csv_folder(tmp_path / "parts", frame())
    columns = list(frame().columns)
    write_csv(folder / "e.csv", frame(9)[[*columns[1:], columns[0]]])
    with pytest.raises(PrivateDataError, match="e.csv has the column 'rooms' where a.csv has 'note'"):
        read_table(folder, SCHEMA)
    write_csv(folder / "e.csv", frame(9).assign(more=1))
    with pytest.raises(
        PrivateDataError, match="e.csv has 6 columns, and a.csv has 5; all files in the folder"
    ):
        read_table(folder, SCHEMA)
    with pytest.raises(PrivateDataError, match="e.csv has other columns than the first file"):
        CsvFile(folder / "e.csv", header=True).source(tuple(columns))


def test_folders_of_two_kinds_or_none_are_refused(tmp_path: Path) -> None:
    folder = write_csv_folder(tmp_path / "parts", frame())
    write_parquet(folder / "p.parquet", frame(9))
    with pytest.raises(
        PrivateDataError, match="holds both Parquet and CSV files, such as p.parquet and a.csv"
    ):
        read_table(folder, SCHEMA)
    (tmp_path / "none").mkdir()
    with pytest.raises(PrivateDataError, match=r"no Parquet files .* and no CSV files"):
        read_table(tmp_path / "none", SCHEMA)
