"""Release and resume: one path from a job and a table to a finished release folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.dualquery import BestResponder, run
from dpopt.algorithms.folder_files import (
    RELEASE,
    TRANSCRIPT,
    missing_folders,
    withdraw,
)
from dpopt.algorithms.free_attributes import FreeAttributeRule
from dpopt.algorithms.job import Job
from dpopt.algorithms.past import Past, read_past, reservation
from dpopt.algorithms.plan import DualQueryPlan
from dpopt.algorithms.progress import Progress, Silent, stage
from dpopt.algorithms.release_folder import create_folder
from dpopt.algorithms.rule_conflicts import legal_record, require_rules_taken
from dpopt.algorithms.solver_choice import clause_solver
from dpopt.algorithms.synthetic_release import SyntheticRelease, finish_release
from dpopt.errors import (
    AccountingError,
    BudgetError,
    PlanError,
    PrivateDataError,
    ProgramError,
    ReleaseFolderError,
    SchemaError,
    SolverUnavailableError,
    WorkloadError,
)
from dpopt.private.curator import NOT_PRIVATE_DRAWS, Curator, is_trusted
from dpopt.private.dataset import PrivateDataset
from dpopt.private.public_facts import check_schema
from dpopt.private.query_weights import QuerySampler
from dpopt.programs.limits import SolveLimits
from dpopt.programs.solver import Solver
from dpopt.queries.schema import Schema
from dpopt.transcript.journal import FileJournal, Journal, JournalContents, MemoryJournal
from dpopt.transcript.released import NoisyAnswers

THREADS = 2
"""Threads of a best response; the local search gives the same record with any number of them."""

_NOTHING = JournalContents([], 0, torn=False)
_REFUSALS = (
    AccountingError,
    BudgetError,
    PlanError,
    PrivateDataError,
    ProgramError,
    SchemaError,
    SolverUnavailableError,
    WorkloadError,
)


def release(
    dataset: PrivateDataset,
    job: Job,
    folder: Path | None,
    *,
    sampler: QuerySampler | None = None,
    progress: Progress | None = None,
) -> SyntheticRelease:
    """Run a plan on a table and, where a folder is given, leave a finished release in it.

    Parameters
    ----------
    dataset : PrivateDataset
        The table.
    job : Job
        The public inputs.
    folder : Path or None
        New or empty folder; None keeps everything in memory.
    sampler : QuerySampler, optional
        For tests and reproducible experiments; anything but the default marks the ledger as not private.
    progress : Progress, optional
        Told about stages and rounds.

    Raises
    ------
    ReleaseFolderError
        If the folder cannot be used; nothing has been spent then.
    BudgetError
        If the plan costs more than its budget; nothing has been spent then.
    """
    refuse_unreviewed(job.schema, accepted=bool(job.statement.get("draft_accepted")))
    if not is_trusted(sampler, None):
        job = replace(job, statement={**job.statement, "not_private": NOT_PRIVATE_DRAWS})
    if folder is None:
        return _play(
            dataset, job, None, MemoryJournal(), _NOTHING, sampler=sampler, progress=progress or Silent()
        )
    made = missing_folders(folder)
    journal = create_folder(folder, job, expected_bytes=job.expected_bytes())
    try:
        return _play(dataset, job, folder, journal, _NOTHING, sampler=sampler, progress=progress or Silent())
    except _REFUSALS:
        if (folder / TRANSCRIPT).stat().st_size == 0:  # nothing was reserved, so nothing was spent
            withdraw(folder, made)
        raise
    finally:
        journal.close()


def resume(
    folder: Path, dataset: PrivateDataset, job: Job, *, progress: Progress | None = None
) -> SyntheticRelease:
    """Continue an interrupted run where its transcript ends, without spending anything twice.

    `job` is what `read_job(folder)` gave. The table must be the one that the run began with: the folder holds nothing by which
    this could be checked, beyond n under replace-one (known limits).
    """
    refuse_ended(folder)
    journal, contents = FileJournal.reopen(folder / TRANSCRIPT)
    try:
        return _play(dataset, job, folder, journal, contents, sampler=None, progress=progress or Silent())
    finally:
        journal.close()


def _play(
    dataset: PrivateDataset,
    job: Job,
    folder: Path | None,
    journal: Journal,
    contents: JournalContents,
    *,
    sampler: QuerySampler | None,
    progress: Progress,
) -> SyntheticRelease:
    plan = job.plan
    check_schema(dataset, job.schema)
    solver = _solver(job)
    legal = _legal(job, solver)
    past = read_past(contents, job)
    ledger = job.ledger()
    with stage(progress, "counting exact answers"):
        curator = Curator(
            dataset,
            job.workload.clauses,
            ledger,
            journal,
            size=plan.size,
            step=plan.step,
            record_clauses=job.record_clauses(),
            sampler=sampler,
            progress=progress.share,
        )
    if not past.started:
        journal.append(reservation(job))
    one_way = _one_way(curator, plan, past)
    responder = _responder(job, solver, one_way, legal)
    with stage(progress, "playing rounds"):
        rounds = run(
            plan,
            curator,
            responder,
            journal,
            past=past.rounds,
            on_round=lambda number, total, done: progress.round(
                number, total, (done.certificate.objective or 0) / plan.draws
            ),
        )
    if not past.finished:
        journal.append({"kind": "finish"})
    with stage(progress, "writing records"):
        return finish_release(job, folder, ledger, rounds)


def _one_way(curator: Curator, plan: DualQueryPlan, past: Past) -> NoisyAnswers | None:
    """Measure the one-way marginals where the plan says so; a torn measurement is lost, for it may have been seen."""
    if plan.one_way is None:
        return None
    scale, gaussian = plan.one_way.scale, plan.one_way.gaussian
    if past.one_way_charge is None:
        return curator.measure_one_way(scale=scale, gaussian=gaussian)
    lost = past.one_way_torn
    curator.recall(past.one_way_charge, drawn=lost or past.one_way is not None)
    if lost or past.one_way is not None:
        return past.one_way
    return curator.complete_one_way(scale=scale, gaussian=gaussian)


def _solver(job: Job) -> Solver:
    return clause_solver(job.plan.solver)


def _legal(job: Job, solver: Solver) -> NDArray[np.int32] | None:
    """Return a record that obeys the rules, if there are any; refuses rules that contradict, and solvers that take none."""
    rules = job.record_rules()
    if not rules.number_of_rules:
        return None
    require_rules_taken(solver, rules, job.record_sizes())
    return legal_record(rules, job.record_sizes())


def _responder(
    job: Job, solver: Solver, one_way: NoisyAnswers | None, legal: NDArray[np.int32] | None
) -> BestResponder:
    from dpopt.solvers.registry import get_solver

    plan = job.plan
    return BestResponder(
        clauses=job.record_clauses(),
        sizes=job.record_sizes(),
        solver=solver,
        fallback=get_solver("local-search"),
        limits=SolveLimits(seconds=plan.seconds, work=plan.work, seed=plan.seed, threads=THREADS),
        free_attributes=FreeAttributeRule(
            plan.free_attributes, job.schema, plan.encoding, seed=plan.seed, marginals=one_way
        ),
        rules=job.record_rules(),
        legal=legal,
    )


def refuse_ended(folder: Path) -> None:
    """Refuse to resume a run that has ended.

    Raises
    ------
    ReleaseFolderError
        If the folder holds a finished release.
    """
    if (folder / RELEASE).exists():
        raise ReleaseFolderError(f"the run in {folder} has ended; there is nothing to resume")


def refuse_unreviewed(schema: Schema, *, accepted: bool) -> None:
    """Refuse a drafted schema that nobody reviewed, unless the user accepts it; the release then records that.

    Raises
    ------
    SchemaError
        With what to do.
    """
    if schema.draft and not accepted:
        raise SchemaError(
            "the schema is a draft made from private data and not reviewed: its values and bins may tell about records. "
            'Review it and set "draft": false in the file, or give --accept-draft, which the release then records'
        )
