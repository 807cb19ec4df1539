"""Pairs of user and item: one record for each user."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpopt.errors import PrivateDataError
from dpopt.private.readers import text_fields
from dpopt.private.readers.binary.item_files import Items, read_pairs
from dpopt.private.readers.table_reading import TableReading
from dpopt.schema.schema import Schema


def cells(
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


def written(folder: Path, text: str) -> Path:
    path = folder / "pairs.csv"
    path.write_bytes(text.encode())
    return path


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
    found = cells(written(tmp_path, text), Items(3), columns=columns, header=header, separator=separator)
    assert found == [[0, 1, 0], [1, 0, 1]]


def test_lines_may_have_more_columns_than_the_declared_ones(tmp_path: Path) -> None:
    path = written(tmp_path, "ann,0,5\nbob,1\nann,2,7,8\n")
    assert cells(path, Items(3), columns=(1, 2), header=False) == [[0, 1, 0], [1, 0, 1]]


def test_items_may_be_names_and_numbered_from_one(tmp_path: Path) -> None:
    names = Items.of(Schema.binary(2, ["tea", "milk"]), None)
    assert cells(written(tmp_path, "who,what\n1,milk\n2,tea\n"), names) == [[0, 1], [1, 0]]
    assert cells(written(tmp_path, "1,2\n2,1\n"), Items(2, 1), header=False) == [[0, 1], [1, 0]]


def test_users_meet_again_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_fields, "BLOCK_BYTES", 32)
    pairs = [(user, item) for item in range(7) for user in range(20) if (user + item) % 3]
    path = written(tmp_path, "".join(f"user{user},{item}\n" for user, item in pairs))
    expected = np.zeros((20, 7), dtype=int)
    expected[tuple(np.array(pairs).T)] = 1
    assert cells(path, Items(7), header=False) == sorted(expected.tolist())


@pytest.mark.parametrize(
    ("text", "columns", "header", "message"),
    [
        ("user,item\na,0\n", None, False, "line 1: 'item' is no item(.|\n)*leave --no-header"),
        ("u,i,r\na,0,5\n", None, True, "3 columns in its first line.*say which.*--pair-columns 1,2"),
        ("u\na\n", None, True, "one column in its first line"),
        ("u,i\na,0\n", (1, 3), True, "2 columns in its first line.*--pair-columns names column 3"),
        ("u,i\na,0\nb,1,2\n", None, True, "line 3: 3 fields"),
        ("u,i\n\na,0\nb\n", None, True, "line 4: 1 field"),
        ("u,i\na,0\n ,1\n", None, True, "line 3: no user"),
        ("u,i\na,0\nb,\n", None, True, "line 3: no item"),
        ("u,i\na,0\nb,7\n", None, True, "line 3: '7' is no item"),
        ("a,0\na\tb\n", None, False, "line 2: 1 field(.|\n)*--separator"),
        ("a,0,1\n", (4, 1), False, "expected at least 4 columns"),
        ("u,i\n", None, True, "holds no pair"),
        ("", None, True, "holds no pair"),
        ("\n\n", None, False, "holds no pair"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, text: str, columns: tuple[int, int] | None, header: bool, message: str
) -> None:
    with pytest.raises(PrivateDataError, match=message) as told:
        read_pairs(written(tmp_path, text), Items(3), pair_columns=columns, header=header)
    assert str(told.value).startswith("pairs.csv")
