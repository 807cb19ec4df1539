"""How far an estimate from sides of known halfspaces is off for points of a margin, on a large public sample of points.

With weights w, a record x counts g(x) = sum_k w_k s_k(x) instead of its sign, which is in error by e(x) =
(g(x) - 1) / 2 records if <x, y> > 0 (and by -e(-x) else: all is odd). For records that do not depend on the
projections, x is to them as a point turned at random about y, since the distribution of the projections is (nearly) the
same in all directions. So the mean of |e|^p over such turns, at the worst <x, y> from gamma to 1, bounds that of the
error of the whole table, which is a mean of e over its records (Jensen); and by Markov's inequality the table's bias
stays below (M_p / beta)^(1/p) with probability 1 - beta. Where a share s of the records is nearer than gamma, with N_p
the worst mean there (from 0 to gamma), it stays below ((1 - s) M_p^(1/p) + s N_p^(1/p)) / beta^(1/p) (Minkowski).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.models.halfspace_debiasing import least_worst_combination
from dpopt.public_random import PublicRandom
from dpopt.queries.halfspaces.kernels import weighted_sides

MARGINS = 8
"""How many values of <x, y> from gamma to 1 are tried."""
TURNS = 256
"""How many points of each; half of them again for the combination."""
_POWERS = np.arange(2, 13, 2)


@dataclass(frozen=True, slots=True, eq=False)
class Bias:
    """Estimates of the bias of an answer, in shares of records."""

    weights: NDArray[np.float64]
    """Shape (k,). The final weights of the signed sums."""
    moments: tuple[float, ...]
    """M_p at the worst margin for p = 2, 4, ..., 12."""
    inside: float = 0.0
    """The share s of the records that may be within the margin."""
    nearer: tuple[float, ...] = ()
    """N_p, if that is above 0."""

    def bound(self, beta: float) -> float:
        """Return a bound on the bias, with probability 1 - beta over the public projections."""
        if not self.inside:
            return moment_bound(self.moments, beta)
        found: float = min(
            ((1.0 - self.inside) * one ** (1.0 / power) + self.inside * other ** (1.0 / power)) / beta ** (1.0 / power)
            for one, other, power in zip(self.moments, self.nearer, _POWERS.tolist(), strict=True)
        )
        return found

    @property
    def typical(self) -> float:
        """Root of the mean squared error of a single point at the worst margin."""
        return float(self.moments[0] ** 0.5)


def moment_bound(moments: tuple[float, ...], beta: float) -> float:
    """Return the least (M_p / beta)^(1/p): a variable with these moments exceeds it with probability at most beta."""
    return float(min((moment / beta) ** (1.0 / power) for moment, power in zip(moments, _POWERS, strict=True)))


def bias_of(
    query: NDArray[np.float64],
    parts: NDArray[np.float64],
    normals: NDArray[np.float64],
    margin: float,
    *,
    seed: int,
    turns: int = TURNS,
    inside: float = 0.0,
) -> Bias:
    """Return the best combination of some estimates for a unit vector (d,), and its bias, on public points of a seed.

    Of the weights of several estimates, (j, k), the combination of the least worst error is taken
    (models/halfspace_debiasing), found on other points than the bias. `normals` (k, d) are unit vectors, and `inside`
    is the share of the records that may be within the margin.
    """
    chosen = np.ones(1)
    if len(parts) > 1:
        responses = _responses(query, parts, normals, (margin, 1.0), seed=seed, turns=max(8, turns // 2))
        chosen = least_worst_combination(responses.reshape(-1, len(parts)))
    final = chosen @ parts

    def errors_of(ends: tuple[float, float], seed: int) -> NDArray[np.float64]:
        found = _responses(query, final[None, :], normals, ends, seed=seed, turns=turns)
        return np.asarray(np.abs(found[:, :, 0] - 1.0) / 2.0)

    errors = errors_of((margin, 1.0), seed + 1)
    nearer = _moments(errors_of((0.0, margin), seed + 2)) if inside else ()
    return Bias(final, _moments(errors), inside, nearer)


def _moments(errors: NDArray[np.float64]) -> tuple[float, ...]:
    """Return the means of the powers of errors (margins, turns) at the worst margin."""
    return tuple(float((errors**power).mean(axis=1).max()) for power in _POWERS.tolist())


def public_points(
    query: NDArray[np.float64], cosines: NDArray[np.float64], turns: int, *, seed: int
) -> NDArray[np.float64]:
    """Return points x of the sphere with <x, y> = t, turned about y at random: `turns` for each t, (t turns, d)."""
    dimension = query.size
    words = PublicRandom(seed).words(len(cosines) * turns * dimension)
    rough = (2.0 * np.bitwise_count(words) - 64.0).reshape(len(cosines) * turns, dimension)
    across = rough - np.outer(rough @ query, query)
    lengths = np.sqrt((across**2).sum(axis=1, keepdims=True))
    across /= np.where(lengths > 0, lengths, 1.0)
    along = np.repeat(cosines, turns)[:, None]
    return np.asarray(along * query + np.sqrt(1.0 - along**2) * across)


def _responses(
    query: NDArray[np.float64],
    parts: NDArray[np.float64],
    normals: NDArray[np.float64],
    ends: tuple[float, float],
    *,
    seed: int,
    turns: int,
) -> NDArray[np.float64]:
    """Return g(x) of each estimate at each margin between two and at each turn, (margins, turns, j)."""
    points = public_points(query, np.linspace(*ends, MARGINS), turns, seed=seed)
    used = (parts != 0).any(axis=0)
    sums = np.empty((len(points), len(parts)))
    weighted_sides(points, np.ascontiguousarray(normals[used].T), np.ascontiguousarray(parts[:, used]), sums)
    return sums.reshape(MARGINS, turns, len(parts))
