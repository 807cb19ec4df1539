"""The contract between a program and whatever solves it.

Adapters live in `dpopt.solvers`, one file each; a driver knows only this protocol and never branches on the kind of
solver. Checked by tests/solvers/test_conformance.py for every registered solver.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol

from dpopt.programs.conic import Cone, ConicProgram, PointProgram
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.quadratic import QuadraticProgram
from dpopt.programs.results import NO_LIMITS, Point, SolveLimits, SolveResult

Program = MaxCsp | PointProgram
"""Everything that a solver may be handed."""


class Capability(enum.Enum):
    """The abilities of a solver."""

    MAX_CSP = "weighted clauses over attributes"
    RULES = "hard rules on records, of every kind"
    CARDINALITY_RULES = "hard rules that count, each condition once"
    LP = "linear programs"
    MIP = "mixed-integer programs"
    WHOLE = "linear programs in bounded whole numbers, with whole coefficients"
    CONVEX_QP = "convex quadratic programs"
    CONES = "convex programs with second-order and exponential cones"
    SDP = "convex programs with cones of semidefinite matrices"
    DUALS = "dual values"
    WARM_START = "starts from a hint"
    PRESOLVES = "has its own presolve of weighted clauses; dpopt presolves for the other solvers"
    DETERMINISTIC_LIMIT = "stops after a fixed amount of work, not of time"


class AvailabilityStatus(enum.Enum):
    """Whether a solver can run here."""

    AVAILABLE = "available"
    NOT_INSTALLED = "not installed"
    WRONG_VERSION = "wrong version"
    NO_LICENCE = "no licence"


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a solver can run here; if not, in words, the missing part and how to get it."""

    status: AvailabilityStatus
    explanation: str

    @property
    def available(self) -> bool:
        """True if the solver can run."""
        return self.status is AvailabilityStatus.AVAILABLE


def why_refused(solver: Solver, program: Program) -> str | None:
    """Return why a solver cannot take a program, in words for its user; None if it can.

    A linear program is a `MixedIntegerProgram` without integer variables.
    """
    if isinstance(program, MaxCsp):
        return _why_refused_clauses(solver, program)
    if isinstance(program, ConicProgram):
        needed, kind = Capability.CONES, "programs with cones"
        if any(block.kind is Cone.SEMIDEFINITE for block in program.blocks):
            needed, kind = Capability.SDP, "programs with semidefinite matrices"
    elif isinstance(program, QuadraticProgram):
        needed, kind = Capability.CONVEX_QP, "quadratic programs"
    elif Capability.WHOLE in solver.capabilities and Capability.MIP not in solver.capabilities:
        reason = program.why_not_whole()
        return reason and f"{solver.name} takes linear programs in whole numbers only; {reason}"
    elif program.integrality.any():
        needed, kind = Capability.MIP, "mixed-integer programs"
    else:
        needed, kind = Capability.LP, "linear programs"
    return None if needed in solver.capabilities else f"{solver.name} does not take {kind}"


def _why_refused_clauses(solver: Solver, program: MaxCsp) -> str | None:
    if Capability.MAX_CSP not in solver.capabilities:
        return f"{solver.name} does not take weighted clauses as they are"
    rules = program.rules
    if not rules.number_of_rules or Capability.RULES in solver.capabilities:
        return None
    if Capability.CARDINALITY_RULES not in solver.capabilities:
        return f"{solver.name} takes no rules on records"
    weighted = rules.number_of_weighted_rule()
    if weighted is None:
        return None
    return (
        f"{solver.name} takes only rules that count conditions, each once; the rule {rules.names[weighted]!r} adds up "
        "numbers"
    )


class Solver(Protocol):
    """Turns a program into a result. Keeps nothing between solves that could change an answer.

    `solve` raises for misuse only (a program the solver does not accept, a hint of the wrong shape); every outcome,
    crashes included, is a `SolveResult`.
    """

    @property
    def name(self) -> str:
        """Name in the registry."""
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The abilities of the solver."""
        ...

    def availability(self) -> Availability:
        """Say whether the solver can run here, without importing its library."""
        ...

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        """Solve the program.

        Parameters
        ----------
        program
            A program of a kind named in `capabilities`.
        limits
            When to stop; one from outside that overruns `seconds` manyfold is waited for no longer
            (`dpopt.solvers.outside`).
        hint
            A starting point in the form of a solution of this program; used if WARM_START, else ignored. For a MaxCsp
            it also fixes every attribute that occurs in no clause.
        """
        ...
