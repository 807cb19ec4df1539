"""`dpopt schema infer`: draft a schema from a table, for its owner to review."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import application, command

schema_group = typer.Typer(help="Draft schemas.", no_args_is_help=True, pretty_exceptions_enable=False)
application.add_typer(schema_group, name="schema")


@command("infer", group=schema_group)
def infer(
    table: options.TableArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="Schema file to write.")],
    bins: Annotated[int, typer.Option("--bins", help="Bins per numeric column.")] = 10,
    max_values: Annotated[
        int, typer.Option("--max-values", help="Most distinct values of a categorical column.")
    ] = 200,
) -> None:
    """Draft a schema from TABLE. It is read off private data: review it before use."""
    from dpopt.cli.reports import console
    from dpopt.errors import SchemaError
    from dpopt.private.draft_schema import draft_schema

    if out.exists():
        raise SchemaError(f"{out} exists already; choose another name, so that no reviewed schema is lost")
    drafted, notes = draft_schema(table, bins=bins, max_values=max_values)
    drafted.write(out)
    shown = console()
    for note in notes:
        shown.print(f"note: {note}", markup=False)
    shown.print(
        f"{len(drafted)} attributes drafted in {out}. The draft is read off private data: values and bin edges may tell about "
        'records. Review it against what is publicly known, then set "draft": false in the file.',
        markup=False,
    )
