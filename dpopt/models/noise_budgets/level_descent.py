"""The search for the part of a budget that each level of counts gets, whatever the levels are.

    minimize   max_g f_g(p) / r_g
    subject to sum_d b_d = amount, b >= 0, single bins get a least share
               p_d = 2 b_d / m, Gaussian noise and rho;  2 sinh^2(b_d / 2 m), Laplace noise and epsilon

where f_g is the mean variance of the ranges of group g, r_g its reference, and m by how much a record moves the counts of a
level, in L1 and in squared L2. Precision p_d of the counts: one over the variance of their noise. The
discrete Gaussian distribution has at most the variance sigma^2 = m / 2 b; the discrete Laplace distribution of scale m / b
has exactly 1 / (2 sinh^2(b / 2 m)).

The search descends in the roots of shares, with a soft maximum over the groups. With Gaussian noise the problem is convex,
and the gap to the optimum is proven: the objective lies above its tangents, for any mixture of the groups. With Laplace
noise it is not, and best at few levels: many starts, no bound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.models.model import Model
from dpopt.models.noise_budgets.budget_program import LevelBudgets, budget_solved_by
from dpopt.programs.solver import Solver

Numbers = NDArray[np.float64]

_LARGEST_ARGUMENT = 20.0  # of sinh: counts have no noise any more, and slopes stay finite
_DROPPED = 0.004
"""A level with less than this share of the budget is not measured, and its share goes to the others, if that is no loss."""
_LOSS = 0.001
"""All levels that are left out may cost this share of the objective together."""
_MOST_SUBSETS, _MOST_STARTS, _POLISHED = 64, 300, 6
_FINE = 500  # steps of a descent
_SHARPNESS = (8.0, 64.0, 512.0)  # of the soft maximum over groups, one after the other
_SHARPER = (64.0, 512.0, 4096.0)
_GAP = 5e-4  # Gaussian noise: above it the search begins again nearby
_AGAIN = 4  # times at most
_LIFTED = 0.01  # share of the budget that all levels get alike before that
_ROUNDING = 1e-12


class LeveledProgram(ABC):
    """The variances of groups of ranges at the precisions of levels, and where the amounts of the levels may lie."""

    __slots__ = ()
    amount: float
    """The budget, epsilon or rho."""
    sensitivity: int
    """m."""
    gaussian: bool
    references: Numbers
    """Shape (g,). r_g."""
    first: int
    """Levels from this one on may be measured."""
    bins: int
    """Place of the level of single bins: 0 or -1."""
    least: float
    """Share of the budget that single bins get at least."""
    rough: ClassVar[int] = _FINE
    """Steps from each start, before the best are polished; fewer where ratios are slow to compute."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of levels."""

    @abstractmethod
    def at(self, precisions: Numbers) -> tuple[Numbers, Numbers]:
        """Return the mean variance of each group's ranges, (g,), and its derivatives by p, (g, levels)."""

    def precisions(self, amounts: Numbers) -> Numbers:
        """Return p, one over the variance of a count of each level."""
        if self.gaussian:
            return np.asarray(2.0 * amounts / self.sensitivity)
        return np.asarray(2.0 * np.sinh(np.minimum(amounts / (2.0 * self.sensitivity), _LARGEST_ARGUMENT)) ** 2)

    def rates(self, amounts: Numbers) -> Numbers:
        """Return the derivative of each p by its b."""
        if self.gaussian:
            return np.full(np.shape(amounts), 2.0 / self.sensitivity)
        return np.asarray(np.sinh(np.minimum(amounts / self.sensitivity, 2 * _LARGEST_ARGUMENT)) / self.sensitivity)

    def variances(self, amounts: Numbers) -> Numbers:
        """Return the mean variance of each group's ranges, (g,); inf where they are not determined."""
        return self.at(self.precisions(amounts))[0]

    def objective(self, amounts: Numbers) -> float:
        """Return the largest ratio of variance and reference."""
        return float((self.variances(amounts) / self.references).max())

    def evaluate(self, amounts: Numbers) -> tuple[Numbers, Numbers]:
        """Return the ratios of the groups, (g,), and their derivatives by b, (g, levels)."""
        variances, slopes = self.at(self.precisions(amounts))
        return variances / self.references, slopes * self.rates(amounts) / self.references[:, None]

    def spread(self, shares: Numbers) -> Numbers:
        """Return the amount of each level for the shares of those that may be measured.

        Single bins get their least share of the budget; the levels divide the rest by their shares.
        """
        amounts = np.zeros(self.size)
        amounts[self.first :] = (1.0 - self.least) * self.amount * shares
        amounts[self.bins] += self.least * self.amount
        return amounts

    def shares(self, amounts: Numbers) -> Numbers:
        """Return the share of each level that may be measured, for its amount: the inverse of `spread`."""
        alone = np.eye(amounts.size)[self.bins]
        free = np.maximum(amounts - self.least * self.amount * alone, 0.0)
        return np.asarray(free / free.sum() if free.any() else alone)

    def best_mixture(self, amounts: Numbers) -> Numbers:
        """Return the mixture of the groups, (g,), that proves most at these amounts.

        maximize w'f - slopes(w)'b + amount (1 - least) t + amount least slopes(w)_bins  subject to  t <= slopes(w)_d for
        d from `first` on, w >= 0, sum w = 1: a linear program, whose answer is made feasible.
        """
        from scipy.optimize import linprog

        ratios, slopes = self.evaluate(amounts)
        groups, free = ratios.size, slopes[:, self.first :]
        of_groups = ratios - slopes @ amounts + self.amount * self.least * slopes[:, self.bins]
        found = linprog(
            -np.append(of_groups, self.amount * (1.0 - self.least)),
            A_ub=np.column_stack((-free.T, np.ones(free.shape[1]))),
            b_ub=np.zeros(free.shape[1]),
            A_eq=np.append(np.ones(groups), 0.0)[None, :],
            b_eq=[1.0],
            bounds=[(0.0, None)] * groups + [(None, None)],
        )
        mixture = np.ones(groups) if found.x is None else np.maximum(found.x[:groups], 0.0)
        return np.asarray(mixture / mixture.sum())

    def lower_bound(self, amounts: Numbers) -> float:
        """Return a number that the objective of no amounts is below; Gaussian noise only."""
        mixture = self.best_mixture(amounts)
        ratios, slopes = self.evaluate(amounts)
        mixed = mixture @ slopes
        least = (1.0 - self.least) * mixed[self.first :].min() + self.least * mixed[self.bins]
        return float(mixture @ ratios - mixed @ amounts + self.amount * least)


def best_budgets(
    program: LeveledProgram,
    *,
    starts: Sequence[Numbers] | None = None,
    solver: str | Solver | None = None,
    model: Model | None = None,
) -> LevelBudgets:
    """Return amounts of least objective; levels that hardly count are left out.

    `starts` are shares of the budget (levels,) to begin with, for Laplace noise. A `solver` finds the amounts b in place of
    the descent, by the `model` of the program; errors as of `budget_solved_by`.
    """
    alone = program.spread(np.eye(program.size - program.first)[program.bins])
    precision = float(program.precisions(alone)[program.bins])
    if program.variances(alone).max() <= _ROUNDING / precision:  # a known total alone determines the ranges
        return LevelBudgets(freeze(alone), freeze(np.zeros(1)), 0.0 if program.gaussian else None)
    best, solved = program.spread(best_shares(program, starts)), None
    if solver is not None and model is not None:

        def objective(parts: Numbers) -> float:
            return program.objective(program.spread(program.shares(parts)))

        parts, solved = budget_solved_by(solver, model, "b", best[program.first :], objective)
        best = program.spread(program.shares(parts))
    kept = _without_small_levels(program, best)
    gap = max(0.0, 1.0 - program.lower_bound(best) / program.objective(kept)) if program.gaussian else None
    return LevelBudgets(freeze(kept), freeze(program.variances(kept)), gap, solved)


def best_shares(program: LeveledProgram, starts: Sequence[Numbers] | None = None) -> Numbers:
    """Return shares of the free part of the budget of least objective, of the levels that may be measured."""
    begun = _starts(program) if starts is None or program.gaussian else [np.sqrt(start) for start in starts]
    if len(begun) > 1:
        rough = [_descend(program, start, _SHARPNESS[:1], program.rough) for start in begun]
        begun = sorted(rough, key=partial(_objective, program))[:_POLISHED]
    sharpness = _SHARPNESS if program.references.size > 1 else _SHARPNESS[:1]
    found = [_descend(program, start, sharpness) for start in begun]
    best = min(found, key=partial(_objective, program))
    return _shares(_nearer(program, best) if program.gaussian else best)


def _nearer(program: LeveledProgram, point: Numbers) -> Numbers:
    """Return roots of shares whose proven gap is small, for Gaussian noise.

    In the roots of the shares a level without any share has slope 0, whatever more of it were worth; so each gets a
    little.
    """
    for _ in range(_AGAIN):
        amounts = program.spread(_shares(point))
        if program.lower_bound(amounts) >= (1.0 - _GAP) * program.objective(amounts):
            break
        lifted = np.sqrt((1.0 - _LIFTED) * _shares(point) + _LIFTED / point.size)
        found = _descend(program, lifted, _SHARPER)
        if _objective(program, found) >= _objective(program, point):
            break  # from the same amounts the search would go the same way
        point = found
    return point


def _starts(program: LeveledProgram) -> list[Numbers]:
    """Return roots of shares: all alike; for Laplace noise single bins with sets of others, and with every d-th level."""
    levels = program.size - program.first
    if program.gaussian:
        return [np.ones(levels)]  # convex: any starting point is good
    bins = program.bins % levels
    others = sorted(range(levels), key=lambda level: abs(level - bins))[1:]
    largest = len(others) if 2 ** len(others) <= _MOST_SUBSETS else 2
    chosen = [kept for number in range(largest + 1) for kept in combinations(others, number)]
    chosen = chosen[: max(_MOST_STARTS - levels, _MOST_SUBSETS)]
    chosen += [tuple(others[step - 1 :: step]) for step in range(1, levels)]
    starts = np.full((len(chosen), levels), 1e-2)
    starts[:, bins] = 1.0
    for start, kept in zip(starts, chosen, strict=True):
        start[list(kept)] = 1.0
    return list(np.unique(starts, axis=0))


def _descend(program: LeveledProgram, start: Numbers, sharpness: Sequence[float], steps: int = _FINE) -> Numbers:
    """Return roots of shares of less objective."""
    from scipy.optimize import minimize

    point = start
    for sharp in sharpness:
        # Few variables: what L-BFGS-B saves is less than what its library's threads cost.
        soft = partial(_soft_objective, program, sharp)
        found = minimize(soft, point, jac=True, method="BFGS", options={"maxiter": steps, "gtol": 1e-7})
        point = np.asarray(found.x, dtype=np.float64)
    return point


def _objective(program: LeveledProgram, point: Numbers) -> float:
    return program.objective(program.spread(_shares(point)))


def _shares(point: Numbers) -> Numbers:
    return np.asarray(point**2 / (point @ point))


def _soft_objective(program: LeveledProgram, sharpness: float, point: Numbers) -> tuple[float, Numbers]:
    """Return the logarithm of the soft maximum of the groups' ratios, and its gradient in the roots of the shares."""
    shares = _shares(point)
    ratios, slopes = program.evaluate(program.spread(shares))
    if not np.isfinite(ratios).all():
        return 1e300, np.zeros_like(point)
    top = float(ratios.max())
    powers = (ratios / top) ** sharpness
    value = np.log(top) + np.log(powers.mean()) / sharpness
    mixed = (powers / powers.sum() / ratios) @ slopes[:, program.first :]
    by_share = (1.0 - program.least) * program.amount * mixed
    return float(value), np.asarray(2.0 * point / float(point @ point) * (by_share - by_share @ shares))


def _without_small_levels(program: LeveledProgram, amounts: Numbers) -> Numbers:
    most, kept = (1.0 + _LOSS) * program.objective(amounts), amounts
    for level in np.argsort(amounts, kind="stable").tolist():
        if amounts[level] >= _DROPPED * program.amount:
            break
        if not kept[level]:
            continue
        less = program.spread(program.shares(np.where(np.arange(amounts.size) == level, 0.0, kept)[program.first :]))
        if program.objective(less) <= most:
            kept = less
    return kept
