"""The distribution of largest entropy that agrees with noisy answers up to their noise: objective, dual bound, gap.

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
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import whole
from dpopt.errors import ProgramError
from dpopt.models.model import Model
from dpopt.programs.building import Builder
from dpopt.programs.conic import Cone


@dataclass(frozen=True, slots=True, eq=False)
class EntropyTerm:
    """One measurement at a distribution of the form ME-4."""

    shares: NDArray[np.float64]
    values: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    """Shape (c,). s_ic, y_ic and theta_ic."""
    slack: float
    weight: float
    """tau_i >= 0 and w_i > 0."""


def entropy_bracket(normalizer: float, terms: Sequence[EntropyTerm]) -> tuple[float, float]:
    """Return the objective (ME-1) of the distribution of some multipliers, and the dual value (ME-5), a lower bound.

    The relative entropy needs no pass over the cells: by ME-4, with the `normalizer` L, it is L + sum_ic theta_ic
    s_ic. Each part adds theta s + w d^2 / 2 - theta y + tau |theta| + theta^2 / (2 w) >= 0 to the gap, and nothing
    where its multiplier is best (Fenchel and Young).
    """
    objective = bound = normalizer
    for term in terms:
        theta, beyond = term.multipliers, np.maximum(0.0, np.abs(term.shares - term.values) - term.slack)
        objective += float(theta @ term.shares) + term.weight / 2 * float(beyond @ beyond)
        bound += float(theta @ term.values) - term.slack * float(np.abs(theta).sum())
        bound -= float(theta @ theta) / (2 * term.weight)
    return objective, bound


def entropy_of(p: NDArray[np.float64], start: NDArray[np.float64]) -> float:
    """Return KL(p || p0) of two distributions over the same cells, (x,); p is 0 where p0 is."""
    held = p > 0
    return float(p[held] @ np.log(p[held] / start[held]))


MOST_CELLS = 20_000
"""Cells of a universe that a solver is handed at most, one exponential cone each."""


def max_entropy(
    start: ArrayLike,
    parts: ArrayLike,
    values: Sequence[ArrayLike],
    *,
    slacks: ArrayLike = 0.0,
    weights: ArrayLike = 1.0,
) -> Model:
    """Return the model of ME-1 to ME-3 over a list of cells.

    Variables: p; e, at least p ln(p / p0) of each cell; d, at least by how much a share leaves the slack around its
    value.

    Parameters
    ----------
    start : (x,) float64
        p0, above 0, of sum 1.
    parts : (k, x) int
        The part of measurement i, from 0, that each cell lies in.
    values : k arrays (c_i,) float64
        y_ic.
    slacks, weights : (k,) float64 or float
        tau_i, at least 0, and w_i, above 0.

    Examples
    --------
    >>> found = max_entropy([0.5, 0.5], [[0, 1]], [[0.1, 0.9]], slacks=0.1, weights=10.986).solve()
    >>> round(found.objective, 4), found.value["p"].round(2).tolist()
    (0.1583, [0.25, 0.75])
    """
    p0, owner = np.asarray(start, dtype=np.float64), whole(parts)
    noisy = [np.asarray(one, dtype=np.float64) for one in values]
    if p0.ndim != 1 or owner.shape != (len(noisy), p0.size) or not p0.size:
        raise ProgramError(
            f"max_entropy: found {p0.size} cells, parts of shape {owner.shape} and {len(noisy)} measurements; expected "
            f"a part for each measurement and cell"
        )
    if not (p0 > 0).all() or abs(float(p0.sum()) - 1.0) > 1e-9:
        raise ProgramError("max_entropy: the start must be above 0 and add up to 1")
    for row, one in zip(owner, noisy, strict=True):
        if one.ndim != 1 or not np.isfinite(one).all() or row.min() < 0 or row.max() >= one.size:
            raise ProgramError("max_entropy: a measurement needs one finite value for each of its parts")
    slack, weight = (np.broadcast_to(np.asarray(one, np.float64), (len(noisy),)) for one in (slacks, weights))
    if not (slack >= 0).all() or not (weight > 0).all():
        raise ProgramError("max_entropy: slacks are at least 0 and weights above 0")
    sizes = np.array([one.size for one in noisy])
    number, each, wanted = int(sizes.sum()), np.arange(p0.size), np.concatenate([np.zeros(0), *noisy])
    share = (np.cumsum(sizes) - sizes)[:, None] + owner  # row of each measurement and cell
    wide = np.repeat(slack, sizes)
    build = Builder()
    p = build.variables("p", p0.size, upper=1.0)
    e = build.variables("e", p0.size, lower=-1.0, upper=np.maximum(-np.log(p0), 0.0), objective=1.0)

    def names(*ends: str) -> list[str]:
        places = [f"{i + 1},{c + 1}" for i, size in enumerate(sizes.tolist()) for c in range(size)]
        return [f"{place}{end}" for end in ends for place in places]

    d = build.variables("d", number, upper=1.0 + np.abs(wanted), inside=lambda: names(""))
    build.squares(
        "ME-1",
        number,
        (np.arange(number), d, 1.0),
        targets=0.0,
        weights=np.repeat(weight, sizes),
        inside=lambda: names(""),
    )
    free = np.full(number, np.inf)
    build.rows(
        "ME-2",
        2 * number,
        (share, p, 1.0),
        (number + share, p, 1.0),
        (np.arange(2 * number), np.tile(d, 2), np.repeat([-1.0, 1.0], number)),
        lower=np.concatenate((-free, wanted - wide)),
        upper=np.concatenate((wanted + wide, free)),
        inside=lambda: names(",above", ",below"),
    )
    build.rows("ME-3", 1, (0, p, 1.0), lower=1.0, upper=1.0, single=True)
    # p exp(-e / p) <= p0, divided by p0: solvers like members of one size.
    build.cones(
        "ME-1 entropy",
        Cone.EXPONENTIAL,
        p0.size,
        3,
        (3 * each, e, -1.0 / p0),
        (3 * each + 1, p, 1.0 / p0),
        constants=np.tile([0.0, 0.0, 1.0], p0.size),
    )
    return Model.of("max_entropy", build)
