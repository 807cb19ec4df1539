"""The typer application, and how errors reach people: one message, no traceback."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, NoReturn, ParamSpec, TypeVar, get_type_hints

import typer
import typer.core

from dpopt.cli.shown_warnings import warnings_shown
from dpopt.errors import DpoptError, PrivateDataError

ORDER = (
    "demo",
    "schema",
    "budget",
    "plan",
    "release",
    "resume",
    "replay",
    "certify",
    "reweight",
    "evaluate",
    "histogram",
    "grid",
    "intervals",
    "halfspaces",
    "degrees",
    "sorted",
    "summary",
    "lists",
    "polynomial",
    "compare",
    "solvers",
)


class _InOrder(typer.core.TyperGroup):
    """Lists commands in the order of their use."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # typer's context is click's
        """Return the names of the commands."""
        return sorted(super().list_commands(ctx), key=ORDER.index)


application = typer.Typer(
    name="dpopt",
    cls=_InOrder,
    help="Release statistics and synthetic data from sensitive tables under differential privacy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def command(
    name: str, *, group: typer.Typer = application
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """Register a function as a command whose errors are shown as one message.

    A parameter whose type is a dataclass of options (`dpopt.cli.options`) stands for all of them.
    """

    def register(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        @functools.wraps(function)
        def guarded(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
            try:
                with warnings_shown():
                    return function(*args, **kwargs)
            except PrivateDataError as error:
                fail(
                    f"{error}\n(This message may quote the table: it is for its owner and is stored nowhere.)"
                )
            except DpoptError as error:
                fail(str(error))
            except KeyboardInterrupt:
                typer.echo("interrupted", err=True)
                raise typer.Exit(EXIT_INTERRUPTED) from None
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

        group.command(name)(_with_bundles_unfolded(guarded))
        return guarded

    return register


def _with_bundles_unfolded(function: Callable[..., _Result]) -> Callable[..., _Result]:
    """Return the function with one parameter for each option of its bundles, in the place of the bundle."""
    hints = get_type_hints(function, include_extras=True)
    bundles: dict[str, type[Any]] = {
        name: hint for name, hint in hints.items() if isinstance(hint, type) and is_dataclass(hint)
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        options = (
            _options_of(bundles[name])
            if name in bundles
            else [parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)]
        )
        parameters += options

    @functools.wraps(function)
    def folded(**given: Any) -> _Result:
        own: Mapping[str, Any] = {
            name: bundle(**{field.name: given.pop(field.name) for field in fields(bundle)})
            for name, bundle in bundles.items()
        }
        return function(**own, **given)

    folded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
    folded.__annotations__ = {one.name: one.annotation for one in parameters}
    return folded


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
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(EXIT_ERROR)
