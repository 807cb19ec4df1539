"""Reading GLPK's solution files and what it prints: statuses of both kinds, duals, bounds, strangers."""

from __future__ import annotations

import pytest

from dpopt.programs import Limit, MixedIntegerProgram, SolveLimits, SolveResult, Termination
from dpopt.solvers import glpk
from dpopt.solvers.glpk import Glpk
from dpopt.solvers.process.history import History
from tests.programs.mixed_integer_programs import INFINITY, dense

LINEAR = dense(
    [3, 1], [[1, 1], [1, 0]], [(-INFINITY, 4), (-INFINITY, INFINITY)], [(0, 3), (0, 3)], [False] * 2
)
WHOLE = dense([3, 1], [[1, 1]], [(-INFINITY, 4)], [(0, 3), (0, 3)], [False, True])
LOG = "GLPSOL--GLPK LP/MIP Solver 5.0\n+     7: mip =  -7.000000000e+00 >=  -1.000000000e+01  42.9% (3; 0)\n"
TIME = "TIME LIMIT EXCEEDED; SEARCH TERMINATED\n"


def read(program: MixedIntegerProgram, head: str, *values: str, log: str = LOG) -> SolveResult:
    return Glpk().read(program, "\n".join(["c Problem: dpopt", head, *values, "e o f"]), log)


def test_values_and_duals_of_a_linear_program_are_read_and_a_row_without_sides_has_none() -> None:
    """Of the two rows the file holds one: the other has no side."""
    result = read(LINEAR, "s bas 1 2 f f -10", "i 1 u 4 -1", "j 1 u 3 -2", "j 2 b 1 0", log="")
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, 10.0, 10.0)
    assert result.duals is not None
    assert result.duals.tolist() == [1.0, 0.0]


def test_columns_of_a_mixed_integer_program_come_integer_ones_first() -> None:
    result = read(WHOLE, "s mip 1 2 o -10", "i 1 4", "j 1 1", "j 2 3")
    assert result.require_solution().tolist() == [3, 1]
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, 10.0, 10.0)
    assert (result.duals, result.version) == (None, "GLPK 5.0")


def test_an_incumbent_at_the_time_limit_is_a_limit_with_a_bound_rounded_outward() -> None:
    result = read(WHOLE, "s mip 1 2 f -7", "i 1 3", "j 1 1", "j 2 2", log=LOG + TIME)
    assert (result.termination, result.limit, result.objective) == (Termination.LIMIT, Limit.TIME, 7.0)
    assert result.bound is not None
    assert 10.0 < result.bound < 10.0001


def test_without_an_incumbent_there_are_no_values_though_the_file_has_some() -> None:
    result = read(WHOLE, "s mip 1 2 u 0", "i 1 0", "j 1 0", "j 2 0", log=LOG + TIME)
    assert (result.termination, result.limit, result.solution) == (Termination.LIMIT, Limit.TIME, None)


def test_an_undefined_solution_that_nothing_explains_is_a_failure() -> None:
    result = read(WHOLE, "s mip 1 2 u 0", "i 1 0", "j 1 0", "j 2 0", log="")
    assert (result.termination, result.limit, result.solution) == (Termination.FAILED, None, None)
    trouble = read(WHOLE, "s mip 1 2 u 0", log="NUMERIC INSTABILITY; SEARCH TERMINATED\n")
    assert trouble.termination is Termination.FAILED
    assert "NUMERIC INSTABILITY" in trouble.native_status


def test_the_last_thing_said_is_what_counts() -> None:
    log = "LP HAS NO DUAL FEASIBLE SOLUTION\nPROBLEM HAS NO PRIMAL FEASIBLE SOLUTION\n"
    assert read(LINEAR, "s bas 1 2 u u 0", log=log).termination is Termination.INFEASIBLE


def test_an_unbounded_relaxation_says_nothing_about_whole_points() -> None:
    log = "LP HAS UNBOUNDED PRIMAL SOLUTION\n"
    assert read(LINEAR, "s bas 1 2 u u 0", log=log).termination is Termination.UNBOUNDED
    assert read(WHOLE, "s mip 1 2 u 0", log=log).termination is Termination.INFEASIBLE_OR_UNBOUNDED


@pytest.mark.parametrize("head", ["s bas 1 2 x y -10", "s mip 1 2 z -10", "s ipt 1 2 o -10"])
def test_a_status_never_seen_is_a_failure_with_its_text(head: str) -> None:
    result = read(WHOLE, head, "j 1 1", "j 2 3")
    assert (result.termination, result.solution) == (Termination.FAILED, None)
    assert result.native_status.startswith(head.split()[4])


def test_without_a_solution_file_the_log_is_quoted() -> None:
    result = Glpk().read(WHOLE, "", "terrible things\n")
    assert result.termination is Termination.FAILED
    assert "terrible things" in result.native_status


def test_lines_of_progress_are_noted_with_the_sign_of_the_program() -> None:
    history = History()
    for line in (
        "+  2136: mip =     not found yet >=              -inf        (1; 0)",
        "+  6513: >>>>>  -7.600000000e+01 >=  -1.521416667e+02 100.2% (45; 0)",
        "+ 24781: mip =  -8.200000000e+01 >=     tree is empty   0.0% (0; 9)",
        "*  2136: obj =  -1.525416667e+02 inf =   1.590e-15 (0) 11",
    ):
        glpk._listen(history, line, -1.0)
    assert [(one.objective, one.bound) for one in history.entries()] == [
        (76.0, 152.1416667),
        (82.0, 152.1416667),
    ]


@pytest.mark.solver("glpk")
def test_part_of_a_second_is_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def record(command: list[str], heard: object) -> str:
        seen.append(command)
        return ""

    monkeypatch.setattr(glpk, "run", record)
    Glpk().solve(WHOLE, SolveLimits(seconds=0.2), hint=None)
    assert seen[0][-2:] == ["--tmlim", "1"]
