"""The typer application, and how errors reach people: one message, no traceback."""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Annotated, Any, NoReturn, ParamSpec, TypeVar, get_args, get_type_hints

import typer
import typer.core

from dpopt.algorithms.options import AUTO, Option, Options
from dpopt.algorithms.registry import OPTIONS, options_named
from dpopt.arguments import plain_number
from dpopt.errors import DpoptError, DpoptWarning, PrivateDataError, named_as_in


@contextmanager
def warnings_shown() -> Iterator[None]:
    """Show warnings on privacy on the error stream, even of quiet commands; others take their usual way."""
    shown: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", DpoptWarning)
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, DpoptWarning):
                others(message, category, *where, **more)
            elif str(message) not in shown:
                shown.add(str(message))
                typer.echo(f"warning: {message}", file=sys.stderr)

        warnings.showwarning = show
        yield


ORDER = (
    "demo", "schema", "budget", "plan", "release", "resume", "replay", "certify", "reweight", "evaluate", "answer", "report",
    "inspect",
    "count", "histogram", "prefixes", "grid", "intervals", "halfspaces", "degrees", "sorted", "summary", "lists", "polynomial",
    "studio", "model", "compare", "bench", "reproduce", "solvers",
)  # fmt: skip
"""Commands in the order of their use."""


class _InOrder(typer.core.TyperGroup):
    """Lists commands in the order of their use."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # typer's context is click's
        """Return the names of the commands."""
        return sorted(super().list_commands(ctx), key=ORDER.index)


PANELS: Mapping[str, tuple[str, ...]] = {
    "How the table is read": (
        "separator",
        "decimal",
        "thousands",
        "encoding",
        "multiline",
        "quotes",
        "trim",
        "no_header",
    ),
    "Persons with several rows (--person/--rows-per-person)": ("person", "rows_per_person", "n0_counted"),
    "Wide tables of zeros and ones": ("binary_columns", "names", "density", "layout", "first_item", "pair_columns"),
    "How privacy is counted": ("rho", "neighbours", "accountant", "n0", "public_table"),
    "DualQuery by its paper": ("accuracy", "confidence_of_error"),
    "Solver": ("solver", "work", "seconds", "seed"),
    "How the run goes on": ("engine", "timings", "log", "quiet"),
}
"""Options that are shown apart from the others, in every command that has them."""
ALWAYS_SHOWN = ("Solver",)
HELP_ALL = "--help-all"


@dataclass(frozen=True)
class NamedAlgorithm:
    """The algorithm of a command line: its name, and the options that are given, whichever algorithm has them.

    A command with a parameter of this type has `--algorithm` and the options of every algorithm; its help shows those
    of the one that is named.
    """

    name: str
    given: Mapping[str, Any]

    def options(self) -> Options:
        """Return the options of the algorithm; raises as `dpopt.algorithms.registry.options_named`."""
        return options_named(self.name, self.given)


SWEPT = ("rounds", "draws", "step")
"""Options that take several numbers with commas between them, for plans side by side; other commands refuse a list."""


def _options_of_algorithms() -> dict[str, tuple[Any, Option]]:
    """Return the options of all algorithms by name, with type and meaning in the first that has them."""
    found: dict[str, tuple[Any, Option]] = {}
    for kind in OPTIONS.values():
        found = {**kind.known, **found}
    return found


class _OfAnAlgorithm(typer.core.TyperCommand):
    """A command whose help shows the options that most releases need, and those of the algorithm that is named.

    `--help-all` shows also the panels for tables, accounting and runs of other kinds; never options of other
    algorithms.
    """

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # as above
        """Note which algorithm is named, wherever help is asked for."""
        named = [word.partition("=")[2] for word in args if word.startswith("--algorithm=")]
        named += [word for before, word in itertools.pairwise(args) if before == "--algorithm"]
        ctx.meta[_OfAnAlgorithm.__name__] = named[-1] if named else AUTO
        ctx.meta[HELP_ALL] = HELP_ALL in args
        return super().parse_args(ctx, ["--help" if word == HELP_ALL else word for word in args])

    def format_help(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]  # as above
        """Print the help without the options of other algorithms."""
        asked, every = ctx.meta[_OfAnAlgorithm.__name__], self.params
        kind = OPTIONS.get(asked, OPTIONS[AUTO])
        own, of_others = kind.known, _options_of_algorithms()
        self.params, left_out = [], set()
        for parameter in every:
            shown: Any = copy.copy(parameter)
            if parameter.name in own:
                shown.help, shown.default = own[parameter.name][1].text, getattr(kind(), parameter.name)
                shown.rich_help_panel = f"Options of {kind.algorithm}"
            panel = getattr(shown, "rich_help_panel", None)
            apart = panel in PANELS and panel not in ALWAYS_SHOWN and not ctx.meta[HELP_ALL]
            if parameter.name in own or (parameter.name not in of_others and not apart):
                self.params.append(shown)
            elif parameter.name not in of_others:
                left_out.add(str(panel))
        try:
            super().format_help(ctx, formatter)
            if left_out:
                titles = [
                    title if title.startswith("DualQuery") else title[0].lower() + title[1:]
                    for title in PANELS
                    if title in left_out
                ]
                typer.echo(f" {HELP_ALL} shows more options: {'; '.join(titles)}.\n")
        finally:
            self.params = every


application = typer.Typer(
    name="dpopt",
    cls=_InOrder,
    help="Release statistics and synthetic data from sensitive tables under differential privacy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def command_group(name: str, about: str) -> typer.Typer:
    """Return a new group of commands of this name, with its help."""
    group = typer.Typer(help=about, no_args_is_help=True, pretty_exceptions_enable=False)
    application.add_typer(group, name=name)
    return group


EXIT_ERROR = 2
EXIT_INTERRUPTED = 130

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def command(
    name: str, *, group: typer.Typer = application
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Register a function as a command whose errors are shown as one message.

    Options are declared in texts (`_as_option`). A parameter whose type is a dataclass of options (`dpopt.cli.options`)
    stands for all of them, and one whose type is `NamedAlgorithm` for the options of all algorithms.
    """

    def register(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        @functools.wraps(function)
        @named_as_in("shell")
        def guarded(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
            try:
                with warnings_shown():
                    return function(*args, **kwargs)
            except PrivateDataError as error:
                fail(f"{error}\n(This message may quote the table: it is for its owner and is stored nowhere.)")
            except DpoptError as error:
                fail(str(error))
            except KeyboardInterrupt:
                interrupted_exit("interrupted")
            except BrokenPipeError:
                sys.stderr.close()
                raise typer.Exit(EXIT_ERROR) from None
            except MemoryError:
                fail("not enough memory; take a smaller workload, or more memory")
            except OSError as error:
                fail(f"{error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
            except (typer.Exit, typer.Abort):
                raise
            except Exception as error:
                if os.environ.get("DPOPT_TRACEBACK"):
                    raise
                fail(
                    f"internal error ({type(error).__name__}). This is a defect of dpopt: please report it. "
                    "Set DPOPT_TRACEBACK=1 to see where it happened (the trace may quote the table)"
                )

        unfolded = _with_bundles_unfolded(guarded)
        of_an_algorithm = "algorithm" in inspect.signature(unfolded).parameters
        group.command(name, cls=_OfAnAlgorithm if of_an_algorithm else None)(unfolded)
        return guarded

    return register


def _with_bundles_unfolded(function: Callable[..., _Result]) -> Callable[..., _Result]:
    """Return the function with one parameter for each option of its bundles, in the place of the bundle."""
    hints = get_type_hints(function, include_extras=True)
    bundles: dict[str, type[Any]] = {
        name: hint
        for name, hint in hints.items()
        if isinstance(hint, type) and is_dataclass(hint) and hint is not NamedAlgorithm
    }
    algorithms = [name for name, hint in hints.items() if hint is NamedAlgorithm]
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in algorithms:
            parameters += _of_algorithms(name)
        elif name in bundles:
            parameters += _options_of(bundles[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
    parameters = [_as_option(parameter) for parameter in parameters]

    @functools.wraps(function)
    def folded(**given: Any) -> _Result:
        own: dict[str, Any] = {
            name: bundle(**{field.name: given.pop(field.name) for field in fields(bundle)})
            for name, bundle in bundles.items()
        }
        for name in algorithms:
            said = {option: given.pop(option) for option in _options_of_algorithms()}
            chosen = {option: value for option, value in said.items() if value is not None}
            own[name] = NamedAlgorithm(given.pop(name), chosen)
        return function(**own, **given)

    folded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
    folded.__annotations__ = {one.name: one.annotation for one in parameters}
    return folded


def _of_algorithms(name: str) -> list[inspect.Parameter]:
    """Return the parameters of `--algorithm` and of every option of every algorithm; None if not given."""
    named = typer.Option(
        "--algorithm",
        help=f"{AUTO} (the least predicted mean error), {', '.join(list(OPTIONS)[1:-1])}, or {list(OPTIONS)[-1]} (answers "
        "without records). With --help the options of the named one are shown.",
    )
    keyword = inspect.Parameter.KEYWORD_ONLY
    found = [inspect.Parameter(name, keyword, default=AUTO, annotation=Annotated[str, named])]
    for option, (hint, meaning) in _options_of_algorithms().items():
        kinds = get_args(hint) or (hint,)
        kind: Any = next((one for one in (bool, str, int, float) if one in kinds), str)
        declared = typer.Option(f"--{option.replace('_', '-')}", help=meaning.text)
        if option in SWEPT:
            declared.parser, declared.metavar = _list_of(kind), "NUMBER[,...]"
        typed = Annotated[kind | None, declared]
        found.append(inspect.Parameter(option, keyword, default=None, annotation=typed))
    return found


def _as_option(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter as typer reads it: an option that is declared in texts, flags and help, becomes one of typer's.

    `seconds: Annotated[float, "Time limit."]` is `--seconds`; `Annotated[Path, "-o", "--out", "New file."]` names its
    flags.
    """
    kind, *meant = get_args(parameter.annotation)
    texts = [text for text in meant if isinstance(text, str)]
    option = copy.copy(meant[-1])
    if texts:
        flags = texts[:-1] or [f"--{parameter.name.replace('_', '-')}"]
        option = typer.Option(*flags, help=texts[-1])
    number = next((one for one in (float, int) if one in (get_args(kind) or (kind,))), None)
    if number is not None and isinstance(option, typer.models.OptionInfo) and option.parser is None:
        option.parser, option.metavar = _number_of(number), {float: "FLOAT", int: "INTEGER"}[number]
    panel = next((title for title, names in PANELS.items() if parameter.name in names), None)
    if panel is not None:
        option.rich_help_panel = panel
    return parameter.replace(annotation=Annotated[kind, option])


def _number_of(kind: type[float | int]) -> Callable[[str], float]:
    """Return a parser of an option's number; for other text it tells the found value, and what to write."""

    def number(text: str) -> float:
        try:
            return kind(text)
        except ValueError:
            what = "a whole number such as 10000" if kind is int else "a number such as 1.5"
            plain = plain_number(text.strip(), whole=kind is int)
            hint = "" if plain is None else f": write {plain}"
            raise typer.BadParameter(f"found {text!r}, expected {what}{hint}") from None

    return number


def _list_of(kind: type[Any]) -> Callable[[str], Any]:
    """Return a parser of one number of an option, or of a list of them from a text with commas."""
    one = _number_of(kind) if kind is int else str.strip
    return lambda text: [one(part) for part in text.split(",")] if "," in text else one(text)


def _options_of(bundle: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(bundle, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(bundle)
    ]


def fail(message: str) -> NoReturn:
    """Show an error and leave."""
    typer.echo(f"error: {message}", file=sys.stderr)
    raise typer.Exit(EXIT_ERROR)


def interrupted_exit(message: str) -> NoReturn:
    """Say what an interruption has left, and leave."""
    typer.echo(message, file=sys.stderr)
    raise typer.Exit(EXIT_INTERRUPTED) from None
