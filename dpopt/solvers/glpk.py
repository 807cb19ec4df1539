"""GLPK's program `glpsol`, for linear and mixed-integer programs.

The program goes in as MPS text, the answer comes back as GLPK's plain solution file, which names the status of a linear
program's primal and dual solution, or of the mixed-integer one; bounds and incumbents over time are read in what glpsol
prints.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.mps import write_mps
from dpopt.programs.results import Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Capability, Program
from dpopt.solvers.process.adapter import (
    UNKNOWN_STATUS,
    History,
    Means,
    Verdict,
    mixed_integer,
    number_in,
    run_on_mps,
    status_table,
)

LINEAR: dict[str, Verdict] = {
    " ".join(pair): verdict
    for verdict, pairs in (
        (Means.OPTIMAL, "ff"),
        (Means.UNBOUNDED, "fn"),
        (Means.INFEASIBLE, "nf ni nn nu"),
        (Means.EITHER, "un"),
        (Means.TIME, "fi fu if ii in iu uf ui uu"),
    )
    for pair in pairs.split()
}
"""Status of the primal and of the dual solution, as in the solution file: feasible, infeasible, none exists, undefined."""

WHOLE = status_table((Means.OPTIMAL, "o"), (Means.TIME, "f u"), (Means.INFEASIBLE, "n"))
"""Status of the mixed-integer solution: optimal, feasible, none exists, undefined. `SAID` tells which LIMIT it was."""

SAID: dict[str, Verdict] = {
    "TIME LIMIT EXCEEDED; SEARCH TERMINATED": Means.TIME,
    "ITERATION LIMIT EXCEEDED; SEARCH TERMINATED": Means.WORK,
    "ITERATIONS LIMIT EXCEEDED; SEARCH TERMINATED": Means.WORK,
    "RELATIVE MIP GAP TOLERANCE REACHED; SEARCH TERMINATED": Means.GAP,
    "SEARCH TERMINATED BY APPLICATION": Means.INTERRUPTED,
    "PROBLEM HAS NO FEASIBLE SOLUTION": Means.INFEASIBLE,
    "PROBLEM HAS NO INTEGER FEASIBLE SOLUTION": Means.INFEASIBLE,
    "PROBLEM HAS NO PRIMAL FEASIBLE SOLUTION": Means.INFEASIBLE,
    "LP HAS NO PRIMAL FEASIBLE SOLUTION": Means.INFEASIBLE,
    "PROBLEM HAS NO DUAL FEASIBLE SOLUTION": Means.EITHER,
    "LP HAS NO DUAL FEASIBLE SOLUTION": Means.EITHER,
    "LP RELAXATION HAS NO DUAL FEASIBLE SOLUTION": Means.EITHER,
    "PROBLEM HAS UNBOUNDED SOLUTION": Means.UNBOUNDED,
    "LP HAS UNBOUNDED PRIMAL SOLUTION": Means.UNBOUNDED,
    "NO CONVERGENCE; SEARCH TERMINATED": Means.FAILED,
    "NUMERIC INSTABILITY; SEARCH TERMINATED": Means.FAILED,
    "PRIMAL SOLUTION IS INFEASIBLE": Means.FAILED,
    "PRIMAL SOLUTION IS WRONG": Means.FAILED,
    "DUAL SOLUTION IS INFEASIBLE": Means.FAILED,
    "DUAL SOLUTION IS WRONG": Means.FAILED,
}
"""Every line in capitals that GLPK prints of a solve without an optimum. The last one says why it is undefined."""

_PROGRESS = re.compile(r"^\+ *\d+: (?:mip =|>>>>>) +(not found yet|\S+) +>= +(\S+)", re.MULTILINE)
_DIGITS = 1e-9  # bounds are printed with ten digits
_VERSION = re.compile(r"^GLPSOL.*?(\d+\.\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Glpk:
    """The adapter.

    Time limits are whole seconds (rounded up; the child process is killed some seconds later in any case). Not
    honoured, since glpsol has no such options: work, an absolute gap, threads (it has one), seed (it draws nothing),
    hints.
    """

    name: str = "glpk"
    capabilities: frozenset[Capability] = frozenset({Capability.LP, Capability.MIP, Capability.DUALS})

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        """Solve a MixedIntegerProgram."""
        linear = mixed_integer(program, self.name)
        history, sign = History(), -1.0 if linear.maximize else 1.0

        def command(model: str, answer: str) -> list[str]:
            # The presolver of linear programs lets rows be broken by a thousandth of their size.
            presolve = [] if linear.integrality.any() else ["--nopresol"]
            time_limit = [] if limits.seconds is None else ["--tmlim", str(math.ceil(limits.seconds))]
            return ["glpsol", "--freemps", model, "--write", answer, *presolve, *time_limit]

        text, log = run_on_mps(
            self.name, partial(write_mps, linear), command, lambda line: _listen(history, line, sign)
        )
        return replace(self.read(linear, text, log), history=history.entries())

    def read(self, program: MixedIntegerProgram, text: str, log: str) -> SolveResult:
        """Read a solution file and the output of glpsol."""
        lines = text.splitlines()
        head = next((line.split() for line in lines if line.startswith("s ")), [])
        words = " ".join(head[4:-1])
        termination, limit = (WHOLE if head[1:2] == ["mip"] else LINEAR).get(words, UNKNOWN_STATUS)
        outcomes = [line for line in log.splitlines() if line in SAID]
        if termination is Termination.LIMIT:
            termination, limit = SAID[outcomes[-1]] if outcomes else UNKNOWN_STATUS
        if termination is Termination.UNBOUNDED and program.integrality.any():
            termination = Termination.INFEASIBLE_OR_UNBOUNDED  # said of the linear relaxation
        point = duals = None
        if words[:1] in {"o", "f"} and termination in {Termination.OPTIMAL, Termination.LIMIT}:
            point, duals = _values(program, lines)
        sign = -1.0 if program.maximize else 1.0
        bound = _bound(log) if termination is Termination.LIMIT else None
        objective = None if point is None else program.evaluate(point)
        if termination is Termination.OPTIMAL and objective is not None:
            bound = sign * objective
        version = _VERSION.search(log)
        last = log.strip()[-300:]
        return SolveResult(
            termination=termination,
            limit=limit,
            solution=point,
            objective=objective,
            bound=None if bound is None else sign * bound,
            solver=self.name,
            version=f"GLPK {version.group(1)}" if version else "",
            native_status="; ".join([words, *outcomes]) if head else f"no solution file: {last}",
            duals=None if duals is None else sign * duals,
        )


def _values(program: MixedIntegerProgram, lines: list[str]) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Read values of the columns and, of a linear program, duals of the rows: a line "i" for each row, "j" for each column.

    Integer variables come first. A line of a linear program holds status, value and dual, one of a mixed-integer
    program the value alone.
    """
    linear = not program.integrality.any()
    rows = [line.split() for line in lines if line.startswith("i ")]
    columns = [line.split() for line in lines if line.startswith("j ")]
    point = np.zeros(program.number_of_variables)
    point[np.argsort(~program.integrality, kind="stable")] = [float(fields[3 if linear else 2]) for fields in columns]
    if not linear:
        return point, None
    duals = np.zeros(program.number_of_rows)
    # A row without a side is a second objective in MPS, which GLPK leaves out.
    duals[np.isfinite(program.row_lower) | np.isfinite(program.row_upper)] = [float(fields[4]) for fields in rows]
    return point, duals


def _listen(history: History, line: str, sign: float) -> None:
    """Take value and bound from a line of progress; glpsol minimizes."""
    found = _PROGRESS.match(line)
    if found is not None:
        incumbent, bound = (number_in(text) for text in found.groups())
        history.note(
            objective=None if incumbent is None else sign * incumbent, bound=None if bound is None else sign * bound
        )


def _bound(log: str) -> float | None:
    """Return the last bound that glpsol printed, rounded outward, for the minimization that it was given."""
    found = _PROGRESS.findall(log)
    bound = number_in(found[-1][1]) if found else None
    return None if bound is None else bound - _DIGITS * abs(bound)
