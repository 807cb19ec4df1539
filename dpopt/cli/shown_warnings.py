"""How warnings on privacy reach people: each once, in a line of its own, whatever else is silenced."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import typer

from dpopt.errors import PrivacyWarning


@contextmanager
def warnings_shown() -> Iterator[None]:
    """Show warnings on privacy on the error stream, even of quiet commands; others take their usual way."""
    shown: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", PrivacyWarning)
        others = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not issubclass(category, PrivacyWarning):
                others(message, category, filename, lineno, file, line)
            elif str(message) not in shown:
                shown.add(str(message))
                typer.echo(f"warning: {message}", err=True)

        warnings.showwarning = show
        yield
