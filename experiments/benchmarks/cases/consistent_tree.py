"""Least squares over a tree of noisy counts, beside OpenDP's consistent tree."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.histograms.tree_least_squares import least_squares
from dpopt.queries.ranges.tree import Tree
from experiments.benchmarks.registry import Bar, Result, Setting, case
from experiments.runs import spread

BRANCHINGS = (2, 16)
SCALE = 17.0
Counts = NDArray[np.float64]


@case("How much faster than OpenDP's consistent tree is least squares over a tree of 65,536 leaves?")
def consistent_tree(setting: Setting) -> Result:
    """Measure both in turns on the same noisy tree, all nodes of one variance; the counts must agree."""
    leaves, repetitions = setting.pick((65_536, 25), (256, 1))
    rows, bars = [], []
    for branching in BRANCHINGS:
        tree = Tree.balanced(leaves, branching)
        generator = np.random.default_rng(branching)
        truth = tree.totals(generator.poisson(3.0, leaves).astype(np.float64))
        noisy = np.rint(truth + generator.laplace(scale=SCALE, size=len(tree)))
        variances = np.full(len(tree), 2 * SCALE**2)
        theirs = _opendp(branching, noisy)
        own, other = [], []
        for _ in range(repetitions + setting.warm_up):
            started = time.perf_counter()
            counts = least_squares(tree, noisy, variances)[tree.leaf_of_bin]
            between = time.perf_counter()
            expected = theirs()
            own.append(between - started)
            other.append(time.perf_counter() - between)
        if not np.allclose(counts, expected, rtol=0, atol=1e-6):
            raise RuntimeError(f"the counts differ from OpenDP's by up to {np.abs(counts - expected).max():g}")
        counted = slice(1 if setting.warm_up else 0, None)
        measured, peer = spread(own[counted]), spread(other[counted])
        ratio = peer["median"] / measured["median"]
        rows.append(
            {
                "leaves": leaves,
                "children": branching,
                "nodes": len(tree),
                "seconds": measured,
                "OpenDP make_consistent_b_ary_tree, seconds": peer,
                "times faster": ratio,
            }
        )
        bars.append(Bar(f"{branching} children, times faster", ratio, 20, at_least=True))
    return Result(rows, bars)


def _opendp(branching: int, noisy: Counts) -> Callable[[], Counts]:
    """Return OpenDP's transformation of the noisy tree, which it takes and gives as a list."""
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    consistent = opendp.t.make_consistent_b_ary_tree(branching)
    given = noisy.astype(np.int64).tolist()
    return lambda: np.asarray(consistent(given), dtype=np.float64)
