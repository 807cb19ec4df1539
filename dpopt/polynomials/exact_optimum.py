"""Linear programs solved in exact arithmetic: a dictionary of whole numbers, begun where a solver ended.

    minimize c . x  subject to  A x >= b, x >= 0,  where c >= 0.

A dictionary writes the cost and each basic variable as a linear function of the others, in whole numbers over one
common denominator; a pivot divides without remainder (Edmonds, Bareiss), so nothing is ever rounded. `pivot_towards`
brings in the variables that a solver left above 0, against the rows that it left tight. The dual simplex method mends
that basis if its reduced costs are at least 0, and else begins with the slacks, which it can since costs are at least
0. So a wrong answer of a solver costs time and nothing else; a right one leaves nothing to do.

Source: Edmonds (1967), "Systems of distinct representatives and linear algebra", for whole numbers; Bland (1977) for
ties.

A problem on coefficients solved exactly: its linear program in Fractions, begun from a solver's polynomial.

With x_j = x_j^+ - x_j^-, both >= 0, the problem of `certificates` is a linear program; its multipliers are the witness.
A solver says which coefficients are not 0 and at which points the error is largest; an exact simplex method does the
rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import NoSolutionError, PolynomialError, ProgramError
from dpopt.polynomials.certificates import Problem, Solution, Witness, objective_value, verify
from dpopt.polynomials.polynomial import Basis, Polynomial, basis_table
from dpopt.polynomials.targets import floats

MOST_PIVOTS = 20_000
_CAREFUL = 2_000  # pivots after which the first candidate is taken, not the best: that never runs in circles


@dataclass(frozen=True, slots=True)
class ExactOptimum:
    """An optimal point and optimal multipliers."""

    point: tuple[Fraction, ...]
    """x, (n,)."""
    multipliers: tuple[Fraction, ...]
    """y >= 0 of the rows, (r,), with A'y <= c and b . y = c . x."""
    pivots: int
    """How many steps were needed after `pivot_towards`."""


@dataclass(slots=True)
class ExactProgram:
    """A dictionary of the program; variables 0..n-1 are x, n..n+r-1 the slacks A x - b.

    c (n,) is >= 0, A (r, n), b (r,).
    """

    cost: Sequence[Fraction]
    rows: Sequence[Sequence[Fraction]]
    right: Sequence[Fraction]
    basic: list[int] = field(init=False)
    others: list[int] = field(init=False)
    _numbers: NDArray[np.object_] = field(init=False)
    _denominator: int = field(init=False)
    _scales: list[int] = field(init=False)

    def __post_init__(self) -> None:
        if min(self.cost, default=Fraction(0)) < 0:
            raise ProgramError("the exact simplex method begins with costs of at least 0")
        self._start()

    def _start(self) -> None:
        """Begin with the slacks as basic variables, which is dual feasible as all costs are at least 0."""
        variables, number = len(self.cost), len(self.rows)
        lines = [[*row, -b] for row, b in zip(self.rows, self.right, strict=True)]
        lines.append([*self.cost, Fraction(0)])
        self._scales = [lcm(*(one.denominator for one in line)) for line in lines]
        self._numbers = np.array(
            [
                [one.numerator * (scale // one.denominator) for one in line]
                for line, scale in zip(lines, self._scales, strict=True)
            ],
            dtype=object,
        )
        self._denominator = 1
        self.others = list(range(variables))
        self.basic = list(range(variables, variables + number))

    def pivot_towards(self, raised: Sequence[int], tight: Sequence[int]) -> None:
        """Bring variables above 0, the most certain first, into the basis, each against the first row that it is in."""
        left = [len(self.cost) + row for row in tight]
        for variable in raised:
            column = self.others.index(variable)
            for slack in left:
                row = self.basic.index(slack)
                if self._numbers[row, column]:
                    self._pivot(row, column)
                    left.remove(slack)
                    break

    def solve(self) -> ExactOptimum:
        """Return an optimum.

        Raises
        ------
        NoSolutionError
            No point satisfies the rows, or 20,000 pivots did not suffice.
        """
        if (self._numbers[-1, :-1] < 0).any():
            self._start()
        for pivots in range(MOST_PIVOTS):
            place = self._dual_step(careful=pivots >= _CAREFUL)
            if place is None:
                return self._optimum(pivots)
            self._pivot(*place)
        raise NoSolutionError(
            f"the exact simplex method found no optimum in {MOST_PIVOTS:,} steps; take a smaller program, or another "
            f"solver"
        )

    def _dual_step(self, *, careful: bool) -> tuple[int, int] | None:
        """Return where the dual simplex method pivots; None at an optimum."""
        values = self._numbers[:-1, -1]
        below = np.flatnonzero(values < 0)
        if not below.size:
            return None
        row = min(below.tolist(), key=lambda one: self.basic[one] if careful else values[one])
        rising = np.flatnonzero(self._numbers[row, :-1] > 0).tolist()
        if not rising:
            raise NoSolutionError("no point satisfies all rows (proved in exact arithmetic)")
        costs, entries = self._numbers[-1], self._numbers[row]
        return row, min(rising, key=lambda one: (Fraction(costs[one], entries[one]), self.others[one]))

    def _pivot(self, row: int, column: int) -> None:
        """Exchange a basic variable for another one."""
        numbers, pivot = self._numbers, self._numbers[row, column]
        leaving, entering = numbers[row].copy(), numbers[:, column].copy()
        updated = (numbers * pivot - np.outer(entering, leaving)) // self._denominator
        updated[row] = -leaving
        updated[:, column] = entering
        updated[row, column] = self._denominator
        if pivot < 0:
            updated, pivot = -updated, -pivot
        self._numbers, self._denominator = updated, pivot
        self.basic[row], self.others[column] = self.others[column], self.basic[row]

    def _optimum(self, pivots: int) -> ExactOptimum:
        variables = len(self.cost)
        point, multipliers = [Fraction(0)] * variables, [Fraction(0)] * len(self.rows)
        for row, variable in enumerate(self.basic):
            if variable < variables:
                point[variable] = Fraction(self._numbers[row, -1], self._denominator)
        for column, variable in enumerate(self.others):
            if variable >= variables:
                place = variable - variables
                unit = Fraction(self._scales[place], self._scales[-1])
                multipliers[place] = Fraction(self._numbers[-1, column], self._denominator) * unit
        return ExactOptimum(tuple(point), tuple(multipliers), pivots)


_NOT_ZERO = 1e-9
WIDEST_EXACT = 96
"""Largest k: the dictionary of an exact linear program has (2 k + 2) (2 t + 3) numbers of hundreds of digits."""


def exact_solution(problem: Problem, suggested: Polynomial | None) -> Solution:
    """Return the optimum of a problem and its witness, in exact arithmetic.

    `suggested` is a good polynomial of degree at most t; it decides nothing but the time.

    Examples
    --------
    >>> from dpopt.polynomials import Target, minimax_problem
    >>> exact_solution(minimax_problem(Target.disjunction(3), 2), None).objective
    Fraction(1, 7)
    """
    if problem.target.width > WIDEST_EXACT:
        raise PolynomialError(
            f"found k = {problem.target.width}; limits and weights on coefficients are solved exactly up to k = "
            f"{WIDEST_EXACT}"
        )
    layout = _Layout(problem)
    limit = problem.coefficient_limit
    if limit is not None and layout.fixed is not None and abs(layout.fixed) > limit:
        raise PolynomialError(_refusal(problem))
    program = ExactProgram(layout.cost, layout.rows, layout.right)
    if suggested is not None:
        with suppress(PolynomialError):  # numbers beyond all floats suggest nothing
            given = floats(suggested.in_basis(problem.basis))
            program.pivot_towards(*layout.guess(np.pad(given, (0, problem.degree + 1 - given.size))))
    try:
        found = program.solve()
    except NoSolutionError as problem_found:
        raise PolynomialError(_refusal(problem)) from problem_found
    polynomial = layout.polynomial(found.point)
    solution = Solution(problem, polynomial, objective_value(problem, polynomial), layout.witness(found.multipliers))
    verify(solution)
    return solution


class _Layout:
    """Columns and rows of the program: x_j^+ and x_j^-, then the error if the objective has it; rows point by point."""

    def __init__(self, problem: Problem) -> None:
        target, basis = problem.target, problem.basis
        self.problem = problem
        self.scales = (*(Fraction(1),) * problem.first, *target.weights[problem.first :])  # of the rows of each point
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
            if not (weight := self.scales[s]):
                continue
            goal = weight * (value - (self.fixed or 0))
            entries = [weight * one for j in self.used for one in (self.table[s][j], -self.table[s][j])]
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
        target = self.problem.target
        errors = floats(target.weights) * (floats(target.values) - table @ suggested)
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
        return Polynomial.from_basis(width, found, self.problem.basis)

    def witness(self, multipliers: tuple[Fraction, ...]) -> Witness:
        """Return the multipliers of the rows as weights on the points."""
        weights: dict[int, Fraction] = {}
        for (s, sign), y in zip(self.points, multipliers, strict=False):
            weights[s] = weights.get(s, Fraction(0)) + sign * self.scales[s] * y
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
