"""Release and resume: one path from a job and a table to a finished release folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dpopt.accounting.ledger import Account
from dpopt.algorithms.asked import RESERVATION
from dpopt.algorithms.registry import algorithm_of
from dpopt.algorithms.release_folder import create_folder
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
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS, is_trusted
from dpopt.private.selections.query_weights import QuerySampler
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.private.tables.public_facts import check_schema
from dpopt.programs.solver import Solver
from dpopt.releases.folder_files import (
    RELEASE,
    REQUEST,
    TRANSCRIPT,
    missing_folders,
    never_began,
    remove_unfinished,
    withdraw,
)
from dpopt.releases.job import Job
from dpopt.releases.measured_size import run_contents
from dpopt.releases.outcome import Run, Sources
from dpopt.releases.progress import Progress, Silent, stage
from dpopt.schema.schema import Schema
from dpopt.transcript.journal import FileJournal, JournalContents, MemoryJournal

NOTHING_ON_FILE = JournalContents([], 0, torn=False)
REFUSALS = (
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
    sources: Sources | None = None,
    progress: Progress | None = None,
    account: Account | None = None,
    solver: Solver | None = None,
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
    sources : Sources, optional
        The same for all kinds of draws.
    progress : Progress, optional
        Told about stages and rounds.
    account : Account, optional
        From where it is paid besides (`dpopt.releases.ledgers.open_account`); the folder names its reservation.
    solver : Solver, optional
        The solver that the plan names, where it is no registered one.

    Raises
    ------
    ReleaseFolderError
        If the folder cannot be used; nothing has been spent then.
    BudgetError
        If the plan costs more than its budget; nothing has been spent then.
    """
    refuse_unreviewed(job.schema, accepted=bool(job.statement.get("draft_accepted")))
    drawn_from = Sources(sampler=sampler) if sources is None else sources
    if not is_trusted(drawn_from.sampler, drawn_from.noise, drawn_from.words):
        job = replace(job, statement={**job.statement, "not_private": NOT_PRIVATE_DRAWS})
    if account is not None:
        job = replace(job, statement={**job.statement, RESERVATION: account.reservation})
    told = progress or Silent()
    if folder is None:
        return play_run(
            Run(dataset, job, MemoryJournal(), NOTHING_ON_FILE, drawn_from, told, account, solver), None
        )
    made = missing_folders(folder)
    journal = create_folder(folder, job, expected_bytes=job.expected_bytes())
    try:
        return play_run(
            Run(dataset, job, journal, NOTHING_ON_FILE, drawn_from, told, account, solver), folder
        )
    except (*REFUSALS, MemoryError):
        if (folder / TRANSCRIPT).stat().st_size == 0:  # nothing was reserved, so nothing was spent
            withdraw(folder, made)
        raise
    finally:
        journal.close()


def resume(
    folder: Path,
    dataset: PrivateDataset,
    job: Job,
    *,
    progress: Progress | None = None,
    account: Account | None = None,
    solver: Solver | None = None,
) -> SyntheticRelease:
    """Continue an interrupted run where its transcript ends, without spending or reserving anything twice.

    `job` is what `read_job(folder)` gave. The table must be the one that the run began with: the folder holds nothing by which
    this could be checked, beyond n under replace-one (known limits).
    """
    refuse_ended(folder)
    journal, contents = FileJournal.reopen(folder / TRANSCRIPT)
    try:
        remove_unfinished(folder)
        (folder / REQUEST).unlink(missing_ok=True)
        contents = run_contents(contents, job.plan.size, job.plan.budget)
        return play_run(
            Run(dataset, job, journal, contents, Sources(), progress or Silent(), account, solver), folder
        )
    finally:
        journal.close()


def play_run(run: Run, folder: Path | None) -> SyntheticRelease:
    """Play a run, continuing after what is on file, and write what it ends with."""
    check_schema(run.dataset, run.job.schema)
    outcome = algorithm_of(run.job.plan).driver().play(run)
    with stage(run.progress, "writing records"):
        return finish_release(run.job, folder, outcome)


def refuse_ended(folder: Path) -> None:
    """Refuse to resume a run that has ended, or that was killed before it began.

    Raises
    ------
    ReleaseFolderError
        If the folder holds a finished release, or nothing to continue.
    """
    if never_began(folder):
        raise ReleaseFolderError(
            f"the run in {folder} was killed before it began, and nothing has been spent. Remove the folder and release again"
        )
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
