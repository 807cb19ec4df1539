"""Predicted error of pmw and mwem: the plan, played on a public population instead of the table."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.algorithms.dualquery.simulation import PredictedError
from dpopt.algorithms.measured.simulation import PublicNoise
from dpopt.algorithms.multiplicative_weights.plan import MultiplicativePlan, universe_of
from dpopt.errors import PlanError
from dpopt.private.evaluation.errors import non_private_errors
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.queries.counting.answers import RecordAnswers
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.job import Job
from dpopt.releases.public_population.population import public_table
from dpopt.releases.run import Run, Sources, play_run

ROWS = 20_000
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
    errors = [_simulate(plan, workload, seed, density) for seed in range(1, runs + 1)]
    largest, mean = np.mean(np.array(errors), axis=0).tolist()
    return PredictedError(largest, mean, runs, len(workload))


def _simulate(
    plan: MultiplicativePlan, workload: Workload, seed: int, density: float | None
) -> tuple[float, float]:
    from dpopt.algorithms.multiplicative_weights import driver

    schema = workload.schema
    dataset = public_table(workload, ROWS, seed=seed, density=density)
    factor = ROWS / plan.size
    stand_in = replace(
        plan,
        size=ROWS,
        step=Decimal(f"{min(_LARGEST_RANGE, float(plan.step) / factor):.6g}"),
        scale=max(_LEAST_SCALE, plan.scale * factor),
        budget=Budget(None, 1e-9, 1e99, Accountant.ZCDP)
        if plan.gaussian
        else Budget(1e99, 0.0, None, Accountant.PURE),
        seed=seed,
    )
    outcome = play_run(
        driver,
        Run(
            Job(stand_in, schema, workload, {}, {}),
            dataset,
            sources=Sources(noise=PublicNoise(seed), words=SeededWords(seed)),
        ),
    )
    if outcome.records is None:
        raise PlanError("a simulation of multiplicative weights ended without records; please report this")
    weights = outcome.records.multiplicity.astype(np.float64)
    distinct = outcome.records.distinct
    found = (
        workload.answers_on(distinct, weights)
        if workload.marginals is None
        else RecordAnswers(distinct, weights)
    )
    errors = non_private_errors(dataset, workload.queries, {"simulated": found})["simulated"]
    return errors.max_error, errors.mean_error
