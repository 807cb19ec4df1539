"""A foreign solver in a process of its own, behind the `Solver` protocol.

Why: limits are kept even by a library that ignores them; a crash or a hang ends one solve, not the run; Ctrl-C works;
and libraries that bundle different copies of the same solver never meet (OR-Tools and highspy crash together).

How: `python -m dpopt.solvers.child` is started on the first solve, in a session of its own, and kept. Programs and
answers travel as pickles over its standard input and output. The child is killed when a wall-clock limit passes, on any
exception in the parent, and at exit; the folder of a library that works through files is removed with it.

A program without variables has one point, feasible or not, and is answered here (`without_variables`).
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import IO

import numpy as np

from dpopt.errors import ProgramError, SolverUnavailableError
from dpopt.machine import kill_with_children
from dpopt.programs.conic import PointProgram, number_of_multipliers
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import NO_LIMITS, Limit, Point, SolveLimits, SolveResult, Termination, as_record
from dpopt.programs.solver import Availability, Capability, Program, why_refused
from dpopt.programs.verification import verified
from dpopt.solvers.process.adapter import HEADER, SolverFolder


def without_variables(program: PointProgram, solver: str) -> SolveResult:
    """Answer a program with no variables in the name of a solver, which is not asked."""
    point = np.zeros(0)
    feasible = program.violation(point) == 0
    objective = program.evaluate(point) if feasible else None
    rows = program.linear
    return SolveResult(
        termination=Termination.OPTIMAL if feasible else Termination.INFEASIBLE,
        solution=point if feasible else None,
        objective=objective,
        bound=objective,
        solver=solver,
        native_status="there is no variable; nothing was solved",
        duals=np.zeros(number_of_multipliers(program)) if feasible and not rows.integrality.any() else None,
    )


GRACE_SECONDS = 10.0
"""How long past its time limit a child may answer: its start and the translation of the program take time too."""

_NOISE_SHOWN = 500  # characters of a dead child's last words that are passed on


class InChildProcess:
    """A `Solver` that hands every program to an adapter in a child process and verifies the answer.

    Parameters
    ----------
    adapter
        Where the child finds the adapter, as "module:Class" (see `dpopt.solvers.process.adapter.Adapter`).
    name, capabilities
        Those of the adapter: its name in the registry, what it accepts and gives.
    availability
        Says whether the library is there, without importing it.
    grace
        Seconds past `limits.seconds` after which the child is killed.
    through_files
        Whether the library works through temporary files: they get a folder of their own, which is removed with the
        child.
    """

    def __init__(
        self,
        adapter: str,
        *,
        name: str,
        capabilities: frozenset[Capability],
        availability: Callable[[], Availability],
        grace: float = GRACE_SECONDS,
        through_files: bool = False,
    ) -> None:
        self.adapter, self.name, self.capabilities = adapter, name, capabilities
        self._availability = availability
        self._grace = grace
        self._through_files = through_files
        self._lock = threading.Lock()
        self._child: _Child | None = None
        self._last_rites: weakref.finalize[[], InChildProcess] | None = None

    def __repr__(self) -> str:
        """Return name and adapter."""
        return f"InChildProcess({self.adapter!r}, name={self.name!r})"

    def availability(self) -> Availability:
        """Say whether the library is there, without importing it."""
        return self._availability()

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        """Solve the program in the child; see `dpopt.programs.solver.Solver`."""
        self._check(program, hint)
        if not isinstance(program, MaxCsp) and program.number_of_variables == 0:
            return without_variables(program, self.name)  # libraries disagree about such programs, or crash
        started = time.perf_counter()
        with self._lock:
            try:
                answer = self._ready(limits.threads).ask((program, limits, hint), self._wall_seconds(limits))
            except BaseException:
                self._end()
                raise
            if not isinstance(answer, SolveResult):
                self._end()
        if isinstance(answer, SolveResult):
            return verified(program, replace(answer, seconds=time.perf_counter() - started))
        termination, limit, text = answer
        seconds = time.perf_counter() - started
        return SolveResult(termination, limit, solver=self.name, native_status=text, seconds=seconds)

    def close(self) -> None:
        """End the child, if there is one. The next solve starts another."""
        with self._lock:
            self._end()

    def _check(self, program: Program, hint: Point | None) -> None:
        reason = why_refused(self, program)
        if reason is not None:
            raise ProgramError(f"{reason}; {_way_out(program)}")
        length = program.sizes.size if isinstance(program, MaxCsp) else program.objective.size
        if hint is not None and hint.shape != (length,):
            raise ProgramError(f"the hint has shape {hint.shape}; this program has {length} variables")
        if isinstance(program, MaxCsp) and hint is not None:
            program.require_record(as_record(hint))
        if self._child is not None:
            return  # its library was there when it started; looking it up takes longer than many a small program
        availability = self._availability()
        if not availability.available:
            raise SolverUnavailableError(f"{self.name} cannot run here: {availability.explanation}")

    def _wall_seconds(self, limits: SolveLimits) -> float | None:
        return None if limits.seconds is None else limits.seconds + self._grace

    def _ready(self, threads: int) -> _Child:
        """Return a living child of this process; a library may fix its number of threads once and for all."""
        child = self._child
        if child is not None and child.usable(threads):
            return child
        self._end()
        self._child = child = _Child(self.adapter, threads, through_files=self._through_files)
        self._last_rites = weakref.finalize(self, child.end)  # when this object goes, and at exit
        return child

    def _end(self) -> None:
        if self._last_rites is not None:
            self._last_rites()  # once
        self._child = self._last_rites = None


def _way_out(program: Program) -> str:
    """Return advice about a program that a solver does not accept."""
    if isinstance(program, MaxCsp):
        return "wrap a solver of mixed-integer programs in dpopt.models.AsMip, or take the local search or cp-sat"
    return "'dpopt solvers' lists what each solver takes"


_Failure = tuple[Termination, Limit | None, str]


class _Child:
    """One child process, its pipes, its temporary folder."""

    def __init__(self, adapter: str, threads: int, *, through_files: bool) -> None:
        self._owner = os.getpid()
        self._threads = threads
        self._folder = SolverFolder() if through_files else None
        self._noise = tempfile.TemporaryFile()  # noqa: SIM115  # without a name; closed in `end`
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
        if self._folder is not None:
            environment["TMPDIR"] = environment["TEMP"] = environment["TMP"] = self._folder.path
        command = [sys.executable, "-P", "-m", "dpopt.solvers.child", adapter, str(self._owner)]
        self._replies: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        started: queue.SimpleQueue[subprocess.Popen[bytes] | OSError] = queue.SimpleQueue()
        threading.Thread(
            target=_start_and_read, args=(command, environment, self._noise, started, self._replies), daemon=True
        ).start()
        process = started.get()
        if isinstance(process, OSError):
            self._remove_files()
            raise process
        self._process = process

    def usable(self, threads: int) -> bool:
        """Return whether the child lives, is ours (not that of a process we were forked from), and fits."""
        return self._owner == os.getpid() and self._threads == threads and self._process.poll() is None

    def ask(self, request: tuple[Program, SolveLimits, Point | None], seconds: float | None) -> SolveResult | _Failure:
        """Send a request and wait for the reply, at most this number of seconds."""
        payload = pickle.dumps(request, protocol=pickle.HIGHEST_PROTOCOL)
        # From a thread of its own: a child that hangs before it reads must not hold up the clock.
        threading.Thread(target=self._write, args=(payload,), daemon=True).start()
        try:
            reply = self._replies.get(timeout=seconds)
        except queue.Empty:
            text = f"no answer {seconds:g} s after the start, time limit and grace together; its process was killed"
            return Termination.LIMIT, Limit.TIME, text
        if reply is None:
            return Termination.FAILED, None, self._last_words()
        result: SolveResult = pickle.loads(reply)  # noqa: S301  # from our own child's pipe only
        return result

    def end(self) -> None:
        """Kill the child and whatever it started, and remove its files."""
        if self._owner != os.getpid():
            return
        if self._process.poll() is None:
            kill_with_children(self._process.pid)
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            _close(self._process.stdin)
        self._remove_files()

    def _remove_files(self) -> None:
        _close(self._noise)
        if self._folder is not None:
            self._folder.remove()

    def _write(self, payload: bytes) -> None:
        target = self._process.stdin
        if target is None:
            return
        try:
            target.write(len(payload).to_bytes(HEADER, "big") + payload)
            target.flush()
        except (OSError, ValueError):
            return  # the child is gone, or being ended: the reader's end of file tells

    def _last_words(self) -> str:
        code = self._process.wait()
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        self._noise.flush()
        self._noise.seek(0)
        words = self._noise.read().decode("utf-8", "replace").strip()[-_NOISE_SHOWN:]
        return f"its process {how}" + (f"; its last words: {words}" if words else "")


def _start_and_read(
    command: list[str],
    environment: dict[str, str],
    noise: IO[bytes],
    started: queue.SimpleQueue[subprocess.Popen[bytes] | OSError],
    replies: queue.SimpleQueue[bytes | None],
) -> None:
    """Start the child and pass on one reply after another; None at the end.

    One thread does both, since the kernel ends a child with the *thread* that started it (`end_with_parent`): this one
    lives exactly as long as the child.
    """
    try:
        process = subprocess.Popen(  # noqa: S603  # our own interpreter and module
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=noise,
            env=environment,
            start_new_session=True,
        )
    except OSError as problem:
        started.put(problem)
        return
    started.put(process)
    if process.stdout is not None:
        with process.stdout as source:
            while (reply := _read_reply(source)) is not None:
                replies.put(reply)
    replies.put(None)


def _read_reply(source: IO[bytes]) -> bytes | None:
    header = source.read(HEADER)
    if len(header) < HEADER:
        return None
    size = int.from_bytes(header, "big")
    reply = source.read(size)
    return reply if len(reply) == size else None


def _close(stream: IO[bytes]) -> None:
    try:
        stream.close()
    except OSError:
        return  # unsent bytes to a dead child
