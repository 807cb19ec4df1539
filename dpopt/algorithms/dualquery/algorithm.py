"""DualQuery: each round, the record that satisfies most of the drawn queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from dpopt.algorithms.algorithm import Algorithm

if TYPE_CHECKING:
    from dpopt.accounting.charges import Charge
    from dpopt.algorithms.dualquery.plan import DualQueryPlan
    from dpopt.algorithms.memory import ExpectedMemory
    from dpopt.algorithms.options import DualQuery, PlanRequest
    from dpopt.algorithms.prediction import PredictedError
    from dpopt.queries.workloads.workload import Workload
    from dpopt.releases.run import Driver


class DualQueryAlgorithm(Algorithm["DualQuery", "DualQueryPlan"]):
    """DualQuery: each round, the record that satisfies most of the drawn queries."""

    predicts_wide: ClassVar[bool] = True
    knows_density: ClassVar[bool] = True

    def plan(self, request: PlanRequest[DualQuery], workload: Workload) -> DualQueryPlan:
        from dpopt.algorithms.dualquery.planning import make_plan

        return make_plan(request, workload)

    def read(self, obj: dict[str, Any]) -> DualQueryPlan:
        from dpopt.algorithms.dualquery.plan import DualQueryPlan

        return DualQueryPlan.from_json(obj)

    def predict(
        self, plan: DualQueryPlan, workload: Workload, *, runs: int = 1, density: float | None = None
    ) -> PredictedError:
        from dpopt.algorithms.dualquery.simulation import predict_error

        return predict_error(plan, workload, runs=runs, density=density)

    def driver(self) -> Driver:
        from dpopt.algorithms.dualquery import driver

        return driver

    def prove(self, plan: DualQueryPlan, workload: Workload) -> dict[str, Any] | None:
        from dpopt.algorithms.dualquery.planning import proven_of_plan

        return proven_of_plan(plan, workload)

    def expected_memory(
        self, plan: DualQueryPlan, workload: Workload, *, streamed: bool = False, resumed: bool = False
    ) -> ExpectedMemory:
        from dpopt.algorithms.memory import memory_of_rounds

        return memory_of_rounds(
            workload, size=plan.size, rounds=plan.rounds, draws=plan.draws, streamed=streamed, resumed=resumed
        )

    def prices(self, plan: DualQueryPlan, charges: Sequence[Charge]) -> dict[str, Any]:
        from dpopt.accounting.accountants import columns_of, costs
        from dpopt.accounting.budget import DEFAULT_DELTA

        budget = plan.budget
        columns = columns_of(charges).for_groups(budget.group)
        rows = costs(columns.epsilon, budget.delta or DEFAULT_DELTA, used=budget.accountant)
        if budget.earlier:
            # The size is part of this plan's total; each of the other accountants would measure it at a cost of its own.
            stated = budget.guaranteed(charges)
            rows = [{**row, "epsilon": stated.epsilon} if row["used"] else row for row in rows]
        return {"accountants": rows}
