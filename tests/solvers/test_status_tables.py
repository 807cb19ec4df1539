"""Each adapter's table covers every status that its library can report; a stranger is never a success."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpopt.programs import Limit, Termination
from dpopt.solvers import cp_sat, pulp_cbc, scipy_highs
from dpopt.solvers.adapter import UNKNOWN_STATUS, Verdict

TABLES: list[dict[str, Verdict] | dict[int, Verdict]] = [cp_sat.STATUS, pulp_cbc.STATUS, scipy_highs.STATUS]


def in_fresh_interpreter(code: str) -> object:
    """Return what the code prints as JSON; solver libraries are never loaded into the process of the tests."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.solver("cp-sat")
def test_cp_sat_every_native_status_is_in_the_table() -> None:
    code = "import json; from ortools.sat.python import cp_model as m; print(json.dumps(list(m.CpSolverStatus.__members__)))"
    assert set(cp_sat.STATUS) == set(in_fresh_interpreter(code))  # type: ignore[call-overload]


@pytest.mark.solver("highs")
def test_highs_every_native_status_is_in_the_table() -> None:
    code = (
        "import json; from scipy.optimize._highspy._core import HighsModelStatus as s;"
        "print(json.dumps({name: int(value) for name, value in s.__members__.items()}))"
    )
    native = in_fresh_interpreter(code)
    assert isinstance(native, dict)
    assert set(native.values()) <= set(scipy_highs.STATUS)
    expected = {
        "kOptimal": 7,
        "kInfeasible": 8,
        "kUnboundedOrInfeasible": 9,
        "kUnbounded": 10,
        "kTimeLimit": 13,
    }
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


@pytest.mark.parametrize("table", TABLES)
def test_limits_are_named_for_limits_only(table: dict[str, Verdict] | dict[int, Verdict]) -> None:
    assert all(
        (limit is not None) == (termination is Termination.LIMIT) for termination, limit in table.values()
    )


def test_a_stranger_is_a_failure() -> None:
    assert UNKNOWN_STATUS == (Termination.FAILED, None)


def test_only_one_status_of_each_solver_is_optimal() -> None:
    for table in TABLES:
        assert [termination for termination, _ in table.values()].count(Termination.OPTIMAL) == 1


def test_an_interruption_is_a_limit_and_not_a_success() -> None:
    assert pulp_cbc.STATUS["Stopped on ctrl-c"] == (Termination.LIMIT, Limit.INTERRUPTED)
    assert scipy_highs.STATUS[17] == (Termination.LIMIT, Limit.INTERRUPTED)
