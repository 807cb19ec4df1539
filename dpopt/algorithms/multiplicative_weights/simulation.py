"""Predicted error of pmw and mwem: the plan, played on a public population instead of the table."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from dpopt.algorithms.multiplicative_weights.plan import MultiplicativePlan, universe_of
from dpopt.algorithms.prediction import (
    AMPLE,
    AMPLE_PURE,
    ROWS,
    PredictedError,
    PublicNoise,
    errors_of_run,
    mean_of_runs,
)
from dpopt.errors import PlanError
from dpopt.queries.workloads.workload import Workload

MOST_WORK = 10**9
"""Cells times rounds; beyond them a simulation would take as long as a run of a minute."""
_LARGEST_RANGE, _LEAST_SCALE = 900.0, 1e-3


def predict_multiplicative(
    plan: MultiplicativePlan, workload: Workload, *, runs: int = 1, density: float | None = None
) -> PredictedError:
    """Play the plan on public populations and return the mean of the errors; no private record is touched.

    Selections and noise depend on the data through shares of the size alone, so a population of 20,000 records stands for any n
    under a range eps0 n / 20,000 and noise scaled in proportion.

    Raises
    ------
    PlanError
        If universe and rounds are so large that a simulation would take as long as a run.
    """
    cells = universe_of(workload, plan.algorithm).cells
    if cells * plan.rounds > MOST_WORK:
        raise PlanError(
            f"not predicted: simulating {plan.rounds:,} rounds of {plan.algorithm} on a universe of {cells:,} cells takes as "
            "long as a run; give --no-predict"
        )
    from dpopt.algorithms.multiplicative_weights import driver

    factor = ROWS / plan.size
    stand_in = replace(
        plan,
        size=ROWS,
        step=Decimal(f"{min(_LARGEST_RANGE, float(plan.step) / factor):.6g}"),
        scale=max(_LEAST_SCALE, plan.scale * factor),
        budget=AMPLE if plan.gaussian else AMPLE_PURE,
    )
    return mean_of_runs(
        lambda seed: errors_of_run(
            driver, replace(stand_in, seed=seed), workload, seed, density, PublicNoise(seed)
        ),
        runs,
        len(workload),
    )
