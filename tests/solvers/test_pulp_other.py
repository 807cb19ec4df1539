"""What PuLP says, read with care: its two numbers, made-up ones among them, and what it finds here."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from dpopt.programs import Limit, Termination
from dpopt.solvers import pulp_other
from dpopt.solvers.pulp_other import registered_name, verdict
from tests.programs.mixed_integer_programs import INFINITY, dense

BOUNDED = dense([1], [[1]], [(0, 1)], [(0, 1)], [True])
UNBOUNDED = dense([1], [[1]], [(0, INFINITY)], [(0, INFINITY)], [True])
TIME = (Termination.LIMIT, Limit.TIME)
FAILED = (Termination.FAILED, None)


def test_a_run_that_the_time_limit_stopped_is_a_limit_though_its_status_is_optimal() -> None:
    assert verdict(1, 2, BOUNDED, stopped=True) == TIME


@pytest.mark.parametrize("status", sorted(pulp_other.UNDECIDED))
def test_no_solution_exists_is_not_believed_of_a_run_without_a_status(status: int) -> None:
    """PuLP derives -1 from "not solved", as of a Gurobi that its time limit stopped."""
    assert verdict(status, -1, BOUNDED, stopped=True) == TIME
    assert verdict(status, -1, BOUNDED, stopped=False) == FAILED


def test_what_stopped_for_no_reason_that_we_gave_is_a_failure() -> None:
    assert verdict(1, 2, BOUNDED, stopped=False) == FAILED
    assert verdict(0, 0, BOUNDED, stopped=False) == FAILED


def test_infeasible_may_mean_unbounded_unless_all_variables_are_bounded() -> None:
    assert verdict(-1, -1, UNBOUNDED, stopped=False) == (Termination.INFEASIBLE_OR_UNBOUNDED, None)
    assert verdict(-1, -1, BOUNDED, stopped=False) == (Termination.INFEASIBLE, None)
    assert verdict(-2, -2, UNBOUNDED, stopped=False) == (Termination.UNBOUNDED, None)


def test_a_stranger_is_a_failure() -> None:
    assert verdict(1, 17, BOUNDED, stopped=True) == FAILED


def test_names_are_made_of_those_of_pulp() -> None:
    assert [registered_name(name) for name in ("GUROBI", "HiGHS", "SCIP_CMD")] == [
        "pulp-gurobi",
        "pulp-highs",
        "pulp-scip-cmd",
    ]


@pytest.mark.solver("pulp-gurobi")
def test_gurobi_is_told_to_prove_optimality_though_pulp_takes_no_0_for_an_answer() -> None:
    """PuLP passes a gap on only if it is true in the sense of Python."""
    code = (
        "import json, sys; import numpy as np\n"
        "from dpopt.programs import NO_LIMITS, MixedIntegerProgram\n"
        "from dpopt.solvers.pulp_other import PulpOther, _problem\n"
        "import gurobipy\n"
        "set_parameter = gurobipy.Model.setParam\n"
        "seen = {}\n"
        "class Model(gurobipy.Model):\n"
        "    def setParam(self, name, value): seen[name] = value; return set_parameter(self, name, value)\n"
        "gurobipy.Model = Model\n"
        "import pulp\n"
        "one = np.array([1.0])\n"
        "program = MixedIntegerProgram(True, one, np.array([0]), np.array([], np.int32), np.array([]), np.array([]),\n"
        "    np.array([]), one * 0, one, np.array([True]))\n"
        "PulpOther('GUROBI').solve(program, NO_LIMITS, hint=None)\n"
        "print(); print(json.dumps(seen.get('MIPGap')))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    assert 0 < json.loads(done.stdout.splitlines()[-1]) < 1e-9


@pytest.mark.parametrize("code", ["raise SystemExit(1)", "pass"])
def test_a_pulp_that_cannot_be_asked_finds_nothing(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr(pulp_other, "_LIST", code)
    assert pulp_other.found_by_pulp() == {}


def test_what_libraries_print_while_pulp_looks_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    names = '["GUROBI", "PULP_CBC_CMD", "GLPK_CMD"]'
    monkeypatch.setattr(pulp_other, "_LIST", f"print('welcome'); print('{names}')")
    assert pulp_other.found_by_pulp() == {"pulp-gurobi": "GUROBI"}
