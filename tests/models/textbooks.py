"""Solves the models of a textbook with the library that holds them; run as a program, as OR-Tools and PuLP share no process.

    python textbooks.py FOLDER LIBRARY    # reads lists of arguments by page, prints lists of optima with values by page

Values go by name (`x_0_1`). Where no function of that library takes the arguments, None stands for both.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from fractions import Fraction
from math import inf
from types import ModuleType
from typing import Any

import numpy as np

Found = tuple[float, dict[str, float]]


def with_pulp(model: Any) -> Found:
    """Solve a `pulp.LpProblem` with CBC."""
    import pulp

    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    assert model.sol_status == pulp.LpSolutionOptimal, pulp.LpStatus[model.status]
    return model.objective.value() or 0.0, {one.name: one.value() for one in model.variables()}


def with_cvxpy(model: Any) -> Found:
    """Solve a `cvxpy.Problem` with Clarabel."""
    import cvxpy

    exact = 1e-11 if model.is_qp() else 1e-8  # other cones come no nearer
    model.solve(solver=cvxpy.CLARABEL, tol_gap_abs=exact, tol_gap_rel=exact, tol_feas=exact)
    assert model.status == cvxpy.OPTIMAL, model.status
    values = {
        "_".join([one.name(), *map(str, place)]): value
        for one in model.variables()
        for place, value in np.ndenumerate(one.value)
    }
    return float(model.value), {name: float(value) for name, value in values.items()}


def with_cp_sat(model: Any) -> Found:
    """Solve a `CpModel`."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    assert solver.solve(model) == cp_model.OPTIMAL, solver.status_name()
    names = [one.name for one in model.proto.variables]
    return solver.objective_value, dict(zip(names, solver.response_proto.solution, strict=True))


def with_mathopt(model: Any) -> Found:
    """Solve a model of MathOpt with SCIP."""
    from ortools.math_opt.python import mathopt

    found = mathopt.solve(model, mathopt.SolverType.GSCIP)
    assert found.termination.reason == mathopt.TerminationReason.OPTIMAL, found.termination
    return found.objective_value(), {one.name: value for one, value in found.variable_values().items()}


SOLVE: dict[str, Callable[[Any], Found]] = {
    "pulp": with_pulp,
    "cvxpy": with_cvxpy,
    "cp_sat": with_cp_sat,
    "mathopt": with_mathopt,
}


def function_for(functions: list[Callable[..., Any]], arguments: dict[str, Any]) -> Callable[..., Any] | None:
    """Return the function that takes these arguments, if there is one."""
    fitting = []
    for function in functions:
        try:
            inspect.signature(function).bind(**arguments)
        except TypeError:
            continue
        fitting.append(function)
    assert len(fitting) <= 1
    return fitting[0] if fitting else None


def examples_and(module: ModuleType, library: str, problems: list[dict[str, Any]]) -> list[Found | None]:
    """Return what a library finds for a textbook's examples and for problems; None where it has no function for them."""
    functions = [one for name, one in vars(module).items() if name.endswith(f"{library}_model")]
    found = []
    for arguments in [*module.EXAMPLES, *problems]:
        function = function_for(functions, arguments)
        found.append(None if function is None else SOLVE[library](function(**arguments)))
    return found


def main(folder: str, library: str) -> None:
    """Print what is found, by page."""
    stated = eval(sys.stdin.read(), {"Fraction": Fraction, "inf": inf})
    sys.path[:0] = [f"{folder}/{page}" for page in stated]
    modules = {page: importlib.import_module(f"{page}_textbook") for page in stated}
    answers = {page: examples_and(modules[page], library, problems) for page, problems in stated.items()}
    sys.stdout.write(repr(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
