"""Child processes: whatever a library does, the caller gets a result, and nothing is left behind."""

from __future__ import annotations

import gc
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

from dpopt.errors import ProgramError, SolverUnavailableError
from dpopt.programs import (
    Availability,
    AvailabilityStatus,
    Capability,
    Limit,
    MaxCsp,
    SolveLimits,
    Termination,
)
from dpopt.solvers.child_process import InChildProcess
from tests.programs.test_mps import PROGRAM as MIXED_INTEGER
from tests.source_code import ROOT
from tests.strategies import clauses_of

PROBLEM = MaxCsp(np.array([2, 3]), clauses_of([([(0, 0, True), (1, 0, True)], 4)]), np.array([7]))
HERE = Availability(AvailabilityStatus.AVAILABLE, "here")


class Children:
    """Makes solvers whose children are ended after the test."""

    def __init__(self) -> None:
        self.made: list[InChildProcess] = []

    def __call__(
        self, adapter: str, grace: float = 60.0, availability: Availability = HERE
    ) -> InChildProcess:
        solver = InChildProcess(
            f"scripted_adapters:{adapter}",
            name="scripted",
            capabilities=frozenset({Capability.MAX_CSP}),
            availability=lambda: availability,
            grace=grace,
        )
        self.made.append(solver)
        return solver


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Iterator[Children]:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    children = Children()
    yield children
    for solver in children.made:
        solver.close()
    gc.collect()  # a pipe that was not closed would warn here


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


def test_the_objective_is_evaluated_anew_in_the_parent(child: Children) -> None:
    result = child("Obedient").solve(PROBLEM)
    assert (result.objective, result.solver, result.version) == (7.0, "scripted", "1")
    assert result.seconds > 0


def test_a_record_that_does_not_exist_is_refused(child: Children) -> None:
    result = child("Lying").solve(PROBLEM)
    assert (result.termination, result.solution) == (Termination.IMPRECISE, None)


def test_a_crash_is_a_failure_with_its_last_words_and_the_next_solve_works(child: Children) -> None:
    solver = child("Crashing")
    result = solver.solve(PROBLEM, SolveLimits(seed=1))
    assert (result.termination, result.limit, result.solution) == (Termination.FAILED, None, None)
    assert f"signal {signal.SIGSEGV.value}" in result.native_status
    assert "about to fall over" in result.native_status
    assert solver.solve(PROBLEM).objective == 7.0


def test_an_exit_is_a_failure_that_names_the_code(child: Children) -> None:
    result = child("Leaving").solve(PROBLEM)
    assert result.termination is Termination.FAILED
    assert "exit code 3" in result.native_status


def test_an_adapter_that_cannot_be_loaded_is_a_failure(child: Children) -> None:
    result = child("Missing").solve(PROBLEM)
    assert result.termination is Termination.FAILED
    assert "has no attribute 'Missing'" in result.native_status


def test_what_a_library_raises_is_a_failure_and_the_child_lives_on(child: Children) -> None:
    solver = child("Raising")
    result = solver.solve(PROBLEM)
    assert (result.termination, result.native_status) == (
        Termination.FAILED,
        "ValueError: the library is unhappy",
    )
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


def test_what_a_library_prints_never_reaches_the_answer(
    child: Children, capfd: pytest.CaptureFixture[str]
) -> None:
    result = child("Talking").solve(PROBLEM)
    assert (result.objective, result.native_status) == (7.0, "read b''")
    assert capfd.readouterr() == ("", "")


def test_closing_ends_the_child_and_removes_its_files(
    child: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    solver = child("Obedient")
    pid = int(solver.solve(PROBLEM).native_status.split()[0])
    assert len(list(tmp_path.iterdir())) == 1
    solver.close()
    assert is_gone(pid)
    assert list(tmp_path.iterdir()) == []
    assert int(solver.solve(PROBLEM).native_status.split()[0]) != pid


def test_a_solver_that_nobody_holds_any_more_takes_its_child_with_it(
    child: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    pid = int(child("Obedient").solve(PROBLEM).native_status.split()[0])
    child.made.clear()
    gc.collect()
    assert is_gone(pid)
    assert list(tmp_path.iterdir()) == []


def test_a_child_that_died_between_two_solves_is_replaced(child: Children) -> None:
    solver = child("Obedient")
    pid = int(solver.solve(PROBLEM).native_status.split()[0])
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
    with pytest.raises(ProgramError, match="does not take mixed-integer programs"):
        solver.solve(MIXED_INTEGER)
    with pytest.raises(ProgramError, match="2 variables"):
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
from dpopt.solvers.child_process import InChildProcess
problem = MaxCsp(np.array([2]), Clauses.conjunctions([[0]], [[0]], [[True]]), np.array([7]))
solver = InChildProcess("scripted_adapters:Hanging", name="scripted", capabilities=frozenset({Capability.MAX_CSP}),
    availability=lambda: Availability(AvailabilityStatus.AVAILABLE, ""))
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
        [sys.executable, str(path)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
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
def test_the_child_dies_with_its_parent(tmp_path: Path) -> None:
    running = script(tmp_path, "solver.solve(problem, SolveLimits(seed=1))")
    pid, grandchild, _ = wait_for(tmp_path / "note")
    running.kill()
    running.communicate(timeout=60)
    assert is_gone(int(pid))
    os.kill(int(grandchild), signal.SIGKILL)  # no adapter of dpopt starts one that does not end with it
