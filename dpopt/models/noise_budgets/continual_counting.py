"""Counts of prefixes that grow with time: the factors of the triangle of ones with the least largest variance.

The prefixes of T steps are A x, A_ts = 1 for s <= t. What is measured of them is C x, with noise of variance 1 on each
row and columns of norm 1 at most, and answered by B = A C^-1. With X = C'C and V = B B':

    minimize   v                                                                                 (CC-1)
    subject to X_ss <= 1 for each step s                                                         (CC-2)
               V_tt <= v for each step t                                                         (CC-3)
               the matrix [[X, A'], [A, V]] is semidefinite                                      (CC-4)

The optimum is the square of the factorization norm gamma_2 of A. Its noise need not know the future: every semidefinite
X is C'C for a C with C_ts = 0 for s > t (the Cholesky factor from the last step on), and B is then such a matrix as
well. So nothing is lost against noise for all steps at once.

    optimum >= 1 / T^2 (sum_{k=1..T} 1 / (2 sin((2 k - 1) pi / (4 T + 2))))^2                    (CC-5)
    root: f_0 = 1, f_k = f_(k-1) (2 k - 1) / (2 k); v = (sum_{k < T} f_k^2)^2                    (CC-6)

Released is the root in whole numbers: c_k = 2^16 f_k, rounded (CC-7), answered with the inverse of c (CC-8), by
`dpopt.inference.histograms.prefix_factors`. Derivation: models/continual_counting/README.md.

Source: Denisov, McMahan, Rush, Smith and Thakurta (2022); Fichtenberger, Henzinger and Upadhyay (2023).
"""

from __future__ import annotations

import numpy as np

from dpopt.errors import ProgramError
from dpopt.models.model import Model
from dpopt.models.noise_budgets.strategy import factored
from dpopt.programs.building import Builder

LARGEST_MODEL = 128
"""Steps of a model at most: it holds all pairs of them."""


def continual_counting(steps: int) -> Model:
    """Return the model of CC-1 to CC-4 for T = `steps`, from 1 to 128.

    Examples
    --------
    >>> found = continual_counting(2).solve("clarabel")
    >>> round(found.objective, 4), found.value["X"].round(3).tolist()
    (1.3333, [1.0, 0.5, 1.0])
    """
    if not isinstance(steps, int) or not 1 <= steps <= LARGEST_MODEL:
        raise ProgramError(f"continual_counting: found {steps!r} steps; expected 1 to {LARGEST_MODEL}")
    build, each, most = Builder(), np.arange(steps), float(steps)  # X = 1 has v = T
    v = factored(build, np.tri(steps), ("CC-2", "CC-4"), most=most)
    worst = build.variables("v", 1, upper=most, objective=1.0)
    build.rows("CC-3", steps, (each, v, 1.0), (each, worst[0], -1.0), upper=0.0)
    return Model.of("continual_counting", build)
