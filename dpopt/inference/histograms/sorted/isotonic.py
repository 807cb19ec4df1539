"""Nondecreasing sequences nearest to noisy ones: sorted counts after inference.

Problem (models/isotonic_regression, IR-1 to IR-4): minimize sum_k w_k (s_k - y_k)^2 over s_1 <= ... <= s_n with
lower <= s_k <= upper and, if it is known, sum_k s_k = total.

Without bounds and total the squares are least where neighbours that fall are pooled into blocks of one level, their
mean. The same blocks serve for every threshold: {k : s_k >= c} is the suffix along which sum w_k (c - y_k) is least.
Hence clipping to bounds is exact, and so is rounding half up among whole numbers. A known total moves y_k to y_k +
shift / w_k, where the shift is the root of a sum that rises with it.

Everything here takes noisy values only: it costs no privacy.

Source: Hay, Rastogi, Miklau and Suciu (2010), "Boosting the accuracy of differentially private histograms through
consistency", section 3.2 and Theorem 1; sharper bound of the error: models/isotonic_regression.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.errors import ProgramError

_ROUNDS = 200  # of the search for a shift
_ROUNDING = 4.0 * np.finfo(np.float64).eps


def isotonic(
    values: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    lower: float | None = None,
    upper: float | None = None,
    total: float | None = None,
    breaks: Sequence[int] = (),
) -> NDArray[np.float64]:
    """Return the nondecreasing sequence (n,) of least weighted squared distance to the values (n,).

    Weights, above 0, are one over the variance of each value's noise; equal if left out. The entries add up to `total`,
    up to rounding errors. At `breaks` another sequence begins: the entry there may be below the one before it.
    """
    from scipy.optimize import brentq

    noisy, heft = checked(values, weights)
    least, most = checked_bounds(lower, upper)
    if total is None:
        return np.clip(_pooled(noisy, heft, breaks), least, most)
    size = noisy.size
    if not np.isfinite(total) or not size * least <= total <= size * most:
        raise ProgramError(
            f"{size} entries from {least} to {most} cannot add up to {total}; expected a total from {size * least} to "
            f"{size * most}"
        )

    def shifted(shift: float) -> NDArray[np.float64]:
        return np.clip(_pooled(noisy + shift / heft, heft, breaks), least, most)

    def excess(shift: float) -> float:
        return float(shifted(shift).sum()) - total

    # With the least of these shifts no entry is above the mean, with the largest none below.
    ends = (min(max(total / size, least), most) - noisy) * heft
    low, high = float(ends.min()), float(ends.max())
    if excess(low) >= 0.0 or excess(high) <= 0.0:
        return shifted(low if excess(low) >= 0.0 else high)
    return shifted(
        brentq(excess, low, high, xtol=_ROUNDING * max(abs(low), abs(high)), rtol=_ROUNDING, maxiter=_ROUNDS)
    )


def checked(values: ArrayLike, weights: ArrayLike | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return values and weights (n,) as float64; ProgramError if they are no such."""
    noisy = np.ascontiguousarray(values, dtype=np.float64)
    if noisy.ndim != 1 or noisy.size == 0 or not np.isfinite(noisy).all():
        raise ProgramError(f"values are finite numbers in one row, at least one; found an array of shape {noisy.shape}")
    heft = np.ones(noisy.size) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    if heft.shape != noisy.shape or not ((heft > 0) & np.isfinite(heft)).all():
        raise ProgramError(f"weights are {noisy.size} positive finite numbers, one for each value")
    return noisy, heft


def checked_bounds(lower: float | None, upper: float | None) -> tuple[float, float]:
    """Return the bounds, infinite where left out; ProgramError if they cross."""
    least = -np.inf if lower is None else float(lower)
    most = np.inf if upper is None else float(upper)
    if not (least <= most and least < np.inf and most > -np.inf):
        raise ProgramError(f"no number lies between the bounds {lower} and {upper}")
    return least, most


def whole_bounds(lower: float | None, upper: float | None) -> tuple[float, float]:
    """Return the least and the largest whole number within the bounds; ProgramError if there is none."""
    least, most = checked_bounds(lower, upper)
    if np.ceil(least) > np.floor(most):
        raise ProgramError(f"no whole number lies between the bounds {lower} and {upper}")
    return float(np.ceil(least)), float(np.floor(most))


def _pooled(values: NDArray[np.float64], weights: NDArray[np.float64], breaks: Sequence[int]) -> NDArray[np.float64]:
    """Return the levels, (n,)."""
    from scipy.optimize import isotonic_regression

    parts = zip(np.split(values, breaks), np.split(weights, breaks), strict=True)
    return np.concatenate([isotonic_regression(part, weights=heft).x for part, heft in parts])
