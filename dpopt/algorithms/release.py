"""Release, resume, replay: one path from public inputs and a table to a finished release folder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.dualquery import BestResponder, Round, recertify, run
from dpopt.algorithms.folder_files import (
    PLAN,
    RELEASE,
    SCHEMA,
    TRANSCRIPT,
    WORKLOAD,
    make_empty,
    missing_folders,
    withdraw,
    write_json,
)
from dpopt.algorithms.free_attributes import FreeAttributeRule
from dpopt.algorithms.past import Past, read_past, reservation
from dpopt.algorithms.plan import DualQueryPlan, Encoding
from dpopt.algorithms.progress import Progress, Silent, stage
from dpopt.algorithms.release_folder import (
    Job,
    create_folder,
    read_job,
)
from dpopt.algorithms.statement import release_statement
from dpopt.algorithms.synthetic import SyntheticRecords
from dpopt.algorithms.write_records import write_records
from dpopt.errors import (
    AccountingError,
    BudgetError,
    PlanError,
    PrivateDataError,
    ProgramError,
    ReleaseFolderError,
    SchemaError,
    SolverUnavailableError,
    TranscriptError,
    WorkloadError,
)
from dpopt.formulations.as_mip import accepting_max_csp
from dpopt.private.curator import NOT_PRIVATE_DRAWS, Curator
from dpopt.private.dataset import PrivateDataset
from dpopt.private.query_weights import QuerySampler
from dpopt.programs.limits import SolveLimits
from dpopt.programs.solver import Solver
from dpopt.queries.clauses import Clauses
from dpopt.queries.schema import Schema
from dpopt.transcript.journal import FileJournal, Journal, JournalContents, MemoryJournal, read_journal
from dpopt.transcript.released import NoisyAnswers

if TYPE_CHECKING:
    import pandas as pd

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


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticRelease:
    """A finished run as values.

    Attributes
    ----------
    job : Job
        The public inputs.
    rounds : list of Round
        Draw, record and certificate of each round.
    records : SyntheticRecords
        The distinct records and how many rounds gave each.
    ledger : Ledger
        Everything that was charged.
    statement : Mapping
        The contents of release.json.
    """

    job: Job
    rounds: Sequence[Round]
    records: SyntheticRecords
    ledger: Ledger
    statement: Mapping[str, Any]

    def to_pandas(self) -> pd.DataFrame:
        """Return the synthetic records, decoded: the rows asked for, or distinct records and a column of weights."""
        from dpopt.algorithms.table_output import records_table
        from dpopt.algorithms.write_records import weight_name

        rows = self.job.output.get("rows")
        written = self.records.distinct if rows is None else self.records.rows(int(rows))
        weights = self.records.weights if rows is None else None
        schema = self.record_schema
        frame: pd.DataFrame = records_table(schema, written, weights, weight_name(schema)).to_pandas()
        return frame

    def answers(self) -> NDArray[np.float64]:
        """Return the release's answer to every base query of the workload, (m,): the share of synthetic records."""
        from dpopt.queries.kernels import count_on_records

        rows = self.job.output.get("rows")
        written = self.records.per_round() if rows is None else self.records.rows(int(rows))
        return count_on_records(_record_clauses(self.job), written, self.record_schema.sizes) / len(written)

    @property
    def record_schema(self) -> Schema:
        """The schema that the coded records follow."""
        return _record_schema(self.job)


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
    if sampler is not None and not sampler.is_private:
        job = replace(job, statement={**job.statement, "not_private": NOT_PRIVATE_DRAWS})
    if folder is None:
        return _play(
            dataset, job, None, MemoryJournal(), _NOTHING, sampler=sampler, progress=progress or Silent()
        )
    made = missing_folders(folder)
    journal = create_folder(folder, job, expected_bytes=expected_bytes(job))
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


def replay(folder: str | os.PathLike[str], target: str | os.PathLike[str]) -> SyntheticRelease:
    """Rebuild a finished release from its plan and transcript, with no table and no solver; every certificate is recomputed.

    Raises
    ------
    TranscriptError
        If the run has not ended, or what is on file contradicts itself.
    ReleaseFolderError
        If `target` is not empty or cannot be written.
    """
    place, copy = Path(folder), Path(target)
    job, past, rounds = _recertified(place)
    make_empty(copy)
    for name in (PLAN, SCHEMA, WORKLOAD, TRANSCRIPT):
        (copy / name).write_bytes((place / name).read_bytes())
    return _finish(job, copy, _spent_again(job, past), rounds)


def load(folder: str | os.PathLike[str]) -> SyntheticRelease:
    """Read a finished release from its plan and transcript; nothing is written.

    Raises
    ------
    TranscriptError
        If the run has not ended, or what is on file contradicts itself.
    """
    job, past, rounds = _recertified(Path(folder))
    return _finish(job, None, _spent_again(job, past), rounds)


def _recertified(folder: Path) -> tuple[Job, Past, list[Round]]:
    job = read_job(folder)
    past = read_past(read_journal(folder / TRANSCRIPT), job)
    if not past.finished:
        raise TranscriptError(
            f"the run in {folder} has not ended; continue it with 'dpopt resume {folder} TABLE'"
        )
    clauses, sizes = _record_clauses(job), _sizes(job)
    rounds = [
        recertify(clauses, sizes, known.sampled, known.record)
        for known in past.rounds
        if known.sampled is not None and known.record is not None
    ]
    return job, past, rounds


def expected_bytes(job: Job) -> int:
    """Return about how many bytes the release folder will take, generously."""
    plan = job.plan
    per_round = 20 * min(plan.draws, len(job.workload)) + 8 * len(_sizes(job)) + 1_000
    return (
        4_000_000
        + plan.rounds * per_round
        + int(job.output.get("rows") or plan.rounds) * 12 * len(_sizes(job))
    )


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
    solver = _solver(job)
    past = read_past(contents, job)
    ledger = Ledger(plan.budget, plan.relation)
    ledger.reserve(plan.charges())
    _mark(ledger, job)
    with stage(progress, "counting exact answers"):
        curator = Curator(
            dataset,
            job.workload.clauses,
            ledger,
            journal,
            size=plan.size,
            step=plan.step,
            record_clauses=_record_clauses(job),
            sampler=sampler,
            progress=progress.share,
        )
    if not past.started:
        journal.append(reservation(job))
    one_way = _one_way(curator, plan, past)
    responder = _responder(job, solver, one_way)
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
        return _finish(job, folder, ledger, rounds)


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


def _finish(job: Job, folder: Path | None, ledger: Ledger, rounds: Sequence[Round]) -> SyntheticRelease:
    records = SyntheticRecords.of([done.record for done in rounds])
    output = {} if folder is None else _write(job, folder, records)
    statement = release_statement(job, ledger, rounds, records, output)
    if folder is not None:
        write_json(folder / RELEASE, statement)
    return SyntheticRelease(job, rounds, records, ledger, statement)


def _write(job: Job, folder: Path, records: SyntheticRecords) -> dict[str, Any]:
    file_format = str(job.output.get("format", "csv"))
    rows = job.output.get("rows")
    name = f"synthetic.{file_format}"
    written: NDArray[np.int32] = records.distinct if rows is None else records.rows(int(rows))
    weight_column = write_records(
        folder / name,
        _record_schema(job),
        written,
        weights=records.weights if rows is None else None,
        format=file_format,
    )
    return {"file": name, "rows": len(written), "weight_column": weight_column if rows is None else None}


def _spent_again(job: Job, past: Past) -> Ledger:
    """Rebuild the ledger from the charges on file."""
    plan = job.plan
    ledger = Ledger(plan.budget, plan.relation)
    charges = list(plan.charges())
    ledger.reserve(charges)
    _mark(ledger, job)
    if past.one_way_charge is not None:
        ledger.spend(past.one_way_charge)
    for known in past.rounds:
        ledger.spend(known.charges[0])
        for repeated in known.charges[1:]:
            ledger.substitute(repeated, charges.pop())
    return ledger


def _mark(ledger: Ledger, job: Job) -> None:
    """Carry over that a part of the run was drawn from a seeded or scripted source."""
    if job.statement.get("not_private"):
        ledger.mark_not_private(str(job.statement["not_private"]))


def _solver(job: Job) -> Solver:
    from dpopt.solvers.registry import get_solver

    return accepting_max_csp(get_solver(job.plan.solver))


def _responder(job: Job, solver: Solver, one_way: NoisyAnswers | None) -> BestResponder:
    from dpopt.solvers.registry import get_solver

    plan = job.plan
    return BestResponder(
        clauses=_record_clauses(job),
        sizes=_sizes(job),
        solver=solver,
        fallback=get_solver("local-search"),
        limits=SolveLimits(seconds=plan.seconds, work=plan.work, seed=plan.seed, threads=THREADS),
        free_attributes=FreeAttributeRule(
            plan.free_attributes, job.schema, plan.encoding, seed=plan.seed, marginals=one_way
        ),
    )


def _record_clauses(job: Job) -> Clauses:
    bits = job.plan.encoding is Encoding.BITS
    return job.workload.clauses.as_bits(job.schema) if bits else job.workload.clauses


def _record_schema(job: Job) -> Schema:
    return job.schema.as_bits() if job.plan.encoding is Encoding.BITS else job.schema


def _sizes(job: Job) -> NDArray[np.int32]:
    if job.plan.encoding is Encoding.BITS:
        return np.full(job.schema.number_of_columns, 2, dtype=np.int32)
    return job.schema.sizes


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
