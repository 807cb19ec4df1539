"""Plans of every algorithm: what they have in common, and how one is read back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dqrs_plan import DQRS, DqrsPlan
from dpopt.algorithms.fem_plan import FEM_ALGORITHMS, FemPlan
from dpopt.algorithms.measured_plan import MEASURED, MeasuredPlan
from dpopt.algorithms.multiplicative_plan import MULTIPLICATIVE, MultiplicativePlan
from dpopt.algorithms.plan import DualQueryPlan, Encoding
from dpopt.algorithms.small_database_plan import SMALLDB, SmallDatabasePlan
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


_READERS: dict[str, Callable[[dict[str, Any]], Plan]] = {
    "dualquery": DualQueryPlan.from_json,
    DQRS: DqrsPlan.from_json,
    **dict.fromkeys(FEM_ALGORITHMS, FemPlan.from_json),
    **dict.fromkeys(MEASURED, MeasuredPlan.from_json),
    SMALLDB: SmallDatabasePlan.from_json,
    **dict.fromkeys(MULTIPLICATIVE, MultiplicativePlan.from_json),
}


def read_plan(obj: dict[str, Any]) -> Plan:
    """Read a plan back.

    Raises
    ------
    PlanError
        If a field is missing or of the wrong kind, or another version or algorithm wrote the plan.
    """
    algorithm = obj.get("algorithm")
    reader = _READERS.get(algorithm) if isinstance(algorithm, str) else None
    if reader is None:
        raise PlanError(
            f"the plan is for algorithm {algorithm!r}; this dpopt reads plans of {', '.join(_READERS)}"
        )
    return reader(obj)


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
