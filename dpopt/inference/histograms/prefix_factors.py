"""Counts of prefixes that grow: a triangular strategy in whole numbers, and estimates of prefixes from noisy rows.

Problem (models/continual_counting): the prefixes of T steps are A x with A_ts = 1 for s <= t. Measure C x with noise of
one variance on each row, C triangular, so that row t needs the records of the steps up to t alone; answer A C^-1 (C x +
noise).

Toeplitz matrices are power series in q: A is 1 / (1 - q), and its root 1 / sqrt(1 - q) has the coefficients

    f_0 = 1,  f_k = f_(k-1) (2 k - 1) / (2 k)                                            CC-6
    c_k = f_k 2^16, rounded                                                              CC-7
    prefix t = sum_s b_(t-s) y_s,  b = 1 / ((1 - q) c(q)),  variance sum_(k <= t) b_k^2    CC-8

With c for f all is in whole numbers, so that discrete noise can be added, and the sensitivity sum c_k^2 is exact; the
answers are unbiased, since b is the inverse of c and not of f.

Everything here takes public numbers and noisy values only: it costs no privacy.

Source: Fichtenberger, Henzinger and Upadhyay (2023), "Constant matters"; Denisov, McMahan, Rush, Smith and Thakurta
(2022).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

UNIT = 2**16
"""c_0; the later weights are rounded to whole numbers of this unit's parts."""


def root_coefficients(steps: int) -> NDArray[np.float64]:
    """Return f_0, ..., f_(T-1), (T,): CC-6.

    Examples
    --------
    >>> root_coefficients(4).tolist()
    [1.0, 0.5, 0.375, 0.3125]
    """
    later = np.arange(1, steps)
    return np.cumprod(np.concatenate([[1.0], (2 * later - 1) / (2 * later)]))


def whole_coefficients(steps: int) -> NDArray[np.int64]:
    """Return c_0, ..., c_(T-1), (T,), positive: CC-7."""
    return np.rint(root_coefficients(steps) * UNIT).astype(np.int64)


def prefixes_of_rows(rows: NDArray[np.int64], coefficients: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the counts of prefixes that the first noisy rows (t,) stand for, (t,): CC-8. The first of them never change."""
    from scipy.signal import lfilter

    found: NDArray[np.float64] = lfilter([1.0], coefficients[: rows.size], np.cumsum(rows.astype(np.float64)))
    return found


def prefix_deviations(coefficients: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    """Return the standard deviation of each prefix, (T,), for noise of this standard deviation on each row: CC-8."""
    from scipy.signal import lfilter

    answered = lfilter([1.0], coefficients, np.ones(coefficients.size))
    found: NDArray[np.float64] = scale * np.sqrt(np.cumsum(answered**2))
    return found
