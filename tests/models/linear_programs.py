"""Optima of small programs by HiGHS as SciPy calls it, and the bounds of one clause by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.programs import MaxCsp, MixedIntegerProgram


def optimum(program: MixedIntegerProgram) -> float | None:
    """Return the largest objective; None if no point is feasible."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    assert program.maximize
    shape = (program.number_of_rows, program.number_of_variables)
    matrix = csr_array((program.coefficients, program.columns, program.row_starts), shape=shape)
    answer = milp(
        -program.objective,
        integrality=program.integrality.astype(np.uint8),
        bounds=Bounds(program.lower, program.upper),
        constraints=LinearConstraint(matrix, program.row_lower, program.row_upper),
        options={"mip_rel_gap": 0.0},
    )
    assert answer.status in {0, 2}, answer.message
    return None if answer.status == 2 else -float(answer.fun)


def relaxed(program: MixedIntegerProgram) -> MixedIntegerProgram:
    """Return the linear relaxation."""
    return replace(program, integrality=np.zeros_like(program.integrality))


def with_x(program: MixedIntegerProgram, x: NDArray[np.float64]) -> MixedIntegerProgram:
    """Return the program with its first variables fixed."""
    lower, upper = program.lower.copy(), program.upper.copy()
    lower[: x.size] = upper[: x.size] = x
    return replace(program, lower=freeze(lower), upper=freeze(upper))


def one_hot(program: MaxCsp, record: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return x of a record."""
    x = np.zeros(int(program.offsets()[-1]))
    x[program.offsets()[:-1] + record] = 1.0
    return x


def envelope(shares: NDArray[np.float64], accepts: Callable[[int], bool]) -> float:
    """Return the largest share of records with an accepted number of true literals, given the share of each literal."""
    from scipy.optimize import linprog

    points = np.array(list(itertools.product((0, 1), repeat=shares.size)))
    value = np.array([accepts(int(point.sum())) for point in points], dtype=np.float64)
    answer = linprog(-value, A_eq=np.vstack((points.T, np.ones(len(points)))), b_eq=np.concatenate((shares, [1.0])))
    assert answer.fun is not None, answer.message
    return -float(answer.fun)
