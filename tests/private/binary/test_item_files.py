"""Baskets and pairs: every line is read by itself; what is no item is refused with its line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from dpopt.errors import PrivateDataError, SchemaError
from dpopt.private.readers import text_fields
from dpopt.private.readers.binary.item_files import Items, read_baskets, read_pairs
from dpopt.private.readers.table_reading import AS_USUAL, TableReading
from dpopt.schema.schema import Schema


def cells(path: Path, items: Items) -> list[list[int]]:
    columns = read_baskets(path, items, AS_USUAL.baskets_form(items.separators()))
    found: list[list[int]] = np.stack([columns.dense(i) for i in range(len(columns))], axis=1).tolist()
    return found


def written(folder: Path, text: str, name: str = "baskets.txt") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    "text", ["0 2\n1\n\n2 1\n", "0,2\n1\n\n2,1\n", "0\t2\n1\n\n2\t1", "\ufeff 2, 0 ,\r\n001 1\r\n , \r\n1 2 1 2\r\n"]
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


def test_what_is_no_item_is_reported_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "0 1\n2 3\n-1\n1.0 1e0\nx\n")
    with pytest.raises(PrivateDataError) as caught:
        cells(path, Items(3))
    *lines, remedy = str(caught.value).splitlines()
    assert "declare as many columns" in remedy
    assert lines == [
        "baskets.txt does not fit the declared columns",
        "  line 2: '3' is not an item",
        "  line 3: '-1' is not an item",
        "  line 4: '1.0' is not an item",
        "  and 2 more",
        "  expected: whole numbers from 0 to 2",
    ]
    named = Items.of(Schema.binary(2, ["a", "b"]), None)
    with pytest.raises(PrivateDataError, match="line 1: '0' is not an item\n(.|\n)*one of 2 names: 'a', 'b'\n"):
        cells(path, named)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrivateDataError, match="has 0 lines"):
        cells(written(tmp_path, ""), Items(3))


def pair_cells(
    path: Path,
    items: Items,
    *,
    columns: tuple[int, int] | None = None,
    header: bool = True,
    separator: str | None = None,
) -> list[list[int]]:
    form = TableReading(separator=separator).pairs_form()
    found = read_pairs(path, items, pair_columns=columns, header=header, form=form)
    return sorted(np.stack([found.dense(i) for i in range(len(found))], axis=1).tolist())


@pytest.mark.parametrize(
    ("text", "columns", "header", "separator"),
    [
        ("user,item\nann,0\nbob,1\nann,2\n\nann,0\n", None, True, None),
        ("ann\t0\nbob\t1\nann\t2", None, False, "\t"),
        ("ann;0\nbob;1\nann;2\n", None, False, ";"),
        ("ann 0\r\nbob   1\r\n  ann 2 \r\n", None, False, "blanks"),
        ("ann::0::5::99\nbob::1::4::98\nann::2::5::97\n", (1, 2), False, "::"),
        ("rating,item,user\n5,0,ann\n3,1,bob\n,2,ann\n", (3, 2), True, None),
        ('user,item\n"ann, ""the"" one",0\nbob,"1"\n"ann, ""the"" one",2\n', None, True, None),
        ("\ufeffuser,item\nå,0\nß,1\nå,2\n", None, True, None),
    ],
)
def test_one_record_for_each_user(
    tmp_path: Path, text: str, columns: tuple[int, int] | None, header: bool, separator: str | None
) -> None:
    found = pair_cells(
        written(tmp_path, text, "pairs.csv"), Items(3), columns=columns, header=header, separator=separator
    )
    assert found == [[0, 1, 0], [1, 0, 1]]


def test_lines_may_have_more_columns_than_the_declared_ones(tmp_path: Path) -> None:
    path = written(tmp_path, "ann,0,5\nbob,1\nann,2,7,8\n", "pairs.csv")
    assert pair_cells(path, Items(3), columns=(1, 2), header=False) == [[0, 1, 0], [1, 0, 1]]


def test_items_may_be_names_and_numbered_from_one(tmp_path: Path) -> None:
    names = Items.of(Schema.binary(2, ["tea", "milk"]), None)
    assert pair_cells(written(tmp_path, "who,what\n1,milk\n2,tea\n", "pairs.csv"), names) == [[0, 1], [1, 0]]
    assert pair_cells(written(tmp_path, "1,2\n2,1\n", "pairs.csv"), Items(2, 1), header=False) == [[0, 1], [1, 0]]


def test_users_meet_again_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_fields, "BLOCK_BYTES", 32)
    pairs = [(user, item) for item in range(7) for user in range(20) if (user + item) % 3]
    path = written(tmp_path, "".join(f"user{user},{item}\n" for user, item in pairs))
    expected = np.zeros((20, 7), dtype=int)
    expected[tuple(np.array(pairs).T)] = 1
    assert pair_cells(path, Items(7), header=False) == sorted(expected.tolist())


@pytest.mark.parametrize(
    ("text", "columns", "header", "message"),
    [
        ("user,item\na,0\n", None, False, "line 1: 'item' is not an item(.|\n)*leave header=False"),
        ("u,i,r\na,0,5\n", None, True, "3 columns in its first line.*say which.*pair_columns=1,2"),
        ("u\na\n", None, True, "one column in its first line"),
        ("u,i\na,0\n", (1, 3), True, "2 columns in its first line.*pair_columns= names column 3"),
        ("u,i\na,0\nb,1,2\n", None, True, "line 3: 3 fields"),
        ("u,i\n\na,0\nb\n", None, True, "line 4: 1 field"),
        ("u,i\na,0\n ,1\n", None, True, "line 3: no user"),
        ("u,i\na,0\nb,\n", None, True, "line 3: no item"),
        ("u,i\na,0\nb,7\n", None, True, "line 3: '7' is not an item"),
        ("a,0\na\tb\n", None, False, "line 2: 1 field(.|\n)*separator="),
        ("a,0,1\n", (4, 1), False, "expected at least 4 columns"),
        ("u,i\n", None, True, "holds no pair"),
        ("", None, True, "holds no pair"),
        ("\n\n", None, False, "holds no pair"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, text: str, columns: tuple[int, int] | None, header: bool, message: str
) -> None:
    with pytest.raises(PrivateDataError, match=message) as caught:
        read_pairs(written(tmp_path, text, "pairs.csv"), Items(3), pair_columns=columns, header=header)
    assert str(caught.value).startswith("pairs.csv")
