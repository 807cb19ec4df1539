"""Linear programs solved in exact arithmetic: a dictionary of whole numbers, begun where a solver ended.

    minimize c . x  subject to  A x >= b, x >= 0,  where c >= 0.

A dictionary writes the cost and each basic variable as a linear function of the others, in whole numbers over one common
denominator; a pivot divides without remainder (Edmonds, Bareiss), so nothing is ever rounded. `pivot_towards` brings in
the variables that a solver left above 0, against the rows that it left tight. The dual or the primal simplex method mends
what is not right yet; where neither can begin, or the primal one takes long, the dual one begins anew, which it can since
costs are at least 0. So a wrong answer of a solver costs time and nothing else; a right one leaves nothing to do.

Source: Edmonds (1967), "Systems of distinct representatives and linear algebra", for whole numbers; Bland (1977) for ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import NoSolutionError, ProgramError

MOST_PIVOTS = 20_000
_MOST_PRIMAL = 50
_CAREFUL = 2_000  # pivots after which the first candidate is taken, not the best: that never runs in circles


@dataclass(frozen=True, slots=True)
class ExactOptimum:
    """An optimal point and optimal multipliers.

    Attributes
    ----------
    point : tuple of Fraction
        x, (n,).
    multipliers : tuple of Fraction
        y >= 0 of the rows, (r,), with A'y <= c and b . y = c . x.
    pivots : int
        How many steps were needed after `pivot_towards`.
    """

    point: tuple[Fraction, ...]
    multipliers: tuple[Fraction, ...]
    pivots: int


@dataclass(slots=True)
class ExactProgram:
    """A dictionary of the program; variables 0..n-1 are x, n..n+r-1 the slacks A x - b.

    Parameters
    ----------
    cost : (n,) Fractions
        c, >= 0.
    rows : (r, n) Fractions
        A.
    right : (r,) Fractions
        b.
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
        """Bring variables into the basis against rows, each the first in order that has a part in it.

        Parameters
        ----------
        raised
            Variables x that a solver left above 0, the most certain first.
        tight
            Rows, tightest first.
        """
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
            No point satisfies the rows, the cost has no lower bound, or 20,000 pivots did not suffice.
        """
        if not self._feasible() and not self._dual_feasible():
            self._start()
        for pivots in range(MOST_PIVOTS):
            if self._dual_feasible():
                place = self._dual_step(careful=pivots >= _CAREFUL)
            elif pivots < _MOST_PRIMAL:
                place = self._primal_step()
            else:
                self._start()  # far from the optimum after all
                continue
            if place is None:
                return self._optimum(pivots)
            self._pivot(*place)
        raise NoSolutionError(
            f"the exact simplex method found no optimum in {MOST_PIVOTS:,} steps; take a smaller program, or another solver"
        )

    def _feasible(self) -> bool:
        return bool((self._numbers[:-1, -1] >= 0).all())

    def _dual_feasible(self) -> bool:
        return bool((self._numbers[-1, :-1] >= 0).all())

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

    def _primal_step(self) -> tuple[int, int]:
        """Return where the primal simplex method pivots, at a point that is feasible and not optimal."""
        costs = self._numbers[-1, :-1]
        cheap = np.flatnonzero(costs < 0).tolist()
        column = min(cheap, key=lambda one: costs[one])
        falling = np.flatnonzero(self._numbers[:-1, column] < 0).tolist()
        if not falling:
            raise NoSolutionError("the cost has no lower bound (proved in exact arithmetic)")
        values, entries = self._numbers[:, -1].tolist(), self._numbers[:, column].tolist()
        return (
            min(falling, key=lambda one: (Fraction(values[one], -entries[one]), self.basic[one])),
            column,
        )

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
