"""The total cost of several releases, each of which can be chosen after the earlier outputs were seen.

A release costs rho of zCDP, and epsilon of pure differential privacy where it has one (`Cost`). Three sums can prove
that a total budget is kept:

    pure    sum epsilon_i <= epsilon          if all releases have an epsilon
    zcdp    sum rho_i <= rho                  rho the budget, or the largest rho that implies its (epsilon, delta)
    renyi   sum d_i <= epsilon - c(a, delta)  one order a > 1, fixed by the budget before the first release

    d_i    = the least of a rho_i, epsilon_i and ln[(e^(a epsilon_i) + e^((1 - a) epsilon_i)) / (1 + e^(epsilon_i))] / (a - 1)
    c(a,d) = (ln(1/d) - ln a) / (a - 1) - ln(a / (a - 1))

d_i bounds the Renyi divergence of order a: the last term is that of randomized response, of which every pure mechanism
is a post-processing. As zCDP alone a release of Laplace noise would cost far more than it does; `renyi` is what lets
both kinds stand in one budget. c is the conversion of `zcdp_epsilon` at this order, and a is the order at which the
whole budget, spent in zCDP, converts: where no release has an epsilon, `renyi` and `zcdp` are the same.

Any one of them is enough, though the owner looks at outputs before choosing the next release; one order for all paths
is what makes it true.

Privacy: B12 in docs/privacy.

Source: Rogers, Roth, Ullman and Vadhan 2016 (adaptively chosen parameters); Feldman and Zrnic 2021 (Renyi filter);
Canonne, Kamath and Steinke 2020, Proposition 12 (conversion); Kairouz, Oh and Viswanath 2015 (randomized response).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpopt.accounting.accountants import Accountant, columns_of
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge, is_number
from dpopt.accounting.conversions import UNIT, sum_upward, zcdp_epsilon, zcdp_order
from dpopt.accounting.measurements import largest_amount
from dpopt.errors import AccountingError

THEOREMS = {
    "pure": "pure differential privacy: epsilons add up",
    "zcdp": "zCDP: rhos add up (Bun and Steinke 2016)",
    "renyi": "Renyi divergences of one fixed order add up (Renyi filter, Feldman and Zrnic 2021)",
}


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one release: rho of zCDP, and epsilon of pure differential privacy or None."""

    rho: float
    epsilon: float | None = None

    def __post_init__(self) -> None:
        epsilon = 0.0 if self.epsilon is None else self.epsilon
        for name, value in (("rho", self.rho), ("epsilon", epsilon)):
            if not is_number(value) or not value >= 0.0:
                raise AccountingError(f"{name} of a release: found {value!r}, expected a number from 0 on")

    @classmethod
    def of_charges(cls, charges: Sequence[Charge], *, group: int = 1) -> Cost:
        """Return the total of charges between tables that are `group` neighbouring steps apart."""
        columns = columns_of(charges).for_groups(group)
        rho = columns.rho()
        if len(columns.rhos) or not math.isfinite(rho):
            return cls(rho)
        epsilon = columns.epsilon(Accountant.PURE, 0.0)
        return cls(min(rho, pure_rho(epsilon)), epsilon)

    @classmethod
    def of_budget(cls, budget: Budget) -> Cost | None:
        """Return the cost of a release that spends a whole budget; None if its accountant is not additive.

        The budget is one for whatever the result is for: a group of records is in the budget's own numbers.
        """
        if budget.accountant is Accountant.PURE:
            epsilon = float(budget.epsilon or 0.0)
            return cls(pure_rho(epsilon), epsilon)
        if budget.accountant is not Accountant.ZCDP:
            return None
        return cls(budget.amount)

    def within(self, other: Cost) -> bool:
        """Return whether neither number is above that of another cost; no epsilon is above every epsilon."""
        return self.rho <= other.rho and _infinite(self.epsilon) <= _infinite(other.epsilon)

    def larger(self, other: Cost) -> Cost:
        """Return the larger of both numbers."""
        epsilon = max(_infinite(self.epsilon), _infinite(other.epsilon))
        return Cost(max(self.rho, other.rho), epsilon if math.isfinite(epsilon) else None)


def pure_rho(epsilon: float) -> float:
    """Return rho = epsilon tanh(epsilon / 2), rounded up: every epsilon-differentially private mechanism is rho-zCDP.

    The worst is randomized response, whose loss takes the two values +-epsilon and has the mean m = epsilon
    tanh(epsilon / 2). For such a distribution ln E exp(t (L - m)) <= t^2 m (Kearns and Saul: t^2 w^2 (2 p - 1) / (4
    ln(p / (1 - p))), with w = 2 epsilon, 2 p - 1 = tanh(epsilon / 2), ln(p / (1 - p)) = epsilon). With t = a - 1 the
    Renyi divergence of order a is at most m + (a - 1) m = a m. It is below epsilon^2 / 2. Checked by
    `tests/accounting/test_many_releases.py`. Privacy: B11 in docs/privacy.

    Source: Kearns and Saul 1998, Lemma 1; Kairouz, Oh and Viswanath 2015.
    """
    return epsilon * math.tanh(epsilon / 2.0) * (1.0 + 2.0**-50)


@dataclass(frozen=True, slots=True)
class Total:
    """The total cost of releases, by the sum that leaves the most of a budget."""

    theorem: str
    """A key of `THEOREMS`."""
    used: float
    """The sum, rounded up."""
    limit: float
    """The largest cost of one more release, rounded down."""

    @property
    def is_kept(self) -> bool:
        """Whether the budget is kept."""
        return self.used <= self.limit

    @property
    def share(self) -> float:
        """The share of the budget that is used; infinite where there is none."""
        if self.used == 0.0:
            return 0.0
        return self.used / self.limit if self.limit > 0.0 else math.inf


def total_of(budget: Budget, costs: Sequence[Cost]) -> Total:
    """Return the total of releases against a budget of all of them, `PURE` or `ZCDP`, by the best of the sums above.

    The costs hold under the relation and for the unit of the budget.
    """
    if budget.accountant not in {Accountant.PURE, Accountant.ZCDP}:
        raise AccountingError(
            f"a budget over many releases: found the accountant {budget.accountant.value!r}, expected 'pure' or 'zcdp'"
        )
    totals = [_pure_total(budget, costs)] if budget.rho is None else []
    if budget.accountant is Accountant.ZCDP:
        rho, used = budget.amount, _sum([cost.rho for cost in costs])
        # `amount` is rounded down: what a ledger allows by its epsilon is allowed here too.
        kept = budget.epsilon is not None and zcdp_epsilon(used, budget.delta) <= budget.epsilon
        totals.append(Total("zcdp", used, max(rho, used) if kept else rho))
        if budget.rho is None:
            order = zcdp_order(float(budget.epsilon or 0.0), budget.delta)
            used = _sum([renyi_divergence(cost, order) for cost in costs])
            totals.append(Total("renyi", used, order * rho * (1.0 - 4.0 * UNIT)))
    return min([one for one in totals if one.is_kept] or totals, key=lambda total: total.share)


def renyi_divergence(cost: Cost, order: float) -> float:
    """Return d of the head of this file: a bound of the Renyi divergence of this order, rounded up."""
    by_rho = order * cost.rho * (1.0 + 4.0 * UNIT)
    if cost.epsilon is None or not math.isfinite(cost.epsilon):
        return by_rho
    epsilon, rest = cost.epsilon, order - 1.0
    # ln(e^(a e) + e^((1 - a) e)) = a e + ln(1 + e^((1 - 2 a) e)); likewise ln(1 + e^e) = e + ln(1 + e^-e).
    saved = math.log1p(math.exp(-epsilon)) - math.log1p(math.exp(-(2.0 * order - 1.0) * epsilon))
    response = epsilon - saved / rest + 16.0 * UNIT * (epsilon + 1.0 / rest)
    return min(by_rho, epsilon, max(response, 0.0))


def left_for(budget: Budget, costs: Sequence[Cost]) -> Cost:
    """Return the most that one more release can cost: rho without an epsilon, epsilon if pure; up to 1e-12 of it."""

    def room(cost: Callable[[float], Cost]) -> float:
        return largest_amount(lambda amount: total_of(budget, [*costs, cost(amount)]).is_kept, budget.amount)

    return Cost(room(Cost), room(lambda amount: Cost(pure_rho(amount), amount)))


def _pure_total(budget: Budget, costs: Sequence[Cost]) -> Total:
    return Total("pure", _sum([_infinite(cost.epsilon) for cost in costs]), float(budget.epsilon or 0.0))


def _sum(values: Sequence[float]) -> float:
    return math.inf if math.inf in values else sum_upward(np.array(values, dtype=np.float64))


def _infinite(epsilon: float | None) -> float:
    return math.inf if epsilon is None else epsilon
