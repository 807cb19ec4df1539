"""The card of each room, the docstring of its `__init__.py`: its table gives every file of the room one row, and no other.

A folder below a room that is a package has a card of its own and stands in the table of the room as `name/`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.source_code import ROOT, SOURCE, parse

# The package's own card lists its rooms, one on each line, and has no table.
ROOMS = sorted(path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE)
TABLE = "| file | what it holds |\n|---|---|\n"
CARD = f"""Greetings, from names to texts. The next one goes beside greet.py.

{TABLE}| greet.py, names.py | greetings; whom they are for |
| letters/ | longer texts |
"""


def problems_of_card(room: Path, root: Path) -> list[str]:
    """Return what the card of a room says wrongly of its files, or leaves out; nothing where it is complete and true.

    Parameters
    ----------
    room : Path
        Folder of a package.
    root : Path
        Folder to which paths with a folder in them are relative where they are not relative to the room.
    """
    card = ast.get_docstring(parse(room / "__init__.py")) or ""
    if card.count(TABLE) != 1:
        return [f"one table is expected, which begins with {TABLE!r}"]
    rows = re.match(r"(?:\|.*(?:\n|$))*", card.split(TABLE)[1])
    assert rows is not None  # the pattern matches the empty text
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows.group().splitlines()]
    problems = [f"a row needs two cells: {row}" for row in cells if len(row) != 2 or not all(row)]
    named = Counter(name for row in cells for name in row[0].split(", "))
    there = {path.name for path in room.glob("*.py")} - {"__init__.py"}
    there |= {f"{path.parent.name}/" for path in room.glob("*/__init__.py")}
    problems += [f"no row: {name}" for name in sorted(there - named.keys())]
    problems += [f"no such file: {name}" for name in sorted(named.keys() - there)]
    problems += [f"{count} rows: {name}" for name, count in named.items() if count > 1]
    in_words = set(re.findall(r"[\w/]+\.py\b", card)) - named.keys()
    found = {name for name in in_words if (room / name).is_file() or (root / name).is_file()}
    return problems + [f"no such file: {name}" for name in sorted(in_words - found)]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.relative_to(ROOT).as_posix())
def test_the_card_of_each_room_names_each_of_its_files_once(room: Path) -> None:
    assert problems_of_card(room, ROOT) == []


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    """Return a small room whose card is complete and true."""
    room = tmp_path / "greetings"
    for name in ("greet.py", "names.py", "letters/__init__.py", "letters/long.py"):
        (room / name).parent.mkdir(parents=True, exist_ok=True)
        (room / name).touch()
    _write_card(room, CARD)
    return room


def _write_card(room: Path, card: str) -> None:
    (room / "__init__.py").write_text(f'"""{card}"""\n', encoding="utf-8")


def test_a_complete_card_has_no_problems(made_up: Path) -> None:
    assert problems_of_card(made_up, made_up.parent) == []


@pytest.mark.parametrize(("added", "expected"), [("new.py", "new.py"), ("poems/__init__.py", "poems/")])
def test_a_file_or_folder_without_a_row_is_found(made_up: Path, added: str, expected: str) -> None:
    (made_up / added).parent.mkdir(exist_ok=True)
    (made_up / added).touch()
    assert problems_of_card(made_up, made_up.parent) == [f"no row: {expected}"]


def test_a_row_for_a_file_that_is_gone_is_found(made_up: Path) -> None:
    (made_up / "names.py").unlink()
    assert problems_of_card(made_up, made_up.parent) == ["no such file: names.py"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("| letters/ |", "| letters/, greet.py |", "2 rows: greet.py"),
        ("| greet.py, names.py |", "| greet.py, names.py, greet.py |", "2 rows: greet.py"),
        ("beside greet.py", "beside great.py", "no such file: great.py"),
        ("| longer texts |", "| |", "a row needs two cells: ['letters/', '']"),
        (TABLE, "", f"one table is expected, which begins with {TABLE!r}"),
    ],
)
def test_a_card_that_is_wrong_is_found(made_up: Path, old: str, new: str, expected: str) -> None:
    assert CARD.count(old) == 1
    _write_card(made_up, CARD.replace(old, new))
    assert problems_of_card(made_up, made_up.parent) == [expected]


def test_a_file_that_only_a_sentence_names_has_no_row(made_up: Path) -> None:
    _write_card(made_up, CARD.replace("| greet.py, names.py |", "| names.py |"))
    assert problems_of_card(made_up, made_up.parent) == ["no row: greet.py"]
