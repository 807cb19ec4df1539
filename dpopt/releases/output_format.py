"""In which formats the records of a run can be written, and how much: refused before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpopt.errors import PlanError
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.plan import Plan
from dpopt.schema.schema import Schema

FORMATS = ("csv", "parquet", "npz", "baskets")
WIDE_FORMATS = ("npz", "baskets")
MOST_CELLS = 300_000_000
MOST_ONES = 1_000_000_000
WIDEST_TABLE = 10_000
"""Columns at most where each is written as a column of a table."""


def usual_format(schema: Schema, *, answers_only: bool) -> str:
    """Return the format where the user names none: npz for wide records of zeros and ones, else csv."""
    return "npz" if schema.is_binary and not answers_only else "csv"


def check_format(file_format: str, schema: Schema, *, answers_only: bool) -> None:
    """Refuse a format that does not suit the records.

    Raises
    ------
    PlanError
        With what to take instead.
    """
    if file_format in WIDE_FORMATS and answers_only:
        raise PlanError(
            f"--format {file_format} is for records, and this run releases answers: take csv or parquet"
        )
    if file_format in WIDE_FORMATS and not schema.is_binary:
        raise PlanError(
            f"--format {file_format} is for wide tables of zeros and ones (--binary-columns); take csv or parquet for this "
            "schema"
        )
    if (
        file_format not in WIDE_FORMATS
        and not answers_only
        and schema.is_binary
        and len(schema) > WIDEST_TABLE
    ):
        raise PlanError(
            f"--format {file_format} would write {len(schema):,} columns, more than the {WIDEST_TABLE:,} up to which "
            "that is of use; take npz (a sparse matrix, the default here) or baskets"
        )


def check_size(rows: int | None, output: Mapping[str, Any], columns: int, ones: int) -> None:
    """Refuse more rows than are written at once.

    Parameters
    ----------
    columns
        Columns of a record, as it is written.
    ones
        Ones of a record at most.

    Raises
    ------
    PlanError
        With the number and the limit.
    """
    if rows is None:
        return
    wide = output.get("format") in WIDE_FORMATS
    size, most, what = (rows * ones, MOST_ONES, "ones") if wide else (rows * columns, MOST_CELLS, "cells")
    if size > most:
        raise PlanError(
            f"{rows:,} rows of {columns:,} attributes are {'up to ' if wide else ''}{size:,} {what}, more than the {most:,} "
            "that are written at once. Ask for fewer rows: they repeat a few hundred records anyway"
        )


def most_ones(plan: Plan, workload: Workload, columns: int) -> int:
    """Return how many ones a record of zeros and ones has at most, by public values; what no query mentions may be 0."""
    queries = workload.queries
    literals = int(queries.widths().max()) if isinstance(queries, MarginalSet) else queries.width
    return plan.most_ones(columns, literals)
