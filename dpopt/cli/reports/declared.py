"""A user's declarations of a table: a schema file, or the number of columns of a wide table; its layout."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpopt.errors import PlanError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpopt.algorithms.request import ReleaseRequest
    from dpopt.cli.options import LayoutOptions
    from dpopt.private.readers.table_reading import TableReading
    from dpopt.releases.job import Job
    from dpopt.schema.schema import Schema


def declared_schema(schema: Path | None, binary_columns: int | None = None, names: Path | None = None) -> Schema:
    """Return the schema that is declared: that of a file, or that of a wide table of zeros and ones."""
    from dpopt.schema.schema import Schema

    if (schema is None) == (binary_columns is None):
        found = "none" if schema is None else "both"
        raise PlanError(
            "give either --schema (a file that declares the attributes) or --binary-columns (the number of columns "
            f"of a wide table of zeros and ones); found {found}"
        )
    if binary_columns is None:
        if names is not None:
            raise PlanError("--names goes with --binary-columns; a schema file names its attributes itself")
        return Schema.read(schema)  # type: ignore[arg-type]  # one of the two is given
    return Schema.binary(binary_columns, None if names is None else names_of_columns(names))


def names_of_columns(path: Path) -> list[str]:
    """Return the names of the columns of a wide table: the lines of a text file, without blanks around them."""
    from dpopt.files.reading import read_text

    lines = read_text(path, f"--names {path}", SchemaError).split("\n")
    return [line.strip() for line in (lines[:-1] if lines[-1] == "" else lines)]


def reading_now(job_of: Callable[[], Job | ReleaseRequest], given: LayoutOptions) -> TableReading | None:
    """Return how the file of a wide table is read that is compared with a release; None: as the release read it.

    A layout stands with the options beside it, as for a new release. Without one, the options replace those of the
    release.
    """
    from dataclasses import fields, replace

    from dpopt.cli.options import LayoutOptions
    from dpopt.private.readers.table_reading import TableReading

    if given == LayoutOptions():
        return None
    job = job_of()
    if not job.schema.is_binary and given.no_header:
        raise PlanError(
            "--no-header: a release keeps whether its table has a header line; the option is for pairs (--layout) "
            "here, leave it out"
        )
    reading, usual = given.text(), TableReading()
    reading.check_against(job.schema)
    if reading.layout is not None:
        return reading
    kept = TableReading.from_json(job.statement.get("reading", {}))
    named = [field.name for field in fields(TableReading)]
    return replace(
        kept, **{name: getattr(reading, name) for name in named if getattr(reading, name) != getattr(usual, name)}
    )
