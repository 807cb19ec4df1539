"""How far residuals of public tables are from what fewer attributes predict: `SCALES` of residual allocation, and predictions.

For up to 40 sets of one to four columns of each of the twelve tables, two figures of the cells' deviations from uniform cells,
from independence, or from iterative proportional fitting of all marginals of one column less: their root mean square, in parts
of the mean count (`SCALES`); and half their sum, as a share of the records (`PUBLIC_DISTANCES` of
`dpopt.inference.interactions`; for one column the exponent of the Zipf distribution that is as even: `EXPONENTS`).
Printed are quantiles over the sets, every table with the same weight, for each half of the tables and for all. The tables are
read as `experiments.one_estimator` reads them.

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
TITLES = ("deviations", "distances, or exponents")


def deviations(table: Table, order: int) -> list[tuple[float, float]]:
    """Return both figures of each of up to 40 random sets of so many columns."""
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


def deviation(counts: NDArray[np.float64]) -> tuple[float, float]:
    """Return the root mean square of counts less their prediction, over the mean count; and their distance, or exponent."""
    predicted = np.full(counts.shape, counts.mean())
    for _ in range(STEPS if counts.ndim > 1 else 0):
        for axis in range(counts.ndim):
            # One column is fitted by the marginals of all others; for two columns that is independence.
            fitted = predicted.sum(axis=axis, keepdims=True)
            predicted *= counts.sum(axis=axis, keepdims=True) / np.maximum(fitted, 1e-12)
    root = float(np.sqrt(np.mean((counts - predicted) ** 2)) / counts.mean())
    if counts.ndim == 1:
        return root, exponent(counts)
    return root, float(np.abs(counts - predicted).sum() / counts.sum() / 2)


def exponent(counts: NDArray[np.float64]) -> float:
    """Return tau, 0 to 12, for which shares in proportion to rank^-tau have the same sum of square roots as a column's."""
    wanted = np.sqrt(counts / counts.sum()).sum()
    low, high = 0.0, 12.0
    for _ in range(40):
        middle = (low + high) / 2
        masses = np.arange(1.0, counts.size + 1) ** -middle
        even = np.sqrt(masses / masses.sum()).sum() > wanted
        low, high = (middle, high) if even else (low, middle)
    return low


def quantiles(weighted: Pairs) -> list[float]:
    """Return the quantiles of (value, weight), to two digits."""
    values, weights = np.array(sorted(weighted)).T
    reached = np.cumsum(weights) / weights.sum()
    return [float(f"{values[np.searchsorted(reached, one)]:.2g}") for one in QUANTILES]


def main() -> None:
    """Print the scales."""
    for order in range(1, ORDERS + 1):
        found = {name: deviations(load(name), order) for name in TABLES}
        groups = {"first half": HALVES[0], "second half": HALVES[1], "all": TABLES}
        for place, title in enumerate(TITLES):
            weighted = {name: [(one[place], 1 / len(own)) for one in own] for name, own in found.items()}
            for group, names in groups.items():
                over = quantiles([pair for name in names for pair in weighted[name]])
                print(order, title, group, over, flush=True)


if __name__ == "__main__":
    main()
