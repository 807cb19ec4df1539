"""The package: its files, what it needs, the Pythons it supports, and a wheel that installs dpopt and nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from email import message_from_bytes
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

import dpopt
from tests.source_code import copy_kernels, imported_names, nodes, parse, source_files

LARGEST = 1_000_000  # bytes


# Paths of one machine. Written in two parts so that this file does not find itself.
MACHINE_PATH = re.compile(r"(?<![\w.~-])/" + r"(home|root|Users|opt|mnt|work|scratch|tmp)/\w")


@pytest.fixture(scope="module")
def files(checkout: Path) -> list[Path]:
    """Return every file of the checkout that is tracked or would be."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        output = subprocess.run(command, cwd=checkout, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    paths = [checkout / name for name in output.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


def _text(path: Path) -> str:
    """Return a text, without the pictures of a notebook; nothing for a file that is none."""
    try:
        return re.sub(r'"image/png": "[^"]*"', "", path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        return ""


def test_no_file_is_larger_than_a_megabyte(files: list[Path]) -> None:
    assert [path for path in files if path.stat().st_size > LARGEST] == []


def test_no_file_names_a_path_of_someones_machine(files: list[Path]) -> None:
    found = [f"{path.name}: {match.group()}" for path in files for match in MACHINE_PATH.finditer(_text(path))]
    assert found == []


def test_no_file_holds_a_mark_of_a_merge_or_of_work_to_do(files: list[Path]) -> None:
    mark = re.compile("<" * 7 + " |" + ">" * 7 + r" |\b(" + "FIX" + "ME|TO" + "DO|X" + r"XX)\b")
    assert [f"{path.name}: {m.group()}" for path in files for m in mark.finditer(_text(path))] == []


def test_every_text_ends_with_one_newline_and_has_no_trailing_blanks(files: list[Path]) -> None:
    texts = [path for path in files if path.suffix in {".md", ".py", ".toml"} or path.name in {"check", "run"}]
    bad = [
        path.name for path in texts if _text(path) and (not _text(path).endswith("\n") or _text(path).endswith("\n\n"))
    ]
    blanks = [path.name for path in texts if re.search(r"[ \t]+$", _text(path), re.MULTILINE)]
    assert (bad, blanks) == ([], [])


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


@cache
def _distributions() -> Mapping[str, list[str]]:
    """Return the distributions of each module that is installed; looking them up takes a second."""
    return packages_distributions()


def _outside(trees: list[Any]) -> set[str]:
    """Return the distributions whose modules are imported."""
    modules = {name.split(".")[0] for tree in trees for name, _ in imported_names(nodes(tree))}
    modules -= {*sys.stdlib_module_names, "docs", "dpopt", "experiments", "tests"}
    distributions = _distributions()
    return {distributions[module][0].lower() for module in (PARTS.get(name, name) for name in modules)}


def test_the_dependencies_are_what_the_code_imports(project: dict[str, Any]) -> None:
    declared = {_name(requirement) for requirement in project["project"]["dependencies"]}
    pages = {_name(requirement) for requirement in project["project"]["optional-dependencies"]["docs"]}
    optional = {_name(requirement) for requirement in _extras(project)} - pages
    assert declared.isdisjoint(optional)
    assert declared | optional == _outside([file.tree for file in source_files()])


def test_the_extra_of_the_documents_is_what_their_site_is_made_of(project: dict[str, Any], checkout: Path) -> None:
    declared = {_name(requirement) for requirement in project["project"]["optional-dependencies"]["docs"]}
    paths = [checkout / "docs" / name for name in ("conf.py", "formulas.py")]
    conf = paths[0].read_text(encoding="utf-8")
    imported = {name for name in declared if f'"{name.replace("-", "_")}"' not in conf}
    assert imported == {"sphinx", "latex2mathml"}
    assert imported <= _outside([parse(path) for path in paths])


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


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_exactly_the_files_of_dpopt(wheel: zipfile.ZipFile, checkout: Path) -> None:
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    folder = checkout / "dpopt"
    source = {
        path.relative_to(checkout).as_posix()
        for pattern in ("**/*.py", "__init__.pyi", "html_pages/*.html", "html_pages/studio_steps.*", "cli/*.mplstyle")
        for path in folder.glob(pattern)
    }
    listed = subprocess.run(["git", "ls-files", "models", "experiments"], cwd=checkout, check=True, capture_output=True)
    names = [name for name in listed.stdout.decode().split() if not name.endswith((".svg", ".png"))]
    pages = {f"dpopt/pages/{name.removeprefix('models/')}" for name in names if name.startswith("models/")}
    experiments = {f"dpopt/papers/{name}" for name in names if name.startswith("experiments/")}
    assert len(experiments) > 100
    assert packed == source | pages | experiments | {"dpopt/py.typed"}
    assert sum(one.compress_size for one in wheel.infolist()) < 4_000_000


@pytest.fixture(scope="module")
def installed(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    wheel.extractall(folder)
    copy_kernels(folder / "dpopt")
    return folder


def test_pages_and_instances_are_found_outside_a_checkout(installed: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(installed)}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "dpopt", "model", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
        return done.stdout.decode()

    shown = json.loads(run("show", "isotonic_regression", "--page", "--json"))
    assert [Path(name).is_relative_to(installed) and Path(name).exists() for name in shown["beside"]] == [True] * 2
    assert {Path(name).suffix for name in shown["beside"]} == {".py", ".ipynb"}
    assert shown["text"].startswith("# Isotonic regression")
    listed = next(one for one in json.loads(run("list", "--json"))["models"] if one["name"] == "best_response")
    assert "worked-example" in listed["instances"]
    solved = json.loads(run("solve", "best_response", "--instance", "worked-example", "--json"))
    assert solved["termination"] == "optimal"


def test_a_figure_is_reproduced_outside_a_checkout(installed: Path, tmp_path: Path) -> None:
    """Also where the folder at hand has experiments of its own."""
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "reproduce.py").write_text("raise SystemExit(9)")
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    environment.pop("DPOPT_DATA", None)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-m", "dpopt", "reproduce", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, check=False, capture_output=True, encoding="utf-8"
        )

    assert "| dualquery:figure3 |" in run("--list").stdout
    done = run("learning:theorem7.3", "-o", "made")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "# Theorem 7.3 of Blum, Ligett and Roth (2013)\n\n| what | paper | ours, kept | agree |"
    )
    assert {"README.md", "two_neighbours.svg"} < {path.name for path in (tmp_path / "made").iterdir()}
    missing = run("dualquery:figure5", "--full", "-o", "full")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "set DPOPT_DATA to their folder" in missing.stderr
    assert not (tmp_path / "full").exists()


def test_the_wheel_holds_the_licence(wheel: zipfile.ZipFile, checkout: Path) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("/LICENSE"))
    assert wheel.read(name) == (checkout / "LICENSE").read_bytes()
    assert b"Apache License" in wheel.read(name)


def test_the_wheel_says_the_version_of_the_package(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = message_from_bytes(wheel.read(name))
    assert metadata["Version"] == dpopt.__version__
    assert metadata["License-Expression"] == "Apache-2.0"


def test_the_wheel_installs_the_command(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("/entry_points.txt"))
    assert "dpopt = dpopt.cli.main:main" in wheel.read(name).decode()
