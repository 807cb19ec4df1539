"""A bound on a MaxCsp from a linear program whose optimum exceeds its own, proven outside the solver.

Problem: bound max_x sum_j w_j [clause j is true of x] from above. A linear program of which every record is a feasible
point with the same objective is solved for its duals: the relaxation of a mixed-integer program, or the pairwise lifting,
tighter than any rows. Weak duality in exact arithmetic (`dual_bound`) turns the duals into a bound whatever they are.
Reducing the problem first changes no optimum (`reduce_max_csp`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpopt.errors import DpoptError
from dpopt.models.best_responses.max_csp_as_mip import max_csp_as_mip
from dpopt.models.best_responses.pairwise_lifting import pairwise_lifting
from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.programs.duality import dual_bound, linear_relaxation
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.reduction import reduce_max_csp
from dpopt.programs.results import NO_LIMITS, SolveLimits
from dpopt.programs.solver import Solver


@dataclass(frozen=True, slots=True)
class RelaxationBound:
    """What a linear relaxation proves.

    Attributes
    ----------
    bound : Fraction or None
        Upper bound on the objective of every record that obeys the rules; None where nothing came of it.
    why_none : str or None
        Why there is no bound; None if and only if there is one.
    solver : str
        Who gave the multipliers; nothing rests on its word.
    relaxation : str
        Which linear program it was.
    seconds : float
        Wall-clock seconds of the linear program.
    """

    bound: Fraction | None
    why_none: str | None
    solver: str
    relaxation: str
    seconds: float = 0.0


def relaxation_bound(
    program: MaxCsp, solver: Solver, formulation: Formulation | None, limits: SolveLimits = NO_LIMITS
) -> RelaxationBound:
    """Return the bound that a linear program proves.

    Parameters
    ----------
    program
        The problem.
    solver
        Takes linear programs and gives duals (`Capability.LP`, `Capability.DUALS`). It is not trusted.
    formulation
        Whose relaxation to solve; None: the pairwise lifting, which is tighter and many times larger.
    limits
        Limits of the linear program.
    """
    relaxation = "pairwise lifting" if formulation is None else f"{formulation.value} relaxation"
    reduction = reduce_max_csp(program)
    if (
        reduction.problem.sizes.size == 0
    ):  # no clause and no rule has a literal: every record is worth the same
        value = Fraction(program.objective(reduction.background))
        return RelaxationBound(value, None, "inspection", relaxation)
    try:
        relaxed = _linear_program(reduction.problem, formulation)
        result = solver.solve(relaxed, limits)
    except DpoptError as error:
        return RelaxationBound(None, str(error), solver.name, relaxation)
    who = f"{result.solver} {result.version}".strip()
    if result.duals is None or result.duals.shape != relaxed.row_lower.shape:
        why = f"{result.solver} ended '{result.termination.value}' without duals"
        return RelaxationBound(None, why, who, relaxation, result.seconds)
    bound = dual_bound(relaxed, result.duals)
    why_none = "the multipliers push a variable without a bound" if bound is None else None
    return RelaxationBound(bound, why_none, who, relaxation, result.seconds)


def _linear_program(problem: MaxCsp, formulation: Formulation | None) -> MixedIntegerProgram:
    if formulation is None:
        return pairwise_lifting(problem)
    return linear_relaxation(max_csp_as_mip(problem, formulation))
