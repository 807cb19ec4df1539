"""A solver of convex programs that calls optimal whatever a function returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.conic import PointProgram
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import NO_LIMITS, Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Availability, AvailabilityStatus, Capability, Program

Lie = Callable[[PointProgram], NDArray[np.float64] | None]


@dataclass(frozen=True)
class Lying:
    """Answers with the function's point, and fails where that is None."""

    point: Lie
    name: str = "lying"
    capabilities: frozenset[Capability] = frozenset({Capability.CONVEX_QP, Capability.CONES})

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "for tests")

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        assert not isinstance(program, MaxCsp)
        point = self.point(program)
        ended = Termination.OPTIMAL if point is not None else Termination.FAILED
        value = None if point is None else 0.0
        return SolveResult(ended, None, point, value, 0.0, self.name, "1", "sure", 0.0)


POINTS: dict[str, Lie] = {
    "no weight": lambda program: np.zeros(program.number_of_variables),
    "below 0": lambda program: np.full(program.number_of_variables, -1.0),
    "no number": lambda program: np.full(program.number_of_variables, np.nan),
    "nothing": lambda program: None,
    "an error": lambda program: np.full(-1, program.number_of_variables),
}
"""Lies about any program whose variables are shares."""
