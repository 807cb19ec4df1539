"""Edges of graphs and counts of bins: each row by itself, and no row is lost."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpopt.errors import PrivateDataError, SchemaError
from dpopt.private.readers.read_edges import read_degrees
from dpopt.private.readers.read_numbers import read_counts
from dpopt.private.readers.table_reading import TableReading

DEGREES = [1, 2, 2, 3]


@pytest.mark.parametrize(
    "text",
    [
        "a b\nb c\nc d\nb d\n".replace("b d", "c e").replace("c e", "b d"),
        "# two nodes in each line\n% and more\na\tb\nb\tc\nc\td\nb\td\n",
        "a,b\nb,c\nc,d\nb,d\n",
        "NA null\r\n\n  null   nan \nnan\t1\n#NA 1\nnull 1\n% end",
        "ä b\nb c\nc d\nb d\n",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_files_without_names_are_read(tmp_path: Path, text: str, packed: bool) -> None:
    encoding = "cp1252" if "ä" in text else "utf-8"
    reading = TableReading(separator="," if "," in text else None, encoding=encoding)
    path = tmp_path / ("edges.txt.gz" if packed else "edges.txt")
    path.write_bytes(gzip.compress(text.encode(encoding)) if packed else text.encode(encoding))
    held = read_degrees(path, reading=reading)
    assert sorted(held._counts.tolist()) == DEGREES
    assert held._rows == 4
    assert held._bins_of_a_record == 2


def test_tables_with_names_are_read(tmp_path: Path) -> None:
    frame = pd.DataFrame({"weight": 1.0, "from": [1, 2, 3, 2], "to": [2, 3, 4, 4]})
    frame.to_csv(tmp_path / "edges.csv", index=False)
    frame.to_parquet(tmp_path / "edges.parquet")
    for table in (frame, tmp_path / "edges.csv", tmp_path / "edges.parquet"):
        assert sorted(read_degrees(table, ("from", "to"))._counts.tolist()) == DEGREES


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b\nc c\n", "line 2: the edge of 'c' and 'c' joins a node with itself"),
        ("a b\nb c\na b\n", "line 3: the edge of 'a' and 'b' stands there for the second time"),
        ("a b\nb a\n", "line 2: the edge of 'b' and 'a' stands there for the second time"),
        ("a b c\n", "line 1: 3 fields"),
        ("a b\nc\n", "line 2: 1 field\n"),
        ("a b\nb,c\n", "separator="),
        ('a ""\nb c\n', "line 1: the edge of 'a' and '' has an empty end"),
        ("# nothing\n", "no edges"),
    ],
)
def test_edges_that_are_none_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "edges.txt"
    path.write_text(text)
    with pytest.raises(PrivateDataError, match=message):
        read_degrees(path)


@pytest.mark.parametrize(
    ("text", "degrees"), [('a b\nb a\nc c\nd\na ""\n\xff x\ne f g\nb c\n', [1, 1, 2]), ("a a\n", []), ("", [])]
)
def test_lines_that_are_no_edges_may_be_dropped(tmp_path: Path, text: str, degrees: list[int]) -> None:
    path = tmp_path / "edges.txt"
    path.write_bytes(text.encode("latin-1"))
    held = read_degrees(path, reading=TableReading(on_invalid="drop"))
    assert sorted(held._counts.tolist()) == degrees
    assert 2 * held._rows == sum(degrees)
    with pytest.raises(SchemaError, match="edges have no numbers to clip and no buckets"):
        read_degrees(path, reading=TableReading(on_invalid="other"))


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrivateDataError, match="there is no file"):
        read_degrees(tmp_path / "none.txt")
    with pytest.raises(PrivateDataError, match="names of columns"):
        read_degrees(pd.DataFrame({"a": [1], "b": [2]}))
    with pytest.raises(PrivateDataError, match="lacks 1 column"):
        read_degrees(pd.DataFrame({"a": [1], "b": [2]}), ("a", "c"))


def test_counts_are_read_in_order(tmp_path: Path) -> None:
    frame = pd.DataFrame({"n": [3, 0, 5], "name": ["x", "y", "z"]})
    frame.to_csv(tmp_path / "counts.csv", index=False)
    for table in (frame, tmp_path / "counts.csv"):
        held = read_counts(table, "n")
        assert held._counts.tolist() == [3, 0, 5]
        assert held._rows == np.sum([3, 0, 5])
    with pytest.raises(PrivateDataError, match="a value that is not a number"):
        read_counts(frame, "name")
    with pytest.raises(PrivateDataError, match="empty cells"):
        read_counts(pd.DataFrame({"n": [1.0, None]}), "n")
    with pytest.raises(PrivateDataError, match="no rows|one number"):
        read_counts(pd.DataFrame({"n": np.zeros(0)}), "n")


def read(folder: Path, text: str) -> list[int]:
    path = folder / "counts.csv"
    path.write_bytes(text.encode())
    return read_counts(path, "n")._counts.tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("text", ["n\n1\n0\n2\n", "n\n1\n0\n2", "n\r\n1\r\n0\r\n2\r\n", "n,m\n1,a\n\n0,b\n2,c\n"])
def test_rows_are_bins(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == [1, 0, 2]


@pytest.mark.parametrize("text", ["n\n1\n\n2\n", "n\n1\n2\n\n", 'n\n1\n""\n', "n,m\n1,a\n,b\n"])
def test_an_empty_line_or_cell_is_refused_and_shifts_no_bin(tmp_path: Path, text: str) -> None:
    with pytest.raises(PrivateDataError, match="empty cells, or the file empty lines"):
        read(tmp_path, text)


def test_what_is_no_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrivateDataError, match="a value that is not a number"):
        read(tmp_path, "n\n1\nmany\n")
