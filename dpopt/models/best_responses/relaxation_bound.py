"""A bound on a MaxCsp from a linear program whose optimum exceeds its own, proven outside the solver.

Problem: bound max_x sum_j w_j [clause j is true of x] from above. A linear program of which every record is a feasible
point with the same objective is solved for its duals: the relaxation of a mixed-integer program, or the pairwise
lifting, tighter than any rows. Weak duality in exact arithmetic (`dual_bound`) turns the duals into a bound whatever
they are. Reducing the problem first changes no optimum (`reduce_max_csp`).

Rows that tie three tables of the pairwise lifting together: chosen where a point violates them.

Page: models/best_response_pairwise_bound (PB-11, PB-12). For codes i, j, k of three attributes, every two with a cell y
in their table:

    x_i - y_ij - y_ik + y_jk >= 0                                PB-11, for each of the three as i
    1 - x_i - x_j - x_k + y_ij + y_ik + y_jk >= 0                PB-12

For a record, the left side of PB-11 is  x_i (1 - x_j) (1 - x_k) + (1 - x_i) x_j x_k, that of PB-12 is  (1 - x_i) (1 - x_j)
(1 - x_k) + x_i x_j x_k: neither is negative. So every choice of rows leaves the bound valid, and the point is not trusted.

Source: Padberg (1989), the triangle inequalities of the Boolean quadric polytope.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import DpoptError
from dpopt.models.best_responses.max_csp_as_mip import max_csp_as_mip
from dpopt.models.best_responses.pairwise_lifting import Lifting, PairTables, lifting
from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.programs.building import Numbers, RowBlock, table_block
from dpopt.programs.duality import dual_bound, linear_relaxation
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.reduction import reduce_max_csp
from dpopt.programs.results import NO_LIMITS, SolveLimits
from dpopt.programs.solver import Solver

MOST = 8_000
"""Rows that are added at once, those that the point violates most: some thousands are all that first rounds of KDD Cup have."""

LEAST_VIOLATION = 0.01

_SIDES = np.array(  # x_i, x_j, x_k, y_ij, y_ik, y_jk
    [[1, 0, 0, -1, -1, 1], [0, 1, 0, -1, 1, -1], [0, 0, 1, 1, -1, -1], [-1, -1, -1, 1, 1, 1]], dtype=np.float64
)
_LOWER = np.array([0.0, 0.0, 0.0, -1.0])


def violated_triangles(tables: PairTables, point: Numbers) -> RowBlock:
    """Return the `MOST` rows of PB-11 and PB-12 that a point (n,) violates most, at most one of each three codes."""
    from scipy.sparse import coo_array

    size = tables.columns
    _, cell, left, right = tables.lines()
    one, other = tables.left[left] % size, tables.right[right] % size
    both = (np.concatenate((one, other)), np.concatenate((other, one)))
    cells = coo_array((np.concatenate((cell, cell)), both), shape=(size, size)).tocsr()
    found, kinds, violations = [np.zeros((0, 6), dtype=np.int64)], [_NONE.astype(np.int64)], [_NONE]
    for first in range(size):
        span = slice(*cells.indptr[first : first + 2])
        later = cells.indices[span] > first
        near, to_near = cells.indices[span][later], cells.data[span][later]
        between = cells[near][:, near].toarray()
        j, k = np.nonzero(np.triu(between))
        codes = np.column_stack((np.full(j.size, first), near[j], near[k]))
        columns = np.column_stack((codes, to_near[j], to_near[k], between[j, k])).astype(np.int64)
        slack = point[columns] @ _SIDES.T - _LOWER
        kind = np.argmin(slack, axis=1)
        violation = -slack[np.arange(kind.size), kind]
        chosen = violation > LEAST_VIOLATION
        found.append(columns[chosen])
        kinds.append(kind[chosen])
        violations.append(violation[chosen])
    worst = np.argsort(-np.concatenate(violations), kind="stable")[:MOST]
    kind = np.concatenate(kinds)[worst]
    return table_block(np.concatenate(found)[worst], _SIDES[kind], _LOWER[kind], np.full(kind.size, np.inf))


_NONE = np.zeros(0)


@dataclass(frozen=True, slots=True)
class RelaxationBound:
    """The bound that a linear relaxation proves."""

    bound: Fraction | None
    """Upper bound on the objective of every record that obeys the rules; None where nothing came of it."""
    why_none: str | None
    """Why there is no bound; None if and only if there is one."""
    solver: str
    """Who gave the multipliers; nothing rests on its word."""
    relaxation: str
    """Which linear program it was."""
    seconds: float = 0.0
    """Wall-clock seconds of the linear programs."""


TRIANGLE_ROUNDS = 2
"""How often rows of triangles are added to the pairwise lifting; a third time gains less than a hundredth of the value."""


def relaxation_bound(
    program: MaxCsp,
    solver: Solver,
    formulation: Formulation | None,
    limits: SolveLimits = NO_LIMITS,
    *,
    enough: int | None = None,
) -> RelaxationBound:
    """Return the bound that a linear program proves.

    The solver takes linear programs and gives duals; it is not trusted. None as formulation stands for the pairwise
    lifting, which is tighter and many times larger, then with triangles. The limits are of all linear programs
    together, of which no further one is solved once the bound, rounded down, is at most `enough`.
    """
    relaxation = "pairwise lifting" if formulation is None else f"{formulation.value} relaxation"
    reduction = reduce_max_csp(program)
    if reduction.problem.sizes.size == 0:  # no clause and no rule has a literal: every record is worth the same
        value = Fraction(program.objective(reduction.background))
        return RelaxationBound(value, None, "inspection", relaxation)
    try:
        if formulation is not None:
            relaxed = linear_relaxation(max_csp_as_mip(reduction.problem, formulation))
            return _proven(relaxed, solver, limits, relaxation)[0]
        return _with_triangles(lifting(reduction.problem), solver, limits, relaxation, enough)
    except DpoptError as error:
        return RelaxationBound(None, str(error), solver.name, relaxation)


def _with_triangles(
    lifted: Lifting, solver: Solver, limits: SolveLimits, relaxation: str, enough: int | None
) -> RelaxationBound:
    """Return the least bound of the lifting and of the lifting with triangles, as far as time allows."""
    started = time.perf_counter()
    best, point = _proven(lifted.program(), solver, limits, relaxation)
    for _ in range(TRIANGLE_ROUNDS):
        left = None if limits.seconds is None else limits.seconds - (time.perf_counter() - started)
        done = best.bound is None or (enough is not None and best.bound < enough + 1)
        if done or point is None or (left is not None and left <= 0):
            break
        lifted.blocks.append(violated_triangles(lifted.tables, point))
        if not lifted.blocks[-1].number_of_rows:
            break
        within = replace(limits, seconds=left)
        tighter, point = _proven(lifted.program(), solver, within, f"{relaxation} with triangles")
        if tighter.bound is not None and best.bound is not None and tighter.bound < best.bound:
            best = tighter
    return replace(best, seconds=time.perf_counter() - started)


def _proven(
    relaxed: MixedIntegerProgram, solver: Solver, limits: SolveLimits, relaxation: str
) -> tuple[RelaxationBound, NDArray[np.float64] | None]:
    """Return the bound that the duals of a linear program prove, and the solver's point if it has one."""
    from dpopt.solvers.outside import solver_result

    result = solver_result(solver, relaxed, limits)
    who = f"{result.solver} {result.version}".strip()
    if result.duals is None or result.duals.shape != relaxed.row_lower.shape:
        why = f"{result.solver} ended '{result.termination.value}' without duals"
        return RelaxationBound(None, why, who, relaxation, result.seconds), None
    bound = dual_bound(relaxed, result.duals)
    why_none = "the multipliers push a variable without a bound" if bound is None else None
    point = None if result.solution is None else np.asarray(result.solution, dtype=np.float64)
    return RelaxationBound(bound, why_none, who, relaxation, result.seconds), point
