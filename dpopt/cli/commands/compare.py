"""`dpopt compare`, `bench` and `reproduce`: solvers on the same problems with equal limits; figures of papers again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import command, command_group, interrupted_exit
from dpopt.cli.commands.plan import print_json
from dpopt.cli.model_source import Numbers, Source, model_of
from dpopt.errors import PlanError, ReleaseFolderError

if TYPE_CHECKING:
    from dpopt.comparison.parts import Case, Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """Options of commands that run solvers: which ones, within which limits, and where the results go."""

    solvers: Annotated[
        str | None,
        "Solvers, for best responses each with a formulation where it needs one: local-search,cp-sat,highs:clique; for "
        "models: closed-form,clarabel,osqp. Default: local-search,cp-sat,highs:per-literal; for models "
        "closed-form,highs,clarabel.",
    ] = None
    seconds: Annotated[
        float | None,
        "Time limit of each solver on each problem, in seconds. Default: 20. With --public-table: of each round; default: 2 "
        "for exact solvers, none for the local search.",
    ] = None
    threads: options.ThreadsOption = 1
    seed: Annotated[int, "Seed of every solver."] = 0
    out: Annotated[
        Path | None,
        "-o",
        "--out",
        "New or empty folder for results.json, results.csv, leaderboard.md and performance_profile.png, kept up to date.",
    ] = None
    as_json: options.JsonOption = False

    def show(self, read_cases: Callable[[], list[Case]], *, of_models: bool = False) -> None:
        """Run the solvers on cases that are read after the options were checked; print and keep the results."""
        from dpopt.cli.reports.progress import TerminalProgress
        from dpopt.cli.reports.reports_compare import report_case, report_comparison
        from dpopt.comparison.compare import run_comparison
        from dpopt.comparison.comparing import SOLVERS, contestants_named
        from dpopt.comparison.parts import Comparison
        from dpopt.comparison.tables import PICTURE, to_json, write_results
        from dpopt.programs.results import SolveLimits
        from dpopt.releases.folder_files import make_empty

        seconds, out = 20.0 if self.seconds is None else self.seconds, self.out
        limits = SolveLimits(seconds=seconds, threads=self.threads, seed=self.seed)
        contestants = contestants_named(self.solvers or SOLVERS[of_models], models=of_models)
        check_out(out)
        cases = read_cases()
        if out is not None:
            make_empty(out)
        latest = Comparison(limits, tuple(contestant.label for contestant in contestants))
        total, interrupted = len(cases) * len(contestants), False
        stream = sys.stdout  # while bars are shown, what is printed goes where they are
        with TerminalProgress(quiet=self.as_json) as progress:

            def show(so_far: Comparison) -> None:
                nonlocal latest
                latest = so_far
                if out is not None:
                    write_results(out, so_far)
                progress.share(len(so_far.rows) / total)
                if not self.as_json and len(so_far.rows) % len(contestants) == 0:
                    report_case(so_far, so_far.facts[-1].name, None if stream.isatty() else stream)

            progress.begin("comparing solvers")
            try:
                run_comparison(cases, contestants, limits, on_row=show)
            except KeyboardInterrupt:
                interrupted = True
            progress.end("comparing solvers")
        if out is not None and latest.rows:
            from dpopt.cli.pictures import draw_profiles

            write_results(out, latest)  # an interruption may have come between two steps
            draw_profiles(latest, out / PICTURE)
        print_json(to_json(latest)) if self.as_json else report_comparison(latest)
        if interrupted:
            kept = f"; they are kept in {out}" if out is not None else ""
            done = len(latest.rows)
            what = f"after {done} of {total} rows{kept}" if done else "before the first row was done: nothing is kept"
            interrupted_exit(f"interrupted {what}")
        if out is not None and not self.as_json:
            typer.echo(f"written to {out}")


@command("compare")
def compare(
    *,
    instances: Annotated[
        list[Path] | None,
        typer.Argument(help="Instances of best responses: names, files *.toml, or folders with some at any depth."),
    ] = None,
    transcript: Annotated[
        Path | None,
        "--release",
        "Instead of instances: a finished release of dualquery, whose rounds are the problems.",
    ] = None,
    rounds: Annotated[str, "--round-numbers", "Rounds of the release: all, or 1,10,20-25."] = "all",
    models: Annotated[
        str | None,
        "--model",
        "Instead of instances: models by name (`dpopt model list`), such as tree_consistency,projection. "
        "With --data or --histogram: one.",
    ] = None,
    numbers: Numbers,
    public_table: Annotated[
        Path | None,
        "--public-table",
        "A table that is public: whole releases of it are compared, by the plan of --release or --plan, all draws by the "
        "same random numbers of --seed. NOT private.",
    ] = None,
    plan: Annotated[
        Path | None, "With --public-table, instead of --release: a plan of dualquery ('dpopt plan -o')."
    ] = None,
    running: Running,
) -> None:
    """Run solvers on the same best responses or models with equal limits, each in a process of its own.

    The exceptions: a closed form runs in this one, and so does a third-party solver that asks for no other.

    Values are re-evaluated exactly; a crash, a hang or a false claim of a solver is marked in its row.
    """
    if public_table is not None or plan is not None:
        others = bool(instances or models or rounds != "all") or running.threads != 1 or numbers != Numbers()
        _compare_releases([] if others else [transcript, plan], public_table, running)
    else:
        running.show(lambda: _cases(instances or [], transcript, rounds, models, numbers), of_models=models is not None)


USUAL = "local-search,cp-sat,highs:clique"
"""Solvers of whole releases, where none are named."""


def _compare_releases(plans: Sequence[Path | None], table: Path | None, running: Running) -> None:
    """Release a public table by one plan with each solver; print the results, and write them with a picture."""
    from dpopt.cli.pictures import draw_releases
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.cli.reports.rows import print_rows, write_rows
    from dpopt.comparison.releases import compare_releases
    from dpopt.releases.folder_files import make_empty, write_json

    named, out, seed = [one for one in plans if one is not None], running.out, running.seed
    if table is None or len(named) != 1:
        raise PlanError("--public-table goes with --release or --plan, one of them, and no other problems or --threads")
    check_out(out)
    with TerminalProgress(quiet=running.as_json) as progress:
        solvers = running.solvers or USUAL
        found = compare_releases(named[0], table, solvers, seconds=running.seconds, seed=seed, progress=progress)
    if out is not None:
        make_empty(out)
        write_json(out / "results.json", found.to_json())
        write_rows(found.rows, out / "results.csv", lambda rows, path: None)
        draw_releases(found.rounds, found.errors, out / "releases.png")
    title = f"releases of a public table, seed {seed}: NOT private; value, bound and gap are means per draw"
    print_json(found.to_json()) if running.as_json else print_rows(found.rows, title=title)


def check_out(out: Path | None) -> None:
    """Refuse a folder that holds something, or lies at or below a release."""
    from dpopt.releases.folder_files import check_empty

    if out is not None:
        check_outside_releases(out)
        check_empty(out)


def check_outside_releases(out: Path) -> None:
    """Refuse a place at or below a release, which replay compares byte for byte."""
    from dpopt.releases.folder_files import PLAN, TRANSCRIPT, WORKLOAD

    place = out.resolve()
    for folder in (place, *place.parents):
        begun = (folder / PLAN).exists() and (folder / WORKLOAD).exists()
        if begun or (folder / TRANSCRIPT).exists():
            raise ReleaseFolderError(
                f"{out} lies in the release folder {folder}, which replay compares byte for byte. Name a place elsewhere"
            )


def instance_cases(places: list[Path]) -> list[Case]:
    """Return the instances of names, files and folders, and report files that a folder leaves out."""
    from dpopt.comparison.compare import cases_from_instances

    return cases_from_instances(places, note=lambda text: typer.echo(text, file=sys.stderr))


def _cases(
    instances: list[Path], transcript: Path | None, rounds: str, models: str | None, numbers: Numbers
) -> list[Case]:
    from dpopt.algorithms.replay import read_release
    from dpopt.comparison.compare import cases_of_rounds

    given = [bool(instances), transcript is not None, models is not None]
    if sum(given) != 1:
        what = "not both" if any(given) else "none was found"
        raise PlanError(
            "give instances (files *.toml or folders of them), or --release with a release folder, or --model with "
            f"names of models, and {what}"
        )
    if models is not None:
        return _cases_of_models([name.strip() for name in models.split(",") if name.strip()], numbers)
    if numbers != Numbers():
        raise PlanError("--data and --histogram belong to --model; name one")
    if transcript is not None:
        return cases_of_rounds(read_release(transcript), rounds)
    return instance_cases(instances)


def _cases_of_models(names: list[str], numbers: Numbers) -> list[Case]:
    from dpopt.comparison.parts import Case

    if len(set(names)) < len(names) or not names:
        raise PlanError("--model names a model twice" if names else "--model names no model")
    if numbers != Numbers() and len(names) > 1:
        raise PlanError(f"--data and --histogram are for one model; found {', '.join(names)}")
    sources = [Source(name=name, data=numbers.data, histogram=numbers.histogram) for name in names]
    return [Case(source.name, model_of(source)) for source in sources]


bench_group = command_group("bench", "Run solvers on the benchmark; check submissions.")


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


@command("reproduce")
def reproduce(
    *,
    name: Annotated[str | None, typer.Argument(help="Paper and place, such as dualquery:figure3.")] = None,
    every: Annotated[bool, "--list", "List all names; also without a name."] = False,
    full: Annotated[
        bool, "Measure on the paper's tables (folder DPOPT_DATA), for hours if need be, in place of tiny made-up data."
    ] = False,
    out: Annotated[Path | None, "-o", "--out", "New or empty folder for README.md, results.json and pictures."] = None,
) -> None:
    """Repeat a figure, a table or a theorem of a paper: its words, our figures on file, and a run made now."""
    from dpopt.comparison.papers import reproduce as repeated

    typer.echo(repeated(None if every else name, full=full, out=out))
