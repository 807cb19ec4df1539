"""Baskets: one record on each line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from dpopt.errors import PrivateDataError, SchemaError
from dpopt.private.readers.binary.item_files import Items, read_baskets
from dpopt.private.readers.table_reading import AS_USUAL
from dpopt.schema.schema import Schema


def cells(path: Path, items: Items) -> list[list[int]]:
    columns = read_baskets(path, items, AS_USUAL.baskets_form(items.separators()))
    found: list[list[int]] = np.stack([columns.dense(i) for i in range(len(columns))], axis=1).tolist()
    return found


def written(folder: Path, text: str) -> Path:
    path = folder / "baskets.txt"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    ["0 2\n1\n\n2 1\n", "0,2\n1\n\n2,1\n", "0\t2\n1\n\n2\t1", "\ufeff 2, 0 ,\r\n001 1\r\n , \r\n1 2 1 2\r\n"],
)
def test_items_are_separated_by_blanks_commas_or_tabs_and_an_empty_line_is_a_record_without_items(
    tmp_path: Path, text: str
) -> None:
    path = written(tmp_path, text)
    assert cells(path, Items(3)) == [[1, 0, 1], [0, 1, 0], [0, 0, 0], [0, 1, 1]]
    path = tmp_path / "baskets.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert cells(path, Items(3)) == [[1, 0, 1], [0, 1, 0], [0, 0, 0], [0, 1, 1]]


def test_items_may_be_numbered_from_one(tmp_path: Path) -> None:
    assert cells(written(tmp_path, "1 3\n"), Items(3, 1)) == [[1, 0, 1]]


def test_items_may_be_names_which_may_hold_the_signs_that_do_not_separate(tmp_path: Path) -> None:
    items = Items.of(Schema.binary(3, ["whole milk", " eggs", "brød"]), None)
    assert cells(written(tmp_path, "eggs, whole milk\nbrød\n\nbrød,brød\teggs\n"), items) == [
        [1, 1, 0],
        [0, 0, 1],
        [0, 0, 0],
        [0, 1, 1],
    ]


def test_a_first_item_says_that_items_are_numbers_although_there_are_names(tmp_path: Path) -> None:
    items = Items.of(Schema.binary(2, ["a", "b"]), 1)
    assert cells(written(tmp_path, "2\n"), items) == [[0, 1]]


def test_names_that_leave_no_separator_are_refused() -> None:
    items = Items.of(Schema.binary(2, ["a b", "c,d\te"]), None)
    with pytest.raises(SchemaError, match="nothing is left to separate items"):
        items.separators()


def test_names_that_differ_in_blanks_only_are_refused() -> None:
    with pytest.raises(SchemaError, match="differ in the blanks around them"):
        Items.of(Schema.binary(2, ["a", " a"]), None)


def test_what_is_no_item_is_told_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "0 1\n2 3\n-1\n1.0 1e0\nx\n")
    with pytest.raises(PrivateDataError) as told:
        cells(path, Items(3))
    *lines, remedy = str(told.value).splitlines()
    assert "declare as many columns" in remedy
    assert lines == [
        "baskets.txt does not fit the declared columns",
        "  line 2: '3' is no item",
        "  line 3: '-1' is no item",
        "  line 4: '1.0' is no item",
        "  and 2 more",
        "  expected: whole numbers from 0 to 2",
    ]
    named = Items.of(Schema.binary(2, ["a", "b"]), None)
    with pytest.raises(PrivateDataError, match="line 1: '0' is no item\n(.|\n)*one of 2 names: 'a', 'b'\n"):
        cells(path, named)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrivateDataError, match="has 0 lines"):
        cells(written(tmp_path, ""), Items(3))
