"""The shared parts of all algorithms' plans, and checks of their numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from decimal import ROUND_DOWN, Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Self

from dpopt.constraints import Number, Whole
from dpopt.errors import PlanError

if TYPE_CHECKING:  # the help of the command line reads this file, and loads no numbers for that
    from dpopt.accounting.budget import Budget
    from dpopt.accounting.charges import Charge
    from dpopt.accounting.relations import NeighbouringRelation
    from dpopt.schema.schema import Schema

PLAN_VERSION = 1
LARGEST_SIZE = 2**53
SIZE = Whole("the public size", most=LARGEST_SIZE, advice="no table is larger")
WORK = Whole("the work per round")
SECONDS = Number("the seconds per round", above=0)
SEED = Whole("the seed", least=0, most=2**31 - 1)
DENSITY = Number(
    "--density, the public share of ones in the table (for baskets the average number of items over that of all items),",
    above=0,
    below=1,
)
"""Types of plans and options."""
MOST_DELTA = 1e-6
"""No delta above it is taken without being asked for, however few records there are."""


class FreeAttributes(Enum):
    """The public rule for attributes that no drawn query of a round mentions."""

    FIRST = "first"
    """The first declared value: the paper's choice for real, sparse data."""
    RANDOM = "random"
    """A uniformly random declared value: the paper's choice for synthetic, dense data."""
    ESTIMATED = "estimated"
    """A random value from noisy one-way marginals, which are charged."""


class PlanBy(Enum):
    """How rounds, draws and step are chosen where the user leaves them open."""

    RULE = "rule"
    """eta = 1.4 and T = 3.63 s^(2/3) min(1, 24/d) for d attributes (the factor at least 0.15), as large as the budget
    allows: near the best of a grid on seven public tables of 15 to 110 attributes. For tables that are declared, or assumed by
    their layout, to be sparse (`density` at most 0.1) eta = 2.5, T = 30 s^(2/3) and s at least 10, and at least
    35 density d^(1/2) as long as 30 rounds are left: near the best on public populations of 400 and 2,000 columns like five
    tables of purchases, visits and ratings. For other tables of zeros and ones (`Schema.binary`) eta = 0.4 and one draw for
    each attribute, but at most as many as queries and at least 50, with 30 rounds at least: near the best on random bits."""
    BOUND = "bound"
    """The smallest proven bound: cautious steps, many rounds; usually larger errors in practice."""


class Plan(ABC):
    """Everything that is decided before any private record is touched; it depends on public values only.

    The plans of an algorithm are a frozen dataclass below this one. On file it has its version, its algorithm, and
    every field, except those in `left_out` that have the value there.
    """

    __slots__ = ()
    left_out: ClassVar[Mapping[str, Any]] = {}
    """Fields that came later, and the value with which older files go on."""
    algorithm: str
    """Name of the algorithm, as on the command line."""
    size: int
    """Public n (replace-one) or n0 (add-remove)."""
    relation: NeighbouringRelation
    """Which tables count as neighbours."""
    budget: Budget
    """The budget."""
    seed: int
    """Seed of solvers and of public random choices; no private draw depends on it."""
    solver: str
    """Name of the best-response solver; the usual one where none is needed."""
    chosen_by: str
    """How the terms that the user left open were chosen."""

    @abstractmethod
    def charges(self) -> tuple[Charge, ...]:
        """Return every charge of the run, in order, as the ledger reserves them before the first draw."""

    def transcript_bytes(self, queries: int, width: int) -> int:
        """Return about the size of the transcript in bytes, for a number of queries and of a record's attributes."""
        return len(self.charges()) * (1_000 + 12 * queries)

    def describe(self) -> str:
        """Return the plan in a sentence."""
        return f"{self.algorithm} ({self.chosen_by})"

    @property
    def leads(self) -> bool:
        """Whether `auto` takes it wherever it can be had, without comparing predictions."""
        return False

    def asked(self, schema: Schema) -> tuple[Sequence[str], Sequence[str]]:
        """Return the questions that the owner named, and those about a target."""
        return (), ()

    @property
    def answers_only(self) -> bool:
        """Whether answers are released, and no records."""
        return False

    @property
    def finds_wrong_size(self) -> str:
        """Whether a wrong declared number of records is found after a run, in words that follow "a wrong n0"."""
        return NOT_FOUND

    def bits_of_records(self, width: int, *, wide: bool) -> int:
        """Return how many attributes of a plain record take as much of the transcript as `width` attributes kept as bits."""
        return width

    def most_ones(self, columns: int, literals: int) -> int:
        """Return the most ones of a record over a number of columns, if queries have this number of literals."""
        return columns

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a JSON object."""
        from dpopt.files.codec import encode

        named = encode(self, {"dpopt_plan": PLAN_VERSION, "algorithm": self.algorithm})
        return {
            name: value for name, value in named.items() if name not in self.left_out or value != self.left_out[name]
        }

    @classmethod
    def from_json(cls, obj: object) -> Self:
        """Read a plan back."""
        from dpopt.files.codec import decode

        header: dict[str, object] = {"dpopt_plan": PLAN_VERSION}
        if (name := cls._only_algorithm()) is not None:
            header["algorithm"] = name
        given = {**cls.left_out, **obj} if isinstance(obj, dict) else obj
        return decode(cls, given, "plan.json", PlanError, header=header)

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """Return a plan as one of this class."""
        if not isinstance(plan, cls):
            expected = cls._only_algorithm() or f"an algorithm with a {cls.__name__}"
            raise PlanError(f"expected a release of {expected}, found one of {plan.algorithm}")
        return plan

    @classmethod
    def _only_algorithm(cls) -> str | None:
        """Return the algorithm of all plans of this class; None where each says its own."""
        name: object = getattr(cls, "algorithm", None)
        return name if isinstance(name, str) else None


def removed(found: str, instead: str) -> PlanError:
    """Return the refusal of a removed feature, with its replacement and the version that reads it."""
    return PlanError(
        f"found {found}, removed from dpopt; for a new release use {instead}. A release of it stays as it is, and so "
        "does its privacy; earlier commits of version 0.1.0 read, replay and resume it"
    )


NOT_FOUND = "is not found, unless numbers within bins show it: leave --n0 out if in doubt, and it is measured"


def whole_number(called: str, value: object, *, least: int) -> int:
    """Return a whole number of at least `least`, also one of NumPy's, as Python's."""
    return Whole(called, least)(value, PlanError)


def usual_delta(n0: int | None) -> float:
    """Return the delta of a budget that names epsilon alone.

    The guarantee needs a delta that is fixed before any draw. With a public number n0 that is 1 / n0^2, rounded down to
    one digit (10^-6 at most): all of n0 records together are then exposed by a failure with probability below 1 / n0. A
    number that is yet to be measured cannot fix it: the draw that measures it is part of what delta bounds. Then it is
    10^-9, below 1 / n for up to a billion records and below 1 / n^2 for up to 31,622.

    Examples
    --------
    >>> usual_delta(48_842), usual_delta(100), usual_delta(None)
    (4e-10, 1e-06, 1e-09)
    """
    from dpopt.accounting.budget import DEFAULT_DELTA

    if n0 is None:
        return DEFAULT_DELTA
    square = 1 / Decimal(SIZE(n0, PlanError)) ** 2
    return min(MOST_DELTA, float(square.quantize(Decimal((0, (1,), square.adjusted())), ROUND_DOWN)))


REMOVED: Mapping[str, Mapping[str, str]] = {
    "algorithm": {"dqrs": "dualquery", "sepfem": "fem"},
    "accountant": dict.fromkeys(
        ("theorem", "per-round"), "zcdp, which charges less ('dpopt plan' shows the figures of all)"
    ),
    "update": {"hoeffding": "paper, the lecture's step", "projection": "max-entropy"},
    "estimate": {
        "least-absolute": "posterior, nearer the truth on every table measured, or the model isotonic_median_regression",
        "whole": "another one, rounded by an export or by whole_counts; the nearest is the model whole_tree_consistency",
        "shrunken without rounds": "--measure rounds or --shapes rounds, or the estimate 'divided'",
        "zeroing without a hierarchy": "--branching, the tree of the paper, or --hierarchy, or the estimate 'divided'",
    },
}
"""Removed choices, by option, with their replacements."""
ONE_LEFT: Mapping[str, tuple[object, str]] = {
    "slack": (0.5, "pmw with --plan-by bound and --update paper"),
    "encoding": ("records", "records with a value for each attribute, or recode the table as zeros and ones"),
}
"""Options with one value left, with replacements for others."""


def refuse_removed(option: str, found: object) -> None:
    """Refuse, by PlanError, a choice that dpopt had once, asked for or on file."""
    remains, instead = ONE_LEFT.get(option, (found, None))
    if found == remains:
        instead = REMOVED.get(option, {}).get(found) if isinstance(found, str) else None
    if instead is not None:
        raise removed(f"{option} {found!r}", instead)


def choice(kind: Any, text: str, option: str) -> Any:
    """Return the member of an enumeration that a text names."""
    try:
        return kind(text)
    except ValueError:
        refuse_removed(option, text)
        names = ", ".join(member.value for member in kind)
        raise PlanError(f"--{option} is one of {names}; found {text!r}") from None
