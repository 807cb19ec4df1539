"""The registry: names, order, what is missing and how to get it; nothing is imported before it is asked for."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpopt.errors import SolverUnavailableError
from dpopt.programs import AvailabilityStatus, Capability
from dpopt.solvers import available_solvers, get_solver, solver_names
from dpopt.solvers.child_process import InChildProcess
from dpopt.solvers.local_search import LocalSearch
from dpopt.solvers.registry import SOLVERS, Entry, Requirement, _named, version_numbers


def outside() -> LocalSearch:
    return LocalSearch(name="theirs")


def broken() -> LocalSearch:
    raise RuntimeError("no such thing")


@pytest.fixture
def entry_points(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register two solvers from outside, and one that tries to take a name of dpopt's own."""
    points = [
        SimpleNamespace(name="theirs", value="package:outside", load=lambda: outside),
        SimpleNamespace(name="broken", value="package:broken", load=lambda: broken),
        SimpleNamespace(name="highs", value="package:outside", load=lambda: outside),
    ]
    monkeypatch.setattr(
        importlib.metadata, "entry_points", lambda group: points if group == "dpopt.solvers" else []
    )
    _named.cache_clear()
    yield
    _named.cache_clear()


def test_the_solvers_of_dpopt_come_in_this_order() -> None:
    assert tuple(SOLVERS) == ("local-search", "cp-sat", "highs", "cbc")
    assert solver_names()[:4] == tuple(SOLVERS)


def test_auto_is_the_local_search() -> None:
    assert isinstance(get_solver("auto"), LocalSearch)
    assert get_solver("auto") is get_solver("local-search")


def test_the_same_name_gives_the_same_object_so_that_its_child_is_kept() -> None:
    assert get_solver("cp-sat") is get_solver("cp-sat")


def test_a_solver_object_is_returned_as_it_is() -> None:
    solver = LocalSearch()
    assert get_solver(solver) is solver


def test_an_unknown_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(
        SolverUnavailableError, match=r"no solver 'cpsat' \(did you mean 'cp-sat'\?\).*highs, cbc"
    ):
        get_solver("cpsat")


@pytest.mark.parametrize("name", SOLVERS)
def test_each_solver_has_its_registered_name_and_says_what_it_takes(name: str) -> None:
    solver = get_solver(name)
    assert solver.name == name
    assert solver.capabilities & {Capability.MAX_CSP, Capability.MIP}
    assert name in repr(solver)


def test_all_solvers_but_the_local_search_run_in_a_child() -> None:
    assert [isinstance(get_solver(name), InChildProcess) for name in SOLVERS] == [False, True, True, True]


def test_available_solvers_are_those_that_say_so() -> None:
    assert available_solvers() == tuple(
        name for name in solver_names() if get_solver(name).availability().available
    )
    assert "local-search" in available_solvers()


def test_solvers_from_outside_come_after_and_cannot_take_a_name(entry_points: None) -> None:
    assert solver_names() == (*SOLVERS, "broken", "theirs")
    assert get_solver("theirs").name == "theirs"
    assert isinstance(get_solver("highs"), InChildProcess)


def test_a_solver_from_outside_that_does_not_load_says_why(entry_points: None) -> None:
    with pytest.raises(SolverUnavailableError, match="'package:broken'.*RuntimeError: no such thing"):
        get_solver("broken")


def test_a_missing_library_is_named_with_the_command_that_brings_it() -> None:
    availability = Requirement("no_such_module", "no-such-thing", at_least=(1, 2), below=(3,)).availability()
    assert availability.status is AvailabilityStatus.NOT_INSTALLED
    assert "pip install 'no-such-thing>=1.2,<3'" in availability.explanation


@pytest.mark.parametrize(("at_least", "below"), [((999,), ()), ((), (1,))])
def test_a_version_out_of_bounds_is_named(at_least: tuple[int, ...], below: tuple[int, ...]) -> None:
    availability = Requirement("numpy", "numpy", at_least, below).availability()
    assert availability.status is AvailabilityStatus.WRONG_VERSION
    assert "is installed; run: python -m pip install 'numpy" in availability.explanation


def test_a_library_within_bounds_is_available_with_its_version() -> None:
    availability = Requirement("numpy", "numpy", (1,), (999,)).availability()
    assert availability.available
    assert availability.explanation == f"numpy {importlib.metadata.version('numpy')}"


@pytest.mark.parametrize("entry", [entry for entry in SOLVERS.values() if entry.requirement])
def test_the_bounds_are_those_of_the_package(entry: Entry, checkout: Path) -> None:
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert entry.requirement is not None
    assert entry.requirement.specifier() in project["dependencies"]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("9.15.6755", (9, 15, 6755)),
        ("4.0.0a12", (4, 0, 0)),
        ("3", (3,)),
        ("1.17.1.dev0", (1, 17, 1)),
        ("x", ()),
    ],
)
def test_versions_are_compared_by_their_leading_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert version_numbers(text) == numbers


def test_asking_whether_solvers_are_there_loads_none_of_them() -> None:
    code = (
        "import sys; from dpopt.solvers import available_solvers; available_solvers();"
        "print([name for name in ('ortools', 'pulp', 'highspy', 'numba', 'scipy.optimize') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
