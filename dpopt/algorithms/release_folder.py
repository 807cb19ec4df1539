"""The release folder: plan, schema, workload, transcript, synthetic records, release.json; publishable at every instant.

Nothing private is ever written here: no timing of private stages, no path, no hash of the table, no rejected value, and under
add-remove not the true number of records. Files are written whole (temporary file, then rename); the transcript grows by lines.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from dpopt.algorithms.any_plan import read_plan
from dpopt.algorithms.folder_files import (
    PLAN,
    SCHEMA,
    TRANSCRIPT,
    WORKLOAD,
    check_empty,
    make_empty,
    missing_folders,
    occupied,
    read_json,
    withdraw,
    write_json,
)
from dpopt.algorithms.job import Job
from dpopt.errors import ReleaseFolderError
from dpopt.queries.schema import Schema
from dpopt.queries.workload import workload_from_json
from dpopt.transcript.journal import FileJournal


def create_folder(folder: Path, job: Job, *, expected_bytes: int) -> FileJournal:
    """Make a new release folder, write the public inputs, and open its journal; all before any budget is spent.

    Raises
    ------
    ReleaseFolderError
        If the folder exists and is not empty, cannot be written, or its disk has too little room. Nothing is left behind.
    """
    check_empty(folder)
    made = missing_folders(folder)
    _check_room(made[-1].parent if made else folder, folder, expected_bytes)
    make_empty(folder)
    journal = FileJournal(folder / TRANSCRIPT)  # locked: from here on nobody else writes in this folder
    try:
        _refuse_others(folder)
        write_json(folder / SCHEMA, job.schema.to_json())
        write_json(folder / WORKLOAD, job.workload.to_json())
        write_json(
            folder / PLAN,
            {**job.plan.to_json(), "output": dict(job.output), "statement": dict(job.statement)},
        )
    except BaseException as error:
        journal.close()
        if isinstance(error, ReleaseFolderError) or not isinstance(error, OSError | KeyboardInterrupt):
            raise
        withdraw(folder, made)
        if isinstance(error, KeyboardInterrupt):
            raise
        raise ReleaseFolderError(
            f"cannot write {folder}: {error.strerror}. Nothing has been spent"
        ) from error
    return journal


def _refuse_others(folder: Path) -> None:
    if any(path.name != TRANSCRIPT for path in folder.iterdir()):
        raise occupied(folder)


def _check_room(place: Path, folder: Path, expected_bytes: int) -> None:
    try:
        free = shutil.disk_usage(place).free
    except OSError as error:
        raise ReleaseFolderError(
            f"cannot tell how much room {folder} has: {error.strerror}. Choose another folder; nothing has been spent"
        ) from error
    if free < expected_bytes:
        raise ReleaseFolderError(
            f"the disk of {folder} has {free / 1e6:,.1f} MB free, the release needs about {expected_bytes / 1e6:,.1f} MB. "
            "Make room or choose another folder; nothing has been spent"
        )


def read_job(folder: Path) -> Job:
    """Read the public inputs of a release folder.

    Raises
    ------
    ReleaseFolderError
        If a file is missing or damaged.
    """
    plan = read_json(folder / PLAN)
    schema = Schema.from_json(read_json(folder / SCHEMA))
    output, statement = plan.get("output", {}), plan.get("statement", {})
    if not isinstance(output, dict) or not isinstance(statement, dict):
        raise ReleaseFolderError(f"{folder / PLAN} is damaged: output and statement must be JSON objects")
    return Job(
        read_plan(plan),
        schema,
        workload_from_json(read_json(folder / WORKLOAD), schema),
        output,
        statement,
    )
