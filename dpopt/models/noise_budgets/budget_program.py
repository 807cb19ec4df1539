"""The program of noise budgets: shares of a budget for which the largest of weighted sums of ratios is least.

With shares x of a budget, ratios v_i and groups j of them:

    minimize   max_j sum_i a_ij v_i
    subject to sum_k x_k <= total, x >= 0,
               v_i (kappa_i + sum_k g_ik x_k) >= c_i

The shares are those of levels (`level_budgets`), marginals (`noise_allocation`) or residuals (`residual_allocation`), and
a ratio is the variance of a part of the answers. Without groups the sum of the ratios is minimized. A budget that a named
solver finds is compared with that of our own method, and refused if it is worse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import whole
from dpopt.errors import ProgramError, WorkloadError
from dpopt.models.model import Answer, Model
from dpopt.programs.building import Builder, Entries, Names
from dpopt.programs.conic import product_multipliers
from dpopt.programs.solver import Solver
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains

Numbers = NDArray[np.float64]

WORSE = 1e-4
"""A solver's budget may have an objective above that of our own by this part."""


@dataclass(frozen=True, slots=True)
class SolvedBudget:
    """How a solver's budget compares."""

    who: str
    """Who solved the model, and how that ended."""
    ahead: float
    """By which part its objective is below that of our own method; below 0 if it is above."""

    def __str__(self) -> str:
        side = "below" if self.ahead >= 0 else "above"
        return f"{self.who}, an objective {abs(self.ahead):.2g} {side} that of our own method"


@dataclass(frozen=True, slots=True, eq=False)
class LevelBudgets:
    """The share of each level."""

    amounts: NDArray[np.float64]
    """Shape (levels,). b in epsilon or rho, in the order of the program's levels; 0 for levels that are not measured."""
    variances: NDArray[np.float64]
    """Shape (g,). Predicted mean variance of the ranges of each group, in records squared; one group in a hierarchy."""
    gap: float | None
    """No other amounts have less than (1 - gap) times the objective; proven for Gaussian noise, None otherwise."""
    solved: SolvedBudget | None = None
    """How the amounts compare with those of the descent, where a solver found them."""


def budget_solved_by(
    solver: str | Solver,
    model: Model,
    symbol: str,
    own: NDArray[np.float64],
    objective: Callable[[NDArray[np.float64]], float],
) -> tuple[NDArray[np.float64], SolvedBudget]:
    """Return the parts of a budget that a solver finds, the variables `symbol` of a model, and how they compare with our own.

    They are scaled to the sum of `own` (k,), the parts that our own method found, and `objective` evaluates both.
    """
    found = model.solve_for_release(solver)
    parts = np.maximum(np.nan_to_num(found.value[symbol]), 0.0)
    parts *= own.sum() / max(float(parts.sum()), np.finfo(np.float64).tiny)
    ahead = 1.0 - objective(parts) / objective(own)
    if not ahead >= -WORSE:
        raise ProgramError(
            f"{model.name}: what {found.ended} found has an objective {-ahead:.2g} above that of our own method; name "
            f"another solver, or none"
        )
    return parts, SolvedBudget(found.ended, ahead)


def ratio_model(
    name: str,
    build: Builder,
    shares: NDArray[np.int64],
    *,
    symbol: str,
    labels: tuple[str, str, str],
    gains: Entries,
    floors: Numbers,
    start: Numbers,
    own: Callable[[], tuple[Numbers, Numbers]],
    method: str,
    total: float = 1.0,
    exact: bool = True,
    constants: ArrayLike = 0.0,
    groups: Entries | None = None,
    names: Names | None = None,
) -> Model:
    """Return the program as a model; `build` has the variables x alone, whose columns are the `shares` (k,).

    `gains` (ratio, column of the share, number), `floors` (n,) and `constants` are g_ik, c_i from 0 and kappa_i; `groups`
    (group, ratio, number) are a_ij, None where the sum of all ratios counts. `labels` are those of the rows that bound
    the shares, of the groups, and of the ratios. The ratios of feasible shares `start` (k,) bound those of the best.
    `own` is our own `method`: the best shares, and the weights of the groups, of sum 1, that prove it; their dual follows.
    """
    from scipy.sparse import csr_array

    number = floors.size
    matrix: csr_array[np.float64] = csr_array(
        (np.asarray(gains[2], dtype=np.float64), (np.asarray(gains[0]), np.asarray(gains[1]) - shares[0])),
        shape=(number, shares.size),
    )
    weights: csr_array[np.float64] = csr_array(np.ones((1, number)))
    if groups is not None:
        weights = csr_array((np.asarray(groups[2], dtype=np.float64), (np.asarray(groups[0]), np.asarray(groups[1]))))
    rest = np.broadcast_to(np.asarray(constants, dtype=np.float64), (number,))
    reached = rest + matrix @ start
    scale = np.where(floors > 0.0, floors / reached**2, 1.0)
    most = float(np.asarray(weights @ (floors / reached)).max())
    upper = np.minimum(most / weights.max(axis=0).toarray().ravel(), floors / np.maximum(rest, 1e-300))
    v = build.variables(symbol, number, objective=float(groups is None), upper=upper, inside=names)
    build.rows(labels[0], 1, (0, shares, 1.0), lower=total if exact else -np.inf, upper=total, single=True)
    if groups is not None:
        t, group = build.variables("t", objective=1.0, upper=most), np.arange(weights.shape[0])
        build.rows(
            labels[1],
            group.size,
            (group, t, 1.0),
            (groups[0], v[np.asarray(groups[1])], -np.asarray(groups[2])),
            lower=0.0,
        )
    first = [(np.arange(number), v, 1.0)]
    build.products(labels[2], first, [gains], floors, constants=rest, scale=scale, inside=names)

    def closed_form() -> Answer:
        best, mixture = own()
        denominators = rest + matrix @ best
        values, pulls = floors / denominators, np.asarray(mixture @ weights, dtype=np.float64)
        falls = pulls * values / denominators
        price, worst = -np.asarray(falls @ matrix).max(keepdims=True), np.asarray(weights @ values).max(keepdims=True)
        worst, dual = (np.zeros(0), np.zeros(0)) if groups is None else (worst, mixture)
        multipliers = product_multipliers(pulls, falls, scale)
        return np.concatenate((best, values, worst)), np.concatenate((price, dual, multipliers))

    return Model.of(name, build, closed_form=closed_form, method=method)


def workload_of(sizes: ArrayLike, marginals: Sequence[Sequence[int]], *, name: str) -> MarginalSet:
    """Return marginals over attributes of these numbers of codes, (d,); errors name the model."""
    counts = whole(sizes)
    if counts.ndim != 1 or (counts < 1).any() or any(a < 0 for row in marginals for a in row):
        raise ProgramError(
            f"{name}: found attributes of {counts.tolist()!s:.80} codes, and marginals {list(marginals)!s:.80}; expected a "
            f"list of sizes from 1, and attributes from 0"
        )
    codes = np.concatenate([np.arange(count, dtype=np.int32) for count in counts.tolist()] or [np.zeros(0, np.int32)])
    rows = np.full((len(marginals), max(map(len, marginals), default=1)), -1, dtype=np.int32)
    for row, attributes in zip(rows, marginals, strict=True):
        row[: len(attributes)] = whole(attributes)
    try:
        return MarginalSet(Domains(counts, np.cumsum(counts) - counts, codes), rows)
    except WorkloadError as problem:
        raise ProgramError(f"{name}: {problem}") from problem
