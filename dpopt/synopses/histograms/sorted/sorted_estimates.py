"""Which nondecreasing sequence stands for noisy sorted counts: the estimates that a user may choose from, by name.

All are functions of noisy counts that are public: to choose another one costs no privacy.
"""

from __future__ import annotations

import enum

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.histograms.known_total import whole_of_total
from dpopt.inference.histograms.sorted.isotonic import isotonic, isotonic_median


class SortedEstimate(enum.Enum):
    """An estimate of sorted counts.

    `POSTERIOR`: posterior means under the law of the noise. The default: the least squared error in most cases.

    `ISOTONIC`: the nearest nondecreasing sequence (Hay et al. 2010); assumes nothing, and serves where the noise hides the
    shape of the sequence.

    `LEAST_ABSOLUTE`: the nearest by the sum of absolute differences, which is most likely under Laplace noise; assumes
    nothing either.

    `ROUNDED`: the noisy counts, sorted and cut at the bounds: what the others are to be measured against.
    """

    POSTERIOR = "posterior"
    ISOTONIC = "isotonic"
    LEAST_ABSOLUTE = "least-absolute"
    ROUNDED = "rounded"


def nearest_sequence(
    estimate: SortedEstimate, noisy: NDArray[np.int64], *, largest: int | None
) -> NDArray[np.float64]:
    """Return an estimate other than the posterior, (n,), nondecreasing and from 0 to `largest`."""
    if estimate is SortedEstimate.ISOTONIC:
        return isotonic(noisy, lower=0, upper=largest)
    if estimate is SortedEstimate.LEAST_ABSOLUTE:
        return isotonic_median(noisy, lower=0, upper=largest)
    return np.clip(np.sort(noisy), 0, largest).astype(np.float64)


def with_total(
    sequence: NDArray[np.float64], *, largest: int | None, total: int | None
) -> NDArray[np.float64]:
    """Return the nearest sequence with a total that is public, (n,), nondecreasing and from 0 to `largest`.

    minimize sum_k (s_k - sequence_k)^2 over all such s (models/isotonic_regression, IR-1 with IR-3 to IR-5)

    The truth is one of them, and the nearest point of a convex set is no farther from any point in it: whatever the estimate,
    its squared error does not grow. Of the nearest nondecreasing sequence this makes the nearest one with the total.
    """
    return sequence if total is None else isotonic(sequence, lower=0, upper=largest, total=total)


def whole_sequence(real: NDArray[np.float64], total: int | None) -> NDArray[np.int64]:
    """Return the nearest whole numbers, (n,), nondecreasing like the real ones, with the total that is public."""
    return np.floor(real + 0.5).astype(np.int64) if total is None else whole_of_total(real, total)
