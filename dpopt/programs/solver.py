"""The contract between a program and whatever solves it.

Adapters live in `dpopt.solvers`, one file each; a driver knows only this protocol and never branches on the kind
of solver. Checked by tests/solvers/test_conformance.py for every registered solver.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol

from dpopt.programs.limits import NO_LIMITS, SolveLimits
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.results import Point, SolveResult

Program = MaxCsp | MixedIntegerProgram
"""Everything that a solver may be handed."""


class Capability(enum.Enum):
    """What a solver accepts and gives."""

    MAX_CSP = "weighted clauses over attributes"
    LP = "linear programs"
    MIP = "mixed-integer programs"
    CONVEX_QP = "convex quadratic programs"
    DUALS = "dual values"
    WARM_START = "starts from a hint"
    DETERMINISTIC_LIMIT = "stops after a fixed amount of work, not of time"


class AvailabilityStatus(enum.Enum):
    """Whether a solver can run here."""

    AVAILABLE = "available"
    NOT_INSTALLED = "not installed"
    WRONG_VERSION = "wrong version"
    NO_LICENCE = "no licence"


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a solver can run here, and in words what is missing and how to get it."""

    status: AvailabilityStatus
    explanation: str

    @property
    def available(self) -> bool:
        """True if the solver can run."""
        return self.status is AvailabilityStatus.AVAILABLE


class Solver(Protocol):
    """Turns a program into a result. Keeps nothing between solves that could change an answer.

    `solve` raises for misuse only (a program the solver does not accept, a hint of the wrong shape); every
    outcome, crashes included, is a `SolveResult`.
    """

    @property
    def name(self) -> str:
        """Name in the registry."""
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the solver accepts and gives."""
        ...

    def availability(self) -> Availability:
        """Say whether the solver can run here, without importing its library."""
        ...

    def solve(
        self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None
    ) -> SolveResult:
        """Solve the program.

        Parameters
        ----------
        program
            A program of a kind named in `capabilities`.
        limits
            When to stop.
        hint
            A starting point in the form of a solution of this program; used if WARM_START, else ignored. For a
            MaxCsp it also fixes every attribute that occurs in no clause.

        Raises
        ------
        ProgramError
            The solver does not accept this kind of program, or the hint does not fit it.
        """
        ...
