"""Which sums of bins to measure: the strategy of least variance of a workload among linear Gaussian mechanisms.

A strategy A has a row for each measurement and a column for each bin; a record changes the measurements by a column.
With columns of norm 1 at most and independent noise of variance 1, least squares answers w x with the variance w
(A'A)^-1 w'. With X = A'A, queries w_q as the rows of W and weights omega_q, R = diag(omega)^(1/2) W and G = R'R:

    minimize   tr V                                   = tr(G X^-1) = sum_q omega_q Var(q)        (ST-1)
    subject to X_jj <= 1 for each bin j                                                          (ST-2)
               the matrix [[X, R'], [R, V]] is semidefinite                                      (ST-3)

No strategy is better than this, whatever d >= 0 of sum 1 are:

    optimum >= (tr (D^(1/2) G D^(1/2))^(1/2))^2,   D = diag(d)                                   (ST-4)

since sum_j d_j X_jj <= 1, and tr(M Y^-1) tr(Y) >= (tr M^(1/2))^2 for M = D^(1/2) G D^(1/2), Y = D^(1/2) X D^(1/2).
Equality holds for X(d) = D^(-1/2) M^(1/2) D^(-1/2) / tr M^(1/2). The steps (ST-5) d_j <- d_j X(d)_jj^2, scaled to sum
1, stay where X(d)_jj = 1 wherever d_j > 0: there X(d) obeys ST-2, and both sides meet. On the way X(d) with columns of
norm 1 (ST-6) is the strategy, and ST-4 says how far from the optimum it is at most. Derivation:
models/strategy/README.md. Bounds without any matrix, ST-7 to ST-11: `least_variance`.

Source: Li, Hay, Rastogi, Miklau and McGregor (2010) and Li et al. (2015), the matrix mechanism, and its singular-value
bound (Li and Miklau 2013), which is ST-4 at d_j = 1 / n; the steps are our own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError
from dpopt.models.model import Answer, Model
from dpopt.programs.building import Builder
from dpopt.programs.conic import Cone, triangle_of

Numbers = NDArray[np.float64]

CLOSE = 1e-7  # part of the objective, at which the steps end
MOST_STEPS = 200
LARGEST_MODEL = 256
"""Bins, and rows after those that depend on others are left out, of a model at most: it holds all pairs of them."""
_LEAST_SHARE = 1e-8  # of 1 / n: what a d_j has at least, as X(d) is divided by it
_DEPENDENT = 1e-12  # eigenvalues below this part of the largest are those of no query


@dataclass(frozen=True, slots=True, eq=False)
class Strategy:
    """The queries to measure."""

    information: Numbers
    """Shape (n, n). X = A'A, with diagonal 1 at most; A is any matrix of which it is the square."""
    variance: float
    """ST-1, where the noise of each measurement has variance 1."""
    bound: float
    """No strategy has less than this; ST-4."""
    shares: Numbers
    """Shape (n,). The d that prove it."""

    @property
    def gap(self) -> float:
        """No strategy has less than (1 - gap) times the variance; proven, in [0, 1]."""
        return max(0.0, 1.0 - self.bound / self.variance) if self.variance > 0.0 else 0.0


def nuclear_bound(gram: Numbers, shares: Numbers) -> float:
    """Return the right-hand side of ST-4 for G (n, n) and d (n,), rounded down.

    Eigenvalues that are computed are those of a matrix that is off by some n units in the last place of the largest one
    (Weyl and the backward stability of LAPACK's methods); 8 n of them are taken off each.
    """
    roots = np.sqrt(shares)
    values = np.linalg.eigvalsh(roots[:, None] * gram * roots)
    lost = 8.0 * values.size * np.finfo(np.float64).eps * float(np.abs(values).max(initial=0.0))
    return float(np.sqrt(np.maximum(values - lost, 0.0)).sum()) ** 2 / float(shares.sum()) * (1.0 - 1e-12)


def best_strategy(gram: Numbers, *, close: float = CLOSE, steps: int = MOST_STEPS) -> Strategy:
    """Return the strategy of least variance for G (n, n), up to the part `close` or after this number of steps (ST-5).

    Examples
    --------
    All ranges of 64 bins:

    >>> best_strategy(gram_of_ranges(64)).variance.__round__(3)
    5.3
    """
    bins = len(gram)
    used = np.diag(gram) > 0.0
    shares = np.where(used, 1.0 / max(1, int(used.sum())), 0.0)
    if not used.any():
        return Strategy(freeze(np.eye(bins)), 0.0, 0.0, freeze(np.full(bins, 1.0 / bins)))
    least = _LEAST_SHARE / bins
    for step in range(steps):
        values, vectors = _spectrum(gram, shares)
        total = np.sqrt(values).sum()
        norms = np.where(used, (vectors**2 @ np.sqrt(values)) / np.where(used, shares, 1.0) / total, 0.0)
        if norms.max() <= 1.0 + close or step == steps - 1:
            break
        shares = np.where(used, np.maximum(shares * norms**2, least), 0.0)  # ST-5
        shares /= shares.sum()
    return _scaled(gram, shares, values, vectors)


def _spectrum(gram: Numbers, shares: Numbers) -> tuple[Numbers, Numbers]:
    """Return eigenvalues, none below 0, and eigenvectors of M."""
    roots = np.sqrt(shares)
    values, vectors = np.linalg.eigh(roots[:, None] * gram * roots)
    return np.maximum(values, 0.0), vectors


def _scaled(gram: Numbers, shares: Numbers, values: Numbers, vectors: Numbers) -> Strategy:
    """Return X(d) with columns of norm 1; where bins have fewer directions than queries ask for, of norm 1 at most."""
    used = shares > 0.0
    roots = np.where(used, np.sqrt(shares), 1.0)
    half = vectors * np.sqrt(np.sqrt(values))
    information = (half @ half.T) / np.outer(roots, roots)
    bound = nuclear_bound(gram, shares)
    norms = np.sqrt(np.where(used, np.diag(information), 1.0))
    if values[-np.count_nonzero(used)] <= _DEPENDENT * values[-1]:
        norms[:] = norms.max()  # scaled one by one, columns would leave the queries' space
    information /= np.outer(norms, norms)
    inverse = np.where(values > _DEPENDENT * values[-1], 1.0 / np.sqrt(np.where(values > 0.0, values, 1.0)), 0.0)
    ends = vectors * (roots * norms)[:, None]
    variance = float(np.einsum("ik,ij,jk,k->", ends, gram, ends, inverse, optimize=True))
    information[~used, ~used] = 1.0  # nobody asks: what they have costs nothing
    return Strategy(freeze(information), variance, min(bound, variance), freeze(shares))


def gram_of_ranges(bins: int) -> Numbers:
    """Return G of the mean over all ranges, (n, n)."""
    place = np.arange(1.0, bins + 1.0)
    pairs = np.minimum.outer(place, place) * (bins + 1.0 - np.maximum.outer(place, place))
    return np.asarray(pairs / (bins * (bins + 1.0) / 2.0))


def gram_of_prefixes(bins: int) -> Numbers:
    """Return G of the mean over the ranges that begin with the first bin, (n, n)."""
    place = np.arange(bins, dtype=np.float64)
    return np.asarray((bins - np.maximum.outer(place, place)) / bins)


def strategy(workload: ArrayLike, weights: ArrayLike | None = None) -> Model:
    """Return the model of ST-1 to ST-3; its own method are the steps ST-5.

    Parameters
    ----------
    workload : (q, n) float64
        W, a row for each query: with what each bin counts in it.
    weights : (q,) float64, optional
        omega, 0 or above and not all 0; 1 / q if left out.

    Examples
    --------
    The first of two bins, and both together:

    >>> found = strategy([[1, 0], [1, 1]]).solve()
    >>> round(found.objective, 3), found.value["X"].round(3).tolist()
    (1.309, [1.0, 0.382, 1.0])
    """
    rows = np.asarray(workload, dtype=np.float64)
    queries = len(rows) if rows.ndim == 2 else 0
    omega = np.full(queries, 1.0 / max(1, queries)) if weights is None else np.asarray(weights, dtype=np.float64)
    usable = queries > 0 and rows.shape[1] > 0 and omega.shape == (queries,)
    if not usable or not np.isfinite(rows).all() or not np.isfinite(omega).all() or (omega < 0.0).any():
        raise ProgramError(
            f"strategy: found a workload of shape {rows.shape} and weights of shape {omega.shape}; expected rows of "
            f"finite numbers, one for each query, and a weight from 0 for each"
        )
    root = np.sqrt(omega)[:, None] * rows
    root = root[(root != 0.0).any(axis=1)]
    if len(root) > rows.shape[1]:
        root = np.linalg.qr(root, mode="r")  # the same G by as many rows as bins
    if not root.size:
        raise ProgramError("strategy: found no query with a weight above 0; expected one")
    if max(root.shape) > LARGEST_MODEL:
        raise ProgramError(
            f"strategy: found {root.shape[1]:,} bins and {len(root):,} queries; the model holds all pairs, of "
            f"{LARGEST_MODEL:,} at most. `best_strategy` takes more"
        )
    return _model(root)


def factored(
    build: Builder, root: Numbers, labels: tuple[str, str], *, most: float, objective: float = 0.0
) -> NDArray[np.int64]:
    """Add X and V with [[X, R'], [R, V]] semidefinite and X_jj <= 1, R of shape (q, n), and return the V_qq, (q,).

    `labels` are those of the rows X_jj <= 1 and of the cone; each V_qq is `most` at most, with this coefficient.
    """
    queries, bins = root.shape
    row, column = np.tril_indices(bins)
    first, second = np.tril_indices(queries)

    def names(one: NDArray[np.int64], two: NDArray[np.int64]) -> list[str]:
        return [f"{a},{b}" for a, b in zip((one + 1).tolist(), (two + 1).tolist(), strict=True)]

    least, diagonal = np.where(row == column, 0.0, -1.0), first == second
    x = build.variables("X", row.size, lower=least, upper=2.0 + least, inside=lambda: names(row, column))
    v = build.variables(
        "V",
        first.size,
        lower=np.where(diagonal, 0.0, -most),
        upper=most,
        objective=np.where(diagonal, objective, 0.0),
        inside=lambda: names(first, second),
    )
    build.rows(labels[0], bins, (np.arange(bins), x[row == column], 1.0), upper=1.0)
    side = bins + queries
    constants = np.zeros((side, side))
    constants[bins:, :bins] = root
    triangle = np.tril_indices(side)
    members = np.full((side, side), -1)
    members[triangle] = np.arange(triangle[0].size)
    build.cones(
        labels[1],
        Cone.SEMIDEFINITE,
        1,
        triangle[0].size,
        (members[row, column], x, 1.0),
        (members[bins + first, bins + second], v, 1.0),
        constants=constants[triangle],
    )
    return np.asarray(v[diagonal])


def _model(root: Numbers) -> Model:
    """Return the model for R (q, n)."""
    queries, bins = root.shape
    side, build = bins + queries, Builder()
    # X = 1 is a strategy of this variance.
    factored(build, root, ("ST-2", "ST-3"), most=float((root**2).sum()), objective=1.0)

    def by_steps() -> Answer:
        found = best_strategy(root.T @ root)
        solved = root @ np.linalg.pinv(found.information, rcond=1e-13, hermitian=True)
        variances = solved @ root.T
        # Multipliers [[mu, K'], [K, 1]] of ST-3, mu = bound d: K = -U diag(mu)^(1/2), U the polar factor of R diag(mu)^(1/2).
        pulls = found.bound * found.shares
        left, _, right = np.linalg.svd(root * np.sqrt(pulls), full_matrices=False)
        multipliers = np.eye(side)
        multipliers[:bins, :bins] = np.diag(pulls)
        multipliers[bins:, :bins] = -(left @ right) * np.sqrt(pulls)
        multipliers[:bins, bins:] = multipliers[bins:, :bins].T
        point = np.concatenate((triangle_of(found.information), triangle_of(variances)))
        return point, np.concatenate((-pulls, triangle_of(multipliers, 2.0)))

    return Model.of("strategy", build, closed_form=by_steps, method="multiplicative-steps")
