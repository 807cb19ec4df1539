"""Noisy counts of a tree's nodes made consistent: as a quadratic program, and in whole numbers as a linear one.

Problem (models/tree_consistency): given a value y_v and a variance s_v of each node v, inf for "not measured", choose x with

    minimize    sum_v (x_v - y_v)^2 / s_v                                                       TC-1
    subject to  x_v = sum of x_u over the children u of v, for every node v with children,      TC-2
                x_v >= 0 for every bin, if counts cannot be negative,                           TC-3
                x_v = y_v where s_v = 0,                                                        TC-4
                x_v whole, if whole numbers are asked for.                                      TC-5

In whole numbers between 0 and M the cost of a node is the largest of its M secants, so the squares become rows

    minimize sum_v c_v,   c_v >= ((t - y_v)^2 + (2 t + 1 - 2 y_v) (x_v - t)) / s_v,   t = 0, ..., M - 1.    TC-6

TC-2 is a matrix of flows along the tree, which is totally unimodular, and the secants bend at whole numbers only: the linear
relaxation has a whole optimum.

These programs serve any size that a test needs. What solves them fast is in `dpopt.inference.histograms`:

    TC-1, TC-2      two passes over the levels (`tree_least_squares`);
    TC-1 to TC-4    curves T_v, the total of v at the price p, where p is half the slope of its subtree's least cost:
                    T_C(p) = sum_u T_u(p),  T_v(p + (T_C(p) - y_v) / s_v) = T_C(p) (`nonnegative_least_squares`);     TC-7
                    a bin is positive if and only if its breakpoint reaches the root below 0;               TC-8
    TC-1 to TC-5    moves of one count into, out of or between bins; a tree that none of them improves is optimal
                    (`integer_tree`).                                                                       TC-9
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import QuadraticProgram
from dpopt.queries.ranges.tree import Tree

Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]


def tree_program(
    tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64], *, nonnegative: bool
) -> QuadraticProgram:
    """Return the program whose variables are the values of the nodes, (v,): TC-1, TC-2, TC-4, and TC-3 if asked for.

    Parameters
    ----------
    values, variances : (v,) float64
        y and s >= 0; y does not matter where s is inf.

    Raises
    ------
    ProgramError
        If shapes do not fit, or a variance is negative.
    """
    _check(tree, values, variances)
    starts, columns, coefficients = _consistency(tree)
    exact = variances == 0
    lower = np.where((tree.children == 0) & nonnegative, 0.0, -np.inf)  # TC-3
    upper = np.full(len(tree), np.inf)
    lower[exact], upper[exact] = values[exact], values[exact]  # TC-4
    zeros = np.zeros(starts.size - 1)
    linear = MixedIntegerProgram(
        objective=np.zeros(len(tree)),
        maximize=False,
        row_starts=starts,
        columns=columns,
        coefficients=coefficients,
        row_lower=zeros,
        row_upper=zeros,
        lower=lower,
        upper=upper,
        integrality=np.zeros(len(tree), dtype=np.bool_),
    )
    measured = np.flatnonzero(~exact & np.isfinite(variances))
    return QuadraticProgram(  # TC-1
        linear,
        np.arange(measured.size + 1, dtype=np.int64),
        measured.astype(np.int32),
        np.ones(measured.size),
        values[measured],
        2.0 / variances[measured],  # a quadratic program halves its squares
    )


def whole_tree_program(
    tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64], most: int
) -> MixedIntegerProgram:
    """Return the program whose first v variables are the whole values of the nodes, 0 to `most`: TC-2 to TC-6.

    Parameters
    ----------
    values, variances : (v,) float64
        y and s >= 0; y does not matter where s is inf.
    most : int
        M, at least the largest value of any node that may be best.

    Raises
    ------
    ProgramError
        If shapes do not fit, a variance is negative, or `most` is below 1.
    """
    _check(tree, values, variances)
    if most < 1:
        raise ProgramError(f"expected a largest value of at least 1, found {most}")
    starts, columns, coefficients = _consistency(tree)
    exact = variances == 0
    lower, upper = np.zeros(len(tree)), np.full(len(tree), float(most))  # TC-3
    lower[exact], upper[exact] = values[exact], values[exact]  # TC-4
    measured = np.flatnonzero(~exact & np.isfinite(variances))
    steps = np.arange(most, dtype=np.float64)
    target, spread = values[measured][:, None], variances[measured][:, None]
    rises = ((2 * steps + 1 - 2 * target) / spread).ravel()
    bounds = ((steps - target) ** 2 / spread).ravel() - rises * np.tile(steps, measured.size)
    costs = np.repeat(np.arange(measured.size) + len(tree), most)
    secants = np.stack((costs, np.repeat(measured, most)), axis=1)  # TC-6: c_v - rise x_v >= bound
    weights = np.stack((np.ones(costs.size), -rises), axis=1)
    kept = weights.ravel() != 0  # a program holds no entry that is 0
    lengths = kept.reshape(-1, 2).sum(axis=1)
    zeros = np.zeros(starts.size - 1)
    return MixedIntegerProgram(
        objective=np.concatenate((np.zeros(len(tree)), np.ones(measured.size))),
        maximize=False,
        row_starts=np.concatenate((starts, starts[-1] + np.cumsum(lengths))),
        columns=np.concatenate((columns, secants.ravel()[kept].astype(np.int32))),
        coefficients=np.concatenate((coefficients, weights.ravel()[kept])),
        row_lower=np.concatenate((zeros, bounds)),
        row_upper=np.concatenate((zeros, np.full(bounds.size, np.inf))),
        lower=np.concatenate((lower, np.zeros(measured.size))),
        upper=np.concatenate((upper, np.full(measured.size, np.inf))),
        integrality=np.arange(len(tree) + measured.size) < len(tree),  # TC-5
    )


def _check(tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64]) -> None:
    if values.shape != (len(tree),) or variances.shape != (len(tree),) or not (variances >= 0).all():
        raise ProgramError(
            f"expected a value and a variance of at least 0 for each of {len(tree):,} nodes, found shapes {values.shape} "
            f"and {variances.shape}"
        )


def _consistency(tree: Tree) -> Rows:
    """Return TC-2 row by row: each node with children minus these, which is 0."""
    inner = np.flatnonzero(tree.children)
    lengths = tree.children[inner] + 1
    starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
    columns = np.empty(int(starts[-1]), dtype=np.int32)
    own = np.zeros(columns.size, dtype=np.bool_)
    own[starts[:-1]] = True
    columns[own] = inner
    columns[~own] = np.arange(1, len(tree))  # children stand in the order of their parents
    return starts, columns, np.where(own, 1.0, -1.0)
