"""Every import of dpopt, inside and outside, is one that the table of rooms in ARCHITECTURE.md allows."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import grimp
import pytest

from tests.source_code import SourceFile, covers, imported_names, nodes, source_files

SOLVER_LIBRARIES = ("cvxpy", "highspy", "ortools", "pulp", "scipy.optimize")
FILES = source_files()


@dataclass(frozen=True, slots=True)
class Room:
    """A row of the table."""

    name: str
    rooms: frozenset[str]
    libraries: frozenset[str]


def read_rooms(text: str) -> dict[str, Room]:
    """Return the table of rooms in ARCHITECTURE.md."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| room |"))
    header = [cell.strip() for cell in lines[start].strip("|").split("|")]
    assert header == ["room", "takes", "gives", "may import (inside dpopt)", "outside libraries"]
    rooms = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        name = cells[0].strip("`")
        rooms[name] = Room(name, _names(cells[3]), _names(cells[4]))
    return rooms


def _names(cell: str) -> frozenset[str]:
    return frozenset() if cell == "–" else frozenset(name.strip() for name in cell.split(","))


@pytest.fixture(scope="module")
def rooms(checkout: Path) -> dict[str, Room]:
    return read_rooms((checkout / "ARCHITECTURE.md").read_text(encoding="utf-8"))


def test_the_table_of_rooms_lists_exactly_the_rooms_there_are(rooms: dict[str, Room]) -> None:
    assert set(rooms) == {file.room for file in FILES} - {""}


def test_the_table_names_only_rooms_that_exist(rooms: dict[str, Room]) -> None:
    for room in rooms.values():
        assert room.rooms <= set(rooms), room.name


def test_the_table_has_no_cycle(rooms: dict[str, Room]) -> None:
    remaining = dict(rooms)
    while remaining:
        free = [name for name, room in remaining.items() if not room.rooms & set(remaining)]
        assert free, f"these rooms may import each other in a circle: {sorted(remaining)}"
        for name in free:
            del remaining[name]


def test_each_import_between_rooms_is_in_the_table(rooms: dict[str, Room]) -> None:
    graph = grimp.build_graph("dpopt", exclude_type_checking_imports=False, cache_dir=None)
    found = [
        (importer, imported)
        for importer in sorted(graph.modules)
        for imported in sorted(graph.find_modules_directly_imported_by(importer))
    ]
    assert len(found) > 10
    forbidden = [
        f"{importer} imports {imported}"
        for importer, imported in found
        if importer != "dpopt" and not _is_allowed(importer, imported, rooms)
    ]
    assert not forbidden


def _is_allowed(importer: str, imported: str, rooms: dict[str, Room]) -> bool:
    home = importer.split(".")[1]
    if imported == "dpopt":  # the version, and public names; the root itself loads nothing
        return home in {"algorithms", "comparison", "studio", "cli"}
    other = imported.split(".")[1]
    return other == home or other in rooms[home].rooms


def test_each_outside_library_is_in_the_table(rooms: dict[str, Room]) -> None:
    forbidden = [
        f"{file.path}:{line} imports {name}"
        for file in FILES
        for name, line in imported_names(nodes(file.tree))
        if name.split(".")[0] not in {*sys.stdlib_module_names, "dpopt"}
        and not any(covers(library, name) for library in _libraries(file, rooms))
    ]
    assert forbidden == []


def _libraries(file: SourceFile, rooms: dict[str, Room]) -> frozenset[str]:
    return rooms[file.room].libraries if file.room else frozenset()


def test_a_file_of_solvers_knows_at_most_one_solver_library() -> None:
    for file in FILES:
        known = {
            library
            for name, _ in imported_names(nodes(file.tree))
            for library in SOLVER_LIBRARIES
            if covers(library, name)
        }
        assert len(known) <= 1, file.path


def test_a_table_is_read_as_written() -> None:
    header = "| room | takes | gives | may import (inside dpopt) | outside libraries |\n|-|-|-|-|-|\n"
    text = f"before\n{header}| `a` | x | y | b, c | – |\nafter"
    assert read_rooms(text) == {"a": Room("a", frozenset({"b", "c"}), frozenset())}
