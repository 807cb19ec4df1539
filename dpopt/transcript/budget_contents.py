"""The content of a budget file: the total, the releases, their total cost, and the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.conversions import zcdp_epsilon
from dpopt.accounting.many_releases import THEOREMS, Cost, Total, left_for, total_of
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError, DpoptError
from dpopt.files.codec import decode, encode
from dpopt.transcript.journal import entry_of

HEADER = {"dpopt_budget": 1}
TOLD_DELTA = 1e-9


@dataclass(frozen=True, slots=True)
class ReservedRelease:
    """The entries of one release."""

    reservation: str
    """A random mark by which a resumed run finds it; it stands in the statement of the release as well."""
    date: str
    """When it was reserved, in universal time."""
    command: str
    cost: Cost
    """In the budget's own relation and unit."""
    note: str = ""
    """The theorem by which the cost was converted, "" if it was not."""

    def epsilon(self, delta: float) -> float:
        """Return the cost in epsilon at a delta."""
        converted = zcdp_epsilon(self.cost.rho, delta)
        return converted if self.cost.epsilon is None else min(converted, self.cost.epsilon)


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first line of a budget file: the total, for which neighbours and for whom it holds, and when it was made."""

    budget: Budget
    neighbours: NeighbouringRelation
    person: str | None
    date: str


@dataclass(frozen=True, slots=True)
class BudgetContents:
    """The content of a budget file."""

    budget: Budget
    """The total."""
    relation: NeighbouringRelation
    person: str | None
    """The column that names the person whom the budget is for; None where it is for one record."""
    created: str
    releases: tuple[ReservedRelease, ...] = ()
    """In the order in which they were first reserved."""
    length: int = 0
    """Bytes of the whole lines."""

    @property
    def unit(self) -> str:
        """For whom the budget holds, in words."""
        return "one record" if self.person is None else f"one person (column {self.person!r})"

    @property
    def delta(self) -> float:
        """The delta at which costs are stated in epsilon: the budget's own, if it has one."""
        return self.budget.delta or TOLD_DELTA

    def total(self) -> Total:
        """Return the total cost of all releases, spent or reserved."""
        return total_of(self.budget, [release.cost for release in self.releases])

    def left(self) -> Cost:
        """Return the largest cost of one more release: in rho, or in epsilon if it is pure."""
        return left_for(self.budget, [release.cost for release in self.releases])

    def left_text(self) -> str:
        """Return the largest cost of one more release, in words."""
        left = self.left()
        pure = f"pure epsilon = {left.epsilon:.6g}"
        if left.rho == 0.0:
            return pure
        epsilon = zcdp_epsilon(left.rho, self.delta)
        return f"rho = {left.rho:.6g}, or epsilon = {epsilon:.6g} at delta = {self.delta:g}, or {pure}"

    def report(self) -> dict[str, Any]:
        """Return the budget, each release and the rest, as a JSON object."""
        total, left = self.total(), self.left()
        return {
            "budget": {name: encode(self.budget)[name] for name in ("epsilon", "delta", "rho")},
            "neighbours": self.relation.value,
            "unit": self.unit,
            "created": self.created,
            "releases": [
                {
                    "date": release.date,
                    "command": release.command,
                    "rho": release.cost.rho,
                    "epsilon": release.epsilon(self.delta),
                    "delta": self.delta,
                    "pure_epsilon": release.cost.epsilon,
                    "converted": release.note or None,
                    "reservation": release.reservation,
                }
                for release in self.releases
            ],
            "theorem": THEOREMS[total.theorem],
            "used_share": _finite(total.share),
            "left": {
                "rho": left.rho,
                "epsilon": zcdp_epsilon(left.rho, self.delta),
                "delta": self.delta,
                "pure_epsilon": left.epsilon,
            },
        }


def read_contents(name: str, data: bytes) -> BudgetContents:
    """Return the content of the whole lines of a budget file."""
    lines = data.removesuffix(b"\n").split(b"\n")
    first = entry_of(lines[0] + b"\n")
    if first is None or "dpopt_budget" not in first:
        raise BudgetError(f"{name} is not a budget file of this version; make one with 'dpopt budget create'")
    releases: dict[str, ReservedRelease] = {}
    try:
        beginning = decode(Beginning, first, "line 1", BudgetError, header=HEADER)
        for number, line in enumerate(lines[1:], start=2):
            entry = entry_of(line + b"\n")
            if entry is None:
                raise BudgetError(f"line {number} is not what was written")
            release = decode(ReservedRelease, entry, f"line {number}", BudgetError)
            known = releases.get(release.reservation)
            # A later line of one release has the larger cost; it began when the first was written.
            releases[release.reservation] = release if known is None else replace(release, date=known.date)
    except DpoptError as error:
        raise BudgetError(
            f"{name} is damaged: {error}. Restore it from a copy that holds all releases: what a damaged line reserved "
            f"may have been drawn"
        ) from error
    return BudgetContents(
        beginning.budget, beginning.neighbours, beginning.person, beginning.date, tuple(releases.values()), len(data)
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def steps_between(contents: BudgetContents, relation: NeighbouringRelation, person: str | None) -> tuple[int, str]:
    """Return how many neighbouring steps of a release make one of the budget, and the theorem in words.

    Add-remove to replace-one: a replacement is a removal and an addition, so two steps: epsilon twice, rho four times.
    Replace-one to add-remove: never. A guarantee for tables of one public size implies nothing for those of others: to
    publish the number of records keeps the first and breaks the second. Privacy: B10 in docs/privacy.
    """
    if person != contents.person:
        found = "one record" if person is None else f"one person (column {person!r})"
        raise BudgetError(
            f"the budget is for {contents.unit}, the release for {found}: one guarantee does not follow from the "
            f"other. {_unit_advice(contents.person)}"
        )
    if relation is contents.relation:
        return 1, ""
    if relation is NeighbouringRelation.ADD_REMOVE:
        return 2, "add-remove to replace-one: a replacement is a removal and an addition (group of two)"
    raise BudgetError(
        "the budget holds for add-remove neighbours, the release for replace-one: a guarantee for tables of one public "
        "size implies nothing for tables of different sizes. Release with --neighbours add-remove, or keep a budget "
        "made with 'dpopt budget create --neighbours replace'"
    )


def _unit_advice(person: str | None) -> str:
    if person is None:
        return "Leave --person out, or keep another budget made with 'dpopt budget create --person COLUMN'"
    return f"Release with --person {person} and --rows-per-person, or keep another budget for records"


def refuse_overspending(name: str, contents: BudgetContents, cost: Cost, what: str) -> None:
    """Refuse a release that would exceed the total; `what` names the source of its cost."""
    costs = [release.cost for release in contents.releases]
    if total_of(contents.budget, [*costs, cost]).is_kept:
        return
    if cost.epsilon is None and contents.budget.accountant is Accountant.PURE:
        raise BudgetError(
            f"{name} is a total without delta and pays pure releases only, and this one costs rho = {cost.rho:.6g} by "
            f"{what}. Release with --delta 0, or keep a budget with a "
            "delta ('dpopt budget create --delta'). Nothing was drawn"
        )
    pure = "" if cost.epsilon is None else f" (pure epsilon = {cost.epsilon:.6g})"
    raise BudgetError(
        f"{name}: the release may cost rho = {cost.rho:.6g}{pure} by {what}, and what is left allows "
        f"{contents.left_text()}. Ask for less; 'dpopt budget show' lists what was spent. Nothing was drawn"
    )
