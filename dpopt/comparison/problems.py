"""Problems on which solvers are compared: weighted clauses, or a model; each is solved and assessed in its own way."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from dpopt.algorithms.after.certify import proven_by
from dpopt.errors import DpoptError, ProgramError, SolverUnavailableError
from dpopt.models.best_responses.max_csp_as_mip import max_csp_as_mip
from dpopt.models.best_responses.relaxation_bound import relaxation_bound
from dpopt.models.model import CLOSED_FORM, Model
from dpopt.programs.certificate import certify, certify_point
from dpopt.programs.duality import linear_relaxation
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.results import NO_LIMITS, Point, SolveLimits, SolveResult
from dpopt.programs.solver import Availability, AvailabilityStatus, Capability, Program, why_refused
from dpopt.releases.solver_choice import formulation_named, solver_with_duals
from dpopt.solvers.local_search.search import code_1_of_attribute_0
from dpopt.solvers.outside import answer, tiny_clauses, tiny_problem, warm_up
from dpopt.solvers.registry import BREAKDOWNS

if TYPE_CHECKING:
    from dpopt.comparison.parts import Contestant

BOUND_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Assessed:
    """The value of an answer: exact, as bounded by its solver, and as found by dpopt."""

    value: float | None
    reported_bound: float | None
    """Objective, and the solver's word for a bound; None where there is none."""
    proven_bound: float | None = None
    """The bound that the duals of the answer prove."""
    violation: float | None = None
    """By how much the answer breaks a row at worst; None for records, which break none."""


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """Stands for the closed form of a model where a solver is expected; it runs in this process."""

    name: str = CLOSED_FORM
    capabilities: frozenset[Capability] = frozenset()

    def availability(self) -> Availability:
        """Say that it can run."""
        return Availability(AvailabilityStatus.AVAILABLE, "part of dpopt")

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        """Raise ProgramError: a closed form belongs to a model, and takes no other program."""
        raise ProgramError(f"{self.name} solves models only; give one with --model")


@dataclass(frozen=True, slots=True)
class _Weighted:
    """Weighted clauses: the answer is a record, and values are whole."""

    problem: MaxCsp
    maximize: bool = True
    whole: bool = True

    def size(self) -> Mapping[str, int]:
        return {"attributes": self.problem.number_of_attributes, "clauses": len(self.problem.clauses)}

    def handed(self) -> Problem:
        return _Weighted(copy.deepcopy(self.problem))

    def fingerprint(self) -> str:
        return self.problem.fingerprint()

    def why_refused(self, contestant: Contestant) -> str | None:
        return why_refused(contestant.solver(), self.problem)

    def warm_up(self, contestant: Contestant, limits: SolveLimits) -> None:
        """Solve a problem of two attributes by the solver itself: presolve would solve it without the solver.

        With a rule where the problem has some: kernels of rules are compiled apart.
        """
        tiny, formulation = tiny_clauses(), contestant.formulation
        if self.problem.rules.number_of_rules:
            tiny = replace(tiny, rules=code_1_of_attribute_0(2))
        program = tiny if formulation is None else max_csp_as_mip(tiny, formulation)
        warm_up(contestant.inner, program, limits)

    def solve(self, contestant: Contestant, limits: SolveLimits) -> SolveResult:
        return cast("SolveResult", answer(contestant.solver(), self.problem, limits))

    def assess(self, result: SolveResult) -> Assessed:
        certificate = certify(self.problem, result)
        return Assessed(certificate.objective, certificate.reported_bound)

    def bound(self, limits: SolveLimits) -> tuple[float | None, str]:
        bound, seconds = self.problem.upper_bound(), SolveLimits(seconds=BOUND_SECONDS, threads=limits.threads)
        try:
            relaxed = relaxation_bound(self.problem, solver_with_duals(None), formulation_named(None), seconds)
        except (SolverUnavailableError, *BREAKDOWNS) as error:  # linear programs may go to a solver from outside
            return bound, f"sum of the positive weights ({type(error).__name__}: {error})"
        bound = bound if relaxed.bound is None else min(bound, math.floor(relaxed.bound))
        return (
            bound,
            f"{proven_by(relaxed, bound, self.problem)}; 'dpopt certify' tries a tighter relaxation for rounds",
        )


@dataclass(frozen=True, slots=True)
class _Posed:
    """A model: the answer is a point, with its exact objective."""

    model: Model
    whole: bool = False

    @property
    def maximize(self) -> bool:
        return self.model.linear.maximize

    def size(self) -> Mapping[str, int]:
        linear = self.model.linear
        return {"variables": linear.number_of_variables, "rows": linear.number_of_rows}

    def handed(self) -> Problem:
        return _Posed(copy.deepcopy(self.model))

    def fingerprint(self) -> str:
        return self.model.program.fingerprint()

    def why_refused(self, contestant: Contestant) -> str | None:
        if isinstance(contestant.inner, ClosedForm):
            return (
                None if self.model.closed_form is not None else "the model has no closed form and no method of its own"
            )
        return why_refused(contestant.inner, self.model.program)

    def warm_up(self, contestant: Contestant, limits: SolveLimits) -> None:
        """Solve a program of one variable, so that nothing is compiled later; a closed form solves the model itself."""
        if isinstance(contestant.inner, ClosedForm):
            self.model.solve(contestant.label)
            return
        kinds = (Capability.LP, Capability.CONVEX_QP, Capability.CONES)
        takes = next((kind for kind in kinds if kind in contestant.inner.capabilities), Capability.MIP)
        warm_up(contestant.inner, tiny_problem(takes)[0], limits)

    def solve(self, contestant: Contestant, limits: SolveLimits) -> SolveResult:
        own = isinstance(contestant.inner, ClosedForm)
        solver = contestant.label if own else contestant.inner
        solution = self.model.solve(solver, limits=limits)
        return replace(solution.result, termination=solution.termination, limit=solution.limit)

    def assess(self, result: SolveResult) -> Assessed:
        certificate = certify_point(self.model.program, result)
        proven = certificate.proven_bound
        return Assessed(
            float(certificate.objective),
            certificate.reported_bound,
            None if proven is None else float(proven),
            max(certificate.primal_violation, certificate.integrality_violation),
        )

    def bound(self, limits: SolveLimits) -> tuple[float | None, str]:
        """Return the bound from the duals of the model, or of its linear relaxation, by the default solver."""
        model, of = self.model, ""
        if isinstance(model.program, MixedIntegerProgram) and model.linear.integrality.any():
            model = replace(model, program=linear_relaxation(model.program), closed_form=None)
            of = ", linear relaxation"
        try:
            found = model.solve(limits=SolveLimits(seconds=BOUND_SECONDS, threads=limits.threads))
        except DpoptError as error:
            return None, f"no bound: {error}"
        certificate = found.certificate
        if certificate is None or certificate.proven_bound is None:
            return None, f"no bound: {found.result.solver} gave no duals that prove one"
        return float(certificate.proven_bound), f"weak duality{of}, multipliers of {found.result.solver}"


Problem = _Weighted | _Posed  # handed out as a copy, which solvers may write to


def posed(problem: MaxCsp | Model) -> Problem:
    """Return a problem as a comparison needs it."""
    return _Weighted(problem) if isinstance(problem, MaxCsp) else _Posed(problem)
