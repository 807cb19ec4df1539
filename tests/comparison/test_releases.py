"""Whole releases of a public table, side by side: one line for each solver, by common random numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dpopt
from dpopt.errors import PlanError
from tests.algorithms.small_runs import ROWS, SCHEMA, small_release, write_table
from tests.own_solvers import Mine, OwnSolver, raising

ASKED: Any = {"rounds": 5, "draws": 30, "step": 2.0, "n0": ROWS, "predict": False}


def planned(**changes: Any) -> Any:
    return dpopt.plan(SCHEMA, "marginals:2", algorithm="dualquery", **{**ASKED, **changes})


def without_times(rows: list[Any]) -> list[Any]:
    left_out = {"solver", "compared", "seconds", "solver_seconds", "answered_by"}
    return [{name: value for name, value in row.items() if name not in left_out} for row in rows]


def test_solvers_with_the_same_records_have_the_same_line(tmp_path: Path) -> None:
    found = dpopt.compare_releases(planned(), write_table(tmp_path), ["local-search", OwnSolver()], seed=1)
    assert found.to_pandas().solver.tolist() == ["local-search", "mine"]
    ours, theirs = without_times(found.rows)
    assert ours == theirs
    half = len(found.rounds) // 2
    assert half == ours["rounds"] == ASKED["rounds"]
    assert without_times(found.rounds[:half]) == without_times(found.rounds[half:])
    assert found.to_json()["private"] is False
    assert "not private" in repr(found)


def test_the_error_is_that_of_the_release_by_the_same_seed(tmp_path: Path) -> None:
    table = write_table(tmp_path)
    found = dpopt.compare_releases(planned(), table, "local-search", seed=3)
    own: Any = {"algorithm": dpopt.DualQuery(rounds=5, draws=30, step=2.0, solver="local-search", seed=3)}
    made = dpopt.release(table, SCHEMA, "marginals:2", **own, n0=ROWS, weights=True, predict=False, public_table=True)
    errors = dpopt.evaluate(made, table)
    assert made.rounds.value.tolist() == [row["value"] for row in found.rounds]
    assert found.rows[0]["max_error"] == pytest.approx(errors.max_error)
    assert found.rows[0]["mean_error"] == pytest.approx(errors.mean_error)
    assert [row["rounds"] for row in found.errors] == [1, 2, 3, 4, 5]


def test_means_are_of_all_rounds_and_the_fallback_is_counted(tmp_path: Path) -> None:
    failing = Mine(raising(ValueError("tired")))
    found = dpopt.compare_releases(planned(), write_table(tmp_path), ["local-search", failing], seed=1)
    good, failed = found.rows
    assert (good["fallbacks"], failed["fallbacks"]) == (0, 5)
    rounds = [row for row in found.rounds if row["compared"] == "local-search"]
    for name in ("value", "proven_bound", "gap"):
        assert good[name] == pytest.approx(sum(row[name] / 30 for row in rounds) / 5)


def test_a_release_is_played_again_with_the_number_of_records_that_it_measured(tmp_path: Path) -> None:
    table = write_table(tmp_path)
    how: Any = {"algorithm": "dualquery", "rounds": 3, "epsilon": 5, "delta": 1e-3, "predict": False}
    dpopt.release(table, SCHEMA, "marginals:2", out=tmp_path / "run", **how)
    before = {path: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    found = dpopt.compare_releases(tmp_path / "run", table, "local-search")
    assert found.rows[0]["rounds"] == 3
    assert {path: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before
    assert dpopt.compare_releases(small_release(), table, "local-search").rows[0]["rounds"] == 6


@pytest.mark.parametrize(
    ("solvers", "changes", "message"),
    [
        ("", {}, "name solvers, each once"),
        ("local-search,local-search", {}, "name solvers, each once"),
        ("local-search", {"n0": None, "n": ROWS, "epsilon": 5, "delta": 1e-3}, "add-remove needs a fixed public n0"),
    ],
)
def test_what_cannot_be_compared_is_refused(tmp_path: Path, solvers: str, changes: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        dpopt.compare_releases(planned(**changes), write_table(tmp_path), solvers)


def test_other_algorithms_are_refused(tmp_path: Path) -> None:
    other = dpopt.plan(SCHEMA, "marginals:2", algorithm="noise", epsilon=1, n0=ROWS, predict=False)
    with pytest.raises(PlanError, match="dualquery"):
        dpopt.compare_releases(other, write_table(tmp_path), "local-search")
