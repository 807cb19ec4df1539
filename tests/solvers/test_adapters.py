"""Adapters read with care what libraries print and write: statuses, duals, bounds, progress; a stranger is a failure."""

from __future__ import annotations

import datetime as dt
import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpopt.programs import Limit, MixedIntegerProgram, SolveLimits, SolveResult, Termination
from dpopt.programs.verification import verified
from dpopt.solvers import glpk, math_opt, pulp_cbc, pulp_other
from dpopt.solvers.glpk import Glpk
from dpopt.solvers.process import adapter
from dpopt.solvers.process.adapter import History, run
from dpopt.solvers.pulp_cbc import PulpCbc
from dpopt.solvers.pulp_other import registered_name
from dpopt.solvers.pulp_other import verdict as pulp_verdict
from tests.programs.mixed_integer_programs import INFINITY, dense

LINEAR = dense([3, 1], [[1, 1], [1, 0]], [(-INFINITY, 4), (-INFINITY, INFINITY)], [(0, 3), (0, 3)], [False] * 2)
WHOLE = dense([3, 1], [[1, 1]], [(-INFINITY, 4)], [(0, 3), (0, 3)], [False, True])
GLPK_LOG = "GLPSOL--GLPK LP/MIP Solver 5.0\n+     7: mip =  -7.000000000e+00 >=  -1.000000000e+01  42.9% (3; 0)\n"
TIME_IS_OVER = "TIME LIMIT EXCEEDED; SEARCH TERMINATED\n"


def read_glpk(program: MixedIntegerProgram, head: str, *values: str, log: str = GLPK_LOG) -> SolveResult:
    return Glpk().read(program, "\n".join(["c Problem: dpopt", head, *values, "e o f"]), log)


def test_values_and_duals_of_a_linear_program_are_read_and_a_row_without_sides_has_none() -> None:
    """Of the two rows the file holds one: the other has no side."""
    result = read_glpk(LINEAR, "s bas 1 2 f f -10", "i 1 u 4 -1", "j 1 u 3 -2", "j 2 b 1 0", log="")
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, 10.0, 10.0)
    assert result.duals is not None
    assert result.duals.tolist() == [1.0, 0.0]


def test_columns_of_a_mixed_integer_program_come_integer_ones_first() -> None:
    result = read_glpk(WHOLE, "s mip 1 2 o -10", "i 1 4", "j 1 1", "j 2 3")
    assert result.require_solution().tolist() == [3, 1]
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, 10.0, 10.0)
    assert (result.duals, result.version) == (None, "GLPK 5.0")


def test_an_incumbent_at_the_time_limit_is_a_limit_with_a_bound_rounded_outward() -> None:
    result = read_glpk(WHOLE, "s mip 1 2 f -7", "i 1 3", "j 1 1", "j 2 2", log=GLPK_LOG + TIME_IS_OVER)
    assert (result.termination, result.limit, result.objective) == (Termination.LIMIT, Limit.TIME, 7.0)
    assert result.bound is not None
    assert 10.0 < result.bound < 10.0001


def test_without_an_incumbent_there_are_no_values_though_the_file_has_some() -> None:
    result = read_glpk(WHOLE, "s mip 1 2 u 0", "i 1 0", "j 1 0", "j 2 0", log=GLPK_LOG + TIME_IS_OVER)
    assert (result.termination, result.limit, result.solution) == (Termination.LIMIT, Limit.TIME, None)


def test_an_undefined_solution_that_nothing_explains_is_a_failure() -> None:
    result = read_glpk(WHOLE, "s mip 1 2 u 0", "i 1 0", "j 1 0", "j 2 0", log="")
    assert (result.termination, result.limit, result.solution) == (Termination.FAILED, None, None)
    trouble = read_glpk(WHOLE, "s mip 1 2 u 0", log="NUMERIC INSTABILITY; SEARCH TERMINATED\n")
    assert trouble.termination is Termination.FAILED
    assert "NUMERIC INSTABILITY" in trouble.native_status


def test_the_last_thing_said_is_what_counts() -> None:
    log = "LP HAS NO DUAL FEASIBLE SOLUTION\nPROBLEM HAS NO PRIMAL FEASIBLE SOLUTION\n"
    assert read_glpk(LINEAR, "s bas 1 2 u u 0", log=log).termination is Termination.INFEASIBLE


def test_an_unbounded_relaxation_says_nothing_about_whole_points() -> None:
    log = "LP HAS UNBOUNDED PRIMAL SOLUTION\n"
    assert read_glpk(LINEAR, "s bas 1 2 u u 0", log=log).termination is Termination.UNBOUNDED
    assert read_glpk(WHOLE, "s mip 1 2 u 0", log=log).termination is Termination.INFEASIBLE_OR_UNBOUNDED


@pytest.mark.parametrize("head", ["s bas 1 2 x y -10", "s mip 1 2 z -10", "s ipt 1 2 o -10"])
def test_a_status_of_glpk_never_seen_is_a_failure_with_its_text(head: str) -> None:
    result = read_glpk(WHOLE, head, "j 1 1", "j 2 3")
    assert (result.termination, result.solution) == (Termination.FAILED, None)
    assert result.native_status.startswith(head.split()[4])


def test_without_a_solution_file_of_glpk_the_log_is_quoted() -> None:
    result = Glpk().read(WHOLE, "", "terrible things\n")
    assert result.termination is Termination.FAILED
    assert "terrible things" in result.native_status


def test_lines_of_glpk_are_noted_with_the_sign_of_the_program() -> None:
    history = History()
    for line in (
        "+  2136: mip =     not found yet >=              -inf        (1; 0)",
        "+  6513: >>>>>  -7.600000000e+01 >=  -1.521416667e+02 100.2% (45; 0)",
        "+ 24781: mip =  -8.200000000e+01 >=     tree is empty   0.0% (0; 9)",
        "*  2136: obj =  -1.525416667e+02 inf =   1.590e-15 (0) 11",
    ):
        glpk._listen(history, line, -1.0)
    assert [(one.objective, one.bound) for one in history.entries()] == [(76.0, 152.1416667), (82.0, 152.1416667)]


@pytest.mark.solver("glpk")
def test_part_of_a_second_is_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def record(command: list[str], heard: object) -> str:
        seen.append(command)
        return ""

    monkeypatch.setattr(adapter, "run", record)
    Glpk().solve(WHOLE, SolveLimits(seconds=0.2), hint=None)
    assert seen[0][-2:] == ["--tmlim", "1"]


PROGRAM = dense([3, 1], [[1, 1]], [(-INFINITY, 4)], [(0, 3), (0, 3)], [True, False])
CBC_LOG = "Version: 2.10.3 \nResult - Stopped on time limit\n\nLower bound:                    -10.250\nGap: 0.1\n"


def read_cbc(text: str, log: str = CBC_LOG, program: MixedIntegerProgram = PROGRAM) -> SolveResult:
    return PulpCbc().read(program, text, log)


def test_an_optimal_solution_is_its_own_bound_and_zeros_are_left_out() -> None:
    result = read_cbc("Optimal - objective value -9.00000000\n      0 x0   3   -3\n", "Version: 2.10.3\n")
    assert (result.termination, result.objective, result.bound, result.version) == (
        Termination.OPTIMAL,
        9.0,
        9.0,
        "CBC 2.10.3",
    )
    assert result.require_solution().tolist() == [3, 0]


def test_an_incumbent_of_cbc_at_the_time_limit_has_a_bound_rounded_outward() -> None:
    result = read_cbc("Stopped on time - objective value -7.00000000\n 0 x0 2 0\n 1 x1 1 0\n")
    assert (result.termination, result.limit, result.objective) == (Termination.LIMIT, Limit.TIME, 7.0)
    assert result.bound == 10.2505  # printed with three decimals: rounded outward


def test_the_point_of_the_relaxation_is_no_solution() -> None:
    head = "Stopped on time (no integer solution - continuous used) - objective value -8.50000000"
    result = read_cbc(f"{head}\n 0 x0 2.5 0\n 1 x1 1 0\n")
    assert (result.termination, result.limit, result.solution, result.objective) == (
        Termination.LIMIT,
        Limit.TIME,
        None,
        None,
    )
    assert "continuous used" in result.native_status


def test_a_solution_within_the_gap_is_a_gap_limit() -> None:
    result = read_cbc("Optimal (within gap tolerance) - objective value -9.00000000\n 0 x0 3 0\n")
    assert (result.termination, result.limit) == (Termination.LIMIT, Limit.GAP)


@pytest.mark.parametrize("status", ["Infeasible", "Integer infeasible", "Unbounded"])
def test_the_point_of_a_program_without_solution_is_dropped(status: str) -> None:
    result = read_cbc(f"{status} - objective value -8.50000000\n 0 x0 2.5 0\n", "")
    assert (result.solution, result.bound) == (None, None)


def test_a_status_never_seen_is_a_failure_with_its_text() -> None:
    result = read_cbc("Somewhat optimal - objective value -9.00000000\n 0 x0 3 0\n")
    assert (result.termination, result.solution, result.native_status) == (Termination.FAILED, None, "Somewhat optimal")


def test_without_a_solution_file_the_log_is_quoted() -> None:
    result = read_cbc("", "terrible things\n")
    assert result.termination is Termination.FAILED
    assert "terrible things" in result.native_status


def test_no_bound_is_made_up() -> None:
    assert read_cbc("Stopped on time - objective value -7.00000000\n 0 x0 2 0\n", "").bound is None
    huge = "Lower bound:                    -1e+100\n"
    assert read_cbc("Stopped on time - objective value -7.00000000\n 0 x0 2 0\n", huge).bound is None


def test_a_minimization_is_read_with_its_own_sign() -> None:
    program = dense([3, 1], [[1, 1]], [(1, INFINITY)], [(0, 3), (0, 3)], [True, False], maximize=False)
    result = read_cbc("Stopped on time - objective value 1.00000000\n 1 x1 1 0\n", "Lower bound:  0.500\n", program)
    assert (result.objective, result.bound) == (1.0, 0.4995)


@pytest.mark.solver("cbc")
def test_files_are_removed_also_when_cbc_cannot_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("dpopt.solvers.pulp_cbc.cbc_program", lambda: str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError):
        PulpCbc().solve(PROGRAM, SolveLimits(), hint=None)
    assert list(tmp_path.iterdir()) == []


def test_the_number_of_a_column_is_read_from_its_name() -> None:
    text = "Optimal - objective value -1.00000000\n**   1 x1   1   0\n"
    assert np.array_equal(read_cbc(text, "").require_solution(), [0, 1])


@pytest.mark.parametrize("status", ["Stopped on time", "Stopped on iterations"])
def test_a_point_that_does_not_fit_yet_leaves_the_limit_named(status: str) -> None:
    """CBC writes where it stood, with ** before values that break a row: no claim to be precise, and so no `imprecise`."""
    stopped = read_cbc(f"{status} - objective value 12.00000000\n**      0 x0   3   0\n**      1 x1   3   0\n")
    found = verified(PROGRAM, stopped)
    assert (found.termination, found.limit) == (Termination.LIMIT, stopped.limit)
    assert (found.solution, found.objective) == (None, None)
    claimed = verified(PROGRAM, replace(stopped, termination=Termination.OPTIMAL, limit=None))
    assert (claimed.termination, claimed.limit) == (Termination.IMPRECISE, None)


@pytest.mark.solver("cbc")
def test_cbc_says_that_its_time_is_over_for_a_linear_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends its linear programs "on iterations" then."""
    ended = "Stopped on iterations - objective value 0.00000000\n", CBC_LOG
    monkeypatch.setattr("dpopt.solvers.pulp_cbc.run_on_mps", lambda *_: ended)
    linear = replace(PROGRAM, integrality=np.zeros_like(PROGRAM.integrality))
    for program, work, limit in ((linear, 5, Limit.TIME), (linear, None, Limit.TIME), (WHOLE, 5, Limit.WORK)):
        result = PulpCbc().solve(program, SolveLimits(seconds=1.0, work=work), hint=None)
        assert (result.termination, result.limit) == (Termination.LIMIT, limit)


def test_lines_of_cbc_are_noted_with_the_sign_of_the_program() -> None:
    history = History(beyond=1e50)
    for line in (
        "Cbc0010I After 0 nodes, 1 on tree, 1e+50 best solution, best possible -140.25 (0.56 seconds)",
        "Cbc0012I Integer solution of -86 found by rounding after 0 iterations and 0 nodes (0.60 seconds)",
        "Cbc0010I After 100 nodes, 51 on tree, -90 best solution, best possible -139 (4.56 seconds)",
        (
            "Cbc0005I Partial search - best objective -92 (best possible -137.5), took 0 iterations and 0 nodes (4.79 "
            "seconds)"
        ),
        "Cbc0038I Pass  67: (4.53 seconds) suminf.   25.12148 (102) obj. -109.231 iterations 295",
    ):
        pulp_cbc._listen(history, line, -1.0)
    assert [(one.objective, one.bound) for one in history.entries()] == [
        (None, 140.25),
        (86.0, 140.25),
        (90.0, 139.0),
        (92.0, 137.5),
    ]


BOUNDED = dense([1], [[1]], [(0, 1)], [(0, 1)], [True])
UNBOUNDED = dense([1], [[1]], [(0, INFINITY)], [(0, INFINITY)], [True])
TIME = (Termination.LIMIT, Limit.TIME)
FAILED = (Termination.FAILED, None)


def test_a_run_that_the_time_limit_stopped_is_a_limit_though_its_status_is_optimal() -> None:
    assert pulp_verdict(1, 2, BOUNDED, stopped=True) == TIME


@pytest.mark.parametrize("status", sorted(pulp_other.UNDECIDED))
def test_no_solution_exists_is_not_believed_of_a_run_without_a_status(status: int) -> None:
    """PuLP derives -1 from "not solved", as of a Gurobi that its time limit stopped."""
    assert pulp_verdict(status, -1, BOUNDED, stopped=True) == TIME
    assert pulp_verdict(status, -1, BOUNDED, stopped=False) == FAILED


def test_what_stopped_for_no_reason_that_we_gave_is_a_failure() -> None:
    assert pulp_verdict(1, 2, BOUNDED, stopped=False) == FAILED
    assert pulp_verdict(0, 0, BOUNDED, stopped=False) == FAILED


def test_infeasible_may_mean_unbounded_unless_all_variables_are_bounded() -> None:
    assert pulp_verdict(-1, -1, UNBOUNDED, stopped=False) == (Termination.INFEASIBLE_OR_UNBOUNDED, None)
    assert pulp_verdict(-1, -1, BOUNDED, stopped=False) == (Termination.INFEASIBLE, None)
    assert pulp_verdict(-2, -2, UNBOUNDED, stopped=False) == (Termination.UNBOUNDED, None)


def test_a_stranger_is_a_failure() -> None:
    assert pulp_verdict(1, 17, BOUNDED, stopped=True) == FAILED


def test_names_are_made_of_those_of_pulp() -> None:
    assert [registered_name(name) for name in ("GUROBI", "HiGHS", "SCIP_CMD")] == [
        "pulp-gurobi",
        "pulp-highs",
        "pulp-scip-cmd",
    ]


@pytest.mark.solver("pulp-gurobi")
def test_gurobi_is_asked_to_prove_optimality_though_pulp_takes_no_0_for_an_answer() -> None:
    """PuLP passes a gap on only if it is true in the sense of Python."""
    code = (
        "import json, sys; import numpy as np\n"
        "from dpopt.programs import NO_LIMITS, MixedIntegerProgram\n"
        "from dpopt.solvers.pulp_other import PulpOther\n"
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
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert 0 < json.loads(done.stdout.splitlines()[-1]) < 1e-9


@pytest.mark.parametrize("code", ["raise SystemExit(1)", "pass"])
def test_a_pulp_that_cannot_be_asked_finds_nothing(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr(pulp_other, "_LIST", code)
    assert pulp_other.found_by_pulp() == {}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "ascii"])
def test_pulp_is_asked_whatever_the_output_is_written_in(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    monkeypatch.setattr(pulp_other, "_LIST", "print('[\"FAR_CMD\"]')")
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    assert list(pulp_other.found_by_pulp().values()) == ["FAR_CMD"]


def test_what_libraries_print_while_pulp_looks_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    names = '["GUROBI", "PULP_CBC_CMD", "GLPK_CMD"]'
    monkeypatch.setattr(pulp_other, "_LIST", f"print('welcome'); print('{names}')")
    assert pulp_other.found_by_pulp() == {"pulp-gurobi": "GUROBI"}


def answer(reason: str, limit: str | None, *, iterations: int = 0, seconds: float = 0.0) -> Any:
    """Return what `verdict` looks at of MathOpt's answer."""
    named = None if limit is None else SimpleNamespace(name=limit)
    return SimpleNamespace(
        termination=SimpleNamespace(reason=SimpleNamespace(name=reason), limit=named),
        solve_stats=SimpleNamespace(simplex_iterations=iterations, solve_time=dt.timedelta(seconds=seconds)),
    )


_SCIP = "{}|  1 |  0 | 0 |  - |  27M |  0 |2071 |3486 |3475 |  0 |  0 |  11 |  0 |{}|{}|  Inf  | unknown"


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("TIME", (Termination.LIMIT, Limit.TIME)), ("NODE", (Termination.LIMIT, Limit.WORK)),
        ("MEMORY", (Termination.LIMIT, Limit.MEMORY)), ("SLOW_PROGRESS", (Termination.IMPRECISE, None)),
        ("OTHER", FAILED), ("NEVER_SEEN", FAILED), (None, FAILED),
    ],
)  # fmt: skip
def test_the_limit_says_what_a_stop_means(limit: str | None, expected: object) -> None:
    for reason in ("FEASIBLE", "NO_SOLUTION_FOUND"):
        assert math_opt.verdict(answer(reason, limit), SolveLimits(seconds=1.0, work=1)) == expected


def test_a_limit_that_is_not_named_is_the_one_that_was_used_up() -> None:
    def limit_of(limits: SolveLimits, iterations: int, seconds: float) -> object:
        stopped = answer("NO_SOLUTION_FOUND", "UNDETERMINED", iterations=iterations, seconds=seconds)
        return math_opt.verdict(stopped, limits)

    assert limit_of(SolveLimits(work=3), 3, 0.1) == (Termination.LIMIT, Limit.WORK)
    assert limit_of(SolveLimits(seconds=1.0), 9, 1.01) == (Termination.LIMIT, Limit.TIME)
    assert limit_of(SolveLimits(seconds=10.0, work=30), 3, 0.1) == FAILED
    assert limit_of(SolveLimits(), 3, 0.1) == FAILED


def test_a_reason_never_seen_is_a_failure() -> None:
    assert math_opt.verdict(answer("SPLENDID", None), SolveLimits()) == FAILED


def test_lines_of_scip_and_of_highs_are_noted_and_others_are_not() -> None:
    history = History(beyond=1e19)
    math_opt._listen(
        history,
        [
            _SCIP.format("  0.1s", "  dualbound   ", " primalbound  "),
            _SCIP.format("  0.1s", " 1.000000e+20 ", "      --      "),
            _SCIP.format("d 1.9s", " 1.418414e+02 ", " 4.200000e+01 "),
            " T       5       2         1   12.50%   140.5           86                 63.37%        0      0      0",
            "presolving:",
        ],
    )
    assert [(one.objective, one.bound) for one in history.entries()] == [(42.0, 141.8414), (86.0, 140.5)]


@pytest.mark.solver("glop")
def test_an_error_is_reported_in_the_words_of_the_solver() -> None:
    """OR-Tools 9.15 hides it behind an error of its own."""
    code = (
        "import json\n"
        "from ortools.math_opt.python import mathopt\n"
        "from dpopt.solvers import math_opt\n"
        "parameters = mathopt.SolveParameters(node_limit=3)\n"
        "try:\n"
        "    math_opt._solved(mathopt.Model(), mathopt.SolverType.GLOP, params=parameters, "
        "model_params=mathopt.ModelSolveParameters(), msg_cb=None)\n"
        "except Exception as problem:\n"
        "    print(json.dumps(f'{type(problem).__name__}: {problem}'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "node_limit" in json.loads(done.stdout)


def noted(history: History) -> list[tuple[float | None, float | None]]:
    return [(progress.objective, progress.bound) for progress in history.entries()]


def test_a_figure_stays_until_another_comes() -> None:
    history = History()
    history.note(bound=9.0)
    history.note(objective=4.0)
    history.note(objective=5.0, bound=8.0)
    assert noted(history) == [(None, 9.0), (4.0, 9.0), (5.0, 8.0)]


def test_what_is_no_news_is_left_out() -> None:
    history = History()
    history.note()
    history.note(objective=4.0)
    history.note(objective=4.0)
    assert noted(history) == [(4.0, None)]


def test_infinities_and_what_a_solver_writes_for_them_are_no_figures() -> None:
    history = History(beyond=1e20)
    history.note(objective=-math.inf, bound=1e20)
    history.note(objective=math.nan, bound=-1e20)
    assert noted(history) == []
    history.note(objective=1.0, bound=math.inf)
    assert noted(history) == [(1.0, None)]


def test_time_goes_forward() -> None:
    history = History()
    for value in range(5):
        history.note(objective=float(value))
    seconds = [progress.seconds for progress in history.entries()]
    assert seconds == sorted(seconds)
    assert seconds[0] >= 0


def test_lines_are_heard_as_they_come_and_returned_together(tmp_path: Path) -> None:
    """The program prints its second line once the first was heard, and says so where nobody hears it for a minute."""
    heard: list[str] = []

    def hear(line: str) -> None:
        heard.append(line)
        (tmp_path / "heard").touch()

    code = f"""
import pathlib, sys, time
print("one", flush=True)
for _ in range(6_000):
    if pathlib.Path({str(tmp_path / "heard")!r}).exists():
        break
    time.sleep(0.01)
else:
    print("nobody heard it")
print("two", file=sys.stderr)
"""
    assert run([sys.executable, "-c", code], hear) == "one\ntwo\n"
    assert heard == ["one\n", "two\n"]


def test_bytes_that_are_no_text_do_no_harm() -> None:
    code = r"import sys; sys.stdout.buffer.write(b'caf\xe9\n')"
    assert run([sys.executable, "-c", code], lambda line: None).startswith("caf")


def test_a_program_that_is_not_there_raises() -> None:
    with pytest.raises(FileNotFoundError):
        run(["no-such-program-anywhere"], lambda line: None)


def test_what_is_heard_may_raise_without_leaving_the_program_behind() -> None:
    def refuse(line: str) -> None:
        raise ValueError(line)

    with pytest.raises(ValueError, match="one"):
        run([sys.executable, "-c", "print('one')"], refuse)
