"""The supported versions of Python are the same wherever they are written."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def project(checkout: Path) -> dict[str, Any]:
    return tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))


def _oldest(project: dict[str, Any]) -> str:
    text: str = project["project"]["requires-python"]
    return text.removeprefix(">=")


def test_classifiers_begin_with_the_oldest_supported_version(project: dict[str, Any]) -> None:
    prefix = "Programming Language :: Python :: 3."
    versions = [c.removeprefix(prefix) for c in project["project"]["classifiers"] if c.startswith(prefix)]
    assert versions == sorted(versions, key=int)
    assert f"3.{versions[0]}" == _oldest(project)


def test_the_linter_checks_for_the_oldest_supported_version(project: dict[str, Any]) -> None:
    assert project["tool"]["ruff"]["target-version"] == "py" + _oldest(project).replace(".", "")


def test_the_readme_names_the_oldest_supported_version(project: dict[str, Any], checkout: Path) -> None:
    assert f"Python {_oldest(project)}" in (checkout / "README.md").read_text(encoding="utf-8")


def test_this_interpreter_is_a_supported_one(project: dict[str, Any]) -> None:
    assert sys.version_info[:2] >= tuple(int(part) for part in _oldest(project).split("."))
