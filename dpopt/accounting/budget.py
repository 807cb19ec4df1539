"""A budget, and the total of a set of charges by the budget's accountant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from sys import float_info

import numpy as np

from dpopt.accounting.accountants import Accountant, columns_of
from dpopt.accounting.charges import Charge, ChargeKind, check_whole, is_number
from dpopt.accounting.conversions import scaled_upward, sum_upward, zcdp_epsilon, zcdp_rho
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError, BudgetError, PlanError, PrivacyWarning, warn
from dpopt.files.codec import Unbounded
from dpopt.html_pages.shown import Shown

LARGE_EPSILON = 20.0
"""Above it budgets are warned of: the odds of two neighbouring tables may change by a factor of half a billion."""
MOST_ROWS_PER_PERSON = 2**20
DEFAULT_DELTA = 1e-9
"""Delta of a budget that names none, where no public number of records gives another."""
RECORD = "one record"

ALARMS = 0.05
"""How often a test of membership accuses one who is not in the table."""
WEAK = 0.9
"""A guarantee is almost no protection if a test can identify a larger share of the people in the table."""


def power_of_tests(epsilon: float, delta: float, alarms: float = ALARMS) -> float:
    """Return the share of the people in the table that a test can identify, given its share of false accusations.

    Source: Kairouz, Oh and Viswanath 2015, Theorem 2.1.

    Examples
    --------
    >>> round(power_of_tests(1.0, 0.0), 3), power_of_tests(0.0, 0.0)
    (0.136, 0.05)
    """
    far = math.exp(min(epsilon, 700.0))
    return max(alarms, min(1.0, far * alarms + delta, 1 - (1 - delta - alarms) / far))


def protection(epsilon: float, delta: float) -> str:
    """Return the protection that a guarantee gives, as a sentence without its full stop.

    Examples
    --------
    >>> protection(1.0, 0.0)
    'An attacker who is wrong about 5 % of outsiders can identify at most 13.6 % of the people in the table'
    """
    found = power_of_tests(epsilon, delta)
    weak = ", which is almost no protection" if found > WEAK else ""
    return (
        "An attacker who is wrong about 5 % of outsiders can identify at most "
        f"{100 * found:.3g} % of the people in the table{weak}"
    )


@dataclass(frozen=True, slots=True)
class PrivacySpent:
    """The total of a set of charges, under the neighbouring relation that the charges share.

    `epsilon` at `delta` (for `PURE` the sum of deltas) by the theorem of `accountant`, and `rho` of zCDP. Both are
    infinite when a not-private charge is among them. Rounded up.
    """

    epsilon: Unbounded
    delta: float
    rho: Unbounded
    accountant: Accountant

    @property
    def is_finite(self) -> bool:
        """Whether the charges carry any guarantee."""
        return math.isfinite(self.epsilon) and math.isfinite(self.rho)


@dataclass(frozen=True, slots=True, repr=False)
class Budget(Shown):
    """The most that may be spent: (epsilon, delta) under an accountant, or rho of zCDP.

    Parameters
    ----------
    epsilon
        At least 0, finite; None when `rho` is the limit.
    delta
        In (0, 1); from 1e-9 for the accountant `GDP`; 0 is possible for `PURE`, of which it limits the
        sum of deltas. With `rho` as the limit: the delta at which epsilon is reported.
    rho
        At least 0, finite; None when `epsilon` is the limit. Needs the accountant `ZCDP`.
    accountant
        The composition theorem that totals are computed by.
    rows_per_person
        The unit of privacy. None: one record. K: one person, to whom at most K records belong, from 1 to 2^20; charges
        stay those of one record, and totals are those of a group of K (`ChargeColumns.for_groups`). Privacy: B10 in
        docs/privacy.
    earlier
        What was spent of it before the plan was made, whose draws the plan may depend on: the number of records, where
        it was measured. Concentrated or pure charges, pure ones except under `ZCDP`; part of every total.

    Notes
    -----
    **Composition with `earlier`.** The plan, and with it the parameters of its charges, may depend on the earlier
    draws. Under `ZCDP` rho adds up: whatever was drawn, the rest is rho-zCDP for one number rho, the budget's less the
    earlier charges' (Bun and Steinke 2016, Lemma 2.3, which asks no more). Under the others epsilon adds up: whatever
    was drawn, the rest is (epsilon, delta)-differentially private for one epsilon, and beside pure mechanisms delta
    stays (Dwork and Roth 2014, Theorem B.1). Advanced composition of all charges at once would need parameters fixed
    beforehand. What is guaranteed is the whole budget (`whole`): what a plan costs depends on the draws. Privacy: C14
    in docs/privacy. Checked by `tests/accounting/test_size.py`.

    Raises
    ------
    AccountingError
        Both or neither of epsilon and rho; a number out of range; rho with another accountant; an earlier charge that
        cannot be composed so.

    Examples
    --------
    >>> import dpopt
    >>> budget = dpopt.Budget(1.0, 1e-6, None, dpopt.Accountant.ZCDP)
    >>> budget.describe(), budget.unit, budget.group
    ("epsilon = 1.0 at delta = 1e-06 (accountant 'zcdp')", 'one record', 1)
    >>> budget.neighbours(dpopt.NeighbouringRelation.ADD_REMOVE)
    'one record more or less (add-remove)'
    >>> round(budget.amount, 4) == round(budget.whole().rho, 4), budget.left
    (True, 1.0)
    >>> budget.spent(()).epsilon, budget.allows(()), budget.covers(budget.spent(()))
    (0.0, True, True)
    >>> budget.guaranteed(()) == budget.spent(())
    True
    >>> budget.check_relation(dpopt.NeighbouringRelation.ADD_REMOVE)
    >>> budget.warned() is budget, budget.beside
    (True, ())
    """

    epsilon: float | None
    delta: float
    rho: float | None
    accountant: Accountant
    rows_per_person: int | None = None
    earlier: tuple[Charge, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.accountant, Accountant):
            raise AccountingError(f"accountant of a budget: found {self.accountant!r}, expected an Accountant")
        if (self.epsilon is None) == (self.rho is None):
            raise AccountingError(
                f"a budget: found epsilon={self.epsilon!r} and rho={self.rho!r}, expected exactly one of the two"
            )
        if self.rho is not None and self.accountant is not Accountant.ZCDP:
            raise AccountingError(f"accountant of a budget in rho: found {self.accountant.value!r}, expected 'zcdp'")
        for name, limit in (("epsilon", self.epsilon), ("rho", self.rho)):
            if limit is not None and not (is_number(limit) and 0.0 <= limit <= float_info.max):
                raise AccountingError(
                    f"{name} of a budget: found {limit!r}, expected a finite number above 0. Give --{name} 1 or "
                    "another number above 0: smaller ones protect more and answer less well"
                )
            object.__setattr__(self, name, None if limit is None else float(limit))
        allowed = 0.0 < self.delta < 1.0 if is_number(self.delta) else False
        if not allowed and not (self.accountant is Accountant.PURE and self.delta == 0.0):
            raise AccountingError(
                f"delta of a budget: found {self.delta!r}, expected a number between 0 and 1, both excluded "
                "(0 is possible with the accountant 'pure'). Leave --delta out for the usual one, or give one well "
                "below 1/n, such as 1e-9"
            )
        object.__setattr__(self, "delta", float(self.delta))
        check_whole("rows per person of a budget", self.group, most=MOST_ROWS_PER_PERSON)
        for charge in self.earlier:
            concentrated = charge.kind is ChargeKind.CONCENTRATED and self.accountant is Accountant.ZCDP
            if not concentrated and charge.kind is not ChargeKind.PURE:
                raise AccountingError(
                    f"earlier charge {charge.mechanism!r} of a budget: found the kind {charge.kind.value!r} under the "
                    f"accountant {self.accountant.value!r}, expected a pure charge, or a concentrated one under 'zcdp'"
                )
        self.spent(())  # refuse now what the accountant refuses about delta

    @classmethod
    def of(
        cls,
        epsilon: float | None,
        delta: float | None,
        rho: float | None,
        accountant: Accountant | None = None,
        *,
        usual_delta: float = DEFAULT_DELTA,
        rows_per_person: int | None = None,
    ) -> Budget:
        """Return the budget that every command and function reads from these options.

        epsilon alone: (epsilon, `usual_delta`) under `ZCDP`. delta 0: pure, as under the accountant `PURE` without a
        delta. rho: `ZCDP`, and delta only reports epsilon.

        Examples
        --------
        >>> import dpopt
        >>> [dpopt.Budget.of(1.0, delta, None).describe() for delta in (None, 0.0)]
        ["epsilon = 1.0 at delta = 1e-09 (accountant 'zcdp')", "epsilon = 1.0 (accountant 'pure')"]
        """
        if (epsilon is None) == (rho is None):
            found = "no budget" if epsilon is None else "two budgets"
            raise PlanError(
                f"found {found}: give the budget as --epsilon (with --delta, or without), or as --rho, and not both"
            )
        if accountant is None:
            accountant = Accountant.PURE if delta == 0 and rho is None else Accountant.ZCDP
        if delta is None:
            delta = 0.0 if accountant is Accountant.PURE else DEFAULT_DELTA if epsilon is None else usual_delta
        return cls(epsilon, delta, rho, accountant, rows_per_person)

    @property
    def group(self) -> int:
        """How many records belong to one unit of privacy at most."""
        return 1 if self.rows_per_person is None else self.rows_per_person

    @property
    def unit(self) -> str:
        """The unit of privacy in words: for whom all totals hold."""
        if self.rows_per_person is None:
            return RECORD
        return f"one person (all rows of a person, at most {self.rows_per_person:,}, counted together)"

    def neighbours(self, relation: NeighbouringRelation) -> str:
        """Return in words which tables count as neighbours: those that differ in one unit of privacy."""
        return relation.describe() if self.rows_per_person is None else "one person more or less (add-remove)"

    def check_relation(self, relation: NeighbouringRelation) -> None:
        """Refuse a budget for persons under replace-one."""
        if self.rows_per_person is not None and relation is NeighbouringRelation.REPLACE_ONE:
            raise BudgetError(
                "a person who is replaced by another may have another number of rows, so the number of records is not "
                "public, as replace-one needs it; use --neighbours add-remove"
            )

    def spent(self, charges: Sequence[Charge]) -> PrivacySpent:
        """Return the totals of the charges and of earlier spending, by this budget's accountant at its delta."""
        together = columns_of((*self.earlier, *charges)).for_groups(self.group)
        if not self._composes_as_one:
            own = columns_of(charges).for_groups(self.group).epsilon(self.accountant, self.delta)
            epsilon = sum_upward(np.array([*self._epsilons(), own])) if self.earlier else own
        else:
            epsilon = together.epsilon(self.accountant, self.delta)
        return PrivacySpent(
            epsilon=epsilon,
            delta=together.delta if self.accountant is Accountant.PURE else self.delta,
            rho=together.rho(),
            accountant=self.accountant,
        )

    @property
    def _composes_as_one(self) -> bool:
        """Whether earlier charges and those of the plan are added up by the accountant itself, as rho is."""
        return self.accountant is Accountant.ZCDP

    @property
    def beside(self) -> tuple[Charge, ...]:
        """The earlier charges that count like charges of the plan; none where `left` has taken them off already."""
        return self.earlier if self._composes_as_one else ()

    @property
    def left(self) -> float | None:
        """A limit on the total epsilon of the plan's charges and those that are paid with it, if there is one."""
        if self.epsilon is None or self._composes_as_one or not self.earlier:
            return self.epsilon
        return max(0.0, -sum_upward(np.array([-self.epsilon, *self._epsilons()])))

    def _epsilons(self) -> list[float]:
        parameters = np.array([charge.parameter for charge in self.earlier], dtype=np.float64)
        found: list[float] = scaled_upward(parameters, self.group).tolist()
        return found

    @property
    def amount(self) -> float:
        """The whole budget in its accountant's terms: rho under `ZCDP`, the largest that implies it, else epsilon."""
        if self.rho is not None:
            return self.rho
        epsilon = self.epsilon or 0.0
        return zcdp_rho(epsilon, self.delta) if self.accountant is Accountant.ZCDP else epsilon

    def whole(self) -> PrivacySpent:
        """Return the totals of the whole budget, spent or not: the guarantee where a plan depends on draws.

        rho is infinite under an accountant of epsilon with a delta, which bounds none.
        """
        rho = math.inf
        if self.accountant is Accountant.ZCDP:
            rho = self.amount
        elif self.accountant is Accountant.PURE and self.epsilon is not None:
            rho = self.epsilon**2 / 2 * (1 + 2.0**-50)
        return PrivacySpent(
            epsilon=zcdp_epsilon(rho, self.delta) if self.epsilon is None else self.epsilon,
            delta=0.0 if self.accountant is Accountant.PURE else self.delta,
            rho=rho,
            accountant=self.accountant,
        )

    def guaranteed(self, charges: Sequence[Charge]) -> PrivacySpent:
        """Return the stated guarantee of a plan with these charges, whatever its draws: its total, or the whole budget.

        The whole budget where the plan depends on earlier draws (C14), else the total of all its charges, made or not
        (A4).
        """
        return self.whole() if self.earlier else self.spent(charges)

    def allows(self, charges: Sequence[Charge]) -> bool:
        """Return whether the charges together stay within the budget; never with a not-private charge."""
        return self.covers(self.spent(charges))

    def covers(self, spent: PrivacySpent) -> bool:
        """Return whether totals computed by `spent` stay within the budget, and with earlier charges within `whole`."""
        if self.rho is not None or (self.earlier and self._composes_as_one and spent.rho > self.amount):
            return spent.rho <= self.amount
        return self.epsilon is not None and spent.epsilon <= self.epsilon and spent.delta <= self.delta

    def warned(self) -> Budget:
        """Return this budget, and warn where its epsilon, or the one that its rho affords, is above `LARGE_EPSILON`.

        Raises AccountingError if nothing may be spent.

        Warns
        -----
        PrivacyWarning
            With what to do.
        """
        if (self.epsilon if self.rho is None else self.rho) == 0:
            name = "epsilon" if self.rho is None else "rho"
            raise AccountingError(
                f"{name} of a budget: found 0, which allows nothing to be learned from the table; expected a number "
                f"above 0. Give --{name} 1 or another number above 0: smaller ones protect more and answer less well"
            )
        epsilon = self.epsilon if self.rho is None else zcdp_epsilon(self.rho, self.delta)
        if epsilon is not None and epsilon > LARGE_EPSILON:
            message = (
                f"{self.describe()} promises next to nothing: neighbouring tables may be distinguished nearly surely. "
                f"Epsilon 1 protects well, and 3 hardly at all; give a smaller budget, "
                "unless the table may be published as it is"
            )
            warn(PrivacyWarning(message))
        return self

    def _said(self) -> list[str]:
        return [self.describe(), *(f"{one.mechanism} spent before" for one in self.earlier)]

    def describe(self) -> str:
        """Return the budget in words."""
        unit = "" if self.rows_per_person is None else f" for one person of at most {self.group:,} rows"
        if self.rho is not None:
            return f"rho = {self.rho!r}{unit}"
        at = "" if self.accountant is Accountant.PURE else f" at delta = {self.delta!r}"
        return f"epsilon = {self.epsilon!r}{at} (accountant {self.accountant.value!r}){unit}"
