"""The registry: names, order, what is missing and how to get it; nothing is imported before it is asked for."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dpopt.errors import SolverUnavailableError
from dpopt.programs import Availability, AvailabilityStatus, Capability
from dpopt.releases.solver_choice import require_solver
from dpopt.solvers import available_solvers, get_solver, solver_names
from dpopt.solvers.local_search.search import LocalSearch
from dpopt.solvers.process.child_process import InChildProcess
from dpopt.solvers.registry import (
    SOLVERS,
    Library,
    Licence,
    ProgramOnPath,
    _found_by_pulp,
    _named,
    availability_of,
    load,
    version_numbers,
    whether_it_runs,
)


def outside() -> LocalSearch:
    return LocalSearch(name="theirs")


def broken() -> LocalSearch:
    raise RuntimeError("no such thing")


def half_done() -> object:
    return SimpleNamespace(name="half", capabilities=frozenset())


class Unsure(LocalSearch):
    def availability(self) -> Availability:
        raise SystemExit("who knows")


def leaving() -> LocalSearch:
    raise SystemExit(0)


def incapable() -> object:
    return SimpleNamespace(name="incapable", capabilities=None, availability=leaving, solve=leaving)


@pytest.fixture
def entry_points(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register solvers from outside: one that works, some that do not, one that tries to take a name of dpopt's own."""
    points = [
        SimpleNamespace(name="theirs", value="package:outside", load=lambda: outside),
        SimpleNamespace(name="broken", value="package:broken", load=lambda: broken),
        SimpleNamespace(name="half", value="package:half_done", load=lambda: half_done),
        SimpleNamespace(name="incapable", value="package:incapable", load=lambda: incapable),
        SimpleNamespace(name="leaving", value="package:leaving", load=lambda: leaving),
        SimpleNamespace(name="unsure", value="package:Unsure", load=lambda: Unsure),
        SimpleNamespace(name="highs", value="package:outside", load=lambda: outside),
    ]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points if group == "dpopt.solvers" else [])
    _named.cache_clear()
    yield
    _named.cache_clear()


def test_the_solvers_of_dpopt_come_in_this_order() -> None:
    first, *_ = names = tuple(SOLVERS)
    assert first == "local-search"
    assert set(names) == {
        *("local-search", "cp-sat", "highs", "cbc", "glpk", "gscip", "mathopt-highs", "glop", "pdlp"),
        *("clarabel", "osqp", "scs", "cvxpy-highs", "gurobi", "rc2"),
    }
    assert solver_names()[: len(names)] == names


def test_auto_is_the_local_search() -> None:
    assert isinstance(get_solver("auto"), LocalSearch)
    assert get_solver("auto") is get_solver("local-search")


def test_the_same_name_gives_the_same_object_so_that_its_child_is_kept() -> None:
    assert get_solver("cp-sat") is get_solver("cp-sat")


def test_a_solver_object_is_returned_as_it_is() -> None:
    solver = LocalSearch()
    assert get_solver(solver) is solver


def test_an_unknown_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(SolverUnavailableError, match="did you mean 'cp-sat'"):
        get_solver("cpsat")


@pytest.mark.parametrize("name", SOLVERS)
def test_each_solver_has_its_registered_name_and_says_what_it_takes(name: str) -> None:
    solver = get_solver(name)
    assert solver.name == name
    assert solver.capabilities & {Capability.MAX_CSP, Capability.MIP, Capability.LP}
    assert name in repr(solver)


def test_all_solvers_but_the_local_search_run_in_a_child() -> None:
    inside = [name for name in SOLVERS if not isinstance(get_solver(name), InChildProcess)]
    assert inside == ["local-search"]


def test_available_solvers_are_those_that_say_so() -> None:
    assert available_solvers() == tuple(name for name in solver_names() if get_solver(name).availability().available)
    assert "local-search" in available_solvers()


def test_solvers_from_outside_come_after_and_cannot_take_a_name(entry_points: None) -> None:
    assert solver_names() == (*SOLVERS, *_found_by_pulp(), "broken", "half", "incapable", "leaving", "theirs", "unsure")
    assert get_solver("theirs").name == "theirs"
    assert isinstance(get_solver("highs"), InChildProcess)


def test_a_solver_from_outside_that_does_not_load_says_why(entry_points: None) -> None:
    with pytest.raises(SolverUnavailableError, match="'package:broken'.*no such thing"):
        get_solver("broken")


def test_a_solver_from_outside_that_lacks_something_says_what(entry_points: None) -> None:
    with pytest.raises(SolverUnavailableError, match="'package:half_done'.*without availability, solve"):
        get_solver("half")


def test_a_broken_solver_from_outside_does_not_hide_the_others(entry_points: None) -> None:
    available = available_solvers()
    assert "theirs" in available
    assert "local-search" in available
    assert not {"broken", "half", "incapable", "leaving", "unsure"} & set(available)
    with pytest.raises(SolverUnavailableError, match="SystemExit"):
        get_solver("leaving")
    with pytest.raises(SolverUnavailableError, match="capabilities"):
        get_solver("incapable")


@pytest.mark.solver("cbc")
def test_what_else_pulp_finds_has_names_of_its_own() -> None:
    found = _found_by_pulp()
    assert all(name.startswith("pulp-") for name in found)
    assert not {"PULP_CBC_CMD", "GLPK_CMD"} & set(found.values())
    assert set(found) <= set(solver_names())
    for name in found:
        assert get_solver(name).name == name
        assert isinstance(get_solver(name), InChildProcess)


def test_a_name_that_pulp_does_not_know_is_refused() -> None:
    with pytest.raises(SolverUnavailableError, match="pulp-nothing"):
        get_solver("pulp-nothing")


def test_a_path_may_name_a_word_for_the_class() -> None:
    assert load("dpopt.solvers.math_opt:MathOpt:glop")().name == "glop"
    assert load("dpopt.solvers.cp_sat:CpSat")().name == "cp-sat"


@pytest.mark.parametrize("name", [name for name, entry in SOLVERS.items() if entry.requirements])
def test_an_adapter_and_its_registered_solver_agree(name: str) -> None:
    adapter = load(SOLVERS[name].path)()
    assert (adapter.name, adapter.capabilities) == (name, get_solver(name).capabilities)


def test_a_missing_library_is_named_with_the_command_that_brings_it() -> None:
    availability = Library("no_such_module", "no-such-thing", at_least=(1, 2), below=(3,)).availability()
    assert availability.status is AvailabilityStatus.NOT_INSTALLED
    assert "pip install 'no-such-thing>=1.2,<3'" in availability.explanation


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ({"at_least": (999,)}, "is installed; run: python -m pip install 'numpy"),
        ({"below": (1,)}, "is installed; run: python -m pip install 'numpy"),
        ({"at_least": (999,), "why": "and it cannot count"}, "is installed, and it cannot count; run:"),
    ],
)
def test_a_version_out_of_bounds_is_named_with_what_is_wrong(bounds: dict[str, Any], said: str) -> None:
    availability = Library("numpy", "numpy", **bounds).availability()
    assert availability.status is AvailabilityStatus.WRONG_VERSION
    assert said in availability.explanation


def test_a_library_within_bounds_is_available_with_its_version() -> None:
    availability = Library("numpy", "numpy", (1,), (999,)).availability()
    assert availability.available
    assert availability.explanation == f"numpy {importlib.metadata.version('numpy')}"


@pytest.mark.parametrize("name", [name for name, entry in SOLVERS.items() if entry.requirements])
def test_the_bounds_are_those_of_the_package(name: str, checkout: Path) -> None:
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = {*project["dependencies"], *extras["gurobi"], *extras["maxsat"]}
    libraries = [one for one in SOLVERS[name].requirements if isinstance(one, Library)]
    assert {one.specifier() for one in libraries if one.at_least} <= declared
    assert name == "glpk" or any(one.at_least for one in libraries)


def test_a_program_that_is_missing_is_named_with_the_command_that_brings_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    availability = get_solver("glpk").availability()
    assert availability.status is AvailabilityStatus.NOT_INSTALLED
    assert "apt install glpk-utils" in availability.explanation


def test_a_program_on_the_path_is_available_with_its_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    availability = ProgramOnPath("tool", "apt install tool").availability()
    assert (availability.available, availability.explanation) == (True, str(tmp_path / "tool"))


def test_a_licence_that_is_not_found_is_reported_in_the_words_of_the_library() -> None:
    availability = Licence("example", "raise SystemExit('no licence file')").availability()
    assert availability.status is AvailabilityStatus.NO_LICENCE
    assert availability.explanation == "example finds no licence: no licence file"
    assert Licence("example", "pass").availability().available


def test_a_licence_server_that_does_not_answer_is_no_licence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpopt.solvers.registry.LICENCE_SECONDS", 0.5)
    availability = Licence("example", "import time; time.sleep(60)").availability()
    assert availability.status is AvailabilityStatus.NO_LICENCE
    assert "no answer within 0.5 s" in availability.explanation


def test_the_first_requirement_that_is_missing_is_the_one_that_is_reported() -> None:
    there, missing = Library("numpy", "numpy"), Library("no_such_module", "no-such-thing")
    never = Licence("example", "raise SystemExit('asked')")
    found = availability_of((there, missing, never))
    assert found.status is AvailabilityStatus.NOT_INSTALLED
    assert "no-such-thing" in found.explanation
    assert "asked" not in found.explanation
    assert availability_of((there, there)).explanation.count("numpy") == 2


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("9.15.6755", (9, 15, 6755)), ("4.0.0a12", (4, 0, 0)), ("3", (3,)), ("1.17.1.dev0", (1, 17, 1)), ("x", ())],
)
def test_versions_are_compared_by_their_leading_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert version_numbers(text) == numbers


def test_asking_whether_solvers_are_there_loads_none_of_them() -> None:
    code = (
        "import sys; from dpopt.solvers import available_solvers; available_solvers();"
        "names = ('cvxpy', 'gurobipy', 'highspy', 'numba', 'ortools', 'pulp', 'pysat', 'scipy.optimize');"
        "print([name for name in names if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_solver_that_breaks_down_when_asked_whether_it_runs_does_not(entry_points: None) -> None:
    found = whether_it_runs(get_solver("unsure"))
    assert not found.available
    assert "raised SystemExit" in found.explanation
    with pytest.raises(SolverUnavailableError, match="SystemExit"):
        require_solver("unsure")
    vague = SimpleNamespace(name="vague", capabilities=frozenset(), availability=lambda: True)
    assert "gave a bool" in whether_it_runs(vague).explanation
