"""Predicted error of SmallDB: the plan, played on public populations instead of the table."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.prediction import AMPLE, ROWS, PredictedError, errors_of_run, mean_of_runs
from dpopt.algorithms.small_database.accuracy import log_multisets
from dpopt.algorithms.small_database.plan import LARGEST_RANGE, SmallDatabasePlan
from dpopt.algorithms.small_database.universe import Universe
from dpopt.errors import PlanError
from dpopt.queries.workloads.workload import Workload

MOST_SIMULATED = 1e11


def predict_small_database(
    plan: SmallDatabasePlan, workload: Workload, *, runs: int = 1, density: float | None = None
) -> PredictedError:
    """Play the plan on public populations and return the mean of the errors; no private record is touched.

    The draw depends on the data through epsilon n q(D) alone, so a population of 20,000 records stands for any n under a range
    epsilon n / 20,000. Among very many databases, ones of fewer records are drawn, which err by a little more.

    Raises
    ------
    PlanError
        If the simulation is out of the range of the mechanism.
    """
    from dpopt.algorithms.small_database import driver

    scaled = float(plan.selection_range) * plan.size / ROWS
    if scaled > LARGEST_RANGE:
        raise PlanError(f"not predicted: a range of {scaled:,.0f} at 20,000 records is beyond the mechanism")
    stand_in = replace(
        plan,
        records=_fewer_records(plan, workload),
        size=ROWS,
        relation=NeighbouringRelation.REPLACE_ONE,
        selection_range=Decimal(f"{scaled:.6g}"),
        budget=AMPLE,
    )
    return mean_of_runs(
        lambda seed: errors_of_run(driver, replace(stand_in, seed=seed), workload, seed, density),
        runs,
        len(workload),
    )


def _fewer_records(plan: SmallDatabasePlan, workload: Workload) -> int:
    elements = Universe.of(workload).elements
    return next(
        (m for m in range(plan.records, 1, -1) if log_multisets(elements, m) < np.log(MOST_SIMULATED)), 1
    )
