"""Coarse tables of pairs: the dependence of columns in at most four parts, before all of their codes.

Noise on many small cells hides a trend that goes through all of them. Added up over parts of the columns it has a few
large cells, and an order of size of its own, by which it is shrunk first. What is found there becomes the prediction of
all cells: the table nearest to independence (iterative proportional fitting) that has these coarse cells.

The variance of the noise in a coarse cell: with noise s^2 along each direction of the residual of a pair, and g of n
codes in a part,

    s^2 (g_1 - g_1^2 / n_1) (g_2 - g_2^2 / n_2).

Residuals of coarse tables can be measured, too. They are centred over parts, and not over codes as cells are; but less
those of the prediction, which has the margins of the table but for one-way noise, both estimate how far the coarse table is
from the prediction, and add up by their precisions. Those of coarse tables follow from one-way marginals alone. Those of
cells follow from distances too, which are taken from what coarse tables predict: the sum is unbiased given the
precisions of cells only so far as these do not follow the noise of coarse tables.

All values are released ones: it costs no privacy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.interactions import interaction_scales, shrunken_counts
from dpopt.models.noise_budgets.residual_allocation import prices
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import cell_codes, coarse_cells, coarser, residuals_of

PARTS = 4
"""Parts of a column at most."""
_ROUNDS = 4  # of iterative proportional fitting
_LEAST = 1e-9  # records in a cell
_NONE = 1e-300  # a precision


def column_parts(shares: NDArray[np.float64], *, ordered: bool, missing: bool = False) -> NDArray[np.int64]:
    """Return the part of each code of a column, (n,), from 0 to at most 3, given the shares of the codes.

    Parts of an ordered column follow one another and hold about as many records each; its last code is a part of its
    own if it stands for missing values. Of another column the three most frequent codes are parts, and all others
    together.

    Examples
    --------
    >>> column_parts(np.array([0.1, 0.1, 0.1, 0.2, 0.1, 0.4]), ordered=True).tolist()
    [0, 0, 1, 1, 2, 3]
    >>> column_parts(np.array([0.1, 0.1, 0.1, 0.2, 0.1, 0.4]), ordered=False).tolist()
    [2, 3, 3, 1, 3, 0]
    """
    if shares.size <= PARTS:
        return np.arange(shares.size)
    if not ordered:
        parts = np.full(shares.size, PARTS - 1)
        parts[np.argsort(-shares, kind="stable")[: PARTS - 1]] = np.arange(PARTS - 1)
        return parts
    values, most = (shares[:-1], PARTS - 1) if missing else (shares, PARTS)
    middles = (np.cumsum(values) - values / 2) / max(float(values.sum()), _LEAST)
    parts = np.unique(np.minimum((most * middles).astype(np.int64), most - 1), return_inverse=True)[1]
    if not parts.any():  # one code holds nearly all records
        parts = (np.arange(values.size) > min(int(np.argmax(values)), values.size - 2)).astype(np.int64)
    return np.append(parts, parts.max() + 1) if missing else parts


def coarse_predictions(
    pairs: MarginalSet,
    parts: NDArray[np.int64],
    deviations: NDArray[np.float64],
    variances: NDArray[np.float64],
    predicted: NDArray[np.float64],
    size: float,
    *,
    likelihoods: NDArray[np.float64],
    measured: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> NDArray[np.float64]:
    """Return the predicted counts of all cells, (cells,), once coarse tables are known.

    `pairs` are marginals of two attributes, and `parts` (codes,) the part of each code of each attribute, one attribute
    after the other. `deviations` (cells,) are noisy residuals less those of the prediction, `variances` (M,) the s^2 of
    each pair, infinite where nothing was measured, and `predicted` (cells,) the counts under independence, whose
    margins stay. `likelihoods` (M, 38) say what is known of each pair's distance
    (`dpopt.inference.interactions.distance_likelihoods`), which that of its coarse table is at most. `measured`: noisy
    residuals of the coarse tables of all pairs, and their s^2, infinite where none was measured. Counts and residuals
    are in records.
    """
    coarse, cells, apart, precision = _coarse_deviations(pairs, parts, deviations, variances, predicted, measured)
    known = (precision[coarse.starts[:-1]] > 0) & (coarse.cells() < pairs.cells())
    if not known.any():
        return predicted
    some, block = np.repeat(known, coarse.cells()), np.maximum(predicted, _LEAST)
    noise, scales = np.full(some.size, np.inf), np.zeros(len(pairs))
    noise[some] = 1 / precision[some]
    before = np.bincount(cells, predicted, some.size).astype(np.float64)
    within = np.maximum.accumulate(likelihoods[known, ::-1], axis=1)[:, ::-1]
    chosen = coarse.take(np.flatnonzero(known))
    scales[known], _ = interaction_scales(chosen, apart[some], noise[some], before[some], size, within)
    wanted = shrunken_counts(coarse, apart, noise, before, scales, size)
    owner = np.repeat(np.arange(len(pairs)), pairs.cells()) * parts.size
    rows, columns = (np.unique(owner + codes, return_inverse=True)[1] for codes in cell_codes(pairs)[:2])
    goals = [(cells, wanted), *((faces, np.bincount(faces, predicted)) for faces in (rows, columns))]
    for _ in range(_ROUNDS):
        for places, goal in goals:
            block *= (np.maximum(goal, _LEAST) / np.bincount(places, block, goal.size))[places]
    return np.where(some[cells], block, predicted)


def with_coarse_tables(
    pairs: MarginalSet,
    parts: NDArray[np.int64],
    estimates: NDArray[np.float64],
    variances: NDArray[np.float64],
    predicted: NDArray[np.float64],
    measured: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return noisy residuals of pairs, (cells,), that agree with coarse tables, and their s^2, (M,).

    Parameters are those of `coarse_predictions`; `estimates` are noisy residuals. They move evenly over the cells of a
    part, where nothing was measured in proportion to predictions, and from these. Cells of s^2 then have the variance of
    coarse cells along the directions in which these move, in the mean.
    """
    known = np.repeat(np.isfinite(variances), pairs.cells())
    deviations = np.where(known, estimates - residuals_of(pairs, predicted), 0.0)
    coarse, cells, apart, _ = _coarse_deviations(pairs, parts, deviations, variances, predicted, measured)
    mass = np.where(known, 1.0, np.maximum(predicted, _LEAST))
    shares = mass / np.bincount(cells, mass)[cells]
    moved = (apart - np.bincount(cells, deviations, apart.size))[cells] * shares
    lengths = np.add.reduceat(shares**2, pairs.starts[:-1]) / coarse.cells() * prices(coarse) / prices(pairs)
    along = np.where(np.isfinite(variances), variances, measured[1] * lengths)
    return residuals_of(pairs, predicted + deviations + moved), along


def _coarse_deviations(
    pairs: MarginalSet,
    parts: NDArray[np.int64],
    deviations: NDArray[np.float64],
    variances: NDArray[np.float64],
    predicted: NDArray[np.float64],
    measured: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
) -> tuple[MarginalSet, NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return coarse tables, the cell of theirs of each cell, and the deviations of their cells with their precisions."""
    coarse = MarginalSet(coarser(pairs.domains, parts), pairs.attributes)
    cells = coarse_cells(pairs, coarse, parts)
    size, domains = coarse.number_of_cells, coarse.domains
    codes = np.bincount(np.repeat(domains.starts, pairs.domains.counts) + parts)  # in each part
    spread = codes * (1 - codes / np.repeat(pairs.domains.counts, domains.counts))
    one, other = cell_codes(coarse)[:2]
    precision = 1 / (np.repeat(variances, coarse.cells()) * spread[one] * spread[other])
    apart = np.bincount(cells, deviations, size).astype(np.float64)
    if measured is None:
        return coarse, cells, apart, precision
    own = measured[0] - residuals_of(coarse, np.bincount(cells, predicted, size).astype(np.float64))
    more = 1 / np.repeat(measured[1] * prices(coarse), coarse.cells())
    return coarse, cells, (precision * apart + more * own) / np.maximum(precision + more, _NONE), precision + more
