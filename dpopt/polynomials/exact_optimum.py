"""A problem on coefficients solved exactly: its linear program in Fractions, begun from a solver's polynomial.

With x_j = x_j^+ - x_j^-, both >= 0, the problem of `certificates` is a linear program; its multipliers are the witness. A
solver says which coefficients are not 0 and at which points the error is largest; `exact_simplex` does the rest.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import NoSolutionError, PolynomialError
from dpopt.polynomials.basis_values import basis_table, in_binomial_basis
from dpopt.polynomials.certificates import Problem, Solution, Witness, objective_value, verify
from dpopt.polynomials.exact_simplex import ExactProgram
from dpopt.polynomials.polynomial import Basis, Polynomial

_NOT_ZERO = 1e-9
WIDEST_EXACT = 96
"""Largest k: the dictionary of an exact linear program has (2 k + 2) (2 t + 3) numbers of hundreds of digits."""


def exact_solution(problem: Problem, suggested: NDArray[np.float64] | None) -> Solution:
    """Return the optimum of a problem and its witness, in exact arithmetic.

    Parameters
    ----------
    problem
        The problem.
    suggested : (t + 1,) float64, optional
        Coefficients x_j of a good polynomial; they decide nothing but the time.

    Raises
    ------
    PolynomialError
        No polynomial of the degree obeys the limits, or k is above 96.
    """
    if problem.target.width > WIDEST_EXACT:
        raise PolynomialError(
            f"found k = {problem.target.width}; limits and weights on coefficients are solved exactly up to k = {WIDEST_EXACT}"
        )
    layout = _Layout(problem)
    limit = problem.coefficient_limit
    if limit is not None and layout.fixed is not None and abs(layout.fixed) > limit:
        raise PolynomialError(_refusal(problem))
    program = ExactProgram(layout.cost, layout.rows, layout.right)
    if suggested is not None and suggested.shape == (problem.degree + 1,):
        program.pivot_towards(*layout.guess(suggested))
    try:
        found = program.solve()
    except NoSolutionError as problem_found:
        raise PolynomialError(_refusal(problem)) from problem_found
    polynomial = layout.polynomial(found.point)
    solution = Solution(
        problem, polynomial, objective_value(problem, polynomial), layout.witness(found.multipliers)
    )
    verify(solution)
    return solution


class _Layout:
    """Columns and rows of the program: x_j^+ and x_j^-, then the error if it is in the objective; rows point by point."""

    def __init__(self, problem: Problem) -> None:
        target, basis = problem.target, problem.basis
        self.problem = problem
        self.table = basis_table(basis, target.width, problem.degree)
        # In these bases phi_0 = 1 and all others are 0 at s = 0, so that the value kept there is x_0.
        self.fixed = target.values[0] if problem.keeps_zero and basis is not Basis.CHEBYSHEV else None
        self.used = range(0 if self.fixed is None else 1, problem.degree + 1)
        self.has_error = problem.error_limit is None
        limit = Fraction(0) if problem.error_limit is None else problem.error_limit
        self.cost = [w for j in self.used for w in (problem.weights[j],) * 2] + [Fraction(1)] * self.has_error
        self.rows: list[list[Fraction]] = []
        self.right: list[Fraction] = []
        self.points: list[tuple[int, int]] = []  # point and sign of each row
        for s, value in enumerate(target.values):
            kept = problem.keeps_zero and s == 0
            if kept and self.fixed is not None:
                continue
            goal = value - (self.fixed or 0)
            entries = [one for j in self.used for one in (self.table[s][j], -self.table[s][j])]
            slack = Fraction(0) if kept else limit
            for sign in (1, -1):
                error = [Fraction(0 if kept else 1)] * self.has_error
                self.rows.append([sign * one for one in entries] + error)
                self.right.append(sign * goal - slack)
                self.points.append((s, sign))
        if problem.coefficient_limit is not None:
            width = len(self.cost)
            for place in range(0, 2 * len(self.used), 2):
                row = [Fraction(0)] * width
                row[place] = row[place + 1] = Fraction(-1)
                self.rows.append(row)
                self.right.append(-problem.coefficient_limit)

    def guess(self, suggested: NDArray[np.float64]) -> tuple[list[int], list[int]]:
        """Return the variables above 0 and the rows that are tight, most certain first, of suggested coefficients."""
        table = np.array([[float(one) for one in row] for row in self.table])
        values = np.array([float(value) for value in self.problem.target.values])
        errors = values - table @ suggested
        sizes = np.abs(suggested) * np.abs(table).max(axis=0)
        scale = float(sizes.max(initial=1.0))
        raised = [
            (float(sizes[j]), 2 * place + int(suggested[j] < 0))
            for place, j in enumerate(self.used)
            if sizes[j] > _NOT_ZERO * scale
        ]
        raised.sort(reverse=True)
        limit = self.problem.error_limit
        largest = float(np.abs(errors[self.problem.first :]).max() if limit is None else limit)
        slacks = [
            largest - sign * float(errors[s]) if s >= self.problem.first else float(max(-sign, 0))
            for s, sign in self.points  # of the two rows of a kept point one is enough
        ]
        if self.problem.coefficient_limit is not None:
            size = float(self.problem.coefficient_limit)
            slacks += [(size - abs(float(suggested[j]))) / max(size, 1e-300) for j in self.used]
        order = np.argsort(np.array(slacks), kind="stable").tolist()
        error = [2 * len(self.used)] if self.has_error else []
        return error + [variable for _, variable in raised], order

    def polynomial(self, point: tuple[Fraction, ...]) -> Polynomial:
        """Return the polynomial of a point of the program."""
        found = [point[2 * place] - point[2 * place + 1] for place in range(len(self.used))]
        if self.fixed is not None:
            found.insert(0, self.fixed)
        width = self.problem.target.width
        return Polynomial(width, in_binomial_basis(self.problem.basis, width, found))

    def witness(self, multipliers: tuple[Fraction, ...]) -> Witness:
        """Return the multipliers of the rows as weights on the points."""
        weights: dict[int, Fraction] = {}
        for (s, sign), y in zip(self.points, multipliers, strict=False):
            weights[s] = weights.get(s, Fraction(0)) + sign * y
        if self.fixed is not None:  # what makes phi_0 feel no pull beyond its weight: z_0 x_0 is then exact
            weights[0] = self._weight_at_zero(weights)
        kept = {s: y for s, y in sorted(weights.items()) if y}
        return Witness(tuple(kept), tuple(kept.values()))

    def _weight_at_zero(self, weights: dict[int, Fraction]) -> Fraction:
        """Return y_0 with z_0 = w_0 sign(f(0)), at which the bound is not weakened by x_0 = f(0)."""
        weight, value = self.problem.weights[0], self.problem.target.values[0]
        sign = (value > 0) - (value < 0)
        return weight * sign - sum(weights.values(), start=Fraction(0))


def _refusal(problem: Problem) -> str:
    limits = []
    if problem.error_limit is not None:
        limits.append(f"has an error of at most {float(problem.error_limit):g}")
    if problem.coefficient_limit is not None:
        limits.append(f"has coefficients of at most {float(problem.coefficient_limit):g}")
    return (
        f"no polynomial of degree {problem.degree} {' and '.join(limits)} (proved in exact arithmetic); "
        "raise the degree or the limit"
    )
