"""Whatever else PuLP can call: Gurobi, CPLEX, SCIP, Xpress, Mosek and others, by PuLP's name.

The general way, through PuLP's own objects: slow to build (seconds for 100,000 clauses), without bounds. Where there is
an adapter of its own, take that.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.building import Block, names_of
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import QuadraticProgram
from dpopt.programs.results import Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Capability, Program
from dpopt.programs.text import PULP_REPLACES, unlike
from dpopt.solvers.process.adapter import (
    UNKNOWN_STATUS,
    Means,
    OwnValues,
    Verdict,
    is_incumbent,
    mixed_integer,
    require_names,
)

if TYPE_CHECKING:
    import pulp

    PulpProblem = pulp.LpProblem

STATUS: dict[int, Verdict] = {
    1: Means.OPTIMAL,
    2: Means.TIME,  # a solution was found
    0: Means.TIME,  # none was found
    -1: Means.EITHER,  # PuLP counts "infeasible or unbounded" here
    -2: Means.UNBOUNDED,
}
"""Every number of `sol_status`. (`status` says "optimal" of a run that the time limit stopped.)"""

UNDECIDED = frozenset({0, -3})
"""Numbers of `status`, "not solved" and "undefined", for which PuLP makes up a `sol_status` of -1 where it knows none."""

OWN_ADAPTERS = frozenset({"PULP_CBC_CMD", "GLPK_CMD"})
"""PuLP's names for cbc and glpk, which have adapters of their own here."""

_NO_GAP = 1e-12  # PuLP takes 0 for "not given", and Gurobi and HiGHS would stop at 1e-4
_NEARLY = 0.95  # a run that took less of its time was not stopped by it
_LIST = "import json, pulp; print(json.dumps(pulp.listSolvers(onlyAvailable=True)))"


@dataclass(frozen=True, slots=True)
class PulpOther:
    """The adapter of the solver that PuLP calls by this name.

    Time limit and threads are passed on where PuLP's class has such a parameter. Not honoured: gap (PuLP gives no
    bound, so that "optimal" within a gap could not be distinguished from optimal), work, seed, hints. A limit of nodes
    or memory that a solver sets itself cannot be told from a failure.
    """

    library: str
    capabilities: frozenset[Capability] = frozenset({Capability.LP, Capability.MIP})

    @property
    def name(self) -> str:
        """Name in the registry."""
        return registered_name(self.library)

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        """Solve a MixedIntegerProgram."""
        import pulp

        program = mixed_integer(program, self.name)
        problem, variables = pulp_problem(program)
        solver = _configured(self.library, limits)
        started = time.perf_counter()
        problem.solve(solver)
        elapsed = time.perf_counter() - started
        stopped = limits.seconds is not None and elapsed >= _NEARLY * limits.seconds
        termination, limit = verdict(problem.status, problem.sol_status, program, stopped=stopped)
        point = None
        if termination in {Termination.OPTIMAL, Termination.LIMIT}:
            point = _point(program, variables)
        if termination is Termination.LIMIT and point is not None and not is_incumbent(program, point):
            point = None
        if termination is Termination.OPTIMAL and point is None:
            termination, limit = UNKNOWN_STATUS
        objective = None if point is None else program.evaluate(point)
        # A linear program's optimum is its own bound; PuLP gives no other.
        proven = termination is Termination.OPTIMAL and not program.integrality.any()
        return SolveResult(
            termination=termination,
            limit=limit,
            solution=point,
            objective=objective,
            bound=objective if proven else None,
            solver=self.name,
            version=f"PuLP {pulp.__version__}",
            native_status=f"{pulp.LpSolution.get(problem.sol_status)} ({pulp.LpStatus.get(problem.status)})",
        )


def registered_name(library: str) -> str:
    """Return the name in the registry for PuLP's name: pulp-gurobi for GUROBI."""
    return f"pulp-{library.lower().replace('_', '-')}"


def found_by_pulp() -> dict[str, str]:
    """Return registered names and PuLP's names of the solvers that PuLP finds here; asks in a process of its own."""
    done = subprocess.run(  # noqa: S603  # our own interpreter
        [sys.executable, "-W", "ignore", "-c", _LIST],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines:
        return {}
    found: list[str] = json.loads(lines[-1])
    return {registered_name(name): name for name in found if name not in OWN_ADAPTERS}


def verdict(status: int, sol_status: int, program: MixedIntegerProgram, *, stopped: bool) -> Verdict:
    """Return the meaning of PuLP's two numbers; `stopped`: the time limit was used up."""
    if status in UNDECIDED and sol_status == -1:
        sol_status = 0
    termination, limit = STATUS.get(sol_status, UNKNOWN_STATUS)
    if termination is Termination.LIMIT and not stopped:
        return UNKNOWN_STATUS
    bounded = bool(np.isfinite(program.lower).all() and np.isfinite(program.upper).all())
    if termination is Termination.INFEASIBLE_OR_UNBOUNDED and bounded:
        return Means.INFEASIBLE
    return termination, limit


def pulp_problem(
    program: MixedIntegerProgram | QuadraticProgram,
    variables: Sequence[Block] = (),
    rows: Sequence[Block] = (),
    *,
    name: str = "dpopt",
) -> tuple[pulp.LpProblem, list[pulp.LpVariable]]:
    """Return the program in PuLP's objects, and its variables in order.

    PuLP replaces signs such as `[` and `-` in names by `_`: `IR-3[2]` becomes `IR_3_2_`. Names that are then alike get
    a number at their end. One call for each variable and row: seconds for 100,000 clauses. A row with two different
    sides becomes two, the lower one with `_` at the end of its name.
    """
    import pulp

    if isinstance(program, QuadraticProgram):
        raise ProgramError("PuLP holds linear programs only; take to_cvxpy or to_mathopt for squares")
    problem = pulp.LpProblem(unlike([name], PULP_REPLACES)[0], pulp.LpMaximize if program.maximize else pulp.LpMinimize)
    kinds = np.where(program.integrality, pulp.LpInteger, pulp.LpContinuous).tolist()
    titles = unlike(names_of(variables, "x", program.number_of_variables), PULP_REPLACES)
    bounds = zip(titles, _ends(program.lower), _ends(program.upper), kinds, strict=True)
    found = [problem.add_variable(*one) for one in bounds]
    problem += pulp.LpAffineExpression(zip(found, program.objective.tolist(), strict=True))
    starts, columns = program.row_starts.tolist(), program.columns.tolist()
    coefficients = program.coefficients.tolist()
    sides = zip(_ends(program.row_lower), _ends(program.row_upper), strict=True)
    labels = unlike(names_of(rows, "r", program.number_of_rows), PULP_REPLACES)
    for i, (label, (low, high)) in enumerate(zip(labels, sides, strict=True)):
        entries = range(starts[i], starts[i + 1])
        row = pulp.LpAffineExpression([(found[columns[e]], coefficients[e]) for e in entries])
        if low is not None and low == high:
            problem += row == low, label
            continue
        if high is not None:
            problem += row <= high, label
        if low is not None:
            problem += row >= low, label if high is None else f"{label}_"
    return problem, found


def own_values(problem: pulp.LpProblem, names: Sequence[str], limits: SolveLimits) -> OwnValues:
    """Solve a problem in PuLP's objects, by CBC unless it has a solver set, and return the values of these variables."""
    import pulp

    titles = unlike(list(names), PULP_REPLACES)
    variables = problem.variablesDict()
    require_names(titles, variables)
    bundled = pulp.PULP_CBC_CMD.pulp_cbc_path
    usual = pulp.COIN_CMD(path=bundled, msg=False, timeLimit=limits.seconds, threads=limits.threads)
    started = time.perf_counter()
    problem.solve(problem.solver or usual)
    stopped = limits.seconds is not None and time.perf_counter() - started >= _NEARLY * limits.seconds
    meaning = STATUS.get(problem.sol_status, UNKNOWN_STATUS)
    if meaning[0] is Termination.LIMIT and not stopped:
        meaning = UNKNOWN_STATUS
    values = [variables[title].value() for title in titles]
    known = meaning[0] in {Termination.OPTIMAL, Termination.LIMIT} and None not in values
    words = f"{pulp.LpSolution.get(problem.sol_status)} ({pulp.LpStatus.get(problem.status)})"
    return OwnValues(np.array(values, dtype=np.float64) if known else None, meaning, words, f"PuLP {pulp.__version__}")


def _ends(values: NDArray[np.float64]) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


def _configured(library: str, limits: SolveLimits) -> pulp.LpSolver:
    import pulp

    wanted: dict[str, float | int | bool] = {"msg": False, "threads": limits.threads, "gapRel": _NO_GAP}
    if limits.seconds is not None:
        wanted["timeLimit"] = limits.seconds
    classes = {kind.name: kind for kind in pulp.apis._all_solvers}  # noqa: SLF001
    known = inspect.signature(classes[library]).parameters
    return classes[library](**{name: value for name, value in wanted.items() if name in known})


def _point(program: MixedIntegerProgram, variables: list[pulp.LpVariable]) -> NDArray[np.float64] | None:
    """Return the values, or None if there are none; a variable that no row and no objective names has no value."""
    values = [variable.varValue for variable in variables]
    if values and all(value is None for value in values) and program.columns.size:
        return None
    anything = np.clip(0.0, program.lower, program.upper)
    return np.where(
        [value is None for value in values], anything, np.array([0.0 if value is None else value for value in values])
    )
