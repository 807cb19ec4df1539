"""Each adapter's table covers every status that its library can report; a stranger is never a success."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from dpopt.programs import Limit, Termination
from dpopt.solvers import cp_sat, cvxpy_convex, glpk, gurobi, math_opt, maxsat_rc2, pulp_cbc, pulp_other, scipy_highs
from dpopt.solvers.process.adapter import UNKNOWN_STATUS, Verdict

TABLES: dict[str, Mapping[str, Verdict] | Mapping[int, Verdict]] = {
    "cp-sat": cp_sat.STATUS,
    "highs": scipy_highs.STATUS,
    "cbc": pulp_cbc.STATUS,
    "glpk, linear": glpk.LINEAR,
    "glpk, whole": glpk.WHOLE,
    "mathopt": math_opt.STATUS,
    "clarabel": cvxpy_convex.CLARABEL,
    "osqp": cvxpy_convex.OSQP,
    "scs": cvxpy_convex.SCS,
    "cvxpy-highs": cvxpy_convex.HIGHS,
    "gurobi": gurobi.STATUS,
    "rc2": maxsat_rc2.STATUS,
    "pulp": pulp_other.STATUS,
}
PARTS: dict[str, Mapping[str, Verdict]] = {
    "mathopt's limits": math_opt.LIMIT,
    "scs's limits": cvxpy_convex.SCS_LIMITS,
    "glpk's words": glpk.SAID,
}


def in_fresh_interpreter(code: str) -> object:
    """Return what the code prints as JSON; solver libraries are never loaded into the process of the tests."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def names_in_fresh_interpreter(code: str) -> set[str]:
    """Return the list of texts that the code prints as JSON."""
    found = in_fresh_interpreter(code)
    assert isinstance(found, list)
    assert found
    return set(map(str, found))


NAMES = {
    "cp-sat": "from ortools.sat.python import cp_model as m; names = list(m.CpSolverStatus.__members__)",
    "clarabel": "import clarabel; names = [x for x in dir(clarabel.SolverStatus) if x[0].isupper()]",
    "cvxpy-highs": "import highspy; names = list(highspy.HighsModelStatus.__members__)",
    "gurobi": "import gurobipy as g; names = [x for x in dir(g.GRB.Status) if x.isupper()]",
}
"""What sets `names` to those of all statuses of a library."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.solver(name)) for name in NAMES])
def test_every_native_status_is_in_the_table(name: str) -> None:
    native = names_in_fresh_interpreter(f"import json; {NAMES[name]}; print(json.dumps(names))")
    assert native <= set(TABLES[name])
    assert name in {"cvxpy-highs", "gurobi"} or native == set(TABLES[name])  # versions of those two differ


@pytest.mark.solver("highs")
def test_highs_every_native_status_is_in_the_table() -> None:
    code = (
        "import json; from scipy.optimize._highspy._core import HighsModelStatus as s;"
        "print(json.dumps({name: int(value) for name, value in s.__members__.items()}))"
    )
    native = in_fresh_interpreter(code)
    assert isinstance(native, dict)
    assert set(native.values()) <= set(map(int, scipy_highs.STATUS))
    expected = {"kOptimal": 7, "kInfeasible": 8, "kUnboundedOrInfeasible": 9, "kUnbounded": 10, "kTimeLimit": 13}
    assert {name: native[name] for name in expected} == expected


@pytest.mark.solver("cbc")
def test_cbc_every_first_line_that_the_program_holds_is_in_the_table() -> None:
    path = in_fresh_interpreter("import json, pulp; print(json.dumps(pulp.PULP_CBC_CMD.pulp_cbc_path))")
    program = Path(str(path)).read_bytes()
    words = rb"\x00(Optimal|Unbounded|Infeasible|Integer infeasible|Stopped on [a-z][a-z -]*)(?=\x00)"
    native = {text.decode() for text in re.findall(words, program)}
    assert native <= set(pulp_cbc.STATUS)
    assert {"Optimal", "Stopped on time", "Stopped on iterations", "Integer infeasible"} <= native
    assert b"\x00 (within gap tolerance)\x00" in program
    assert pulp_cbc.NO_INTEGER_SOLUTION.encode() in program


@pytest.mark.solver("glpk")
@pytest.mark.skipif(sys.platform != "linux", reason="the library of glpsol is looked up with ldd")
def test_glpk_every_line_in_capitals_that_its_library_holds_is_in_the_table_or_tells_of_an_optimum() -> None:
    program = shutil.which("glpsol")
    assert program is not None
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    (library,) = re.findall(r"libglpk\S* => (\S+)", linked)
    ends = "SOLUTION|TERMINATED|APPLICATION|INFEASIBLE|WRONG|FOUND|PREPROCESSOR"
    lines = re.findall(rf"\x00([A-Z][A-Z ;]+(?:{ends}))\n?(?=\x00)".encode(), Path(library).read_bytes())
    native = {line.decode() for line in lines if line.count(b" ") >= 2}
    assert "TIME LIMIT EXCEEDED; SEARCH TERMINATED" in native
    assert {line for line in native if "OPTIMAL" not in line} == set(glpk.SAID)


def test_glpk_every_pair_of_letters_of_a_linear_solution_is_in_the_table() -> None:
    assert set(glpk.LINEAR) == {f"{primal} {dual}" for primal in "finu" for dual in "finu"}
    assert set(glpk.WHOLE) == set("ofnu")


@pytest.mark.solver("gscip")
def test_mathopt_every_reason_and_every_limit_is_in_the_tables() -> None:
    code = "import json; from ortools.math_opt.python import mathopt as m; print(json.dumps([x.name for x in m.{}]))"
    assert set(math_opt.STATUS) == names_in_fresh_interpreter(code.format("TerminationReason"))
    assert set(math_opt.LIMIT) == names_in_fresh_interpreter(code.format("Limit"))


@pytest.mark.solver("osqp")
def test_osqp_every_native_status_is_in_the_table_under_its_number() -> None:
    code = "import json, osqp; print(json.dumps({str(int(x)): x.name for x in osqp.SolverStatus}))"
    native = in_fresh_interpreter(code)
    assert isinstance(native, dict)
    assert set(cvxpy_convex.OSQP) == set(native)
    assert (native["1"], native["3"], native["7"], native["8"]) == (
        "OSQP_SOLVED",
        "OSQP_PRIMAL_INFEASIBLE",
        "OSQP_MAX_ITER_REACHED",
        "OSQP_TIME_LIMIT_REACHED",
    )


@pytest.mark.solver("scs")
def test_scs_every_native_status_is_in_the_table_under_its_number() -> None:
    code = (
        "import json, scs;"
        "print(json.dumps({str(x): n for n, x in vars(scs).items() if n.isupper() and type(x) is int}))"
    )
    native = in_fresh_interpreter(code)
    assert isinstance(native, dict)
    assert set(cvxpy_convex.SCS) == set(native)
    assert (native["1"], native["2"], native["-2"]) == ("SOLVED", "SOLVED_INACCURATE", "INFEASIBLE")


@pytest.mark.solver("cbc")
def test_pulp_every_status_of_a_solution_is_in_the_table_and_the_undecided_ones_are_known() -> None:
    code = (
        "import json, pulp; from pulp.constants import LpStatusToSolution as d;"
        "print(json.dumps([list(pulp.LpSolution), list(pulp.LpStatus), d]))"
    )
    native = in_fresh_interpreter(code)
    assert isinstance(native, list)
    solutions, statuses, derived = native
    assert set(pulp_other.STATUS) == set(solutions)
    made_up = {int(status) for status, solution in derived.items() if solution == -1} - {-1}
    assert made_up == pulp_other.UNDECIDED
    assert set(statuses) >= pulp_other.UNDECIDED


@pytest.mark.parametrize("name", [*TABLES, *PARTS])
def test_limits_are_named_for_limits_only(name: str) -> None:
    table = {**TABLES, **PARTS}[name]
    assert table
    assert all((limit is not None) == (termination is Termination.LIMIT) for termination, limit in table.values())


def test_a_stranger_is_a_failure() -> None:
    assert UNKNOWN_STATUS == (Termination.FAILED, None)


@pytest.mark.parametrize("name", TABLES)
def test_only_one_status_of_each_solver_is_optimal(name: str) -> None:
    assert [termination for termination, _ in TABLES[name].values()].count(Termination.OPTIMAL) == 1


@pytest.mark.parametrize("name", PARTS)
def test_no_word_about_a_limit_is_a_success(name: str) -> None:
    assert Termination.OPTIMAL not in {termination for termination, _ in PARTS[name].values()}


def test_an_interruption_is_a_limit_and_not_a_success() -> None:
    interrupted = (Termination.LIMIT, Limit.INTERRUPTED)
    assert pulp_cbc.STATUS["Stopped on ctrl-c"] == interrupted
    assert scipy_highs.STATUS["17"] == interrupted
    assert gurobi.STATUS["INTERRUPTED"] == interrupted
    assert math_opt.LIMIT["INTERRUPTED"] == interrupted


def test_what_is_solved_inaccurately_is_imprecise() -> None:
    imprecise = (Termination.IMPRECISE, None)
    assert cvxpy_convex.CLARABEL["AlmostSolved"] == imprecise
    assert cvxpy_convex.OSQP["2"] == imprecise
    assert cvxpy_convex.SCS["2"] == imprecise
    assert gurobi.STATUS["SUBOPTIMAL"] == imprecise
    assert math_opt.STATUS["IMPRECISE"] == imprecise
