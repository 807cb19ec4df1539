"""The cost of counts with integer noise, and the noise that a share of the budget needs.

A measurement adds independent integer noise to a vector of counts. `sensitivity` is by how much one record moves that
vector: an upper bound of both its L1 and its squared L2 distance to a neighbour's. For counts of queries with answers 0
and 1 the two are one number. Over M marginals it is M under add-remove (the record counts once in each) and 2 M under
replace-one (it leaves one cell and enters another); `dpopt.queries.sensitivity.clauses` bounds it for any clauses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum, inf, sqrt
from typing import Self

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import LARGEST_COUNT, Charge, ChargeKind, check_whole
from dpopt.accounting.relations import NeighbouringRelation, once_or_twice
from dpopt.errors import AccountingError

SMALLEST_SCALE, LARGEST_SCALE = 1e-9, 1e15
LARGEST_SENSITIVITY = LARGEST_COUNT
GAUSSIAN_THEOREM = "Canonne, Kamath and Steinke 2020, Theorem 14"
LAPLACE_THEOREM = "Ghosh, Roughgarden and Sundararajan 2009"
ONE_WAY = "one-way marginals"

_UPWARD = 1.0 + 2.0**-50  # more than the three roundings of a parameter
BELOW = 1.0 - 1e-12
"""A plan costs at most this share of its budget, by `_NOISIER`: ten times 0.1 fits into 1."""
_NOISIER = 1.0 + 1e-12  # more than the roundings of a scale, of its charge, and of shares of an amount


def measurement_charge(
    name: str, sensitivity: int, scale: float, *, gaussian: bool, relation: NeighbouringRelation
) -> Charge:
    """Return the charge of one vector of counts with independent integer noise of this scale on each.

    Neighbouring relation: `relation`, the one that `sensitivity` holds for. Sensitivity: `sensitivity` in L1, its
    square root in L2. Theorem: discrete Gaussian noise of parameter sigma is (sensitivity / (2 sigma^2))-zCDP; discrete
    Laplace noise of scale b is (sensitivity / b)-DP. Privacy: C1 in docs/privacy. Test:
    `tests/accounting/test_measurements.py`.

    `name` says in words what is measured, and is the label of the charge; `sensitivity` is from 0 (counts that no record
    moves, such as none at all) to 2^53; `scale` is sigma or b in records, from 1e-9 to below 1e15.

    Source: discrete Gaussian, Canonne, Kamath and Steinke 2020, Theorem 14; discrete Laplace, Ghosh, Roughgarden and
    Sundararajan 2009.
    """
    check_whole(f"the sensitivity of {name}", sensitivity, least=0)
    if not SMALLEST_SCALE <= scale < LARGEST_SCALE:
        raise AccountingError(
            f"{name}: found noise scale {scale!r}, expected a number from {SMALLEST_SCALE:g} to below {LARGEST_SCALE:g}"
        )
    if gaussian:
        kind, theorem, distribution = ChargeKind.CONCENTRATED, GAUSSIAN_THEOREM, "Gaussian"
        parameter = int(sensitivity) / (2 * scale * scale) * _UPWARD
    else:
        kind, theorem, distribution = ChargeKind.PURE, LAPLACE_THEOREM, "Laplace"
        parameter = int(sensitivity) / scale * _UPWARD
    return Charge(f"discrete {distribution} noise on {name}", kind, parameter, 1, relation, theorem, name)


def measurement_scale(sensitivity: int, *, amount: float, gaussian: bool) -> float:
    """Return a noise scale whose charge is at most `amount`, too large by less than 1e-11 of it.

    `sensitivity` is from 1 to 2^53 (see the head of this file), `amount` rho of zCDP if `gaussian`, else epsilon.
    """
    check_whole("the sensitivity of a measurement", sensitivity)
    if not 0.0 < amount < inf:
        raise AccountingError(
            f"the share of the budget of a measurement: found {amount!r}, expected a finite number above 0"
        )
    scale = (sqrt(sensitivity / (2 * amount)) if gaussian else sensitivity / amount) * _NOISIER
    if not SMALLEST_SCALE <= scale < LARGEST_SCALE:
        raise AccountingError(
            f"a measurement of sensitivity {sensitivity}, for {amount!r}: needs noise of scale {scale!r}, "
            f"expected {SMALLEST_SCALE:g} to below {LARGEST_SCALE:g}; change the budget"
        )
    return scale


def joint_scale(scales: Sequence[float], *, gaussian: bool) -> float:
    """Return a scale at which one draw costs at most as much as draws of these scales, exact to 1e-11.

    Never below the smallest scale. Epsilons or rhos add up, so the inverse scales do, or their squares. Checked by
    `tests/accounting/test_measurements.py`.
    """
    power = 2.0 if gaussian else 1.0
    together: float = fsum(scale**-power for scale in scales) ** (-1.0 / power)
    return max(together * _NOISIER, SMALLEST_SCALE)


def amount_for(budget: Budget, *, gaussian: bool) -> float:
    """Return how much of a budget is left for noise after its earlier charges: rho of zCDP if `gaussian`, else epsilon.

    maximize amount  subject to  budget.allows([a charge of amount])

    by bisection: 0 if nothing is left; else allowed, and too small by at most 1e-12 of it. What is allowed as one
    charge is allowed in parts that add up to it, since rho adds up, epsilon adds up under pure composition, and its
    square, or the squared mu of the GDP accountant, is at least the sum of those of its parts; with scales from
    `measurement_scale` the roundings of the parts are covered. The caller's final charges remain to be held against
    `budget.allows`: the ledger does, before anything is drawn. Checked by `tests/accounting/test_measurements.py`.

    Gaussian noise needs the accountant 'zcdp': discrete Gaussian noise of parameter sigma is not 1/sigma-GDP, and a
    concentrated charge means nothing to the other theorems.
    """
    relation = budget.earlier[0].relation if budget.earlier else NeighbouringRelation.ADD_REMOVE
    if gaussian and budget.accountant is not Accountant.ZCDP:
        raise AccountingError(
            f"Gaussian noise: found the accountant {budget.accountant.value!r}, expected 'zcdp'; use it, or Laplace "
            f"noise"
        )
    kind = ChargeKind.CONCENTRATED if gaussian else ChargeKind.PURE

    def allowed(amount: float) -> bool:
        return budget.allows([Charge("noise", kind, amount, 1, relation, "a trial")])

    left = budget.amount - budget.spent(()).rho if gaussian else budget.left or 0.0
    return largest_amount(allowed, max(0.0, left))


def largest_amount(test: Callable[[float], bool], near: float) -> float:
    """Return the largest number up to 1e100 that passes a test true from 0 up to some number, to 1e-12 of it.

    `near` is tried on both sides first, and has no part in the result: most numbers are then known to pass or to fail.
    """
    below, above = near * (1.0 - 1e-11), near * (1.0 + 1e-11)
    passed, failed = below if test(below) else -1.0, inf if test(above) else above

    def allowed(number: float) -> bool:
        return number <= passed or (number < failed and test(number))

    if not allowed(0.0) or not allowed(1e-100):
        return 0.0
    low, high = 1e-100, 1e100
    if allowed(high):
        return high
    while high > low * (1.0 + 1e-12):
        middle = sqrt(low) * sqrt(high)
        if not low < middle < high:
            break
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low


def one_way_charge(attributes: int, *, scale: float, gaussian: bool, relation: NeighbouringRelation) -> Charge:
    """Return the charge of noisy one-way marginals over `attributes` histograms.

    A record counts once in each histogram. Add-remove: L1 sensitivity d, L2 sensitivity sqrt(d); replace-one: 2 d and
    sqrt(2 d). Privacy: C1, C4 in docs/privacy.
    """
    return measurement_charge(ONE_WAY, once_or_twice(attributes, relation), scale, gaussian=gaussian, relation=relation)


SIZE = "number of records"
SIZE_SHARE = 0.01
"""Share of the budget for the number of records: of rho under zCDP, of epsilon elsewhere."""


@dataclass(frozen=True, slots=True)
class SizeMeasurement:
    """The number of records, to be measured once."""

    scale: float
    """sigma of the discrete Gaussian or b of the discrete Laplace distribution, in records."""
    gaussian: bool
    """Which of the two."""
    draw: int = 1
    """1, plus the number of earlier draws that were interrupted on file; each of them is charged."""

    @classmethod
    def of(cls, budget: Budget, draw: int = 1) -> Self:
        """Return the measurement for a hundredth of the whole budget: Gaussian noise under zCDP, else Laplace."""
        gaussian = budget.accountant is Accountant.ZCDP
        if not budget.amount > 0:
            raise AccountingError(
                f"{budget.describe()} leaves nothing to measure the number of records with; raise the budget, or "
                f"declare a fixed public number (n0)"
            )
        amount = SIZE_SHARE * budget.amount / (budget.group**2 if gaussian else budget.group)
        return cls(measurement_scale(1, amount=amount, gaussian=gaussian), gaussian, draw)

    @property
    def name(self) -> str:
        """Name of the counts."""
        return SIZE if self.draw == 1 else f"{SIZE}, draw {self.draw}"

    def charge(self) -> Charge:
        """Return the charge.

        Neighbouring relation: add-remove. Sensitivity: 1, since one record more or less changes the number by one.
        Theorem: as for `dpopt.accounting.measurements.measurement_charge`. Checked by
        `tests/boundary/test_exact_loss_of_sizes.py` over the exact distributions of neighbouring numbers. Privacy: C14
        in docs/privacy.
        """
        return measurement_charge(
            self.name, 1, self.scale, gaussian=self.gaussian, relation=NeighbouringRelation.ADD_REMOVE
        )

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, in records; a bound of it, which is close from a scale of 1 on."""
        return self.scale if self.gaussian else sqrt(2) * self.scale
