"""Answers to the parts of a MaxCsp put together: records side by side, objectives and bounds added up.

Any solver of MaxCsp behind presolve: the problem is made smaller, and what is left is solved part by part.

Problem: maximize sum_j w_j [clause j is true of x] over records x that obey the rules (a `MaxCsp`). Presolve keeps the
optimum (`dpopt.programs.presolve`); parts without a common clause or gate have optima that add up
(`dpopt.programs.presolve`). Of several parts the small ones are enumerated; the others go to the solver one after the
other, small ones first. Each gets the share of the work and of the time left that its number of clauses suggests.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError
from dpopt.programs.max_csp import require_max_csp
from dpopt.programs.presolve import Component, Presolve, best_record, components, is_small, presolve
from dpopt.programs.results import NO_LIMITS, Limit, Point, Progress, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Availability, Capability, Program, Solver, why_refused
from dpopt.programs.verification import verified

VERSION = "presolve 1"
"""Version of an answer that no solver was asked for."""

_WORST_FIRST = (
    Termination.FAILED,
    Termination.INFEASIBLE,
    Termination.INFEASIBLE_OR_UNBOUNDED,
    Termination.UNBOUNDED,
    Termination.IMPRECISE,
    Termination.LIMIT,
    Termination.OPTIMAL,
)
_FIRST_NAMED = (Limit.INTERRUPTED, Limit.TIME, Limit.MEMORY, Limit.WORK, Limit.GAP)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The known result of one part."""

    component: Component
    """The part."""
    termination: Termination
    limit: Limit | None
    """Why the search of this part stopped."""
    record: NDArray[np.int32] | None
    """Shape (d',). A feasible record of the part: the solver's, or that of a feasible hint where the solver has
    none."""
    bound: float | None
    """Bound on the part's optimum."""
    result: SolveResult | None = None
    """The solver's answer; None for parts that were enumerated or never begun."""
    began: float = 0.0
    """Seconds from the beginning of the whole solve to that of this part."""

    def objective(self) -> int:
        """Return the objective of the part's record; 0 without one."""
        return 0 if self.record is None else self.component.problem.objective(self.record)


def solved_part(component: Component, result: SolveResult, hint: NDArray[np.int32] | None, began: float) -> Part:
    """Return the part as its solver left it; a feasible hint stands in where there is no solution."""
    record = None if result.solution is None else result.require_record()
    if record is None and result.termination in {Termination.LIMIT, Termination.IMPRECISE}:
        record = feasible_or_none(component, hint)
    return Part(component, result.termination, result.limit, record, result.bound, result, began)


def feasible_or_none(component: Component, hint: NDArray[np.int32] | None) -> NDArray[np.int32] | None:
    """Return the hint (d',) if it obeys the rules of the part."""
    return None if hint is None or component.problem.broken_rules(hint) else freeze(hint)


def combined(parts: Sequence[Part], smaller: Presolve, name: str, seconds: float) -> SolveResult:
    """Return the answer to the whole problem.

    Optimal if every part is; otherwise it ended like the part that fared worst. The history is that of the last part,
    the largest one, on top of the others.
    """
    endings = [part.termination for part in parts]
    termination = next((one for one in _WORST_FIRST if one in endings), Termination.OPTIMAL)
    limits = [part.limit for part in parts]
    record = _record(parts, smaller) if termination in _WORST_FIRST[4:] else None
    objective = float(smaller.constant + sum(part.objective() for part in parts))
    bounds = [part.bound for part in parts if part.bound is not None]
    results = [part.result for part in parts if part.result is not None]
    statuses = dict.fromkeys(result.native_status for result in results)
    figures: dict[str, float | int | str] = {
        "parts": len(parts),
        "parts enumerated": len(parts) - len(results),
        "attributes left": smaller.reduction.problem.sizes.size,
        "clauses left": len(smaller.reduction.problem.clauses),
    }
    return SolveResult(
        termination=termination,
        limit=next((one for one in _FIRST_NAMED if one in limits), None) if termination is Termination.LIMIT else None,
        solution=record,
        objective=None if record is None else objective,
        bound=smaller.constant + sum(bounds) if len(bounds) == len(parts) else None,
        solver=name,
        version=results[-1].version if results else VERSION,
        native_status="; ".join(statuses) or SETTLED,
        seconds=seconds,
        report={**(results[-1].report if results else {}), **figures},
        history=_history(parts, smaller.constant),
    )


def _record(parts: Sequence[Part], smaller: Presolve) -> NDArray[np.int32] | None:
    reduced = smaller.reduction.shrink().copy()
    for part in parts:
        if part.record is None:
            return None
        reduced[part.component.attributes] = part.record
    return smaller.reduction.expand(reduced)


def _history(parts: Sequence[Part], constant: int) -> tuple[Progress, ...]:
    """Return the last solved part's history, shifted by the incumbents of the other parts."""
    last = next((part for part in reversed(parts) if part.result is not None), None)
    if last is None or last.result is None:
        return ()
    others = [part for part in parts if part is not last]
    known = all(part.record is not None for part in others)
    objective = constant + sum(part.objective() for part in others)
    bounds = [part.bound for part in others if part.bound is not None]
    bounded = len(bounds) == len(others)
    return tuple(
        Progress(
            last.began + entry.seconds,
            None if entry.objective is None or not known else objective + entry.objective,
            None if entry.bound is None or not bounded else constant + sum(bounds) + entry.bound,
        )
        for entry in last.result.history
    )


SETTLED = "settled by presolve"
"""The status of an answer for which the inner solver was not asked."""

SHORTEST = 1e-3
"""Seconds that a part gets at least, so that every part has an answer."""


@dataclass(frozen=True, slots=True)
class Handing:
    """The properties of an inner solver that a `Solver` which wraps it passes on."""

    inner: Solver

    @property
    def name(self) -> str:
        """Name of the inner solver."""
        return self.inner.name

    def availability(self) -> Availability:
        """Say whether the inner solver can run."""
        return self.inner.availability()

    def handed(self, program: Program, limits: SolveLimits, hint: Point | None) -> SolveResult:
        """Return the inner solver's answer; raise ProgramError if it is no result."""
        found: object = self.inner.solve(program, limits, hint=hint)
        if not isinstance(found, SolveResult):
            raise ProgramError(f"the solver {self.name} answered with {type(found).__name__}")
        return found


@dataclass(frozen=True, slots=True)
class Presolved(Handing):
    """A `Solver` for MaxCsp that presolves and hands the rest to another solver.

    Where presolve and splitting gain nothing, the other solver gets the problem as it came.
    """

    def __post_init__(self) -> None:
        if Capability.MAX_CSP not in self.inner.capabilities:
            raise ProgramError(f"{self.inner.name} takes no MaxCsp; wrap it with accepting_max_csp")

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The abilities of the inner solver."""
        return self.inner.capabilities

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        """Solve a MaxCsp; see `dpopt.programs.solver.Solver`."""
        started = time.perf_counter()
        program = require_max_csp(program, "Presolved")
        refusal = why_refused(self.inner, program)  # not only where presolve leaves what it refuses
        if refusal is not None:
            raise ProgramError(refusal)
        smaller = presolve(program, hint)
        if smaller.impossible is not None:
            return _impossible(smaller.impossible, self.name, time.perf_counter() - started)
        problem = smaller.reduction.problem
        parts = components(problem) if problem.sizes.size else ()
        if not smaller.gained and len(parts) == 1:
            return self.handed(program, limits, hint)
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
        clauses = [0 if several and is_small(part.problem) else 1 + len(part.problem.clauses) for part in parts]
        solved: list[Part] = []
        interrupted = False
        for number, part in enumerate(parts):
            own = freeze(start[part.attributes])
            hint = own if hinted else None
            if not clauses[number]:
                solved.append(_enumerated(part, own))
            elif interrupted:
                record = feasible_or_none(part, hint)
                solved.append(Part(part, Termination.LIMIT, Limit.INTERRUPTED, record, None))
            else:
                began = time.perf_counter() - started
                share = clauses[number] / sum(clauses), clauses[number] / sum(clauses[number:])
                result = self.handed(part.problem, _shared(limits, *share, began), hint)
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
        solver=name,
        version=VERSION,
        native_status=f"presolve: no record obeys the rule {rule!r} together with the others",
        seconds=seconds,
    )
