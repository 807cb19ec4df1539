"""The release folder: plan, schema, workload, transcript, synthetic records, release.json; publishable at every instant.

Nothing private is ever written here: no timing of private stages, no path, no hash of the table, no rejected value, and
under add-remove not the true number of records. Files are written whole (temporary file, then rename); the transcript
grows by lines.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from dpopt.algorithms.registry import read_plan
from dpopt.algorithms.request import ReleaseRequest
from dpopt.errors import ReleaseFolderError
from dpopt.files.reading import damage_as
from dpopt.queries.workloads.workload import workload_from_json
from dpopt.releases.folder_files import (
    PLAN,
    REQUEST,
    SCHEMA,
    TRANSCRIPT,
    WORKLOAD,
    check_empty,
    make_empty,
    missing_folders,
    read_json,
    withdraw,
    write_json,
)
from dpopt.releases.job import Job
from dpopt.schema.schema import Schema
from dpopt.transcript.journal import FileJournal


def create_folder(folder: Path, begun: Job | ReleaseRequest, *, expected_bytes: int) -> FileJournal:
    """Make a new release folder, write the public inputs, and open its journal; all before any budget is spent.

    Where the number of records is measured first, they are what was asked; `add_plan` follows.
    """
    check_empty(folder)
    made = missing_folders(folder)
    _check_room(made[-1].parent if made else folder, folder, expected_bytes)
    make_empty(folder)
    journal = FileJournal(folder / TRANSCRIPT)  # new, and locked: from here on nobody else writes in this folder
    try:
        write_json(folder / SCHEMA, begun.schema.to_json())
        write_json(folder / WORKLOAD, begun.workload.to_json())
        if isinstance(begun, ReleaseRequest):
            write_json(folder / REQUEST, begun.to_json())
        else:
            _write_plan(folder, begun)
    except BaseException as error:
        journal.close()
        withdraw(folder, made)
        if not isinstance(error, OSError):
            raise
        raise ReleaseFolderError(f"{error}. Nothing has been spent") from error
    return journal


def add_plan(folder: Path, job: Job) -> None:
    """Replace the request on file by the plan, once the number of records is on file."""
    try:
        _write_plan(folder, job)
        (folder / REQUEST).unlink(missing_ok=True)
    except OSError as error:
        raise ReleaseFolderError(
            f"{error}. The number of records that was measured is kept; make room and continue with 'dpopt resume'"
        ) from error


def _write_plan(folder: Path, job: Job) -> None:
    write_json(folder / PLAN, {**job.plan.to_json(), "output": dict(job.output), "statement": dict(job.statement)})


def _check_room(place: Path, folder: Path, expected_bytes: int) -> None:
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        raise ReleaseFolderError(
            f"the free space of {folder} cannot be found: {error.strerror}. Choose another folder; nothing has been "
            f"spent"
        ) from error
    if free < expected_bytes:
        raise ReleaseFolderError(
            f"the disk of {folder} has {free / 1e6:,.1f} MB free, the release needs about {expected_bytes / 1e6:,.1f} "
            f"MB. Make room or choose another folder; nothing has been spent"
        )


def read_begun(folder: Path) -> Job | ReleaseRequest:
    """Read the public inputs of a run: a job, or the request if the run ended before it had a plan."""
    if (folder / PLAN).exists() or not (folder / REQUEST).exists():
        return read_job(folder)
    schema = Schema.from_json(read_json(folder / SCHEMA))
    workload = workload_from_json(read_json(folder / WORKLOAD), schema)
    return ReleaseRequest.from_json(read_json(folder / REQUEST), schema, workload)


def read_job(folder: Path) -> Job:
    """Read the public inputs of a release folder."""
    plan = read_json(folder / PLAN)
    schema = Schema.from_json(read_json(folder / SCHEMA))
    output, statement = plan.pop("output", {}), plan.pop("statement", {})
    if not isinstance(output, dict) or not isinstance(statement, dict):
        raise ReleaseFolderError(f"{folder / PLAN} is damaged: output and statement must be JSON objects")
    workload = workload_from_json(read_json(folder / WORKLOAD), schema)
    with damage_as(ReleaseFolderError, f"{folder / PLAN} is damaged"):
        return Job(read_plan(plan), schema, workload, output, statement)
