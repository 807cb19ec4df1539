"""Coarse tables of pairs: what columns in at most four parts say of each other, before all of their codes.

Noise on many small cells hides a trend that goes through all of them. Added up over parts of the columns it has a few
large cells, and an order of size of its own, by which it is shrunk first. What is found there becomes the prediction of
all cells: the table nearest to independence (iterative proportional fitting) that has these coarse cells.

The variance of the noise in a coarse cell: with noise s^2 along each direction of the residual of a pair, and g of n
codes in a part,

    s^2 (g_1 - g_1^2 / n_1) (g_2 - g_2^2 / n_2).

Residuals of coarse tables can be measured, too. They are centred over parts, and not over codes as cells are; but less
those of the prediction, which has the margins of the table but for one-way noise, both estimate how far the coarse table is
from the prediction, and add up by their precisions. A precision never follows from noise of the residual that it
weighs: factors of cells follow from distances, those of coarse tables from one-way marginals.

All values are released ones: it costs no privacy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.interactions import interaction_scales, shrunken_counts
from dpopt.models.noise_budgets.residual_allocation import prices
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import coarser, residuals_of

PARTS = 4
"""Parts of a column at most."""
_ROUNDS = 4  # of iterative proportional fitting
_LEAST = 1e-9  # records in a cell


def column_parts(shares: NDArray[np.float64], *, ordered: bool, missing: bool = False) -> NDArray[np.int64]:
    """Return the part of each code of a column, (n,), from 0 to at most 3.

    Parameters
    ----------
    shares : (n,) float64
        Of the codes, at least 0, of sum 1.
    ordered
        Parts of an ordered column follow one another and hold about as many records each. Of another column the three
        most frequent codes are parts, and all others together.
    missing
        Whether the last code stands for missing values: it is a part of an ordered column.

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

    Parameters
    ----------
    pairs
        Marginals of two attributes.
    parts : (codes,) int64
        The part of each code of each attribute, one attribute after the other.
    deviations : (cells,) float64
        Noisy residuals less those of the prediction, in records.
    variances : (M,) float64
        s^2 of each pair; infinite where nothing was measured.
    predicted : (cells,) float64
        Counts under independence. Their margins stay.
    size
        The number of records.
    likelihoods : (M, 38) float64
        What is known of each pair's distance (`dpopt.inference.interactions.distance_likelihoods`), which that of its
        coarse table is at most.
    measured : (coarse cells,) and (M,) float64, optional
        Noisy residuals of the coarse tables of all pairs, in records, and their s^2; infinite where none was measured.
    """
    domains = pairs.domains
    whole, _ = coarser(pairs, parts)
    known = np.isfinite(variances) if measured is None else np.isfinite(np.minimum(variances, measured[1]))
    known &= whole.cells() < pairs.cells()
    if not known.any():
        return predicted
    mask, result = np.repeat(known, pairs.cells()), predicted.copy()
    fine = pairs.take(np.flatnonzero(known))
    coarse, cells = coarser(fine, parts)
    first, second = _codes_of(fine)
    codes = np.bincount(np.repeat(coarse.domains.starts, domains.counts) + parts)  # in each part
    spread = codes * (1 - codes / np.repeat(domains.counts, coarse.domains.counts))
    one, other = _codes_of(coarse)
    precision = 1 / (np.repeat(variances[known], coarse.cells()) * spread[one] * spread[other])
    block = predicted[mask]
    before, apart = (
        np.bincount(cells, each, coarse.number_of_cells).astype(np.float64) for each in (block, deviations[mask])
    )
    if measured is not None:
        own = measured[0][np.repeat(known, whole.cells())] - residuals_of(coarse, before)
        more = 1 / np.repeat(measured[1][known] * prices(coarse), coarse.cells())
        apart = (precision * apart + more * own) / (precision + more)
        precision += more
    noise = 1 / precision
    within = np.maximum.accumulate(likelihoods[known, ::-1], axis=1)[:, ::-1]
    scales, _ = interaction_scales(coarse, apart, noise, before, size, within)
    wanted = shrunken_counts(coarse, apart, noise, before, scales, size)
    owner, width = np.repeat(np.arange(len(fine)), fine.cells()), int(domains.counts.sum())
    rows, columns = (np.unique(owner * width + codes, return_inverse=True)[1] for codes in (first, second))
    goals = [(cells, wanted), *((faces, np.bincount(faces, block)) for faces in (rows, columns))]
    block = np.maximum(block, _LEAST)
    for _ in range(_ROUNDS):
        for places, goal in goals:
            block *= (np.maximum(goal, _LEAST) / np.bincount(places, block, goal.size))[places]
    result[mask] = block
    return result


def _codes_of(pairs: MarginalSet) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the place of both codes of each cell, (cells,), where all codes of attributes follow one another."""
    cells, starts = pairs.cells(), pairs.domains.starts[pairs.attributes]
    local = np.arange(pairs.number_of_cells) - np.repeat(pairs.starts[:-1], cells)
    second = np.repeat(pairs.domains.counts[pairs.attributes[:, 1]], cells)
    return np.repeat(starts[:, 0], cells) + local // second, np.repeat(starts[:, 1], cells) + local % second
