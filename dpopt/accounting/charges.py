"""A charge: the cost of one mechanism, in the parameter of its theorem."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError
from dpopt.files.codec import Unbounded

LARGEST_COUNT = 2**53  # products of a count and a float stay exact as a pair of floats
LARGEST_PARAMETER = 1e100


class ChargeKind(enum.Enum):
    """The quantity that the parameter of a charge bounds.

    Privacy: B1 in docs/privacy.

    `BOUNDED_RANGE`: (largest - smallest log likelihood ratio over the outputs) <= parameter. Implies pure differential
    privacy with the same parameter and (parameter^2 / 8)-zCDP. `PURE`: epsilon of pure differential privacy. Implies
    (epsilon^2 / 2)-zCDP. `CONCENTRATED`: rho of zCDP (Gaussian noise). `DELTA`: the delta of an (epsilon, delta) mechanism,
    whose epsilon is a charge of its own (B13); at most 1. `NOT_PRIVATE`: no bound at all (a scripted draw, say); the
    parameter is infinite, and so is every total.
    """

    BOUNDED_RANGE = "bounded range"
    PURE = "pure"
    CONCENTRATED = "concentrated"
    DELTA = "delta"
    NOT_PRIVATE = "not private"


@dataclass(frozen=True, slots=True)
class Charge:
    """The price of `count` uses of one mechanism, for tables that are neighbours under `relation`."""

    mechanism: str
    """Name of the mechanism that was run."""
    kind: ChargeKind
    """The quantity that `parameter` bounds."""
    parameter: Unbounded
    """Range, epsilon, rho or delta of ONE use: at least 0, at most 1e100; infinite exactly for `NOT_PRIVATE`."""
    count: int
    """Number of uses, 1 to 2^53. For `BOUNDED_RANGE` the uses must be independent draws from one and the same
    distribution, as the draws of one DualQuery round are: the GDP accountant relies on it. Uses that depend on earlier
    outputs are separate charges."""
    relation: NeighbouringRelation
    """The neighbouring relation under which the parameter holds."""
    theorem: str
    """Where the parameter comes from."""
    label: str = ""
    """Distinguishes equal charges, such as "round 3"."""

    def __post_init__(self) -> None:
        for name, least in (("mechanism", 1), ("theorem", 1), ("label", 0)):
            _check_text(name, getattr(self, name), least)
        _check_member("kind", self.kind, ChargeKind)
        _check_member("relation", self.relation, NeighbouringRelation)
        check_whole("count of a charge", self.count)
        _check_parameter(self.kind, self.parameter)
        object.__setattr__(self, "parameter", float(self.parameter) + 0.0)  # -0.0 becomes 0.0
        object.__setattr__(self, "count", int(self.count))


def _check_text(name: str, value: object, least: int) -> None:
    if not isinstance(value, str) or len(value) < least:
        expected = "a text that is not empty" if least else "a text (it may be empty)"
        raise AccountingError(f"{name} of a charge: found {value!r}, expected {expected}")


def _check_member(name: str, value: object, expected: type[enum.Enum]) -> None:
    if not isinstance(value, expected):
        raise AccountingError(
            f"{name} of a charge: found {value!r}, expected a member of {expected.__name__}; "
            "every charge says what it bounds and for which neighbours"
        )


def check_whole(what: str, value: object, *, least: int = 1, most: int = LARGEST_COUNT) -> None:
    """Raise AccountingError unless a value is a whole number within a range, also one of NumPy's."""
    # isinstance of a protocol takes twenty times as long; a ledger asks for each of its entries.
    whole = hasattr(value, "__index__") and not isinstance(value, bool)
    if not whole or not least <= int(value) <= most:  # type: ignore[call-overload]
        raise AccountingError(f"{what}: found {value!r}, expected a whole number from {least} to {most:,}")


def is_number(value: object) -> bool:
    """Return whether a value is a number, and not a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_parameter(kind: ChargeKind, parameter: object) -> None:
    if kind is ChargeKind.NOT_PRIVATE:
        if parameter != math.inf:
            raise AccountingError(f"parameter of a not-private charge: found {parameter!r}, expected infinity")
        return
    most = 1 if kind is ChargeKind.DELTA else LARGEST_PARAMETER
    if is_number(parameter) and 0 <= parameter <= most:  # type: ignore[operator]
        return
    raise AccountingError(
        f"parameter of a charge ({kind.value}): found {parameter!r}, expected a number from 0 to {most:g}; "
        "a mechanism without a finite bound is charged as not private"
    )
