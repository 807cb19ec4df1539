"""What the code imports and what pyproject.toml declares are the same; upper bounds have reasons."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from tests.source_code import imported_names, parse, source_files

# Installed together with another library, as a part of it.
PARTS = {"llvmlite": "numba"}


@pytest.fixture(scope="module")
def project(checkout: Path) -> dict[str, Any]:
    return tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))


def _name(requirement: str) -> str:
    return re.split(r"[<>=!~\[; ]", requirement, maxsplit=1)[0].lower()


def _extras(project: dict[str, Any]) -> list[str]:
    """Return what the extras bring that are not for the tests: libraries that the code uses where they are there."""
    extras = project["project"]["optional-dependencies"]
    return [item for name, extra in extras.items() if name != "test" for item in extra]


def _outside(trees: list[Any]) -> set[str]:
    """Return the distributions whose modules are imported."""
    modules = {name.split(".")[0] for tree in trees for name, _ in imported_names(tree)}
    modules -= {*sys.stdlib_module_names, "dpopt", "experiments", "tests"}
    distributions = packages_distributions()
    return {distributions[module][0].lower() for module in (PARTS.get(name, name) for name in modules)}


def test_the_dependencies_are_what_the_code_imports(project: dict[str, Any]) -> None:
    declared = {_name(requirement) for requirement in project["project"]["dependencies"]}
    optional = {_name(requirement) for requirement in _extras(project)}
    assert declared.isdisjoint(optional)
    assert declared | optional == _outside([file.tree for file in source_files()])


def test_the_extra_of_the_tests_brings_every_other_extra(project: dict[str, Any]) -> None:
    assert _extras(project)
    assert set(_extras(project)) <= set(project["project"]["optional-dependencies"]["test"])


def test_what_the_tests_import_is_declared(project: dict[str, Any], checkout: Path) -> None:
    declared = {_name(requirement) for requirement in project["project"]["dependencies"]}
    declared |= {_name(requirement) for requirement in project["project"]["optional-dependencies"]["test"]}
    assert _outside([parse(path) for path in (checkout / "tests").rglob("*.py")]) <= declared


def test_each_dependency_has_a_lower_bound(project: dict[str, Any]) -> None:
    extras = project["project"]["optional-dependencies"].values()
    requirements = [*project["project"]["dependencies"], *(item for extra in extras for item in extra)]
    assert [item for item in requirements if ">=" not in item] == []


def test_each_upper_bound_has_its_reason_above_it(checkout: Path) -> None:
    lines = (checkout / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    bounded = [i for i, line in enumerate(lines) if re.fullmatch(r'\s*"[\w-]+>=[\d.]+,<[\d.]+",?', line)]
    assert bounded
    assert [lines[i] for i in bounded if not lines[i - 1].strip().startswith("#")] == []
