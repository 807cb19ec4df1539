"""Adapters that misbehave in every way, for the tests of child processes. Loaded by the child as "module:Class"."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dpopt.programs import (
    Capability,
    Limit,
    MaxCsp,
    Point,
    Program,
    Progress,
    QuadraticProgram,
    SolveLimits,
    SolveResult,
    Termination,
)


def zeros(program: Program, text: str = "fine") -> SolveResult:
    """Answer with code 0 everywhere; the objective is a lie, to be found out."""
    assert isinstance(program, MaxCsp)
    record = np.zeros(program.sizes.size, dtype=np.int32)
    return SolveResult(Termination.LIMIT, Limit.TIME, record, 1e6, None, "scripted", "1", text, 0.0)


@dataclass
class Obedient:
    """Answers, and says in which process it runs and what it was given."""

    name: str = "scripted"
    capabilities: frozenset[Capability] = frozenset({Capability.MAX_CSP})

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        return zeros(program, f"{os.getpid()} {limits.seed} {None if hint is None else hint.tolist()}")


class Crashing(Obedient):
    """Dies of a segmentation fault when the seed is 1."""

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        if limits.seed == 1:
            sys.stderr.write("about to fall over\n")
            sys.stderr.flush()
            os.kill(os.getpid(), signal.SIGSEGV)
        return zeros(program)


class Leaving(Obedient):
    """Ends its process with exit code 3."""

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        os._exit(3)


class Raising(Obedient):
    """Raises what the seed says."""

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        raise MemoryError if limits.seed == 1 else ValueError("the library is unhappy")


class Hanging(Obedient):
    """Starts a process of its own, leaves a file, tells where in a file named by the version, and never answers."""

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        if limits.seed != 1:
            return zeros(program)
        grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(os.environ["TMPDIR"], "left-behind").write_text("x")
        note = Path(os.environ["SCRIPTED_NOTE"])
        note.with_suffix(".new").write_text(f"{os.getpid()} {grandchild.pid} {os.environ['TMPDIR']}")
        note.with_suffix(".new").rename(note)
        while True:
            time.sleep(1)


class Talking(Obedient):
    """Prints to standard output in every way before it answers, and reads standard input."""

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        sys.stdout.write("python says hello\n")
        os.write(1, b"native code says hello\n" * 1000)
        subprocess.run([sys.executable, "-c", "print('a child says hello')"], check=True)
        return zeros(program, f"read {os.read(0, 10)!r}")


class Lying(Obedient):
    """Answers with a code that does not exist."""

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        assert isinstance(program, MaxCsp)
        record = program.sizes.copy()
        return SolveResult(Termination.OPTIMAL, None, record, 5.0, 5.0, "scripted", "1", "sure", 0.0)


class Historic(Obedient):
    """Answers with a history and duals that are not for a record."""

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        answer = zeros(program)
        steps = (Progress(0.25, None, 9.0), Progress(0.5, 7.0, 8.0))
        return replace(answer, history=steps, report={"nodes": 3})


class Squaring(Obedient):
    """Answers a quadratic program with its targets, whatever the rows say; the objective is a lie."""

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        assert isinstance(program, QuadraticProgram)
        duals = np.array([0.5] * program.linear.number_of_rows)
        return SolveResult(
            Termination.OPTIMAL, None, program.targets, -1e6, None, "scripted", "1", "sure", 0.0, duals=duals
        )


class Remembering(Obedient):
    """Needs 200 megabytes; with the seed 1 in a process of its own, which it waits for."""

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        if limits.seed == 1:
            subprocess.run([sys.executable, "-c", "print(len(b'x' * 200_000_000))"], check=True)
        else:
            np.ones(25_000_000).sum()
        return zeros(program)
