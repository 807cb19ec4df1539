"""`dpopt bench`: solvers on the benchmark of best responses, and submissions to it, checked exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpopt.cli.application import application, command
from dpopt.cli.commands.compare import Running, instance_cases

bench_group = typer.Typer(
    help="Run solvers on the benchmark; check submissions.", no_args_is_help=True, pretty_exceptions_enable=False
)
application.add_typer(bench_group, name="bench")


@command("run", group=bench_group)
def run(
    *,
    names: Annotated[
        list[Path] | None, typer.Argument(help="Names of instances, files or folders; left out: the whole benchmark.")
    ] = None,
    running: Running,
) -> None:
    """Run solvers on the benchmark as `dpopt compare` does, with equal limits and a leaderboard."""
    from dpopt.comparison.instances import read_instance
    from dpopt.models.catalogue import instances

    whole = (file for file in instances().values() if "family" in read_instance(file).stated)
    running.show(lambda: instance_cases(names or [*whole]))


@command("check", group=bench_group)
def check(
    *,
    file: Annotated[Path, typer.Argument(help="JSON file: a record with its value, or multipliers with their bound.")],
    instance: Annotated[Path | None, "File of the instance (.toml), if it is not one of the catalogue."] = None,
) -> None:
    """Check a submitted record or bound in exact arithmetic; a wrong one is refused with the reason."""
    from dpopt.comparison.submissions import check_submission

    typer.echo("\n".join(check_submission(file, instance)))
