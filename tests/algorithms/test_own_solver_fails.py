"""A solver of one's own that fails is tried before anything is spent, and named wherever the release speaks of itself."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dpopt
from dpopt.errors import AccuracyWarning, PlanError
from dpopt.programs import Capability
from dpopt.solvers import registry
from tests.cli.command_line import call
from tests.own_solvers import Mine, OwnSolver, raising

SCHEMA = dpopt.Schema(tuple(dpopt.Attribute(name, dpopt.AttributeKind.BOOLEAN) for name in "abc"))
TABLE = pd.DataFrame({"a": [True, False] * 500, "b": [True] * 1000, "c": [False] * 1000})
KINDS = [frozenset({Capability.LP, Capability.MIP}), frozenset({Capability.MAX_CSP, Capability.RULES})]


FAILURES = {
    "TypeError: my bug at line 12": raising(TypeError("my bug at line 12")),
    "SystemExit: 3": raising(SystemExit(3)),
    "NoneType": lambda program: None,
}


@pytest.mark.parametrize(
    ("words", "algorithm", "capabilities"),
    [*((words, dpopt.DualQuery, kind) for words in FAILURES for kind in KINDS), ("SystemExit: 3", dpopt.FEM, KINDS[1])],
)
def test_a_failing_solver_is_told_of_everywhere(
    words: str, algorithm: type[dpopt.DualQuery | dpopt.FEM], capabilities: frozenset[Capability], tmp_path: Path
) -> None:
    chosen = algorithm(solver=Mine(FAILURES[words], capabilities), rounds=5)
    with pytest.warns(AccuracyWarning, match="tried on") as caught:
        made = dpopt.release(
            TABLE, SCHEMA, "marginals:2", out=tmp_path / "r", algorithm=chosen, epsilon=1, delta=1e-6, n0=1000, predict=False
        )  # fmt: skip
    assert any(words in str(one.message) for one in caught)
    assert "the fallback answered" in repr(made)
    readme = " ".join((tmp_path / "r" / "README.txt").read_text().split())
    assert "the fallback answered, a short local search" in readme
    assert "the fallback answered" in made.report()
    assert sum("the fallback answered" in str(one.message) for one in caught) == 1
    if algorithm is dpopt.DualQuery:
        certificates = made.statement["certificates"]
        (reason,) = certificates["fallback_reasons"]
        assert reason.endswith(f"({words.partition(':')[0]})")  # its type, and none of its words, which may hold paths
        assert certificates["fallbacks"] > 0
        assert certificates["rounds_with_a_bound_reported_by_the_solver"] == 0
        assert {done.solver.split()[0] for done in made.played} <= {"local-search", "settled"}


def test_the_failure_is_known_before_anything_is_made(tmp_path: Path) -> None:
    """As an error, the warning ends the run: no folder is there."""
    mine = Mine(FAILURES["SystemExit: 3"], KINDS[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        with pytest.raises(AccuracyWarning, match="SystemExit: 3"):
            dpopt.release(
                TABLE, SCHEMA, "marginals:2", out=tmp_path / "r", epsilon=1, delta=1e-6, predict=False,
                algorithm=dpopt.DualQuery(solver=mine),
            )  # fmt: skip
    assert not (tmp_path / "r").exists()


def tired(folder: Path | None, algorithm: type[dpopt.DualQuery | dpopt.FEM]) -> dpopt.SyntheticRelease:
    chosen = algorithm(solver=OwnSolver(1), rounds=5)
    return dpopt.release(
        TABLE, SCHEMA, "marginals:2", out=folder, algorithm=chosen, epsilon=1, delta=1e-6, n0=1000, predict=False,
        progress=False,
    )  # fmt: skip


@pytest.mark.parametrize("algorithm", [dpopt.DualQuery, dpopt.FEM])
@pytest.mark.parametrize("kept", [True, False])
def test_a_failure_after_the_trial_is_warned_of_once_when_all_is_on_file(
    kept: bool, algorithm: type[dpopt.DualQuery | dpopt.FEM], tmp_path: Path
) -> None:
    """As an error the warning ends the call, and the release is whole; one that is nowhere on file is returned."""
    folder = tmp_path / "r" if kept else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = tired(folder, algorithm)
    (told,) = [one for one in caught if issubclass(one.category, AccuracyWarning)]
    assert "the fallback answered" in str(told.message)
    assert told.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        if folder is None:
            with pytest.MonkeyPatch.context() as patched:
                shown: list[str] = []
                patched.setattr(warnings, "showwarning", lambda message, *_, **__: shown.append(str(message)))
                assert len(tired(None, algorithm).to_pandas()) == len(made.to_pandas())
            assert sum("the fallback answered" in one for one in shown) == 1
            return
        with pytest.raises(AccuracyWarning, match="the fallback answered"):
            tired(tmp_path / "again", algorithm)
    assert {path.name for path in (tmp_path / "again").iterdir()} == {path.name for path in folder.iterdir()}
    again = dpopt.replay(tmp_path / "again", tmp_path / "replayed")
    assert again.statement["records"] == json.loads((tmp_path / "again" / "release.json").read_text())["records"]


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_the_shell_warns_once_also_where_it_is_quiet(
    quiet: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, named = OwnSolver(1), registry._named
    monkeypatch.setattr(registry, "_named", lambda name: mine if name == "cp-sat" else named(name))
    SCHEMA.write(tmp_path / "schema.json")
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    done = call(
        "release", tmp_path / "t.csv", "--schema", tmp_path / "schema.json", "-o", tmp_path / "r", "--workload", "marginals:2",
        "--algorithm", "dualquery", "--solver", "cp-sat", "--rounds", 5,
        "--epsilon", 1, "--delta", 1e-6, "--n0", 1000, "--no-predict", *quiet,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    told = " ".join((done.stdout + done.stderr).split())
    assert told.count("the fallback answered") == told.count("warning: In ") == 1


@pytest.mark.parametrize("wrong", [{"name": None}, {"name": 3}, {"capabilities": None}, {"capabilities": "max-csp"}])
def test_what_is_no_solver_is_refused_before_it_is_tried(wrong: dict[str, Any], tmp_path: Path) -> None:
    given = {"act": raising(TypeError()), "capabilities": KINDS[1], **wrong}
    with warnings.catch_warnings(action="error"), pytest.raises(PlanError, match="a name, which is a text, and a set"):
        dpopt.release(
            TABLE, SCHEMA, out=tmp_path / "r", algorithm=dpopt.DualQuery(solver=Mine(**given)), epsilon=1, n0=1000
        )
    assert not (tmp_path / "r").exists()
