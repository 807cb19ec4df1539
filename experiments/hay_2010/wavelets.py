"""Haar wavelets (Privelet) beside trees at the same budget: exact variances of ranges, and a check by draws.

The total of all bins, and for each inner node of the binary tree the left half minus the right half, each with noise of
scale l / epsilon as H~ has it on its l levels: a record is in the total and in one difference of each of the l - 1 other
levels, and moves each by 1. A bin is total / n plus or minus difference / size for the nodes around it.

Source: Xiao, Wang and Gehrke (2010); Li et al. (2010) for the comparison with a binary tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.inference.histograms.tree_least_squares import range_variances
from dpopt.models.noise_budgets.least_variance import least_of_ranges
from dpopt.queries.ranges.tree import Tree
from dpopt.synopses.histograms.histogram_plan import plan_blocks
from dpopt.synopses.histograms.wave_plan import plan_waves
from experiments.documents import captioned
from experiments.hay_2010.draws import discrete_laplace, generator, variance
from experiments.hay_2010.tree_sums import levels_of, prefix_sums, sums_of_fewest_nodes

Result = dict[str, Any]
Ranges = NDArray[np.int64]
Variances = Callable[[Ranges, Ranges], NDArray[np.float64]]
SINGLE, TREE, LEAST_SQUARES, WAVELETS = "L~", "H~", "H-bar", "wavelets"
BLOCKS, WAVES = "dpopt, blocks", "dpopt, waves"
EPSILON, RHO = 0.01, 5e-5
"""Small, so that discrete noise has the variance of the continuous one."""


def wavelet_variances(bins: int, starts: Ranges, stops: Ranges) -> NDArray[np.float64]:
    """Return the variances of ranges start, ..., stop - 1 from wavelets, (q,), in variances of one measurement."""
    total = ((stops - starts) / bins) ** 2
    for size in 2 ** np.arange(1, bins.bit_length()):
        begun, ended = (size // 2 - np.abs(ends % size - size // 2) for ends in (starts, stops))  # left minus right
        same = starts // size == stops // size
        total += np.where(same, (ended - begun) ** 2, begun**2 + ended**2) / size**2
    return np.asarray(total)


def wavelet_bins(noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the errors of the bins (m, n) that noise (m, n) on the total and on the differences, level by level, makes."""
    bins = noise.shape[1]
    sums = noise[:, :1]
    while (nodes := sums.shape[1]) < bins:
        differences = noise[:, nodes : 2 * nodes]
        sums = np.stack([(sums + differences) / 2, (sums - differences) / 2], axis=2).reshape(len(noise), 2 * nodes)
    return np.asarray(sums)


def measure(bins: int, draws: int) -> Result:
    """Return exact mean variances of ranges by size and of all ranges, times epsilon^2 / 2 (pure) or 2 rho (Gaussian)."""
    sizes = [2**power for power in range(bins.bit_length())]
    return {
        "bins": bins,
        "sizes": sizes,
        "pure": {name: _means(of, bins, sizes) for name, of in _pure(bins).items()},
        "gaussian": {name: _means(of, bins, sizes) for name, of in _gaussian(bins).items()},
        "least": least_of_ranges(bins),
        "drawn": _drawn(bins, draws),
    }


def _tree_variances(bins: int) -> dict[str, Variances]:
    """Return the variances of H~, H-bar and wavelets in variances of one measurement."""
    tree = Tree.balanced(bins, 2)
    ones, equal = levels_of(tree, np.ones((1, len(tree)))), np.ones(len(tree))
    return {
        TREE: lambda starts, stops: sums_of_fewest_nodes(ones, starts[None, :], stops[None, :])[0],
        LEAST_SQUARES: lambda starts, stops: range_variances(tree, equal, starts, stops),
        WAVELETS: lambda starts, stops: wavelet_variances(bins, starts, stops),
    }


def _pure(bins: int) -> dict[str, Variances]:
    plan = plan_blocks(bins, Budget(EPSILON, 0.0, None, Accountant.PURE), ranges="all")
    found: dict[str, Variances] = {SINGLE: lambda starts, stops: np.asarray(stops - starts, dtype=np.float64)}
    found |= {name: _times(of, bins.bit_length() ** 2) for name, of in _tree_variances(bins).items()}
    return {**found, BLOCKS: _times(plan.range_variances, EPSILON**2 / 2)}


def _gaussian(bins: int) -> dict[str, Variances]:
    budget = Budget(None, 1e-9, RHO, Accountant.ZCDP)
    plans = {
        BLOCKS: plan_blocks(bins, budget, ranges="all"),
        WAVES: plan_waves(bins, budget, ranges="all", relation=NeighbouringRelation.ADD_REMOVE),
    }
    found: dict[str, Variances] = {SINGLE: lambda starts, stops: np.asarray(stops - starts, dtype=np.float64)}
    found |= {name: _times(of, bins.bit_length()) for name, of in _tree_variances(bins).items()}
    return found | {name: _times(plan.range_variances, 2 * RHO) for name, plan in plans.items()}


def _times(variances: Variances, factor: float) -> Variances:
    return lambda starts, stops: variances(starts, stops) * factor


def _means(variances: Variances, bins: int, sizes: list[int]) -> list[float]:
    """Return the mean over all positions of each size, and last over all ranges."""
    by_size = []
    for size in range(1, bins + 1):
        starts = np.arange(bins - size + 1, dtype=np.int64)
        by_size.append(float(variances(starts, starts + size).mean()))
    every = float(np.average(by_size, weights=np.arange(bins, 0, -1)))
    return [*(by_size[size - 1] for size in sizes), every]


def _drawn(bins: int, draws: int) -> Result:
    """Return the mean squared errors of all ranges of some sizes over many draws, over the exact variances."""
    scale, randomness = bins.bit_length() / 1.0, generator("wavelets", bins)
    errors = wavelet_bins(discrete_laplace(randomness, (draws, bins), scale).astype(np.float64))
    sums, found = prefix_sums(errors), []
    for size in (1, bins // 8, bins // 2):
        starts = np.arange(bins - size + 1, dtype=np.int64)
        exact = wavelet_variances(bins, starts, starts + size).mean() * variance(scale)
        found.append(float(np.mean((sums[:, size:] - sums[:, :-size]) ** 2) / exact))
    return {"draws": draws, "over_exact": found}


def wavelet_tables(results: list[Result]) -> Iterator[str]:
    """Yield the exact variances of each method, and wavelets over H-bar."""
    for result in results:
        headings = ["method", *(f"{size:,}" for size in result["sizes"]), "all ranges"]
        for key, unit in (("pure", "2 / epsilon^2"), ("gaussian", "1 / (2 rho)")):
            rows = result[key]
            cells = [[name, *(f"{value:.4g}" for value in row)] for name, row in rows.items()]
            ratios = [one / other for one, other in zip(rows[WAVELETS], rows[LEAST_SQUARES], strict=True)]
            cells.append(["wavelets / H-bar", *(f"{ratio:.3f}" for ratio in ratios)])
            least = f"; no strategy is below {result['least']:.4g} for all ranges" if key == "gaussian" else ""
            yield from captioned(
                f"**Wavelets**: {result['bins']:,} bins, {key}: exact mean variance by size of range, in units of "
                f"{unit}{least}",
                headings,
                cells,
            )
        drawn = result["drawn"]
        yield (
            f"Squared errors of wavelets in {drawn['draws']:,} draws over the exact variance, single bins, an eighth "
            f"and half of the bins: {', '.join(f'{one:.3f}' for one in drawn['over_exact'])}."
        )
        yield ""
