"""What plans of all algorithms have in common."""

from __future__ import annotations

from typing import Any, Protocol

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.plan import DualQueryPlan, Encoding
from dpopt.errors import PlanError


class Plan(Protocol):
    """Everything that is decided before any private record is touched; it depends on public values only."""

    @property
    def algorithm(self) -> str:
        """Name of the algorithm, as on the command line."""
        ...

    @property
    def size(self) -> int:
        """Public n (replace-one) or n0 (add-remove)."""
        ...

    @property
    def relation(self) -> NeighbouringRelation:
        """Which tables count as neighbours."""
        ...

    @property
    def budget(self) -> Budget:
        """What may be spent."""
        ...

    @property
    def encoding(self) -> Encoding:
        """How a synthetic record is coded."""
        ...

    @property
    def solver(self) -> str:
        """Name of the best-response solver."""
        ...

    def charges(self) -> tuple[Charge, ...]:
        """Return every charge of the run, in order: what the ledger reserves before the first draw."""
        ...

    def transcript_bytes(self, queries: int, width: int) -> int:
        """Return about how many bytes the transcript takes, for so many queries and attributes of a record."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a JSON object."""
        ...


def dualquery_plan(plan: Plan) -> DualQueryPlan:
    """Return the plan if it is one of DualQuery's.

    Raises
    ------
    PlanError
        If it is another algorithm's.
    """
    if not isinstance(plan, DualQueryPlan):
        raise PlanError(f"expected a release of dualquery, found one of {plan.algorithm}")
    return plan
