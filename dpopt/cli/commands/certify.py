"""`dpopt certify` and `dpopt reweight`: bounds for the rounds of a finished run, and weights of its records, afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dpopt.cli import options
from dpopt.cli.application import command, interrupted_exit
from dpopt.cli.commands.plan import print_json
from dpopt.cli.reports.declared import reading_now
from dpopt.cli.reports.reports import console, report_certified, report_errors
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.algorithms.after.certify import CertifiedRound
    from dpopt.algorithms.synthetic_release import SyntheticRelease


@command("reweight")
def reweight(
    *,
    folder: options.FolderArgument,
    out: Annotated[Path, "-o", "--out", "New or empty folder."],
    rows: Annotated[int | None, "Write this many rows without weights. Default: distinct records with weights."] = None,
    solver: Annotated[
        str | None,
        "Solver of the convex program with cones, such as clarabel, for small releases. Default: Newton's method.",
    ] = None,
    seconds: Annotated[float | None, "Time limit of --solver, in seconds. Default: none."] = None,
    table: Annotated[
        Path | None,
        "--evaluate",
        "Also compare the release before and after with this table. NOT private: the figures are shown and stored"
        " nowhere.",
    ] = None,
    reading: options.LayoutOptions,
) -> None:
    """Weight the records of a DualQuery release by maximum likelihood of its transcript. Costs no privacy.

    The release is never changed.
    """
    from dpopt.algorithms.after.reweighted_release import REWEIGHTING, reweight_release
    from dpopt.algorithms.release import read_again
    from dpopt.algorithms.release_folder import read_job
    from dpopt.cli.reports.progress import TerminalProgress

    if seconds is not None and solver is None:
        raise PlanError("--seconds is the time limit of --solver; give a solver, or leave the limit out")
    how = reading_now(lambda: read_job(folder), reading)
    if how is not None and table is None:
        raise PlanError(
            "--layout and what belongs to it say how the table of --evaluate is read; name one, or leave them out"
        )
    # First, so that nothing is written beside a table that cannot be read.
    dataset = None if table is None else read_again(read_job(folder), table, reading=how)
    with TerminalProgress() as progress:
        reweighted = reweight_release(folder, out, rows=rows, solver=solver, seconds=seconds, progress=progress)
    found, shown = reweighted.found, console()
    shown.print(
        f"log-likelihood of the draws: {found.before:.1f} with equal weights, {found.after:.1f} with these; at most "
        f"{found.gap:.2g} below the largest, proven"
    )
    if found.solver:
        shown.print(f"weights by {found.solver}")
    released = len(reweighted.release.records)
    shown.print(f"records: {reweighted.distinct:,} of the {released:,} distinct ones have a weight above 0")
    shown.print(f"written to {out}: the records, and {REWEIGHTING}. No privacy was spent")
    if dataset is not None:
        report_errors(*reweighted.errors(dataset))


@command("certify")
def certify(
    folder: options.FolderArgument,
    solver: Annotated[
        str,
        "Solvers that look for a bound and a better record if the proven bound leaves a gap, separated by commas. Each "
        "tries for an eighth of the time; the one with the smallest bound gets the rest. none: proven bounds only.",
    ] = "cp-sat,gscip",
    formulation: options.FormulationOption = None,
    seconds: Annotated[float, "Time limit of that search in each round, of all solvers together, in seconds."] = 10.0,
    rounds: Annotated[str, "--round-numbers", "Rounds to bound: all, or numbers and ranges such as 1,5-9."] = "all",
    lp_solver: Annotated[
        str | None,
        "Solver of linear programs, for the dual values of proven bounds. Default: the first available one. See"
        " 'dpopt solvers'.",
    ] = None,
    lift: Annotated[
        bool,
        "--lift/--no-lift",
        "If the relaxation leaves a gap, also solve a tighter and larger linear program (some seconds a round).",
    ] = True,
    threads: options.ThreadsOption = 1,
    seed: Annotated[int, "Seed of the search."] = 0,
    out: Annotated[
        Path | None,
        "-o",
        "--out",
        "JSON file of the bounds, written after every round, outside the release folder. If it exists it is "
        "continued: its proven bounds are trusted.",
    ] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Bound the gap between each round's record and the optimum, in exact arithmetic and by a solver.

    The release is never changed.
    """
    from dpopt.algorithms.after.certified import certifier_named
    from dpopt.algorithms.after.certify import certify_rounds, check_target, parse_rounds, report, write_rounds
    from dpopt.algorithms.replay import load
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.programs.results import SolveLimits

    if out is not None:
        check_target(out, folder)
    limits = SolveLimits(seconds=seconds, threads=threads, seed=seed)
    # Refuses what cannot run before anything is read.
    certifier = certifier_named(solver, formulation, limits, lp_solver=lp_solver, lift=lift)
    finished = load(folder)
    known = [] if out is None else _known(out, folder, finished)
    wanted = parse_rounds(rounds, [played.sampled.round for played in finished.played])
    done, interrupted, newly = list(known), False, 0
    left = len(certifier.left(wanted, known))
    with TerminalProgress(quiet=as_json, figure="mean gap") as progress:
        if len(wanted) > left:
            progress.note(f"{len(wanted) - left:,} rounds are in {out} and not done again")

        def show(so_far: list[CertifiedRound]) -> None:
            nonlocal newly
            done[:] = so_far
            if out is not None:
                write_rounds(out, folder, finished, so_far)
            newly += 1
            progress.round(newly, left, _mean_gap(so_far, finished))

        progress.begin("certifying rounds")
        try:
            certify_rounds(finished, certifier, wanted, known=known, on_round=show)
        except KeyboardInterrupt:
            interrupted = True
        progress.end("certifying rounds")
    if interrupted and out is not None and done:
        write_rounds(out, folder, finished, done)  # the interruption may have come between two steps
    shown = report(folder, finished, done)
    print_json(shown) if as_json else report_certified(shown)
    if interrupted:
        kept = f"its rounds are kept in {out}" if out is not None else "--out FILE.json would keep the rounds"
        interrupted_exit(f"interrupted after {len(done):,} rounds; {kept}")


def _known(out: Path, folder: Path, finished: SyntheticRelease) -> list[CertifiedRound]:
    """Return the rounds on file, validated by the run; errors name the file."""
    from dpopt.algorithms.after.certify import check_known, read_rounds

    try:
        known = read_rounds(out, folder)
        check_known(finished, known)
    except PlanError as error:
        if str(error).startswith(str(out)):
            raise
        raise PlanError(f"{out} cannot be continued: {error}. Move it away, or name another file with --out") from error
    return known


def _mean_gap(rounds: list[CertifiedRound], finished: SyntheticRelease) -> float:
    from dpopt.algorithms.dualquery.plan import DualQueryPlan

    gaps = [one.proven_bound - one.objective for one in rounds]
    return sum(gaps) / (len(gaps) * DualQueryPlan.of(finished.job.plan).draws)
