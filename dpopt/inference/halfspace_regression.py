"""Weights with which sides of known halfspaces add up to the side of another one: ridge regression over all directions.

Problem. For a unit vector y and a margin gamma, with s_k(x) = sign <x, v_k> of N known normals v_k, and independent
noise of variance C on each of the released sums of s_k over n records,

    minimize over w    E_x (sum_k w_k s_k(x) - tau(<x, y>))^2 + C |w|^2 / n^2

over x uniform on the sphere of R^d. tau is -1 below -r, 1 above r and a straight line between them: what happens at
margins below gamma does not matter, and a step would ask for high frequencies that few halfspaces do not have. Uniform
points seldom have large margins, where the fit may be off; so several r are taken, and combined for the margins from
gamma to 1 by models/halfspace_debiasing. The solution for one r is

    w = (K + C / n^2 I)^(-1) b(y),    K_kl = E s_k s_l = (2 / pi) arcsin <v_k, v_l>,    b_k = beta(angle of v_k and y).

K does not depend on y: one factorization serves all queries. All of it is public, and post-processing.

Source: our own; K is the arcsine distribution (Stieltjes 1889; Sheppard 1899).
"""

from __future__ import annotations

from math import pi

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dpopt.errors import ProgramError

_ANGLES = 720
_RADII = 256
_RIDGE = 0.2
"""Added to the diagonal: halfspaces that are nearly the same would have large weights of both signs."""


class SideRegression:
    """The factorization, for all queries.

    `normals` (N, d) are unit vectors, or zero: of no use, and given the weight 0. `variance` is C / n^2, from 0 on, and
    `ramps` the r, each above 0; above 1 for a straight line.
    """

    def __init__(self, normals: NDArray[np.float64], variance: float, ramps: tuple[float, ...]) -> None:
        number, dimension = normals.shape
        if not 0.0 <= variance < np.inf or not min(ramps) > 0.0:
            raise ProgramError(
                f"found the variance {variance} and the ramps {ramps}; expected one from 0 on, and ramps above 0"
            )
        kernel = np.clip(normals @ normals.T, -1.0, 1.0)
        np.arcsin(kernel, out=kernel)
        kernel *= 2.0 / pi
        used = (normals != 0).any(axis=1)
        kernel[np.diag_indices(number)] = np.where(used, kernel.diagonal() + variance + _RIDGE, 1.0)
        self._used = used
        self._factor = scipy.linalg.cho_factor(kernel, lower=True, overwrite_a=True, check_finite=False)
        self._normals = normals
        self._products = [ramp_products(dimension, ramp) for ramp in ramps]

    def weights(self, queries: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return w for each query and each r, (q, j, N); queries are unit vectors, (q, d)."""
        cosines = queries @ self._normals.T
        products = np.stack([np.interp(cosines, *table) for table in self._products], axis=1)
        products[:, :, ~self._used] = 0.0
        flat = products.reshape(-1, len(self._normals))
        found = scipy.linalg.cho_solve(self._factor, flat.T, check_finite=False).T
        return np.ascontiguousarray(found).reshape(products.shape)


def ramp_products(dimension: int, ramp: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return E_x tau(<x, y>) sign <x, v> as a function of <y, v>: increasing values of <y, v>, and the products.

    In the plane of y and v, x uniform on the sphere of R^d has a uniform angle phi to y, and an independent length r
    with P(r > a) = (1 - a^2)^((d-2)/2); so beta(alpha) is 1 / pi times the integral of G over phi from alpha - pi/2 to
    alpha + pi/2 with G(phi) = E_r tau(r cos phi), where alpha is the angle of y and v.
    """
    if dimension < 2:
        raise ProgramError(f"found points of {dimension} coordinates; expected 2 or more")
    shares = (np.arange(_RADII) + 0.5) / _RADII
    radii = np.sqrt(1.0 - shares ** (2.0 / (dimension - 2))) if dimension > 2 else np.ones(1)
    step = pi / _ANGLES
    angles = -pi / 2 + step * (np.arange(2 * _ANGLES) + 0.5)
    means = np.clip(radii[:, None] * np.cos(angles) / ramp, -1.0, 1.0).mean(axis=0)
    sums = np.concatenate(([0.0], np.cumsum(means))) * step
    products = (sums[_ANGLES:] - sums[:-_ANGLES])[: _ANGLES + 1] / pi  # alpha = 0, step, ..., pi
    return np.cos(step * np.arange(_ANGLES + 1))[::-1], products[::-1]
