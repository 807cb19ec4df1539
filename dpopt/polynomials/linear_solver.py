"""Linear programs given to a solver of the registry, whose answer is a suggestion and no more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PolynomialError, SolverUnavailableError
from dpopt.models.model import Model
from dpopt.programs.limits import SolveLimits
from dpopt.programs.solver import Capability, Solver, why_refused
from dpopt.solvers.registry import available_solvers, get_solver, whether_it_runs

DEFAULT = "highs"
_LIMITS = SolveLimits(seconds=20.0)


def linear_solver(name_or_solver: str | Solver) -> Solver:
    """Return the solver of that name; it takes linear programs and can run here.

    Raises
    ------
    PolynomialError
        It takes no linear programs.
    SolverUnavailableError
        There is none of that name, or it cannot run here.
    """
    solver = get_solver(name_or_solver)
    if Capability.LP not in solver.capabilities:
        raise PolynomialError(
            f"the solver {solver.name!r} takes no linear programs; here {', '.join(linear_solvers())} do"
        )
    availability = whether_it_runs(solver)
    if not availability.available:
        raise SolverUnavailableError(
            f"the solver {solver.name!r} cannot run here: {availability.explanation}"
        )
    return solver


def linear_solvers() -> tuple[str, ...]:
    """Return the names of the solvers that take linear programs and can run here."""
    return tuple(name for name in available_solvers() if Capability.LP in get_solver(name).capabilities)


def suggested_point(solver: Solver, model: Model) -> NDArray[np.float64] | None:
    """Return the point that a solver gives, (n,); None where it gives none. Not trusted."""
    program = model.program
    if why_refused(solver, program) is not None:
        return None
    solution = solver.solve(program, _LIMITS).solution
    if solution is None or solution.shape != program.objective.shape:
        return None
    point = np.asarray(solution, dtype=np.float64)
    return point if np.isfinite(point).all() else None
