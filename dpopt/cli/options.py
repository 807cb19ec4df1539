"""Options that several commands share, declared once.

The texts of an option are its flags, where they are not its name, and its help (`dpopt.cli.application.command`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.algorithms.terms import NEIGHBOURS, Delta, Epsilon, Rho
from dpopt.errors import PlanError
from dpopt.private.readers import reading_help as help_of

if TYPE_CHECKING:
    from dpopt.private.readers.table_reading import TableReading
    from dpopt.schema.schema import Schema
    from dpopt.transcript.budget_ledger import BudgetLedger

TableArgument = Annotated[Path, typer.Argument(help="CSV (also .gz) or Parquet file, or a folder of either. Private.")]
AnyTableArgument = Annotated[
    Path,
    typer.Argument(
        help="CSV (also .gz) or Parquet file, a folder of either, or a file of a wide table (--binary-columns, --layout). "
        "Private."
    ),
]
FolderArgument = Annotated[Path, typer.Argument(help="Release folder.")]
SchemaOption = Annotated[Path, "Schema file (JSON): the columns and their values. Public."]
DeclaredSchemaOption = Annotated[
    Path | None, "Schema file (JSON): the columns and their values. Public. This or --binary-columns."
]
BinaryColumnsOption = Annotated[
    int | None, "Use instead of a schema: the number of columns of zeros and ones (items). Public."
]
NamesOption = Annotated[Path | None, "Names of the binary columns, one on each line, in order. Public."]
LayoutOption = Annotated[str | None, help_of.LAYOUT]
WorkloadOption = Annotated[
    str | None,
    "The counts to keep accurate (queries). Default: the counts of all combinations of values of every three columns, or "
    "every two if three are too many (--details says why). Or: marginals:3, marginals:3,count=64,seed=1, "
    "conjunctions:3,count=500000,seed=7, threshold:2of4,count=100000,seed=7 (at least 2 of 4 hold), "
    "parity:3,count=100000,seed=7 (an odd number of 3 hold), popular:3,count=500000,seed=7,ranks=FILE (popular "
    "items more often), or a JSON file. ',occurring': only values declared as occurring. ',positive': only "
    "conjunctions without '!='. Public.",
]
PersonOption = Annotated[str | None, help_of.PERSON]
RowsPerPersonOption = Annotated[int | None, help_of.ROWS_PER_PERSON]
N0CountedOption = Annotated[bool, help_of.N0_COUNTED]
EngineOption = Annotated[
    str,
    "Where dpopt counts the records: memory, stream (in their files, for more rows than memory), dask:N (N local worker "
    "processes), or dask:ADDRESS (a cluster by TLS; without encryption: dask:tcp://HOST:PORT).",
]
NoHeaderOption = Annotated[
    bool,
    "The file has no header line: its columns are those of the schema, in order. For pairs: the first line is a pair.",
]
EncodingOption = Annotated[str | None, help_of.ENCODING]
BudgetOption = Annotated[
    Path | None,
    "File of 'dpopt budget create': the owner's budget over many releases, which pays for this one. Private.",
]
ThreadsOption = Annotated[int, "Threads that a solver may use."]
FormulationOption = Annotated[
    str | None,
    "How clauses become rows of a linear program: clique, per-literal or aggregated. Default: the tightest one.",
]
ModelSolverOption = Annotated[
    str | None,
    "--solver",
    "Solver of the optimization model that turns noisy values into the release; costs no privacy. Default: the model's "
    "closed form or dpopt's own method. `dpopt solvers` lists solvers.",
]
ModelSecondsOption = Annotated[
    float | None, "--seconds", "Time limit of --solver for each model, in seconds. Default: none."
]
DetailsOption = Annotated[bool, "Also show what dpopt chose by default, and why."]
JsonOption = Annotated[bool, "--json", "Print JSON instead of text."]


@dataclass(frozen=True)
class TextOptions:
    """How a text file is written: declared, never inferred: otherwise a record could decide it."""

    separator: Annotated[str | None, help_of.SEPARATOR] = None
    decimal: Annotated[str | None, help_of.DECIMAL] = None
    thousands: Annotated[str | None, help_of.THOUSANDS] = None
    encoding: EncodingOption = None
    multiline: Annotated[bool | None, help_of.MULTILINE] = None
    quotes: Annotated[bool | None, help_of.QUOTES] = None
    trim: Annotated[bool | None, help_of.TRIM] = None

    def text(self) -> TableReading:
        """Return the reading of the options, which have the names of its fields."""
        from dpopt.private.readers.table_reading import TableReading

        named = {one.name for one in fields(TableReading)} - {"pair_columns"}  # which options have as a text
        return TableReading(**{one.name: getattr(self, one.name) for one in fields(self) if one.name in named})


@dataclass(frozen=True)
class ReadingOptions(TextOptions):
    """How a table is read."""

    no_header: NoHeaderOption = False
    on_invalid: Annotated[str, help_of.ON_INVALID] = "error"
    person: PersonOption = None
    rows_per_person: RowsPerPersonOption = None

    def reading(self, schema: Schema | None = None) -> TableReading:
        """Return the reading of the options; without a header line the columns are those of the schema, in order."""
        names = None if schema is None or schema.is_binary or not self.no_header else schema.names
        given = self.text() if names is None else replace(self.text(), column_names=names, header=True)
        return given if schema is None else given.for_schema(schema)


@dataclass(frozen=True)
class LayoutOptions(TextOptions):
    """How the file of a wide table of zeros and ones is laid out, and how a text is written."""

    layout: LayoutOption = None
    first_item: Annotated[int | None, help_of.FIRST_ITEM] = None
    pair_columns: Annotated[str | None, help_of.PAIR_COLUMNS] = None
    no_header: NoHeaderOption = False

    def text(self) -> TableReading:
        """Return the reading of the options, with the layout."""
        pair = None if self.pair_columns is None else _two_numbers(self.pair_columns)
        return replace(super().text(), pair_columns=pair, header=not self.no_header)


@dataclass(frozen=True)
class AnyReadingOptions(LayoutOptions, ReadingOptions):
    """How a table is read that may be a wide table of zeros and ones."""

    n0_counted: N0CountedOption = False


@dataclass(frozen=True)
class SpendingOptions:
    """The budget, and the tables between which it holds."""

    epsilon: Epsilon = None
    delta: Delta = None
    rho: Rho = None
    neighbours: Annotated[str, NEIGHBOURS] = "add-remove"


@dataclass(frozen=True)
class ModelSolverOptions:
    """Who solves the models of a release, and in which time; names as in `dpopt.synopses.release.ModelKeywords`."""

    solver: ModelSolverOption = None
    seconds: ModelSecondsOption = None


@dataclass(frozen=True)
class UnitOptions:
    """The unit of privacy of a plan, which is made without a table."""

    person: PersonOption = None
    rows_per_person: RowsPerPersonOption = None

    def reading(self, layout: str | None = None, *, n0_counted: bool = False) -> TableReading:
        """Return how the planned table would be read; the name of its person column can be left out."""
        from dpopt.private.readers.table_reading import TableReading

        counted = n0_counted or getattr(self, "n0_counted", False)
        person = "person" if self.person is None and self.rows_per_person is not None else self.person
        return TableReading(layout, person=person, rows_per_person=self.rows_per_person, n0_counted=counted)


@dataclass(frozen=True)
class PayingOptions:
    """From where a release is paid, besides its own budget."""

    budget: BudgetOption = None

    def ledger(self) -> BudgetLedger | None:
        """Return the owner's budget over many releases, if one is named."""
        from dpopt.transcript.budget_ledger import BudgetLedger

        return None if self.budget is None else BudgetLedger(self.budget)


def _two_numbers(text: str) -> tuple[int, int]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) < 7 for part in parts):
        raise PlanError(f"--pair-columns are the columns of user and item, from 1, such as 1,2; found {text!r}")
    return int(parts[0]), int(parts[1])
