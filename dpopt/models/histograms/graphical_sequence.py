"""The degree sequence of a graph nearest to noisy degrees: relaxed as a quadratic program, exact in whole numbers.

Problem (models/graphical_sequences): for noisy degrees y_1 >= ... >= y_n or thereabouts,

    minimize    1/2 sum_i (d_i - y_i)^2                                                        GS-1
    subject to  n - 1 >= d_1 >= ... >= d_n >= 0                                                GS-2
                sum_{i <= r} d_i <= r (r - 1) + sum_{i > r} m_ir         for r = 1, ..., n     GS-3
                m_ir <= d_i, m_ir <= r                                   for i > r             GS-4
                d_i = sum_v x_iv, x_i(v+1) <= x_iv in {0, 1}, sum_i d_i = 2 E, E whole         GS-5

GS-3 and GS-4 are the inequalities of Erdos and Gallai with m_ir in place of min(d_i, r): larger m_ir only relax, so
they may be chosen freely below it. GS-1 to GS-4 are convex. With GS-5, x_iv says whether d_i >= v, so that m_ir =
sum_{v <= r} x_iv and the square of GS-1 is sum_v (v - 1/2 - y_i) x_iv and a constant: everything is linear.

What the fast method (`dpopt.inference.histograms.sorted.degree_sequences`) rests on:

    GS-3 and GS-4 for all r say: sum_{i <= r} d_i - sum_{i > j} d_i <= r (j - 1) for all r <= j        GS-6
    for u >= 0 the least of GS-1 + sum u (a . d - b) over cuts a . d <= b is a lower bound             GS-7
    the best whole sequence of the other parity under GS-1 and GS-2 has an odd number of entries at the front of one stretch
    of equal entries raised by 1, or at its back lowered                                               GS-8

Sizes: n (n - 1) / 2 variables m, n (n - 1) variables x.

Source: Erdos and Gallai (1960); linear form: Koren (1973), Peled and Srinivasan (1989).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.errors import ProgramError
from dpopt.models.model import Model
from dpopt.programs.building import Builder, Numbers


def graphical_relaxation(values: ArrayLike) -> Model:
    """Return GS-1 to GS-4: falling degrees d (n,), not always whole, nearest to noisy `values` y (n,), n >= 1."""
    noisy = _checked(values)
    size = noisy.size
    ranks, others = np.triu_indices(size, 1)  # m_ir for r = ranks + 1 and i = others + 1
    pairs, each = np.arange(ranks.size), np.arange(size - 1)
    front, summed = np.tril_indices(size)
    build = Builder()
    d = build.variables("d", size, upper=size - 1.0)
    m = build.variables("m", ranks.size, upper=ranks + 1.0, inside=lambda: _pairs(others + 1, ranks + 1))
    build.rows("GS-2", size - 1, (each, d[:-1], 1.0), (each, d[1:], -1.0), lower=0.0)
    build.rows(
        "GS-3", size, (front, d[summed], -1.0), (ranks, m, 1.0), lower=-np.arange(1.0, size + 1) * np.arange(size)
    )
    build.rows(
        "GS-4",
        ranks.size,
        (pairs, d[others], 1.0),
        (pairs, m, -1.0),
        lower=0.0,
        inside=lambda: _pairs(others + 1, ranks + 1),
    )
    build.squares("GS-1", size, (np.arange(size), d, 1.0), targets=noisy)
    return Model.of("graphical_sequences", build)


def graphical_sequence(values: ArrayLike, *, total: int | None = None) -> Model:
    """Return GS-1 to GS-5: x (n, n - 1), whether d_i >= v, and E, half the sum of the degrees.

    The objective lacks the constant 1/2 sum y_i^2 of GS-1. Parameters and errors as for `graphical_relaxation`; `total`
    is 2 E where the number of edges is known.
    """
    noisy = _checked(values)
    size = noisy.size
    most = size - 1
    build = Builder()
    objective = np.arange(1.0, size) - 0.5 - noisy[:, None]
    x = build.variables("x", size, most, upper=1.0, whole=True, objective=objective)
    known = None if total is None else total / 2
    edges = build.variables("E", lower=known or 0.0, upper=size * most / 2 if known is None else known, whole=True)
    longer, shorter = x[:, :-1].ravel(), x[:, 1:].ravel()
    above, below = x[:-1].ravel(), x[1:].ravel()
    each, pairs = np.arange(longer.size), np.arange(above.size)
    node, level = np.divmod(np.arange(x.size), max(most, 1))
    rank = np.repeat(np.arange(size), x.size)
    column = np.tile(np.arange(x.size), size)
    front = node[column] <= rank
    counted = ~front & (level[column] <= rank)  # m_ir = sum_{v <= r} x_iv
    build.rows("GS-5", longer.size, (each, longer, 1.0), (each, shorter, -1.0), lower=0.0)
    build.rows("GS-2", above.size, (pairs, above, 1.0), (pairs, below, -1.0), lower=0.0)
    build.rows(  # with GS-4
        "GS-3",
        size,
        (rank[front], column[front], -1.0),
        (rank[counted], column[counted], 1.0),
        lower=-np.arange(1.0, size + 1) * np.arange(size),
    )
    build.rows("GS-5.sum", 1, (0, x.ravel(), -1.0), (0, edges, 2.0), lower=0.0, upper=0.0, single=True)
    return Model.of("graphical_sequences", build)


def graphical_coefficients(size: int) -> int:
    """Return a bound on the coefficients of the rows of `graphical_sequence` for this number of degrees."""
    return size * size * (4 + 2 * size // 3)


def _checked(values: ArrayLike) -> Numbers:
    noisy = np.asarray(values, dtype=np.float64)
    if noisy.ndim != 1 or noisy.size == 0:
        raise ProgramError(f"values are one row of at least one number; found shape {noisy.shape}")
    return noisy


def _pairs(one: NDArray[np.int64], other: NDArray[np.int64]) -> list[str]:
    return [f"{i},{r}" for i, r in zip(one.tolist(), other.tolist(), strict=True)]
