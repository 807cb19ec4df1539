"""The small database: one draw among all databases of m records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpopt.algorithms.algorithm import Algorithm

if TYPE_CHECKING:
    from dpopt.algorithms.options import PlanRequest, SmallDatabase
    from dpopt.algorithms.prediction import PredictedError
    from dpopt.algorithms.small_database.plan import SmallDatabasePlan
    from dpopt.queries.workloads.workload import Workload
    from dpopt.releases.run import Driver


class SmallDatabaseAlgorithm(Algorithm["SmallDatabase", "SmallDatabasePlan"]):
    """The small database: one draw among all databases of m records."""

    def plan(self, request: PlanRequest[SmallDatabase], workload: Workload) -> SmallDatabasePlan:
        from dpopt.algorithms.small_database.planning import make_small_database_plan

        return make_small_database_plan(request, workload)

    def read(self, obj: dict[str, Any]) -> SmallDatabasePlan:
        from dpopt.algorithms.small_database.plan import SmallDatabasePlan

        return SmallDatabasePlan.from_json(obj)

    def predict(
        self, plan: SmallDatabasePlan, workload: Workload, *, runs: int = 1, density: float | None = None
    ) -> PredictedError:
        from dpopt.algorithms.small_database.simulation import predict_small_database

        return predict_small_database(plan, workload, runs=runs, density=density)

    def driver(self) -> Driver:
        from dpopt.algorithms.small_database import driver

        return driver

    def prove(self, plan: SmallDatabasePlan, workload: Workload) -> dict[str, Any] | None:
        from dpopt.algorithms.small_database.planning import proven_small_database

        return proven_small_database(plan, workload)
