"""Any solver of mixed-integer programs as a solver of MaxCsp."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from dpopt.errors import ProgramError
from dpopt.models.best_responses.formulation import Formulation
from dpopt.models.best_responses.max_csp_as_mip import max_csp_as_mip, point_from_record, record_from_point
from dpopt.models.best_responses.presolved import Presolved
from dpopt.programs.limits import NO_LIMITS, SolveLimits
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.reduction import Reduction, reduce_max_csp
from dpopt.programs.results import Point, SolveResult, Termination
from dpopt.programs.solver import Availability, Capability, Program, Solver
from dpopt.programs.verification import verified

WHOLE_GAP = 1.0 - 1e-4
"""Objectives are integers: a solver that is closer than 1 has proven optimality."""

_KEPT = frozenset({Capability.WARM_START, Capability.DETERMINISTIC_LIMIT})


def accepting_max_csp(solver: Solver, formulation: Formulation = Formulation.PER_LITERAL) -> Solver:
    """Return a solver of MaxCsp: behind presolve unless it presolves by itself, and behind `AsMip` if it takes no MaxCsp.

    Drivers need not tell them apart.
    """
    if Capability.PRESOLVES in solver.capabilities or isinstance(solver, Presolved):
        return solver
    return Presolved(solver if Capability.MAX_CSP in solver.capabilities else AsMip(solver, formulation))


@dataclass(frozen=True, slots=True)
class AsMip:
    """A `Solver` for MaxCsp that hands a mixed-integer program to another solver and reads its answer back.

    The problem is reduced first (`reduce_max_csp`), the objective is evaluated exactly on the record.

    Raises
    ------
    ProgramError
        The inner solver does not take mixed-integer programs.
    """

    inner: Solver
    formulation: Formulation = Formulation.PER_LITERAL

    def __post_init__(self) -> None:
        if Capability.MIP not in self.inner.capabilities:
            raise ProgramError(f"{self.inner.name} does not take mixed-integer programs; take highs or cbc")

    @property
    def name(self) -> str:
        """Name of the inner solver."""
        return self.inner.name

    @property
    def capabilities(self) -> frozenset[Capability]:
        """MAX_CSP with rules of every kind, and what the inner solver can do with hints and limits."""
        return (self.inner.capabilities & _KEPT) | {Capability.MAX_CSP, Capability.RULES}

    def availability(self) -> Availability:
        """Say whether the inner solver can run."""
        return self.inner.availability()

    def solve(
        self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None
    ) -> SolveResult:
        """Solve a MaxCsp as a mixed-integer program; see `dpopt.programs.solver.Solver`.

        Raises
        ------
        ProgramError
            The program is no MaxCsp, or the hint is no record of it.
        """
        started = time.perf_counter()
        if not isinstance(program, MaxCsp):
            raise ProgramError(
                f"AsMip takes a MaxCsp, not a {type(program).__name__}; call the inner solver directly"
            )
        reduction = reduce_max_csp(program, hint)
        problem = reduction.problem
        if problem.sizes.size == 0:
            return self._settled(program, reduction, started)
        start = None
        if hint is not None and not problem.broken_rules(
            reduction.shrink()
        ):  # an infeasible start helps no solver
            start = point_from_record(problem, reduction.shrink(), self.formulation)
        limits = limits.with_gap(max(limits.gap or 0.0, WHOLE_GAP))
        answer = self.inner.solve(max_csp_as_mip(problem, self.formulation), limits, hint=start)
        seconds = time.perf_counter() - started
        if answer.solution is None:
            return replace(answer, seconds=seconds)
        record = reduction.expand(record_from_point(problem, answer.solution.astype(np.float64)))
        return verified(program, replace(answer, solution=record, seconds=seconds))

    def _settled(self, program: MaxCsp, reduction: Reduction, started: float) -> SolveResult:
        """Answer a problem in which no clause and no rule names an attribute: every record is as good as any other."""
        broken = program.broken_rules(reduction.background)
        objective = None if broken else float(program.objective(reduction.background))
        return SolveResult(
            termination=Termination.INFEASIBLE if broken else Termination.OPTIMAL,
            limit=None,
            solution=None if broken else reduction.background,
            objective=objective,
            bound=objective,
            solver=self.name,
            version="",
            native_status="no clause and no rule names an attribute; nothing was solved",
            seconds=time.perf_counter() - started,
        )
