"""Best approximations, and least degrees, each with a proof in exact arithmetic.

(i) For a degree t: the polynomial with the least largest error on 0..k (`best_polynomial`). (ii) For an error: the least
degree that some polynomial of at most this error has (`least_degree`); the witness of the degree below shows that none of
it has.

The exchange of `references` finds both from whatever it begins with: Chebyshev-like points, or those where the answer of
a linear program has its largest errors. So a wrong answer of a solver costs time and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpopt.errors import PolynomialError
from dpopt.models.polynomials.minimax_polynomial import minimax_polynomial, minimax_values
from dpopt.polynomials.certificates import Problem, Solution, Witness, about, lower_bound, verify
from dpopt.polynomials.linear_solver import linear_solver, suggested_point
from dpopt.polynomials.polynomial import Polynomial
from dpopt.polynomials.references import exchanged, float_reference, level, spread_reference
from dpopt.polynomials.targets import Target
from dpopt.programs.solver import Solver


def best_polynomial(
    target: Target,
    degree: int,
    *,
    free_constant: bool | None = None,
    solver: str | Solver | None = None,
    start: Sequence[int] | None = None,
) -> Solution:
    """Return the polynomial of at most a degree whose largest error on 0..k is least, with its witness.

    minimize max_s |f(s) - p(s)| over p of degree <= t, with p(0) = f(0) unless the constant is free
    (models/minimax_polynomial).

    Parameters
    ----------
    target
        f.
    degree
        t, from 0 to k.
    free_constant
        Whether p(0) may differ from f(0); left out: for all targets but OR.
    solver
        A solver of linear programs whose answer the exchange begins with; None: Chebyshev-like points.
    start
        A reference to begin with instead; increasing points, of which as many as are needed are used.

    Raises
    ------
    PolynomialError
        A degree out of range, or a solver that takes no linear programs.
    SolverUnavailableError
        The solver cannot run here.
    """
    problem = minimax_problem(target, degree, free_constant=free_constant)
    asked = None if solver is None else linear_solver(solver)
    needed, first = degree + 2 - problem.first, problem.first
    if needed > target.width + 1 - first:
        return Solution(
            problem, Polynomial.through(target.width, target.values), Fraction(0), Witness((), ())
        )
    begin = tuple(start) if start is not None else _suggested(problem, needed, asked)
    if len(set(begin)) != needed or not all(first <= s <= target.width for s in begin):
        begin = float_reference(
            target, spread_reference(first, target.width, needed), keeps_zero=problem.keeps_zero
        )
    found = level(target, sorted(begin), keeps_zero=problem.keeps_zero)
    while True:
        entering = max(range(target.width + 1), key=lambda s: abs(found.errors[s]))
        worst = found.errors[entering]
        if abs(worst) == found.size:
            break
        reference = exchanged(found.reference, found.signs, entering, 1 if worst > 0 else -1)
        found = level(target, reference, keeps_zero=problem.keeps_zero)
    values = [f - error for f, error in zip(target.values, found.errors, strict=True)]
    return Solution(
        problem, Polynomial.through(target.width, values[: degree + 1]), found.size, found.witness
    )


def minimax_problem(target: Target, degree: int, *, free_constant: bool | None = None) -> Problem:
    """Return the problem that `best_polynomial` solves."""
    keeps_zero = target.keeps_zero if free_constant is None else not free_constant
    return Problem(target, degree, keeps_zero)


def _suggested(problem: Problem, needed: int, solver: Solver | None) -> tuple[int, ...]:
    """Return the points where a solver's polynomial has its largest errors; none without a solver, or without an answer."""
    if solver is None:
        return ()
    values = np.array([float(value) for value in problem.target.values])
    program = minimax_polynomial(values, degree=problem.degree, keeps_zero=problem.keeps_zero)
    point = suggested_point(solver, program)
    if point is None:
        return ()
    errors = np.abs(values - minimax_values(point, problem.target.width))[problem.first :]
    return tuple(sorted((np.argsort(-errors, kind="stable")[:needed] + problem.first).tolist()))


@dataclass(frozen=True, slots=True)
class LeastDegree:
    """The least degree with at most an error, and the proof that no smaller one has it.

    Attributes
    ----------
    error_limit : Fraction
        The largest error allowed.
    best : Solution
        The best polynomial of the least degree.
    below : Witness or None
        Proves that polynomials of one degree less err by more; None where the degree is 0.
    """

    error_limit: Fraction
    best: Solution
    below: Witness | None

    @property
    def degree(self) -> int:
        """The least degree."""
        return self.best.problem.degree


def least_degree(
    target: Target,
    error_limit: Fraction,
    *,
    free_constant: bool | None = None,
    solver: str | Solver | None = None,
    start: int = 0,
) -> LeastDegree:
    """Return the least degree of a polynomial whose largest error on 0..k is at most a limit, with proofs of both sides.

    Parameters
    ----------
    target, free_constant, solver
        As of `best_polynomial`.
    error_limit
        0 or more.
    start
        A degree to begin with, from 0 to k; it decides nothing but the time.

    Raises
    ------
    PolynomialError
        A limit below 0, or whatever `best_polynomial` refuses.
    """
    if error_limit < 0:
        raise PolynomialError(f"found the error {about(error_limit)}; expected 0 or more")
    asked = None if solver is None else linear_solver(solver)
    degree = min(start, target.width)
    found: dict[int, Solution] = {}
    while True:
        for near in (degree, degree - 1):
            if near >= 0 and near not in found:
                found[near] = best_polynomial(target, near, free_constant=free_constant, solver=asked)
        if found[degree].objective > error_limit:
            degree += 1
        elif degree and found[degree - 1].objective <= error_limit:
            degree -= 1
        else:
            return LeastDegree(error_limit, found[degree], found[degree - 1].witness if degree else None)


def verify_least_degree(found: LeastDegree) -> None:
    """Check in exact arithmetic that the degree suffices and that one degree less does not; trusts nothing.

    Raises
    ------
    PolynomialError
        The first thing that does not hold.
    """
    verify(found.best)
    problem = found.best.problem
    if any(problem.weights) or problem.error_limit is not None or problem.coefficient_limit is not None:
        raise PolynomialError("the problem is none of best approximation")
    if found.best.objective > found.error_limit:
        raise PolynomialError(f"the error is {about(found.best.objective)}, above {about(found.error_limit)}")
    if found.degree == 0:
        return
    if found.below is None:
        raise PolynomialError(f"nothing shows that degree {found.degree - 1} does not suffice")
    lower = replace(problem, degree=found.degree - 1, weights=())
    if lower_bound(lower, found.below) <= found.error_limit:
        raise PolynomialError(
            f"the witness does not show that degree {found.degree - 1} errs by more than the limit"
        )
