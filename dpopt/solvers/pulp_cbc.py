"""CBC, as PuLP bundles it, for linear and mixed-integer programs.

The program becomes a `pulp.LpProblem`, which PuLP writes to a file, and CBC is called on the file. PuLP's reading of
the outcome is not used, since PuLP's `status` says "Optimal" for a run that the time limit stopped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.mps import write_mps
from dpopt.programs.results import Limit, Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Capability, Program
from dpopt.solvers.process.adapter import (
    UNKNOWN_STATUS,
    History,
    Means,
    Verdict,
    is_incumbent,
    mixed_integer,
    run_on_mps,
)
from dpopt.solvers.pulp_other import pulp_problem

STATUS: dict[str, Verdict] = {
    "Optimal": Means.OPTIMAL,
    "Optimal (within gap tolerance)": Means.GAP,
    "Infeasible": Means.INFEASIBLE,
    "Integer infeasible": Means.INFEASIBLE,
    "Unbounded": Means.UNBOUNDED,
    "Stopped on time": Means.TIME,
    "Stopped on iterations": Means.WORK,  # nodes are reported so too
    "Stopped on difficulties": Means.IMPRECISE,
    "Stopped on ctrl-c": Means.INTERRUPTED,
}
"""Every first line of a solution file, up to " - objective value"."""

NO_INTEGER_SOLUTION = " (no integer solution - continuous used)"
"""Marks a solution file that holds the linear relaxation's point."""

LARGEST_IN_OBJECTS = 100_000
"""Coefficients of a program that goes through PuLP's objects. PuLP takes 6 to 8 microseconds for each to build and to
write them, whichever of its ways is taken; from the arrays it is half of one. A best response of 100,000 clauses (400,000 to
1,300,000 coefficients) would start 3 to 10 s later, of the 20 s that a solver has in `dpopt compare`; the size here costs
.7 s. Measured by `python -m experiments.benchmarks building`."""

_BOUND = re.compile(r"^Lower bound:\s+(\S+)", re.MULTILINE)
_INCUMBENT = re.compile(r"Integer solution of (\S+) found")
_BOTH = re.compile(r"(\S+) (?:best solution, |\()best possible ([^\s)]+)")
_HALF_DIGIT = 0.0005  # the bound is printed with three decimals
_VERSION = re.compile(r"^Version:\s+(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PulpCbc:
    """The adapter. `limits.work` counts nodes."""

    name: str = "cbc"
    capabilities: frozenset[Capability] = frozenset(
        {Capability.LP, Capability.MIP, Capability.WARM_START, Capability.DETERMINISTIC_LIMIT}
    )

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        """Solve a MixedIntegerProgram."""
        linear = mixed_integer(program, self.name)
        history, sign = History(beyond=1e50), -1.0 if linear.maximize else 1.0

        def command(model: str, answer: str) -> list[str]:
            start = [] if hint is None else ["-mipstart", _start_beside(Path(model), hint)]
            return [cbc_program(), model, *start, *_options(limits), "-branch", "-solution", answer]

        text, log = run_on_mps(
            self.name, lambda path: _write(linear, path), command, lambda line: _listen(history, line, sign)
        )
        found = replace(self.read(linear, text, log), history=history.entries())
        if found.limit is Limit.WORK and not (limits.work and linear.integrality.any()):
            found = replace(found, limit=Limit.TIME)  # linear programs end "on iterations" when time is over
        return found if hint is None else _not_behind(linear, found, hint)

    def read(self, program: MixedIntegerProgram, text: str, log: str) -> SolveResult:
        """Read a solution file and the output of CBC."""
        head = text.partition("\n")[0]
        status = head.partition(" - objective value")[0]
        native = status.removesuffix(NO_INTEGER_SOLUTION)
        termination, limit = STATUS.get(native, UNKNOWN_STATUS)
        sign = -1.0 if program.maximize else 1.0
        point = None
        if termination in {Termination.OPTIMAL, Termination.LIMIT} and native == status:
            point = _point(program, text)
        bound = _bound(log)
        if termination is Termination.OPTIMAL and point is not None:
            bound = sign * program.evaluate(point)
        version = _VERSION.search(log)
        return SolveResult(
            termination=termination,
            limit=limit,
            solution=point,
            objective=None if point is None else program.evaluate(point),
            bound=None if bound is None else sign * bound,
            solver=self.name,
            version=f"CBC {version.group(1)}" if version else "",
            native_status=status or f"no solution file; CBC's last words: {log[-300:].strip()}",
        )


def cbc_program() -> str:
    """Return the path of the CBC that PuLP bundles."""
    import pulp

    return str(pulp.PULP_CBC_CMD.pulp_cbc_path)


def _write(program: MixedIntegerProgram, path: Path) -> None:
    """Write the program as a minimization, its variables named x0, x1, ..."""
    import pulp

    if program.coefficients.size > LARGEST_IN_OBJECTS:
        write_mps(program, path)
    else:
        pulp_problem(program)[0].writeMPS(str(path), mpsSense=pulp.LpMinimize)


def _start_beside(model: Path, hint: Point) -> str:
    """Write a starting point in the form of a solution file, next to the program; return its path."""
    path = model.with_name("start.txt")
    lines = [f"{number} x{number} {value!r} 0" for number, value in enumerate(hint.tolist())]
    path.write_text("\n".join(["Stopped on time - objective value 0", *lines, ""]), encoding="ascii")
    return str(path)


def _not_behind(program: MixedIntegerProgram, found: SolveResult, hint: Point) -> SolveResult:
    """Return the start itself where the limit came before CBC looked at it, which it does after preprocessing."""
    start = np.asarray(hint, dtype=np.float64)
    if found.termination is not Termination.LIMIT or not is_incumbent(program, start):
        return found
    value, sense = program.evaluate(start), 1.0 if program.maximize else -1.0
    if found.objective is not None and sense * (found.objective - value) >= 0:
        return found
    return replace(found, solution=start, objective=value)


def _options(limits: SolveLimits) -> list[str]:
    options = ["-threads", str(limits.threads), "-timeMode", "elapsed", "-ratio", "0"]
    options += ["-randomSeed", str(limits.seed), "-randomCbcSeed", str(limits.seed)]
    if limits.seconds is not None:
        options += ["-sec", str(limits.seconds)]
    if limits.work is not None:
        options += ["-maxNodes", str(limits.work)]
    if limits.gap is not None:
        options += ["-allow", str(limits.gap)]
    return options


def _listen(history: History, line: str, sign: float) -> None:
    """Note an incumbent, or incumbent and bound, in a line of CBC's log (which minimizes)."""
    if (found := _INCUMBENT.search(line)) is not None:
        history.note(objective=sign * float(found.group(1)))
    elif (found := _BOTH.search(line)) is not None:
        history.note(objective=sign * float(found.group(1)), bound=sign * float(found.group(2)))


def _point(program: MixedIntegerProgram, text: str) -> NDArray[np.float64]:
    """Read the values of a solution file: number, name, value, reduced cost; zeros are left out."""
    point = np.zeros(program.number_of_variables)
    for line in text.splitlines()[1:]:
        fields = line.removeprefix("**").split()  # ** marks an infeasible value; the point is verified later
        point[int(fields[1].removeprefix("x"))] = float(fields[2])
    return point


def _bound(log: str) -> float | None:
    """Return the bound that CBC reports when it stops early, for the minimization that it was given."""
    found = _BOUND.findall(log)
    if not found:
        return None
    bound = float(found[-1]) - _HALF_DIGIT
    return bound if abs(bound) < 1e50 else None
