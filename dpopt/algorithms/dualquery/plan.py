"""The plan of a DualQuery run: everything that is decided before any private record is touched."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import log
from typing import Annotated, Literal

import numpy as np

from dpopt.accounting.charges import Charge
from dpopt.accounting.dualquery import plan_charges
from dpopt.accounting.ledger import Budget
from dpopt.accounting.measurements import one_way_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.constraints import Number, Whole, constrain
from dpopt.errors import PlanError
from dpopt.private.selections.query_weights import LARGEST_SCORE, MOST_ROWS
from dpopt.releases.plan import LARGEST_SIZE, SECONDS, SEED, SIZE, WORK, FreeAttributes, Plan
from dpopt.schema.schema import Schema

ALGORITHM = "dualquery"


@dataclass(frozen=True, slots=True)
class OneWayMeasurement:
    """Noise of the one-way marginals that free attributes are drawn from."""

    scale: Annotated[float, Number("the scale of one-way marginals", above=0)]
    gaussian: bool

    def __post_init__(self) -> None:
        constrain(self, PlanError)


_LARGEST_RATE = 31


@dataclass(frozen=True, slots=True)
class DualQueryPlan(Plan):
    """Parameters of a run; they depend on public values only.

    Attributes
    ----------
    free_attributes :
        See its type.
    size, relation, budget, solver, seed, chosen_by :
        As in `Plan`.
    """

    algorithm = ALGORITHM
    rounds: Annotated[int, Whole("the number of rounds", most=LARGEST_SIZE)]
    draws: Annotated[int, Whole("the number of draws", most=LARGEST_SIZE)]
    """T rounds of s draws each."""
    step: Annotated[Decimal, Number("the step eta", above=0, decimal=True)]
    """Step eta, an exact decimal."""
    size: Annotated[int, SIZE]
    relation: NeighbouringRelation
    budget: Budget
    attributes: Annotated[int, Whole("the number of attributes", most=LARGEST_SIZE)]
    """Number of attributes of the table, for the charge of one-way marginals."""
    free_attributes: FreeAttributes = FreeAttributes.FIRST
    encoding: Literal["records"] = field(default="records", init=False)
    """Records have one value for each attribute; earlier versions had others."""
    one_way: OneWayMeasurement | None = None
    """Set if and only if free attributes are estimated."""
    solver: str = "local-search"
    work: Annotated[int | None, WORK] = None
    """Its limit per round in its own deterministic units."""
    seconds: Annotated[float | None, SECONDS] = None
    """Its limit per round in seconds."""
    seed: Annotated[int, SEED] = 0
    chosen_by: str = "given"

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        if self.step > _LARGEST_RATE * self.size:
            raise PlanError(
                f"the step eta = {self.step} is too large for a public size of {self.size:,}: "
                f"eta / n is at most {_LARGEST_RATE}, beyond which the sampler cannot distinguish scores"
            )
        if self.rounds * (self.size + MOST_ROWS) > LARGEST_SCORE:
            raise PlanError(
                f"{self.rounds:,} rounds with a public size of {self.size:,} are beyond 64-bit scores; take fewer "
                f"rounds"
            )
        if (self.one_way is None) == (self.free_attributes is FreeAttributes.ESTIMATED):
            raise PlanError("one-way marginals are measured if and only if free attributes are estimated")

    def describe(self) -> str:
        """Return the plan in a sentence."""
        return (
            f"DualQuery: T = {self.rounds:,} rounds, s = {self.draws:,} draws each, step eta = {self.step} "
            f"({self.chosen_by})"
        )

    def bits_of_records(self, width: int, *, wide: bool) -> int:
        """Return the attributes that take as much as `width` bits: a sixth of a byte is written for a bit, and 8 for a code."""
        return width // 40

    def most_ones(self, columns: int, literals: int) -> int:
        """Return how many ones a record has at most: where what no query mentions is 0, those of the drawn queries."""
        return min(columns, self.draws * literals) if self.free_attributes is FreeAttributes.FIRST else columns

    def transcript_bytes(self, queries: int, width: int) -> int:
        """Return about how many bytes the transcript takes, for so many queries and attributes of a record."""
        return self.rounds * (20 * min(self.draws, queries) + 8 * width + 1_000)

    def charges(self) -> tuple[Charge, ...]:
        """Return every charge of the run, in order: what the ledger reserves before the first draw."""
        drawn = plan_charges(self.rounds, self.draws, float(self.step), self.size, self.relation)
        measured = self.one_way_charge()
        return drawn if measured is None else (measured, *drawn)

    def one_way_charge(self) -> Charge | None:
        """Return the charge of the one-way marginals, if they are measured."""
        if self.one_way is None:
            return None
        return one_way_charge(
            self.attributes, scale=self.one_way.scale, gaussian=self.one_way.gaussian, relation=self.relation
        )


def log_universe(schema: Schema) -> float:
    """Return ln |X|: X holds the records of the schema."""
    sizes, counts = np.unique(schema.sizes, return_counts=True)
    terms = zip(sizes.tolist(), counts.tolist(), strict=True)
    # Exact sums, rounded once at the end: what `math.fsum` over all attributes gives, without a loop over them.
    return float(sum((Fraction(log(size)) * count for size, count in terms), Fraction(0)))
