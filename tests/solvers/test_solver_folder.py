"""Folders of solvers: whose process is gone is removed, and nothing else."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
from pathlib import Path

import pytest

from dpopt.solvers.solver_folder import PREFIX, SolverFolder, remove_left_folders


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


def left(folder: Path, name: str = "left") -> Path:
    """Make what a killed process leaves."""
    made = folder / f"{PREFIX}{name}"
    (made / "glpk-x").mkdir(parents=True)
    made.chmod(0o700)
    (made / "glpk-x" / "model.mps").write_text("x")
    (made / "file").write_text("x")
    return made


def test_what_a_killed_process_left_is_removed(temporary: Path) -> None:
    left(temporary)
    remove_left_folders()
    assert list(temporary.iterdir()) == []


def test_the_folder_of_a_living_process_stays_until_it_is_removed(temporary: Path) -> None:
    folder = SolverFolder()
    Path(folder.path, "model.mps").write_text("x")
    remover = multiprocessing.get_context("spawn").Process(target=_remove_in, args=(str(temporary),))
    remover.start()
    remover.join()
    remove_left_folders()
    assert Path(folder.path, "model.mps").exists()
    folder.remove()
    assert list(temporary.iterdir()) == []


def _remove_in(folder: str) -> None:
    import tempfile

    tempfile.tempdir = folder
    remove_left_folders()


def test_links_are_not_followed_and_others_folders_stay(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir(mode=0o700)
    (precious / "file").write_text("x")
    (temporary / f"{PREFIX}link").symlink_to(precious)
    (left(temporary) / "inner").symlink_to(precious)
    left(temporary, "wide").chmod(0o755)  # mkdtemp makes none like it
    (temporary / f"{PREFIX}file").write_text("x")
    (temporary / "another").mkdir(mode=0o700)
    remove_left_folders()
    assert (precious / "file").exists()
    kept = {f"{PREFIX}link", f"{PREFIX}wide", f"{PREFIX}file", "another"}
    assert {path.name for path in temporary.iterdir()} == kept
    mine = left(temporary)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    remove_left_folders()
    assert mine.exists()


def test_a_folder_that_is_removed_while_it_is_made_is_made_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its making and its locking another process may take it for one that was left."""
    lock, made = fcntl.flock, list[Path]()

    def late(handle: int, how: int) -> None:
        if not made:
            made.extend(temporary.iterdir())
            made[0].rmdir()
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    folder = SolverFolder()
    assert list(temporary.iterdir()) == [Path(folder.path)] != made
    folder.remove()
