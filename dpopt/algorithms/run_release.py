"""The run behind `release` and `resume`: from a job, or a request, and a table to a finished release folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpopt.accounting.ledger import Account
from dpopt.algorithms.registry import algorithm_of, candidates_for, plan_of
from dpopt.algorithms.release_folder import add_plan, create_folder
from dpopt.algorithms.request import NOT_PRIVATE, RESERVATION, ReleaseRequest
from dpopt.algorithms.stating import plan_and_statement
from dpopt.algorithms.synthetic_release import SyntheticRelease, finish_release
from dpopt.errors import AccountingError, BudgetError, PlanError, ReleaseFolderError
from dpopt.private.curators.door import is_trusted
from dpopt.private.tables.dataset import PrivateDataset, check_schema, check_size
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
from dpopt.releases.job import LEAST_BYTES, WEIGHTS_BECAUSE, Job, refuse_unreviewed
from dpopt.releases.measured_size import PublicSize, check_size_on_file, measure_size, size_on_file, with_size_measured
from dpopt.releases.plan import Plan
from dpopt.releases.progress import Progress, stage
from dpopt.releases.remembered_tables import check_run, forget_run, remember_run
from dpopt.releases.run import Run, Sources, play_run
from dpopt.transcript.journal import FileJournal, MemoryJournal, read_journal
from dpopt.transcript.past import Past

Check = Callable[[Job, bool], None]
_TRIED_SIZES = (10_000, 10_000_000)
"""Public numbers of records; a run that is refused for both of them is refused before the number is measured."""


def job_of(asked: ReleaseRequest, size: PublicSize, progress: Progress) -> Job:
    """Return the job for a public number of records: a function of the request and of that number."""
    plan, statement = plan_and_statement(
        asked.terms, size.number, asked.workload, progress, form=asked.form, budget=size.budget
    )
    return _job(asked, plan, {**statement, **asked.statement})


def _job(asked: ReleaseRequest, plan: Plan, statement: Mapping[str, Any]) -> Job:
    """Return the job; where rows that nobody asked for are more than are written at once, it writes weights and says so."""
    terms = asked.terms
    output = terms.output(asked.schema, plan.size)
    try:
        return Job(plan, asked.schema, asked.workload, output, statement)
    except PlanError as refusal:
        if terms.rows is not None or output["rows"] is None:
            raise
        output = replace(terms, weights=True).output(asked.schema)
        return Job(plan, asked.schema, asked.workload, output, {**statement, WEIGHTS_BECAUSE: str(refusal)})


def run_release(
    dataset: PrivateDataset,
    begun: Job | ReleaseRequest,
    folder: Path | None,
    *,
    sources: Sources | None = None,
    check: Check = lambda job, tried: None,
    progress: Progress | None = None,
    account: Account | None = None,
    solver: Solver | None = None,
) -> SyntheticRelease:
    """Run a plan on a table, and leave a finished release in a new or empty folder, or in memory without one.

    `begun` are the public inputs: a job, or what was asked where the number of records is measured first and the job
    made with it. `check` is called with that job before it runs, and may refuse it; the number of records is charged by
    then. Before that it is called with jobs for tried numbers of records; where it refuses all, nothing is charged.
    `account` is from where the run is paid besides (`dpopt.releases.ledgers.open_account`): the whole budget is
    reserved there before the number of records is drawn, and the folder names the reservation. `solver` is the one that
    the plan names, where it is no registered one. Other `sources` than the default are for tests and public tables;
    they mark the ledger as not private.
    """
    drawn_from = sources or Sources()
    drafts = begun.statement.get("draft_accepted") if isinstance(begun, Job) else begun.terms.accept_draft
    refuse_unreviewed(begun.schema, accepted=bool(drafts))
    if not is_trusted(drawn_from.sampler, drawn_from.noise, drawn_from.words):
        begun = _marked(begun, {NOT_PRIVATE: drawn_from.because})
    if account is not None:
        begun = _marked(begun, {RESERVATION: account.reservation})
    run = Run(
        dataset, MemoryJournal(), sources=drawn_from, progress=progress or Progress(), account=account, solver=solver
    )
    prepared = _prepared(begun, run, check)
    if folder is None:
        return _played(begun, run, None, check, prepared)
    made = missing_folders(folder)
    expected = begun.expected_bytes() if isinstance(begun, Job) else LEAST_BYTES
    journal = create_folder(folder, begun, expected_bytes=expected)
    try:
        remember_run(folder, dataset, run.progress)
        return _played(begun, replace(run, journal=journal), folder, check, prepared)
    except ReleaseFolderError:
        raise  # where the journal cannot be written, an account may have paid already
    except Exception as error:
        began = read_journal(
            folder / TRANSCRIPT
        ).entries  # before a charge an owner's budget that refuses has paid nothing
        refused = isinstance(error, BudgetError) and all(one["kind"] != "charge" for one in began)
        if refused or not began:
            journal.close()
            withdraw(folder, made)
            forget_run(folder)
        raise
    finally:
        journal.close()


def resume_run(
    folder: Path,
    dataset: PrivateDataset,
    begun: Job | ReleaseRequest,
    *,
    check: Check = lambda job, tried: None,
    progress: Progress | None = None,
    account: Account | None = None,
    solver: Solver | None = None,
) -> SyntheticRelease:
    """Continue an interrupted run where its transcript ends, without spending or reserving anything twice.

    `begun` is what `read_begun(folder)` gave. The table must be the one that the run began with: the folder holds
    nothing by which this could be checked, beyond n under replace-one, but this computer may know it (known limits).
    """
    refuse_ended(folder)
    journal, contents = FileJournal.reopen(folder / TRANSCRIPT)
    try:
        refuse_ended(folder)  # another process may have ended the run before this one had the lock
        run = Run(dataset, journal, Past(contents), Sources(), progress or Progress(), account, solver)
        if isinstance(begun, Job):
            check_size(dataset, begun.plan.relation, begun.plan.size)
        check_run(folder, dataset, run.progress)
        remove_unfinished(folder)
        if isinstance(begun, Job):
            (folder / REQUEST).unlink(missing_ok=True)
        return _played(begun, run, folder, check)
    finally:
        journal.close()


def _prepared(begun: Job | ReleaseRequest, run: Run, check: Check) -> Any:
    """Return the public player's data for the job; refuse a run that cannot end well, with no number of records."""
    check_schema(run.dataset, begun.schema)
    if isinstance(begun, ReleaseRequest):
        return _try_sizes(begun, run, check)
    check_size(run.dataset, begun.plan.relation, begun.plan.size)
    begun.ledger(run.account)  # refuses a plan that costs more than its budget; nothing is paid yet
    return algorithm_of(begun.plan).prepare(begun, run)


def _try_sizes(asked: ReleaseRequest, run: Run, check: Check) -> None:
    """Refuse a run that no number of records makes possible: raise the last error."""
    request = asked.terms.request(_TRIED_SIZES[0], with_size_measured(asked.terms.budget()))
    refusals: list[PlanError | AccountingError] = []
    for size in _TRIED_SIZES:
        for options in candidates_for(asked.terms.algorithm):
            try:
                plan = plan_of(replace(request, size=size, options=options), asked.workload)
                job = _job(asked, plan, asked.statement)  # refuses what cannot be written
                check(job, True)  # noqa: FBT003
                algorithm_of(plan).prepare(job, run)
            except (PlanError, AccountingError) as refusal:
                refusals.append(refusal)
            else:
                return
    raise refusals[-1]


def _played(
    begun: Job | ReleaseRequest, run: Run, folder: Path | None, check: Check, prepared: Any = None
) -> SyntheticRelease:
    """Play a run, continuing after the steps on file, and write its result."""
    check_schema(run.dataset, begun.schema)
    if isinstance(begun, ReleaseRequest):
        job = _planned(begun, run, folder, check)
    else:
        job = begun
        check_size_on_file(run.past, job.plan.size, job.plan.budget)
    outcome = play_run(algorithm_of(job.plan), job, run, prepared)
    with stage(run.progress, "writing records"):
        kept = run.journal if isinstance(run.journal, MemoryJournal) else run.journal.path
        finished = finish_release(job, folder, outcome, kept)
    if folder is not None:
        forget_run(folder)
    return finished


def _planned(asked: ReleaseRequest, run: Run, folder: Path | None, check: Check) -> Job:
    """Measure the number of records, unless it is on file, and return the job that is made with it."""
    budget = asked.terms.budget()
    known, noise = size_on_file(run.past, budget), run.sources.noise
    try:
        with stage(run.progress, "counting records"):
            size = measure_size(run.dataset, budget, run.journal, known, noise=noise, account=run.account)
        with stage(run.progress, "planning"):
            job = job_of(asked, size, run.progress)
        check(job, False)  # noqa: FBT003
    except (PlanError, AccountingError) as refusal:
        if folder is None or (folder / TRANSCRIPT).stat().st_size == 0:
            raise
        raise type(refusal)(
            f"{refusal}. {folder} keeps the number of records that was measured, and its charge; name another folder"
        ) from refusal
    if folder is not None:
        add_plan(folder, job)
    return job


def _marked(begun: Job | ReleaseRequest, marks: Mapping[str, Any]) -> Job | ReleaseRequest:
    """Return the job or the request with these marks in its statement."""
    if isinstance(begun, ReleaseRequest):
        return replace(begun, **marks)
    return replace(begun, statement={**begun.statement, **marks})


def refuse_ended(folder: Path) -> None:
    """Refuse to resume a run that has ended, or that was killed before it began."""
    if never_began(folder):
        raise ReleaseFolderError(
            f"the run in {folder} was killed before it began, and nothing has been spent. Remove the folder and "
            f"release again"
        )
    if (folder / RELEASE).exists():
        raise ReleaseFolderError(f"the run in {folder} has ended; there is nothing to resume")
