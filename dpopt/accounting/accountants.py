"""From charges to a total: five composition theorems behind one name each.

A charge under replace-one and a charge under add-remove hold for different neighbours, so a sum over both means nothing
and is refused. Totals are rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.conversions import (
    Floats,
    check_delta,
    gdp_epsilon,
    lifted,
    scaled_upward,
    split_product,
    sum_upward,
    weighted_squares,
    weighted_sum_upward,
    zcdp_epsilon,
)
from dpopt.arguments import Choice
from dpopt.errors import AccountingError

MARGIN = 1.0 + 2.0**-44  # covers every rounding of a formula whose terms are all positive
SMALLEST_GDP_DELTA = 1e-9
BEYOND = "beyond the largest floating-point number"
LARGEST_CHECKED_RANGE = 4.0  # the GDP constant was checked up to this range


class Accountant(Choice):
    """Which composition theorem turns charges into (epsilon, delta).

    Privacy: B2, B5, B6 in docs/privacy.

    `PURE`: epsilons add up, and so do deltas: 0 but with mechanisms that have one.

    `ZCDP`: rho adds up (range^2/8, epsilon^2/2, rho), then one conversion. The default: proved for adaptive rounds and
    for every delta. Source: Bun, Steinke 2016 (composition; epsilon^2/2); Cesar, Rogers 2021 (bounded range: range^2/8,
    from Dong, Durfee, Rogers 2020); Canonne, Kamath, Steinke 2020, Proposition 12 (conversion).

    `GDP`: mu^2 adds up, then one conversion. `s` draws of range e from one distribution count as mu^2 = (s + pi/2 - 1)
    e^2/4. THE CONSTANT pi/2 - 1 IS VERIFIED NUMERICALLY ON A GRID, NOT PROVED (s from 1 to 1,750, ranges up to 4,
    offsets over the whole range, epsilons up to 12 deviations); therefore this accountant is an option and not the
    default, and a delta below 1e-9 is refused. Ranges above 4 are charged like pure mechanisms, which is proved.
    Source: Dong, Roth, Su 2019 (composition, Corollary 3.3; conversion, Corollary 2.13); Dong, Durfee, Rogers 2020 (a
    bounded-range mechanism is a post-processing of generalised randomised response).

    All hold under the one neighbouring relation that the charges share.

    Examples
    --------
    >>> import dpopt
    >>> dpopt.Accountant("zcdp")
    <Accountant.ZCDP: 'zcdp'>
    """

    PURE = "pure"
    ZCDP = "zcdp"
    GDP = "gdp"


class AdvancedComposition(Choice):
    """Composition theorems of the DualQuery paper: figures to compare plans by, never the least.

    Privacy: B3, B4 in docs/privacy.

    `THEOREM`: the largest epsilon for every use, as Theorem 4.3 states it: e sqrt(2 k ln(1/delta)) + k e (exp(e) - 1),
    with e the largest range or epsilon and k the number of uses whose range or epsilon is not 0; or that of the
    bounded-range charges, plus the epsilons of the others, where it is less.

    `PER_ROUND`: the epsilon e_i of every use: sqrt(2 ln(1/delta) sum_i e_i^2) + sum_i e_i (exp(e_i) - 1). What the
    published experiments used.

    Source: Gaboardi, Gallego Arias, Hsu, Roth, Wu 2014, DualQuery, Lemma 2.4 and Theorem 4.3; the same martingale
    argument with unequal terms.
    """

    THEOREM = "theorem"
    PER_ROUND = "per-round"


Composition = Accountant | AdvancedComposition
COMPARED: tuple[Composition, ...] = (Accountant.PURE, *AdvancedComposition, Accountant.ZCDP, Accountant.GDP)
"""Accountants by which plans are compared, from the largest total to the least."""
THEOREMS: Mapping[Composition, str] = {
    Accountant.PURE: "basic composition (DualQuery, Theorem 4.2)",
    AdvancedComposition.THEOREM: "advanced composition with the last round's step (DualQuery, Theorem 4.3)",
    AdvancedComposition.PER_ROUND: "advanced composition with each round's own step (DualQuery's experiments)",
    Accountant.ZCDP: "zero-concentrated, bounded range (Cesar, Rogers 2021)",
    Accountant.GDP: "Gaussian (Dong, Roth, Su 2019); a constant is checked numerically, not proved",
}
"""The theorem behind each total, in words."""


@dataclass(frozen=True, slots=True, eq=False)
class ChargeColumns:
    """Charges as arrays, one pair (parameters, counts) per kind; all totals are computed from them.

    The planner builds it from arrays and the ledger from charges; the sums are exact up to one rounding, so equal
    charges give equal totals whichever way they came.
    """

    ranges: Floats
    range_counts: Floats
    epsilons: Floats
    epsilon_counts: Floats
    rhos: Floats
    rho_counts: Floats
    not_private: bool
    delta: float = 0.0
    """The sum of the deltas of (epsilon, delta) mechanisms."""

    def with_ranges(self, ranges: Floats, counts: Floats) -> ChargeColumns:
        """Return the same charges and, before them, bounded-range ones; float64 arrays of one length."""
        return replace(
            self, ranges=np.concatenate([ranges, self.ranges]), range_counts=np.concatenate([counts, self.range_counts])
        )

    def for_groups(self, size: int) -> ChargeColumns:
        """Return the charges of the same mechanisms between two tables that are `size` neighbouring steps apart.

        Pure epsilon: size epsilon. zCDP: size^2 rho. Bounded range: the log likelihood ratio of a group is the sum of
        those of its steps, so its range is at most size times theirs. It is applied to each mechanism, before any
        composition, so every accountant keeps its theorem. Checked by `tests/accounting/test_groups.py`. Privacy: B10
        in docs/privacy.

        Source: Dwork and Roth 2014, Theorem 2.2 (pure); Bun and Steinke 2016, Proposition 1.9 (zCDP).
        """
        if size == 1:
            return self
        if self.delta:
            raise AccountingError("a charge of delta is for one record; for persons of several rows give delta 0")
        return replace(
            self,
            ranges=scaled_upward(self.ranges, size),
            epsilons=scaled_upward(self.epsilons, size),
            rhos=scaled_upward(self.rhos, size * size),
        )

    def rho(self) -> float:
        """Return the total rho of zCDP, the smallest float that is not below it; for mechanisms chosen adaptively.

        The sum of count * (range^2/8, epsilon^2/2 or rho); infinite with a not-private charge, and with one of delta, which
        no rho bounds.

        Source: Bun, Steinke 2016 (composition, epsilon^2/2); Cesar, Rogers 2021 (range^2/8).
        """
        if self.not_private or self.delta:
            return math.inf
        return self._rho_without_delta()

    def _rho_without_delta(self) -> float:
        ranges = weighted_squares(self.range_counts, self.ranges)
        epsilons = weighted_squares(self.epsilon_counts, self.epsilons)
        halved = [part / 8.0 for part in ranges] + [part / 2.0 for part in epsilons]
        return sum_upward(*halved, *split_product(self.rho_counts, self.rhos))

    def epsilon(self, accountant: Composition, delta: float) -> float:
        """Return an epsilon such that all charges together are (epsilon, delta)-differentially private.

        Rounded up; infinite with a not-private charge. delta lies in (0, 1), for `GDP` from 1e-9; `PURE` ignores it. Charges
        of a delta of their own take their part of it (B13).
        """
        if accountant is not Accountant.PURE:
            check_delta(delta)
            if self.delta >= delta:
                raise AccountingError(f"the charges have delta {self.delta:g} already; give a larger delta")
            delta = (delta - self.delta) * (1.0 - 2.0**-50) if self.delta else delta
        if accountant is Accountant.GDP:
            _check_gdp_delta(delta)
        if self.not_private:
            return math.inf
        if accountant is Accountant.ZCDP:
            return zcdp_epsilon(self._rho_without_delta(), delta)
        self._refuse_concentrated(accountant)
        if accountant is Accountant.GDP:
            return gdp_epsilon(math.sqrt(self.mu_squared()) * MARGIN, delta)
        values = np.concatenate([self.ranges, self.epsilons])
        counts = np.concatenate([self.range_counts, self.epsilon_counts])
        if accountant is Accountant.PURE:
            return weighted_sum_upward(counts, values)
        advanced = homogeneous_epsilon if accountant is AdvancedComposition.THEOREM else heterogeneous_epsilon
        together = advanced(values, counts, delta)
        if not len(self.epsilons):
            return together
        # One large epsilon beside many small ranges, or none: basic composition adds it, where that is less (B3).
        apart = advanced(self.ranges, self.range_counts, delta) if len(self.ranges) else 0.0
        pure = weighted_sum_upward(self.epsilon_counts, self.epsilons)
        return min(together, sum_upward(np.array([apart, pure])))

    def mu_squared(self) -> float:
        """Return the total mu^2 of the GDP accountant, rounded up."""
        checked = self.ranges <= LARGEST_CHECKED_RANGE
        ranges, counts = self.ranges[checked], self.range_counts[checked]
        drawn = (counts + (math.pi / 2.0 - 1.0)) * lifted(ranges) ** 2 / 4.0
        pure = np.concatenate([self.ranges[~checked], self.epsilons])
        pure_counts = np.concatenate([self.range_counts[~checked], self.epsilon_counts])
        rest = pure_counts * _pure_mu(pure) ** 2 if len(pure) else pure
        return sum_upward(drawn, rest) * MARGIN

    def _refuse_concentrated(self, accountant: Composition) -> None:
        if len(self.rhos):
            raise AccountingError(
                f"the accountant {accountant.value!r} has no theorem for a concentrated charge (Gaussian noise), "
                "found one; use 'zcdp'"
            )


def columns_of(charges: Iterable[Charge]) -> ChargeColumns:
    """Return the charges as columns."""
    charges = tuple(charges)
    relations = {charge.relation for charge in charges}
    if len(relations) > 1:
        names = sorted(relation.describe() for relation in relations)
        raise AccountingError(f"charges under different neighbouring relations ({', '.join(names)}) cannot be added up")

    def column(kind: ChargeKind) -> tuple[Floats, Floats]:
        chosen = [charge for charge in charges if charge.kind is kind]
        return (
            np.array([charge.parameter for charge in chosen], dtype=np.float64),
            np.array([charge.count for charge in chosen], dtype=np.float64),
        )

    return ChargeColumns(
        *column(ChargeKind.BOUNDED_RANGE),
        *column(ChargeKind.PURE),
        *column(ChargeKind.CONCENTRATED),
        not_private=any(charge.kind is ChargeKind.NOT_PRIVATE for charge in charges),
        delta=min(1.0, weighted_sum_upward(*column(ChargeKind.DELTA)[::-1])),
    )


def costs(
    total: Callable[[Composition, float], float], delta: float, *, used: Accountant | None = None
) -> list[dict[str, Any]]:
    """Return the total of each accountant: epsilon at delta, or the reason why it has no figure.

    `total` gives the epsilon of an accountant at a delta, as `ChargeColumns.epsilon` does.
    """
    rows = []
    for accountant in COMPARED:
        at = 0.0 if accountant is Accountant.PURE else delta
        epsilon, refused = None, None
        try:
            found = total(accountant, at)
        except AccountingError as error:
            refused = str(error)
        else:
            epsilon = found if math.isfinite(found) else None
            refused = None if math.isfinite(found) else BEYOND
        row = {"accountant": accountant.value, "delta": at, "epsilon": epsilon, "refused": refused}
        rows.append({**row, "used": accountant is used, "theorem": THEOREMS[accountant]})
    return rows


def homogeneous_epsilon(values: Floats, counts: Floats, delta: float) -> float:
    """Return e sqrt(2 k ln(1/delta)) + k e (exp(e) - 1), rounded up.

    e is the largest value and k the total count of the values that are not 0.

    Source: Gaboardi et al. 2014, DualQuery, Lemma 2.4 (Dwork, Rothblum, Vadhan 2010) and Theorem 4.3.
    """
    largest = float(values.max(initial=0.0))
    uses = float(counts[values > 0.0].sum())
    if largest > 700.0:
        return math.inf
    return (math.sqrt(2.0 * uses * -math.log(delta)) * largest + uses * largest * math.expm1(largest)) * MARGIN


def heterogeneous_epsilon(values: Floats, counts: Floats, delta: float) -> float:
    """Return sqrt(2 ln(1/delta) sum c e^2) + sum c e (exp(e) - 1), rounded up; e the values, c their counts.

    Source: the argument of Gaboardi et al. 2014, DualQuery, Lemma 2.4, with unequal terms.
    """
    if float(values.max(initial=0.0)) > 700.0:
        return math.inf
    values = lifted(values)
    squares = sum_upward(counts * values**2)
    drift = sum_upward(counts * values * np.expm1(values))
    return (math.sqrt(2.0 * -math.log(delta) * squares) + drift) * MARGIN


def _pure_mu(epsilons: Floats) -> Floats:
    """Return the mu of pure mechanisms, rounded up.

    mu = 2 Phi^-1(e^eps / (1 + e^eps)) = 2 sqrt(2) erfinv(tanh(eps/2)). Privacy: B6 in docs/privacy.

    Source: trade-off functions as in Dong, Roth, Su 2019, Section 2.
    """
    from scipy.special import erfcinv, erfinv, expit

    small = erfinv(np.tanh(np.minimum(epsilons, 1.0) / 2.0))
    large = erfcinv(2.0 * expit(-np.maximum(epsilons, 1.0)))
    return np.where(epsilons < 1.0, small, large) * (2.0 * math.sqrt(2.0) * MARGIN)


def _check_gdp_delta(delta: float) -> None:
    if delta < SMALLEST_GDP_DELTA:
        raise AccountingError(
            f"delta: found {delta!r}, expected at least 1e-9 with the accountant 'gdp', whose constant is verified "
            "numerically and not proved; use 'zcdp'"
        )
