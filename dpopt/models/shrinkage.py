"""The weights of a mixture of normal priors that make noisy cells most likely: the program behind empirical Bayes.

    minimize  - sum_i log f_i - sum_k counts_k log w_k                                   (SH-1)
    f_i = sum_k L_ik w_k                                                                 (SH-2)
    sum_k w_k = 1, w >= 0                                                                (SH-3)
    L_ik = Normal(y_i; 0, s_i + v_ik) / Normal(y_i; 0, s_i + v_i1),
           v_ik = scale_k max(m_i, floor)^exponent_k                                     (SH-4)

y_i is what a noisy cell has beyond its center, s_i the variance of its noise, m_i its predicted count. No solver is
needed:

    w_k <- (w_k sum_i L_ik / f_i + counts_k) / (n + sum_k counts_k)                      (SH-5)

never makes SH-1 larger, and it is above the optimum by at most

    max_k (sum_i L_ik / f_i + counts_k / w_k) - n - sum_k counts_k                       (SH-6)

(`dpopt.inference.shrinkage.fit_weights`). A cell then is a mixture of normal posteriors with the weights w_k L_ik /
f_i, the means y_i v_ik / (s_i + v_ik) and the variances s_i v_ik / (s_i + v_ik); mean and variance of this mixture are
stated (SH-7). If asked for, no answer is further than 3 deviations of its noise from its measurement (SH-8). The counts of
one column are mixed with the noisy ones, the more the less even they are (SH-9). Page: models/shrinkage.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.errors import ProgramError
from dpopt.models.model import Model
from dpopt.programs.building import Builder
from dpopt.programs.conic import Cone

MOST_CELLS = 20_000
"""Cells that a solver is handed at most, one exponential cone each."""
_MOST_APART = 600.0  # logarithms of likelihoods of one cell; doubles hold no more


def log_likelihoods(
    values: ArrayLike,
    noise: ArrayLike,
    predicted: ArrayLike,
    scales: ArrayLike,
    exponents: ArrayLike,
    *,
    floor: float = 1.0,
) -> NDArray[np.float64]:
    """Return the logarithms of L (SH-4), (n, k)."""
    y = np.asarray(values, dtype=np.float64)
    if y.ndim != 1 or not y.size:
        raise ProgramError(f"shrinkage: expected noisy cells in one row, found an array of shape {y.shape}")
    try:
        own, size = (np.broadcast_to(np.asarray(one, np.float64), y.shape) for one in (noise, predicted))
        scale, power = np.broadcast_arrays(*(np.atleast_1d(np.asarray(one, np.float64)) for one in (scales, exponents)))
    except ValueError as problem:
        raise ProgramError(f"shrinkage: the arrays do not fit together: {problem}") from problem
    if not all(np.isfinite(one).all() for one in (y, own, size, scale, power)) or scale.ndim != 1:
        raise ProgramError("shrinkage: expected finite numbers, scales and exponents in one row")
    if not (own > 0).all() or not (scale >= 0).all() or not floor > 0:
        raise ProgramError("shrinkage: variances of noise and the floor are above 0, scales at least 0")
    prior = scale * np.maximum(size, floor)[:, None] ** power  # (n, k)
    whole = own[:, None] + prior
    logs = -0.5 * (np.log(whole) + y[:, None] ** 2 / whole)
    return np.asarray(logs - logs[:, :1])


def shrinkage(
    values: ArrayLike,
    noise: ArrayLike,
    predicted: ArrayLike,
    scales: ArrayLike,
    exponents: ArrayLike,
    *,
    floor: float = 1.0,
    counts: ArrayLike = 0.0,
) -> Model:
    """Return the model of SH-1 to SH-3.

    Variables: w; g, at most log f of each cell; h, at most log w of each component with a count above 0.

    Parameters
    ----------
    values : (n,) float64
        y_i.
    noise, predicted : (n,) float64 or float
        s_i, above 0, and m_i.
    scales, exponents : (k,) float64
        Of the components; the first is what the others' likelihoods are divided by.
    floor
        Above 0.
    counts : (k,) float64 or float
        What the weights are drawn to, at least 0.

    Examples
    --------
    >>> found = shrinkage([0, 1.922703], 1, 1, [0, 3], [0, 0]).solve()
    >>> round(found.objective, 4), found.value["w"].round(2).tolist()
    (-0.1178, [0.5, 0.5])
    """
    logs = log_likelihoods(values, noise, predicted, scales, exponents, floor=floor)
    number, size = logs.shape
    drawn = np.broadcast_to(np.asarray(counts, np.float64), (size,)) if np.ndim(counts) < 2 else np.zeros(0)
    if drawn.shape != (size,) or not (drawn >= 0).all() or not np.isfinite(drawn).all():
        raise ProgramError(f"shrinkage: expected {size} counts of at least 0, found {np.shape(counts)}")
    if np.abs(logs).max() > _MOST_APART:
        raise ProgramError("shrinkage: a cell is too far from what the components hold for doubles; add a wider one")
    build = Builder()
    w = build.variables("w", size, upper=1.0)
    g = build.variables("g", number, lower=logs.min(axis=1), upper=logs.max(axis=1), objective=-1.0)
    build.rows("SH-3", 1, (0, w, 1.0), lower=1.0, upper=1.0, single=True)
    # exp(g) <= f, divided by the largest likelihood of the cell: solvers like members of one size.
    each, top = 3 * np.arange(number), logs.max(axis=1)
    ones = np.tile([0.0, 1.0, 0.0], number)
    ones[0::3] = -top
    build.cones(
        "SH-1 and SH-2",
        Cone.EXPONENTIAL,
        number,
        3,
        (each, g, 1.0),
        (each[:, None] + 2, w[None, :], np.exp(logs - top[:, None])),
        constants=ones,
    )
    if drawn.any():
        _draw_weights(build, w, drawn, number)
    return Model.of("shrinkage", build)


def _draw_weights(build: Builder, w: NDArray[np.int64], counts: NDArray[np.float64], number: int) -> None:
    """Add the counts' part of SH-1."""
    pulled = np.flatnonzero(counts > 0)

    def names() -> list[str]:
        return [str(k + 1) for k in pulled.tolist()]

    least = np.log(counts[pulled] / (number + counts.sum()))  # by SH-5 no best weight is smaller
    h = build.variables("h", pulled.size, lower=least, upper=0.0, objective=-counts[pulled], inside=names)
    own = 3 * np.arange(pulled.size)
    build.cones(
        "SH-1 weights",
        Cone.EXPONENTIAL,
        pulled.size,
        3,
        (own, h, 1.0),
        (own + 2, w[pulled], 1.0),
        constants=np.tile([0.0, 1.0, 0.0], pulled.size),
        inside=names,
    )
