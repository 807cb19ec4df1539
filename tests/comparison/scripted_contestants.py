"""Adapters for comparisons: they answer, crash, hang or lie when the problem is not the tiny one that warms them up."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpopt.programs import Capability, Limit, MaxCsp, Point, Program, Progress, SolveLimits, SolveResult, Termination

WARM_UP = 2  # attributes of the problem that warms a solver up


def best_of_few(program: MaxCsp) -> tuple[list[int], int]:
    """Return the best of a small problem's records and its objective."""
    best = max(np.ndindex(*program.sizes.tolist()), key=lambda r: program.objective(np.array(r, np.int32)))
    return list(best), program.objective(np.array(best, np.int32))


@dataclass
class Right:
    """Finds the optimum of small problems by enumeration and says so."""

    name: str = "right"
    capabilities: frozenset[Capability] = frozenset({Capability.MAX_CSP, Capability.PRESOLVES})

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        assert isinstance(program, MaxCsp)
        record, value = best_of_few(program)
        claimed = SolveResult(
            Termination.OPTIMAL,
            None,
            np.array(record, dtype=np.int32),
            float(value),
            float(value),
            self.name,
            "1",
            f"process {os.getpid()}",
            0.0,
        )
        return claimed if program.sizes.size == WARM_UP else self.change(claimed, program, limits)

    def change(self, claimed: SolveResult, program: MaxCsp, limits: SolveLimits) -> SolveResult:
        """Return what is answered in place of the truth."""
        return claimed


class Crashing(Right):
    """Dies of a segmentation fault."""

    def change(self, claimed: SolveResult, program: MaxCsp, limits: SolveLimits) -> SolveResult:
        os.kill(os.getpid(), signal.SIGSEGV)
        return claimed


class Hanging(Right):
    """Never answers."""

    def change(self, claimed: SolveResult, program: MaxCsp, limits: SolveLimits) -> SolveResult:
        while True:
            time.sleep(1)


class Raising(Right):
    """Raises an error of its library."""

    def change(self, claimed: SolveResult, program: MaxCsp, limits: SolveLimits) -> SolveResult:
        raise ZeroDivisionError("the library is unhappy")


class Hungry(Right):
    """Takes 240 MB for a moment."""

    def change(self, claimed: SolveResult, program: MaxCsp, limits: SolveLimits) -> SolveResult:
        return replace(claimed, report={"sum": float(np.ones(30_000_000).sum())})


class Boasting(Right):
    """Gives the worst record and claims more than any record is worth."""

    def change(self, claimed: SolveResult, program: MaxCsp, limits: SolveLimits) -> SolveResult:
        return replace(claimed, solution=_worst(program), objective=1e6, bound=1e6)


class Giving(Right):
    """Gives the worst record and claims that it is optimal, with a bound that only another answer disproves."""

    def change(self, claimed: SolveResult, program: MaxCsp, limits: SolveLimits) -> SolveResult:
        worst = _worst(program)
        value = float(program.objective(worst))
        return replace(claimed, solution=worst, objective=value, bound=value)


class Inventing(Right):
    """Answers with codes that do not exist."""

    def change(self, claimed: SolveResult, program: MaxCsp, limits: SolveLimits) -> SolveResult:
        return replace(claimed, solution=program.sizes.copy())


class Denying(Right):
    """Claims that there is no record."""

    def change(self, claimed: SolveResult, program: MaxCsp, limits: SolveLimits) -> SolveResult:
        return replace(claimed, termination=Termination.INFEASIBLE, solution=None, objective=None, bound=None)


class Telling(Right):
    """Reports incumbents over time, the last one at the limit."""

    def change(self, claimed: SolveResult, program: MaxCsp, limits: SolveLimits) -> SolveResult:
        value = claimed.objective
        assert value is not None
        time.sleep(0.7)
        steps = (Progress(0.05, value - 2, None), Progress(0.2, None, value + 3), Progress(0.6, value, value))
        return replace(claimed, termination=Termination.LIMIT, limit=Limit.TIME, bound=value + 3, history=steps)


class Exaggerating(Right):
    """Reports an incumbent that its final answer does not reach."""

    def change(self, claimed: SolveResult, program: MaxCsp, limits: SolveLimits) -> SolveResult:
        value = claimed.objective
        assert value is not None
        return replace(claimed, history=(Progress(0.01, value + 5, None),))


class Slow(Right):
    """Uses all of its time, and finds the best record only if that is a second or more."""

    def change(self, claimed: SolveResult, program: MaxCsp, limits: SolveLimits) -> SolveResult:
        assert limits.seconds is not None
        time.sleep(limits.seconds)
        record = claimed.solution if limits.seconds >= 1 else _worst(program)
        return replace(claimed, termination=Termination.LIMIT, limit=Limit.TIME, solution=record, bound=None)


def _worst(program: MaxCsp) -> NDArray[np.int32]:
    worst = min(np.ndindex(*program.sizes.tolist()), key=lambda r: program.objective(np.array(r, np.int32)))
    return np.array(worst, dtype=np.int32)
