"""Interactions, the part of marginals beyond those of fewer attributes: predictions, spread, and useful precisions.

Sets of attributes are taken order by order. A marginal of k attributes is predicted from those of k - 1: the table of
most entropy with these margins, found by iterative proportional fitting; for k = 2 that is independence, for k = 3 no
interaction of all three. What a set really says lies around the prediction like

    theta_c ~ Normal(0, size t m_c),    m_c the predicted count of cell c, t the scale of the set,

and its scale is estimated from noisy residuals and noisy distances together. All values are released ones: it costs no privacy.

Source: Deming and Stephan (1940) for iterative proportional fitting; Robbins (1956) for empirical Bayes.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr

from dpopt.errors import ProgramError
from dpopt.inference.shrinkage import ScaleMixture, shrink
from dpopt.models.noise_budgets.residual_allocation import prices
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import places_of, shapes_of

ROUNDS = 15
"""Of iterative proportional fitting."""
CLOSE = 1e-6
"""Tables have their margins where no cell moves by more than this share of all records."""
LEAST_COUNT = 1e-6
"""Margins are taken to hold at least this number of records, so that no cell is impossible for ever."""

QUANTILES = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
PUBLIC_DISTANCES = np.array(
    [[0.001, 0.018, 0.052, 0.1, 0.29], [0.001, 0.0032, 0.013, 0.028, 0.067], [0.001, 0.001, 0.0051, 0.018, 0.06]]
)
"""Distances (half the L1 norm, in shares) of sets of two, three, and four or more columns from the prediction by fewer:
their `QUANTILES` over twelve public tables (experiments/one_estimator), at least .001."""

DISTANCES = np.concatenate(([1e-4], np.geomspace(5e-4, 1.0, 37)))
"""The grid of distances."""
STEPS = 60
"""Steps of the EM by which sets of one order share a typical distribution."""
MULTIPLES = ScaleMixture.grid(np.geomspace(1e-3, 1e2, 11), (1.0,), floor=0.01)
"""Multiples of the variance of a set's interaction that its cells may have."""
CENTRED = 6
"""Rounds in which deviations lose their margins."""
DOUBTS = (0.02, 0.005)
"""Deviations as large as those of order one, or of a higher order, are noise where noise alone has them so often."""
UNHEARD = 0.05
"""Noisy distances of an order are noise where noise alone has one, or a sum, as large so often."""
_SPREAD = np.array([1.0, 2.0, 3.0, 2.0, 1.0]) / 9  # chances of distances are smooth
_SEEN = 2.5  # as if so many sets of public tables had been seen
_TINY = 1e-12  # records in some cells
_LOWERED = 3  # rounds in which tables become the nearest ones, before they are raked alone
_INEXACT = 0.15  # standard deviation of a set's distance around the mean of its scale, as a part of it


def predicted_counts(
    marginals: MarginalSet, lower: MarginalSet, values: NDArray[np.float64], size: float
) -> NDArray[np.float64]:
    """Return counts, (cells,), under the assumption that all attributes together add nothing to all but one of them.

    The marginals have k attributes each, increasing. `lower` holds every set of k - 1 of these, and `values` (cells of
    the lower ones,) their counts, at least 0; for k = 1, which is predicted to be uniform, they are not looked at.

    Examples
    --------
    >>> from dpopt.schema.domains import Domains
    >>> two = Domains(np.array([2, 2]), np.array([0, 2]), np.array([0, 1, 0, 1]))
    >>> pair, each = MarginalSet(two, np.array([[0, 1]])), MarginalSet(two, np.array([[0], [1]]))
    >>> predicted_counts(pair, each, np.array([8.0, 2.0, 5.0, 5.0]), 10.0)
    array([4., 4., 1., 1.])
    """
    result = np.empty(marginals.number_of_cells)
    for cells, margins in _cells_and_margins(marginals, lower, np.maximum(values, LEAST_COUNT)):
        block = np.full(cells.shape, size / prod(cells.shape[1:]))
        for _ in range(ROUNDS if len(margins) > 2 else 1):
            for axis, goal in enumerate(margins, start=1):
                block *= goal / block.sum(axis=axis, keepdims=True)
        result[cells] = block
    return result


def with_margins(
    marginals: MarginalSet, lower: MarginalSet, values: NDArray[np.float64], counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return counts, (cells,), that have these margins nearly: at least 0, and what attributes say of each other stays.

    Parameters are those of `predicted_counts`; `counts` (cells,) are at least 0. Where cells are too large together, each
    first falls by as much, and none below 0 (the nearest table), since noise lifts the many small ones; where they are too
    small, and in later rounds, all change by the same factor, so that none is lifted from 0.

    Examples
    --------
    >>> from dpopt.schema.domains import Domains
    >>> two = Domains(np.array([2, 2]), np.array([0, 2]), np.array([0, 1, 0, 1]))
    >>> pair, each = MarginalSet(two, np.array([[0, 1]])), MarginalSet(two, np.array([[0], [1]]))
    >>> with_margins(pair, each, np.array([5.0, 6.0, 4.0, 7.0]), np.array([5.0, 1.0, 0.0, 5.0])).round(3)
    array([4., 1., 0., 6.])
    """
    result = counts.copy()
    for cells, margins in _cells_and_margins(marginals, lower, values):
        block = counts[cells]
        for turn in range(ROUNDS):
            before = block
            for axis, goal in enumerate(margins, start=1):
                whole = block.sum(axis=axis, keepdims=True)
                raked = block * (goal / np.maximum(whole, _TINY))
                block = raked if turn >= _LOWERED else np.where(whole > goal, _lowered(block, goal, axis), raked)
            if np.abs(block - before).max() <= CLOSE * block[0].sum():
                break
        result[cells] = block
    return result


def _cells_and_margins(
    marginals: MarginalSet, lower: MarginalSet, values: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.int64], list[NDArray[np.float64]]]]:
    """Yield the places of the cells of all marginals of a shape, (g, *shape), and their margins, one for each attribute.

    That of an attribute is the sum over it; those of one attribute have none.
    """
    width = int(marginals.widths().max())
    known = {tuple(row): place for place, row in enumerate(lower.attributes[:, : width - 1].tolist())}
    for group, shape in shapes_of(marginals):
        margins = []
        for axis in range(width) if width > 1 else ():
            rows = np.delete(marginals.attributes[group, :width], axis, axis=1)
            try:
                found = np.array([known[tuple(row)] for row in rows.tolist()], dtype=np.int64)
            except KeyError as error:
                raise ProgramError(f"marginals: the margin over {error.args[0]} is missing") from None
            face = shape[:axis] + shape[axis + 1 :]
            held = values[places_of(lower.starts[found], prod(face))].reshape(group.size, *face)
            margins.append(np.expand_dims(held, axis + 1))
        yield places_of(marginals.starts[group], prod(shape)).reshape(-1, *shape), margins


def _lowered(block: NDArray[np.float64], goal: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Return the nearest cells of at least 0 that sum to `goal`, 0 or more, along an axis."""
    falling = -np.sort(-block, axis=axis)
    shape = [-1 if other == axis else 1 for other in range(block.ndim)]
    levels = (np.cumsum(falling, axis=axis) - goal) / np.arange(1, block.shape[axis] + 1).reshape(shape)
    last = np.maximum((falling > levels).sum(axis=axis, keepdims=True) - 1, 0)
    return np.maximum(block - np.take_along_axis(levels, last, axis=axis), 0.0)


def distance_likelihoods(
    distances: NDArray[np.float64], scale: float, size: int, own: NDArray[np.float64] | float = 0.0
) -> NDArray[np.float64]:
    """Return the logarithm of how likely noisy L1 distances in records, (S,), are for each of `DISTANCES`, (S, 38).

    `scale` is the standard deviation of the noise, in records, and `own` how far noise alone moves each prediction, (S,):
    it adds to the distance as independent errors do, and no measurement of the set would mend it.
    """
    true = np.hypot(2.0 * size * DISTANCES, np.asarray(own)[..., None])
    spread = np.sqrt(scale**2 + (_INEXACT * true) ** 2)
    return np.asarray(-0.5 * ((distances[:, None] - true) / spread) ** 2 - np.log(spread))


def says_something(distances: NDArray[np.float64], scale: float, own: NDArray[np.float64]) -> bool:
    """Return whether the noisy distances of an order are more than noise: one of them, or all together.

    Parameters are those of `distance_likelihoods`. Of an order that says nothing, that is so with a probability of about
    2 `UNHEARD` at most (own noise is taken to be normal).

    Examples
    --------
    >>> says_something(np.array([30.0, 0.0, 10.0]), 20.0, np.zeros(3))
    False
    >>> says_something(np.array([90.0, 0.0]), 20.0, np.zeros(2))
    True
    """
    deviations = (distances - own) / np.hypot(scale, _INEXACT * own)
    chances = deviations.size * ndtr(-deviations.max()), ndtr(-deviations.sum() / np.sqrt(deviations.size))
    return bool(min(chances) <= UNHEARD)


def likely_distances(likelihoods: NDArray[np.float64], order: int) -> NDArray[np.float64]:
    """Return the probability of each of `DISTANCES` for each set of an order, (S, 38), given logarithms of likelihoods.

    How frequent distances are is found by EM over all sets, which starts from public tables. A set of which some distances
    are impossible (-inf) tells nothing about these: otherwise many skewed columns would make all distances seem small.
    """
    likelihood = np.exp(likelihoods - likelihoods.max(axis=1, keepdims=True))
    possible = np.isfinite(likelihoods)
    public = _public_chances(order)
    frequent = public
    for _ in range(STEPS):
        shares = likelihood * frequent
        shares /= shares.sum(axis=1, keepdims=True)
        found = (possible @ frequent) @ shares + frequent * np.count_nonzero(~possible, axis=0)
        frequent = np.convolve(np.pad(found + _SEEN * public, 2, mode="edge"), _SPREAD, "valid")
        frequent /= frequent.sum()
    shares = likelihood * frequent
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _public_chances(order: int) -> NDArray[np.float64]:
    """Return how frequent each of `DISTANCES` is in public tables, (38,); of one attribute, nothing is expected."""
    if order == 1:
        return np.full(DISTANCES.size, 1 / DISTANCES.size)
    known = PUBLIC_DISTANCES[min(order, len(PUBLIC_DISTANCES) + 1) - 2]
    ends = np.concatenate((DISTANCES[:1], np.sqrt(DISTANCES[:-1] * DISTANCES[1:]), DISTANCES[-1:]))
    points = np.concatenate((DISTANCES[:1], known, DISTANCES[-1:]))
    below = np.interp(np.log(ends), np.log(points), np.concatenate(([0.0], QUANTILES, [1.0])))
    chances = np.diff(below) + 1e-6
    return np.asarray(chances / chances.sum())


def scales_at_distances(marginals: MarginalSet, predicted: NDArray[np.float64], size: float) -> NDArray[np.float64]:
    """Return the scale t of each set, (M, 38), at which its mean distance is each of `DISTANCES`.

    The distance is sqrt(2 t / pi) sum sqrt(m_c) in the mean, in parts of two records for each record: where few cells
    hold most records, few deviate, and by much.
    """
    roots = np.add.reduceat(np.sqrt(np.maximum(predicted, LEAST_COUNT)), marginals.starts[:-1])
    return np.asarray(np.pi / 2 * (2 * size * DISTANCES / roots[:, None]) ** 2 / size)


def interaction_scales(
    marginals: MarginalSet,
    deviations: NDArray[np.float64],
    noise: NDArray[np.float64],
    predicted: NDArray[np.float64],
    size: float,
    likelihoods: NDArray[np.float64] | float = 0.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two scales t of each set, (M,): one that shrinks its cells as all likely ones do in the mean, and their mean.

    The marginals are of one order. `deviations` (cells,) are noisy residuals less those of the prediction, `noise`
    (cells,) the variances of their noise, above 0, `predicted` (cells,) counts of at least 0, all in records;
    `likelihoods` (M, 38) say what else is known of each set's distance (`distance_likelihoods`).

    Each cell is Normal(0, size t m_c + noise). Cells of a set are not independent: its N cells have p N directions, p =
    prod (1 - 1 / n_i), so that their likelihoods count p times. To shrink by their mean would take most of the noise
    for what a set says wherever noise hides it. Where noise alone explains all deviations of an order, together and of
    each set, nothing is said. Of an order that says nothing, predictions so stay with a probability of at least 1 - 2
    `DOUBTS`: their energies are chi-squared exactly, and it fails if one of two tests does.
    """
    free, cells, starts = prices(marginals), marginals.cells(), marginals.starts[:-1]
    scales = scales_at_distances(marginals, predicted, size)
    logs = np.empty_like(scales)
    for place in range(DISTANCES.size):  # a loop over 38 distances
        spread = np.maximum(size * np.repeat(scales[:, place], cells) * predicted + noise, 1e-12)
        logs[:, place] = -0.5 * free * np.add.reduceat(np.log(spread) + deviations**2 / spread, starts)
    order = int(marginals.widths().max())
    likely = likely_distances(logs + likelihoods, order)
    mean = (likely * scales).sum(axis=1)
    energies = free * np.add.reduceat(deviations**2 / noise, starts)
    chances = chdtrc(free * cells, energies).min() * len(marginals), chdtrc((free * cells).sum(), energies.sum())
    if min(chances) > DOUBTS[min(order, 2) - 1]:
        return np.zeros(len(marginals)), mean
    own = np.add.reduceat(noise, starts) / (size * np.maximum(np.add.reduceat(predicted, starts), LEAST_COUNT))
    lost = (likely * (own[:, None] / (own[:, None] + scales))).sum(axis=1)  # the part that shrinkage takes away
    return np.asarray(own * (1 / lost - 1), dtype=np.float64), mean


def shrunken_counts(
    marginals: MarginalSet,
    deviations: NDArray[np.float64],
    noise: NDArray[np.float64],
    predicted: NDArray[np.float64],
    scales: NDArray[np.float64],
    size: float,
) -> NDArray[np.float64]:
    """Return counts of all cells: the prediction, and of each deviation the part that is likely no noise.

    Parameters are those of `interaction_scales`; `scales` are the t (M,). Infinite noise leaves the prediction. Cells of
    a set differ: the variance of each is a mixture of multiples of size t m_c, whose weights all sets share. Counts are
    at least 0, and their margins are the predicted ones but for that.
    """
    kept, spread, measured = np.zeros_like(predicted), np.zeros_like(predicted), np.isfinite(noise)
    if measured.any():
        prior = size * np.repeat(scales, marginals.cells()) * predicted
        found = shrink(deviations[measured], noise[measured], prior[measured], MULTIPLES)
        kept[measured], spread[measured] = found.means, found.variances
    result = np.empty_like(predicted)
    for group, shape in shapes_of(marginals):
        places = places_of(marginals.starts[group], prod(shape))
        block, loose = kept[places].reshape(-1, *shape), spread[places].reshape(-1, *shape)
        loose = np.maximum(loose, 1e-9 * loose.max(initial=0.0) + 1e-12)
        for _ in range(CENTRED):  # given that it has no margins: what is loose gives way
            for axis in range(1, len(shape) + 1):
                excess = block.sum(axis=axis, keepdims=True) / loose.sum(axis=axis, keepdims=True)
                block = block - loose * excess
        result[places] = block.reshape(places.shape)
    return np.maximum(predicted + result, 0.0)


def onto_simplices(marginals: MarginalSet, values: NDArray[np.float64], size: float) -> NDArray[np.float64]:
    """Return for each marginal the nearest cells of at least 0 that sum to `size` records."""
    result = np.empty_like(values)
    for group, shape in shapes_of(marginals):
        places = places_of(marginals.starts[group], prod(shape))
        result[places] = _lowered(values[places], np.array(size), 1)
    return result
