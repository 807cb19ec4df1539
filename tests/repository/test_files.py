"""What may stand in the repository: no large files, no paths of someone's machine, nothing unfinished."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

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
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def test_no_file_is_larger_than_a_megabyte(files: list[Path]) -> None:
    assert [path for path in files if path.stat().st_size > LARGEST] == []


def test_no_file_names_a_path_of_someones_machine(files: list[Path]) -> None:
    found = [
        f"{path.name}: {match.group()}" for path in files for match in MACHINE_PATH.finditer(_text(path))
    ]
    assert found == []


def test_no_file_holds_a_mark_of_a_merge_or_of_work_to_do(files: list[Path]) -> None:
    mark = re.compile("<" * 7 + " |" + ">" * 7 + r" |\b(" + "FIX" + "ME|TO" + "DO|X" + r"XX)\b")
    assert [f"{path.name}: {m.group()}" for path in files for m in mark.finditer(_text(path))] == []


def test_every_text_ends_with_one_newline_and_has_no_trailing_blanks(files: list[Path]) -> None:
    texts = [
        path for path in files if path.suffix in {".md", ".py", ".toml"} or path.name in {"check", "run"}
    ]
    bad = [
        path.name
        for path in texts
        if _text(path) and (not _text(path).endswith("\n") or _text(path).endswith("\n\n"))
    ]
    blanks = [path.name for path in texts if re.search(r"[ \t]+$", _text(path), re.MULTILINE)]
    assert (bad, blanks) == ([], [])
