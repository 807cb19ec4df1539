"""Properties of an answer to a MaxCsp, or to a linear, mixed-integer or quadratic program, computed outside the solver.

For a MaxCsp the problem and the record alone are read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.conic import ConicProgram, PointProgram
from dpopt.programs.duality import Dyadic, conic_bound, dual_bound, linear_relaxation, quadratic_bound
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.results import SolveResult

TOLERANCE = 1e-6
"""Relative slack with which a solver's bound is read: HiGHS reports 555.9999999 where 556 is meant."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """An answer to a MaxCsp, checked.

    Two bounds that must not be confused: `proven_bound` is a theorem whose every number was computed here, and `bound`
    repeats what a solver reports.
    """

    feasible: bool
    """The record has one existing code for every attribute and breaks no rule."""
    objective: int | None
    """Exact objective; None if and only if the record is not feasible."""
    bound: int | None
    """The reported bound: the solver's upper bound, made whole. This alone is the solver's word: it holds within the
    solver's tolerance and is not proven again here. A claim that the objective itself disproves is dropped."""
    gap: int | None
    """bound - objective, >= 0; None where either is None."""
    violation: int
    """By how much the worst code lies outside its range; 0 for a feasible record."""
    broken_rules: tuple[str, ...] = ()
    """The rules that the record breaks; empty for a feasible record."""
    proven_bound: int | None = None
    """An upper bound on every record's objective that needs no solver's word: weak duality evaluated in exact
    arithmetic where that was done, else the sum of the positive weights. None if and only if the record is not
    feasible."""

    @property
    def reported_bound(self) -> int | None:
        """The solver's word: `bound`."""
        return self.bound

    @property
    def reported_gap(self) -> int | None:
        """The gap to the solver's word: `gap`."""
        return self.gap

    @property
    def proven_gap(self) -> int | None:
        """proven_bound - objective, >= 0; None if and only if the record is not feasible."""
        if self.proven_bound is None or self.objective is None:
            return None
        return self.proven_bound - self.objective


def certify(
    program: MaxCsp,
    answer: SolveResult | NDArray[np.int32],
    *,
    bound: float | None = None,
    proven: Fraction | None = None,
) -> Certificate:
    """Check an answer to a MaxCsp.

    Parameters
    ----------
    answer
        A record (d,) int32, or a result, of which only `solution` and `bound` are read.
    bound
        Upper bound that a solver claims, where `answer` is a record (say, the fallback of a solver that found a bound
        and no solution).
    proven
        Upper bound proven outside the solver, by `dual_bound` of a relaxation of the problem. It is rounded down, since
        objectives are whole.
    """
    if isinstance(answer, SolveResult):
        record = answer.require_record()
        claimed = answer.bound if bound is None else bound
    else:
        record, claimed = answer, bound
    violation = program.domain_violation(record)
    broken = () if violation else program.broken_rules(record)
    if violation or broken:
        return Certificate(
            feasible=False, objective=None, bound=None, gap=None, violation=violation, broken_rules=broken
        )
    objective = program.objective(record)
    whole = _whole_bound(program, claimed, objective)
    return Certificate(
        feasible=True,
        objective=objective,
        bound=whole,
        gap=None if whole is None else whole - objective,
        violation=0,
        proven_bound=_proven_bound(program, proven, objective),
    )


def credible_bound(claimed: float | None, objective: float) -> float | None:
    """Return a claimed upper bound, raised to the objective where it falls short by rounding errors only.

    A claim that falls short by more is disproved by the objective, and dropped (None).
    """
    if claimed is None or claimed < objective - TOLERANCE * max(1.0, abs(objective)):
        return None
    return max(claimed, objective)


def rounded_down(bound: float) -> int:
    """Return a bound on whole objectives as a whole number; one that falls short of it by rounding counts as that number."""
    return math.floor(bound + TOLERANCE * max(1.0, abs(bound)))


def _whole_bound(program: MaxCsp, claimed: float | None, objective: int) -> int | None:
    """Return the bound as an integer, as the objective is one; never above the sum of the positive weights."""
    bound = credible_bound(claimed, objective)
    if bound is None:
        return None
    # First: a claim near the largest float plus its slack would be infinite.
    most = program.upper_bound()
    return most if bound >= most else min(rounded_down(bound), most)


def _proven_bound(program: MaxCsp, proven: Fraction | None, objective: int) -> int:
    """Return the better of the given bound and the sum of positive weights; refuse one that the objective disproves."""
    bound = program.upper_bound() if proven is None else min(math.floor(proven), program.upper_bound())
    if bound < objective:
        raise ProgramError(
            f"the record is worth {objective}, more than the bound {bound} that is stated as proven; the bound belongs "
            f"to another problem"
        )
    return bound


@dataclass(frozen=True, slots=True)
class PointCertificate:
    """An answer to a `MixedIntegerProgram`, a `QuadraticProgram` or a `ConicProgram`, checked."""

    primal_violation: float
    """By how much the point breaks a row, a bound or a cone at worst; 0 for a point that meets them."""
    integrality_violation: float
    """Largest distance of a variable that must be whole from a whole number."""
    objective: Fraction
    """Objective of the point as it is, exactly."""
    proven_bound: Fraction | None
    """Bound on the optimum by weak duality in exact arithmetic; None where there are no duals or they prove nothing."""
    proven_gap: Fraction | None
    """Distance from objective to proven bound, in the direction of improvement. It is >= 0 for a feasible point; a
    point that breaks a row a little may lie a little beyond the bound."""
    reported_bound: float | None
    """The bound that the solver states; its word alone."""
    reported_gap: Fraction | None
    """Distance from objective to reported bound, in the direction of improvement."""


def certify_point(program: PointProgram, result: SolveResult) -> PointCertificate:
    """Check an answer; of the result only `solution`, `duals` and `bound` are read."""
    point = np.asarray(result.require_solution(), dtype=np.float64)
    if point.shape != program.objective.shape or not np.isfinite(point).all():
        raise ProgramError(f"the point must hold {program.number_of_variables} finite numbers")
    linear = program.linear
    whole = point[linear.integrality]
    relaxed = linear_relaxation(program) if isinstance(program, MixedIntegerProgram) else program
    objective = exact_objective(program, point)
    sense = 1 if program.maximize else -1
    proven = None if result.duals is None else _proven(program, point, result.duals)
    reported = result.bound
    return PointCertificate(
        primal_violation=relaxed.violation(point),
        integrality_violation=float(np.abs(whole - np.round(whole)).max(initial=0.0)),
        objective=objective,
        proven_bound=proven,
        proven_gap=None if proven is None else sense * (proven - objective),
        reported_bound=reported,
        reported_gap=None if reported is None else sense * (Fraction(reported) - objective),
    )


def exact_objective(program: PointProgram, point: NDArray[np.float64]) -> Fraction:
    """Return the objective at a finite point (n,), without any rounding."""
    if isinstance(program, ConicProgram):
        return exact_objective(program.quadratic, point)
    x = Dyadic.of(point)
    linear = Dyadic.of(program.objective).times(x).total()
    if isinstance(program, MixedIntegerProgram):
        return linear
    terms = Dyadic.of(program.square_coefficients).times(x.take(program.square_columns))
    residual = terms.sum_by(program.square_of_entry(), program.targets.size).minus(Dyadic.of(program.targets))
    return linear + Dyadic.of(program.weights).times(residual).times(residual).total() / 2


def _proven(program: PointProgram, point: NDArray[np.float64], duals: NDArray[np.float64]) -> Fraction | None:
    """Return the bound that the duals prove at the point."""
    if isinstance(program, MixedIntegerProgram):
        return dual_bound(program, duals)
    if isinstance(program, ConicProgram):
        return conic_bound(program, point, duals)
    return quadratic_bound(program, point, duals)
