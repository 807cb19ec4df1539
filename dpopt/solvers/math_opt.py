"""Solvers behind OR-Tools' MathOpt: SCIP and HiGHS for mixed-integer programs, Glop and PDLP for linear ones."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpopt.programs.building import Block, names_of
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import MultipliedOut, QuadraticProgram
from dpopt.programs.results import Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Capability, Program
from dpopt.solvers.process.adapter import (
    SIMPLEX_UP_TO,
    UNKNOWN_STATUS,
    History,
    Means,
    OwnValues,
    Verdict,
    mixed_integer,
    number_in,
    require_names,
    status_table,
)

if TYPE_CHECKING:
    from ortools.math_opt.python import mathopt

    MathOptModel = mathopt.Model

STATUS = status_table(
    (Means.OPTIMAL, "OPTIMAL"),
    (Means.INFEASIBLE, "INFEASIBLE"),
    (Means.UNBOUNDED, "UNBOUNDED"),
    (Means.EITHER, "INFEASIBLE_OR_UNBOUNDED"),
    (Means.IMPRECISE, "IMPRECISE"),
    (Means.TIME, "FEASIBLE NO_SOLUTION_FOUND"),
    (Means.FAILED, "NUMERICAL_ERROR OTHER_ERROR"),
)
"""Every name of TerminationReason. Which limit FEASIBLE and NO_SOLUTION_FOUND mean is in `LIMIT`."""

LIMIT = status_table(
    (Means.TIME, "TIME"),
    (Means.WORK, "ITERATION NODE"),
    (Means.MEMORY, "MEMORY"),
    (Means.INTERRUPTED, "INTERRUPTED"),
    (Means.IMPRECISE, "SLOW_PROGRESS"),
    (Means.FAILED, "UNDETERMINED NORM OTHER"),
    (Means.FAILED, "SOLUTION OBJECTIVE"),  # never set here
)
"""Every name of MathOpt's Limit, read where `STATUS` says LIMIT. UNDETERMINED is made precise by `verdict`."""

_LINEAR = frozenset({Capability.LP, Capability.DUALS, Capability.DETERMINISTIC_LIMIT})
_WHOLE = frozenset({Capability.LP, Capability.MIP, Capability.WARM_START, Capability.DETERMINISTIC_LIMIT})
KINDS: dict[str, tuple[str, frozenset[Capability]]] = {
    "gscip": ("GSCIP", _WHOLE),
    "mathopt-highs": ("HIGHS", _WHOLE | {Capability.DUALS}),
    "glop": ("GLOP", _LINEAR),
    "pdlp": ("PDLP", _LINEAR),
}
"""Names in the registry, with the solver's name in MathOpt and its abilities."""

_PDLP_TOLERANCE = 1e-9
_NEARLY = 0.5  # Glop was seen to stop after .015 s of .02
_HIGHS_LINE = re.compile(r"^ ?[A-Za-z]? +\d+ +\d+ +\d+ +[\d.]+% +(\S+) +(\S+) ")


@dataclass(frozen=True, slots=True)
class MathOpt:
    """The adapter of the solver of this name.

    `limits.work` counts nodes of a mixed-integer program and iterations of a linear one. Not honoured: seed and gap by
    PDLP, gap and threads by Glop, threads by SCIP (which is built for one here), work on a linear program by SCIP.
    """

    name: str

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The abilities of the solver."""
        return KINDS[self.name][1]

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        """Solve a MixedIntegerProgram."""
        import ortools
        from ortools.math_opt.python import mathopt

        program = mixed_integer(program, self.name)
        history = History(beyond=1e19)  # SCIP's infinity is 1e20
        model = mathopt_model(program)
        variables = sorted(model.variables(), key=lambda variable: variable.id)
        start = mathopt.ModelSolveParameters()
        if hint is not None and Capability.WARM_START in self.capabilities:
            values = dict(zip(variables, hint.tolist(), strict=True))
            start.solution_hints.append(mathopt.SolutionHint(variable_values=values))
        answer = _solved(
            model,
            mathopt.SolverType[KINDS[self.name][0]],
            params=_parameters(self.name, program, limits),
            model_params=start,
            msg_cb=None if self.name == "pdlp" else lambda lines: _listen(history, lines),
        )
        termination, limit = verdict(answer, limits)
        point = duals = None
        if termination in {Termination.OPTIMAL, Termination.IMPRECISE, Termination.LIMIT}:
            if answer.has_primal_feasible_solution():
                point = np.array(answer.variable_values(variables), dtype=np.float64)
            if answer.has_dual_feasible_solution() and Capability.DUALS in self.capabilities:
                rows = sorted(model.linear_constraints(), key=lambda row: row.id)
                duals = np.array(answer.dual_values(rows), dtype=np.float64)
        bound = float(answer.termination.objective_bounds.dual_bound)
        proven = termination in {Termination.OPTIMAL, Termination.LIMIT} and math.isfinite(bound)
        objective = None if point is None else program.evaluate(point)
        history.note(objective=objective, bound=bound if proven else None)
        return SolveResult(
            termination=termination,
            limit=limit,
            solution=point,
            objective=objective,
            bound=bound if proven and abs(bound) < 1e19 else None,
            solver=self.name,
            version=f"OR-Tools {vars(ortools).get('__version__', '')}",
            native_status=_words(answer.termination),
            report={
                "nodes": int(answer.solve_stats.node_count),
                "iterations": int(answer.solve_stats.simplex_iterations + answer.solve_stats.first_order_iterations),
            },
            duals=duals,
            history=history.entries(),
        )


def verdict(answer: mathopt.SolveResult, limits: SolveLimits) -> Verdict:
    """Return the meaning of MathOpt's reason, and of its limit if it names one.

    Glop does not say which limit it was: it is found out from what was used up.
    """
    found = STATUS.get(answer.termination.reason.name, UNKNOWN_STATUS)
    limit = answer.termination.limit
    if found[0] is not Termination.LIMIT:
        return found
    if limit is None:
        return UNKNOWN_STATUS
    if limit.name != "UNDETERMINED":
        return LIMIT.get(limit.name, UNKNOWN_STATUS)
    if limits.work is not None and answer.solve_stats.simplex_iterations >= limits.work:
        return Means.WORK
    elapsed = answer.solve_stats.solve_time.total_seconds()
    if limits.seconds is not None and elapsed >= _NEARLY * limits.seconds:
        return Means.TIME
    return LIMIT[limit.name]


def _words(termination: mathopt.Termination) -> str:
    limit = "" if termination.limit is None else f", {termination.limit.name}"
    return f"{termination.reason.name}{limit}" + (f": {termination.detail}" if termination.detail else "")


def _solved(model: mathopt.Model, kind: mathopt.SolverType, **options: object) -> mathopt.SolveResult:
    from ortools.math_opt.python import mathopt

    try:
        return mathopt.solve(model, kind, **options)
    except AttributeError as problem:
        # OR-Tools 9.15 stumbles over its own error; what the solver said is behind it.
        if problem.__context__ is None:
            raise
        raise RuntimeError(str(problem.__context__)) from problem


def _parameters(name: str, program: MixedIntegerProgram, limits: SolveLimits) -> mathopt.SolveParameters:
    from ortools.math_opt.python import mathopt

    whole = bool(program.integrality.any())
    parameters = mathopt.SolveParameters()
    if limits.seconds is not None:
        parameters.time_limit = dt.timedelta(seconds=limits.seconds)
    if name != "pdlp":
        parameters.random_seed = limits.seed
    if whole:
        parameters.relative_gap_tolerance = 0.0
        parameters.absolute_gap_tolerance = limits.gap
    if limits.work is not None and whole:
        parameters.node_limit = limits.work
    elif limits.work is not None and name != "gscip":
        parameters.iteration_limit = limits.work
    if name == "mathopt-highs":
        parameters.highs.int_options["threads"] = limits.threads  # MathOpt's own field is refused
        if not whole and program.coefficients.size > SIMPLEX_UP_TO:
            parameters.lp_algorithm = mathopt.LPAlgorithm.BARRIER
    elif name == "pdlp":
        parameters.threads = limits.threads
        criteria = parameters.pdlp.termination_criteria.simple_optimality_criteria
        criteria.eps_optimal_absolute = criteria.eps_optimal_relative = _PDLP_TOLERANCE
    return parameters


def mathopt_model(
    program: MixedIntegerProgram | QuadraticProgram,
    variables: Sequence[Block] = (),
    rows: Sequence[Block] = (),
    *,
    name: str = "dpopt",
) -> mathopt.Model:
    """Return the program as a model of OR-Tools' MathOpt, filled from the arrays; squares become its quadratic objective.

    Without blocks it holds no names.
    """
    from ortools.math_opt import model_pb2
    from ortools.math_opt.python import mathopt

    linear, goal = program.linear, MultipliedOut.of(program)
    proto = model_pb2.ModelProto(name=name)
    columns, sums, objective = proto.variables, proto.linear_constraints, proto.objective
    columns.ids.extend(range(linear.number_of_variables))
    columns.lower_bounds.extend(linear.lower.tolist())
    columns.upper_bounds.extend(linear.upper.tolist())
    columns.integers.extend(linear.integrality.tolist())
    if variables:
        columns.names.extend(names_of(variables, "x", linear.number_of_variables))
    objective.maximize = linear.maximize
    if goal.rows.size:
        objective.quadratic_coefficients.row_ids.extend(goal.rows.tolist())
        objective.quadratic_coefficients.column_ids.extend(goal.columns.tolist())
        objective.quadratic_coefficients.coefficients.extend(goal.coefficients.tolist())
    objective.offset = goal.constant
    used = np.flatnonzero(goal.costs)
    objective.linear_coefficients.ids.extend(used.tolist())
    objective.linear_coefficients.values.extend(goal.costs[used].tolist())
    sums.ids.extend(range(linear.number_of_rows))
    sums.lower_bounds.extend(linear.row_lower.tolist())
    sums.upper_bounds.extend(linear.row_upper.tolist())
    if rows:
        sums.names.extend(names_of(rows, "r", linear.number_of_rows))
    owner = linear.row_of_entry()
    order = np.lexsort((linear.columns, owner))  # by row, then by column, as MathOpt demands
    matrix = proto.linear_constraint_matrix
    matrix.row_ids.extend(owner[order].tolist())
    matrix.column_ids.extend(linear.columns[order].tolist())
    matrix.coefficients.extend(linear.coefficients[order].tolist())
    return mathopt.Model.from_model_proto(proto)


def own_values(model: mathopt.Model, names: Sequence[str], limits: SolveLimits) -> OwnValues:
    """Solve a mixed-integer model in MathOpt's objects by SCIP, and return the values of these variables."""
    import ortools
    from ortools.math_opt.python import mathopt

    by_name = {variable.name: variable for variable in model.variables()}
    require_names(names, by_name)
    parameters = mathopt.SolveParameters(random_seed=limits.seed, relative_gap_tolerance=0.0)
    if limits.seconds is not None:
        parameters.time_limit = dt.timedelta(seconds=limits.seconds)
    answer = _solved(model, mathopt.SolverType.GSCIP, params=parameters)
    values = None
    if answer.has_primal_feasible_solution():
        values = np.array(answer.variable_values([by_name[name] for name in names]), dtype=np.float64)
    version = f"MathOpt of OR-Tools {vars(ortools).get('__version__', '')}"
    return OwnValues(values, verdict(answer, limits), _words(answer.termination), version)


def _listen(history: History, lines: list[str]) -> None:
    """Note bounds and objectives in lines of SCIP's and HiGHS's tables."""
    for line in lines:
        cells = line.split("|")
        if len(cells) >= 15:  # SCIP: ... | dualbound | primalbound | gap | compl.
            found = cells[-4], cells[-3]
        elif (match := _HIGHS_LINE.match(line)) is not None:
            found = match.group(1), match.group(2)
        else:
            continue
        bound, objective = (number_in(text) for text in found)
        history.note(objective=objective, bound=bound)
