"""The plan of a SmallDB run."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_charge
from dpopt.algorithms.options import SmallDatabase
from dpopt.constraints import Number, Whole, constrain
from dpopt.errors import PlanError
from dpopt.private.mechanisms.net.net_distribution import LARGEST_TARGET, MOST_RECORDS
from dpopt.releases.plan import SEED, Plan

SMALLDB = SmallDatabase.algorithm
LARGEST_RANGE = Decimal(1_000)
LARGEST_REACH = Decimal(2)


@dataclass(frozen=True, slots=True)
class SmallDatabasePlan(Plan):
    """Parameters of a run; they depend on public values only.

    Attributes
    ----------
    size, relation, budget, seed, chosen_by :
        As in `Plan`.
    """

    algorithm, solver = SMALLDB, "local-search"  # no solver is needed, the usual one is named
    records: Annotated[int, Whole("the number of records", most=MOST_RECORDS)]
    """Number m of records of the small database."""
    selection_range: Annotated[Decimal, Number("the range of the selection", above=0, most=LARGEST_RANGE, decimal=True)]
    """epsilon of the one selection, an exact decimal."""
    reach: Annotated[Decimal, Number("the reach of the errors", above=0, most=LARGEST_REACH, decimal=True)]
    """Larger errors are treated as equal to it; in (0, 2]."""
    size: Annotated[int, Whole("the public size", most=2**40)]
    relation: NeighbouringRelation
    budget: Budget
    seed: Annotated[int, SEED] = 0
    chosen_by: str = "given"

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        if self.records * self.size > LARGEST_TARGET:
            raise PlanError(
                f"{self.records:,} records at a public size of {self.size:,} are beyond 64-bit distances; ask for fewer"
            )

    def charges(self) -> tuple[Charge, ...]:
        """Return the one charge of the run."""
        return (selection_charge(1, self.selection_range, self.relation),)

    def describe(self) -> str:
        """Return the plan in a sentence."""
        return f"smalldb: a database of m = {self.records:,} records ({self.chosen_by})"

    def transcript_bytes(self, queries: int, width: int) -> int:
        """Return about how many bytes the transcript takes, for so many queries and attributes of a record."""
        return 4_000 + 30 * self.records
