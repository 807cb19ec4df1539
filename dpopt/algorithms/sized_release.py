"""Releases whose number of records is measured first: from what was asked to a job, and on to the release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpopt.accounting.ledger import Account
from dpopt.algorithms.asked import Asked
from dpopt.algorithms.registry import candidates_for, plan_of
from dpopt.algorithms.release import NOTHING_ON_FILE, REFUSALS, play_run, refuse_ended, refuse_unreviewed
from dpopt.algorithms.release_folder import add_plan, create_folder
from dpopt.algorithms.stating import plan_and_statement
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import AccountingError, PlanError
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS, is_trusted
from dpopt.private.mechanisms.noise import Noise
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.private.tables.public_facts import check_schema
from dpopt.programs.solver import Solver
from dpopt.releases.folder_files import TRANSCRIPT, missing_folders, remove_unfinished, withdraw
from dpopt.releases.job import LEAST_BYTES, Job
from dpopt.releases.measured_size import PublicSize, measure_size, split_contents, with_size_measured
from dpopt.releases.outcome import Run, Sources
from dpopt.releases.plan import Plan
from dpopt.releases.progress import Progress, Silent, stage
from dpopt.transcript.journal import FileJournal, Journal, JournalContents, MemoryJournal

_TRIED_SIZES = (10_000, 10_000_000)
"""Public numbers of records; what is refused for both of them is refused before the number is measured."""


def check_plannable(asked: Asked) -> None:
    """Refuse what no number of records makes plannable, before the number is measured.

    Raises
    ------
    DpoptError
        As the plan of ten million records is refused.
    """
    terms = asked.terms
    request = terms.request(_TRIED_SIZES[0], with_size_measured(terms.budget()))
    refusals: list[PlanError | AccountingError] = []
    for size in _TRIED_SIZES:
        for options in candidates_for(terms.algorithm):
            try:
                plan = plan_of(replace(request, size=size, options=options), asked.workload)
                _job(asked, plan, asked.statement)  # refuses what cannot be written
            except (PlanError, AccountingError) as refusal:
                refusals.append(refusal)
            else:
                return
    raise refusals[-1]


def job_of(asked: Asked, size: PublicSize, told: Progress) -> Job:
    """Return the job for a public number of records: a function of what was asked and of that number."""
    plan, statement = plan_and_statement(
        asked.terms, size.number, asked.workload, told, form=asked.form, budget=size.budget
    )
    return _job(asked, plan, {**statement, **asked.statement})


def _job(asked: Asked, plan: Plan, statement: Mapping[str, Any]) -> Job:
    output = asked.terms.output(asked.schema)
    return Job(plan, asked.schema, asked.workload, output, statement)


def release_asked(
    dataset: PrivateDataset,
    asked: Asked,
    folder: Path | None,
    *,
    noise: Noise | None = None,
    check: Callable[[Job], None] = lambda job: None,
    progress: Progress | None = None,
    account: Account | None = None,
) -> SyntheticRelease:
    """Measure the number of records, make a job with it, and run it.

    Parameters
    ----------
    dataset : PrivateDataset
        The table.
    asked : Asked
        The public inputs.
    folder : Path or None
        New or empty folder; None keeps everything in memory.
    noise : Noise, optional
        For tests; anything but the default marks the ledger as not private.
    check : callable, optional
        Called with the job before it runs; may refuse it. The number of records is charged by then.
    progress : Progress, optional
    account : Account, optional
        From where it is paid besides; the whole budget is reserved there before the number of records is drawn.

    Raises
    ------
    DpoptError
        As `release`, and where no plan can be made for the number of records. Until that is measured nothing is spent.
    """
    refuse_unreviewed(asked.schema, accepted=asked.terms.accept_draft)
    check_plannable(asked)
    if account is not None:
        asked = replace(asked, reservation=account.reservation)
    own = asked.terms.algorithm.own_solver
    first = _Stage(dataset, asked, folder, noise, check, progress or Silent(), account, own)
    if folder is None:
        return first.go_on(MemoryJournal(), NOTHING_ON_FILE)
    made = missing_folders(folder)
    journal = create_folder(folder, asked, expected_bytes=LEAST_BYTES)
    try:
        return first.go_on(journal, NOTHING_ON_FILE)
    except (*REFUSALS, MemoryError):
        if (folder / TRANSCRIPT).stat().st_size == 0:
            withdraw(folder, made)
        raise
    finally:
        journal.close()


def resume_asked(
    folder: Path,
    dataset: PrivateDataset,
    asked: Asked,
    *,
    check: Callable[[Job], None] = lambda job: None,
    progress: Progress | None = None,
    account: Account | None = None,
    solver: Solver | None = None,
) -> SyntheticRelease:
    """Continue a run that was interrupted before it had a plan, without spending anything twice; see `release.resume`."""
    refuse_ended(folder)
    journal, contents = FileJournal.reopen(folder / TRANSCRIPT)
    try:
        remove_unfinished(folder)
        first = _Stage(dataset, asked, folder, None, check, progress or Silent(), account, solver)
        return first.go_on(journal, contents)
    finally:
        journal.close()


@dataclass(frozen=True, slots=True, eq=False)
class _Stage:
    """A run that has no plan yet; see `release_asked`."""

    dataset: PrivateDataset
    asked: Asked
    folder: Path | None
    noise: Noise | None
    check: Callable[[Job], None]
    progress: Progress
    account: Account | None
    solver: Solver | None

    def go_on(self, journal: Journal, contents: JournalContents) -> SyntheticRelease:
        """Measure the number of records, unless it is on file, and play the plan that is made with it."""
        check_schema(self.dataset, self.asked.schema)
        budget = self.asked.terms.budget()
        past, rest = split_contents(contents, budget)
        with stage(self.progress, "counting records"):
            size = measure_size(self.dataset, budget, journal, past, noise=self.noise, account=self.account)
        with stage(self.progress, "planning"):
            job = job_of(self.asked, size, self.progress)
        if not is_trusted(None, self.noise):
            job = replace(job, statement={**job.statement, "not_private": NOT_PRIVATE_DRAWS})
        self.check(job)
        if self.folder is not None:
            add_plan(self.folder, job)
        sources = Sources(noise=self.noise)
        run = Run(self.dataset, job, journal, rest, sources, self.progress, self.account, self.solver)
        return play_run(run, self.folder)
