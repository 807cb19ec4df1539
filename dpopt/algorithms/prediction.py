"""Predicted errors: a plan, run on public populations instead of the table. Shared by all algorithms' simulations.

A plan's stand-in is the same plan for a population of 20,000 records; what depends on the
data through shares of the size alone is scaled in proportion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.errors import PlanError
from dpopt.private.evaluation import non_private_errors
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.selections.query_weights import ExactSampler
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.public_random import public_stream, uniforms
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.answers import Answers, RecordAnswers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.job import Job
from dpopt.releases.plan import Plan
from dpopt.releases.public_population.population import public_table
from dpopt.releases.records import SyntheticRecords
from dpopt.releases.run import Driver, Run, Sources, play_run

BASELINES = ("zeros", "uniform", "independence")
ROWS = 20_000
LEAST_SCALE = 1e-3
"""Noise of a smaller scale is none that a simulation can show."""
SIMULATED = "prediction by simulation on public synthetic data, not a bound"
CLOSED_FORM = "expected errors of the noise, which do not depend on the data"
AMPLE = Budget(None, 1e-9, 1e99, Accountant.ZCDP)
"""Covers everything: a population is nobody's data."""


@dataclass(frozen=True, slots=True)
class PredictedError:
    """Errors that a simulation on public synthetic data shows."""

    max_error: float
    mean_error: float
    """Largest and mean absolute error over the simulated queries, averaged over the runs."""
    runs: int
    """Number of simulated runs, each on its own population."""
    simulated_queries: int
    """The workload, or a public random part of it."""
    kind: str = SIMULATED
    """How the errors were predicted."""
    simulated_rounds: int | None = None
    """How many, where a plan has more than are simulated."""
    low: float | None = None
    high: float | None = None
    """The mean error is between them in nine of ten runs on public tables; None where that was not measured."""
    distance: float | None = None
    """Mean over marginals of half the sum of absolute errors."""
    baselines: Mapping[str, Mapping[str, float]] | None = None
    """Errors of trivial baselines, on the same populations: "max_error" and "mean_error" by name."""


class PublicNoise:
    """Noise from a public stream, for populations that are nobody's data; never private."""

    def __init__(self, seed: int) -> None:
        self._stream = public_stream(seed, "noise of a simulation")

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return counts plus rounded Gaussian noise."""
        radius = np.sqrt(-2.0 * np.log1p(-uniforms(self._stream, len(counts))))
        angle = 2.0 * np.pi * uniforms(self._stream, len(counts))
        return counts + np.rint(scale * radius * np.cos(angle)).astype(np.int64)

    def discrete_laplace(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return counts plus rounded Laplace noise."""
        centred = uniforms(self._stream, len(counts)) - 0.5
        size = -np.log1p(-2.0 * np.minimum(np.abs(centred), 0.5 - 2.0**-54))
        return counts + np.rint(scale * np.sign(centred) * size).astype(np.int64)


def mean_of_runs(
    simulate: Callable[[int], tuple[float, float]], runs: int, queries: int, simulated_rounds: int | None = None
) -> PredictedError:
    """Return the mean of the largest and mean errors that a simulation has with the seeds 1, 2, ...."""
    largest, mean = np.mean(np.array([simulate(seed) for seed in range(1, runs + 1)]), axis=0).tolist()
    return PredictedError(largest, mean, runs, queries, simulated_rounds=simulated_rounds)


def predict_played(
    driver: Driver, stand_in: Any, workload: Workload, *, runs: int = 1, density: float | None = None
) -> PredictedError:
    """Play the stand-in of a plan on public populations and return the mean of the errors; no private record is touched.

    Its size and budget are those of a population; what depends on the size is scaled in the stand-in already.
    """
    played = replace(stand_in, size=ROWS, budget=AMPLE)
    return mean_of_runs(
        lambda seed: errors_of_run(driver, replace(played, seed=seed), workload, seed, density), runs, len(workload)
    )


def errors_of_run(
    driver: Driver, plan: Plan, workload: Workload, seed: int, density: float | None
) -> tuple[float, float]:
    """Play a plan for `ROWS` records on a public population; return the largest and the mean error of its records."""
    dataset = public_table(workload, ROWS, seed=seed, density=density)
    job = Job(plan, workload.schema, workload, {}, {})
    sources = Sources(ExactSampler(SeededWords(seed)), PublicNoise(seed), SeededWords(seed))
    records = play_run(driver, job, Run(dataset, sources=sources)).records
    if records is None:
        raise PlanError(f"a simulation of {plan.algorithm} ended without records; please report this")
    return errors_of_records(dataset, workload, records)


def errors_of_records(dataset: PrivateDataset, workload: Workload, records: SyntheticRecords) -> tuple[float, float]:
    """Return the largest and the mean error of records on a table that is nobody's data, or public."""
    from dpopt.queries.counting.kernels import shares_on_records

    if workload.marginals is not None:
        answers = RecordAnswers(records.distinct, records.multiplicity.astype(np.float64))
        return errors_of(dataset, workload.marginals, answers)
    found = shares_on_records(workload.clauses, records.distinct, workload.schema.sizes, records.weights)
    return errors_of(dataset, workload.clauses, found)


def errors_of(dataset: PrivateDataset, queries: MarginalSet | Clauses, found: Answers) -> tuple[float, float]:
    """Return the largest and the mean error of answers on a public population."""
    errors = non_private_errors(dataset, queries, {"simulated": found})["simulated"]
    return errors.max_error, errors.mean_error
