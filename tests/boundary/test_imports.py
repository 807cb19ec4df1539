"""Every import of dpopt, inside and outside, is one that the table of rooms in ARCHITECTURE.md allows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grimp
import pytest

from dpopt.solvers.registry import SOLVERS
from tests.boundary.test_bans import BANS, HEAVY
from tests.source_code import SOURCE, SourceFile, covers, imported_names, nodes, source_files

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


# The contracts in pyproject.toml leave no room out, say the same as the tests, and break when they are broken.

ROOMS = {f"dpopt.{file.room}" for file in source_files() if file.room}

# Contract -> the rooms that it does not bind.
UNBOUND = {
    "Nothing that asks, accounts or optimizes reaches the records": {
        "dpopt.__main__",
        "dpopt.algorithms",
        "dpopt.cli",
        "dpopt.comparison",  # runs releases
        "dpopt.private",
        "dpopt.releases",
        "dpopt.reports",  # asks for judgements
        "dpopt.studio",  # asks the root, as users do
        "dpopt.synopses",
    },
    "The private side reaches no optimization room": ROOMS - {"dpopt.private"},
    "Solver libraries are imported in dpopt.solvers alone": {"dpopt.solvers"},
    "Tables are read on the private side alone": {"dpopt.private"},
    "Processes of a cluster are reached from the private side alone": {"dpopt.private"},
    "Terminal libraries are imported in dpopt.cli alone": {"dpopt.__main__", "dpopt.cli"},
}


@pytest.fixture(scope="module")
def tools(checkout: Path) -> dict[str, Any]:
    document = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))
    tool: dict[str, Any] = document["tool"]
    return tool


def _contracts(tools: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    return {c["name"]: c for c in tools["importlinter"]["contracts"] if c["type"] == kind}


def test_each_contract_binds_every_room_but_those_it_is_not_for(tools: dict[str, Any]) -> None:
    bound = {name: set(c["source_modules"]) for name, c in _contracts(tools, "forbidden").items()}
    assert bound == {name: ROOMS - unbound for name, unbound in UNBOUND.items()}


def test_type_checking_imports_count(tools: dict[str, Any]) -> None:
    assert tools["importlinter"]["exclude_type_checking_imports"] is False


def test_the_linter_bans_what_the_tests_ban(tools: dict[str, Any]) -> None:
    rules = tools["ruff"]["lint"]["flake8-tidy-imports"]
    assert set(rules["banned-api"]) <= set(BANS)
    assert set(rules["banned-module-level-imports"]) <= set(HEAVY)


def test_every_solver_is_bound_to_know_no_other(tools: dict[str, Any]) -> None:
    adapters = {entry.path.partition(":")[0] for entry in SOLVERS.values()}
    (contract,) = _contracts(tools, "independence").values()
    assert set(contract["modules"]) == adapters


FORBIDDEN = [
    ("private/curators/door.py", "dpopt.solvers.registry", "The private side reaches no optimization room"),
    ("programs/max_csp.py", "dpopt.algorithms", "The rooms are layered and data flow one way"),
    ("solvers/registry.py", "dpopt.private", "Only drivers and the command line hold the curator"),
    ("algorithms/plan.py", "ortools", "Solver libraries are imported in dpopt.solvers alone"),
    ("cli/commands/plan.py", "pandas", "Tables are read on the private side alone"),
    ("schema/schema.py", "rich", "Terminal libraries are imported in dpopt.cli alone"),
    ("solvers/local_search/search.py", "dpopt.solvers.cp_sat", "Solvers do not know each other"),
    ("errors.py", "dpopt.schema.schema", "The rooms are layered and data flow one way"),
    ("newroom.py", "", "The rooms are layered and data flow one way"),
]
"""A file, what it must not import, and the contract that this breaks; or a file that no contract knows."""


def test_each_forbidden_import_breaks_its_contract(checkout: Path, tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path / "dpopt", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(checkout / "pyproject.toml", tmp_path)
    for file, imported, _ in FORBIDDEN:
        with (tmp_path / "dpopt" / file).open("a", encoding="utf-8") as source:
            source.write(f"\nif True:\n    import {imported}\n" if imported else "\n")
    command = [str(Path(sysconfig.get_path("scripts")) / "lint-imports"), "--no-cache"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(tmp_path)}
    )
    assert done.returncode == 1
    # Each broken contract is a heading, underlined, and what breaks it.
    titles = re.split(r"\n(.+)\n-{3,}\n", done.stdout)
    broken = dict(zip(titles[1::2], (" ".join(text.split()) for text in titles[2::2]), strict=True))
    for file, imported, contract in FORBIDDEN:
        module = "dpopt." + file.removesuffix(".py").replace("/", ".")
        assert f"{module} -> {imported} (l." in broken[contract] or f"- {module} (" in broken[contract], done.stdout
