"""Any solver of MaxCsp behind presolve: the problem is made smaller, and what is left is solved part by part.

Problem: maximize sum_j w_j [clause j is true of x] over records x that obey the rules (a `MaxCsp`). Presolve keeps the
optimum (`dpopt.programs.presolve`); parts without a common clause or gate have optima that add up
(`dpopt.programs.components`). Of several parts the small ones are enumerated; the others go to the solver one after the
other, small ones first. Each gets the share of the work and of the time left that its number of clauses suggests.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError
from dpopt.models.best_responses.sums_of_parts import VERSION, Part, combined, legal_or_none, solved_part
from dpopt.programs.components import Component, components
from dpopt.programs.enumeration import best_record, is_small
from dpopt.programs.limits import NO_LIMITS, SolveLimits
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.presolve import presolve
from dpopt.programs.results import Limit, Point, SolveResult, Termination
from dpopt.programs.solver import Availability, Capability, Program, Solver, why_refused
from dpopt.programs.verification import verified

SHORTEST = 1e-3
"""Seconds that a part gets at least, so that every part has an answer."""


@dataclass(frozen=True, slots=True)
class Presolved:
    """A `Solver` for MaxCsp that presolves and hands what is left to another solver.

    Where presolve and splitting gain nothing, the other solver gets the problem as it came.

    Raises
    ------
    ProgramError
        The inner solver takes no MaxCsp.
    """

    inner: Solver

    def __post_init__(self) -> None:
        if Capability.MAX_CSP not in self.inner.capabilities:
            raise ProgramError(f"{self.inner.name} takes no MaxCsp; wrap it with accepting_max_csp")

    @property
    def name(self) -> str:
        """Name of the inner solver."""
        return self.inner.name

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the inner solver can do."""
        return self.inner.capabilities

    def availability(self) -> Availability:
        """Say whether the inner solver can run."""
        return self.inner.availability()

    def solve(
        self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None
    ) -> SolveResult:
        """Solve a MaxCsp; see `dpopt.programs.solver.Solver`.

        Raises
        ------
        ProgramError
            The program is no MaxCsp, the inner solver does not take its rules, or the hint is no record of it.
        """
        started = time.perf_counter()
        if not isinstance(program, MaxCsp):
            raise ProgramError(
                f"Presolved takes a MaxCsp, not a {type(program).__name__}; call the inner solver directly"
            )
        refusal = why_refused(self.inner, program)  # not only where presolve leaves what it refuses
        if refusal is not None:
            raise ProgramError(refusal)
        smaller = presolve(program, hint)
        if smaller.impossible is not None:
            return _impossible(smaller.impossible, self.name, time.perf_counter() - started)
        problem = smaller.reduction.problem
        parts = components(problem) if problem.sizes.size else ()
        if not smaller.gained and len(parts) == 1:
            return self.inner.solve(program, limits, hint=hint)
        solved = self._solve(parts, smaller.reduction.shrink(), limits, started, hinted=hint is not None)
        return verified(program, combined(solved, smaller, self.name, time.perf_counter() - started))

    def _solve(
        self,
        parts: tuple[Component, ...],
        start: NDArray[np.int32],
        limits: SolveLimits,
        started: float,
        *,
        hinted: bool,
    ) -> list[Part]:
        """Solve the parts one after the other, from their parts of the start if that is a hint."""
        several = len(parts) > 1
        clauses = [
            0 if several and is_small(part.problem) else 1 + len(part.problem.clauses) for part in parts
        ]
        solved: list[Part] = []
        interrupted = False
        for number, part in enumerate(parts):
            own = freeze(start[part.attributes])
            hint = own if hinted else None
            if not clauses[number]:
                solved.append(_enumerated(part, own))
            elif interrupted:
                record = legal_or_none(part, hint)
                solved.append(Part(part, Termination.LIMIT, Limit.INTERRUPTED, record, None))
            else:
                began = time.perf_counter() - started
                share = clauses[number] / sum(clauses), clauses[number] / sum(clauses[number:])
                result = self.inner.solve(part.problem, _shared(limits, *share, began), hint=hint)
                interrupted = result.limit is Limit.INTERRUPTED
                solved.append(solved_part(part, result, hint, began))
        return solved


def _shared(limits: SolveLimits, of_all: float, of_rest: float, spent: float) -> SolveLimits:
    """Return a part's share of the limits: of all the work and gap, of the seconds that are left."""
    seconds = limits.seconds
    return replace(
        limits,
        seconds=None if seconds is None else max(SHORTEST, (seconds - spent) * of_rest),
        work=None if limits.work is None else max(1, round(limits.work * of_all)),
        gap=None if limits.gap is None else limits.gap * of_all,
    )


def _enumerated(part: Component, start: NDArray[np.int32]) -> Part:
    record = best_record(part.problem, start)
    if record is None:
        return Part(part, Termination.INFEASIBLE, None, None, None)
    return Part(part, Termination.OPTIMAL, None, record, float(part.problem.objective(record)))


def _impossible(rule: str, name: str, seconds: float) -> SolveResult:
    return SolveResult(
        termination=Termination.INFEASIBLE,
        limit=None,
        solution=None,
        objective=None,
        bound=None,
        solver=name,
        version=VERSION,
        native_status=f"presolve: no record obeys the rule {rule!r} together with the others",
        seconds=seconds,
    )
