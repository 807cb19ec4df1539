"""A charge: what one mechanism costs, in the parameter of its theorem."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import SupportsIndex

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError
from dpopt.files.codec import Unbounded

LARGEST_COUNT = 2**53  # products of a count and a float stay exact as a pair of floats
LARGEST_PARAMETER = 1e100


class ChargeKind(enum.Enum):
    """What the parameter of a charge bounds.

    Privacy: B1 in docs/privacy.md.

    `BOUNDED_RANGE`: (largest - smallest log likelihood ratio over the outputs) <= parameter. Implies pure
    differential privacy with the same parameter and (parameter^2 / 8)-zCDP.
    `PURE`: epsilon of pure differential privacy. Implies (epsilon^2 / 2)-zCDP.
    `CONCENTRATED`: rho of zCDP (Gaussian noise).
    `NOT_PRIVATE`: no bound at all (a scripted draw, say); the parameter is infinite, and so is every total.
    """

    BOUNDED_RANGE = "bounded range"
    PURE = "pure"
    CONCENTRATED = "concentrated"
    NOT_PRIVATE = "not private"


@dataclass(frozen=True, slots=True)
class Charge:
    """The price of `count` uses of one mechanism, for tables that are neighbours under `relation`.

    Parameters
    ----------
    mechanism
        What was run, in words.
    kind
        What `parameter` bounds.
    parameter
        Range, epsilon or rho of ONE use: at least 0, at most 1e100; infinite exactly for `NOT_PRIVATE`.
    count
        Number of uses, 1 to 2^53. For `BOUNDED_RANGE` the uses must be independent draws from one and the
        same distribution, as the draws of one DualQuery round are: the GDP accountant relies on it. Uses that
        depend on earlier outputs are separate charges.
    relation
        The neighbouring relation under which the parameter holds.
    theorem
        Where the parameter comes from.
    label
        Distinguishes equal charges, such as "round 3".

    Raises
    ------
    AccountingError
        A field outside the range above.
    """

    mechanism: str
    kind: ChargeKind
    parameter: Unbounded
    count: int
    relation: NeighbouringRelation
    theorem: str
    label: str = ""

    def __post_init__(self) -> None:
        for name, least in (("mechanism", 1), ("theorem", 1), ("label", 0)):
            _check_text(name, getattr(self, name), least)
        _check_member("kind", self.kind, ChargeKind)
        _check_member("relation", self.relation, NeighbouringRelation)
        _check_count(self.count)
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


def _check_count(count: object) -> None:
    if isinstance(count, SupportsIndex) and not isinstance(count, bool) and 1 <= int(count) <= LARGEST_COUNT:
        return
    raise AccountingError(f"count of a charge: found {count!r}, expected a whole number from 1 to 2^53")


def _check_parameter(kind: ChargeKind, parameter: object) -> None:
    if kind is ChargeKind.NOT_PRIVATE:
        if parameter != math.inf:
            raise AccountingError(
                f"parameter of a not-private charge: found {parameter!r}, expected infinity"
            )
        return
    if (
        isinstance(parameter, int | float)
        and not isinstance(parameter, bool)
        and 0 <= parameter <= LARGEST_PARAMETER
    ):
        return
    raise AccountingError(
        f"parameter of a charge ({kind.value}): found {parameter!r}, expected a number from 0 to 1e100; "
        "a mechanism without a finite bound is charged as not private"
    )
