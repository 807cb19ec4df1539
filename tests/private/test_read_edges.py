"""Edges from files and tables, in every form that is taken, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpopt.errors import PrivateDataError
from dpopt.private.read_counts import read_counts
from dpopt.private.read_edges import read_degrees

DEGREES = [1, 2, 2, 3]


@pytest.mark.parametrize(
    "text",
    [
        "a b\nb c\nc d\nb d\n".replace("b d", "c e").replace("c e", "b d"),
        "# two nodes in each line\n% and more\na\tb\nb\tc\nc\td\nb\td\n",
        "a,b\nb,c\nc,d\nb,d\n",
    ],
)
def test_files_without_names_are_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "edges.txt"
    path.write_text(text)
    held = read_degrees(path)
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
        ("a b\nc c\n", "edge 2 joins 'c' with itself"),
        ("a b\nb c\na b\n", "edge 3 joins 'a' and 'b' for the second time"),
        ("a b\nb a\n", "edge 2 joins 'b' and 'a' for the second time"),
        ("a b c\n", "cannot be read"),
        ("a b\nc\n", "cannot be read"),
        ("a,\nb,c\n", "an empty end"),
        ("# nothing\n", "no edges|cannot be read"),
    ],
)
def test_edges_that_are_none_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "edges.txt"
    path.write_text(text)
    with pytest.raises(PrivateDataError, match=message):
        read_degrees(path)


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrivateDataError, match="cannot be read"):
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
    with pytest.raises(PrivateDataError, match="no number"):
        read_counts(frame, "name")
    with pytest.raises(PrivateDataError, match="empty cells"):
        read_counts(pd.DataFrame({"n": [1.0, None]}), "n")
    with pytest.raises(PrivateDataError, match="no rows|one number"):
        read_counts(pd.DataFrame({"n": np.zeros(0)}), "n")
