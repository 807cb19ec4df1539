"""What the commands of all synopses share: their options, each with one meaning, and how they report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from dpopt.cli import options
from dpopt.cli.application import application
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.schema.schema import Schema
    from dpopt.synopses.release import Asked, Request
    from dpopt.synopses.synopsis import Synopsis

SchemaOption = Annotated[Path, typer.Option("--schema", help="Schema file (JSON). Public.")]
MaybeSchemaOption = Annotated[Path | None, typer.Option("--schema", help="Schema file (JSON). Public.")]
ColumnOption = Annotated[
    str | None, typer.Option("--column", help="Count the values of this column, declared in --schema.")
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns",
        help="Columns of the table, with commas between them (a comma in a name is written twice).",
    ),
]
CountsOption = Annotated[
    str | None,
    typer.Option(
        "--counts",
        help="In place of --column: the table has one row for each bin, in order, with its count in this column.",
    ),
]
OrderedOption = Annotated[
    bool,
    typer.Option(
        "--ordered", help="The declared values of a categorical column are ordered as they are listed."
    ),
]
AcceptDraftOption = Annotated[bool, typer.Option("--accept-draft", help="Use a drafted, unreviewed schema.")]
BinsOption = Annotated[
    str | None,
    typer.Option(
        "--bins", help="In place of a schema: the number of bins; for several columns as in 74x100."
    ),
]
OutOption = Annotated[Path, typer.Option("-o", "--out", help="New file (.npz) for the release.")]
NOption = Annotated[
    int | None,
    typer.Option(
        "--n",
        help="Number of records to plan for. Under replace it is public; under add-remove it is a guess, since a release "
        "measures the number (or takes that of --n0).",
    ),
]
N0Option = Annotated[
    int | None,
    typer.Option(
        "--n0",
        help="Under add-remove: a public number near that of the records, fixed without looking at the table. If left out,"
        " the number is measured with 1 % of the budget.",
    ),
]
PublicNOption = Annotated[
    int | None,
    typer.Option(
        "--n",
        help="Number of records, if it is public; the estimate then has this total. Not needed under replace.",
    ),
]
PredicateOption = Annotated[
    str,
    typer.Option(
        "--predicate",
        help="and (all conditions hold), or (at least one holds), or atleast:R (at least R hold).",
    ),
]
ConfidenceOption = Annotated[
    float, typer.Option("--confidence", help="Confidence level of the intervals or bounds, between 0 and 1.")
]
_SHOWN = 40  # characters of what was found

_Released = TypeVar("_Released", bound="Synopsis")


@dataclass(frozen=True)
class PlanOptions(options.SpendingOptions):
    """What every plan takes: the budget, and for whom it holds."""

    rows_per_person: options.RowsPerPersonOption = None
    accept_draft: AcceptDraftOption = False

    def request(self) -> Request:
        """Return what is asked."""
        from dpopt.synopses.release import Request

        spending = _part(self, options.SpendingOptions)
        reading = options.UnitOptions(self.rows_per_person).reading()
        return Request(**spending, reading=reading, accept_draft=self.accept_draft)


@dataclass(frozen=True)
class ReleaseOptions(options.ReadingOptions, options.PayingOptions, options.SpendingOptions):
    """What every release of a table takes: the budget, from where it is paid, and how the table is read."""

    accept_draft: AcceptDraftOption = False

    def asked(self, schema: Path | None = None) -> Asked:
        """Return what is asked; without a header line the columns are those of the schema, in order."""
        from dpopt.schema.schema import Schema

        declared: Schema | None = None
        if self.no_header:
            if schema is None:
                raise PlanError("--no-header: the columns are those of the schema, in order; give --schema")
            declared = Schema.read(schema)
        return {
            **_part(self, options.SpendingOptions),  # type: ignore[typeddict-item]  # the fields have the names of the keys
            "reading": self.reading(declared),
            "accept_draft": self.accept_draft,
            "budget": self.ledger(),
        }


@dataclass(frozen=True)
class TextReleaseOptions(options.TextOptions, options.PayingOptions, options.SpendingOptions):
    """What releases take whose rows follow no schema."""

    def asked(self, on_invalid: str = "error") -> Asked:
        """Return what is asked."""
        return {
            **_part(self, options.SpendingOptions),  # type: ignore[typeddict-item]  # as above
            "reading": self.text(on_invalid),
            "budget": self.ledger(),
        }


def _part(given: object, bundle: type[Any]) -> dict[str, Any]:
    return {one.name: getattr(given, one.name) for one in fields(bundle)}


def synopsis_group(name: str, about: str) -> typer.Typer:
    """Return the group of a kind's commands."""
    group = typer.Typer(help=about, no_args_is_help=True, pretty_exceptions_enable=False)
    application.add_typer(group, name=name)
    return group


def named_columns(text: str | None) -> tuple[str, ...] | None:
    """Return the columns of `--columns`: commas stand between names, two of them are one in a name."""
    if text is None:
        return None
    return tuple(name.replace("\0", ",").strip() for name in text.replace(",,", "\0").split(","))


def planned_shape(bins: str | None, columns: object, schema: object) -> tuple[int, ...] | None:
    """Return the numbers of bins of `--bins`, or none where columns of a schema are named.

    Raises
    ------
    PlanError
        If neither or both are given, or it is no number of bins.
    """
    from dpopt.synopses.histograms.counts_plan import whole_number

    if (bins is None) == (not columns) or (not columns) != (schema is None):
        raise PlanError("name the bins: --bins with their numbers, or columns and --schema")
    if bins is None:
        return None
    sides = bins.split("x")
    found = tuple(number for number in map(whole_number, sides) if number is not None)
    if len(found) < len(sides):
        raise PlanError(
            f"found --bins {bins[:_SHOWN]}; expected a number of bins for each column, as in 74x100"
        )
    return found


def make(out: Path, release: Callable[[Asked], _Released], asked: Asked) -> _Released:
    """Make a release, write it, and say what was spent."""
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.cli.reports.reports import print_spent
    from dpopt.releases.folder_files import check_new

    check_new(out)
    with TerminalProgress() as progress:
        made = release({**asked, "progress": progress})
        made.write(out)
    print_spent(made.privacy)
    return made


def opened(kind: type[_Released], file: Path) -> _Released:
    """Read a release; say so if it is not private."""
    from dpopt.cli.reports.reports import warn_if_not_private

    made = kind.read(file)
    warn_if_not_private(made.privacy)
    return made


def check_export(out: Path, *suffixes: str) -> None:
    """Refuse a name that says no form of file, or a file that is there.

    Raises
    ------
    PlanError
        If the name ends otherwise.
    ReleaseFolderError
        If there is such a file.
    """
    from dpopt.releases.folder_files import check_new

    if suffixes and out.suffix not in suffixes:
        raise PlanError(f"found the file {out.name}; expected a name that ends in {' or '.join(suffixes)}")
    check_new(out)


def say(text: str) -> None:
    """Print a line."""
    from dpopt.cli.reports.reports import console

    console().print(text)


def print_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None, fold: bool = False
) -> None:
    """Print a table; `fold` lets its first column have several lines."""
    from rich.table import Table

    from dpopt.cli.reports.reports import console

    table = Table(title=title, title_justify="left")
    for place, heading in enumerate(headings):
        table.add_column(heading, overflow="fold" if fold and place == 0 else "ellipsis")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def print_noise(headings: Sequence[str], rows: Iterable[Sequence[str]], *, gaussian: bool) -> None:
    """Print what a plan measures with how much noise."""
    print_table(headings, rows, title=f"measured with {'Gaussian' if gaussian else 'Laplace'} noise")


def answers_json(asked: Sequence[str], found: Sequence[Any]) -> list[dict[str, Any]]:
    """Return queries with their answers, as JSON."""
    return [{"query": text, **asdict(one)} for text, one in zip(asked, found, strict=True)]
