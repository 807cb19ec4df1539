"""Whole numbers near real ones, with a sum that is known.

Problem: minimize sum_k (s_k - x_k)^2 over whole s with sum_k s_k = total, where sum_k x_k = total up to rounding errors.

No entry is best below its floor or above its ceiling: with one too far down another is too far up, and a step of both towards
their values is nearer. To raise an entry from its floor costs 1 - 2 (x_k - floor x_k), so those with the largest remainders are
raised; of equal ones the last, so that what does not fall before does not fall afterwards.

Everything here takes noisy or public values only: it costs no privacy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.errors import ProgramError


def whole_of_total(values: ArrayLike, total: int) -> NDArray[np.int64]:
    """Return the nearest whole numbers with this sum, (n,); nondecreasing if the values are.

    Parameters
    ----------
    values : (n,)
        x, finite; their sum is the total, but for rounding errors.
    total
        What the whole numbers add up to.

    Raises
    ------
    ProgramError
        Values that are not finite numbers in one row, or whose sum is not the total.
    """
    real = np.asarray(values, dtype=np.float64)
    if real.ndim != 1 or real.size == 0 or not np.isfinite(real).all():
        raise ProgramError(f"expected finite numbers in one row, found an array of shape {real.shape}")
    if abs(float(real.sum()) - total) > 0.5 + 1e-12 * float(np.abs(real).sum()):
        raise ProgramError(f"the values add up to {real.sum():g}; expected a sum of {total:,}")
    floors = np.floor(real)
    found = floors.astype(np.int64)
    all_alike, raised = divmod(total - int(found.sum()), real.size)  # the first is 0 but for rounding errors
    found += all_alike
    found[np.argsort(real - floors, kind="stable")[real.size - raised :]] += 1
    return found
