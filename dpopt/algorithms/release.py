"""`dpopt.release` and `dpopt.resume`: from a table to a finished release in one call, for the command line and Python alike."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Unpack, cast

from dpopt.accounting.ledger import Account
from dpopt.algorithms.memory import available_memory, check_memory, note_on_memory
from dpopt.algorithms.options import AUTO, Options
from dpopt.algorithms.planned import Planned, request_of
from dpopt.algorithms.public_release import PUBLIC_TABLE, public_sources
from dpopt.algorithms.registry import OPTIONS, algorithm_of
from dpopt.algorithms.release_folder import read_begun
from dpopt.algorithms.request import BIT_TABLE, RESERVATION, SPARSE_MATRIX, ReleaseRequest, Terms, check_density_known
from dpopt.algorithms.run_release import job_of, refuse_ended, resume_run, run_release
from dpopt.algorithms.stating import remarks_on, tell
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.algorithms.terms import Keywords, with_terms
from dpopt.errors import BudgetError, PlanError, PrivacyWarning, ReleaseFolderError, warn
from dpopt.private.engines.open_dataset import check_engine, open_dataset
from dpopt.private.evaluation import broken_rows
from dpopt.private.readers.open_table import AnyTable, open_table
from dpopt.private.readers.parquet_source import ParquetSource
from dpopt.private.readers.read_binary_table import AnyBinaryTable, found_layout, read_binary_table
from dpopt.private.readers.read_table import read_from
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.readers.table_sources import is_sparse_matrix
from dpopt.private.tables.dataset import PrivateDataset, public_size
from dpopt.programs.solver import Capability, Solver
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.descriptions.description import notes_of
from dpopt.releases.descriptions.verdict import verdict_of
from dpopt.releases.folder_files import check_empty
from dpopt.releases.job import Job
from dpopt.releases.ledgers import open_account
from dpopt.releases.measured_size import PublicSize, tell_smallest
from dpopt.releases.progress import Progress, shown_progress, stage, warn_of_paid
from dpopt.releases.remembered_tables import remembered
from dpopt.releases.run import Sources
from dpopt.releases.solver_choice import require_solver_again
from dpopt.schema.schema import Schema
from dpopt.transcript.budget_ledger import BudgetLedger

_NOT_ENCRYPTED = (
    "{address} is not encrypted: whoever reads or reaches this network sees exact counts, which are private, and can "
    "give the workers tasks, that is, code. Use it only where everybody may see the records; otherwise set up TLS in "
    "Dask's configuration and write dask:HOST:PORT"
)
_NO_LAYOUT = (
    "a layout is for wide tables of zeros and ones (--binary-columns, Schema.binary); leave it out for this schema"
)


@with_terms
def release(
    table: AnyTable | AnyBinaryTable | PrivateDataset,
    schema: Schema | str | os.PathLike[str] | None = None,
    workload: Workload | str | None = None,
    *,
    plan: Planned | str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    algorithm: Options | str = AUTO,
    progress: Progress | bool | None = None,
    engine: str = "memory",
    budget: BudgetLedger | None = None,
    public_table: bool = False,
    **terms: Unpack[Keywords],
) -> SyntheticRelease:
    """Release differentially private synthetic records of a table.

    Parameters
    ----------
    table : path, DataFrame, array, sparse matrix or PrivateDataset
        What `read_table` reads, or what it returned, which is read again in the same way; with `Schema.binary`, what
        `read_binary_table` reads. Private.
    schema : Schema or path
        Declared attributes; `Schema.binary(d)` for a wide table of zeros and ones. Public.
    workload : Workload or str, optional
        The queries that the synthetic records should answer well. Public. If left out: all three-way or two-way
        marginals, by `dpopt.algorithms.request.usual_workload`.
    plan : Planned or path, optional
        A plan that was made before (`dpopt plan -o plan.json`): schema, workload, budget and algorithm are those of the
        plan.
    out : path, optional
        New or empty folder for the release; without it everything stays in memory.
    algorithm : Options or str
        With its options, as in ``dpopt.DualQuery(rounds=100, solver="cp-sat")``: `dpopt.Projection`, `DualQuery`,
        `FEM`, `MWEM`, `PMW`, `SmallDatabase`, `Noise`, or `Auto`: projection where it measures residuals, or else the
        one with the least predicted mean error. Or its name on the command line ("mwem"); its options may then stand
        beside it as keywords.
    progress : Progress or bool, optional
        Receives the progress of stages and rounds. If left out, notebooks show it; False shows nothing.
    engine : str
        Where the table is counted: "memory"; "stream" (read again for each count, for more rows than memory); "dask:4"
        or "dask:tls://host:8786" (by worker processes). The release does not depend on it.
    budget : BudgetLedger, optional
        The owner's budget over many releases, from which this one is paid.
    public_table : bool
        Whether the table is public, and every draw a function of the algorithm's seed: runs of DualQuery with other
        solvers then draw by the same random numbers. Such a release has no guarantee, and says so.
    **terms
        The terms below, and as keywords: reading, or the fields of `dpopt.TableReading`; where an algorithm is given by
        its name, its options.

    Terms
    -----
    {terms}

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.

    Examples
    --------
    >>> import dpopt, pandas, tempfile
    >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
    >>> table = pandas.DataFrame({"smoker": [True, False] * 500})
    >>> asked = {"epsilon": 1, "delta": 1e-6, "algorithm": "projection", "predict": False}
    >>> made = dpopt.release(table, schema, "marginals:1", n0=1000, **asked)
    >>> made.chosen["algorithm"], len(made.to_pandas())
    ('projection', 1000)
    """
    progress = shown_progress(progress)
    if isinstance(table, PrivateDataset):
        again = read_from(table)
        terms.setdefault("reading", again.how)
        table = again.table
    asked = request_of(Terms.of(algorithm, **terms), schema, workload, plan, progress)
    chosen, schema = asked.terms, asked.schema
    sources = _sources_of(chosen, budget) if public_table else None
    folder = None if out is None else Path(out)
    if folder is not None:
        _refuse_folder(folder, table)
    how = _with_layout(chosen.reading, table, schema)
    form = _form(table, schema, how)
    check_density_known(chosen, schema, form)
    if chosen.measures_size:
        tell_smallest(chosen.budget(), progress)
    account = open_account(budget, "release", chosen.budget(), chosen.relation, how)
    with stage(progress, "reading the table"):
        dataset = read_by(table, schema, how, engine)
    _note_broken_rules(dataset, schema, how, progress)
    written = _format_of(table, how, chosen, schema)
    published = replace(chosen, reading=how.for_publication(schema), format=written)
    asked = replace(asked, terms=published, form=form)
    check = partial(_check_job, engine=engine, progress=progress)
    begun: Job | ReleaseRequest = asked
    if not chosen.measures_size:
        size = PublicSize(public_size(dataset, chosen.relation, chosen.n0), chosen.budget())
        with stage(progress, "planning"):
            begun = job_of(asked, size, progress)
        check(begun)
    own = chosen.algorithm.own_solver
    with nullcontext() if public_table else remembered(table, budget, progress):
        made = run_release(
            dataset, begun, folder, sources=sources, check=check, progress=progress, account=account, solver=own
        )
    return _warned(made, folder, progress)


def _sources_of(chosen: Terms, budget: BudgetLedger | None) -> Sources:
    """Return the source of the draws of a public table; refuse terms that contradict it."""
    if budget is not None:
        raise BudgetError("a release of a public table has no guarantee, and no budget pays for it; leave one out")
    if not isinstance(seed := getattr(chosen.algorithm, "seed", None), int):
        raise PlanError(f"draws of a public table are a function of a seed, which {chosen.algorithm.algorithm} has not")
    return public_sources(seed)


def _warned(made: SyntheticRelease, folder: Path | None, progress: Progress) -> SyntheticRelease:
    """Warn of problems within the run; its results are on file by then, or else outlive `-W error`."""
    for note in (verdict_of(made.statement), *notes_of(made.statement)):
        if note.of_run:
            warn_of_paid(note.warning(), progress, kept=folder is not None)
    return made


def _refuse_folder(folder: Path, table: AnyTable | AnyBinaryTable) -> None:
    """Refuse a folder that is not empty, or lies where the table would be read from later."""
    check_empty(folder)
    if (
        isinstance(table, str | os.PathLike)
        and Path(table).is_dir()
        and folder.resolve().is_relative_to(Path(table).resolve())
    ):
        raise ReleaseFolderError(
            f"{folder} lies inside the table's folder {table}, where it would be read as records later. Name another "
            f"folder"
        )


def _check_job(job: Job, tried: bool = False, *, engine: str, progress: Progress) -> None:  # noqa: FBT001, FBT002
    """Refuse a job that does not fit into memory; show the notes on one that is run, and not only tried."""
    if not tried:
        tell(remarks_on(job.plan, job.statement, job.schema), progress)
    needed = algorithm_of(job.plan).expected_memory(job.plan, job.workload, streamed=engine != "memory")
    if needed is not None:
        check_memory(needed, available_memory())
        if not tried and (remark := note_on_memory(needed)):
            progress.note(remark)


def _note_broken_rules(dataset: PrivateDataset, schema: Schema, how: TableReading, progress: Progress) -> None:
    """Show the owner, and nobody else, which rules the table's own rows break; they are used as they are."""
    if not schema.rules:
        return
    with stage(progress, "checking rows against the rules"):
        report = broken_rows(dataset, schema.circuit())
    if report.rows_breaking_any == 0:
        return
    broken = [
        f"{count:,} {'rows break' if count > 1 else 'row breaks'} '{name}'"
        + ("" if how.changes_size else f", the first is row {first:,}")
        for name, count, first in zip(report.names, report.broken, report.first_rows, strict=True)
        if first is not None
    ]
    progress.owner_note(
        f"{report.rows_breaking_any:,} of {report.rows:,} rows of the table break a rule: {'; '.join(broken)}. "
        "They are counted unchanged; no synthetic record breaks a rule"
    )


def resume(
    folder: str | os.PathLike[str],
    table: AnyTable | AnyBinaryTable,
    *,
    progress: Progress | bool | None = None,
    reading: TableReading | None = None,
    engine: str = "memory",
    budget: BudgetLedger | None = None,
    solver: Solver | None = None,
) -> SyntheticRelease:
    """Continue an interrupted run; the table must be the one that it began with, by any engine.

    It is read as the run began to read it, unless `reading` says how a wide table is laid out now. A run that is paid
    from the owner's budget over many releases needs that budget again; nothing is reserved twice. One that began with a
    solver of its own, which is not registered, needs that `solver` again.

    Examples
    --------
    >>> import dpopt, pandas, tempfile
    >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
    >>> table = pandas.DataFrame({"smoker": [True, False] * 500})
    >>> asked = {"epsilon": 1, "delta": 1e-6, "algorithm": "projection", "predict": False}
    >>> folder = tempfile.mkdtemp()
    >>> made = dpopt.release(table, schema, "marginals:1", n0=1000, **asked)
    >>> made.save(folder + "/release")
    >>> try:
    ...     dpopt.resume(folder + "/release", table)
    ... except dpopt.DpoptError as error:
    ...     print(str(error).partition("/release")[2])
     has ended; there is nothing to resume
    """
    progress = shown_progress(progress)
    folder = Path(folder)
    refuse_ended(folder)
    job = read_begun(folder)
    if job.statement.get("not_private") == PUBLIC_TABLE:
        raise PlanError(
            f"the run in {folder} is of a public table; release it again: the same seed gives the same draws"
        )
    account = _account_again(job, budget)
    asked = job.terms.algorithm if isinstance(job, ReleaseRequest) else OPTIONS[job.plan.algorithm]
    planned = job.terms.algorithm.solver_name if isinstance(job, ReleaseRequest) else job.plan.solver
    require_solver_again(planned, solver, Capability[asked.solver_takes])
    with stage(progress, "reading the table"):
        dataset = read_again(job, table, engine=engine, reading=reading)
    if isinstance(job, Job):
        needed = algorithm_of(job.plan).expected_memory(
            job.plan, job.workload, streamed=engine != "memory", resumed=True
        )
        if needed is not None and (remark := note_on_memory(needed, available_memory())):
            progress.note(remark)
    check = partial(_check_job, engine=engine, progress=progress)
    made = resume_run(folder, dataset, job, check=check, progress=progress, account=account, solver=solver)
    return _warned(made, folder, progress)


def _account_again(job: Job | ReleaseRequest, budget: BudgetLedger | None) -> Account | None:
    """Return from where a run that is continued is paid."""
    reservation = job.statement.get(RESERVATION)
    if (reservation is None) != (budget is None):
        raise BudgetError(
            "the run is not paid from a budget over many releases; continue it without --budget"
            if reservation is None
            else "the run is paid from the owner's budget over many releases; name its file with --budget"
        )
    asked = job.terms.budget() if isinstance(job, ReleaseRequest) else job.plan.budget
    relation = job.terms.relation if isinstance(job, ReleaseRequest) else job.plan.relation
    reading = TableReading.from_json(job.statement.get("reading", {}))
    return open_account(budget, "release", asked, relation, reading, reservation)


def _with_layout(reading: TableReading, table: AnyTable | AnyBinaryTable, schema: Schema) -> TableReading:
    """Return how a table is read, with the layout of a wide table's file."""
    if not schema.is_binary or not isinstance(table, str | os.PathLike):
        return reading
    return found_layout(table, reading)


def _format_of(table: AnyTable | AnyBinaryTable, how: TableReading, terms: Terms, schema: Schema) -> str | None:
    """Return the wanted format, or else, for files that are a table, the format of their content."""
    if terms.format is not None or schema.is_binary or not isinstance(table, str | os.PathLike):
        return terms.format
    return "parquet" if isinstance(open_table(table, how), ParquetSource) else "csv"


def _form(table: AnyTable | AnyBinaryTable, schema: Schema, how: TableReading) -> str | None:
    """Return how a wide table is handed over, whatever it holds: the layout of its file, or its kind in memory."""
    if isinstance(table, str | os.PathLike) or not schema.is_binary:
        return None if how.layout is None else str(how.layout)
    return SPARSE_MATRIX if is_sparse_matrix(table) else BIT_TABLE


def read_by(table: AnyTable | AnyBinaryTable, schema: Schema, how: TableReading, engine: str) -> PrivateDataset:
    """Read a table by a schema of either kind, and return an object that counts on it; raises as the readers do."""
    address = check_engine(engine, schema).address
    if address.startswith("tcp://"):
        warn(PrivacyWarning(_NOT_ENCRYPTED.format(address=address)))
    if schema.is_binary:
        return read_binary_table(cast("AnyBinaryTable", table), schema, how)
    return open_dataset(cast("AnyTable", table), schema, how, engine=engine)


def read_again(
    job: Job | ReleaseRequest,
    table: AnyTable | AnyBinaryTable,
    *,
    engine: str = "memory",
    reading: TableReading | None = None,
) -> PrivateDataset:
    """Read a table as the run of a job reads it: by its schema, layout and repairs.

    With `reading` a wide table is read in this way in place of the run's: the same records may lie in another file.
    """
    if reading is not None and not job.schema.is_binary:
        raise PlanError(_NO_LAYOUT)
    how = TableReading.from_json(job.statement.get("reading", {})) if reading is None else reading
    return read_by(table, job.schema, how, engine)
