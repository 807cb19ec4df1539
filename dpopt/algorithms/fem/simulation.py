"""Predicted error of FEM and sepFEM: the plan, played with less effort on a public population instead of the table."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.algorithms.dualquery.simulation import PredictedError
from dpopt.algorithms.fem.plan import FemPlan
from dpopt.errors import PlanError
from dpopt.private.evaluation.errors import non_private_errors
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.queries.counting.answers import RecordAnswers
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.job import Job
from dpopt.releases.public_population.population import public_table
from dpopt.releases.run import Run, Sources, play_run

ROWS = 20_000
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
    errors = [_simulate(plan, workload, seed, density) for seed in range(1, runs + 1)]
    largest, mean = np.mean(np.array(errors), axis=0).tolist()
    return PredictedError(largest, mean, runs, len(workload))


def _simulate(plan: FemPlan, workload: Workload, seed: int, density: float | None) -> tuple[float, float]:
    from dpopt.algorithms.fem import driver

    schema = workload.schema
    dataset = public_table(workload, ROWS, seed=seed, density=density)
    scaled = float(plan.selection_range) * plan.size / ROWS
    stand_in = replace(
        plan,
        size=ROWS,
        selection_range=Decimal(f"{min(_LARGEST_RANGE, scaled):.6g}"),
        records=min(plan.records, RECORDS),
        budget=Budget(None, 1e-9, 1e99, Accountant.ZCDP),
        solver="local-search",
        work=SWEEPS,
        seconds=None,
        seed=seed,
    )
    job = Job(stand_in, schema, workload, {}, {})
    outcome = play_run(driver, Run(job, dataset, sources=Sources(words=SeededWords(seed))))
    if outcome.records is None:
        raise PlanError("a simulation of FEM ended without records; please report this")
    weights = outcome.records.multiplicity.astype(np.float64)
    distinct = outcome.records.distinct
    found = (
        workload.answers_on(distinct, weights)
        if workload.marginals is None
        else RecordAnswers(distinct, weights)
    )
    errors = non_private_errors(dataset, workload.queries, {"simulated": found})["simulated"]
    return errors.max_error, errors.mean_error
