"""From a table to a finished release in one call: what the command line and the Python API share."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.assumed_fill import BIT_TABLE, SPARSE_MATRIX
from dpopt.algorithms.folder_files import check_empty
from dpopt.algorithms.job import Job, check_bits, check_rules, check_workload
from dpopt.algorithms.measured_plan import NOISE
from dpopt.algorithms.memory import available_memory, check_memory, memory_of_plan, note_on_memory
from dpopt.algorithms.output_format import check_format
from dpopt.algorithms.plan import Encoding
from dpopt.algorithms.progress import Progress, Silent, stage
from dpopt.algorithms.release import refuse_ended, refuse_unreviewed, release, resume
from dpopt.algorithms.release_folder import read_job
from dpopt.algorithms.rule_conflicts import legal_record
from dpopt.algorithms.settings import Settings, choice, require_solver
from dpopt.algorithms.stating import delta_warning, fill_note, plan_and_statement, size_note
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import PlanError, ReleaseFolderError
from dpopt.private.binary.bit_table import BitTable
from dpopt.private.binary.reading import BinaryReading
from dpopt.private.dataset import PrivateDataset
from dpopt.private.on_unknown import parse_on_unknown
from dpopt.private.open_dataset import check_engine, open_dataset
from dpopt.private.open_table import AnyTable
from dpopt.private.public_facts import public_size
from dpopt.private.read_binary_table import AnyBinaryTable, found_layout, read_binary_table
from dpopt.private.rule_report import broken_rows
from dpopt.queries.schema import Schema
from dpopt.queries.workload import Workload, parse_workload

_NO_LAYOUT = "a layout is for wide tables of zeros and ones (--binary-columns, Schema.binary); leave it out for this schema"


def synthesize(
    table: AnyTable | AnyBinaryTable,
    schema: Schema | str | os.PathLike[str],
    workload: Workload | str,
    *,
    out: str | os.PathLike[str] | None = None,
    settings: Settings | None = None,
    progress: Progress | None = None,
    column_names: list[str] | None = None,
    reading: BinaryReading | None = None,
    engine: str = "memory",
    **options: Any,
) -> SyntheticRelease:
    """Release differentially private synthetic records of a table.

    Parameters
    ----------
    table : path, DataFrame, sparse matrix or table of bits
        CSV (also .gz), Parquet, or a pandas DataFrame; with `Schema.binary`, what `read_binary_table` reads. Private.
    schema : Schema or path
        Declared attributes; `Schema.binary(d)` for a wide table of zeros and ones. Public.
    workload : Workload or str
        The queries whose answers the synthetic records should keep. Public.
    out : path, optional
        New or empty folder for the release; without it everything stays in memory.
    settings : Settings, optional
        Everything else; or give its fields as keywords, for example ``epsilon=1, delta=1e-9``.
    progress : Progress, optional
        Told about stages and rounds.
    column_names : list of str, optional
        Names of the columns of a CSV file without a header line.
    reading : BinaryReading, optional
        How a file with a wide table is laid out, where its first bytes do not tell.
    engine : str
        Where the table is counted: "memory"; "stream" (read again for each count, for more rows than memory); "dask:4" or
        "dask:tls://host:8786" (by worker processes). The release does not depend on it.
    **options
        The fields of `dpopt.Settings` (``help(dpopt.Settings)`` explains each): epsilon, delta, rho, accountant, neighbours,
        n0; algorithm, rounds, draws, step, plan_by, selections, records, smoothing, columns, fit_seconds; alpha, select,
        update, selection_share, replays, average; solver, work,
        seconds, seed, free_attributes, encoding; on_unknown, accept_draft; rows, format, predict, fill.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    if settings is not None and options:
        raise PlanError(f"give settings, or {', '.join(options)} as keywords, and not both")
    unknown = sorted(set(options) - {field.name for field in fields(Settings)})
    if unknown:
        names = ", ".join(field.name for field in fields(Settings))
        raise PlanError(f"there is no option {', '.join(unknown)}; the options are {names}")
    chosen = Settings(**options) if settings is None else settings
    told = progress or Silent()
    chosen.check()
    schema = schema if isinstance(schema, Schema) else Schema.read(schema)
    refuse_unreviewed(schema, accepted=chosen.accept_draft)
    folder = None if out is None else Path(out)
    if folder is not None:
        check_empty(folder)
        if (
            isinstance(table, str | os.PathLike)
            and Path(table).is_dir()
            and folder.resolve().is_relative_to(Path(table).resolve())
        ):
            raise ReleaseFolderError(
                f"{folder} lies inside the table's folder {table}, where it would be read as records later. Name "
                "another folder"
            )
    queries = parse_workload(workload, schema) if isinstance(workload, str) else workload
    check_workload(queries, schema)
    check_rules(schema, choice(Encoding, chosen.encoding, "encoding"))
    check_bits(schema, choice(Encoding, chosen.encoding, "encoding"))
    answers_only = chosen.algorithm == NOISE
    wanted = chosen.output(schema, answers_only=answers_only)
    check_format(wanted["format"], schema, answers_only=answers_only)
    how = _reading(table, schema, chosen.on_unknown, column_names, reading)
    if schema.rules:
        with stage(told, "checking the rules"):
            legal_record(schema.circuit(), schema.sizes)  # refuses rules that contradict each other
    with stage(told, "reading the table"):
        dataset = _read(table, schema, how, column_names, engine)
    _tell_owner_of_broken_rules(dataset, schema, told)
    size = public_size(dataset, choice(NeighbouringRelation, chosen.neighbours, "neighbours"), chosen.n0)
    with stage(told, "planning"):
        plan, statement = plan_and_statement(chosen, size, queries, told, form=_form(table, how))
    statement["reading"] = how
    for remark in (delta_warning(plan), size_note(plan), fill_note(plan, statement)):
        _tell(remark, told)
    needed = memory_of_plan(plan, queries, streamed=engine != "memory")
    if needed is not None:
        check_memory(needed, available_memory())
        _tell(note_on_memory(needed), told)
    output = chosen.output(schema, answers_only=plan.algorithm == NOISE)
    job = Job(plan, schema, queries, output, statement)
    return release(dataset, job, folder, progress=told)


def _tell(remark: str | None, told: Progress) -> None:
    if remark is not None:
        told.note(remark)


def _tell_owner_of_broken_rules(dataset: PrivateDataset, schema: Schema, told: Progress) -> None:
    """Tell the owner, and nobody else, which rules the table's own rows break; they are used as they are."""
    if not schema.rules:
        return
    with stage(told, "holding rows against rules"):
        report = broken_rows(dataset, schema.circuit())
    if report.rows_breaking_any == 0:
        return
    broken = [
        f"{count:,} {'rows break' if count > 1 else 'row breaks'} '{name}', the first is row {first:,}"
        for name, count, first in zip(report.names, report.broken, report.first_rows, strict=True)
        if first is not None
    ]
    told.owner_note(
        f"{report.rows_breaking_any:,} of {report.rows:,} rows of the table break a rule: {'; '.join(broken)}. "
        "They are used as they are; no synthetic record breaks a rule"
    )


def continue_run(
    folder: str | os.PathLike[str],
    table: AnyTable | AnyBinaryTable,
    *,
    progress: Progress | None = None,
    reading: BinaryReading | None = None,
    engine: str = "memory",
) -> SyntheticRelease:
    """Continue an interrupted run; the table must be the one that it began with, by any engine.

    It is read as the run began to read it, unless `reading` says how a wide table is laid out now.
    """
    told = progress or Silent()
    refuse_ended(Path(folder))
    job = read_job(Path(folder))
    require_solver(job.plan.solver)
    with stage(told, "reading the table"):
        dataset = read_again(job, table, engine=engine, reading=reading)
    needed = memory_of_plan(job.plan, job.workload, streamed=engine != "memory", resumed=True)
    if needed is not None:
        _tell(note_on_memory(needed, available_memory()), told)
    return resume(Path(folder), dataset, job, progress=told)


def _used_names(column_names: list[str] | None, schema: Schema) -> list[str] | None:
    """Return names of columns for publication: those that the schema does not use are numbered."""
    if column_names is None:
        return None
    used = set(schema.names)
    return [name if name in used else f"unused {number}" for number, name in enumerate(column_names, start=1)]


def _reading(
    table: AnyTable | AnyBinaryTable,
    schema: Schema,
    on_unknown: str,
    column_names: list[str] | None,
    reading: BinaryReading | None,
) -> dict[str, Any]:
    """Return how a table is read, for publication: options that the user gave, no path.

    Raises
    ------
    DpoptError
        If an option does not suit the schema, or the layout of a file cannot be told.
    """
    if not schema.is_binary:
        if reading is not None:
            raise PlanError(_NO_LAYOUT)
        return {"on_unknown": on_unknown, "column_names": _used_names(column_names, schema)}
    if on_unknown != "error" or column_names is not None:
        raise PlanError(
            "a wide table of zeros and ones has no unknown values and no columns by name; leave --on-unknown and "
            "names of columns out"
        )
    how = reading or BinaryReading()
    if isinstance(table, str | os.PathLike):
        how = found_layout(table, how)
    return {"on_unknown": on_unknown, "column_names": None, "binary": how.to_json()}


def _form(table: AnyTable | AnyBinaryTable, how: Mapping[str, Any]) -> str | None:
    """Return how a wide table is handed over, whatever it holds: the layout of its file, or its kind in memory."""
    layout: str | None = how.get("binary", {}).get("layout")
    if isinstance(table, str | os.PathLike) or "binary" not in how:
        return layout
    return BIT_TABLE if isinstance(table, BitTable) else SPARSE_MATRIX


def _read(
    table: AnyTable | AnyBinaryTable,
    schema: Schema,
    how: Mapping[str, Any],
    column_names: list[str] | None,
    engine: str,
) -> PrivateDataset:
    check_engine(engine, schema)
    if schema.is_binary:
        layout = BinaryReading.from_json(how.get("binary", {}))
        return read_binary_table(cast("AnyBinaryTable", table), schema, layout)
    policy = parse_on_unknown(how.get("on_unknown", "error"))
    return open_dataset(
        cast("AnyTable", table), schema, engine=engine, on_unknown=policy, column_names=column_names
    )


def read_again(
    job: Job,
    table: AnyTable | AnyBinaryTable,
    *,
    engine: str = "memory",
    reading: BinaryReading | None = None,
) -> PrivateDataset:
    """Read a table as the run of a job reads it: by its schema and layout, its rule for unknown values, its column names.

    With `reading` a wide table is read in this way in place of the run's: the same records may lie in another file.

    Raises
    ------
    DpoptError
        If the table cannot be read so, or `reading` is given for another table than a wide one.
    """
    how = job.statement.get("reading", {})
    if reading is not None:
        if not job.schema.is_binary:
            raise PlanError(_NO_LAYOUT)
        how = {**how, "binary": reading.to_json()}
    return _read(table, job.schema, how, how.get("column_names"), engine)
