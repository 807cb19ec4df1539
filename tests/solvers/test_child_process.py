"""Child processes: whatever a library does, the caller gets a result, nothing is left behind, and no two libraries meet."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from dpopt.errors import ProgramError, SolverUnavailableError
from dpopt.programs import (
    Availability,
    AvailabilityStatus,
    Capability,
    Limit,
    MaxCsp,
    Progress,
    QuadraticProgram,
    SolveLimits,
    Termination,
)
from dpopt.solvers import available_solvers
from dpopt.solvers.process.adapter import PREFIX, SolverFolder, remove_left_folders
from dpopt.solvers.process.child_process import InChildProcess
from tests.circuits import Amount, Gate, among, circuit_of, some
from tests.programs.mixed_integer_programs import INFINITY, dense
from tests.programs.test_mixed_integer import PROGRAM as MIXED_INTEGER
from tests.source_code import ROOT
from tests.strategies import clauses_of

PROBLEM = MaxCsp(np.array([2, 3]), clauses_of([([(0, 0, True), (1, 0, True)], 4)]), np.array([7]))
HERE = Availability(AvailabilityStatus.AVAILABLE, "here")


class Children:
    """Makes solvers whose children are ended after the test."""

    def __init__(self) -> None:
        self.made: list[InChildProcess] = []

    def __call__(
        self,
        adapter: str,
        grace: float = 60.0,
        availability: Availability = HERE,
        capabilities: frozenset[Capability] = frozenset({Capability.MAX_CSP}),
    ) -> InChildProcess:
        solver = InChildProcess(
            f"scripted_adapters:{adapter}",
            name="scripted",
            capabilities=capabilities,
            availability=lambda: availability,
            grace=grace,
            through_files=True,
        )
        self.made.append(solver)
        return solver


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Iterator[Children]:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    gc.freeze()  # what was there before is not looked at below, which takes a second where much is loaded
    children = Children()
    yield children
    for solver in children.made:
        solver.close()
    gc.collect()  # a pipe that was not closed would warn here


def process_of(solver: InChildProcess) -> int:
    """Return the process in which an obedient solver answers."""
    return int(solver.solve(PROBLEM).native_status.split()[0])


def wait_for(path: Path) -> list[str]:
    """Return the words of a file once it is there."""
    for _ in range(600):
        if path.exists():
            return path.read_text().split()
        time.sleep(0.05)
    raise AssertionError(f"{path} was not written")


def is_gone(pid: int) -> bool:
    """Wait until a process is gone, or dead and waiting to be collected."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_the_child_is_kept_between_solves_and_given_everything(child: Children) -> None:
    solver = child("Obedient")
    first = solver.solve(PROBLEM, SolveLimits(seed=4))
    second = solver.solve(PROBLEM, hint=np.array([1, 2], dtype=np.int32))
    (pid, seed, hint), (again, _, *given) = first.native_status.split(), second.native_status.split()
    assert (seed, hint, given) == ("4", "None", ["[1,", "2]"])
    assert pid == again != str(os.getpid())


def test_a_library_is_looked_up_before_each_child_and_not_before_each_solve(child: Children) -> None:
    solver, looked = child("Obedient"), []
    solver._availability = lambda: looked.append(1) or HERE  # type: ignore[func-returns-value]
    for _ in range(2):
        solver.solve(PROBLEM)
    solver.close()
    solver.solve(PROBLEM)
    assert len(looked) == 2


def test_the_objective_is_evaluated_anew_in_the_parent(child: Children) -> None:
    result = child("Obedient").solve(PROBLEM)
    assert (result.objective, result.solver, result.version) == (7.0, "scripted", "1")
    assert result.seconds > 0


def test_a_record_that_does_not_exist_is_refused(child: Children) -> None:
    result = child("Lying").solve(PROBLEM)
    assert (result.termination, result.solution) == (Termination.IMPRECISE, None)


RULED = MaxCsp(
    PROBLEM.sizes, PROBLEM.clauses, PROBLEM.weights, circuit_of({"not the first": [some(among(0, [1], [2, 3]))]})
)
WITH_RULES = frozenset({Capability.MAX_CSP, Capability.RULES})


def test_a_record_that_breaks_a_rule_is_refused_and_the_rule_is_named(child: Children) -> None:
    result = child("Obedient", capabilities=WITH_RULES).solve(RULED)
    assert (result.termination, result.solution) == (Termination.IMPRECISE, None)
    assert "'not the first'" in result.native_status


def test_rules_are_refused_before_any_child_is_started_by_a_solver_that_takes_none(child: Children) -> None:
    solver = child("Obedient")
    with pytest.raises(ProgramError, match="rules"):
        solver.solve(RULED)
    counting = child("Obedient", capabilities=frozenset({Capability.MAX_CSP, Capability.CARDINALITY_RULES}))
    weighted = circuit_of({"sum": [Gate(3, (Amount(1, (0, 2, 5)),))]})
    with pytest.raises(ProgramError, match="adds"):
        counting.solve(MaxCsp(PROBLEM.sizes, PROBLEM.clauses, PROBLEM.weights, weighted))
    assert counting.solve(RULED).termination is Termination.IMPRECISE  # taken; the answer was wrong
    assert solver._child is None


def quadratic(low: float) -> QuadraticProgram:
    """Minimize (x - 2)^2 / 2 with low <= x <= 9."""
    linear = dense([0], [[1]], [(low, INFINITY)], [(-9, 9)], [False], maximize=False)
    one = np.array([1.0])
    return QuadraticProgram(linear, np.array([0, 1]), np.array([0]), one, np.array([2.0]), one)


def test_quadratic_programs_travel_and_come_back_evaluated_anew(child: Children) -> None:
    solver = child("Squaring", capabilities=frozenset({Capability.CONVEX_QP}))
    result = solver.solve(quadratic(0))
    assert (result.termination, result.objective) == (Termination.OPTIMAL, 0.0)
    assert result.require_solution().tolist() == [2.0]
    assert result.duals is not None
    assert result.duals.tolist() == [0.5]
    assert not result.duals.flags.writeable


def test_a_point_that_breaks_a_row_of_a_quadratic_program_is_refused(child: Children) -> None:
    result = child("Squaring", capabilities=frozenset({Capability.CONVEX_QP})).solve(quadratic(3))
    assert (result.termination, result.solution) == (Termination.IMPRECISE, None)
    assert "breaks a constraint by 1" in result.native_status


def test_a_quadratic_program_is_refused_by_a_solver_that_takes_none(child: Children) -> None:
    with pytest.raises(ProgramError, match="quadratic"):
        child("Obedient").solve(quadratic(0))


def test_the_history_and_the_report_come_back(child: Children) -> None:
    result = child("Historic").solve(PROBLEM)
    assert result.history == (Progress(0.25, None, 9.0), Progress(0.5, 7.0, 8.0))
    assert result.report["nodes"] == 3


@pytest.mark.parametrize("seed", [0, 1])
def test_the_peak_memory_is_that_of_the_child_or_of_what_it_started(child: Children, seed: int) -> None:
    solver = child("Remembering")
    peak = solver.solve(PROBLEM, SolveLimits(seed=seed)).report["peak_memory_mb"]
    assert 200 < float(peak) < 600
    assert float(child("Obedient").solve(PROBLEM).report["peak_memory_mb"]) < 200


def test_a_failure_reports_its_memory_too(child: Children) -> None:
    report = child("Raising").solve(PROBLEM).report
    assert float(report["peak_memory_mb"]) > 1
    assert float(report["adapter_seconds"]) >= 0


def test_a_crash_is_a_failure_with_its_last_words_and_the_next_solve_works(child: Children) -> None:
    solver = child("Crashing")
    result = solver.solve(PROBLEM, SolveLimits(seed=1))
    assert (result.termination, result.limit, result.solution) == (Termination.FAILED, None, None)
    assert f"signal {signal.SIGSEGV.value}" in result.native_status
    assert "about to fall over" in result.native_status
    assert solver.solve(PROBLEM).objective == 7.0


@pytest.mark.parametrize(("adapter", "says"), [("Leaving", "exit code 3"), ("Missing", "has no attribute 'Missing'")])
def test_a_child_that_ends_is_a_failure_that_says_why(child: Children, adapter: str, says: str) -> None:
    result = child(adapter).solve(PROBLEM)
    assert result.termination is Termination.FAILED
    assert says in result.native_status


def test_what_a_library_raises_is_a_failure_and_the_child_lives_on(child: Children) -> None:
    solver = child("Raising")
    result = solver.solve(PROBLEM)
    assert (result.termination, result.native_status) == (Termination.FAILED, "ValueError: the library is unhappy")
    memory = solver.solve(PROBLEM, SolveLimits(seed=1))
    assert (memory.termination, memory.limit) == (Termination.LIMIT, Limit.MEMORY)


def test_a_child_that_does_not_answer_in_time_is_killed_with_all_it_started(
    child: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_NOTE", str(tmp_path / "note"))
    solver = child("Hanging", grace=2.0)
    result = solver.solve(PROBLEM, SolveLimits(seconds=1.0, seed=1))
    assert (result.termination, result.limit, result.solution) == (Termination.LIMIT, Limit.TIME, None)
    assert "killed" in result.native_status
    pid, grandchild, folder = wait_for(tmp_path / "note")
    assert is_gone(int(pid))
    assert is_gone(int(grandchild))
    assert not Path(folder).exists()
    assert solver.solve(PROBLEM).objective == 7.0


def test_what_a_library_prints_never_reaches_the_answer(child: Children, capfd: pytest.CaptureFixture[str]) -> None:
    result = child("Talking").solve(PROBLEM)
    assert (result.objective, result.native_status) == (7.0, "read b''")
    assert capfd.readouterr() == ("", "")


def test_closing_ends_child_and_removes_files(child: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    solver = child("Obedient")
    pid = process_of(solver)
    assert len(list(tmp_path.iterdir())) == 1
    solver.close()
    assert is_gone(pid)
    assert list(tmp_path.iterdir()) == []
    assert process_of(solver) != pid


def test_a_solver_that_nobody_holds_any_more_takes_its_child_with_it(
    child: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    pid = process_of(child("Obedient"))
    child.made.clear()
    gc.collect()
    assert is_gone(pid)
    assert list(tmp_path.iterdir()) == []


def test_a_child_that_died_between_two_solves_is_replaced(child: Children) -> None:
    solver = child("Obedient")
    pid = process_of(solver)
    os.kill(pid, signal.SIGKILL)
    assert solver._child is not None
    solver._child._process.wait()
    assert solver.solve(PROBLEM).objective == 7.0


def test_another_number_of_threads_means_another_child(child: Children) -> None:
    solver = child("Obedient")
    pids = [solver.solve(PROBLEM, SolveLimits(threads=n)).native_status.split()[0] for n in (1, 1, 2)]
    assert pids[0] == pids[1] != pids[2]


def test_solves_from_many_threads_take_turns(child: Children) -> None:
    solver, found = child("Obedient"), []
    threads = [
        threading.Thread(target=lambda seed=seed: found.append(solver.solve(PROBLEM, SolveLimits(seed=seed))))
        for seed in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(result.native_status.split()[1] for result in found) == sorted(map(str, range(8)))


def test_misuse_is_refused_before_any_child_is_started(child: Children) -> None:
    solver = child("Obedient")
    with pytest.raises(ProgramError, match="mixed-integer"):
        solver.solve(MIXED_INTEGER)
    with pytest.raises(ProgramError, match="variables"):
        solver.solve(PROBLEM, hint=np.array([0], dtype=np.int32))
    with pytest.raises(ProgramError, match="code 5"):
        solver.solve(PROBLEM, hint=np.array([0, 5], dtype=np.int32))
    assert solver._child is None


def test_a_library_that_is_missing_is_refused_with_the_remedy(child: Children) -> None:
    missing = Availability(AvailabilityStatus.NOT_INSTALLED, "run: python -m pip install example")
    with pytest.raises(SolverUnavailableError, match="pip install example"):
        child("Obedient", availability=missing).solve(PROBLEM)


SCRIPT = """
import numpy as np
from dpopt.programs import *
from dpopt.queries import Clauses
from dpopt.solvers.process.child_process import InChildProcess
problem = MaxCsp(np.array([2]), Clauses.conjunctions([[0]], [[0]], [[True]]), np.array([7]))
solver = InChildProcess("scripted_adapters:Hanging", name="scripted", capabilities=frozenset({Capability.MAX_CSP}),
    availability=lambda: Availability(AvailabilityStatus.AVAILABLE, ""), through_files=True)
"""


def script(tmp_path: Path, code: str) -> subprocess.Popen[str]:
    """Start a user's script, without any guard for multiprocessing."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT + code)
    folders = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""), str(ROOT)]
    environment = os.environ | {
        "SCRIPTED_NOTE": str(tmp_path / "note"),
        "PYTHONPATH": os.pathsep.join(filter(None, folders)),
        "TMPDIR": str(tmp_path),
    }
    return subprocess.Popen(
        [sys.executable, str(path)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_script_without_a_main_guard_works_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = script(tmp_path, "print(solver.solve(problem).objective)")
    out, error = done.communicate(timeout=60)
    assert (out, error, done.returncode) == ("7.0\n", "", 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["script.py"]


def test_ctrl_c_ends_the_child_at_once(tmp_path: Path) -> None:
    running = script(tmp_path, "solver.solve(problem, SolveLimits(seed=1))")
    pid, grandchild, folder = wait_for(tmp_path / "note")
    running.send_signal(signal.SIGINT)
    _, error = running.communicate(timeout=60)
    assert "KeyboardInterrupt" in error
    assert is_gone(int(pid))
    assert is_gone(int(grandchild))
    assert not Path(folder).exists()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread of the child looks for its parent")
def test_the_child_dies_with_its_parent_and_the_next_run_removes_its_files(tmp_path: Path) -> None:
    running = script(tmp_path, "solver.solve(problem, SolveLimits(seed=1))")
    pid, grandchild, _ = wait_for(tmp_path / "note")
    assert list(tmp_path.glob("dpopt-solver-*/left-behind"))
    running.kill()
    running.communicate(timeout=60)
    assert is_gone(int(pid))
    os.kill(int(grandchild), signal.SIGKILL)  # no adapter of dpopt starts one that does not end with it
    code = "from dpopt.solvers import get_solver; get_solver('auto')"
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(tmp_path)}, check=True)
    assert not list(tmp_path.glob("dpopt-solver-*"))  # the next start removes what the killed run left


CODE = """
import json, sys
import numpy as np
import psutil
from dpopt.models import accepting_max_csp
from dpopt.programs import Capability, MaxCsp, MixedIntegerProgram
from dpopt.queries import Clauses
from dpopt.solvers import get_solver
problem = MaxCsp(np.array([2, 2]), Clauses.conjunctions([[0, 1], [0, -1]], [[1, 1], [1, 0]], [[True, True], [True, False]]),
    np.array([3, -1]))
linear = MixedIntegerProgram(True, np.array([1.0]), np.array([0, 1]), np.array([0]), np.array([2.0]), np.array([0.0]),
    np.array([4.0]), np.array([0.0]), np.array([9.0]), np.array([False]))
def objective(name):
    solver = get_solver(name)
    if not solver.capabilities & {Capability.MAX_CSP, Capability.MIP}:
        return round(solver.solve(linear).objective, 5)
    return accepting_max_csp(solver).solve(problem).objective
def loaded(pid):
    paths = [one.path for one in psutil.Process(pid).memory_maps()]
    return [library for library in ("highspy", "ortools") if any(f"/{library}/" in path for path in paths)]
objectives = [objective(name) for name in sys.argv[1:]]
libraries = ("cvxpy", "gurobipy", "highspy", "ortools", "pulp", "pysat", "scipy.optimize")
here = [name for name in libraries if name in sys.modules]
children = {name: child for name in sys.argv[1:] if (child := getattr(get_solver(name), "_child", None))}
pids = {name: child._process.pid for name, child in children.items()}
print(json.dumps([objectives, here, pids, {name: loaded(pid) for name, pid in pids.items()}]))
"""


def test_solvers_work_one_after_the_other_each_in_its_process_and_the_driver_loads_none() -> None:
    """Children are kept, so that all live at once; as no two share one, no order of solvers is another order of libraries.

    OR-Tools and highspy never share a process: each brings a HiGHS, and from highspy 1.15 on, whichever is loaded second fails.
    """
    names = available_solvers()
    assert len(names) > 4
    done = subprocess.run([sys.executable, "-c", CODE, *names], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    objectives, here, pids, in_children = json.loads(done.stdout)
    assert (objectives, here) == ([2.0] * len(names), [])
    assert len({*pids.values()}) == len(pids) > 4
    assert all(len(libraries) <= 1 for libraries in in_children.values()), in_children
    for name, library in (("cvxpy-highs", "highspy"), ("cp-sat", "ortools")):  # what is loaded is seen
        assert in_children.get(name, [library]) == [library]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


def left(folder: Path, name: str = "left") -> Path:
    """Make what a killed process leaves."""
    made = folder / f"{PREFIX}{name}"
    (made / "glpk-x").mkdir(parents=True)
    made.chmod(0o700)
    (made / "glpk-x" / "model.mps").write_text("x")
    (made / "file").write_text("x")
    return made


def test_what_a_killed_process_left_is_removed(temporary: Path) -> None:
    left(temporary)
    remove_left_folders()
    assert list(temporary.iterdir()) == []


def test_the_folder_of_a_living_process_stays_until_it_is_removed(temporary: Path) -> None:
    folder = SolverFolder()
    Path(folder.path, "model.mps").write_text("x")
    remover = multiprocessing.get_context("spawn").Process(target=_remove_in, args=(str(temporary),))
    remover.start()
    remover.join()
    remove_left_folders()
    assert Path(folder.path, "model.mps").exists()
    folder.remove()
    assert list(temporary.iterdir()) == []


def _remove_in(folder: str) -> None:
    import tempfile

    tempfile.tempdir = folder
    remove_left_folders()


def test_links_are_not_followed_and_others_folders_stay(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir(mode=0o700)
    (precious / "file").write_text("x")
    (temporary / f"{PREFIX}link").symlink_to(precious)
    (left(temporary) / "inner").symlink_to(precious)
    left(temporary, "wide").chmod(0o755)  # mkdtemp makes none like it
    (temporary / f"{PREFIX}file").write_text("x")
    (temporary / "another").mkdir(mode=0o700)
    remove_left_folders()
    assert (precious / "file").exists()
    kept = {f"{PREFIX}link", f"{PREFIX}wide", f"{PREFIX}file", "another"}
    assert {path.name for path in temporary.iterdir()} == kept
    mine = left(temporary)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    remove_left_folders()
    assert mine.exists()


def test_a_folder_removed_while_it_is_made_is_made_again(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its making and its locking another process may take it for one that was left."""
    acquire, made = FileLock.acquire, list[Path]()

    def late(self: FileLock) -> object:
        if not made:
            made.extend(temporary.iterdir())
            made[0].rmdir()
        return acquire(self)

    monkeypatch.setattr(FileLock, "acquire", late)
    folder = SolverFolder()
    assert list(temporary.iterdir()) == [Path(folder.path)] != made
    folder.remove()
