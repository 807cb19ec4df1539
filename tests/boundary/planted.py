"""The frame of planted defects: each is applied to the real code, one at a time, and turns a named check red.

A mechanism is a row: its checks, which are green without a defect, and its defects by name, each with the checks that it turns
red and what these say then. `test_planted_defects.py` plays all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from dpopt.accounting.accountants import ChargeColumns
from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_charge
from dpopt.private.curators import door
from dpopt.private.curators.door import Door
from tests.tiny_runs import ADD_REMOVE, REPLACE

Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[NeighbouringRelation], None]
Relations = tuple[NeighbouringRelation, ...]
Red = tuple[Check, Relations, str]
"""A check, the relations under which it is red, and what it says then."""
WHATEVER = ".*"
ADD, REP, BOTH = (ADD_REMOVE,), (REPLACE,), (ADD_REMOVE, REPLACE)


@dataclass(frozen=True)
class Defect:
    """How a defect is planted, and what it turns red."""

    plant: Plant
    red: tuple[Red, ...]


@dataclass(frozen=True)
class Mechanism:
    """The checks of a mechanism, and its defects by name; some say the same under all relations.

    Checks that are part of another one, or of a row of `test_exact_loss.py`, are known to be green without a defect from there.
    """

    checks: Sequence[Check]
    defects: Mapping[str, Defect]
    relations: Relations = BOTH


def defect(plant: Plant, *red: Red) -> Defect:
    return Defect(plant, red)


def wrap(places: object, name: str, change: Callable[..., Any]) -> Plant:
    """Return a plant: in one place or several, `name` becomes a function of what it was and of its arguments."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        for place in places if isinstance(places, list) else [places]:
            patch.setattr(place, name, changed(getattr(place, name), change))

    return plant


def changed(usual: Callable[..., Any], change: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given, **more: change(usual, *given, **more)


def several(*plants: Plant) -> Plant:
    """Return the plant of several changes at once."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        for one in plants:
            one(patch)

    return plant


def twice(place: object, name: str) -> Plant:
    """Return a plant under which something is done once more before what is kept of it."""

    def again(usual: Callable[..., Any], *given: Any, **more: Any) -> Any:
        usual(*given, **more)
        return usual(*given, **more)

    return wrap(place, name, again)


def named(place: object, name: str, **changes: Callable[[Any], Any]) -> Plant:
    """Return a plant that changes arguments which are given by their names."""
    return wrap(
        place,
        name,
        lambda usual, *given, **more: usual(
            *given, **{**more, **{key: change(more[key]) for key, change in changes.items()}}
        ),
    )


def before_it_is_spent(usual: object, self: Door[Any], charge: Charge, **where: int) -> Charge:
    self._on_file(charge, **where)
    self._ledger.spend(charge)
    return charge


def after_the_draw(
    usual: object, self: Door[Any], kind: type, number: int, range_: Decimal, draw: Any, *, again: bool, **where: int
) -> Any:
    charge = selection_charge(number, range_, self._relation)
    selected: Any = self._drawn(kind, number, draw, charge)
    self._charged(charge, **where)
    return selected


def charge_half_of_the_range(*modules: object) -> Plant:
    """Return a plant under which plan and curator agree on half of what is drawn with."""
    return wrap(
        [door, *modules],
        "selection_charge",
        lambda usual, number, range_, relation: usual(number, range_ / 2, relation),
    )


# What breaks the door through which all curators charge and draw.

write_the_charge_before_it_is_spent = wrap(Door, "_charged", before_it_is_spent)
forget_what_was_drawn = wrap(Door, "_not_drawn", lambda usual, self, label: None)
pay_for_whatever_was_recalled = wrap(Door, "_recalled", lambda usual, self, expected, what: expected)
charge_half_of_rho = wrap(ChargeColumns, "rho", lambda usual, self: usual(self) / 2)
draw_noise_twice = twice(door, "with_noise")
charge_after_the_selection = wrap(Door, "_select", after_the_draw)
draw_a_selection_twice = twice(Door, "_drawn")


def put_on_file_unspent(place: type = Door) -> Plant:
    """Return a plant under which nothing is spent, and what a value says of its charge is right."""
    return wrap(place, "_charged", lambda usual, self, charge, **where: self._on_file(charge, **where))


# What checks share.


@contextmanager
def spending(events: list[str], said: Callable[[Charge], str] = lambda charge: "spend") -> Iterator[None]:
    """Add an event whenever a charge is spent."""
    spend = Ledger.spend

    def recording(self: Ledger, charge: Charge) -> None:
        spend(self, charge)
        events.append(said(charge))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "spend", recording)
        yield


def label_of(charge: Charge) -> str:
    return charge.label


def attempt(*actions: Callable[[], object], refused: type[Exception] = Exception) -> None:
    """Try one after the other, whatever is refused."""
    for action in actions:
        with suppress(refused):
            action()


def check_share(budget: str, share: float, lowest: float = 0.999) -> None:
    """What a plan costs, added up by hand, is the budget and no more."""
    assert lowest < share <= 1 + 1e-9, f"budget of {budget}: {share}"


def is_reached(share: float | Decimal, least: str, what: str = "of the charge") -> None:
    assert Decimal(share) > Decimal(least), f"only {share} {what} is reached, expected {least}"


def checks(mechanisms: Mapping[str, Mechanism]) -> list[Any]:
    """Return each check under each relation."""
    return [
        pytest.param(check, relation, id=f"{name}-{place}-{check_name(check)}-{relation.value}")
        for name, mechanism in mechanisms.items()
        for place, check in enumerate(mechanism.checks)
        for relation in mechanism.relations
    ]


def cases(mechanisms: Mapping[str, Mechanism]) -> list[Any]:
    """Return each defect with each check that it turns red."""
    return [
        pytest.param(
            planted.plant, check, relation, message, id=f"{name}-{called}-{place}-{check_name(check)}-{relation.value}"
        )
        for name, mechanism in mechanisms.items()
        for called, planted in mechanism.defects.items()
        for place, (check, relations, message) in enumerate(planted.red)
        for relation in relations
    ]


def check_name(check: Any) -> str:
    """Return the name of a check, or of the check that is called with more arguments."""
    return str(getattr(check, "__name__", None) or check.func.__name__)
