"""Predicted error of FEM and sepFEM: the plan, played with less effort on a public population instead of the table."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from dpopt.algorithms.fem.plan import FemPlan
from dpopt.algorithms.prediction import AMPLE, ROWS, PredictedError, errors_of_run, mean_of_runs
from dpopt.errors import PlanError
from dpopt.queries.workloads.workload import Workload

MOST_QUERIES = 1_000_000
RECORDS, SWEEPS = 10, 20
_LARGEST_RANGE = 900


def predict_fem(
    plan: FemPlan, workload: Workload, *, runs: int = 1, density: float | None = None
) -> PredictedError:
    """Play the plan on public populations and return the mean of the errors; no private record is touched.

    Selections depend on the data through eps0 n q(D) alone, so a population of 20,000 records stands for any n under a range
    eps0 n / 20,000. A round makes at most 10 records in 20 sweeps.

    Raises
    ------
    PlanError
        If there are more than a million queries, on which a simulation would take as long as a run.
    """
    if len(workload) > MOST_QUERIES:
        raise PlanError(
            f"not predicted: simulating {plan.algorithm} on {len(workload):,} queries takes as long as a run"
        )
    from dpopt.algorithms.fem import driver

    scaled = float(plan.selection_range) * plan.size / ROWS
    stand_in = replace(
        plan,
        size=ROWS,
        selection_range=Decimal(f"{min(_LARGEST_RANGE, scaled):.6g}"),
        records=min(plan.records, RECORDS),
        budget=AMPLE,
        solver="local-search",
        work=SWEEPS,
        seconds=None,
    )
    return mean_of_runs(
        lambda seed: errors_of_run(driver, replace(stand_in, seed=seed), workload, seed, density),
        runs,
        len(workload),
    )
