"""The shared parts of all synopses' commands: their options, each with one meaning, and their reports."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

import typer

from dpopt.cli import options
from dpopt.cli.application import command, command_group
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from rich.table import Table

    from dpopt.queries.ranges.bins import Bins
    from dpopt.schema.schema import Schema
    from dpopt.synopses.release import Request, RequestKeywords
    from dpopt.synopses.synopsis import Synopsis

SchemaOption = Annotated[Path, "Schema file (JSON). Public."]
MaybeSchemaOption = Annotated[Path | None, "Schema file (JSON). Public."]
ColumnOption = Annotated[str | None, "Count the values of this column, declared in --schema."]
ColumnsOption = Annotated[
    str | None, "Columns of the table, with commas between them (a comma in a name is written twice)."
]
CountsOption = Annotated[
    str | None, "Instead of --column: the table has one row for each bin, in order, with its count in this column."
]
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

_Result = TypeVar("_Result")
_Command: TypeAlias = Callable[..., _Result]
_Decorator: TypeAlias = Callable[[_Command[_Result]], _Command[_Result]]
Forms: TypeAlias = Mapping[str, Callable[[Any, Path], object]]
"""Writers of a release, by the end of the file's name."""


@dataclass(frozen=True)
class ReleaseBudgetOptions(options.PayingOptions, options.SpendingOptions):
    """Options of every release: the budget, and the file from which it is paid."""

    def keywords(self, schema: Path | None = None) -> RequestKeywords:
        """Return the keywords of the release; without a header line the columns are those of the schema, in order."""
        spent = {one.name: getattr(self, one.name) for one in fields(options.SpendingOptions)}
        return {**spent, "budget": self.ledger()}  # type: ignore[typeddict-item]  # the fields have the keys' names


@dataclass(frozen=True)
class PlanBudgetOptions(ReleaseBudgetOptions):
    """Options of every plan: the budget, and the file from which a release would be paid."""

    budget: Annotated[
        Path | None,
        "The owner's budget over many releases (a file of 'dpopt budget create') from which the release would be paid: "
        "it decides the noise. A plan charges nothing.",
    ] = None


@dataclass(frozen=True)
class PlanOptions(options.UnitOptions, PlanBudgetOptions):
    """Options of every plan for a table with a schema: the budget, and the relation for which it holds."""

    accept_draft: AcceptDraftOption = False

    def keywords(self, schema: Path | None = None) -> RequestKeywords:
        """Return the keywords of a release, without how its file is written."""
        return {**super().keywords(schema), "reading": self.reading(), "accept_draft": self.accept_draft}


@dataclass(frozen=True)
class PlanSizeOptions(PlanOptions):
    """The same where the number of records can be declared (--n0)."""

    n0_counted: options.N0CountedOption = False


@dataclass(frozen=True)
class BinOptions:
    """Which bins are planned for, in place of the names of columns or with these."""

    bins: Annotated[str | None, "Instead of a schema: the number of bins; for several columns such as 74x100."] = None
    schema: MaybeSchemaOption = None

    def axis(self, request: Request, column: str | None, *, in_order: bool = True) -> Bins:
        """Return the bins of one column."""
        axes = self.axes(request, () if column is None else (column,), in_order=in_order)
        if len(axes) != 1:
            raise PlanError(f"found --bins {self.bins}; give one number, or use 'dpopt grid' for several columns")
        return axes[0]

    def axes(self, request: Request, columns: tuple[str, ...], *, in_order: bool = True) -> tuple[Bins, ...]:
        """Return the bins of each column: those of --bins, or of columns of a schema."""
        from dpopt.queries.ranges.bins import Bins
        from dpopt.synopses.histograms.counts_plan import whole_number

        if (self.bins is None) == (not columns) or (not columns) != (self.schema is None):
            raise PlanError("name the bins: --bins with their numbers, or columns and --schema")
        if self.schema is not None:
            return request.declared_bins(self.schema, columns, in_order=in_order)
        found = [whole_number(side) for side in str(self.bins).split("x")]
        if None in found:
            raise PlanError(
                f"found --bins {str(self.bins)[:_SHOWN]}; expected a number of bins for each column, as in 74x100"
            )
        return tuple(Bins("bins", number or 0) for number in found)


@dataclass(frozen=True)
class TextReleaseOptions(options.TextOptions, ReleaseBudgetOptions):
    """Options of releases whose rows follow no schema."""

    def keywords(self, schema: Path | None = None) -> RequestKeywords:
        """Return the keywords of the release."""
        return {**super().keywords(schema), "reading": self.text()}


@dataclass(frozen=True)
class ReleaseOptions(options.ReadingOptions, ReleaseBudgetOptions):
    """Further options of every release of a table: how the table is read."""

    accept_draft: AcceptDraftOption = False

    def keywords(self, schema: Path | None = None) -> RequestKeywords:
        """Return the keywords of the release."""
        from dpopt.schema.schema import Schema

        declared: Schema | None = None
        if self.no_header:
            if schema is None:
                raise PlanError("--no-header: the columns are those of the schema, in order; give --schema")
            declared = Schema.read(schema)
        return {**super().keywords(schema), "reading": self.reading(declared), "accept_draft": self.accept_draft}


@dataclass(frozen=True)
class ReleaseSizeOptions(ReleaseOptions):
    """The same where the number of records can be declared (--n0)."""

    n0_counted: options.N0CountedOption = False


@dataclass(frozen=True)
class Output:
    """The output of a command: as JSON, or as lines and tables."""

    json: dict[str, Any]
    text: Sequence[str | Table]


@dataclass(frozen=True)
class Kind:
    """A kind of synopsis, with the group of its commands.

    A command is a function with the kind's own options. Its first parameter stands for what the command of every kind
    does before it: a plan is given what is asked (`Request`), a release its keywords (`RequestKeywords`), and what shows
    or exports a released file, the release that was read from it.
    """

    name: str
    """The name of the group."""
    about: str
    """Its help."""
    file_class: Callable[[], type[Synopsis]]
    """Imports the class of its files: the help loads none."""

    @functools.cached_property
    def group(self) -> typer.Typer:
        """The group of its commands."""
        return command_group(self.name, self.about)

    def plans(self, terms: type[PlanBudgetOptions] = PlanOptions) -> _Decorator[Output]:
        """Register `plan`, which shows what a release would measure; `terms` are the options of its budget."""

        def plan(function: _Command[Output], *, terms: PlanBudgetOptions, as_json: bool, **given: Any) -> None:
            from dpopt.synopses.release import Request

            _show(function(Request(**terms.keywords()), **given), as_json=as_json)

        return _registration("plan", self.group, plan, terms=terms, as_json=options.JsonOption)

    def releases(
        self, holds: Callable[[Any], str], terms: type[ReleaseBudgetOptions] = ReleaseOptions
    ) -> _Decorator[Synopsis]:
        """Register `release`, which makes and writes a release, and prints the spending.

        Parameters
        ----------
        holds
            Says what a release holds, once it is written.
        terms
            The options of its budget and of how its table is read.
        """

        def release(function: _Command[Synopsis], *, out: Path, terms: ReleaseBudgetOptions, **given: Any) -> None:
            from dpopt.cli.reports.progress import TerminalProgress
            from dpopt.cli.reports.reports import print_spent
            from dpopt.files.written_files import check_new

            keywords = terms.keywords(given.get("schema"))
            check_new(out)
            with TerminalProgress() as progress:
                made = function({**keywords, "progress": progress}, **given)
            made.write(out)
            say(f"verdict: {made.verdict}")
            print_spent(made.privacy)
            for line in made.solved_in_words():
                say(line)
            say(f"{holds(made)}; written to {out}")

        return _registration("release", self.group, release, out=OutOption, terms=terms)

    def shows(self, name: str, group: typer.Typer | None = None) -> _Decorator[Output]:
        """Register a command that shows something of a released file, such as `answer`."""

        def show(function: _Command[Output], *, file: Path, as_json: bool, **given: Any) -> None:
            _show(function(self.open(file), **given), as_json=as_json)

        return _registration(name, group or self.group, show, file=self._file, as_json=options.JsonOption)

    def exports(self, forms: str) -> _Decorator[Forms]:
        """Register `export`: the function returns writers, by the end of the file's name; `forms` is their help."""

        def export(function: _Command[Forms], *, file: Path, out: Path, **given: Any) -> None:
            from dpopt.files.written_files import check_new

            writers = function(**given)
            if out.suffix not in writers:
                raise PlanError(f"found the file {out.name}; expected a name that ends in {' or '.join(writers)}")
            check_new(out)
            writers[out.suffix](self.open(file), out)
            say(f"written to {out}")

        place: Any = Annotated[Path, "-o", "--out", forms]
        return _registration("export", self.group, export, file=self._file, out=place)

    def exports_json(self) -> None:
        """Register `export` of all that a release holds, for kinds without tables of their own."""

        def export() -> Forms:
            """Write the plan, the cost and the noisy numbers of a release as JSON. Costs no privacy."""
            return {".json": _write_json}

        self.exports("New file (.json).")(export)

    def open(self, file: Path) -> Any:
        """Read a release; say so if it is not private."""
        from dpopt.cli.reports.reports import warn_if_not_private

        made = self.file_class().read(file)
        warn_if_not_private(made.privacy)
        for note in made.notes():
            typer.echo(f"warning: {note.text}", err=True)
        return made

    @property
    def _file(self) -> Any:
        return Annotated[Path, typer.Argument(help=f"File of 'dpopt {self.name} release'.")]


def _registration(name: str, group: typer.Typer, run: Callable[..., None], **added: Any) -> _Decorator[_Result]:
    """Return a decorator that registers `run`, given a function, with that function's options and the added ones."""

    def register(function: _Command[_Result]) -> _Command[_Result]:
        @functools.wraps(function)
        def complete(**given: Any) -> None:
            run(function, **given)

        keyword = inspect.Parameter.KEYWORD_ONLY
        own = [one for one in inspect.signature(function).parameters.values() if one.kind is keyword]
        for option, kind in added.items():
            default = False if kind is options.JsonOption else inspect.Parameter.empty
            own.append(inspect.Parameter(option, keyword, default=default, annotation=kind))
        complete.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]  # what `command` reads
        complete.__annotations__ = {one.name: one.annotation for one in own}
        command(name, group=group)(complete)
        return function

    return register


def _write_json(released: Synopsis, path: Path) -> None:
    """Write all that a release holds as JSON, whole or not at all."""
    from dpopt.files.written_files import whole_file

    with whole_file(path) as stream:
        stream.write(json.dumps(released.to_json()).encode())


def _show(found: Output, *, as_json: bool) -> None:
    from dpopt.cli.commands.plan import print_json
    from dpopt.cli.reports.reports import console

    if as_json:
        print_json(found.json)
        return
    for part in found.text:
        console().print(part)


def named_columns(text: str | None) -> tuple[str, ...]:
    """Return the columns of `--columns`: commas stand between names, two of them are one in a name."""
    if text is None:
        return ()
    return tuple(name.replace("\0", ",").strip() for name in text.replace(",,", "\0").split(","))


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
    """Return the measurements of a plan with their noise."""
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


def box_answers(
    axes: Sequence[Bins], queries: Sequence[str] | None, error: str, answer: Callable[[str], object], confidence: float
) -> Output:
    """Return the answers to boxes of these columns; to the whole grid where nothing is asked."""
    asked = queries or [",".join(":" for _ in axes)]
    found, names = [answer(text) for text in asked], [bins.name for bins in axes]
    return Output(
        {"columns": names, "answers": answers_json(asked, found)},
        [interval_table(", ".join(names), error, asked, found, confidence)],
    )


def shares_table(headings: Sequence[str], asked: Sequence[str], rows: Iterable[Sequence[float | str]]) -> Table:
    """Return shares of records with their errors, or words, for the questions."""
    shown = [
        (text, *(one if isinstance(one, str) else f"{one:.4f}" for one in row))
        for text, row in zip(asked, rows, strict=True)
    ]
    return table_of(headings, shown, fold=True)


def answers_json(asked: Sequence[str], found: Sequence[Any]) -> list[dict[str, Any]]:
    """Return queries with their answers, as JSON."""
    return [{"query": text, **asdict(one)} for text, one in zip(asked, found, strict=True)]
