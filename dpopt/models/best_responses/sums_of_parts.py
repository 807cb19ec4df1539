"""Answers to the parts of a MaxCsp put together: records side by side, objectives and bounds added up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.programs.components import Component
from dpopt.programs.presolve import Presolve
from dpopt.programs.results import Limit, Progress, SolveResult, Termination

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
    """What is known of one part.

    Attributes
    ----------
    component : Component
        The part.
    termination, limit
        Why the search of this part stopped.
    record : (d',) int32 or None
        A legal record of the part: the solver's, or that of a legal hint where the solver has none.
    bound : float or None
        Bound on the part's optimum.
    result : SolveResult or None
        The solver's answer; None for parts that were enumerated or never begun.
    began : float
        Seconds from the beginning of the whole solve to that of this part.
    """

    component: Component
    termination: Termination
    limit: Limit | None
    record: NDArray[np.int32] | None
    bound: float | None
    result: SolveResult | None = None
    began: float = 0.0

    def objective(self) -> int:
        """Return the objective of the part's record; 0 without one."""
        return 0 if self.record is None else self.component.problem.objective(self.record)


def solved_part(
    component: Component, result: SolveResult, hint: NDArray[np.int32] | None, began: float
) -> Part:
    """Return the part as its solver left it; a legal hint stands in where there is no solution."""
    record = None if result.solution is None else result.require_record()
    if record is None and result.termination in {Termination.LIMIT, Termination.IMPRECISE}:
        record = legal_or_none(component, hint)
    return Part(component, result.termination, result.limit, record, result.bound, result, began)


def legal_or_none(component: Component, hint: NDArray[np.int32] | None) -> NDArray[np.int32] | None:
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
        limit=next((one for one in _FIRST_NAMED if one in limits), None)
        if termination is Termination.LIMIT
        else None,
        solution=record,
        objective=None if record is None else objective,
        bound=smaller.constant + sum(bounds) if len(bounds) == len(parts) else None,
        solver=name,
        version=results[-1].version if results else VERSION,
        native_status="; ".join(statuses) or "settled by presolve",
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
    """Return the last solved part's history, shifted by what the other parts have in hand."""
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
