"""A solver's answer to a problem: the coefficients as fractions, with their exact objective.

A problem of `certificates` is stated as the model of its page. The numbers of a solver's point are fractions as they
stand, so that its polynomial is exact; where the value at 0 is kept, the constant is moved by what it misses there. The
objective of that polynomial, and by how much it breaks a limit, are then exact. Nothing that a solver says of itself is
believed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PolynomialError
from dpopt.models.model import Model
from dpopt.models.polynomials.approximation_plus_noise import approximation_plus_noise
from dpopt.models.polynomials.coefficient_budget import (
    coefficient_budget,
    limited_coefficients,
    monomial_values,
    read_limited,
    read_split,
)
from dpopt.models.polynomials.minimax_polynomial import chebyshev_values, minimax_polynomial
from dpopt.polynomials.certificates import Problem, judgement
from dpopt.polynomials.polynomial import Basis, Polynomial
from dpopt.polynomials.targets import floats
from dpopt.programs.conic import PointProgram
from dpopt.programs.results import SolveLimits, SolveResult
from dpopt.programs.solver import Capability, Solver
from dpopt.solvers.outside import solver_result, tried
from dpopt.solvers.registry import available_solvers, get_solver

DEFAULT = "highs"
_LIMITS = SolveLimits(seconds=20.0)


def linear_solver(name_or_solver: str | Solver) -> Solver:
    """Return the solver of that name; it takes linear programs and can run here."""
    solver = get_solver(name_or_solver)
    if Capability.LP not in solver.capabilities:
        raise PolynomialError(
            f"the solver {solver.name!r} takes no linear programs; here {', '.join(linear_solvers())} do"
        )
    return tried(solver, Capability.LP)


def linear_solvers() -> tuple[str, ...]:
    """Return the names of the solvers that take linear programs and can run here."""
    return tuple(name for name in available_solvers() if Capability.LP in get_solver(name).capabilities)


def suggested_point(
    solver: Solver, program: PointProgram, limits: SolveLimits = _LIMITS
) -> tuple[NDArray[np.float64] | None, SolveResult]:
    """Return the point that a solver gives, (n,), or None, and all that it says. Neither is trusted."""
    result = solver_result(solver, program, limits)
    solution = result.solution
    if solution is None or solution.shape != program.objective.shape:
        return None, result
    point = np.asarray(solution, dtype=np.float64)
    return (point if np.isfinite(point).all() else None), result


@dataclass(frozen=True, slots=True)
class SolverAnswer:
    """The polynomial of a solver, judged in exact arithmetic."""

    solver: str
    """Its name."""
    seconds: float
    """How long it took, as it says."""
    ended: str
    """Why it stopped, as it says: "optimal", "infeasible", ..."""
    polynomial: Polynomial | None
    """Its numbers as fractions; None where it gave none."""
    objective: Fraction | None
    """The exact objective of the polynomial, apart from limits."""
    breach: Fraction
    """By how much it breaks a limit at most, exactly."""


def solver_answer(problem: Problem, solver: str | Solver) -> SolverAnswer:
    """Solve the model of a problem by a solver of linear programs and judge its answer in exact arithmetic.

    The model is minimax_polynomial, coefficient_budget or approximation_plus_noise (models/), as limits and weights
    say.

    Parameters
    ----------
    problem
        What is minimized; `minimax_problem`, or the problem of any `Solution`.
    solver
        A solver of linear programs, or its name. It gets 20 seconds.

    Examples
    --------
    >>> from dpopt.polynomials import Target, best_polynomial, solver_answer
    >>> best = best_polynomial(Target.disjunction(8), 4)
    >>> found = solver_answer(best.problem, "highs")
    >>> found.objective >= best.objective and float(found.objective - best.objective) < 1e-9
    True
    """
    if isinstance(solver, str):
        return _by_name(problem, solver)
    return answer_to(problem, stated_model(problem), linear_solver(solver))


@lru_cache(maxsize=8)  # what a search begins with is asked for again where it is reported
def _by_name(problem: Problem, name: str) -> SolverAnswer:
    return answer_to(problem, stated_model(problem), linear_solver(name))


Statement = tuple[Model, Basis, Callable[[NDArray[np.float64]], NDArray[np.float64]]]
"""A model, and the basis and the reading of the coefficients of its points."""


def answer_to(problem: Problem, stated: Statement, solver: Solver) -> SolverAnswer:
    """Return a solver's answer to any statement of the problem as a linear program, verified in exact arithmetic."""
    model, basis, read = stated
    point, result = suggested_point(solver, model.program)
    outcome = solver.name, result.seconds, result.termination.value
    if point is None:
        return SolverAnswer(*outcome, None, None, Fraction(0))
    given = Polynomial.from_basis(problem.target.width, [Fraction(one) for one in read(point).tolist()], basis)
    constant = problem.target.values[0] if problem.keeps_zero else given.coefficients[0]  # p(0) = a_0
    polynomial = Polynomial(problem.target.width, (constant, *given.coefficients[1:]))
    objective, broken = judgement(problem, polynomial)
    breach = max((size for size, _ in broken), default=Fraction(0))
    return SolverAnswer(*outcome, polynomial, objective, breach)


def stated_model(problem: Problem) -> Statement:
    """Return a problem as the model of its page; errors as of `solver_answer`."""
    values, weights = floats(problem.target.values), floats(problem.weights)
    width, degree, v = problem.target.width, problem.degree, floats(problem.target.weights)
    keeps = problem.keeps_zero
    if problem.coefficient_limit is not None:
        table = (monomial_values if problem.basis is Basis.MONOMIAL else chebyshev_values)(width, degree)
        (limit,) = floats((problem.coefficient_limit,)).tolist()
        model = limited_coefficients(values, degree, limit, table, keeps_zero=keeps, error_weights=v)
        return model, problem.basis, lambda point: read_limited(point, table)
    if problem.error_limit is not None:
        (limit,) = floats((problem.error_limit,)).tolist()
        model = coefficient_budget(values, weights, limit, keeps_zero=keeps, error_weights=v)
        return model, Basis.BINOMIAL, lambda point: read_split(point, width)
    if any(problem.weights):
        model = approximation_plus_noise(values, weights, error_weights=v)
        return model, Basis.BINOMIAL, lambda point: read_split(point[:-1], width)
    model = minimax_polynomial(values, degree=degree, keeps_zero=keeps, error_weights=v)
    return model, Basis.CHEBYSHEV, lambda point: point[:-1]
