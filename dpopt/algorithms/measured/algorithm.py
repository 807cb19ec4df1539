"""noise and projection: noisy counts of a workload, and records fitted to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpopt.algorithms.algorithm import Algorithm, OptionsT

if TYPE_CHECKING:
    from dpopt.algorithms.measured.plan import MeasuredPlan
    from dpopt.algorithms.memory import ExpectedMemory
    from dpopt.algorithms.options import PlanRequest
    from dpopt.algorithms.prediction import PredictedError
    from dpopt.queries.workloads.workload import Workload
    from dpopt.releases.run import Driver


class MeasuredAlgorithm(Algorithm[OptionsT, "MeasuredPlan"]):
    """noise and projection: noisy counts of a workload, and records fitted to them."""

    def plan(self, request: PlanRequest[OptionsT], workload: Workload) -> MeasuredPlan:
        from dpopt.algorithms.measured.planning import make_measured_plan

        return make_measured_plan(request, workload)

    def read(self, obj: dict[str, Any]) -> MeasuredPlan:
        from dpopt.algorithms.measured.plan import MeasuredPlan

        return MeasuredPlan.from_json(obj)

    def predict(
        self, plan: MeasuredPlan, workload: Workload, *, runs: int = 1, density: float | None = None
    ) -> PredictedError:
        from dpopt.algorithms.measured.simulation import predict_measured

        return predict_measured(plan, workload, runs=runs, density=density)

    def driver(self) -> Driver:
        from dpopt.algorithms.measured import driver

        return driver

    def prove(self, plan: MeasuredPlan, workload: Workload) -> dict[str, Any] | None:
        from dpopt.algorithms.measured.planning import proven_measured

        return proven_measured(plan, workload)

    def expected_memory(
        self, plan: MeasuredPlan, workload: Workload, *, streamed: bool = False, resumed: bool = False
    ) -> ExpectedMemory | None:
        from dpopt.algorithms.memory import memory_of_fit

        if plan.fit is None:
            return None
        return memory_of_fit(
            workload, size=plan.size, records=plan.fit.records, snapshots=plan.fit.snapshots, streamed=streamed
        )
