"""A formulation of one's own: a function changes a round's model in the objects of PuLP, CVXPY, CP-SAT or MathOpt.

Problem: maximize sum_j w_j [clause j is true of x] over records x that obey the rules (a `MaxCsp`), and whatever rows the
function adds. It gets the round as a `Model` of models/best_response, x named by attributes and values; what it returns
is solved by its library, in this process, and the record is read off the variables x by their names. The record is
evaluated exactly outside, as every solver's is. No bound is passed on: with further rows the library's bound is one of
another problem.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, cast

from dpopt.errors import DpoptError, PlanError, ProgramError
from dpopt.models.best_responses.best_response import best_response
from dpopt.models.best_responses.max_csp_as_mip import record_from_point
from dpopt.models.model import Model
from dpopt.programs.max_csp import MaxCsp, require_max_csp
from dpopt.programs.results import NO_LIMITS, Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Availability, AvailabilityStatus, Capability, Program
from dpopt.programs.verification import verified
from dpopt.schema.schema import Schema

if TYPE_CHECKING:  # a replay loads no solver
    from dpopt.solvers.process.adapter import OwnValues

PREFIX = "formulation"  # of the name in a plan, "formulation:mine"
Build = Callable[[Model], object]  # gets the model of a round, returns it in the objects of a library


@dataclass(frozen=True, slots=True, eq=False)
class OwnFormulation:
    """A `Solver` of MaxCsp: a user's function writes the model, and its library solves it."""

    outside: ClassVar[bool] = True  # it runs code that is no part of dpopt
    build: Build
    label: str
    titles: Sequence[Sequence[str]] | None = None
    """A text for each code of each attribute, such as "age=30"; numbers if left out."""
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.MAX_CSP, Capability.RULES, Capability.PRESOLVES}
    )
    """It gets the problem as it is drawn: presolve could remove variables that a user's rows need."""

    @classmethod
    def of(cls, build: Build) -> OwnFormulation:
        """Return the solver that a function makes, named after it."""
        return cls(build, str(getattr(build, "__name__", type(build).__name__)))

    @property
    def name(self) -> str:
        """Name in a plan."""
        return f"{PREFIX}:{self.label}"

    def availability(self) -> Availability:
        """Say that it can run; a library that is missing shows when a round is solved."""
        return Availability(AvailabilityStatus.AVAILABLE, "a formulation of one's own")

    def for_schema(self, schema: Schema) -> OwnFormulation:
        """Return the same with variables named by a schema."""
        return replace(self, titles=code_titles(schema))

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        """Solve a MaxCsp; see `dpopt.programs.solver.Solver`. Hints are not passed on."""
        program = require_max_csp(program, self.name)
        started = time.perf_counter()
        model = best_response(program, names=self.titles)
        found = own_values(self.build(model), model.variables["x"].names(), limits)
        termination, limit = found.verdict
        record = None
        if found.values is not None and termination in {Termination.OPTIMAL, Termination.LIMIT}:
            record = record_from_point(program, found.values)
        elif termination is Termination.OPTIMAL:
            termination, limit = Termination.FAILED, None
        result = SolveResult(
            termination=termination,
            limit=limit,
            solution=record,
            objective=None if record is None else 0.0,  # evaluated next
            solver=self.name,
            version=found.version,
            native_status=found.words,
            seconds=time.perf_counter() - started,
        )
        return verified(program, result)


def code_titles(schema: Schema) -> list[list[str]]:
    """Return the text between the brackets of x for each code of each attribute: "age=30"."""
    return [
        [f"{attribute.name}={attribute.label(code)}" for code in range(attribute.size)]
        for attribute in schema.attributes
    ]


_LIBRARIES = {
    "pulp": "dpopt.solvers.pulp_other:own_values",
    "cvxpy": "dpopt.solvers.cvxpy_convex:own_values",
    "ortools.sat": "dpopt.solvers.cp_sat:own_values",
    "ortools.math_opt": "dpopt.solvers.math_opt:own_values",
}
"""Functions that solve a model and return the values of variables, by the beginning of its class's module."""


def own_values(native: object, names: Sequence[str], limits: SolveLimits) -> OwnValues:
    """Solve a model by the library in whose objects it is, and return the values of the variables x, by name."""
    from dpopt.solvers.registry import load

    path = next((path for library, path in _LIBRARIES.items() if type(native).__module__.startswith(library)), None)
    if path is None:
        raise ProgramError(
            f"the formulation returned a {type(native).__name__}; expected a model of PuLP, CVXPY, CP-SAT or MathOpt, such "
            "as model.to_pulp() with further rows"
        )
    solve = cast("Callable[[object, Sequence[str], SolveLimits], OwnValues]", load(path))
    return solve(native, names, limits)


def require_answer(formulation: OwnFormulation, problem: MaxCsp, limits: SolveLimits) -> None:
    """Try a formulation on a public problem; PlanError where it gives no record."""
    from dpopt.solvers.outside import solver_result

    try:
        result = solver_result(formulation, problem, limits)
        why = (
            f"it ended {result.termination.value!r} ({result.native_status:.200})" if result.solution is None else None
        )
    except DpoptError as error:
        why = str(error)
    if why is not None:
        raise PlanError(
            f"{formulation.name} was tried on a round of one query, and gave no record: {why}. Nothing was spent"
        )
