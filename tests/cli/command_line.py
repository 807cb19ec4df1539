"""Calling the command line in this process and in processes of its own."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import typer.testing
from filelock import FileLock
from typer.testing import CliRunner, Result

from dpopt.cli.application import application
from dpopt.cli.main import main
from dpopt.releases.public_population import demo_population
from tests.algorithms.small_runs import SCHEMA, write_table

assert callable(main)  # importing the module registers the commands
COMMAND = [sys.executable, "-m", "dpopt"]
FEW = 5_000
"""Made-up people, a tenth of those that `dpopt demo` invents."""
# The tree of commands is built once for all calls, and not for each: that takes longer than many a command.
typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]


def words(text: str) -> list[Any]:
    """Return the words of a text."""
    return text.split()


def call(command: object = "", *arguments: object) -> Result:
    """Call dpopt in this process; the command may have several words, options among them."""
    return CliRunner().invoke(application, [*str(command).split(), *map(str, arguments)])


def succeed(*arguments: object) -> str:
    """Call dpopt and return what it printed on standard output; it must end well."""
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def refuse(*arguments: object) -> str:
    """Call dpopt and return its message; it must end with exit code 2, one message and no traceback."""
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert "internal error" not in result.stderr
    return result.stderr


def told(*arguments: object) -> Any:
    """Call dpopt and return what it printed as JSON; it must end well."""
    return json.loads(succeed(*arguments, "--json"))


def flat(text: str) -> str:
    """Return a text in one line."""
    return " ".join(text.split())


def table_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def once(folder: Path, *arguments: object) -> tuple[str, Path]:
    """Call dpopt so that it makes a folder; return what it printed, and the folder.

    It is made by whoever asks first, and kept for all workers and all processes of a run of tests.
    """
    printed = folder.with_suffix(".txt")
    with FileLock(folder.with_suffix(".lock")):
        if not printed.exists():
            printed.write_text(succeed(*arguments), encoding="utf-8")
    return printed.read_text(encoding="utf-8"), folder


def demonstration(people: int = demo_population.PEOPLE) -> tuple[str, Path]:
    """Return what `dpopt demo --keep demo` printed, and the folder: of so many people."""
    folder = Path(os.environ["DPOPT_TESTS_FOLDER"]) / f"demo-{people}"
    with mock.patch.object(demo_population, "PEOPLE", people):
        return once(folder, "demo", "--keep", folder)


def start(*arguments: object) -> subprocess.Popen[str]:
    """Start dpopt as a process of its own."""
    return subprocess.Popen([*COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def inputs(folder: Path, *, rows: int = 200) -> tuple[Path, Path]:
    """Write a small table and its schema; return their paths."""
    SCHEMA.write(folder / "schema.json")
    return write_table(folder, rows=rows), folder / "schema.json"


def people(folder: Path) -> tuple[object, ...]:
    """Return the arguments for the table and the schema that `inputs` writes."""
    return folder / "people.csv", "--schema", folder / "schema.json"


def release_arguments(folder: Path, *more: object) -> list[object]:
    """Write a small table and schema, and return a quick release of it into folder/out."""
    table, schema = inputs(folder)
    budget = ["--algorithm", "dualquery", "--epsilon", "1e5", "--delta", "1e-6"]
    quick = [*budget, "--rounds", "5", "--draws", "8", "--no-predict"]
    where = ["--schema", schema, "--workload", "marginals:2", "--out", folder / "out"]
    return ["release", table, *where, *quick, *more]


def statement(folder: Path) -> dict[str, Any]:
    """Return what a finished release states."""
    found: dict[str, Any] = json.loads((folder / "release.json").read_text())
    return found
