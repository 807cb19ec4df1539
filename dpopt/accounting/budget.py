"""A budget, and what a set of charges costs together by the budget's accountant."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpopt.accounting.accountants import Accountant, columns_of
from dpopt.accounting.charges import Charge, JsonValue
from dpopt.errors import AccountingError

_KEYS = ("epsilon", "delta", "rho", "accountant")


@dataclass(frozen=True, slots=True)
class PrivacySpent:
    """What a set of charges costs together, under the neighbouring relation that the charges share.

    `epsilon` at `delta` (0 for the accountant `PURE`) by the theorem of `accountant`, and `rho` of zCDP. Both
    are infinite when a not-private charge is among them. Rounded up.
    """

    epsilon: float
    delta: float
    rho: float
    accountant: Accountant

    @property
    def is_finite(self) -> bool:
        """Whether the charges carry any guarantee."""
        return math.isfinite(self.epsilon) and math.isfinite(self.rho)

    def to_json(self) -> dict[str, JsonValue]:
        """Return the totals as a JSON object, infinity as null."""
        return {
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "delta": self.delta,
            "rho": self.rho if math.isfinite(self.rho) else None,
            "accountant": self.accountant.value,
        }


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be spent: (epsilon, delta) under an accountant, or rho of zCDP.

    Parameters
    ----------
    epsilon
        At least 0, finite; None when `rho` is the limit.
    delta
        In (0, 1); from 1e-9 for the accountant `GDP`; 0 is possible for `PURE`, which ignores it. With `rho`
        as the limit: the delta at which epsilon is reported.
    rho
        At least 0, finite; None when `epsilon` is the limit. Needs the accountant `ZCDP`.
    accountant
        The composition theorem that totals are computed by.

    Raises
    ------
    AccountingError
        Both or neither of epsilon and rho; a number out of range; rho with another accountant.
    """

    epsilon: float | None
    delta: float
    rho: float | None
    accountant: Accountant

    def __post_init__(self) -> None:
        if not isinstance(self.accountant, Accountant):
            raise AccountingError(
                f"accountant of a budget: found {self.accountant!r}, expected an Accountant"
            )
        if (self.epsilon is None) == (self.rho is None):
            raise AccountingError(
                f"a budget: found epsilon={self.epsilon!r} and rho={self.rho!r}, expected exactly one of the two"
            )
        if self.rho is not None and self.accountant is not Accountant.ZCDP:
            raise AccountingError(
                f"accountant of a budget in rho: found {self.accountant.value!r}, expected 'zcdp'"
            )
        for name, limit in (("epsilon", self.epsilon), ("rho", self.rho)):
            if limit is not None and not (_is_number(limit) and 0.0 <= limit < math.inf):
                raise AccountingError(
                    f"{name} of a budget: found {limit!r}, expected a finite number that is at least 0"
                )
        allowed = 0.0 < self.delta < 1.0 if _is_number(self.delta) else False
        if not allowed and not (self.accountant is Accountant.PURE and self.delta == 0.0):
            raise AccountingError(
                f"delta of a budget: found {self.delta!r}, expected a number between 0 and 1, both excluded "
                "(0 is possible with the accountant 'pure')"
            )
        self.spent(())  # refuse now what the accountant refuses about delta

    def spent(self, charges: Sequence[Charge]) -> PrivacySpent:
        """Return the totals of the charges by this budget's accountant at its delta.

        Raises
        ------
        AccountingError
            What `total_epsilon` refuses.
        """
        columns = columns_of(charges)
        return PrivacySpent(
            epsilon=columns.epsilon(self.accountant, self.delta),
            delta=0.0 if self.accountant is Accountant.PURE else self.delta,
            rho=columns.rho(),
            accountant=self.accountant,
        )

    def allows(self, charges: Sequence[Charge]) -> bool:
        """Return whether the charges together stay within the budget; never with a not-private charge.

        Raises
        ------
        AccountingError
            What `total_epsilon` refuses.
        """
        return self.covers(self.spent(charges))

    def covers(self, spent: PrivacySpent) -> bool:
        """Return whether totals computed by `spent` stay within the budget."""
        if self.rho is not None:
            return spent.rho <= self.rho
        return self.epsilon is not None and spent.epsilon <= self.epsilon

    def describe(self) -> str:
        """Return the budget in words."""
        if self.rho is not None:
            return f"rho = {self.rho!r}"
        at = "" if self.accountant is Accountant.PURE else f" at delta = {self.delta!r}"
        return f"epsilon = {self.epsilon!r}{at} (accountant {self.accountant.value!r})"

    def to_json(self) -> dict[str, JsonValue]:
        """Return the budget as a JSON object that reads back exactly."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rho": self.rho,
            "accountant": self.accountant.value,
        }

    @classmethod
    def from_json(cls, obj: object) -> Budget:
        """Read a budget back from the object that `to_json` wrote.

        Raises
        ------
        AccountingError
            A key missing or unknown, a value of the wrong type or out of range.
        """
        if not isinstance(obj, Mapping) or set(obj) != set(_KEYS):
            found = sorted(map(str, obj)) if isinstance(obj, Mapping) else type(obj).__name__
            raise AccountingError(f"a budget in JSON: found {found}, expected the keys {sorted(_KEYS)}")
        try:
            accountant = Accountant(obj["accountant"])
        except ValueError:
            names = [accountant.value for accountant in Accountant]
            raise AccountingError(
                f"accountant of a budget: found {obj['accountant']!r}, expected one of {names}"
            ) from None
        return cls(obj["epsilon"], obj["delta"], obj["rho"], accountant)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
