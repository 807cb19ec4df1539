"""A solver's answer, read with suspicion: objective recomputed, bound and status made to agree with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.certificate import TOLERANCE, credible_bound, rounded_down
from dpopt.programs.conic import PointProgram, number_of_multipliers
from dpopt.programs.max_csp import LARGEST_TOTAL_WEIGHT, MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.results import Limit, SolveResult, Termination

LARGEST_VIOLATION = 1e-5
"""A point of a MixedIntegerProgram that breaks a row, a bound or integrality by more, relative to its largest value if
that exceeds 1, is not passed on. (CBC writes eight digits.)"""


def verified(program: MaxCsp | PointProgram, result: SolveResult) -> SolveResult:
    """Return the result with everything replaced that program and solution contradict.

    Duals that are not one finite number for each row and member of a cone are dropped. The objective is evaluated anew,
    exactly for a MaxCsp. A solution that is not feasible is dropped and the result becomes IMPRECISE (FAILED where the
    point does not even fit the program). A bound that falls short of the objective by rounding is raised to it; one
    that the objective disproves is dropped. "Optimal" with a gap left becomes a gap limit; a MaxCsp whose bound,
    rounded down to an integer, meets the objective is optimal. What was claimed and contradicted stays in the report:
    `claimed_objective` (better than the solution is) and `claimed_bound`.
    """
    if not _duals_fit(program, result):
        result = replace(result, duals=None)
    if result.solution is None:
        return result
    checked = _verified_record(program, result) if isinstance(program, MaxCsp) else _verified_point(program, result)
    return replace(checked, report={**_contradicted(program, result, checked), **checked.report})


def _duals_fit(program: MaxCsp | PointProgram, result: SolveResult) -> bool:
    """Return whether there are no duals, or one finite number for each row and each member of a cone."""
    if result.duals is None:
        return True
    if isinstance(program, MaxCsp):
        return False
    return result.duals.shape == (number_of_multipliers(program),) and bool(np.isfinite(result.duals).all())


def _contradicted(program: MaxCsp | PointProgram, result: SolveResult, checked: SolveResult) -> dict[str, float]:
    """Return the claims of a result that its own solution contradicts by more than rounding."""
    if result.objective is None or checked.objective is None:
        return {}
    sense = 1.0 if isinstance(program, MaxCsp) or program.maximize else -1.0
    claims = {}
    if sense * (result.objective - checked.objective) > TOLERANCE * max(1.0, abs(checked.objective)):
        claims["claimed_objective"] = result.objective
    if result.bound is not None and checked.bound is None:
        claims["claimed_bound"] = result.bound
    return claims


def _verified_record(program: MaxCsp, result: SolveResult) -> SolveResult:
    codes = result.require_solution()
    if codes.dtype != np.int32 or codes.shape != program.sizes.shape:
        return _without_solution(result, Termination.FAILED, f"an answer of shape {codes.shape}, {codes.dtype}")
    record = result.require_record()
    if program.domain_violation(record):
        return _without_solution(result, Termination.IMPRECISE, "a code that does not exist")
    broken = program.broken_rules(record)
    if broken:
        return _without_solution(result, Termination.IMPRECISE, f"a record that breaks the rule {broken[0]!r}")
    objective = program.objective(record)
    bound = credible_bound(result.bound, objective)
    if bound is not None:
        # Near the largest float, the slack would make it infinite.
        bound = float(rounded_down(min(bound, float(LARGEST_TOTAL_WEIGHT))))
    changed = replace(result, objective=float(objective), bound=bound)
    if bound is not None and bound <= objective and result.termination is Termination.LIMIT:
        return replace(changed, termination=Termination.OPTIMAL, limit=None)
    return _with_gap_named(changed)


def _verified_point(program: PointProgram, result: SolveResult) -> SolveResult:
    values = result.require_solution()
    if values.shape != program.objective.shape or not np.isfinite(values).all():
        return _without_solution(result, Termination.FAILED, f"an answer of shape {values.shape}, or not finite")
    point = _snapped(program, values.astype(np.float64))
    violation = program.violation(point)
    if violation > LARGEST_VIOLATION * max(1.0, float(np.abs(point).max(initial=0.0))):
        return _without_solution(
            result, Termination.IMPRECISE, f"a point that breaks a constraint by {violation:.3g}", point=True
        )
    objective = program.evaluate(point)
    sense = 1.0 if program.maximize else -1.0
    claimed = None if result.bound is None else sense * result.bound
    bound = credible_bound(claimed, sense * objective)
    changed = replace(result, solution=point, objective=objective, bound=None if bound is None else sense * bound)
    return _with_gap_named(changed)


def _with_gap_named(result: SolveResult) -> SolveResult:
    """Say GAP where a solver says "optimal" and means "within the gap that was allowed"."""
    if result.termination is not Termination.OPTIMAL or result.bound is None or result.objective is None:
        return result
    if abs(result.bound - result.objective) <= TOLERANCE * max(1.0, abs(result.objective)):
        return result
    return replace(result, termination=Termination.LIMIT, limit=Limit.GAP)


def _snapped(program: PointProgram, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the point with integer variables rounded and all variables inside their bounds."""
    point = values
    if isinstance(program, MixedIntegerProgram):
        point = np.where(program.integrality, np.round(values), values)
    return np.clip(point, program.lower, program.upper)


def _without_solution(result: SolveResult, termination: Termination, why: str, *, point: bool = False) -> SolveResult:
    text, limit = f"{result.native_status}; the answer was refused: {why}", None
    if point and termination is Termination.IMPRECISE and result.termination is Termination.LIMIT:
        termination, limit = result.termination, result.limit  # a point on the way need not fit yet
    return replace(result, termination=termination, limit=limit, solution=None, objective=None, native_status=text)
