"""MWEM and PMW: a distribution over records, updated where its answers are wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpopt.algorithms.algorithm import Algorithm

if TYPE_CHECKING:
    from dpopt.algorithms.multiplicative_weights.plan import MultiplicativePlan
    from dpopt.algorithms.options import MWEM, PlanRequest
    from dpopt.algorithms.prediction import PredictedError
    from dpopt.queries.workloads.workload import Workload
    from dpopt.releases.run import Driver


class MultiplicativeAlgorithm(Algorithm["MWEM", "MultiplicativePlan"]):
    """MWEM and PMW: a distribution over records, updated where its answers are wrong."""

    def plan(self, request: PlanRequest[MWEM], workload: Workload) -> MultiplicativePlan:
        from dpopt.algorithms.multiplicative_weights.planning import make_multiplicative_plan

        return make_multiplicative_plan(request, workload)

    def read(self, obj: dict[str, Any]) -> MultiplicativePlan:
        from dpopt.algorithms.multiplicative_weights.plan import MultiplicativePlan

        return MultiplicativePlan.from_json(obj)

    def predict(
        self, plan: MultiplicativePlan, workload: Workload, *, runs: int = 1, density: float | None = None
    ) -> PredictedError:
        from dpopt.algorithms.multiplicative_weights.driver import stand_in
        from dpopt.algorithms.prediction import predict_played

        return predict_played(self.driver(), stand_in(plan, workload), workload, runs=runs, density=density)

    def driver(self) -> Driver:
        from dpopt.algorithms.multiplicative_weights import driver

        return driver

    def prove(self, plan: MultiplicativePlan, workload: Workload) -> dict[str, Any] | None:
        from dpopt.algorithms.multiplicative_weights.planning import proven_of_plan

        return proven_of_plan(plan, workload)
