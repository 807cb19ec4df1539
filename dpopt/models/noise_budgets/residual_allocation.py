"""The precision of each residual of a workload's marginals with the least expected error after shrinkage.

Residual A is the marginal over A, centred along each axis (`dpopt.queries.residuals`); A runs over the non-empty
subsets of the workload's marginals W. With variables b_A, the share of the budget, which buys the precision 1 / s_A^2 =
x_A:

    minimize   sum_W w_W R_W                                                        (RA-1)
    subject to sum_A b_A <= 1, b >= 0, x_A = 2 rho b_A / p_A,                       (RA-2)
               R_W = sum_{A in W} s_AW sum_k q_Ak / (y_A + x_A + 1 / v_Ak),
    s_AW = D_A prod_{a in W - A} g_a / n_a                                          (RA-3)

or the largest of w_W R_W in place of the sum (RA-4). N(S) is the number of cells over S, D_A = prod_{a in A} (n_a - 1),
p_A = D_A / N(A), y_A the precision that is known already. g_a is the unevenness of attribute a, n_a times the sum of its
squared shares: 1 where its codes are equally frequent, and a residual is spread evenly over them. R_W is the expected
squared error, added up over the cells of W, of the posterior mean: the numbers of residual A are taken to be normal,
with variance v_Ak per dimension with probability q_Ak; v = inf says nothing and leaves least squares. Proofs,
experiments and a worked example: models/residual_allocation/README.md.

Convex, a sum of functions of one x_A each. At a price lambda of budget, x_A is 0 or solves

    sum_k q_Ak / (y_A + x_A + 1 / v_Ak)^2 = lambda p_A / c_A,   c_A = sum_W w_W s_AW   (RA-5)

whose left side to the power -1/2 is concave in x_A, so that Newton's steps end; lambda is found by bisection. Without a
prior x_A ~ sqrt(c_A / p_A). For the largest, the w_W are multiplied by the R_W again and again. A tangent proves how
far the optimum is at most (RA-6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import frozen
from dpopt.constraints import constrain
from dpopt.errors import ProgramError, WorkloadError
from dpopt.models.model import Model
from dpopt.models.noise_budgets.budget_program import ratio_model, workload_of
from dpopt.programs.building import Builder
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import subsets_of

Numbers = NDArray[np.float64]

CLOSE = 1e-4
"""Gap of the largest error, as a part of it, at which the steps end."""
MOST_STEPS = 2_000
_NEWTON = 100
_NOTHING = 1e-300
_AGREED = 1e-13

SCALES = np.array(
    [
        [0.21, 0.62, 0.81, 1.3, 2.5],
        [0.001, 0.06, 0.14, 0.37, 1.1],
        [0.001, 0.015, 0.048, 0.11, 0.32],
        [0.001, 0.0041, 0.029, 0.11, 0.34],
    ]
)
"""Deviations of residuals of one, two, three, and four or more attributes from the prediction by fewer attributes, in
parts of the mean count of a cell; equally likely. Quantiles over twelve public tables (experiments/one_estimator), at
least .001."""

PUBLIC_UNEVENNESS = float(1 + (SCALES[0] ** 2).mean())
"""g_a (RA-3) of columns of these tables, in the mean: 2.8."""


@dataclass(frozen=True, slots=True, eq=False)
class ResidualPrior:
    """The prior of each residual: normal numbers of one of several variances."""

    variances: Numbers
    """Shape (S, K). v_Ak, per dimension, in records squared, above 0; inf where nothing is expected."""
    chances: Numbers
    """Shape (S, K). q_Ak, from 0; they add up to 1 for each residual."""

    def __post_init__(self) -> None:
        constrain(self, ProgramError)
        fits = self.variances.shape == self.chances.shape and self.variances.ndim == 2
        if not (fits and (self.variances > 0).all() and (self.chances >= 0).all()) or not np.allclose(
            self.chances.sum(axis=1), 1.0, rtol=0, atol=1e-9
        ):
            raise ProgramError(
                f"a prior of residuals: found variances {self.variances.shape} and chances {self.chances.shape}; "
                f"expected two arrays (sets, scales), variances above 0 and chances from 0 that add up to 1 for each "
                f"set"
            )

    @classmethod
    def nothing(cls, sets: MarginalSet) -> ResidualPrior:
        """Return the prior that says nothing, with which allocations are those of least squares."""
        return cls(np.full((len(sets), 1), np.inf), np.ones((len(sets), 1)))

    @classmethod
    def public(cls, sets: MarginalSet, size: float) -> ResidualPrior:
        """Return the prior of public tables (`SCALES`) for some records: cells deviate by parts of their mean count."""
        scales = SCALES[np.minimum(sets.widths(), len(SCALES)) - 1]
        mean = size / sets.cells()
        variances = (scales * mean[:, None]) ** 2 / prices(sets)[:, None]
        return cls(variances, np.full_like(variances, 1 / variances.shape[1]))


@dataclass(frozen=True, slots=True, eq=False)
class ResidualProgram:
    """RA-1 to RA-4 as arrays."""

    sets: MarginalSet
    """The residuals A: subsets of the workload's marginals of attributes with more than one code, by number of
    attributes."""
    wholes: NDArray[np.int64]
    parts: NDArray[np.int64]
    spreads: Numbers
    """Shape (e,). Marginal W, residual A in it, and s_AW, for each such pair (RA-3)."""
    weights: Numbers
    """Shape (M,). w_W."""
    prices: Numbers
    known: Numbers
    """Shape (S,). p_A (RA-2) and y_A (RA-3)."""
    prior: ResidualPrior
    """v_Ak and q_Ak."""
    budget: float
    """2 rho."""

    @property
    def costs(self) -> Numbers:
        """c_A, (S,): the rise of the objective RA-1 per expected squared error of one dimension of residual A."""
        terms = self.spreads * self.weights[self.wholes]
        return np.bincount(self.parts, terms, self.prices.size).astype(np.float64)

    def moments(self, precisions: Numbers, power: int) -> Numbers:
        """Return sum_k q_Ak / (y_A + x_A + 1 / v_Ak)^power, (S,); the first is the error of one dimension."""
        totals = (self.known + precisions)[:, None] + 1.0 / self.prior.variances
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = self.prior.chances * totals ** -float(power)
        return np.asarray(np.where(self.prior.chances > 0, terms, 0.0).sum(axis=1))

    def errors(self, precisions: Numbers) -> Numbers:
        """Return R_W, (M,), the expected squared errors of the cells of each marginal, in records squared (RA-3)."""
        terms = self.spreads * self.moments(precisions, 1)[self.parts]
        return np.bincount(self.wholes, terms, self.weights.size).astype(np.float64)

    def objective(self, precisions: Numbers) -> float:
        """Return the weighted sum of expected squared errors (RA-1)."""
        return float(self.costs @ self.moments(precisions, 1))

    def lower_bound(self, precisions: Numbers) -> float:
        """Return a number that the objective of no precisions within the budget is below (RA-6)."""
        slopes = self.costs * self.moments(precisions, 2)
        return self.objective(precisions) + float(slopes @ precisions - self.budget * (slopes / self.prices).max())


def residual_program(
    marginals: MarginalSet,
    *,
    rho: float,
    prior: ResidualPrior | float | None = None,
    known: ArrayLike = 0.0,
    weights: ArrayLike = 1.0,
    unevenness: ArrayLike = 1.0,
) -> ResidualProgram:
    """Return the arrays of RA-1 to RA-4.

    Parameters
    ----------
    rho
        The budget of zCDP under add-remove, above 0.
    prior
        Over the sets of `subsets_of(marginals)`; or the number of records, for that of public tables; None expects
        nothing.
    known : float or (S,)
        y_A: precision of each of these sets that was bought before.
    weights : float or (M,)
        w_W, above 0. 1 for the squared errors of all cells; 1 over the cells for the mean of each marginal.
    unevenness : float or (d,)
        g_a of each attribute, from 1 to n_a; 1 spreads residuals evenly. Attributes of one code have 1.
    """
    if not len(marginals) or not 0 < rho < np.inf:
        raise ProgramError(
            f"residual allocation: found {len(marginals)} marginals and rho={rho!r}; expected at least one, and rho "
            f"above 0"
        )
    sets, wholes, parts = subsets_of(marginals)
    dimensions = prices(sets) * sets.cells()
    spreads = dimensions[parts] * sets.cells()[parts] / marginals.cells()[wholes].astype(np.float64)
    uneven = np.minimum(unevenness, marginals.domains.counts)
    spreads *= _product(uneven, marginals)[wholes] / _product(uneven, sets)[parts]
    try:
        w, y = np.broadcast_to(weights, (len(marginals),)), np.broadcast_to(known, (len(sets),))
    except ValueError as problem:
        raise ProgramError(
            f"residual allocation: found {np.size(weights)} weights and {np.size(known)} known precisions for "
            f"{len(marginals)} marginals with {len(sets)} residuals; expected one number, or one for each"
        ) from problem
    if prior is None:
        prior = ResidualPrior.nothing(sets)
    elif not isinstance(prior, ResidualPrior):
        prior = ResidualPrior.public(sets, prior)
    if not ((w > 0) & np.isfinite(w)).all() or not ((y >= 0) & np.isfinite(y)).all():
        raise ProgramError(
            "residual allocation: weights are finite and above 0, known precisions finite and at least 0"
        )
    if len(prior.variances) != len(sets):
        raise ProgramError(
            f"residual allocation: found a prior of {len(prior.variances)} residuals for {len(sets)}; make it for "
            "`subsets_of` the workload"
        )
    return ResidualProgram(
        sets, wholes, parts, spreads, frozen(w, np.float64), prices(sets), frozen(y, np.float64), prior, 2.0 * rho
    )


def prices(sets: MarginalSet) -> Numbers:
    """Return p_A, (S,)."""
    return _product(1 - 1 / sets.domains.counts, sets)


def _product(values: Numbers, sets: MarginalSet) -> Numbers:
    """Return for each set the product of its attributes' values, (S,)."""
    return np.asarray(np.where(sets.attributes >= 0, values[sets.attributes], 1.0).prod(axis=1), np.float64)


def solve_residuals(program: ResidualProgram, *, largest: bool = False) -> tuple[Numbers, float, Numbers]:
    """Return precisions (S,), a number that no objective is below, and the multipliers of RA-4, (M,), or all 1."""
    if not largest:
        best = _least(program)
        return best, program.lower_bound(best), np.ones(program.weights.size)
    pulls = np.full(program.weights.size, 1.0 / program.weights.size)
    best, value, bound = np.zeros(0), np.inf, 0.0
    for _ in range(MOST_STEPS):
        summed = replace(program, weights=program.weights * pulls)
        precisions = _least(summed)
        errors = program.weights * program.errors(precisions)
        if errors.max() < value:
            best, value = precisions, float(errors.max())
        if (found := summed.lower_bound(precisions)) > bound:
            bound, proving = found, pulls
        if value - bound <= CLOSE * value:
            break
        pulls = pulls * errors
        pulls /= pulls.sum()
    return best, bound, proving


def _least(program: ResidualProgram) -> Numbers:
    """Return the precisions (S,) with the least RA-1; the logarithm of the price is found by Brent's method."""
    from scipy.optimize import brentq

    costs, prices = program.costs, program.prices

    def beyond(power: float) -> float:
        return log(max(float(prices @ _precisions(program, costs, exp(power))), _NOTHING) / program.budget)

    # This price spends at most the budget, with any prior.
    low = high = 2.0 * log(np.sqrt(costs * prices).sum() / program.budget)
    while beyond(low) < 0:
        low -= 1.0
    power = brentq(beyond, low, high, xtol=_AGREED) if low < high else high
    precisions = _precisions(program, costs, exp(power))
    return np.asarray(precisions * (program.budget / (prices @ precisions)), np.float64)


def _precisions(program: ResidualProgram, costs: Numbers, price: float) -> Numbers:
    """Return the x_A, (S,), of RA-5: Newton's steps on the concave power mean of the totals."""
    wanted = np.sqrt(costs / (price * program.prices))
    kappa = np.where(program.prior.chances > 0, 1.0 / program.prior.variances, np.inf).min(axis=1)
    # No less than what is bought, as a power mean is at least the smallest total.
    bought = wanted - kappa - program.known
    worth = costs * program.moments(np.zeros(costs.size), 2) > price * program.prices
    rest = np.flatnonzero((bought > 0) & worth)
    prior = ResidualPrior(program.prior.variances[rest], program.prior.chances[rest])
    some, x = replace(program, known=program.known[rest], prior=prior), bought[rest]
    for _ in range(_NEWTON):
        second = some.moments(x, 2)
        step = (wanted[rest] - second**-0.5) * second**1.5 / some.moments(x, 3)
        moved = np.maximum(x + step, x / 1024)
        if (np.abs(moved - x) <= _AGREED * moved).all():
            break
        x = moved
    result = np.zeros(costs.size)
    result[rest] = x
    return result


def residual_allocation(
    sizes: ArrayLike,
    marginals: Sequence[Sequence[int]],
    rho: float,
    *,
    variances: ArrayLike | None = None,
    size: float | None = None,
    largest: bool = False,
) -> Model:
    """Return the model of RA-1 to RA-4, all marginals of weight 1; its own method is that of RA-5.

    Parameters
    ----------
    sizes : (d,) int
        n_a, the number of codes of each attribute.
    marginals
        The workload: attributes of each marginal, from 0.
    rho
        As of `residual_program`.
    variances : (K,) float, optional
        v_k, the same for each residual and as likely each.
    size
        The number of records, for the prior of public tables in place of `variances`.
    largest
        Whether the largest error is minimized (RA-4), and not the sum.

    Examples
    --------
    >>> found = residual_allocation([3, 3], [[0, 1]], 0.5).solve()
    >>> found.value["b"].round(3).tolist(), round(found.objective, 3)
    ([0.25, 0.25, 0.5], 7.111)
    """
    if variances is not None and size is not None:
        raise ProgramError("residual_allocation: found variances and a size; give one of the two, or neither")
    workload = workload_of(sizes, marginals, name="residual_allocation")
    prior: ResidualPrior | float | None = size
    try:
        if variances is not None:
            each, sets = np.asarray(variances, dtype=np.float64), subsets_of(workload)[0]
            prior = ResidualPrior(np.tile(each, (len(sets), 1)), np.full((len(sets), each.size), 1 / each.size))
        program = residual_program(workload, rho=rho, prior=prior)
    except WorkloadError as problem:
        raise ProgramError(f"residual_allocation: {problem}") from problem
    return _model(program, largest=largest)


def _model(program: ResidualProgram, *, largest: bool) -> Model:
    """Return RA-1 to RA-4 as a model: e_Ak (x_A + y_A + 1 / v_Ak) is at least c_A q_Ak."""
    of_set, scale_of = np.nonzero(program.prior.chances)
    chances = program.prior.chances[of_set, scale_of]
    rest = program.known[of_set] + 1.0 / program.prior.variances[of_set, scale_of]
    names = [",".join(str(a) for a in row if a >= 0) for row in program.sets.attributes.tolist()]
    equal = np.full(program.prices.size, program.budget / program.prices.sum())
    near = 0.9 * _least(program) + 0.1 * equal  # scales cones as the optimum does
    costs, groups = program.costs, None
    floors = costs[of_set] * chances
    if largest:  # of each pair of a marginal and a residual, all scales of the residual
        first = np.searchsorted(of_set, program.parts)
        numbers = np.searchsorted(of_set, program.parts, side="right") - first
        pair = np.repeat(np.arange(program.parts.size), numbers)
        place = np.arange(pair.size) + np.repeat(first - np.cumsum(numbers) + numbers, numbers)
        parts_of_costs = program.spreads * program.weights[program.wholes] / costs[program.parts]
        groups = (program.wholes[pair], place, parts_of_costs[pair])

    def own() -> tuple[Numbers, Numbers]:
        precisions, _, pulls = solve_residuals(program, largest=largest)
        return precisions * program.prices / program.budget, pulls if largest else np.ones(1)

    build = Builder()
    b = build.variables("b", len(names), upper=1.0, inside=lambda: names)
    return ratio_model(
        "residual_allocation",
        build,
        b,
        symbol="e",
        labels=("RA-2", "RA-4", "RA-3"),
        gains=(np.arange(of_set.size), b[of_set], (program.budget / program.prices)[of_set]),
        floors=floors,
        constants=rest,
        start=near * program.prices / program.budget,
        own=own,
        method="bisection",
        exact=False,
        groups=groups,
    )
