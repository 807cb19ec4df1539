"""One setting of the experiment: the errors of runs, their means and their standard deviations."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpopt
from experiments.error_falls.tables import load
from experiments.experiment import Result
from experiments.one_estimator.tables import Table

FIGURES = {"tv": "total variation", "largest": "largest error", "means": "group means"}
BOUNDS = {"product": 1.03, "independent": 1.10}
"""How many times the error of the release's own product, and of independent columns, a release may have."""
MOST_PAIRS = 300

Shares = NDArray[np.float64]


def measured(setting: tuple[str, float, int]) -> Result:
    """Return the mean of every error over runs, and the standard deviations that the comparisons need."""
    name, epsilon, runs = setting
    table = load(name)
    found = np.array([errors(table, epsilon) for _ in range(runs)])  # (runs, release or baseline, figure)
    row: Result = {"table": name, "epsilon": epsilon, "runs": runs}
    for place, figure in enumerate(FIGURES):
        release, *others = found[:, :, place].T
        excess = [release - bound * other for bound, other in zip(BOUNDS.values(), others, strict=True)]
        row[figure] = {
            "means": " ".join(f"{one.mean():.6g}" for one in (release, *others)),
            "deviations": " ".join(f"{one.std(ddof=1) if runs > 1 else 0:.3g}" for one in (release, *excess)),
        }
    return row


def errors(table: Table, epsilon: float) -> list[list[float]]:
    """Return total variation, largest error and group-mean error of a release, of its product, and of independent columns.

    The product has the one-way shares of the release's rows; independent columns those of a release that asks for them alone.
    """
    import pandas as pd

    frame, size = pd.DataFrame(table.codes, columns=list(table.names)), len(table.codes)
    terms: dict[str, Any] = {"epsilon": epsilon, "delta": min(1e-6, table.delta), "n0": size, "predict": False}
    release, alone = (dpopt.release(frame, table.schema, *asked, **terms).records for asked in ((), ("marginals:1",)))
    pairs = list(itertools.combinations(np.flatnonzero(table.sizes > 1).tolist(), 2))
    if len(pairs) > MOST_PAIRS:
        chosen = np.random.default_rng(0).choice(len(pairs), MOST_PAIRS, replace=False)
        pairs = [pairs[place] for place in chosen.tolist()]
    found: list[list[list[float]]] = [[], [], []]
    for pair in pairs:
        real, made, apart = (
            pair_shares(codes, weights, table.sizes[list(pair)])
            for codes, weights in (
                (table.codes[:, list(pair)], None),
                *((np.asarray(one.held)[:, list(pair)], one.weights) for one in (release, alone)),
            )
        )
        for place, shares in enumerate((made, _product(made), _product(apart))):
            off = np.abs(shares - real)
            means = [group_means(real, shares), group_means(real.T, shares.T)]
            found[place].append([float(off.sum()) / 2, float(off.max()), float(np.mean(means))])
    return [
        [float(tv.mean()), float(largest.max()), float(means.mean())]
        for tv, largest, means in (np.array(one).T for one in found)
    ]


def pair_shares(codes: NDArray[np.integer], weights: Shares | None, sizes: NDArray[np.integer]) -> Shares:
    """Return the share of records in every cell of two columns, given their codes (n, 2)."""
    cells = np.ravel_multi_index(tuple(codes.T), tuple(sizes.tolist()))
    counts = np.bincount(cells, weights, int(np.prod(sizes))).reshape(sizes)
    return np.asarray(counts / counts.sum())


def _product(shares: Shares) -> Shares:
    return np.outer(shares.sum(axis=1), shares.sum(axis=0))


def group_means(real: Shares, made: Shares) -> float:
    """Return the error of the means of the second column's codes within the first one's values, in standard deviations.

    Root mean square over the table's own groups; a group that was not made has the mean of all.
    """
    codes = np.arange(real.shape[1], dtype=np.float64)
    mean, square = real.sum(axis=0) @ codes, real.sum(axis=0) @ codes**2
    groups, ours = real.sum(axis=1), made.sum(axis=1)
    held = groups > 0
    own = real[held] @ codes / groups[held]
    guessed = np.where(ours[held] > 0, made[held] @ codes / np.maximum(ours[held], 1e-12), made.sum(axis=0) @ codes)
    deviation = np.sqrt(max(square - mean**2, 0.0)) if np.count_nonzero(real.sum(axis=0)) > 1 else 0.0
    return float(np.sqrt(groups[held] @ (guessed - own) ** 2) / deviation) if deviation > 0 else 0.0
