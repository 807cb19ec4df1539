"""The release folder: plan, schema, workload, transcript, synthetic records, release.json; publishable at every instant.

Nothing private is ever written here: no timing of private stages, no path, no hash of the table, no rejected value, and under
add-remove not the true number of records. Files are written whole (temporary file, then rename); the transcript grows by lines.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from dpopt.algorithms.folder_files import (
    PLAN,
    RELEASE,
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
from dpopt.algorithms.plan import DualQueryPlan, whole_number
from dpopt.errors import PlanError, ReleaseFolderError, WorkloadError
from dpopt.queries.json_files import sha256_of_json
from dpopt.queries.schema import Schema
from dpopt.queries.workload import Workload, workload_from_json
from dpopt.transcript.journal import FileJournal

__all__ = [
    "PLAN",
    "RELEASE",
    "SCHEMA",
    "TRANSCRIPT",
    "WORKLOAD",
    "Job",
    "create_folder",
    "make_empty",
    "read_job",
    "read_json",
    "write_json",
]

FORMATS = ("csv", "parquet")


@dataclass(frozen=True, slots=True)
class Job:
    """What a release folder is about: the public inputs of a run.

    Attributes
    ----------
    plan : DualQueryPlan
    schema : Schema
    workload : Workload
    output : Mapping
        How the records are written: format, rows.
    statement : Mapping
        What the release says beside the plan: whether a draft schema was accepted, proven and predicted accuracy, version.

    Raises
    ------
    PlanError
        If the records cannot be written as `output` says.
    WorkloadError
        If the workload was made for another schema.
    """

    plan: DualQueryPlan
    schema: Schema
    workload: Workload
    output: Mapping[str, Any]
    statement: Mapping[str, Any]

    def __post_init__(self) -> None:
        check_output(self.output)
        check_workload(self.workload, self.schema)

    def fingerprint(self) -> str:
        """Return the SHA-256 of all public inputs; it stands in the transcript, so that later changes are noticed."""
        return sha256_of_json(
            {
                "plan": self.plan.to_json(),
                "schema": self.schema.to_json(),
                "workload": self.workload.to_json(),
                "output": dict(self.output),
                "statement": dict(self.statement),
            }
        )


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


def check_output(output: Mapping[str, Any]) -> None:
    """Refuse what the records cannot be written as, before anything is spent.

    Raises
    ------
    PlanError
        If the format is none of `FORMATS`, or the number of rows is no whole number of at least 1.
    """
    file_format = output.get("format", "csv")
    if file_format not in FORMATS:
        raise PlanError(f"the format is one of {', '.join(FORMATS)}; found {file_format!r}")
    if output.get("rows") is not None:
        whole_number("the number of rows", output["rows"], least=1)


def check_workload(workload: Workload, schema: Schema) -> None:
    """Refuse a workload that was made for another schema: its codes would mean other values.

    Raises
    ------
    WorkloadError
        With the first attribute that differs.
    """
    if workload.schema.attributes == schema.attributes:
        return
    pairs = zip_longest(workload.schema.attributes, schema.attributes)
    one, other = next((one, other) for one, other in pairs if one != other)
    names = " and ".join("nothing" if found is None else repr(found.name) for found in (one, other))
    raise WorkloadError(
        f"the workload was made for another schema; they differ first in the attributes {names}. Make it with this schema"
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
        DualQueryPlan.from_json(plan),
        schema,
        workload_from_json(read_json(folder / WORKLOAD), schema),
        output,
        statement,
    )
