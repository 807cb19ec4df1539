"""A job: the public inputs of a run, how its records are coded, and the formats in which they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Account, Ledger
from dpopt.errors import PlanError, SchemaError, WorkloadError
from dpopt.files.json_files import sha256_of_json
from dpopt.private.readers.binary.item_files import Items
from dpopt.private.readers.table_reading import TableReading
from dpopt.queries.counting.binary_columns import are_kept_as_bits
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.ledgers import reserved_ledger
from dpopt.releases.plan import Plan, whole_number
from dpopt.releases.values import ValuesPlan
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
    """Refuse a format that does not suit the records."""
    if file_format in WIDE_FORMATS and answers_only:
        raise PlanError(f"--format {file_format} is for records, and this run releases answers: take csv or parquet")
    if file_format in WIDE_FORMATS and not schema.is_binary:
        raise PlanError(
            f"--format {file_format} is for wide tables of zeros and ones (--binary-columns); take csv or parquet for "
            f"this schema"
        )
    if file_format not in WIDE_FORMATS and not answers_only and schema.is_binary and len(schema) > WIDEST_TABLE:
        raise PlanError(
            f"--format {file_format} would write {len(schema):,} columns, more than the {WIDEST_TABLE:,} up to which "
            "that is of use; take npz (a sparse matrix, the default here) or baskets"
        )


def check_size(rows: int | None, output: Mapping[str, Any], columns: int, ones: int) -> None:
    """Refuse more rows than are written at once; a record has `ones` ones at most."""
    if rows is None:
        return
    wide = output.get("format") in WIDE_FORMATS
    size, most, what = (rows * ones, MOST_ONES, "ones") if wide else (rows * columns, MOST_CELLS, "cells")
    if size > most:
        raise PlanError(
            f"{rows:,} rows of {columns:,} attributes are {'up to ' if wide else ''}{size:,} {what}, more than the "
            f"{most:,} that are written at once. Ask for fewer by --rows, or for distinct records by --weights"
        )


def most_ones(plan: Plan, workload: Workload, columns: int) -> int:
    """Return the most ones of a record of zeros and ones, by public values; columns that no query mentions can be 0."""
    queries = workload.queries
    literals = int(queries.widths().max()) if isinstance(queries, MarginalSet) else queries.width
    return plan.most_ones(columns, literals)


VALUES = "values"
"""Under this name a statement has the `ValuesPlan`."""
WEIGHTS_BECAUSE = "weights_because"
"""Under this name a statement says why weights are written though nobody asked for them."""
LEAST_BYTES = 4_000_000
"""Size of a release folder without transcript and records, generously."""


@dataclass(frozen=True, slots=True)
class Job:
    """The public inputs of a run, stored in its release folder."""

    plan: Plan
    schema: Schema
    workload: Workload
    output: Mapping[str, Any]
    """How the records are written: format; rows, None for distinct records with weights; and whether these rows are
    searched (releases of earlier versions are resampled)."""
    statement: Mapping[str, Any]
    """Statements of the release beyond the plan: whether a draft schema was accepted, proven and predicted accuracy,
    version."""

    def __post_init__(self) -> None:
        check_output(self.output)
        check_workload(self.workload, self.schema)
        if self.values is not None and self.answers_only:
            raise PlanError("numbers within bins are drawn for records, and this run releases none that have them")
        check_format(str(self.output.get("format", "csv")), self.schema, answers_only=self.answers_only)
        if self.output.get("format") == "baskets":
            self.items().separators()  # refuses names between which no separator can stand
        columns = len(self.schema.sizes)
        check_size(self.rows, self.output, columns, most_ones(self.plan, self.workload, columns))

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

    @property
    def rows(self) -> int | None:
        """The number of rows that are to be written; None for distinct records with weights."""
        rows = self.output.get("rows")
        return None if rows is None else int(rows)

    @property
    def searches_rows(self) -> bool:
        """Whether rows are searched, and not only resampled."""
        return self.output.get("searched") is True

    @property
    def answers_only(self) -> bool:
        """Whether the run releases answers and no records."""
        return self.plan.answers_only

    def items(self) -> Items:
        """Return the names of a wide table's columns where records are written as text: as the table was read."""
        reading = TableReading.from_json(self.statement.get("reading", {}))
        return Items.of(self.schema, reading.first_item)

    @property
    def values(self) -> ValuesPlan | None:
        """The measurements of numbers within bins; None if each bin stands for one number."""
        return _values(self.statement, self.schema)

    def charges(self) -> list[Charge]:
        """Return the whole cost; see `whole_cost`."""
        return whole_cost(self.plan, self.statement, self.schema)

    def ledger(self, account: Account | None) -> Ledger:
        """Return a ledger in which the whole plan is reserved, marked where the draws are seeded or scripted.

        `account` is from where a run is paid besides; None for a transcript that is read again.
        """
        ledger = reserved_ledger(self.plan.budget, self.plan.relation, self.charges(), account)
        if self.statement.get("not_private"):
            ledger.mark_not_private(str(self.statement["not_private"]))
        return ledger

    def expected_bytes(self) -> int:
        """Return about how many bytes the release folder will take, generously."""
        width = len(self.schema.sizes)
        written = width
        if are_kept_as_bits(self.schema.sizes):
            written = self.plan.bits_of_records(width, wide=self.schema.is_binary)
        transcript = self.plan.transcript_bytes(len(self.workload), written)
        if self.searches_rows:
            transcript *= 2  # fewer rows are searched than there are distinct records
        if self.answers_only:
            return LEAST_BYTES + transcript + 40 * len(self.workload)  # a line for each query, and no record
        records = self.rows or 1_000
        if self.schema.is_binary:
            most = min(self.rows or getattr(self.plan, "rounds", records), records)
            return LEAST_BYTES + transcript + most * 8 * most_ones(self.plan, self.workload, width)
        return LEAST_BYTES + transcript + records * 12 * width


def whole_cost(plan: Plan, statement: Mapping[str, Any], schema: Schema) -> list[Charge]:
    """Return the charges of a release: its plan, and numbers within bins if the statement has them, in order."""
    values = _values(statement, schema)
    return [*plan.charges(), *([] if values is None else values.charges(plan.relation))]


def _values(statement: Mapping[str, Any], schema: Schema) -> ValuesPlan | None:
    found = statement.get(VALUES)
    return None if found is None else ValuesPlan.from_json(found, schema)


def check_output(output: Mapping[str, Any]) -> None:
    """Refuse formats that the records cannot be written in, before anything is spent."""
    file_format = output.get("format", "csv")
    if file_format not in FORMATS:
        raise PlanError(f"the format is one of {', '.join(FORMATS)}; found {file_format!r}")
    if output.get("rows") is not None:
        whole_number("the number of rows", output["rows"], least=1)
    if output.get("searched") not in (None, True) or (output.get("searched") and output.get("rows") is None):
        raise PlanError(f"rows are searched where there are rows; found the output {dict(output)!r}")


def check_workload(workload: Workload, schema: Schema) -> None:
    """Refuse a workload that was made for another schema: its codes would mean other values."""
    if workload.schema.attributes == schema.attributes:
        return
    if workload.schema.is_binary and schema.is_binary:
        raise WorkloadError(
            f"the workload was made for another schema: {len(workload.schema):,} binary columns, and the schema has "
            f"{len(schema):,}, or their names differ. Make it with this schema"
        )
    pairs = zip_longest(workload.schema.attributes, schema.attributes)
    one, other = next((one, other) for one, other in pairs if one != other)
    names = " and ".join("nothing" if found is None else repr(found.name) for found in (one, other))
    raise WorkloadError(
        f"the workload was made for another schema; they differ first in the attributes {names}. Make it with this "
        f"schema"
    )


def refuse_unreviewed(schema: Schema, *, accepted: bool) -> None:
    """Refuse a drafted schema that nobody reviewed, unless the user accepts it; the release then records that."""
    if schema.draft and not accepted:
        raise SchemaError(
            "the schema is a draft made from private data and not reviewed: its values and bins may reveal records. "
            'Review it and set "draft": false in the file, or give --accept-draft; the release then says so'
        )
