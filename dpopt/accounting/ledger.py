"""The ledger: a plan is reserved as a whole, spent charge by charge, and nothing is ever taken back."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from dpopt.accounting.budget import Budget, PrivacySpent
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError
from dpopt.html_pages.shown import Shown

__all__ = ["Budget", "Ledger", "PrivacySpent"]


class Account(Protocol):
    """From where a plan is paid beyond its own budget: the owner's budget over many releases."""

    @property
    def reservation(self) -> str:
        """The mark under which the plan is reserved there."""
        ...

    def reserve(self, charges: Sequence[Charge], group: int) -> None:
        """Reserve charges for a unit of `group` records for good; raise BudgetError if the budget has no room."""
        ...


class Ledger(Shown):
    """The budget and the spending of a run, under one neighbouring relation.

    Earlier charges of the budget (`Budget.earlier`) are spent from the beginning: the draws that they paid for were
    made.

    The whole plan is reserved before anything is drawn, so a run never starts that it could not finish. Each charge is
    spent before its draw is made, and only if it is reserved and unspent. Nothing is ever removed. To resume a run,
    make a new ledger, reserve the same plan and replay `spend`, `substitute` and `mark_not_private` in their order.
    Privacy: A4 in docs/privacy.

    The `account` pays for the plan besides the budget. The whole plan is reserved there when the first charge is spent, so
    before the first draw, and not before: a run that is refused without a draw leaves no reservation.

    Raises BudgetError for a budget for persons under replace-one.
    """

    __slots__ = ("_account", "_budget", "_entries", "_paid", "_relation", "_reserved", "_unspent")

    def __init__(self, budget: Budget, relation: NeighbouringRelation, account: Account | None = None) -> None:
        budget.check_relation(relation)
        self._budget = budget
        self._relation = relation
        self._account = account
        self._paid = account is None
        self._entries: list[Charge] = []
        self._reserved: Counter[Charge] | None = None
        self._unspent: Counter[Charge] = Counter()

    def _said(self) -> list[str]:
        stated, neighbours = self.guaranteed(), self._budget.neighbours(self._relation)
        return [
            f"guaranteed epsilon = {stated.epsilon:.4g} at delta = {stated.delta:g}, rho = {stated.rho:.4g}",
            neighbours,
        ]

    def _rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        header = ("mechanism", "uses", "cost of one", "bounds", "theorem")
        rows = (
            (one.mechanism, f"{one.count:,}", f"{one.parameter:.3g}", one.kind.value, one.theorem)
            for one in self.entries
        )
        return header, rows

    @property
    def budget(self) -> Budget:
        """The limit."""
        return self._budget

    @property
    def relation(self) -> NeighbouringRelation:
        """The neighbouring relation that every charge and every total holds under."""
        return self._relation

    @property
    def reservation(self) -> str | None:
        """Mark of the plan's reservation in the owner's budget over many releases, if one pays for it."""
        return None if self._account is None else self._account.reservation

    @property
    def entries(self) -> tuple[Charge, ...]:
        """The charges so far, in order: earlier charges of the budget first, not-private marks included."""
        return (*self._budget.earlier, *self._entries)

    @property
    def reserved(self) -> tuple[Charge, ...]:
        """The reserved plan, after substitutions; empty before `reserve`."""
        return tuple((self._reserved or Counter()).elements())

    @property
    def unspent(self) -> tuple[Charge, ...]:
        """The charges that are reserved and not yet spent."""
        return tuple(self._unspent.elements())

    @property
    def is_private(self) -> bool:
        """Whether no not-private mark was made."""
        return all(charge.kind is not ChargeKind.NOT_PRIVATE for charge in self._entries)

    def reserve(self, charges: Sequence[Charge]) -> None:
        """Reserve the whole plan; once, before the first charge is spent.

        Raises BudgetError if a plan was reserved before, a charge is under another relation, or the plan costs more than
        the budget; AccountingError if the budget's accountant has no theorem for one of the charges.
        """
        if self._reserved is not None:
            raise BudgetError("a plan is reserved already; one ledger holds one plan, reserved as a whole and once")
        for charge in charges:
            self._check_relation(charge)
        self._check_budget(charges, "the plan")
        self._reserved = Counter(charges)
        self._unspent = Counter(charges)

    def spend(self, charge: Charge) -> None:
        """Spend a charge that is reserved and unspent. Call it before the draw that the charge pays for.

        Raises BudgetError if it is not reserved, or is spent already as often as it was reserved; or if the owner's budget
        over many releases has no room for the plan.
        """
        self._check_unspent(charge)
        if not self._paid:
            self._pay(self.reserved)
        self._take(charge)
        self._entries.append(charge)

    def substitute(self, charge: Charge, given_up: Charge) -> None:
        """Spend a charge once more, in place of one that is reserved and unspent, which is given up.

        For a draw that has to be repeated because its record on file is torn: the first draw is paid for, whether or
        not anyone saw it, and the second is paid for by a later round that will not take place. Privacy: A5 in
        docs/privacy.

        Raises BudgetError if `charge` was not spent before, `given_up` is not reserved and unspent, or the exchange would
        cost more than the budget.
        """
        if charge not in self._entries:
            raise BudgetError(f"{_name(charge)} was not spent before, so it cannot be spent once more; use spend")
        self._check_unspent(given_up)
        reserved = Counter(self._reserved)
        reserved[given_up] -= 1
        reserved[charge] += 1
        self._check_budget(tuple(reserved.elements()), f"the plan with {_name(charge)} in place of {_name(given_up)}")
        self._pay(tuple(reserved.elements()))
        self._take(given_up)
        self._reserved = +reserved
        self._entries.append(charge)

    def mark_not_private(self, reason: str) -> None:
        """Record that something left the private side without any bound: every total is infinite from now on."""
        mark = Charge(reason, ChargeKind.NOT_PRIVATE, math.inf, 1, self._relation, "none: no guarantee holds")
        self._entries.append(mark)
        self._paid = self._account is None

    def spent(self) -> PrivacySpent:
        """Return the totals of the charges so far; infinite after `mark_not_private`.

        No guarantee of its own: which charges were spent may depend on what was drawn. See `guaranteed`.
        """
        return self._budget.spent(self._entries)

    def guaranteed(self) -> PrivacySpent:
        """Return the totals that hold wherever drawn values end the run: those of the reserved plan, spent or not.

        Infinite after `mark_not_private`. Privacy: A4 in docs/privacy.
        """
        return self._budget.guaranteed(self.reserved) if self.is_private else self.spent()

    def _pay(self, charges: Sequence[Charge]) -> None:
        if self._account is not None:
            marks = [charge for charge in self._entries if charge.kind is ChargeKind.NOT_PRIVATE]
            self._account.reserve([*self._budget.earlier, *charges, *marks], self._budget.group)
        self._paid = True

    def _check_relation(self, charge: Charge) -> None:
        if charge.relation is not self._relation:
            raise BudgetError(
                f"{_name(charge)} holds under {charge.relation.describe()}, this ledger is for "
                f"{self._relation.describe()}; charge the mechanism under the ledger's relation"
            )

    def _check_budget(self, charges: Sequence[Charge], what: str) -> None:
        spent = self._budget.spent(charges)
        if not self._budget.covers(spent):
            raise BudgetError(
                f"{what} costs epsilon = {spent.epsilon!r} at delta = {spent.delta!r} (rho = {spent.rho!r}), "
                f"the budget is {self._budget.describe()}; plan fewer or cheaper rounds, or raise the budget"
            )

    def _check_unspent(self, charge: Charge) -> None:
        if self._unspent[charge] > 0:
            return
        if self._reserved is None:
            raise BudgetError(f"{_name(charge)}: no plan is reserved; reserve the whole plan before the first charge")
        if charge in self._reserved:
            raise BudgetError(
                f"{_name(charge)} is spent already as often as it was reserved ({self._reserved[charge]})"
            )
        raise BudgetError(f"{_name(charge)} is not part of the reserved plan")

    def _take(self, charge: Charge) -> None:
        self._unspent[charge] -= 1
        if not self._unspent[charge]:
            del self._unspent[charge]


def _name(charge: Charge) -> str:
    return f"charge {charge.mechanism!r}" + (f" ({charge.label})" if charge.label else "")
