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

With Gaussian noise convex; the gap to the optimum is proven (LB-6: f lies above its tangents, for any mixture of the
groups). With Laplace noise not convex, and best at few levels: many starts, no bound. Tests compare with CVXPY and with
enumeration.

Source: Hay et al. 2010 (trees); Li et al. 2015 (the matrix mechanism); the program is our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import freeze, whole
from dpopt.constraints import constrain
from dpopt.errors import ProgramError, WorkloadError
from dpopt.models.model import Model
from dpopt.models.noise_budgets.budget_program import LevelBudgets, budget_solved_by, descended, ratio_model
from dpopt.models.noise_budgets.hierarchy_budgets import DROPPED, noise_precisions, precision_rates
from dpopt.programs.building import Builder, dense
from dpopt.programs.solver import Solver
from dpopt.queries.ranges.weighted_ranges import loads_of

_LOSS = 0.001
"""All levels that are left out may cost this share of the objective together; beyond it they are measured."""

_POLISHED = 6
_SHARPNESS = (8.0, 64.0, 512.0)  # of the soft maximum over groups, one after the other
_SHARPER = (64.0, 512.0, 4096.0)
_GAP = 5e-4  # Gaussian noise: above it the search begins again nearby
_AGAIN = 4  # times at most
_LIFTED = 0.01  # share of the budget that all levels get alike before that


@dataclass(frozen=True, slots=True, eq=False)
class LevelProgram:
    """LB-1 to LB-5 as arrays."""

    loads: NDArray[np.float64]
    """Shape (g, k). c_gh, over the orthogonal parts that functions of the bins fall into; in one dimension one for each
    level."""
    blocks: NDArray[np.float64]
    """Shape (L + 1,). B_h, bins of a block of each level."""
    informative: NDArray[np.float64]
    """Shape (k, L + 1). 1 where a level (column) informs about a part (row), 0 elsewhere: in one dimension `numpy.tri`,
    j <= h."""
    references: NDArray[np.float64]
    """Shape (g,). r_g."""
    amount: float
    """The budget, epsilon or rho."""
    sensitivity: int
    """m."""
    gaussian: bool

    def __post_init__(self) -> None:
        constrain(self, ProgramError)
        groups, parts = self.loads.shape
        levels = self.blocks.size
        if self.informative.shape != (parts, levels) or self.references.shape != (groups,) or not groups:
            raise ProgramError(
                f"level budgets: found loads of shape {self.loads.shape} and informative levels of shape "
                f"{self.informative.shape}, for {levels} levels and {self.references.size} groups"
            )
        if not (self.amount > 0 and self.sensitivity >= 1 and (self.references > 0).all()):
            raise ProgramError("level budgets: amount, sensitivity and references are above 0")

    def precisions(self, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return p_h, one over the variance of a count (LB-4)."""
        return noise_precisions(amounts, sensitivity=self.sensitivity, gaussian=self.gaussian)

    def gathered(self, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return lambda, (k,): the precision of each part (LB-3)."""
        return np.asarray(self.informative @ (self.blocks * self.precisions(amounts)))

    def variances(self, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean variance of each group's ranges, (g,); inf where they are not determined."""
        gathered = self.gathered(amounts)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(self.loads > 0.0, self.loads / gathered, 0.0)
        return np.asarray(terms.sum(axis=1))

    def objective(self, amounts: NDArray[np.float64]) -> float:
        """Return LB-1."""
        return float((self.variances(amounts) / self.references).max())

    def slopes(self, amounts: NDArray[np.float64], mixture: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivatives in b_h, (L + 1,), of the groups' ratios mixed with these weights (g,)."""
        gathered = self.gathered(amounts)
        mixed = (mixture / self.references) @ self.loads
        with np.errstate(divide="ignore", invalid="ignore"):
            falls = np.where(mixed > 0.0, mixed / gathered**2, 0.0)
        informed = falls @ self.informative
        rates = precision_rates(amounts, sensitivity=self.sensitivity, gaussian=self.gaussian)
        return np.asarray(-informed * self.blocks * rates)

    def lower_bound(self, amounts: NDArray[np.float64]) -> float:
        """Return a number that the objective of no amounts is below (LB-6); Gaussian noise only."""
        ratios = self.variances(amounts) / self.references
        mixture, slopes = self.best_mixture(amounts)
        mixed = mixture @ slopes
        return float(mixture @ ratios) - float(mixed @ amounts - self.amount * mixed.min())

    def best_mixture(self, amounts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mixture of the groups (g,) that proves most at these amounts, and the groups' slopes (g, L + 1).

        maximize w'f - slopes(w)'b + amount t  subject to  t <= slopes(w)_h, w >= 0, sum w = 1: the best mixture, by a linear
        program, whose answer is made feasible.
        """
        from scipy.optimize import linprog

        ratios = self.variances(amounts) / self.references
        groups = ratios.size
        slopes = np.array([self.slopes(amounts, one) for one in np.eye(groups)])  # (g, L + 1)
        found = linprog(
            -np.append(ratios - slopes @ amounts, self.amount),
            A_ub=np.column_stack((-slopes.T, np.ones(slopes.shape[1]))),
            b_ub=np.zeros(slopes.shape[1]),
            A_eq=np.append(np.ones(groups), 0.0)[None, :],
            b_eq=[1.0],
            bounds=[(0.0, None)] * groups + [(None, None)],
        )
        mixture = np.ones(groups) if found.x is None else np.maximum(found.x[:groups], 0.0)
        return mixture / mixture.sum(), slopes


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
    b = build.variables("b", program.blocks.size, upper=program.amount, start=0)

    def by_descent() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        amounts = _best_amounts(program, None)
        return amounts, program.best_mixture(amounts)[0]

    return ratio_model(
        "level_budgets",
        build,
        b,
        symbol="v",
        labels=("LB-2", "LB-1", "LB-3"),
        gains=dense(gains, b),
        floors=np.ones(number),
        start=np.full(b.size, program.amount / b.size),
        own=by_descent,
        method="descent",
        total=program.amount,
        groups=dense(loads[:, parts], np.arange(number)),
        names=parts.tolist,
    )


def best_level_budgets(
    program: LevelProgram, starts: Sequence[NDArray[np.float64]] | None = None, solver: str | Solver | None = None
) -> LevelBudgets:
    """Return amounts of least objective, from many starts for Laplace noise; levels that hardly count are left out.

    Parameters
    ----------
    starts : sequence of (L + 1,) float64, optional
        Shares of the budget to begin with, for Laplace noise; those for one dimension if left out.
    solver
        Who finds the amounts in place of the descent; for Gaussian noise. Errors as of `budget_solved_by`.
    """
    best, solved = _best_amounts(program, starts), None
    if solver is not None:
        best, solved = budget_solved_by(solver, level_model(program), "b", best, program.objective)
    kept = _without_small_levels(program, best)
    gap = max(0.0, 1.0 - program.lower_bound(best) / program.objective(kept)) if program.gaussian else None
    return LevelBudgets(freeze(kept), freeze(program.variances(kept)), gap, solved)


def _best_amounts(program: LevelProgram, starts: Sequence[NDArray[np.float64]] | None) -> NDArray[np.float64]:
    """Return amounts (L + 1,) of least objective."""
    begun = _starts(program) if starts is None or program.gaussian else [np.sqrt(start) for start in starts]
    rough = [_descend(program, start, _SHARPNESS[0]) for start in begun]
    rough.sort(key=lambda point: program.objective(_amounts(program, point)))
    found = []
    for start in rough[:_POLISHED]:
        point = start
        for sharpness in _SHARPNESS if len(program.loads) > 1 else ():
            point = _descend(program, point, sharpness)
        found.append(_amounts(program, point))
    best = min(found, key=program.objective)
    return _nearer(program, best) if program.gaussian else best


def _nearer(program: LevelProgram, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return amounts whose proven gap is small, for Gaussian noise.

    In the roots of the shares a level without any share has slope 0, whatever more of it were worth; so each gets a
    little.
    """
    best = amounts
    for _ in range(_AGAIN):
        if program.lower_bound(best) >= (1.0 - _GAP) * program.objective(best):
            break
        point = np.sqrt((1.0 - _LIFTED) * best / program.amount + _LIFTED / best.size)
        for sharpness in _SHARPER:
            point = _descend(program, point, sharpness)
        found = _amounts(program, point)
        if program.objective(found) >= program.objective(best):
            break  # from the same amounts the search would go the same way
        best = found
    return best


def _descend(program: LevelProgram, start: NDArray[np.float64], sharpness: float) -> NDArray[np.float64]:
    return descended(partial(_soft_objective, program=program, sharpness=sharpness), start, 500)


def _starts(program: LevelProgram) -> list[NDArray[np.float64]]:
    """Return square roots of shares: all alike; for Laplace noise single bins with every d-th level, or one or two."""
    levels = program.blocks.size
    if program.gaussian:
        return [np.ones(levels)]  # convex: any starting point is good
    chosen = [range(0, levels, step) for step in range(1, levels + 1)]
    others = [pair for number in (1, 2) for pair in combinations(range(1, levels), number)]
    starts = np.full((len(chosen) + len(others), levels), 1e-2)
    for start, kept in zip(starts, [*chosen, *((0, *pair) for pair in others)], strict=True):
        start[list(kept)] = 1.0
    return list(starts)


def _amounts(program: LevelProgram, point: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(program.amount * point**2 / (point @ point))


def _soft_objective(
    point: NDArray[np.float64], program: LevelProgram, sharpness: float
) -> tuple[float, NDArray[np.float64]]:
    """Return the logarithm of the soft maximum of the groups' ratios, and its gradient in the roots of the shares."""
    amounts = _amounts(program, point)
    ratios = program.variances(amounts) / program.references
    if not np.isfinite(ratios).all():
        return 1e300, np.zeros_like(point)
    top = float(ratios.max())
    powers = (ratios / top) ** sharpness
    value = np.log(top) + np.log(powers.mean()) / sharpness
    mixture = powers / powers.sum() / ratios
    slopes = program.slopes(amounts, np.asarray(mixture))
    length = float(point @ point)
    gradient = 2.0 * point / length * (program.amount * slopes - slopes @ amounts)
    return float(value), np.asarray(gradient)


def _without_small_levels(program: LevelProgram, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
    most = (1.0 + _LOSS) * program.objective(amounts)
    kept = amounts
    for level in np.argsort(amounts, kind="stable").tolist():
        if amounts[level] >= DROPPED * program.amount:
            break
        less = np.where(np.arange(amounts.size) == level, 0.0, kept)
        less *= program.amount / less.sum()
        if program.objective(less) <= most:
            kept = less
    return np.asarray(kept)
