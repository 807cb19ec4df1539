"""GLPK's program `glpsol`, for linear and mixed-integer programs.

The program goes in as MPS text, the answer comes back as GLPK's plain solution file, which names the status of a linear
program's primal and dual solution, or of the mixed-integer one; bounds and incumbents over time are read in what
glpsol prints.
"""

from __future__ import annotations

import math
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.limits import SolveLimits
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.mps import write_mps
from dpopt.programs.results import Limit, Point, SolveResult, Termination
from dpopt.programs.solver import Capability, Program
from dpopt.solvers.process.adapter import UNKNOWN_STATUS, History, Verdict
from dpopt.solvers.process.external_program import run

LINEAR: dict[str, Verdict] = {
    "f f": (Termination.OPTIMAL, None),
    "f n": (Termination.UNBOUNDED, None),
    "n f": (Termination.INFEASIBLE, None),
    "n i": (Termination.INFEASIBLE, None),
    "n n": (Termination.INFEASIBLE, None),
    "n u": (Termination.INFEASIBLE, None),
    "f i": (Termination.LIMIT, Limit.TIME),
    "f u": (Termination.LIMIT, Limit.TIME),
    "i f": (Termination.LIMIT, Limit.TIME),
    "i i": (Termination.LIMIT, Limit.TIME),
    "i n": (Termination.LIMIT, Limit.TIME),
    "i u": (Termination.LIMIT, Limit.TIME),
    "u f": (Termination.LIMIT, Limit.TIME),
    "u i": (Termination.LIMIT, Limit.TIME),
    "u n": (Termination.INFEASIBLE_OR_UNBOUNDED, None),
    "u u": (Termination.LIMIT, Limit.TIME),
}
"""Status of the primal and of the dual solution, as in the solution file: feasible, infeasible, none exists, undefined."""

WHOLE: dict[str, Verdict] = {
    "o": (Termination.OPTIMAL, None),
    "f": (Termination.LIMIT, Limit.TIME),
    "n": (Termination.INFEASIBLE, None),
    "u": (Termination.LIMIT, Limit.TIME),
}
"""Status of the mixed-integer solution: optimal, feasible, none exists, undefined. LIMIT is made precise by `SAID`."""

SAID: dict[str, Verdict] = {
    "TIME LIMIT EXCEEDED; SEARCH TERMINATED": (Termination.LIMIT, Limit.TIME),
    "ITERATION LIMIT EXCEEDED; SEARCH TERMINATED": (Termination.LIMIT, Limit.WORK),
    "ITERATIONS LIMIT EXCEEDED; SEARCH TERMINATED": (Termination.LIMIT, Limit.WORK),
    "RELATIVE MIP GAP TOLERANCE REACHED; SEARCH TERMINATED": (Termination.LIMIT, Limit.GAP),
    "SEARCH TERMINATED BY APPLICATION": (Termination.LIMIT, Limit.INTERRUPTED),
    "PROBLEM HAS NO FEASIBLE SOLUTION": (Termination.INFEASIBLE, None),
    "PROBLEM HAS NO INTEGER FEASIBLE SOLUTION": (Termination.INFEASIBLE, None),
    "PROBLEM HAS NO PRIMAL FEASIBLE SOLUTION": (Termination.INFEASIBLE, None),
    "LP HAS NO PRIMAL FEASIBLE SOLUTION": (Termination.INFEASIBLE, None),
    "PROBLEM HAS NO DUAL FEASIBLE SOLUTION": (Termination.INFEASIBLE_OR_UNBOUNDED, None),
    "LP HAS NO DUAL FEASIBLE SOLUTION": (Termination.INFEASIBLE_OR_UNBOUNDED, None),
    "LP RELAXATION HAS NO DUAL FEASIBLE SOLUTION": (Termination.INFEASIBLE_OR_UNBOUNDED, None),
    "PROBLEM HAS UNBOUNDED SOLUTION": (Termination.UNBOUNDED, None),
    "LP HAS UNBOUNDED PRIMAL SOLUTION": (Termination.UNBOUNDED, None),
    "NO CONVERGENCE; SEARCH TERMINATED": (Termination.FAILED, None),
    "NUMERIC INSTABILITY; SEARCH TERMINATED": (Termination.FAILED, None),
    "PRIMAL SOLUTION IS INFEASIBLE": (Termination.FAILED, None),
    "PRIMAL SOLUTION IS WRONG": (Termination.FAILED, None),
    "DUAL SOLUTION IS INFEASIBLE": (Termination.FAILED, None),
    "DUAL SOLUTION IS WRONG": (Termination.FAILED, None),
}
"""Every line in capitals that GLPK prints of a solve that found no optimum. The last one says why a solution is undefined."""

_PROGRESS = re.compile(r"^\+ *\d+: (?:mip =|>>>>>) +(not found yet|\S+) +>= +(\S+)", re.MULTILINE)
_DIGITS = 1e-9  # bounds are printed with ten digits
_VERSION = re.compile(r"^GLPSOL.*?(\d+\.\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Glpk:
    """The adapter.

    Time limits are whole seconds (rounded up; the child process is killed some seconds later in any case). Not
    honoured, since glpsol has no such options: work, an absolute gap, threads (it has one), seed (it draws nothing), hints.
    """

    name: str = "glpk"
    capabilities: frozenset[Capability] = frozenset({Capability.LP, Capability.MIP, Capability.DUALS})

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        """Solve a MixedIntegerProgram."""
        if not isinstance(program, MixedIntegerProgram):
            raise ProgramError("glpk takes a MixedIntegerProgram")
        sign = -1.0 if program.maximize else 1.0
        history = History()
        with tempfile.TemporaryDirectory(prefix="glpk-") as folder:
            model, answer = Path(folder) / "model.mps", Path(folder) / "answer.txt"
            write_mps(program, model)
            command = ["glpsol", "--freemps", str(model), "--write", str(answer)]
            if not program.integrality.any():
                # The presolver of linear programs lets rows be broken by a thousandth of their size.
                command.append("--nopresol")
            if limits.seconds is not None:
                command += ["--tmlim", str(math.ceil(limits.seconds))]
            log = run(command, lambda line: _listen(history, line, sign))
            text = answer.read_text(encoding="ascii") if answer.exists() else ""
        return replace(self.read(program, text, log), history=history.entries())

    def read(self, program: MixedIntegerProgram, text: str, log: str) -> SolveResult:
        """Read a solution file and what glpsol printed."""
        lines = text.splitlines()
        head = next((line.split() for line in lines if line.startswith("s ")), [])
        words = " ".join(head[4:-1])
        termination, limit = (WHOLE if head[1:2] == ["mip"] else LINEAR).get(words, UNKNOWN_STATUS)
        said = [line for line in log.splitlines() if line in SAID]
        if termination is Termination.LIMIT:
            termination, limit = SAID[said[-1]] if said else UNKNOWN_STATUS
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
            native_status="; ".join([words, *said]) if head else f"no solution file: {last}",
            seconds=0.0,
            duals=None if duals is None else sign * duals,
        )


def _values(
    program: MixedIntegerProgram, lines: list[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Read values of the columns and, of a linear program, duals of the rows: a line "i" for each row, "j" for each column.

    A line of a linear program holds status, value and dual; one of a mixed-integer program the value alone.
    """
    linear = not program.integrality.any()
    rows = [line.split() for line in lines if line.startswith("i ")]
    columns = [line.split() for line in lines if line.startswith("j ")]
    order = _column_order(program)
    point = np.zeros(program.number_of_variables)
    point[order] = [float(fields[3 if linear else 2]) for fields in columns]
    if not linear:
        return point, None
    duals = np.zeros(program.number_of_rows)
    # A row without a side is a second objective in MPS, which GLPK leaves out.
    duals[np.isfinite(program.row_lower) | np.isfinite(program.row_upper)] = [
        float(fields[4]) for fields in rows
    ]
    return point, duals


def _column_order(program: MixedIntegerProgram) -> NDArray[np.int64]:
    """Return the variable of each column of the file: integer variables come first there."""
    return np.argsort(~program.integrality, kind="stable").astype(np.int64)


def _listen(history: History, line: str, sign: float) -> None:
    """Note what a line of progress says; glpsol minimizes."""
    found = _PROGRESS.match(line)
    if found is not None:
        incumbent, bound = (_number(text) for text in found.groups())
        history.note(
            objective=None if incumbent is None else sign * incumbent,
            bound=None if bound is None else sign * bound,
        )


def _bound(log: str) -> float | None:
    """Return the last bound that glpsol printed, rounded outward, for the minimization that it was given."""
    found = _PROGRESS.findall(log)
    bound = _number(found[-1][1]) if found else None
    return None if bound is None else bound - _DIGITS * abs(bound)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None  # "not", "tree": nothing found yet, nothing left
    return value if math.isfinite(value) else None
