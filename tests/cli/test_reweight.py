"""`dpopt reweight` on a tiny transcript."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.algorithms.small_runs import small_release, write_table
from tests.cli.command_line import refuse, succeed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_release(tmp_path / "release")
    return tmp_path / "release"


def test_it_says_what_was_gained_and_where_it_is(folder: Path, tmp_path: Path) -> None:
    text = succeed("reweight", folder, "-o", tmp_path / "weighted")
    assert "log-likelihood of the draws:" in text
    assert "No privacy was spent" in text
    assert "NOT private" not in text
    assert sorted(path.name for path in (tmp_path / "weighted").iterdir()) == ["reweighting.json", "synthetic.csv"]


def test_a_comparison_with_the_table_is_marked_and_not_stored(folder: Path, tmp_path: Path) -> None:
    table = write_table(tmp_path)
    succeed("reweight", folder, "-o", tmp_path / "alone")
    text = succeed("reweight", folder, "-o", tmp_path / "compared", "--evaluate", table)
    assert "NOT private" in text
    assert "re-weighted" in text
    assert (tmp_path / "alone" / "reweighting.json").read_bytes() == (
        tmp_path / "compared" / "reweighting.json"
    ).read_bytes()


@pytest.mark.solver("clarabel")
def test_a_named_solver_is_stated(folder: Path, tmp_path: Path) -> None:
    text = succeed("reweight", folder, "-o", tmp_path / "weighted", "--solver", "clarabel", "--seconds", 60)
    assert "weights by clarabel" in text
    assert "--seconds is the time limit" in refuse("reweight", folder, "-o", tmp_path / "more", "--seconds", 9)
    assert "does not take convex programs" in refuse("reweight", folder, "-o", tmp_path / "more", "--solver", "cbc")


def test_bad_input_is_refused(folder: Path, tmp_path: Path) -> None:
    assert "not empty" in refuse("reweight", folder, "-o", folder)
    assert "number of rows" in refuse("reweight", folder, "-o", tmp_path / "weighted", "--rows", 0)
    assert "is not a release folder" in refuse("reweight", tmp_path / "none", "-o", tmp_path / "weighted")
    missing = ["--evaluate", tmp_path / "missing.csv"]
    assert "there is no file" in refuse("reweight", folder, "-o", tmp_path / "weighted", *missing)
    assert not (tmp_path / "weighted").exists()
