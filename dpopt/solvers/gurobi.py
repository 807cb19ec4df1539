"""Gurobi through gurobipy, for linear, mixed-integer and convex quadratic programs.

What pip installs comes with a licence for programs of up to 2,000 variables and 2,000 rows; a larger program ends
FAILED with Gurobi's own words, unless there is another licence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.conic import ConicProgram
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import QuadraticProgram
from dpopt.programs.results import Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Capability, Program
from dpopt.solvers.process.adapter import UNKNOWN_STATUS, History, Means, status_table

if TYPE_CHECKING:
    import gurobipy

STATUS = status_table(
    (Means.OPTIMAL, "OPTIMAL"),
    (Means.INFEASIBLE, "INFEASIBLE"),
    (Means.EITHER, "INF_OR_UNBD"),
    (Means.UNBOUNDED, "UNBOUNDED"),
    (Means.IMPRECISE, "SUBOPTIMAL"),
    (Means.TIME, "TIME_LIMIT"),
    (Means.WORK, "ITERATION_LIMIT NODE_LIMIT WORK_LIMIT"),
    (Means.MEMORY, "MEM_LIMIT"),
    (Means.INTERRUPTED, "INTERRUPTED"),
    (Means.FAILED, "LOADED NUMERIC INPROGRESS"),
    (Means.FAILED, "CUTOFF SOLUTION_LIMIT USER_OBJ_LIMIT"),  # never set here
    (Means.FAILED, "LOCALLY_OPTIMAL LOCALLY_INFEASIBLE"),  # of programs that are not convex
)
"""Every name of GRB.Status."""

_INFINITE = 1e99  # Gurobi's infinity is 1e100
_TOLERANCE = 1e-9  # of rows and reduced costs, the tightest that Gurobi takes


@dataclass(frozen=True, slots=True)
class Gurobi:
    """The adapter. `limits.work` counts Gurobi's work units, of about a second each; with them, runs repeat."""

    name: str = "gurobi"
    capabilities: frozenset[Capability] = frozenset(
        {
            Capability.LP,
            Capability.MIP,
            Capability.CONVEX_QP,
            Capability.DUALS,
            Capability.WARM_START,
            Capability.DETERMINISTIC_LIMIT,
        }
    )

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        """Solve a MixedIntegerProgram or a QuadraticProgram."""
        import gurobipy

        if isinstance(program, MaxCsp | ConicProgram):
            raise ProgramError("gurobi takes a MixedIntegerProgram or a QuadraticProgram")
        linear = program.linear
        history = History(beyond=_INFINITE)
        with gurobipy.Env(params={"OutputFlag": 0}) as environment, gurobipy.Model(env=environment) as model:
            _set_parameters(model, limits)
            if isinstance(program, QuadraticProgram):
                # Its presolve gives wrong duals where two rows are multiples of each other (Gurobi 13.0).
                model.Params.Presolve = 0
            kinds = np.where(linear.integrality, "I", "C")
            x = model.addMVar(linear.number_of_variables, lb=linear.lower, ub=linear.upper, vtype=kinds)
            rows = _rows(model, linear, x)
            _set_objective(model, program, x)
            if hint is not None:
                x.Start = hint
            model.optimize(lambda running, where: _listen(history, running, where))
            return self._read(program, linear, model, x, rows, history)

    def _read(
        self,
        program: MixedIntegerProgram | QuadraticProgram,
        linear: MixedIntegerProgram,
        model: gurobipy.Model,
        x: gurobipy.MVar,
        rows: _Rows,
        history: History,
    ) -> SolveResult:
        import gurobipy

        names = {getattr(gurobipy.GRB.Status, name): name for name in dir(gurobipy.GRB.Status) if name.isupper()}
        native = names.get(model.Status, str(model.Status))
        termination, limit = STATUS.get(native, UNKNOWN_STATUS)
        usable = termination in {Termination.OPTIMAL, Termination.LIMIT, Termination.IMPRECISE}
        point = np.asarray(x.X, dtype=np.float64) if usable and model.SolCount else None
        objective = None if point is None else program.evaluate(point)
        whole = bool(linear.integrality.any())
        duals = None
        if termination is Termination.OPTIMAL and not whole:
            duals = rows.duals()
        bound = float(model.ObjBound) if whole and usable else None
        if isinstance(program, MixedIntegerProgram) and not whole and termination is Termination.OPTIMAL:
            bound = objective  # a simplex method's; what solves quadratic programs proves nothing
        known = bound is not None and abs(bound) < _INFINITE
        history.note(objective=objective, bound=bound)
        return SolveResult(
            termination=termination,
            limit=limit,
            solution=point,
            objective=objective,
            bound=bound if known else None,
            solver=self.name,
            version=".".join(map(str, gurobipy.gurobi.version())),
            native_status=native,
            report={"nodes": int(model.NodeCount), "work": float(model.Work)},
            duals=duals,
            history=history.entries(),
        )


@dataclass(frozen=True, slots=True)
class _Rows:
    """The constraints of a model and the row of the program that each comes from."""

    constraints: gurobipy.MConstr
    row: NDArray[np.int64]
    number: int

    def duals(self) -> NDArray[np.float64]:
        """Return the dual of each row; a row with two sides is two constraints, at most one of them active."""
        multipliers = np.asarray(self.constraints.Pi, dtype=np.float64)
        return np.bincount(self.row, weights=multipliers, minlength=self.number).astype(np.float64)


def _set_parameters(model: gurobipy.Model, limits: SolveLimits) -> None:
    parameters = model.Params
    parameters.Threads = limits.threads
    parameters.Seed = min(limits.seed, 2_000_000_000)
    parameters.MIPGap = 0.0
    parameters.MIPGapAbs = 1e-10 if limits.gap is None else limits.gap
    parameters.FeasibilityTol = parameters.OptimalityTol = parameters.IntFeasTol = _TOLERANCE
    if limits.seconds is not None:
        parameters.TimeLimit = limits.seconds
    if limits.work is not None:
        parameters.WorkLimit = float(limits.work)


def _rows(model: gurobipy.Model, program: MixedIntegerProgram, x: gurobipy.MVar) -> _Rows:
    equal = program.row_lower == program.row_upper
    above = np.flatnonzero(np.isfinite(program.row_upper))
    below = np.flatnonzero(np.isfinite(program.row_lower) & ~equal)
    row = np.concatenate((above, below))
    sides = np.concatenate((program.row_upper[above], program.row_lower[below]))
    senses = np.concatenate((np.where(equal[above], "=", "<"), np.full(below.size, ">")))
    return _Rows(model.addMConstr(program.matrix()[row], x, senses, sides), row, program.number_of_rows)


def _set_objective(model: gurobipy.Model, program: MixedIntegerProgram | QuadraticProgram, x: gurobipy.MVar) -> None:
    """Set c . x, and the squares written out: x'F'WFx / 2 - (F'Wt) . x + t'Wt / 2."""
    import gurobipy

    sense = gurobipy.GRB.MAXIMIZE if program.maximize else gurobipy.GRB.MINIMIZE
    if isinstance(program, MixedIntegerProgram):
        model.setMObjective(None, program.objective, 0.0, sense=sense, xc=x)
        return
    f = program.square_matrix(np.ones(program.targets.size))
    weighted = program.square_matrix(program.weights)
    pull = program.weights * program.targets
    constant = 0.5 * float(pull @ program.targets)
    model.setMObjective(
        0.5 * (f.T @ weighted), program.objective - f.T @ pull, constant, sense=sense, xQ_L=x, xQ_R=x, xc=x
    )


def _listen(history: History, model: gurobipy.Model, where: int) -> None:
    """Note incumbent and bound when Gurobi calls."""
    from gurobipy import GRB

    event = {GRB.Callback.MIP: "MIP", GRB.Callback.MIPSOL: "MIPSOL"}.get(where)
    if event is not None:
        best, bound = (float(model.cbGet(getattr(GRB.Callback, f"{event}_{what}"))) for what in ("OBJBST", "OBJBND"))
        history.note(objective=best, bound=bound)
