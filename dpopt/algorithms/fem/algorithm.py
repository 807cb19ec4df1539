"""FEM: records that answer the selected queries best under random perturbations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpopt.algorithms.algorithm import Algorithm

if TYPE_CHECKING:
    from dpopt.algorithms.fem.plan import FemPlan
    from dpopt.algorithms.options import FEM, PlanRequest
    from dpopt.algorithms.prediction import PredictedError
    from dpopt.queries.workloads.workload import Workload
    from dpopt.releases.run import Driver


class FemAlgorithm(Algorithm["FEM", "FemPlan"]):
    """FEM: records that answer the selected queries best under random perturbations."""

    def plan(self, request: PlanRequest[FEM], workload: Workload) -> FemPlan:
        from dpopt.algorithms.fem.plan import make_fem_plan

        return make_fem_plan(request, workload)

    def read(self, obj: dict[str, Any]) -> FemPlan:
        from dpopt.algorithms.fem.plan import FemPlan

        return FemPlan.from_json(obj)

    def predict(
        self, plan: FemPlan, workload: Workload, *, runs: int = 1, density: float | None = None
    ) -> PredictedError:
        from dpopt.algorithms.fem.driver import stand_in
        from dpopt.algorithms.prediction import predict_played

        return predict_played(self.driver(), stand_in(plan, workload), workload, runs=runs, density=density)

    def driver(self) -> Driver:
        from dpopt.algorithms.fem import driver

        return driver
