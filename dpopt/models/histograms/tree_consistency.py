"""Noisy counts of a tree's nodes made consistent: as a quadratic program, and in whole numbers as a linear one.

Problem (models/tree_consistency): given a value y_v and a variance s_v of each node v, inf for "not measured", choose x
with

    minimize    sum_v (x_v - y_v)^2 / s_v                                                       TC-1
    subject to  x_v = sum of x_u over the children u of v, for every node v with children,      TC-2
                x_v >= 0 for every bin, if counts cannot be negative,                           TC-3
                x_v = y_v where s_v = 0,                                                        TC-4
                x_v whole, if whole numbers are asked for.                                      TC-5

In whole numbers between 0 and M the cost of a node is the largest of its M secants, so the squares become rows

    minimize sum_v c_v,   c_v >= ((t - y_v)^2 + (2 t + 1 - 2 y_v) (x_v - t)) / s_v,   t = 0, ..., M - 1.    TC-6

TC-2 is a matrix of flows along the tree, which is totally unimodular, and the secants bend at whole numbers only: the
linear relaxation has a whole optimum.

TC-1, TC-2 and TC-4 have a closed form, two passes over the levels: `dpopt.inference.histograms.tree_least_squares`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models.model import Model, computed_by
from dpopt.programs.building import Builder, Indices
from dpopt.queries.ranges.tree import Tree

_CLOSED_FORMS = "dpopt.inference.histograms.closed_forms"


def tree_consistency(
    tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64], *, nonnegative: bool = False
) -> Model:
    """Return TC-1, TC-2, TC-4, and TC-3 if asked for: consistent values x (v,) of the nodes, nearest to noisy ones.

    Parameters
    ----------
    values, variances : (v,) float64
        y and s >= 0; y does not matter where s is inf.
    nonnegative
        Whether no bin may be below 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dpopt.queries.ranges.tree import Tree
    >>> model = tree_consistency(Tree.balanced(2, 2), np.array([7.0, 3.0, 1.0]), np.ones(3))
    >>> model.solve().value["x"].tolist()
    [6.0, 4.0, 2.0]
    """
    _check(tree, values, variances)
    exact = variances == 0
    lower = np.where((tree.children == 0) & nonnegative, 0.0, -np.inf)  # TC-3
    upper = np.full(len(tree), np.inf)
    lower[exact], upper[exact] = values[exact], values[exact]  # TC-4
    build = Builder()
    x = build.variables("x", len(tree), lower=lower, upper=upper, start=0)
    _consistency(build, tree, x)
    measured = np.flatnonzero(~exact & np.isfinite(variances))
    build.squares(
        "TC-1",
        measured.size,
        (np.arange(measured.size), measured, 1.0),
        targets=values[measured],
        weights=2.0 / variances[measured],
        inside=measured.tolist,
    )
    closed_form = None if nonnegative else computed_by(f"{_CLOSED_FORMS}:tree_consistency", tree, values, variances)
    return Model.of("tree_consistency", build, closed_form=closed_form)


def whole_tree_consistency(tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64], most: int) -> Model:
    """Return TC-2 to TC-6: whole values x (v,) of the nodes, 0 to `most`, with the cost c of each measured one.

    Parameters
    ----------
    tree, values, variances
        As for `tree_consistency`.
    most
        M, at least the largest value of any node that may be best.
    """
    _check(tree, values, variances)
    if most < 1:
        raise ProgramError(f"expected a largest value of at least 1, found {most}")
    exact = variances == 0
    lower, upper = np.zeros(len(tree)), np.full(len(tree), float(most))  # TC-3
    lower[exact], upper[exact] = values[exact], values[exact]  # TC-4
    measured = np.flatnonzero(~exact & np.isfinite(variances))
    steps = np.arange(most, dtype=np.float64)
    target, spread = values[measured][:, None], variances[measured][:, None]
    rises = (2 * steps + 1 - 2 * target) / spread
    build = Builder()
    x = build.variables("x", len(tree), lower=lower, upper=upper, whole=True, start=0)  # TC-5
    c = build.variables("c", measured.size, objective=1.0, inside=measured.tolist)
    _consistency(build, tree, x)
    each = np.arange(rises.size).reshape(rises.shape)
    build.rows(  # c_v - rise x_v >= bound
        "TC-6",
        rises.size,
        (each, c[:, None], 1.0),
        (each, measured[:, None], -rises),
        lower=((steps - target) ** 2 / spread - rises * steps).ravel(),
        inside=lambda: (f"{node},{step}" for node in measured.tolist() for step in range(most)),
    )
    return Model.of("tree_consistency", build)


def _check(tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64]) -> None:
    if values.shape != (len(tree),) or variances.shape != (len(tree),) or not (variances >= 0).all():
        raise ProgramError(
            f"expected a value and a variance of at least 0 for each of {len(tree):,} nodes, found shapes "
            f"{values.shape} and {variances.shape}"
        )


def _consistency(build: Builder, tree: Tree, x: Indices) -> None:
    """Add TC-2: each node with children minus these, which is 0."""
    inner = np.flatnonzero(tree.children)
    each = np.arange(inner.size)
    owner = np.repeat(each, tree.children[inner])  # children stand in the order of their parents
    build.rows(
        "TC-2", inner.size, (each, x[inner], 1.0), (owner, x[1:], -1.0), lower=0.0, upper=0.0, inside=inner.tolist
    )
