"""The combination of estimates from random projections whose worst bias is least.

Problem (models/halfspace_debiasing): an estimate from projections counts a record of margin at least gamma not as 1 or
-1 but as a response r times that; r depends on the record. Of J estimates, with r_sj the responses for a record s of a
set S and v_j >= 0 the noise of each times how many standard deviations count,

    minimize    E + sum_j v_j |a_j|                                   HD-1
    subject to  |sum_j a_j r_sj - 1| <= E     for s in S              HD-2

As a linear program: a_j = a_j^+ - a_j^-                              HD-3

A record on the other side counts as the negative, so that no constant is of use. For J = 1 the least and the largest
response l and u decide: if 0 < l and v < l, the solution is

    a = 2 / (l + u),    E = (u - l) / (u + l)                         HD-4

and else a = 0 and E = 1, which answers 1/2 whatever is asked. Signs are twice shares: in shares of records the error is
E / 2.

Source: our own; the responses are those of Blum, Ligett and Roth, section 6.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models.model import Model
from dpopt.programs.building import Builder, dense

_ROUNDS = 40
_RIDGE = 1e-9


def halfspace_debiasing(responses: NDArray[np.float64], noise: NDArray[np.float64]) -> Model:
    """Return HD-1 to HD-3 in a_plus and a_minus (J,), whose difference is a, and E.

    Parameters
    ----------
    responses : (s, J) float64
    noise : (J,) float64
        v, at least 0.
    """
    if responses.ndim != 2 or not responses.size or noise.shape != responses.shape[1:]:
        raise ProgramError(
            f"found responses of the shape {responses.shape} and {noise.size} numbers for noise; expected one for each "
            f"column"
        )
    if not (np.isfinite(responses).all() and np.isfinite(noise).all() and (noise >= 0.0).all()):
        raise ProgramError("expected finite responses, and noise of at least 0")
    number, each = len(responses), np.arange(len(responses))
    build = Builder()
    plus, minus = (build.variables(name, noise.size, objective=noise) for name in ("a_plus", "a_minus"))  # HD-3
    error = build.variables("E", objective=1.0)
    near = dense(responses, plus), dense(-responses, minus)
    build.rows("HD-2.above", number, *near, (each, error, 1.0), lower=1.0)
    build.rows("HD-2.below", number, *near, (each, error, -1.0), upper=1.0)
    return Model.of("halfspace_debiasing", build)


def least_worst_combination(responses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a near solution of HD-2 without noise, (J,): by least squares whose weights grow where errors are large.

    Lawson's method for Chebyshev approximation: each round multiplies the weight of a record by its error. It is
    stopped early, so that the combination is no slave of a few records of the sample; the best round counts. Errors of
    what it returns are measured on other records anyway.
    """
    records, estimates = responses.shape
    weights = np.full(records, 1.0 / records)
    best, least = np.zeros(estimates), 1.0
    for _ in range(_ROUNDS):
        weighted = responses * weights[:, None]
        found = np.linalg.solve(responses.T @ weighted + _RIDGE * np.eye(estimates), weighted.sum(axis=0))
        errors = np.abs(responses @ found - 1.0)
        if errors.max() < least:
            best, least = found, float(errors.max())
        weights *= errors
        total = weights.sum()
        if not total > 0.0:
            break
        weights /= total
    return best
