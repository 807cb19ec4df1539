"""Coarse tables of pairs: the dependence of columns in at most four parts, before all of their codes.

Noise on many small cells hides a trend that goes through all of them. Added up over parts of the columns it has a few
large cells, and an order of size of its own, by which it is shrunk first. What is found there becomes the prediction of
all cells: the table nearest to independence (iterative proportional fitting) that has these coarse cells.

Trends come first. With scores f_i of mean 0 and variance 1 for the parts of a column that have an order, a coarse table
is predicted to be

    m_ij = r_i c_j h(theta f_i g_j),    or r_i c_j h(theta_j f_i) where the other column has no order,

with r and c by the margins, and h(x) = 1 + x, or e^x below 0: Goodman's model of correlation, which two parts fit exactly,
without its negative cells. Each theta is found by least squares where h is linear, and shrunk by a mixture whose weights
all trends share. What cells say beyond them is shrunk after that.

The variance of the noise in a coarse cell: with noise s^2 along each direction of the residual of a pair, and g of n
codes in a part,

    s^2 (g_1 - g_1^2 / n_1) (g_2 - g_2^2 / n_2).

Residuals of coarse tables can be measured, too. They are centred over parts, and not over codes as cells are; but less
those of the prediction, which has the margins of the table but for one-way noise, both estimate how far the coarse table is
from the prediction, and add up by their precisions. Those of coarse tables follow from one-way marginals alone. Those of
cells follow from distances too, which are taken from what coarse tables predict: the sum is unbiased given the
precisions of cells only so far as these do not follow the noise of coarse tables.

All values are released ones: it costs no privacy.

Source: Goodman (1985), "The analysis of cross-classified data having ordered and/or unordered categories", for correlation
models.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from dpopt.inference.interactions import DOUBTS, MULTIPLES, ROUNDS, interaction_scales, shrunken_counts
from dpopt.inference.shrinkage import shrink
from dpopt.models.noise_budgets.residual_allocation import prices
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import cell_codes, coarse_cells, coarser, places_of, residuals_of, shapes_of

PARTS = 4
"""Parts of a column at most."""
_ROUNDS = 4  # of iterative proportional fitting to coarse tables and margins, which agree
_LEAST = 1e-9  # records in a cell
_MOST = 10.0  # natural logarithm of what a trend divides a cell by
_NONE = 1e-300  # a precision


def column_parts(
    shares: NDArray[np.float64], *, ordered: bool, missing: bool = False, alone: float = 0.0
) -> NDArray[np.int64]:
    """Return the part of each code of a column, (n,), from 0 to at most 3, given the shares of the codes.

    Parts of an ordered column follow one another and hold about as many records each; its last code is a part of its
    own if it stands for missing values. They are fewer where one would be a single code of a share below `alone`, whose
    cells share their noise with no others. Of another column the three most frequent codes are parts, and all others
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
    held = values / max(float(values.sum()), _LEAST)
    middles = np.cumsum(held) - held / 2
    divisions = [
        np.unique(np.minimum((number * middles).astype(np.int64), number - 1), return_inverse=True)[1]
        for number in range(most, 1, -1)
    ]
    wide = (each for each in divisions if not ((np.bincount(each) == 1) & (np.bincount(each, held) < alone)).any())
    parts = next(wide, divisions[0])
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
    ranked: NDArray[np.int64],
    likelihoods: NDArray[np.float64],
    measured: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> NDArray[np.float64]:
    """Return the predicted counts of all cells, (cells,), once coarse tables are known.

    `pairs` are marginals of two attributes, and `parts` (codes,) the part of each code of each attribute, one attribute
    after the other. `deviations` (cells,) are noisy residuals less those of the prediction, `variances` (M,) the s^2 of
    each pair, infinite where nothing was measured, and `predicted` (cells,) the counts under independence, whose
    margins stay. `ranked` (d,) is how many parts of each attribute follow one another, 0 where they have no order.
    `likelihoods` (M, 38) say what is known of each pair's distance
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
    independent = np.bincount(cells, predicted, some.size).astype(np.float64)
    before = _with_trends(noisy_trends(coarse, apart, noise, independent, ranked), independent)
    apart -= before - independent
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


@dataclass(frozen=True, slots=True)
class Trends:
    """Trends of tables of one shape, k in each of g tables."""

    cells: NDArray[np.int64]
    """Shape (g, rows, columns). Their places among the cells of all tables."""
    directions: NDArray[np.float64]
    """Shape (g, k, rows, columns). The direction of each, f_i g_j or f_i."""
    values: NDArray[np.float64]
    variances: NDArray[np.float64]
    """Shape (g, k). The noisy theta, and the variance of its noise."""


def noisy_trends(
    tables: MarginalSet,
    deviations: NDArray[np.float64],
    noise: NDArray[np.float64],
    predicted: NDArray[np.float64],
    ranked: NDArray[np.int64],
) -> list[Trends]:
    """Return the trends that deviations (cells,) of coarse tables suggest.

    `noise` (cells,) are variances, infinite where nothing was measured; `predicted` and `ranked` those of
    `coarse_predictions`. With m as predicted, theta along w is w . deviations / w^2 . m. The noise of residuals of a
    coarse table varies there as that of a cell times v^2 / (1 - 1 / rows) (1 - 1 / columns), where v is w less its means
    over rows and over columns; that of cells added up does so nearly.
    """
    found = []
    for group, shape in shapes_of(tables):
        ranks, cells = ranked[tables.attributes[group, :2]], places_of(tables.starts[group], prod(shape))
        known = np.isfinite(noise[cells[:, 0]])
        for axis, both in ((0, True), (0, False), (1, False)):  # whose scores, and whether the other one has some, too
            some = known & (ranks[:, axis] > 0) & ((ranks[:, 1 - axis] > 0) == both)
            if not some.any():
                continue
            places = cells[some].reshape(-1, *shape)
            before = predicted[places]
            faces = [_scores(before.sum(axis=2 - at), ranks[some, at]) for at in (0, 1)]
            other = faces[1][:, None] if both else np.tile(np.eye(shape[1 - axis]), (len(places), 1, 1))
            directions = np.einsum("gi,gkj->gkij" if axis == 0 else "gj,gki->gkij", faces[axis], other)
            lengths = np.maximum(np.einsum("gkij,gij->gk", directions**2, before), _LEAST)
            values = np.einsum("gkij,gij->gk", directions, deviations[places]) / lengths
            centred = directions - directions.mean(axis=2, keepdims=True)
            centred -= centred.mean(axis=3, keepdims=True)
            free = (1 - 1 / shape[0]) * (1 - 1 / shape[1])
            variances = np.einsum("gkij,gij->gk", centred**2, noise[places]) / (free * lengths**2)
            found.append(Trends(places, directions, values, variances))
    return found


def _with_trends(trends: list[Trends], predicted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return predicted counts, (cells,), once trends are shrunk and known; there are none that noise alone explains."""
    if not trends:
        return predicted
    values, variances = (
        np.concatenate([getattr(one, each).ravel() for one in trends]) for each in ("values", "variances")
    )
    energies = values**2 / variances
    if min(chdtrc(1, energies.max()) * values.size, chdtrc(values.size, energies.sum())) > DOUBTS[1]:
        return predicted
    kept, result = shrink(values, variances, np.ones(values.size), MULTIPLES).means, predicted.copy()
    ends = np.cumsum([one.values.size for one in trends])
    for one, theta in zip(trends, np.split(kept, ends[:-1]), strict=True):
        before = predicted[one.cells]
        rise = np.einsum("gk,gkij->gij", theta.reshape(one.values.shape), one.directions)
        block = before * np.where(rise < 0, np.exp(np.clip(rise, -_MOST, 0)), 1 + rise)
        for _ in range(ROUNDS):
            for axis in (1, 2):
                block *= before.sum(axis=axis, keepdims=True) / block.sum(axis=axis, keepdims=True)
        result[one.cells] = block
    return result


def _scores(counts: NDArray[np.float64], ranked: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return scores of parts, (g, n): of mean 0 and variance 1, evenly apart; 0 for those beyond the ranked ones, (g,)."""
    ranks = np.arange(counts.shape[1])
    shares = np.where(ranks < ranked[:, None], counts, 0.0) / np.maximum(counts.sum(axis=1, keepdims=True), _LEAST)
    mean = shares @ ranks / np.maximum(shares.sum(axis=1), _LEAST)
    centred = np.where(ranks < ranked[:, None], ranks - mean[:, None], 0.0)
    return np.asarray(centred / np.sqrt(np.maximum((shares * centred**2).sum(axis=1, keepdims=True), _LEAST)))


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
