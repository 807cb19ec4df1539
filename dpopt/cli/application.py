"""The typer application, and how errors reach people: one message, no traceback."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

import typer
import typer.core

from dpopt.errors import DpoptError, PrivateDataError

ORDER = (
    "demo",
    "schema",
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
    """Register a function as a command whose errors are shown as one message."""

    def register(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        @functools.wraps(function)
        def guarded(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
            try:
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

        return group.command(name)(guarded)

    return register


def fail(message: str) -> NoReturn:
    """Show an error and leave."""
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(EXIT_ERROR)
