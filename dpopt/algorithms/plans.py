"""A plan of any algorithm from a request."""

from __future__ import annotations

from collections.abc import Callable

from dpopt.algorithms.any_plan import Plan
from dpopt.algorithms.dqrs_plan import DQRS, make_dqrs_plan
from dpopt.algorithms.fem_plan import FEM_ALGORITHMS, make_fem_plan
from dpopt.algorithms.measured_plan import MEASURED
from dpopt.algorithms.measured_planning import make_measured_plan
from dpopt.algorithms.multiplicative_plan import MULTIPLICATIVE
from dpopt.algorithms.multiplicative_planning import make_multiplicative_plan
from dpopt.algorithms.plan_request import PlanRequest
from dpopt.algorithms.planning import make_plan
from dpopt.algorithms.small_database_plan import SMALLDB
from dpopt.algorithms.small_database_planning import make_small_database_plan
from dpopt.errors import PlanError
from dpopt.queries.workloads.workload import Workload


def plan_of(
    algorithm: str,
    request: PlanRequest,
    workload: Workload,
    *,
    on_candidate: Callable[[int, int], None] = lambda number, candidates: None,
) -> Plan:
    """Return a plan of an algorithm that the budget covers; only public values are read.

    Raises
    ------
    PlanError
        If the algorithm cannot serve this workload or budget, with what to do.
    AccountingError
        If the accountant has no figure for the plan.
    """
    if algorithm == "dualquery":
        return make_plan(request, workload, on_candidate=on_candidate)
    if algorithm == DQRS:
        return make_dqrs_plan(request, workload)
    if algorithm in FEM_ALGORITHMS:
        return make_fem_plan(request, workload, algorithm=algorithm)
    if algorithm in MEASURED:
        return make_measured_plan(algorithm, request, workload)
    if algorithm in MULTIPLICATIVE:
        return make_multiplicative_plan(algorithm, request, workload)
    if algorithm == SMALLDB:
        return make_small_database_plan(request, workload)
    raise PlanError(f"there is no plan of algorithm {algorithm!r}")
