"""What is true of an answer to a linear, mixed-integer or quadratic program, computed outside the solver."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.duality import dual_bound, dual_violation, linear_relaxation, quadratic_bound
from dpopt.programs.dyadic import Dyadic
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import QuadraticProgram
from dpopt.programs.results import SolveResult


@dataclass(frozen=True, slots=True)
class PointCertificate:
    """An answer to a `MixedIntegerProgram` or `QuadraticProgram`, checked.

    Attributes
    ----------
    primal_violation : float
        By how much the point breaks a row or a bound at worst; 0 for a point that meets them.
    integrality_violation : float
        Largest distance of a variable that must be whole from a whole number.
    objective : Fraction
        Objective of the point as it is, exactly.
    dual_violation : float or None
        By how much the duals push towards an infinite side; None where the result holds none.
    proven_bound : Fraction or None
        Bound on the optimum by weak duality in exact arithmetic; None where there are no duals or they prove nothing.
    proven_gap : Fraction or None
        Distance from objective to proven bound, in the direction of improvement. It is >= 0 for a feasible point; a
        point that breaks a row a little may lie a little beyond the bound.
    reported_bound : float or None
        The bound that the solver states; its word alone.
    reported_gap : Fraction or None
        Distance from objective to reported bound, in the direction of improvement.
    """

    primal_violation: float
    integrality_violation: float
    objective: Fraction
    dual_violation: float | None
    proven_bound: Fraction | None
    proven_gap: Fraction | None
    reported_bound: float | None
    reported_gap: Fraction | None


def certify_point(program: MixedIntegerProgram | QuadraticProgram, result: SolveResult) -> PointCertificate:
    """Check an answer; of the result only `solution`, `duals` and `bound` are read.

    Raises
    ------
    NoSolutionError
        The result holds no solution.
    ProgramError
        Solution or duals do not fit the program.
    """
    point = np.asarray(result.require_solution(), dtype=np.float64)
    if point.shape != program.objective.shape or not np.isfinite(point).all():
        raise ProgramError(f"the point must hold {program.number_of_variables} finite numbers")
    linear = program.linear if isinstance(program, QuadraticProgram) else program
    whole = point[linear.integrality]
    objective = exact_objective(program, point)
    sense = 1 if program.maximize else -1
    proven, pushed = _proven(program, point, result.duals)
    reported = result.bound
    return PointCertificate(
        primal_violation=linear_relaxation(linear).violation(point),
        integrality_violation=float(np.abs(whole - np.round(whole)).max(initial=0.0)),
        objective=objective,
        dual_violation=pushed,
        proven_bound=proven,
        proven_gap=None if proven is None else sense * (proven - objective),
        reported_bound=reported,
        reported_gap=None if reported is None else sense * (Fraction(reported) - objective),
    )


def exact_objective(program: MixedIntegerProgram | QuadraticProgram, point: NDArray[np.float64]) -> Fraction:
    """Return the objective at a finite point (n,), without any rounding."""
    x = Dyadic.of(point)
    linear = Dyadic.of(program.objective).times(x).total()
    if isinstance(program, MixedIntegerProgram):
        return linear
    squares = program.targets.size
    owner = np.repeat(np.arange(squares), np.diff(program.square_starts))
    terms = Dyadic.of(program.square_coefficients).times(x.take(program.square_columns))
    residual = terms.sum_by(owner, squares).minus(Dyadic.of(program.targets))
    return linear + Dyadic.of(program.weights).times(residual).times(residual).total() / 2


def _proven(
    program: MixedIntegerProgram | QuadraticProgram,
    point: NDArray[np.float64],
    duals: NDArray[np.float64] | None,
) -> tuple[Fraction | None, float | None]:
    """Return the bound that the duals prove at the point, and by how much they push towards infinite sides."""
    if duals is None:
        return None, None
    if isinstance(program, MixedIntegerProgram):
        return dual_bound(program, duals), dual_violation(program, program.objective, duals)
    owner = np.repeat(np.arange(program.targets.size), np.diff(program.square_starts))
    pulls = (program.weights * program.residuals(point))[owner] * program.square_coefficients
    gradient = program.objective + np.bincount(
        program.square_columns, weights=pulls, minlength=program.number_of_variables
    )
    return quadratic_bound(program, point, duals), dual_violation(program.linear, gradient, duals)
