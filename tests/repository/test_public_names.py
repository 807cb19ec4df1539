"""The face of the package: complete, in step with what type checkers see, and light to import."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

import dpopt
from tests.source_code import parse

HEAVY = (
    "cvxpy", "highspy", "matplotlib", "numba", "opendp", "ortools", "pandas", "pulp", "pyarrow", "rich", "scipy",
    "typer",
)  # fmt: skip
ROOMS = sorted(module.name for module in pkgutil.iter_modules(dpopt.__path__) if not module.name.startswith("_"))


def loaded_after(code: str, folder: Path) -> set[str]:
    """Return the heavy libraries that a fresh interpreter has loaded after running `code`."""
    program = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    output = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    modules = json.loads(output.splitlines()[-1])
    return {name for name in HEAVY if name in modules} | {name for name in ("scipy.optimize",) if name in modules}


@pytest.mark.parametrize("name", dir(dpopt))
def test_each_public_name_can_be_imported(name: str) -> None:
    assert getattr(dpopt, name) is not None


@pytest.mark.parametrize("name", sorted(set(dir(dpopt)) - {"__version__"}))
def test_each_public_name_has_a_docstring_with_an_example_of_its_use(name: str) -> None:
    """`tests/repository/test_documents.py` runs the examples."""
    called = [line for line in getattr(dpopt, name).__doc__.splitlines() if ">>>" in line or "..." in line]
    made = isinstance(getattr(dpopt, name), type)  # a value may be made by a function
    assert any(made or name in line for line in called)


def test_each_public_method_is_called_in_an_example_of_its_own_or_of_its_class() -> None:
    missing = set()
    for kind in (one for name in dir(dpopt) if isinstance(one := getattr(dpopt, name), type)):
        bases = [base for base in kind.__mro__ if base.__module__.startswith("dpopt.")]
        for base in bases:
            for name, held in vars(base).items():
                function = getattr(held, "__func__", held)
                if name.startswith("_") or not isinstance(function, property | FunctionType):
                    continue
                texts = [function.__doc__ or "", *(one.__doc__ or "" for one in bases)]
                lines = [line for text in texts for line in text.splitlines() if ">>>" in line or "... " in line]
                if not any(f".{name}" in line for line in lines):
                    missing.add(f"{base.__name__}.{name}")
    assert missing == set()


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="public"):
        getattr(dpopt, "no_such_name")  # noqa: B009  type checkers know that there is none


def test_type_checkers_see_the_same_public_names(checkout: Path) -> None:
    stub = parse(checkout / "dpopt" / "__init__.pyi")
    seen = [alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert seen == list(dict.fromkeys(seen))
    assert sorted(seen) == sorted(dpopt.__dict__["__all__"]) == dir(dpopt)


def test_the_rooms_can_be_reached_from_the_package() -> None:
    assert [getattr(dpopt, room).__name__ for room in ROOMS] == [f"dpopt.{room}" for room in ROOMS]
    assert dpopt.errors.DpoptError is dpopt.DpoptError


def test_the_package_and_each_room_name_themselves_in_the_docstring() -> None:
    text = dpopt.__doc__ or ""
    assert [room for room in ROOMS if f"\n{room} " not in text] == []


@pytest.mark.parametrize("room", ROOMS)
def test_each_room_has_a_card(room: str) -> None:
    module = importlib.import_module(f"dpopt.{room}")
    assert len((module.__doc__ or "").splitlines()) >= 3


def test_importing_dpopt_loads_no_heavy_library(tmp_path: Path) -> None:
    assert loaded_after("import dpopt; dir(dpopt)", tmp_path) == set()


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "cli"])
def test_importing_a_room_loads_no_heavy_library(room: str, tmp_path: Path) -> None:
    allowed = {"accounting": {"scipy"}, "compilation": {"numba", "scipy"}}.get(room, set())
    assert loaded_after(f"import dpopt.{room}", tmp_path) <= allowed


def test_asking_the_command_for_help_loads_terminal_libraries_only(tmp_path: Path) -> None:
    assert loaded_after("import dpopt.cli.main", tmp_path) <= {"rich", "typer"}
