"""The wheel installs dpopt and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import dpopt


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_exactly_the_files_of_dpopt(wheel: zipfile.ZipFile, checkout: Path) -> None:
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    source = {path.relative_to(checkout).as_posix() for path in (checkout / "dpopt").rglob("*.py")}
    assert packed == source | {"dpopt/py.typed"}


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
