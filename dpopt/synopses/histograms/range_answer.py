"""The answer to a range, with its error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class RangeAnswer:
    """How many records lie in a range, or in a box.

    Attributes
    ----------
    value : float
        The estimate that was asked for: the sum of its bins or cells, so that all answers of one estimate agree.
    standard_error : float
        That of the least-squares estimate; other estimates differ from it where that would be negative somewhere. Exact, but an
        upper bound for several columns whose numbers of bins are no powers of 2.
    low, high : float
        Interval around the least-squares estimate, cut at 0: with Gaussian tails it holds the truth with this confidence.
    confidence : float
    """

    value: float
    standard_error: float
    low: float
    high: float
    confidence: float


def range_answers(
    values: NDArray[np.float64],
    unbiased: NDArray[np.float64],
    errors: NDArray[np.float64],
    confidence: float,
) -> list[RangeAnswer]:
    """Return the answers of these values, with intervals around the unbiased estimates; all arrays (q,).

    Raises
    ------
    WorkloadError
        If the confidence is not between 0 and 1.
    """
    from scipy.special import ndtri

    if not 0.0 < confidence < 1.0:
        raise WorkloadError(f"the confidence must lie between 0 and 1, found {confidence!r}")
    reach = float(ndtri(0.5 + confidence / 2.0)) * errors
    low, high = np.maximum(unbiased - reach, 0.0), np.maximum(unbiased + reach, 0.0)
    rows = zip(values.tolist(), errors.tolist(), low.tolist(), high.tolist(), strict=True)
    return [RangeAnswer(*row, confidence) for row in rows]
