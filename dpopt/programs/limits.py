"""How long a solver may work, and how good is good enough."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dpopt.errors import ProgramError

LONGEST_SECONDS = 1e9
"""Some thirty years; clocks and queues of the operating system take no more than a few times that."""


@dataclass(frozen=True, slots=True)
class SolveLimits:
    """Limits of one solve. Fields left at None do not bind.

    Parameters
    ----------
    seconds
        Wall-clock seconds, > 0 and at most 1e9. Where it cuts a search short, a repeated run may end elsewhere.
    work
        Deterministic effort, >= 1, in the solver's own unit (local search: sweeps; CP-SAT: deterministic
        seconds; HiGHS and CBC: nodes): the same work and seed give the same answer.
    gap
        Absolute gap between bound and objective at which to stop, >= 0. None: prove optimality.
    threads
        Number of threads the solver may use, >= 1.
    seed
        Integer seed of the solver's own choices, 0 <= seed < 2**31. Public; never derived from records.

    Raises
    ------
    ProgramError
        A value outside its range.
    """

    seconds: float | None = None
    work: int | None = None
    gap: float | None = None
    threads: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.seconds is not None and not 0 < self.seconds <= LONGEST_SECONDS:
            raise ProgramError(
                f"seconds is {self.seconds}; give a number above 0 and up to {LONGEST_SECONDS:.0e}, or None for no limit"
            )
        if self.work is not None and self.work < 1:
            raise ProgramError(
                f"work is {self.work}; give a whole number of at least 1, or None for the default"
            )
        if self.gap is not None and not (math.isfinite(self.gap) and self.gap >= 0):
            raise ProgramError(f"gap is {self.gap}; give a finite number of at least 0, or None")
        if self.threads < 1:
            raise ProgramError(f"threads is {self.threads}; give at least 1")
        if not 0 <= self.seed < 2**31:
            raise ProgramError(f"seed is {self.seed}; give a whole number from 0 to {2**31 - 1}")

    def with_gap(self, gap: float | None) -> SolveLimits:
        """Return the same limits with another absolute gap."""
        return replace(self, gap=gap)

    def with_seed(self, seed: int) -> SolveLimits:
        """Return the same limits with another seed."""
        return replace(self, seed=seed)


NO_LIMITS = SolveLimits()
"""The defaults: each solver's own stopping rule, one thread, seed 0."""
