"""The exact simplex method: optima of HiGHS, whatever it begins with, and programs without one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpopt.errors import NoSolutionError, ProgramError
from dpopt.polynomials.exact_simplex import ExactProgram


def program(seed: int) -> tuple[list[Fraction], list[list[Fraction]], list[Fraction]]:
    generator = np.random.default_rng(seed)
    rows, variables = (int(one) for one in generator.integers(1, 9, 2))

    def numbers(low: int, size: int) -> list[Fraction]:
        return [
            Fraction(int(a), int(b))
            for a, b in zip(generator.integers(low, 6, size), generator.integers(1, 5, size), strict=True)
        ]

    return numbers(0, variables), [numbers(-5, variables) for _ in range(rows)], numbers(-5, rows)


@pytest.mark.parametrize("seed", range(60))
def test_the_optimum_is_that_of_highs_and_proves_itself(seed: int) -> None:
    from scipy.optimize import linprog

    cost, rows, right = program(seed)
    answer = linprog(
        [float(one) for one in cost],
        A_ub=[[-float(one) for one in row] for row in rows],
        b_ub=[-float(one) for one in right],
    )
    generator = np.random.default_rng(seed)
    for begun in range(3):
        exact = ExactProgram(cost, rows, right)
        if begun:  # anything at all
            exact.pivot_towards(
                generator.permutation(len(cost)).tolist(), generator.permutation(len(rows)).tolist()
            )
        if answer.status == 2:
            with pytest.raises(NoSolutionError, match="no point"):
                exact.solve()
            continue
        found = exact.solve()
        x, y = found.point, found.multipliers
        assert min(x) >= 0
        assert min(y) >= 0
        for row, b in zip(rows, right, strict=True):
            assert sum((a * one for a, one in zip(row, x, strict=True)), start=Fraction(0)) >= b
        for j, c in enumerate(cost):
            assert sum((row[j] * one for row, one in zip(rows, y, strict=True)), start=Fraction(0)) <= c
        value = sum((c * one for c, one in zip(cost, x, strict=True)), start=Fraction(0))
        assert value == sum((b * one for b, one in zip(right, y, strict=True)), start=Fraction(0))
        assert float(value) == pytest.approx(float(answer.fun or 0), abs=1e-9)


def test_costs_below_zero_are_refused() -> None:
    with pytest.raises(ProgramError, match="costs of at least 0"):
        ExactProgram([Fraction(-1)], [[Fraction(1)]], [Fraction(1)])


def test_a_right_guess_leaves_nothing_to_do() -> None:
    """minimize x + y subject to x + 2 y >= 4, 3 x + y >= 6: (8/5, 6/5)."""
    one = Fraction(1)
    exact = ExactProgram([one, one], [[one, 2 * one], [3 * one, one]], [4 * one, 6 * one])
    exact.pivot_towards([0, 1], [0, 1])
    found = exact.solve()
    assert (found.point, found.multipliers, found.pivots) == (
        (Fraction(8, 5), Fraction(6, 5)),
        (Fraction(2, 5), Fraction(1, 5)),
        0,
    )
