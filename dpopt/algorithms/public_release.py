"""Releases of public tables: draws by common random numbers, so that only the solver differs; never private."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.options import DualQuery
from dpopt.algorithms.prediction import PublicNoise, errors_of_records
from dpopt.algorithms.request import ReleaseRequest
from dpopt.algorithms.run_release import job_of, run_release
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import PlanError
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.selections.query_weights import QueryWeights
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.private.tables.public_facts import public_size
from dpopt.programs.solver import Solver
from dpopt.public_random import public_stream
from dpopt.releases.job import Job, usual_format
from dpopt.releases.measured_size import PublicSize
from dpopt.releases.progress import Progress
from dpopt.releases.records import SyntheticRecords
from dpopt.releases.run import Sources

PUBLIC_TABLE = "the table was declared public, and draws are a function of the seed"
"""Why a release of a public table is not private, as its ledger says it."""
MARKS = 12
"""Numbers of rounds after which errors are computed."""


class CommonSampler:
    """Draws queries by common random numbers; never private.

    Draw i of round t is the query at the same place in [0, 1) of the running sum of the weights, whatever these are.
    Weights differ between solvers from round 2 on; with equal weights the draws are equal.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def draw(self, weights: QueryWeights, draws: int) -> NDArray[np.int64]:
        """Return `draws` signed queries, sorted."""
        return weights.draw_at(public_stream(self._seed, f"draws of round {weights.observed + 1}").words(draws))


def public_sources(seed: int) -> Sources:
    """Return where the draws of a public table come from."""
    return Sources(CommonSampler(seed), PublicNoise(seed), SeededWords(seed), PUBLIC_TABLE)


@dataclass(frozen=True, slots=True, eq=False)
class PublicRun:
    """A release of a public table in memory, and what it came to."""

    release: SyntheticRelease
    seconds: float
    """Of the whole run, the table counted."""
    errors: tuple[tuple[int, float, float], ...]
    """Numbers of rounds, and the mean and the largest error of their records on the table; the last is the release's."""


def public_job(begun: Job | ReleaseRequest, dataset: PrivateDataset) -> Job:
    """Return the job of a run of DualQuery whose distinct records are kept, and no rows chosen."""
    if isinstance(begun, ReleaseRequest):
        if begun.terms.measures_size:
            raise PlanError(
                "a public table has a public number of records; plan with --n0, or with --neighbours replace"
            )
        terms = replace(begun.terms, predict=False)
        size = PublicSize(public_size(dataset, terms.relation, terms.n0), terms.budget())
        begun = job_of(replace(begun, terms=terms), size, Progress())
    DualQueryPlan.of(begun.plan)
    return replace(begun, output={"format": usual_format(begun.schema, answers_only=False), "rows": None})


def run_on_public(
    job: Job,
    dataset: PrivateDataset,
    solver: str | Solver,
    *,
    seconds: float | None,
    seed: int,
    progress: Progress | None = None,
) -> PublicRun:
    """Play a job with a solver, by name or as it is, with the common random numbers of a seed."""
    asked, plan = DualQuery(solver=solver, seconds=seconds, seed=seed), DualQueryPlan.of(job.plan)
    limited = asked.time_limit if plan.work is None or seconds is not None else None
    played = replace(plan, solver=asked.solver_name, seconds=limited, seed=seed)
    begun = time.perf_counter()
    made = run_release(
        dataset,
        replace(job, plan=played),
        None,
        sources=public_sources(seed),
        progress=progress,
        solver=asked.own_solver,
    )
    taken = time.perf_counter() - begun
    marks = np.unique(np.geomspace(1, len(made.played), MARKS).round().astype(int)).tolist()
    kept = [SyntheticRecords.of([one.kept for one in made.played[:rounds]]) for rounds in marks]
    errors = [errors_of_records(dataset, job.workload, records) for records in kept]
    return PublicRun(
        made, taken, tuple((rounds, mean, most) for rounds, (most, mean) in zip(marks, errors, strict=True))
    )
