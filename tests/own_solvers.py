"""Solvers of one's own, as objects given in Python: one that works and counts, one that does what a function says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dpopt.programs import Availability, AvailabilityStatus, Capability
from dpopt.programs.results import NO_LIMITS, Point, SolveLimits, SolveResult
from dpopt.programs.solver import Program
from dpopt.solvers import get_solver

EVERYTHING = frozenset(
    {Capability.MAX_CSP, Capability.RULES, Capability.LP, Capability.DUALS, Capability.CONVEX_QP, Capability.CONES}
)


@dataclass(frozen=True)
class Mine:
    """Answers with what a function makes of the program."""

    act: Callable[[Program], object]
    capabilities: frozenset[Capability] = EVERYTHING
    name: str = "mine"

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "")

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        return self.act(program)  # type: ignore[return-value]  # a solver that breaks the protocol


def raising(error: BaseException) -> Callable[[Program], object]:
    def act(program: Program) -> object:
        raise error

    return act


class OwnSolver:
    """The local search under a name that is not registered; it counts what it solved, and may tire."""

    name = "mine"

    def __init__(self, tires_after: float = float("inf")) -> None:
        self.inner, self.solved, self.tires_after = get_solver("local-search"), 0, tires_after
        self.capabilities = self.inner.capabilities

    def availability(self) -> Availability:
        return self.inner.availability()

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        self.solved += 1
        if self.solved > self.tires_after:
            raise ValueError("tired")
        return replace(self.inner.solve(program, limits, hint=hint), solver=self.name)
