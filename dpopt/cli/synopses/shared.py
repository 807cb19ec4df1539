"""What the commands of all synopses share: their options, each with one meaning, and how they report."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

import typer

from dpopt.cli import options
from dpopt.cli.application import application, command
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from rich.table import Table

    from dpopt.queries.ranges.bins import Bins
    from dpopt.schema.schema import Schema
    from dpopt.synopses.release import Asked, Request
    from dpopt.synopses.synopsis import Synopsis

SchemaOption = Annotated[Path, "Schema file (JSON). Public."]
MaybeSchemaOption = Annotated[Path | None, "Schema file (JSON). Public."]
ColumnOption = Annotated[str | None, "Count the values of this column, declared in --schema."]
ColumnsOption = Annotated[
    str | None, "Columns of the table, with commas between them (a comma in a name is written twice)."
]
CountsOption = Annotated[
    str | None, "In place of --column: the table has one row for each bin, in order, with its count in this column."
]
OrderedOption = Annotated[bool, "The declared values of a categorical column are ordered as they are listed."]
AcceptDraftOption = Annotated[bool, "Use a drafted, unreviewed schema."]
OutOption = Annotated[Path, "-o", "--out", "New file (.npz) for the release."]
NOption = Annotated[
    int | None,
    "Number of records to plan for. Under replace it is public; under add-remove it is a guess, since a release "
    "measures the number (or takes that of --n0). Where persons are protected, of rows that are counted.",
]
ReplaceNOption = Annotated[int | None, "Number of records, under replace."]
ConfidenceOption = Annotated[float, "Confidence level of the intervals or bounds, between 0 and 1."]
WholeOption = Annotated[bool, "For .csv: round the estimate to whole numbers."]
_SHOWN = 40  # characters of what was found

_Parameters = ParamSpec("_Parameters")
_Released = TypeVar("_Released", bound="Synopsis")


@dataclass(frozen=True)
class PlanOptions(options.UnitOptions, options.SpendingOptions):
    """What every plan takes: the budget, and for whom it holds."""

    accept_draft: AcceptDraftOption = False

    def request(self, *, n0_counted: bool = False) -> Request:
        """Return what is asked."""
        from dpopt.synopses.release import Request

        reading = self.reading(n0_counted=n0_counted)
        return Request(**spending(self), reading=reading, accept_draft=self.accept_draft)


@dataclass(frozen=True)
class PlannedBins:
    """Which bins are planned for, in place of the names of columns or with these."""

    bins: Annotated[str | None, "In place of a schema: the number of bins; for several columns as in 74x100."] = None
    schema: MaybeSchemaOption = None
    ordered: OrderedOption = False

    def axes(self, request: Request, columns: tuple[str, ...]) -> tuple[Bins, ...]:
        """Return the bins of each column: those of --bins, or of columns of a schema."""
        from dpopt.queries.ranges.bins import Bins
        from dpopt.synopses.histograms.counts_plan import whole_number

        if (self.bins is None) == (not columns) or (not columns) != (self.schema is None):
            raise PlanError("name the bins: --bins with their numbers, or columns and --schema")
        if self.schema is not None:
            return request.declared_bins(self.schema, columns, ordered=self.ordered)
        found = [whole_number(side) for side in str(self.bins).split("x")]
        if None in found:
            raise PlanError(
                f"found --bins {str(self.bins)[:_SHOWN]}; expected a number of bins for each column, as in 74x100"
            )
        return tuple(Bins("bins", number or 0) for number in found)


@dataclass(frozen=True)
class ReleaseOptions(options.ReadingOptions, options.PayingOptions, options.SpendingOptions):
    """What every release of a table takes: the budget, from where it is paid, and how the table is read."""

    accept_draft: AcceptDraftOption = False

    def asked(self, schema: Path | None = None, *, n0_counted: bool = False) -> Asked:
        """Return what is asked; without a header line the columns are those of the schema, in order."""
        from dpopt.schema.schema import Schema

        declared: Schema | None = None
        if self.no_header:
            if schema is None:
                raise PlanError("--no-header: the columns are those of the schema, in order; give --schema")
            declared = Schema.read(schema)
        return {
            **spending(self),  # type: ignore[typeddict-item]  # the fields have the names of the keys
            "reading": replace(self.reading(declared), n0_counted=n0_counted),
            "accept_draft": self.accept_draft,
            "budget": self.ledger(),
        }


@dataclass(frozen=True)
class TextReleaseOptions(options.TextOptions, options.PayingOptions, options.SpendingOptions):
    """What releases take whose rows follow no schema."""

    def asked(self, on_invalid: str = "error") -> Asked:
        """Return what is asked."""
        return {
            **spending(self),  # type: ignore[typeddict-item]  # as above
            "reading": self.text(on_invalid),
            "budget": self.ledger(),
        }


def spending(given: options.SpendingOptions) -> dict[str, Any]:
    """Return what may be spent, by name."""
    return {one.name: getattr(given, one.name) for one in fields(options.SpendingOptions)}


def synopsis_group(name: str, about: str) -> typer.Typer:
    """Return the group of a kind's commands."""
    group = typer.Typer(help=about, no_args_is_help=True, pretty_exceptions_enable=False)
    application.add_typer(group, name=name)
    return group


@dataclass(frozen=True)
class Shown:
    """What a command shows: as JSON, or as lines and tables."""

    json: dict[str, Any]
    text: Sequence[str | Table]


def showing(name: str, group: typer.Typer) -> Callable[[Callable[_Parameters, Shown]], Callable[_Parameters, Shown]]:
    """Register a command that returns what it shows; --json chooses the form."""

    def register(function: Callable[_Parameters, Shown]) -> Callable[_Parameters, Shown]:
        @functools.wraps(function)
        def shown(*, as_json: bool, **given: Any) -> None:
            from dpopt.cli.commands.plan import print_json
            from dpopt.cli.reports.reports import console

            found = function(**given)  # type: ignore[call-arg]  # keywords alone
            if as_json:
                print_json(found.json)
                return
            for part in found.text:
                console().print(part)

        own, keyword = inspect.signature(function), inspect.Parameter.KEYWORD_ONLY
        chosen = inspect.Parameter("as_json", keyword, default=False)
        shown.__signature__ = own.replace(parameters=[*own.parameters.values(), chosen])  # type: ignore[attr-defined]
        shown.__annotations__ = {**function.__annotations__, "as_json": options.JsonOption, "return": None}
        command(name, group=group)(shown)
        return function

    return register


def named_columns(text: str | None) -> tuple[str, ...]:
    """Return the columns of `--columns`: commas stand between names, two of them are one in a name."""
    if text is None:
        return ()
    return tuple(name.replace("\0", ",").strip() for name in text.replace(",,", "\0").split(","))


def make(out: Path, asked: Asked, release: Callable[[Asked], _Released], said: Callable[[_Released], str]) -> None:
    """Make a release, write it, and say what was spent and what it holds."""
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.cli.reports.reports import print_spent
    from dpopt.releases.folder_files import check_new

    check_new(out)
    with TerminalProgress() as progress:
        made = release({**asked, "progress": progress})
        made.write(out)
    print_spent(made.privacy)
    for line in made.solved_in_words():
        say(line)
    say(f"{said(made)}; written to {out}")


def opened(kind: type[_Released], file: Path) -> _Released:
    """Read a release; say so if it is not private."""
    from dpopt.cli.reports.reports import warn_if_not_private

    made = kind.read(file)
    warn_if_not_private(made.privacy)
    for note in made.notes():
        typer.echo(f"warning: {note.text}", err=True)
    return made


def export(
    kind: type[_Released], file: Path, out: Path, forms: Mapping[str, Callable[[_Released, Path], object]]
) -> None:
    """Write a release in the form that the name of a new file says."""
    from dpopt.releases.folder_files import check_new

    if out.suffix not in forms:
        raise PlanError(f"found the file {out.name}; expected a name that ends in {' or '.join(forms)}")
    check_new(out)
    forms[out.suffix](opened(kind, file), out)
    say(f"written to {out}")


def say(text: str) -> None:
    """Print a line."""
    from dpopt.cli.reports.reports import console

    console().print(text)


def table_of(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None, fold: bool = False
) -> Table:
    """Return a table; `fold` lets its first column have several lines."""
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for place, heading in enumerate(headings):
        table.add_column(heading, overflow="fold" if fold and place == 0 else "ellipsis")
    for row in rows:
        table.add_row(*row)
    return table


def noise_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, gaussian: bool) -> Table:
    """Return what a plan measures with how much noise."""
    return table_of(
        headings,
        rows,
        title=f"measured with {'Gaussian' if gaussian else 'Laplace'} noise{'' if gaussian else ', so the result is pure'}",
    )


def interval_table(heading: str, error: str, asked: Sequence[str], found: Sequence[Any], confidence: float) -> Table:
    """Return numbers of records, each with an error, which has a name in words, and an interval."""
    rows = [
        (
            text,
            f"{one.value:,.1f}",
            f"{one.standard_error if hasattr(one, 'standard_error') else one.bound:,.1f}",
            f"{one.low:,.1f} to {one.high:,.1f}",
        )
        for text, one in zip(asked, found, strict=True)
    ]
    return table_of((heading, "records", error, f"{100 * confidence:.12g}% interval"), rows)


def boxes_shown(
    axes: Sequence[Bins], queries: Sequence[str] | None, error: str, answer: Callable[[str], object], confidence: float
) -> Shown:
    """Return the answers to boxes of these columns; to the whole grid where nothing is asked."""
    asked = queries or [",".join(":" for _ in axes)]
    found, names = [answer(text) for text in asked], [bins.name for bins in axes]
    return Shown(
        {"columns": names, "answers": answers_json(asked, found)},
        [interval_table(", ".join(names), error, asked, found, confidence)],
    )


def shares_table(headings: Sequence[str], asked: Sequence[str], rows: Iterable[Sequence[float | str]]) -> Table:
    """Return shares of records with their errors, or words, for what was asked."""
    shown = [
        (text, *(one if isinstance(one, str) else f"{one:.4f}" for one in row))
        for text, row in zip(asked, rows, strict=True)
    ]
    return table_of(headings, shown, fold=True)


def answers_json(asked: Sequence[str], found: Sequence[Any]) -> list[dict[str, Any]]:
    """Return queries with their answers, as JSON."""
    return [{"query": text, **asdict(one)} for text, one in zip(asked, found, strict=True)]
