"""The mechanism of least expected loss for a statistic with few values: its whole matrix of probabilities as a program.

Given value i = 0, ..., N - 1 of the statistic, output r has probability x_ir and loss l_ir. Values i and i + 1 are
neighbours; a >= 1 bounds ratios of probabilities, at most e^epsilon.

    minimize   sum_i p_i sum_r l_ir x_ir for a prior p, or else the worst case v                (OM-1)
    subject to sum_r l_ir x_ir <= v for each i, in the worst case                               (OM-2)
               sum_r x_ir = 1 for each i                                                        (OM-3)
               x_ir - a x_jr <= s_ijr for neighbours i, j and each r; s = 0 if delta = 0        (OM-4)
               sum_r s_ijr <= delta for neighbours i, j                                         (OM-5)

    optimum >= sum_i min_r (p_i l_ir + sum_j (y_ijr - a y_jir)) - delta sum_ij max_r y_ijr      (OM-6)
               for all y >= 0, and every p in the worst case: `least_loss`, in rationals
    sampled: whole weights w_ir of (1 - t) x_ir + t / R, which keep OM-3 to OM-5 exactly        (OM-7)

Derivation: models/optimal_mechanism/README.md.

Source: Ghosh, Roughgarden and Sundararajan (2009), section 2; Gupte and Sundararajan (2010) for the worst case.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError
from dpopt.models.model import Model, Solution
from dpopt.programs.building import Builder
from dpopt.programs.duality import Dyadic

Numbers = NDArray[np.float64]
MOST_ENTRIES = 5_000
"""Most probabilities of a matrix; solvers take seconds for this number."""
SUM = 2**60
"""Of each row of weights."""


def optimal_mechanism(losses: Numbers, ratio: float, *, delta: float = 0.0, prior: Numbers | None = None) -> Model:
    """Return OM-1 to OM-5: x (N, R), v for the worst case, s (2 N - 2, R) if there is a delta.

    Pairs of neighbours are (1, 0), (2, 1), ..., then (0, 1), (1, 2), ....

    Parameters
    ----------
    losses : (N, R) float64
        l, at least 0; at least two rows, at most 5,000 numbers.
    ratio
        a, above 1.
    delta
        From 0 to below 1.
    prior : (N,) float64, optional
        p, at least 0, of sum 1. Left out: the worst case.

    Examples
    --------
    >>> optimal_mechanism(1.0 - np.eye(2), 3.0).solve().objective
    0.25
    """
    _check(losses, ratio, delta, prior)
    build, (values, outputs) = Builder(), losses.shape
    weighted = 0.0 if prior is None else losses * prior[:, None]
    x = build.variables("x", values, outputs, upper=1.0, objective=weighted, start=0)  # OM-1
    row, pair = np.indices(x.shape)[0], np.indices((2 * values - 2, outputs))[0]
    if prior is None:
        worst = build.variables("v", upper=losses.max(), objective=1.0)
        build.rows("OM-2", values, (row, x, losses), (np.arange(values), worst, -1.0), upper=0.0, start=0)
    build.rows("OM-3", values, (row, x, 1.0), lower=1.0, upper=1.0, start=0)
    one, two, each = np.concatenate([x[1:], x[:-1]]), np.concatenate([x[:-1], x[1:]]), np.arange(pair.size)
    entries = [(each, one.ravel(), 1.0), (each, two.ravel(), -ratio)]
    if delta:
        s = build.variables("s", 2 * values - 2, outputs, upper=1.0)
        build.rows("OM-5", 2 * values - 2, (pair, s, 1.0), upper=delta)
        entries.append((each, s.ravel(), -1.0))
    build.rows("OM-4", pair.size, *entries, upper=0.0)
    return Model.of("optimal_mechanism", build)


def least_loss(
    model: Model, found: Solution, losses: Numbers, ratio: float, *, delta: float = 0.0, prior: Numbers | None = None
) -> Fraction:
    """Return the bound OM-6 of the duals that a solver found: no mechanism has less loss, whatever the solver did.

    Parameters as of `optimal_mechanism`, by which `model` was made; of a solver without duals the bound is weak.
    """
    duals = found.result.duals
    duals = np.zeros(model.linear.number_of_rows) if duals is None else np.nan_to_num(-duals, posinf=0.0, neginf=0.0)
    y = np.maximum(duals[model.rows["OM-4"].numbers], 0.0).reshape(-1, losses.shape[1])
    weights = np.maximum(duals[model.rows["OM-2"].numbers], 0.0) if prior is None else prior
    if not weights.sum() > 0.0:
        weights = np.ones(losses.shape[0])
    p, exact = _fractions(weights), _fractions(y)
    p /= p.sum()
    flow, back = np.split(exact, 2)  # of pairs (i + 1, i), and of (i, i + 1)
    cost = _fractions(losses) * p[:, None]
    cost[1:] += flow - Fraction(ratio) * back
    cost[:-1] += back - Fraction(ratio) * flow
    bound: Fraction = cost.min(axis=1).sum() - Fraction(delta) * exact.max(axis=1).sum()
    return max(bound, Fraction())


def whole_weights(probabilities: Numbers, ratio: float, *, delta: float = 0.0) -> NDArray[np.int64]:
    """Return OM-7: whole weights (N, R), each row of sum 2^60, near probabilities that a solver found.

    Rounding and the solver's tolerance break rows by some 1e-7. A share t of the uniform mechanism, whose ratios are 1,
    mends that; t is doubled until the rows hold in whole numbers.
    """
    fine = np.maximum(np.nan_to_num(probabilities), 0.0) + 1e-300
    fine /= fine.sum(axis=1, keepdims=True)
    outputs, share = fine.shape[1], 1e-15
    while True:
        weights = np.floor(((1.0 - share) * fine + share / outputs) * float(SUM)).astype(np.int64)
        place = np.arange(len(weights)), weights.argmax(axis=1)
        weights[place] += SUM - weights.sum(axis=1)
        if share >= 1.0 or _keeps(weights, Fraction(ratio), Fraction(delta)):
            return freeze(weights)
        share = min(1.0, 2.0 * share)


def losses_of(weights: NDArray[np.int64], losses: Numbers) -> NDArray[np.object_]:
    """Return the expected loss of each row of weights, exactly, (N,) fractions."""
    terms = _fractions(losses) * weights.astype(np.object_)
    found: NDArray[np.object_] = terms.sum(axis=1) / weights.astype(np.object_).sum(axis=1)
    return found


def _keeps(weights: NDArray[np.int64], ratio: Fraction, delta: Fraction) -> bool:
    """Return whether OM-4 and OM-5 hold in whole numbers."""
    rows = weights.astype(np.object_)
    over = rows[1:] * ratio.denominator - rows[:-1] * ratio.numerator
    under = rows[:-1] * ratio.denominator - rows[1:] * ratio.numerator
    most = delta * SUM * ratio.denominator
    return all(np.maximum(one, 0).sum(axis=1).max() <= most for one in (over, under))


def _fractions(values: Numbers) -> NDArray[np.object_]:
    """Return floats as the fractions that they are."""
    exact = Dyadic.of(np.ascontiguousarray(values).ravel())
    parts = [Fraction(one, 2**exact.shift) for one in exact.numerators.tolist()]
    return np.array(parts, dtype=np.object_).reshape(values.shape)


def _check(losses: Numbers, ratio: float, delta: float, prior: Numbers | None) -> None:
    if losses.ndim != 2 or len(losses) < 2 or losses.size > MOST_ENTRIES or not np.isfinite(losses).all():
        raise ProgramError(
            f"optimal_mechanism: found losses of shape {losses.shape}; expected a row of finite numbers for each of two or "
            f"more values, {MOST_ENTRIES:,} numbers at most"
        )
    if losses.min() < 0:
        raise ProgramError("optimal_mechanism: losses are numbers from 0")
    if not 1.0 < ratio < 1e18 or not 0.0 <= delta < 1.0:
        raise ProgramError(
            f"optimal_mechanism: found the ratio {ratio!r} and delta {delta!r}; expected above 1, and from 0 to below 1"
        )
    if prior is not None and (prior.shape != losses.shape[:1] or prior.min() < 0 or abs(prior.sum() - 1) > 1e-9):
        raise ProgramError("optimal_mechanism: a prior has a share from 0 for each value, of sum 1")
