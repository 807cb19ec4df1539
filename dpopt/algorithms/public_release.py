"""Releases of public tables: draws by common random numbers, so that only the solver differs; never private."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.options import DualQuery
from dpopt.algorithms.prediction import AMPLE, PublicNoise, errors_of_records
from dpopt.algorithms.request import ReleaseRequest
from dpopt.algorithms.run_release import job_of, run_release
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.selections.query_weights import CommonSampler
from dpopt.private.tables.dataset import PrivateDataset, public_size
from dpopt.programs.solver import Solver
from dpopt.public_random import public_stream
from dpopt.releases.job import Job, usual_format
from dpopt.releases.measured_size import PublicSize
from dpopt.releases.progress import Progress
from dpopt.releases.records import SyntheticRecords
from dpopt.releases.run import Sources

PUBLIC_TABLE = "the table was declared public, and draws are a function of the seed"
"""Why a release of a public table is not private, as its ledger says it."""
MARKS = 12  # numbers of rounds after which errors are computed


def public_sources(seed: int) -> Sources:
    """Return where the draws of a public table come from."""
    sampler = CommonSampler(lambda number: public_stream(seed, f"draws of round {number}"))
    return Sources(sampler, PublicNoise(seed), SeededWords(seed), PUBLIC_TABLE)


def public_job(begun: Job | ReleaseRequest, dataset: PrivateDataset) -> Job:
    """Return the job of a run of DualQuery whose distinct records are kept, and no rows chosen."""
    if isinstance(begun, ReleaseRequest):
        terms = replace(begun.terms, predict=False)
        size = PublicSize(public_size(dataset, terms.relation, terms.n0), terms.budget())
        begun = job_of(replace(begun, terms=terms), size, Progress())
    DualQueryPlan.of(begun.plan)
    return replace(begun, output={"format": usual_format(begun.schema, answers_only=False), "rows": None})


def run_on_public(
    job: Job, dataset: PrivateDataset, solver: str | Solver, *, seconds: float | None, seed: int, progress: Progress
) -> tuple[SyntheticRelease, float, list[dict[str, float]]]:
    """Play a job with a solver, by name or as it is, with the common random numbers of a seed.

    Returns the release, the seconds of the whole run, and errors of its records after some numbers of rounds, and all.
    """
    plan = DualQueryPlan.of(job.plan)
    asked = DualQuery(solver=solver, work=plan.work, seconds=seconds, seed=seed)
    plan = replace(plan, solver=asked.solver_name, seconds=asked.time_limit, seed=seed, budget=AMPLE)

    def play(rounds: int, progress: Progress) -> SyntheticRelease:
        played = replace(job, plan=replace(plan, rounds=rounds))
        sources, own = public_sources(seed), asked.own_solver
        return run_release(dataset, played, None, sources=sources, progress=progress, solver=own)

    play(1, Progress())  # compiles kernels and loads the solver's library before the clock runs
    begun = time.perf_counter()
    made = play(plan.rounds, progress)
    taken = time.perf_counter() - begun
    marks = np.unique(np.geomspace(1, len(made.played), MARKS).round().astype(int)).tolist()
    kept = [SyntheticRecords.of([one.kept for one in made.played[:rounds]]) for rounds in marks]
    errors = [errors_of_records(dataset, job.workload, records) for records in kept]
    rows = zip(marks, errors, strict=True)
    return made, taken, [{"rounds": rounds, "mean_error": mean, "max_error": most} for rounds, (most, mean) in rows]
