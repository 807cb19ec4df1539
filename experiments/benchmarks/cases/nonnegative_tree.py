"""The nearest tree without negative bins, beside general solvers for quadratic programs; and in whole numbers."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.histograms.integer_tree import best_integer_tree
from dpopt.inference.histograms.tree_least_squares import nonnegative_least_squares
from dpopt.queries.ranges.tree import Tree
from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import spread

BRANCHINGS = (2, 16)
SCALE = 5.0
SOLVERS: dict[str, dict[str, Any]] = {
    "CLARABEL": {},
    "OSQP": {"eps_abs": 1e-6, "eps_rel": 1e-6, "max_iter": 100_000},
}
"""Options of the solvers, through CVXPY."""
FASTER, ENOUGH = 20, 1e-6


@case("How much faster than general solvers is the nearest tree of 65,536 leaves without negative bins?")
def nonnegative_tree(setting: Setting) -> Result:
    """Measure the exact method, and each general solver once by its own clock; objectives must agree with Clarabel's."""
    leaves = setting.pick(65_536, 64)
    rows, bars = [], []
    for branching in BRANCHINGS:
        tree, noisy = _noisy_tree(leaves, branching)
        variances = np.full(len(tree), 2 * SCALE**2)
        seconds, whole_seconds = [], []
        for _ in range(setting.runs + setting.warm_up):
            started = time.perf_counter()
            found = nonnegative_least_squares(tree, noisy, variances)
            between = time.perf_counter()
            whole = best_integer_tree(tree, noisy, variances)
            seconds.append(between - started)
            whole_seconds.append(time.perf_counter() - between)
        counted = slice(1 if setting.warm_up else 0, None)
        objective = float(((found - noisy) ** 2 / variances).sum())
        row: dict[str, Any] = {
            "leaves": leaves,
            "children": branching,
            "bins that are 0": int((found[tree.leaf_of_bin] == 0).sum()),
            "seconds": spread(seconds[counted]),
            "whole numbers, seconds": spread(whole_seconds[counted]),
            "whole numbers proven nearest": str(whole.certified),
        }
        median = row["seconds"]["median"]
        bars.append(Bar(f"{branching} children: seconds, median", median, 1))
        for name in SOLVERS:
            taken, theirs = _general(name, tree, noisy, variances)
            row |= {f"{name}, seconds": taken, f"{name}, objective over ours": theirs / objective}
            bars.append(
                Bar(f"{branching} children: times faster than {name}", taken / median, FASTER, at_least=True)
            )
        difference = abs(row["CLARABEL, objective over ours"] - 1)
        bars.append(
            Bar(f"{branching} children: objective, relative difference to CLARABEL", difference, ENOUGH)
        )
        rows.append(row)
    return Result(rows, bars)


def _noisy_tree(leaves: int, branching: int) -> tuple[Tree, NDArray[np.float64]]:
    """Return a tree and noisy counts of its nodes: of bins most of which are empty, others up to thousands."""
    tree, generator = Tree.balanced(leaves, branching), np.random.default_rng(branching)
    counts = np.where(generator.random(leaves) < 0.1, generator.geometric(0.003, leaves), 0)
    noise = generator.laplace(scale=SCALE, size=len(tree))
    return tree, np.rint(tree.totals(counts.astype(np.float64)) + noise)


def _general(
    name: str, tree: Tree, noisy: NDArray[np.float64], variances: NDArray[np.float64]
) -> tuple[float, float]:
    """Return a general solver's own seconds, without what CVXPY takes to pass the program on, and the objective."""
    import cvxpy
    from scipy.sparse import csr_array

    inner = np.flatnonzero(tree.children)
    starts = np.concatenate(([0], np.cumsum(tree.children[inner])))
    rows = np.repeat(np.arange(inner.size), tree.children[inner])
    columns = np.arange(starts[-1]) - starts[:-1][rows] + tree.first_child[inner][rows]
    shape = (inner.size, len(tree))
    sums = csr_array((np.ones(rows.size), (rows, columns)), shape=shape)
    own = csr_array((np.ones(inner.size), (np.arange(inner.size), inner)), shape=shape)
    x = cvxpy.Variable(len(tree))
    problem = cvxpy.Problem(
        cvxpy.Minimize(cvxpy.sum_squares(cvxpy.multiply(1 / np.sqrt(variances), x - noisy))),
        [(own - sums) @ x == 0, x[tree.leaf_of_bin] >= 0],
    )
    problem.solve(solver=name, **SOLVERS[name])
    if problem.status not in {cvxpy.OPTIMAL, cvxpy.OPTIMAL_INACCURATE}:
        raise RuntimeError(f"{name} ended with {problem.status}")
    return float(problem.solver_stats.solve_time), float(problem.value)
