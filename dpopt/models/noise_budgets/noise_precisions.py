"""How precisely counts are known that are measured with a part of a budget: one over the variance of their noise.

    p = 2 b / m, Gaussian noise and b of rho;   p = 2 sinh^2(b / 2 m), Laplace noise and b of epsilon

where one record moves the counts by m in L1 and in squared L2. The discrete Gaussian law has at most the variance
sigma^2 = m / 2 b; the discrete Laplace law of scale m / b has exactly 1 / (2 sinh^2(b / 2 m)).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_LARGEST_ARGUMENT = 20.0  # of sinh: counts have no noise any more, and slopes stay finite


def noise_precisions(amounts: NDArray[np.float64], *, moved: int, gaussian: bool) -> NDArray[np.float64]:
    """Return p of each part b of the budget, in the shape of the amounts."""
    if gaussian:
        return np.asarray(2.0 * amounts / moved)
    return np.asarray(2.0 * np.sinh(np.minimum(amounts / (2.0 * moved), _LARGEST_ARGUMENT)) ** 2)


def precision_rates(amounts: NDArray[np.float64], *, moved: int, gaussian: bool) -> NDArray[np.float64]:
    """Return the derivative of each p by its b, in the shape of the amounts."""
    if gaussian:
        return np.full(np.shape(amounts), 2.0 / moved)
    return np.asarray(np.sinh(np.minimum(amounts / moved, 2 * _LARGEST_ARGUMENT)) / moved)
