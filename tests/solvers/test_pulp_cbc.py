"""Reading CBC's solution files: an incumbent at a limit, the relaxation's point, strangers, bounds in the log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dpopt.programs import Limit, MixedIntegerProgram, SolveLimits, SolveResult, Termination
from dpopt.solvers import pulp_cbc
from dpopt.solvers.process.history import History
from dpopt.solvers.pulp_cbc import PulpCbc
from tests.programs.mixed_integer_programs import INFINITY, dense

PROGRAM = dense([3, 1], [[1, 1]], [(-INFINITY, 4)], [(0, 3), (0, 3)], [True, False])
LOG = (
    "Version: 2.10.3 \nResult - Stopped on time limit\n\nLower bound:                    -10.250\nGap: 0.1\n"
)


def read(text: str, log: str = LOG, program: MixedIntegerProgram = PROGRAM) -> SolveResult:
    return PulpCbc().read(program, text, log)


def test_an_optimal_solution_is_its_own_bound_and_zeros_are_left_out() -> None:
    result = read("Optimal - objective value -9.00000000\n      0 x0   3   -3\n", "Version: 2.10.3\n")
    assert (result.termination, result.objective, result.bound, result.version) == (
        Termination.OPTIMAL,
        9.0,
        9.0,
        "CBC 2.10.3",
    )
    assert result.require_solution().tolist() == [3, 0]


def test_an_incumbent_at_the_time_limit_is_a_limit_with_a_solution_and_a_bound() -> None:
    result = read("Stopped on time - objective value -7.00000000\n 0 x0 2 0\n 1 x1 1 0\n")
    assert (result.termination, result.limit, result.objective) == (Termination.LIMIT, Limit.TIME, 7.0)
    assert result.bound == 10.2505  # printed with three decimals: rounded outward


def test_the_point_of_the_relaxation_is_no_solution() -> None:
    head = "Stopped on time (no integer solution - continuous used) - objective value -8.50000000"
    result = read(f"{head}\n 0 x0 2.5 0\n 1 x1 1 0\n")
    assert (result.termination, result.limit, result.solution, result.objective) == (
        Termination.LIMIT,
        Limit.TIME,
        None,
        None,
    )
    assert "continuous used" in result.native_status


def test_a_solution_within_the_gap_is_a_gap_limit() -> None:
    result = read("Optimal (within gap tolerance) - objective value -9.00000000\n 0 x0 3 0\n")
    assert (result.termination, result.limit) == (Termination.LIMIT, Limit.GAP)


@pytest.mark.parametrize("status", ["Infeasible", "Integer infeasible", "Unbounded"])
def test_the_point_of_a_program_without_solution_is_dropped(status: str) -> None:
    result = read(f"{status} - objective value -8.50000000\n 0 x0 2.5 0\n", "")
    assert (result.solution, result.bound) == (None, None)


def test_a_status_never_seen_is_a_failure_with_its_text() -> None:
    result = read("Somewhat optimal - objective value -9.00000000\n 0 x0 3 0\n")
    assert (result.termination, result.solution, result.native_status) == (
        Termination.FAILED,
        None,
        "Somewhat optimal",
    )


def test_without_a_solution_file_the_log_is_quoted() -> None:
    result = read("", "terrible things\n")
    assert result.termination is Termination.FAILED
    assert "terrible things" in result.native_status


def test_no_bound_is_made_up() -> None:
    assert read("Stopped on time - objective value -7.00000000\n 0 x0 2 0\n", "").bound is None
    huge = "Lower bound:                    -1e+100\n"
    assert read("Stopped on time - objective value -7.00000000\n 0 x0 2 0\n", huge).bound is None


def test_a_minimization_is_read_with_its_own_sign() -> None:
    program = dense([3, 1], [[1, 1]], [(1, INFINITY)], [(0, 3), (0, 3)], [True, False], maximize=False)
    result = read(
        "Stopped on time - objective value 1.00000000\n 1 x1 1 0\n", "Lower bound:  0.500\n", program
    )
    assert (result.objective, result.bound) == (1.0, 0.4995)


@pytest.mark.solver("cbc")
def test_files_are_removed_also_when_cbc_cannot_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("dpopt.solvers.pulp_cbc.cbc_program", lambda: str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError):
        PulpCbc().solve(PROGRAM, SolveLimits(), hint=None)
    assert list(tmp_path.iterdir()) == []


def test_the_number_of_a_column_is_read_from_its_name() -> None:
    text = "Optimal - objective value -1.00000000\n**   1 x1   1   0\n"
    assert np.array_equal(read(text, "").require_solution(), [0, 1])


def test_lines_of_the_log_are_noted_with_the_sign_of_the_program() -> None:
    history = History(beyond=1e50)
    for line in (
        "Cbc0010I After 0 nodes, 1 on tree, 1e+50 best solution, best possible -140.25 (0.56 seconds)",
        "Cbc0012I Integer solution of -86 found by rounding after 0 iterations and 0 nodes (0.60 seconds)",
        "Cbc0010I After 100 nodes, 51 on tree, -90 best solution, best possible -139 (4.56 seconds)",
        "Cbc0005I Partial search - best objective -92 (best possible -137.5), took 0 iterations and 0 nodes (4.79 seconds)",
        "Cbc0038I Pass  67: (4.53 seconds) suminf.   25.12148 (102) obj. -109.231 iterations 295",
    ):
        pulp_cbc._listen(history, line, -1.0)
    assert [(one.objective, one.bound) for one in history.entries()] == [
        (None, 140.25),
        (86.0, 140.25),
        (90.0, 139.0),
        (92.0, 137.5),
    ]
