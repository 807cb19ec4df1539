"""Ranges with weights: read from files in the language of the bins, and what is refused, with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpopt.errors import WorkloadError
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.weighted_ranges import WeightedRanges

AGES = Bins("age", 4, ("[0, 18)", "[18, 30)", "[30, 65)", "[65, 100]"), (0.0, 18.0, 30.0, 65.0, 100.0))
FRUIT = Bins("fruit", 3, ("apple", "pear, sweet", "plum"))


def read(folder: Path, text: str, bins: Bins = AGES) -> WeightedRanges:
    path = folder / "ranges.csv"
    path.write_text(text, encoding="utf-8")
    return WeightedRanges.read(path, bins)


def rows(ranges: WeightedRanges) -> list[tuple[int, int, float]]:
    return list(zip(ranges.starts.tolist(), ranges.stops.tolist(), ranges.weights.tolist(), strict=True))


@pytest.mark.parametrize("header", ["", "range\n", "range,weight\n", "\ufeffrange,weight\n"])
def test_lines_are_ranges_with_weights(tmp_path: Path, header: str) -> None:
    found = read(tmp_path, f"{header}18:65,3\n\n65:\n 0:30 , 0.5\n")
    assert rows(found) == [(1, 3, 3.0), (3, 4, 1.0), (0, 2, 0.5)]
    assert found.shares == pytest.approx([3 / 4.5, 1 / 4.5, 0.5 / 4.5])
    assert found.bins == 4


def test_labels_and_positions_are_ranges_too(tmp_path: Path) -> None:
    assert rows(read(tmp_path, '"pear, sweet:plum",2\napple:apple\n', FRUIT)) == [(1, 3, 2.0), (0, 1, 1.0)]
    assert rows(read(tmp_path, "0:64\n:\n", Bins("x", 100))) == [(0, 64, 1.0), (0, 100, 1.0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no range"),
        ("range,weight\n", "holds no range"),
        ("18:65\n\n20:30\n", "line 3: age: 20 is no edge of a bin"),
        ("18-65\n", "line 1: found the range '18-65'; expected two ends and a colon"),
        ("18:65,1\n65:18\n", "line 2: the range '65:18' holds no bin"),
        ("18:65,1,2\n", "line 1: found 3 cells"),
        ("18:65,much\n", "line 1: found the weight 'much'"),
        ("18:65,-1\n", "line 1: found the weight '-1'; expected a number of at least 0"),
        ("18:65,inf\n", "line 1: found the weight 'inf'"),
        ("18:65,0\n0:18,0\n", "all weights are 0"),
        ("range,weight\nrange,weight\n", "line 2: found the range 'range'"),
    ],
)
def test_a_line_that_is_no_range_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        read(tmp_path, text)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="cannot be read: No such file"):
        WeightedRanges.read(tmp_path / "none.csv", AGES)
    (tmp_path / "other.csv").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(WorkloadError, match="not UTF-8"):
        WeightedRanges.read(tmp_path / "other.csv", AGES)


@pytest.mark.parametrize(
    ("starts", "stops", "weights", "message"),
    [
        ([], [], [], "at least one range"),
        ([0, 1], [2], [1.0], "found 2 starts, 1 stops and 1 weights"),
        ([0, 2], [2, 2], [1.0, 1.0], "range 1 goes from 2 to 2; expected 0 <= start < stop <= 4"),
        ([0], [5], [1.0], "range 0 goes from 0 to 5"),
        ([-1], [2], [1.0], "range 0 goes from -1 to 2"),
        ([0], [2], [-1.0], "finite numbers of at least 0"),
        ([0], [2], [np.nan], "finite numbers of at least 0"),
        ([0], [2], [0.0], "not all of them 0"),
        ([0.5], [2], [1.0], "whole numbers"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(starts: Any, stops: Any, weights: Any, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        WeightedRanges(starts, stops, weights, 4)
