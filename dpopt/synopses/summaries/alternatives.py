"""Bounds of other releases with the same budget for the queries of a summary, and its own prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.polynomials.coefficient_budgets import least_predicted_error
from dpopt.polynomials.targets import Target
from dpopt.synopses.summaries.budget_spread import LEFT_OUT, Measured
from dpopt.synopses.summaries.summary_plan import BETA, SummaryPlan, countable, measured_by

_ROUNDS = 4
_LEAST_SHARE = 1e-4


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Predicted errors of all queries of k conditions, each with probability 95 %, as shares of the records."""

    polynomial: float
    """Of the summary."""
    direct: float
    """Of noise on each query of its own; inf where queries are none that are counted."""
    marginals: float
    """The guarantee of records (or a distribution) that are made to agree with noisy counts of all conjunctions of up
    to `marginal_size` conditions; typical errors are smaller."""
    marginal_size: int

    @property
    def least(self) -> str:
        """Which of the three promises the least error: "polynomial", "direct" or "marginals"."""
        found = {"polynomial": self.polynomial, "direct": self.direct, "marginals": self.marginals}
        return min(found, key=lambda name: found[name])


def alternatives(plan: SummaryPlan) -> Alternatives:
    """Return the alternatives for the budget of a plan; a function of public numbers.

    **Marginals and projection.** Let all N counted conjunctions of j <= t literals be measured, and let tau_j be what
    none of their noise exceeds, as shares, with probability 95 %. Records whose counts are within tau of the noisy ones
    exist then (the true ones), and whatever such records are chosen, each of their counts is within 2 tau_j of the true
    one. For a polynomial p(s) = sum_j a_j C(s, j) within gamma of f, the answers f of a query on the two sets of
    records are within gamma of those of p each, and these differ by sum_j |a_j| C(k, j) 2 tau_j at most. So the error
    of every query is at most

        2 (gamma + sum_j |a_j| C(k, j) tau_j),

    least over a (an exact linear program, models/approximation_plus_noise), and over how the budget is spread by turns.
    It is never below the prediction of a polynomial release with the same noise, which adds noise up by its standard
    deviation; what projections reach on most tables is better than what they guarantee.
    """
    kept = countable(plan.literals, plan.width)
    measured = measured_by(plan.literals, kept, plan.width, plan.budget, size=plan.size, relation=plan.relation)
    target = Target.named(plan.predicate, plan.width)
    conjunctions = [plan.literals.groups.conjunctions(size) for size in range(1, kept + 1)]
    found = [(_guaranteed(target, measured, size, sum(conjunctions[:size])), size) for size in range(1, kept + 1)]
    least, size = min(found)
    return Alternatives(plan.predicted, plan.direct, min(1.0, least), size)


def _guaranteed(target: Target, measured: Measured, most: int, counts: int) -> float:
    """Return 2 (gamma + sum_j |a_j| C(k, j) tau_j) for conjunctions of at most `most` literals."""
    numbers = np.array([comb(target.width, j) for j in range(1, most + 1)], dtype=np.float64)
    part = replace(measured, sensitivity=measured.sensitivity[:most])
    tail = log(2.0 * counts / BETA)
    deviations = sqrt(2.0 * tail) if measured.gaussian else tail
    # sum_j c_j / share_j^(1/2) is least for shares in proportion to c_j^(2/3), sum_j c_j / share_j for c_j^(1/2).
    power = 2.0 / 3.0 if measured.gaussian else 0.5
    shares, best = np.full(most, 1.0 / most), inf
    for _ in range(_ROUNDS):
        reach: NDArray[np.float64] = deviations * part.scales(shares)
        weights = [Fraction(0)]
        weights += [
            Fraction(one).limit_denominator(10**12) if np.isfinite(one) else LEFT_OUT
            for one in (numbers * reach).tolist()
        ]
        weights += [LEFT_OUT] * (target.width + 1 - len(weights))
        solution = least_predicted_error(target, weights)
        value = 2.0 * float(solution.objective)
        if value >= best * (1.0 - 1e-6):
            break
        best = value
        coefficients = np.zeros(most)
        used = solution.polynomial.coefficients[1 : most + 1]
        coefficients[: len(used)] = [abs(float(one)) for one in used]
        costs = (coefficients * numbers * deviations * part.scales(np.ones(most))) ** power
        if not costs.any():
            break
        costs = np.where(costs >= _LEAST_SHARE * costs.sum(), costs, 0.0)
        shares = costs / costs.sum()
    return best
