"""How far residuals of public tables are from what fewer attributes predict: the `SCALES` of residual allocation.

For up to 40 sets of one to four columns of each of the twelve tables: the root mean square of the cells' deviations, in
parts of their mean count, from uniform cells, from independence, or from iterative proportional fitting of all marginals
of one column less. Printed are quantiles over the sets, every table with the same weight, for each half of the tables and for
all. The tables are read as `experiments.one_estimator` reads them.

    python -m experiments.residual_scales
"""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from experiments.one_estimator.tables import HALVES, TABLES, Table, load

ORDERS, SETS, MOST_CELLS, STEPS, SEED = 4, 40, 200_000, 20, 5
QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9)
Pairs = list[tuple[float, float]]


def deviations(table: Table, order: int) -> list[float]:
    """Return the relative deviation of each of up to 40 random sets of so many columns."""
    every = [
        one
        for one in combinations(range(len(table.sizes)), order)
        if prod(table.sizes[list(one)].tolist()) <= MOST_CELLS and table.sizes[list(one)].min() > 1
    ]
    chosen = np.random.default_rng(SEED).permutation(len(every))[:SETS]
    return [deviation(counts_of(table, every[place])) for place in chosen]


def counts_of(table: Table, columns: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the counts of a marginal, one axis for each column."""
    shape = table.sizes[list(columns)].tolist()
    cells = np.ravel_multi_index(tuple(table.codes[:, list(columns)].T), shape)
    return np.bincount(cells, minlength=prod(shape)).reshape(shape).astype(np.float64)


def deviation(counts: NDArray[np.float64]) -> float:
    """Return the root mean square of counts less their prediction, over the mean count."""
    predicted = np.full(counts.shape, counts.mean())
    for _ in range(STEPS if counts.ndim > 1 else 0):
        for axis in range(counts.ndim):
            # One column is fitted by the marginals of all others; for two columns that is independence.
            fitted = predicted.sum(axis=axis, keepdims=True)
            predicted *= counts.sum(axis=axis, keepdims=True) / np.maximum(fitted, 1e-12)
    return float(np.sqrt(np.mean((counts - predicted) ** 2)) / counts.mean())


def quantiles(weighted: Pairs) -> list[float]:
    """Return the quantiles of (value, weight), to two digits."""
    values, weights = np.array(sorted(weighted)).T
    reached = np.cumsum(weights) / weights.sum()
    return [float(f"{values[np.searchsorted(reached, one)]:.2g}") for one in QUANTILES]


def main() -> None:
    """Print the scales."""
    for order in range(1, ORDERS + 1):
        found = {name: deviations(load(name), order) for name in TABLES}
        weighted = {name: [(value, 1 / len(values)) for value in values] for name, values in found.items()}
        groups = {"first half": HALVES[0], "second half": HALVES[1], "all": TABLES}
        for title, names in groups.items():
            print(order, title, quantiles([pair for name in names for pair in weighted[name]]), flush=True)


if __name__ == "__main__":
    main()
