"""The distribution of largest entropy that agrees with noisy answers up to their noise: objective, dual bound, and their gap.

    minimize  KL(p || p0) + sum_i w_i / 2 sum_c d_ic^2          d_ic = max(0, |s_ic - y_ic| - tau_i)     (ME-1)
    s_ic = sum over the cells x of part c of measurement i of p_x                                         (ME-2)
    sum_x p_x = 1, p >= 0                                                                                 (ME-3)

over the cells x of a product universe; measurement i divides them into parts c. At the optimum, and on the way there,

    p_x = p0_x exp(sum_i theta_{i, c(x)} + L),   L = -ln of the sum that normalizes                       (ME-4)

and for any multipliers theta, no distribution has a smaller objective than

    D(theta) = L + sum_ic (theta_ic y_ic - tau_i |theta_ic| - theta_ic^2 / (2 w_i))                       (ME-5)

`dpopt.inference.distribution.fit` raises D by one measurement at a time (ME-6), and so few rounds can be needed (ME-7).
Page: models/max_entropy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class EntropyTerm:
    """One measurement at a distribution of the form ME-4.

    Attributes
    ----------
    shares, values, multipliers : (c,) float64 arrays
        s_ic, y_ic and theta_ic.
    slack, weight : float
        tau_i >= 0 and w_i > 0.
    """

    shares: NDArray[np.float64]
    values: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    slack: float
    weight: float


def entropy_bracket(normalizer: float, terms: Sequence[EntropyTerm]) -> tuple[float, float]:
    """Return the objective (ME-1) of the distribution of some multipliers, and the dual value (ME-5), a lower bound.

    The relative entropy needs no pass over the cells: by ME-4 it is L + sum_ic theta_ic s_ic. Each part adds
    theta s + w d^2 / 2 - theta y + tau |theta| + theta^2 / (2 w) >= 0 to the gap, and nothing where its multiplier is best
    (Fenchel and Young).

    Parameters
    ----------
    normalizer : float
        L.
    terms
        All measurements.
    """
    objective = bound = normalizer
    for term in terms:
        theta, beyond = term.multipliers, np.maximum(0.0, np.abs(term.shares - term.values) - term.slack)
        objective += float(theta @ term.shares) + term.weight / 2 * float(beyond @ beyond)
        bound += float(theta @ term.values) - term.slack * float(np.abs(theta).sum())
        bound -= float(theta @ theta) / (2 * term.weight)
    return objective, bound
