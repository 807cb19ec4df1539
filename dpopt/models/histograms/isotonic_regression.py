"""Nondecreasing sequences nearest to noisy ones: quadratic programs for squares, linear ones for absolute differences.

Problem (models/isotonic_regression): for noisy values y_1, ..., y_n with weights w_k > 0,

    minimize    1/2 sum_k w_k (s_k - y_k)^2                                     IR-1
    or          sum_k w_k t_k   with   t_k >= s_k - y_k, t_k >= y_k - s_k        IR-2
    subject to  s_k <= s_{k+1}               for k = 1, ..., n - 1              IR-3
                (but where another sequence begins with s_{k+1})
                lower <= s_k <= upper        if bounds are known                IR-4
                sum_k s_k = total            if the total is known              IR-5

The closed form of IR-1 takes n log n steps (`dpopt.inference.histograms.sorted.isotonic`); what it rests on, with M_ij the
weighted mean of y_i, ..., y_j:

    without IR-4 and IR-5, s_k = min_{j >= k} max_{i <= j} M_ij = max_{i <= k} min_{j >= i} M_ij       IR-6
    p_k = sum_{i <= k} (w_i (y_i - s_i) + shift) >= 0, p_n = 0, p_k (s_{k+1} - s_k) = 0                 IR-7
    the best whole numbers under IR-1 are floor(s_k + 1/2), cut at whole bounds                        IR-8

IR-7 are the optimality conditions of IR-1 with IR-3 and IR-5; shift is the multiplier of the total, 0 without one.

Source: Hay, Rastogi, Miklau and Suciu (2010), section 3.2 and Theorem 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dpopt.errors import ProgramError
from dpopt.models.model import Model, computed_by
from dpopt.programs.building import Builder, Indices, Numbers

_CLOSED_FORMS = "dpopt.inference.histograms.closed_forms"


def isotonic_regression(
    values: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    lower: float | None = None,
    upper: float | None = None,
    total: float | None = None,
    breaks: Sequence[int] = (),
) -> Model:
    """Return IR-1, IR-3 to IR-5: the nearest nondecreasing sequence s (n,) by squares.

    Parameters
    ----------
    values : (n,)
        y, finite, n >= 1.
    weights : (n,), optional
        w > 0; 1 if left out.
    lower, upper
        Bounds of every entry, if they are known (IR-4).
    total
        What the entries add up to, if that is known (IR-5).
    breaks
        Positions, from 1, at which another sequence begins: IR-3 does not hold there.

    Examples
    --------
    >>> isotonic_regression([14, 9, 10, 15]).solve("clarabel").value["s"].round(6).tolist()
    [11.0, 11.0, 11.0, 15.0]
    """
    noisy, heft = _checked(values, weights)
    build = Builder()
    s = _sequence(build, noisy.size, lower, upper, total, breaks)
    build.squares("IR-1", noisy.size, (np.arange(noisy.size), s, 1.0), targets=noisy, weights=heft)
    closed_form = computed_by(
        f"{_CLOSED_FORMS}:isotonic_regression", noisy, heft, lower=lower, upper=upper, total=total, breaks=breaks
    )
    return Model.of("isotonic_regression", build, closed_form=closed_form)


def isotonic_median_regression(
    values: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    lower: float | None = None,
    upper: float | None = None,
    total: float | None = None,
    breaks: Sequence[int] = (),
) -> Model:
    """Return IR-2 to IR-5: the nearest nondecreasing sequence s (n,) by absolute differences t (n,).

    Parameters and errors as for `isotonic_regression`.

    Examples
    --------
    >>> isotonic_median_regression([14, 9, 10, 15]).solve().objective
    5.0
    """
    noisy, heft = _checked(values, weights)
    build = Builder()
    s = _sequence(build, noisy.size, lower, upper, total, breaks)
    t = build.variables("t", noisy.size, objective=heft)
    each = np.arange(noisy.size)
    build.rows("IR-2", 2 * noisy.size, (each, s, 1.0), (each, t, 1.0), (each + noisy.size, s, 1.0),
               (each + noisy.size, t, -1.0), lower=np.concatenate([noisy, np.full(noisy.size, -np.inf)]),
               upper=np.concatenate([np.full(noisy.size, np.inf), noisy]))  # fmt: skip
    return Model.of("isotonic_regression", build)


def _checked(values: ArrayLike, weights: ArrayLike | None) -> tuple[Numbers, Numbers]:
    noisy = np.asarray(values, dtype=np.float64)
    heft = np.ones(noisy.shape) if weights is None else np.asarray(weights, dtype=np.float64)
    if noisy.ndim != 1 or noisy.size == 0 or heft.shape != noisy.shape:
        raise ProgramError(
            f"values and weights are two rows of one length, at least 1; found shapes {noisy.shape} and {heft.shape}"
        )
    if not (heft > 0).all():
        raise ProgramError("weights must be positive")
    return noisy, heft


def _sequence(
    build: Builder, size: int, lower: float | None, upper: float | None, total: float | None, breaks: Sequence[int]
) -> Indices:
    """Add s with IR-3 to IR-5."""
    s = build.variables("s", size, lower=-np.inf if lower is None else lower, upper=np.inf if upper is None else upper)
    if any(not 0 < place < size for place in breaks):
        raise ProgramError(f"another sequence begins at 1 to {size - 1}, found {list(breaks)}")
    before = np.delete(s[:-1], [place - 1 for place in breaks])
    each = np.arange(before.size)
    build.rows("IR-3", before.size, (each, before, -1.0), (each, before + 1, 1.0), lower=0.0)
    if total is not None:
        build.rows("IR-5", 1, (0, s, 1.0), lower=total, upper=total, single=True)
    return s
