"""What marginals of more attributes say beyond those of fewer: predictions, their spread, and precisions worth paying for.

Sets of attributes are taken order by order. A marginal of k attributes is predicted from those of k - 1: the table of
most entropy with these margins, found by iterative proportional fitting; for k = 2 that is independence, for k = 3 no
interaction of all three. What a set really says lies around the prediction like

    theta_c ~ Normal(0, size t m_c),    m_c the predicted count of cell c, t the scale of the set,

and its scale is estimated from noisy residuals. All values are released ones: it costs no privacy.

Source: Deming and Stephan (1940) for iterative proportional fitting; Robbins (1956) for empirical Bayes.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.shrinkage import ScaleMixture, shrink
from dpopt.models.noise_budgets.residual_allocation import prices
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import places_of, shapes_of

ROUNDS = 15
"""Of iterative proportional fitting."""
LEAST_COUNT = 1e-6
"""Margins are taken to hold so many records at least, so that no cell is impossible for ever."""

SCALES = np.geomspace(1e-7, 1e2, 50)
"""Scales t that are looked at."""
STEPS = 60
"""Of the EM by which sets of one order share what is typical of them."""
MULTIPLES = ScaleMixture.grid(np.geomspace(1e-3, 1e2, 11), (1.0,), floor=0.01)
"""Multiples of the variance of a set's interaction that its cells may have."""
CENTRED = 6
"""Rounds in which deviations lose their margins."""
_SPREAD = np.array([1.0, 2.0, 3.0, 2.0, 1.0]) / 9  # weights of scales are smooth
_SEEN = 0.05  # as if so many sets had been seen of each scale


def predicted_counts(
    marginals: MarginalSet, lower: MarginalSet, values: NDArray[np.float64], size: float
) -> NDArray[np.float64]:
    """Return what cells hold where all attributes of a marginal together say nothing beyond all but one of them.

    Parameters
    ----------
    marginals
        Of k attributes each, increasing.
    lower
        Every set of k - 1 of these attributes; not looked at for k = 1, which is predicted to be uniform.
    values : (cells of the lower ones,) float64
        Their counts, at least 0.

    Returns
    -------
    (cells,) float64
        In records.

    Examples
    --------
    >>> from dpopt.schema.domains import Domains
    >>> two = Domains(np.array([2, 2]), np.array([0, 2]), np.array([0, 1, 0, 1]))
    >>> pair, each = MarginalSet(two, np.array([[0, 1]])), MarginalSet(two, np.array([[0], [1]]))
    >>> predicted_counts(pair, each, np.array([8.0, 2.0, 5.0, 5.0]), 10.0)
    array([4., 4., 1., 1.])
    """
    width = int(marginals.widths().max())
    result = np.empty(marginals.number_of_cells)
    known = {tuple(row): place for place, row in enumerate(lower.attributes[:, : width - 1].tolist())}
    for group, shape in shapes_of(marginals):
        block = np.full((group.size, *shape), size / prod(shape))
        faces = []
        for axis in range(width) if width > 1 else ():
            rows = np.delete(marginals.attributes[group, :width], axis, axis=1)
            try:
                found = np.array([known[tuple(row)] for row in rows.tolist()], dtype=np.int64)
            except KeyError as error:
                raise ProgramError(f"marginals: the margin over {error.args[0]} is missing") from None
            face = shape[:axis] + shape[axis + 1 :]
            held = values[places_of(lower.starts[found], prod(face))].reshape(group.size, *face)
            faces.append(np.expand_dims(np.maximum(held, LEAST_COUNT), axis + 1))
        for _ in range(ROUNDS if width > 2 else 1):
            for axis, face_counts in enumerate(faces, start=1):
                block *= face_counts / block.sum(axis=axis, keepdims=True)
        result[places_of(marginals.starts[group], prod(shape))] = block.reshape(group.size, -1)
    return result


def interaction_scales(
    marginals: MarginalSet,
    deviations: NDArray[np.float64],
    variances: NDArray[np.float64],
    predicted: NDArray[np.float64],
    size: float,
) -> NDArray[np.float64]:
    """Return the scale t of each set, (M,): the mean of what its noisy residual leaves of those that sets of its order have.

    Parameters
    ----------
    deviations : (cells,) float64
        Noisy residuals less those of the prediction, in records.
    variances : (M,) float64
        s^2, the variance of their noise along each direction, in records squared.
    predicted : (cells,) float64
        Predicted counts, at least 0.

    Notes
    -----
    Each cell is Normal(0, size t m_c + p s^2), p = prod (1 - 1 / n_i). Cells of a set are not independent: its N cells
    have p N directions, so that their likelihoods count p times. How frequent scales are is found by EM over all sets.
    """
    free, cells = prices(marginals), marginals.cells()
    noise = np.repeat(variances * free, cells)
    likelihood = np.empty((len(marginals), SCALES.size))
    for place, scale in enumerate(SCALES.tolist()):  # a loop over 50 scales
        spread = np.maximum(size * scale * predicted + noise, 1e-12)
        each = np.log(spread) + deviations**2 / spread
        likelihood[:, place] = -0.5 * free * np.add.reduceat(each, marginals.starts[:-1])
    likelihood = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    frequent = np.full(SCALES.size, 1 / SCALES.size)
    for _ in range(STEPS):
        shares = likelihood * frequent
        shares /= shares.sum(axis=1, keepdims=True)
        frequent = np.convolve(np.pad(shares.sum(axis=0) + _SEEN, 2, mode="edge"), _SPREAD, "valid")
        frequent /= frequent.sum()
    shares = likelihood * frequent
    return np.asarray((shares @ SCALES) / shares.sum(axis=1), dtype=np.float64)


def shrunken_counts(
    marginals: MarginalSet,
    deviations: NDArray[np.float64],
    variances: NDArray[np.float64],
    predicted: NDArray[np.float64],
    scales: NDArray[np.float64],
    size: float,
) -> NDArray[np.float64]:
    """Return counts of all cells: what was predicted, and of each deviation the part that is likely no noise.

    Parameters are those of `interaction_scales`; `scales` are the t (M,). An infinite variance leaves the prediction.
    Cells of a set differ: the variance of each is a mixture of multiples of size t m_c, whose weights all sets share.
    Counts are at least 0, and their margins are the predicted ones but for that.
    """
    free, cells = prices(marginals), marginals.cells()
    kept, spread = np.zeros_like(predicted), np.zeros_like(predicted)
    measured = np.repeat(np.isfinite(variances), cells)
    if measured.any():
        noise, prior = np.repeat(variances * free, cells), size * np.repeat(scales, cells) * predicted
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
        block = values[places]
        falling = -np.sort(-block, axis=1)
        levels = (np.cumsum(falling, axis=1) - size) / np.arange(1, block.shape[1] + 1)
        last = (falling > levels).sum(axis=1) - 1
        result[places] = np.maximum(block - np.take_along_axis(levels, last[:, None], axis=1), 0.0)
    return result
