"""What a user declares of a table: a schema file, or the number of columns of a wide table of zeros and ones; its layout."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpopt.errors import PlanError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpopt.algorithms.job import Job
    from dpopt.private.binary.reading import BinaryReading
    from dpopt.queries.schema import Schema


def declared_schema(
    schema: Path | None, binary_columns: int | None = None, names: Path | None = None
) -> Schema:
    """Return the schema that is declared: that of a file, or that of a wide table of zeros and ones.

    Raises
    ------
    PlanError
        If both or none are given, or names without a number of columns.
    SchemaError
        If what is declared is no schema.
    """
    from dpopt.queries.schema import Schema

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
    """Return the names of the columns of a wide table: the lines of a text file, without blanks around them.

    Raises
    ------
    SchemaError
        If the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise SchemaError(f"--names {path} cannot be read: {problem.strerror or problem}") from problem
    except UnicodeDecodeError as problem:
        raise SchemaError(f"--names {path} is no text in UTF-8 ({problem.reason}); convert it") from None
    lines = text.split("\n")
    return [line.strip() for line in (lines[:-1] if lines[-1] == "" else lines)]


def declared_reading(
    schema: Schema, layout: str | None, first_item: int | None, pair_columns: str | None, *, no_header: bool
) -> BinaryReading | None:
    """Return how the file of a wide table is read, None for another table.

    Raises
    ------
    PlanError, SchemaError
        If an option has another form, or is for wide tables and the table is none.
    """
    if not schema.is_binary:
        given = {"--layout": layout, "--first-item": first_item, "--pair-columns": pair_columns}
        wrong = [option for option, value in given.items() if value is not None]
        if wrong:
            raise PlanError(
                f"{' and '.join(wrong)}: for wide tables of zeros and ones, declared by --binary-columns; leave it "
                "out with a schema that lists attributes"
            )
        return None
    from dpopt.private.binary.reading import BinaryReading, Layout

    return BinaryReading(
        None if layout is None else Layout.named(layout),
        first_item,
        None if pair_columns is None else _two_numbers(pair_columns),
        not no_header,
    )


def reading_now(
    job_of: Callable[[], Job],
    layout: str | None,
    first_item: int | None,
    pair_columns: str | None,
    *,
    no_header: bool,
) -> BinaryReading | None:
    """Return how the file of a wide table is read that is held beside a release; None: as the release read it.

    A layout stands with the options beside it, as for a new release. Without one, the options replace what the release says.

    Raises
    ------
    PlanError, SchemaError
        If an option has another form, or is for wide tables and the release is of none.
    """
    if layout is None and first_item is None and pair_columns is None and not no_header:
        return None
    job = job_of()
    if not job.schema.is_binary and no_header:
        raise PlanError(
            "--no-header: a release keeps whether its table has a header line; the option is for pairs (--layout) here, leave "
            "it out"
        )
    given = declared_reading(job.schema, layout, first_item, pair_columns, no_header=no_header)
    if given is None or layout is not None:
        return given
    from dpopt.private.binary.reading import BinaryReading

    kept = BinaryReading.from_json(job.statement.get("reading", {}).get("binary", {}))
    return BinaryReading(
        kept.layout,
        kept.first_item if first_item is None else first_item,
        kept.pair_columns if pair_columns is None else given.pair_columns,
        kept.header and not no_header,
    )


def _two_numbers(text: str) -> tuple[int, int]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) < 7 for part in parts):
        raise PlanError(
            f"--pair-columns are the columns of user and item, from 1, such as 1,2; found {text!r}"
        )
    return int(parts[0]), int(parts[1])
