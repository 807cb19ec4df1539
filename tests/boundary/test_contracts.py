"""The contracts in pyproject.toml leave no room out, say the same as the tests, and break when they are broken."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dpopt.solvers.registry import SOLVERS
from tests.boundary.test_bans import BANS, HEAVY
from tests.source_code import SOURCE, source_files

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
