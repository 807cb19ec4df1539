"""How much of a budget each level of a tree of blocks gets: the amounts with the least predicted variance of ranges.

Level h divides the bins into blocks of B_h = 2^h; its block counts are measured with integer noise. With variables b_h,
the part of the budget of level h, in groups g of ranges with references r_g:

    minimize   max_g (1 / r_g) sum_h c_gh / lambda_h                                    (LB-1)
    subject to sum_h b_h = amount, b >= 0                                               (LB-2)
               lambda_h = sum_{j <= h} B_j p_j                                          (LB-3)
               p_j = 2 b_j / m, Gaussian noise and rho;  2 sinh^2(b_j / 2 m), Laplace noise and epsilon   (LB-4)

where m is by how many blocks of a level one record counts (1 under add-remove, 2 under replace-one) and, averaged over
the ranges of a group, c_h = a_h - a_(h+1), a_h = sum over blocks of (bins of the range in the block)^2 / B_h (LB-5), a
= 0 beyond the last level. sum_h c_h / lambda_h is the variance of the least-squares estimate of a range. In several
dimensions a level is a shape of blocks, h one height for each axis, j <= h holds along every axis, and the loads of a
box are the products of those of its sides (LB-7). Derivation, checks and a worked example:
models/level_budgets/README.md.

The search is `level_descent`; its bound for Gaussian noise is LB-6. Tests compare with CVXPY and with enumeration.

Source: Hay et al. 2010 (trees); Li et al. 2015 (the matrix mechanism); the program is our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import whole
from dpopt.constraints import constrain
from dpopt.errors import ProgramError, WorkloadError
from dpopt.models.model import Model
from dpopt.models.noise_budgets.budget_program import LevelBudgets, ratio_model
from dpopt.models.noise_budgets.level_descent import LeveledProgram, best_budgets, best_shares
from dpopt.programs.building import Builder, dense
from dpopt.programs.solver import Solver
from dpopt.queries.ranges.weighted_ranges import loads_of


@dataclass(frozen=True, slots=True, eq=False)
class LevelProgram(LeveledProgram):
    """LB-1 to LB-5 as arrays."""

    first: int = field(default=0, init=False)
    bins: int = field(default=0, init=False)
    loads: NDArray[np.float64]
    """Shape (g, k). c_gh, over the orthogonal parts that functions of the bins fall into; in one dimension one for each
    level."""
    blocks: NDArray[np.float64]
    """Shape (L + 1,). B_h, bins of a block of each level."""
    informative: NDArray[np.float64]
    """Shape (k, L + 1). 1 where a level (column) informs about a part (row), 0 elsewhere: in one dimension `numpy.tri`,
    j <= h."""
    references: NDArray[np.float64]
    amount: float
    sensitivity: int
    gaussian: bool
    least: float = 0.0

    def __post_init__(self) -> None:
        constrain(self, ProgramError)
        groups, parts = self.loads.shape
        levels = self.blocks.size
        if self.informative.shape != (parts, levels) or self.references.shape != (groups,) or not groups:
            raise ProgramError(
                f"level budgets: found loads of shape {self.loads.shape} and informative levels of shape "
                f"{self.informative.shape}, for {levels} levels and {self.references.size} groups"
            )
        if not (self.amount > 0 and self.sensitivity >= 1 and (self.references > 0).all() and 0 <= self.least <= 1):
            raise ProgramError(
                "level budgets: amount, sensitivity and references are above 0, a least share from 0 to 1"
            )

    @property
    def size(self) -> int:
        """L + 1."""
        return self.blocks.size

    def gathered(self, precisions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return lambda, (k,): the precision of each part (LB-3)."""
        return np.asarray(self.informative @ (self.blocks * precisions))

    def at(self, precisions: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the variances, (g,), and their derivatives by p, (g, L + 1)."""
        gathered = self.gathered(precisions)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(self.loads > 0.0, self.loads / gathered, 0.0)
            falls = np.where(self.loads > 0.0, terms / gathered, 0.0)
            return terms.sum(axis=1), -(falls @ self.informative) * self.blocks


def level_budgets(
    bins: int,
    ranges: Sequence[Sequence[Sequence[int]]],
    amount: float,
    *,
    references: ArrayLike = 1.0,
    sensitivity: int = 1,
) -> Model:
    """Return the model of LB-1 to LB-5 for Gaussian noise and one column; its own method descends in roots of shares.

    Parameters
    ----------
    bins
        n, at least 1.
    ranges
        The groups of ranges that matter: for each group its ranges as (first bin, bin after the last).
    amount
        rho of zCDP, above 0.
    references : (g,) float64 or float
        r_g, above 0.
    sensitivity
        m: 1 under add-remove, 2 under replace-one.

    Examples
    --------
    >>> found = level_budgets(2, [[[0, 1], [1, 2], [0, 2]]], 0.5).solve()
    >>> round(found.objective, 3), found.value["b"].round(3).tolist()
    (1.244, [0.366, 0.134])
    """
    groups = [whole(group) for group in ranges]
    needed = "level budgets: expected groups, each of ranges from a bin to a later one"
    if not groups or any(group.ndim != 2 or group.shape[1] != 2 for group in groups):
        raise ProgramError(f"{needed}; found {ranges!r}")
    try:
        loads = np.array([loads_of(group[:, 0], group[:, 1], bins) for group in groups])
    except WorkloadError as problem:
        raise ProgramError(f"{needed}; {problem}") from problem
    blocks = np.exp2(np.arange(loads.shape[1], dtype=np.float64))
    given = np.broadcast_to(np.asarray(references, dtype=np.float64), (len(groups),))
    return level_model(LevelProgram(loads, blocks, np.tri(blocks.size), given, amount, sensitivity, gaussian=True))


def level_model(program: LevelProgram) -> Model:
    """Return LB-1 to LB-5 for Gaussian noise as a model: v_h is at least 1 / lambda_h."""
    if not program.gaussian:
        raise ProgramError(
            "level budgets with Laplace noise are no convex program, and solvers take no others; use Gaussian noise "
            "(rho)"
        )
    loads = program.loads / program.references[:, None]
    parts = np.flatnonzero(loads.max(axis=0) > 0)
    number = parts.size
    gains = program.informative[parts] * program.blocks * 2.0 / program.sensitivity
    build = Builder()
    least = program.spread(np.zeros(program.size))
    b = build.variables("b", program.size, lower=least, upper=program.amount, start=0)

    def by_descent() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        amounts = program.spread(best_shares(program))
        return amounts, program.best_mixture(amounts)

    return ratio_model(
        "level_budgets",
        build,
        b,
        symbol="v",
        labels=("LB-2", "LB-1", "LB-3"),
        gains=dense(gains, b),
        floors=np.ones(number),
        start=program.spread(np.full(b.size, 1.0 / b.size)),
        own=by_descent,
        method="descent",
        total=program.amount,
        groups=dense(loads[:, parts], np.arange(number)),
        names=parts.tolist,
    )


def best_level_budgets(
    program: LevelProgram, starts: Sequence[NDArray[np.float64]] | None = None, solver: str | Solver | None = None
) -> LevelBudgets:
    """Return amounts of least objective; as `best_budgets`, by the model of the program where a solver is named."""
    if program.least:  # few need it, and Laplace noise has more local optima with it
        found = best_level_budgets(replace(program, least=0.0), starts, solver)
        if found.amounts[0] >= program.least * program.amount:
            return found
    return best_budgets(program, starts=starts, solver=solver, model=None if solver is None else level_model(program))
