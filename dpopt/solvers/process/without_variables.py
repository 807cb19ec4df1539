"""Programs without a variable: there is one point, and it is feasible or not."""

from __future__ import annotations

import numpy as np

from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import QuadraticProgram
from dpopt.programs.results import SolveResult, Termination


def without_variables(program: MixedIntegerProgram | QuadraticProgram, solver: str) -> SolveResult:
    """Answer a program with no variables in the name of a solver, which is not asked."""
    point = np.zeros(0)
    feasible = program.violation(point) == 0
    objective = program.evaluate(point) if feasible else None
    rows = program.linear if isinstance(program, QuadraticProgram) else program
    return SolveResult(
        termination=Termination.OPTIMAL if feasible else Termination.INFEASIBLE,
        limit=None,
        solution=point if feasible else None,
        objective=objective,
        bound=objective,
        solver=solver,
        version="",
        native_status="there is no variable; nothing was solved",
        seconds=0.0,
        duals=np.zeros(rows.number_of_rows) if feasible and not rows.integrality.any() else None,
    )
