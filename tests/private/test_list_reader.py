"""Rows from files and texts: what is read, and what refusals say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpopt.errors import PrivacyBoundaryError, PrivateDataError
from dpopt.private.readers.read_lists import read_lists
from dpopt.private.tables.list_table import PrivateLists
from tests.tiny_lists import arrays_of, family_of, output_at, points_of, rows_of, text_of

THREE = family_of(4, 3)


def contents(lists: PrivateLists) -> list[Any]:
    return [
        (v.tolist(), p.tolist(), b.tolist())
        for v, p, b in zip(lists._variables, lists._positive, lists._bits, strict=True)
    ]


def outputs_of(lists: PrivateLists) -> list[list[int]]:
    """Return what each row gives at each point."""
    found = []
    for variables, positive, bits in contents(lists):
        row = (tuple(zip(variables, positive, strict=True)), tuple(bits))
        found.append([output_at(row, point) for point in points_of(lists._family)])
    return found


@pytest.mark.parametrize("kind", ["lists", "disjunctions", "conjunctions"])
def test_rows_that_are_written_are_read_back(kind: str, tmp_path: Path) -> None:
    """Every row of a small family, from a file and from memory."""
    family = family_of(3, 2, kind)
    rows = [row for row in rows_of(family) if row[0] or kind == "lists"]
    texts = [text_of(family, row) for row in rows]
    path = tmp_path / "rows.txt"
    path.write_text("# rows\n\n" + "\r\n".join(texts) + "\n\n", encoding="utf-8")
    expected = [[output_at(row, point) for point in points_of(family)] for row in rows]
    for lists in (read_lists(path, family), read_lists(texts, family), read_lists(str(path), family)):
        assert lists._rows == len(rows)
        # After the end of a row all bits are alike, so that what stands there for literals says nothing.
        assert outputs_of(lists) == expected


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("x1:1, !x2:0, else:1", "x1:1,!x2:0,else:1"),
        ("  ! x1 : 1 ,else : 0 ", "!x1:1, else:0"),
        ("x1:1, x1:0, else:0", "x1:1, else:0"),
        ("x1:1, !x1:0, x2:1, else:1", "x1:1, else:0"),
        ("x1:0, x2:1, !x1:1, else:0", "x1:0, x2:1, else:1"),
        ("else:1", "x1:1, else:1"),
    ],
)
def test_rows_that_give_the_same_are_read_alike(text: str, same: str) -> None:
    """Blanks, literals twice, and opposites, which are true wherever they are reached."""
    assert outputs_of(read_lists([text], THREE)) == outputs_of(read_lists([same], THREE))


@pytest.mark.parametrize(
    ("kind", "text", "constant"), [("disjunctions", "x1 | x2 | !x1", 1), ("conjunctions", "x1 & x2 & !x1", 0)]
)
def test_disjunctions_and_conjunctions_of_opposites_are_constant(kind: str, text: str, constant: int) -> None:
    assert outputs_of(read_lists([text], family_of(3, 3, kind))) == [[constant] * 8]


BAD: list[tuple[str, str, str]] = [
    ("lists", "x1:1, x9:0, else:1", "line 3: 'x9:0' is not part of a row"),
    ("lists", "x1:2, else:1", "'x1:2' is not part of a row"),
    ("lists", "x1, else:1", "'x1' is not part of a row"),
    ("lists", "x1:1, , else:1", "'' is not part of a row"),
    ("lists", "x1:1, x2:0", "'x2:0' is the end of a row, which is else:0 or else:1"),
    ("lists", "else:1, x1:0, else:1", "'else:1' stands before the end; it is always true"),
    ("lists", "x1:1, x2:1, x3:0, x4:0, else:1", "is in a row of more than 3 literals"),
    ("lists", "x1 | x2", "'x1 | x2' is not part of a row"),
    ("lists", "!!x1:1, else:0", "'!!x1:1' is not part of a row"),
    ("disjunctions", "x1 | x2 | x3 | x4", "is in a row of more than 3 literals"),
    ("disjunctions", "x1 | else:1", "'else:1' is not part of a row"),
    ("disjunctions", "x1 || x2", "'' is not part of a row"),
    ("conjunctions", "x1 & y", "'y' is not part of a row"),
]


@pytest.mark.parametrize(("kind", "text", "message"), BAD)
def test_rows_that_do_not_fit_are_named_by_their_line(kind: str, text: str, message: str, tmp_path: Path) -> None:
    good = {"lists": "x1:1, else:0", "disjunctions": "x1 | x2", "conjunctions": "x1 & x2"}[kind]
    path = tmp_path / "rows.txt"
    path.write_text(f"# rows\n{good}\n{text}\n{good}\n", encoding="utf-8")
    with pytest.raises(PrivateDataError) as found:
        read_lists(path, family_of(4, 3, kind))
    assert message in str(found.value)
    assert "line 3" in str(found.value)
    assert "expected: up to 3 literals on the variables x1, x2, x3, ..." in str(found.value)


def test_a_few_rows_are_shown_and_the_others_counted() -> None:
    with pytest.raises(PrivateDataError, match="and 7 more"):
        read_lists(["x1:1, else:3"] * 10, THREE)


def test_rows_that_change_too_often_are_named_by_their_line(tmp_path: Path) -> None:
    family = family_of(4, 3, "lists", 1)
    path = tmp_path / "rows.txt"
    path.write_text("\nx1:1, x2:0, else:0\nx1:1, x2:0, else:1\n", encoding="utf-8")
    with pytest.raises(PrivateDataError, match="line 3: the output changes 2 times; at most 1 are declared"):
        read_lists(path, family)
    # An opposite ends the row before its second change.
    assert read_lists(["x1:1, !x1:0, x2:1, else:1"], family)._rows == 1


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    with pytest.raises(PrivateDataError, match="there is no file"):
        read_lists(tmp_path / "none.txt", THREE)
    with pytest.raises(PrivateDataError, match="cannot be read"):
        read_lists(tmp_path, THREE)
    (tmp_path / "empty.txt").write_text("# nothing\n\n")
    with pytest.raises(PrivateDataError, match="holds no row; expected one on each line"):
        read_lists(tmp_path / "empty.txt", THREE)
    (tmp_path / "latin.txt").write_bytes(b"x1:1, else:0\nx\xe9:1, else:0\n")
    with pytest.raises(PrivateDataError, match="line 2: .* is not text"):
        read_lists(tmp_path / "latin.txt", THREE)
    with pytest.raises(PrivateDataError, match="row 2 is not text"):
        read_lists(["else:1", 3], THREE)  # type: ignore[list-item]


def test_rows_stay_behind_their_door() -> None:
    lists = read_lists(["x1:1, else:0"], THREE)
    assert repr(lists) == "<PrivateLists: contents refused>"
    with pytest.raises(PrivacyBoundaryError):
        len(lists)
    assert not lists._bits.flags.writeable
    assert not lists._variables.flags.writeable


def changed(place: int, value: Any) -> list[Any]:
    arrays = list(arrays_of(THREE, [(((0, True), (1, False)), (1, 0, 1))]))
    arrays[place] = value
    return arrays


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (changed(0, np.array([[0, 4, 0]])), "found a variable that is none of the 4"),
        (changed(0, np.array([[0, 1]])), "found arrays of shapes"),
        (changed(2, np.array([[1, 2, 1, 1]])), "neither 0 nor 1"),
        (changed(3, np.array([4])), "found rows of 4 to 4 literals; 0 to 3"),
        (changed(3, np.array([-1])), "found rows of -1 to -1 literals"),
        (changed(3, np.zeros(0, dtype=np.int64)), "found 0 rows"),
    ],
)
def test_arrays_that_hold_no_rows_are_refused(arrays: list[Any], message: str) -> None:
    with pytest.raises(PrivateDataError, match=message):
        PrivateLists.from_arrays(THREE, *arrays)


def test_constant_rows_of_the_other_kind_are_refused() -> None:
    family = family_of(3, 2, "disjunctions")
    arrays = arrays_of(family_of(3, 2), [(((0, True),), (0, 1))])
    with pytest.raises(PrivateDataError, match="no part of disjunctions"):
        PrivateLists.from_arrays(family, *arrays)
