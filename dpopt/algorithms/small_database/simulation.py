"""Predicted error of SmallDB: the plan, played on public populations instead of the table."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.simulation import PredictedError
from dpopt.algorithms.small_database.accuracy import log_multisets
from dpopt.algorithms.small_database.plan import LARGEST_RANGE, SmallDatabasePlan
from dpopt.algorithms.small_database.universe import Universe
from dpopt.errors import PlanError
from dpopt.private.evaluation.errors import non_private_errors
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.job import Job
from dpopt.releases.public_population.population import public_table
from dpopt.releases.run import Run, Sources, play_run

ROWS = 20_000
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
    errors = [_simulate(plan, workload, seed, density) for seed in range(1, runs + 1)]
    largest, mean = np.mean(np.array(errors), axis=0).tolist()
    return PredictedError(largest, mean, runs, len(workload))


def _simulate(
    plan: SmallDatabasePlan, workload: Workload, seed: int, density: float | None
) -> tuple[float, float]:
    from dpopt.algorithms.small_database import driver

    schema = workload.schema
    dataset = public_table(workload, ROWS, seed=seed, density=density)
    scaled = float(plan.selection_range) * plan.size / ROWS
    if scaled > LARGEST_RANGE:
        raise PlanError(f"not predicted: a range of {scaled:,.0f} at 20,000 records is beyond the mechanism")
    stand_in = replace(
        plan,
        records=_fewer_records(plan, workload),
        size=ROWS,
        relation=NeighbouringRelation.REPLACE_ONE,
        selection_range=Decimal(f"{scaled:.6g}"),
        budget=Budget(None, 1e-9, 1e99, Accountant.ZCDP),
        seed=seed,
    )
    outcome = play_run(
        driver,
        Run(Job(stand_in, schema, workload, {}, {}), dataset, sources=Sources(words=SeededWords(seed))),
    )
    if outcome.records is None:
        raise PlanError("a simulation of smalldb ended without records; please report this")
    weights = outcome.records.multiplicity.astype(np.float64)
    found = workload.answers_on(outcome.records.distinct, weights)
    errors = non_private_errors(dataset, workload.queries, {"simulated": found})["simulated"]
    return errors.max_error, errors.mean_error


def _fewer_records(plan: SmallDatabasePlan, workload: Workload) -> int:
    elements = Universe.of(workload).elements
    return next(
        (m for m in range(plan.records, 1, -1) if log_multisets(elements, m) < np.log(MOST_SIMULATED)), 1
    )
