"""`dpopt.certify`: bounds for the rounds of a run, as a value; and the certifier that names stand for."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpopt.algorithms.after.certify import CertifiedRound, Certifier, certify_rounds, parse_rounds, summary
from dpopt.algorithms.replay import read_release
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.html_pages.shown import Shown
from dpopt.programs.results import SolveLimits
from dpopt.releases.kept_records import COLUMNS, round_rows
from dpopt.releases.progress import Progress, shown_progress, stage
from dpopt.releases.table_output import frame_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Certified(Shown):
    """Bounds of the rounds of a run (`release`), computed afterwards (`certified`, one for each); see `certify`."""

    release: SyntheticRelease
    certified: Sequence[CertifiedRound]

    def _said(self) -> list[str]:
        return [f"{len(self.certified)} of {len(self.release.played)} rounds"]

    @property
    def rounds(self) -> pd.DataFrame:
        """The rounds that were asked for, as `SyntheticRelease.rounds` has them, with these bounds and their seconds."""
        bounds = {one.round: one for one in self.certified}
        played = [one for one in self.release.played if one.sampled.round in bounds]
        return frame_of(round_rows(played, self.release.job.plan.solver, bounds), COLUMNS)

    @property
    def summary(self) -> Mapping[str, Any]:
        """Mean and largest gaps, in all and by third of the run, and the largest error that they allow."""
        return summary(self.release, self.certified)


def certifier_named(
    solver: str, formulation: str | None, limits: SolveLimits, *, lp_solver: str | None, lift: bool
) -> Certifier:
    """Return the bound's relaxation and solver, from names; refuse those that cannot run here."""
    from dpopt.releases.solver_choice import formulation_named, solver_with_duals
    from dpopt.solvers.registry import get_solver, require_available

    named = () if solver == "none" else solver.split(",")
    return Certifier(
        lp_solver=solver_with_duals(lp_solver),
        solvers=tuple(require_available(get_solver(name.strip())) for name in named),
        formulation=formulation_named(formulation),
        limits=limits,
        lift=lift,
    )


def certify(
    release: SyntheticRelease | str | os.PathLike[str],
    rounds: str | int | Sequence[int] = "all",
    *,
    solver: str = "cp-sat,gscip",
    formulation: str | None = None,
    seconds: float = 10.0,
    lp_solver: str | None = None,
    lift: bool = True,
    threads: int = 1,
    seed: int = 0,
    progress: Progress | bool | None = None,
) -> Certified:
    """Bound how far the record of each round of DualQuery is from the best one: proven exactly, and as solvers state it.

    Nothing is changed, and no privacy is spent.

    Parameters
    ----------
    release
        A run, or its folder; it may have been interrupted.
    rounds
        "all", a number from 1, several, or a text such as "1,5-9".
    solver, formulation, seconds, lp_solver, lift, threads, seed, progress
        As of the command `dpopt certify`, and of `dpopt.release`. Solvers by name, with commas; "none" for proven bounds alone.

    Raises
    ------
    DpoptError
        If a solver is unknown or cannot run here, or the run has no such rounds.

    Examples
    --------
    >>> import dpopt, numpy
    >>> schema, table = dpopt.Schema.binary(3), numpy.eye(3, dtype=int).repeat(300, axis=0)
    >>> asked = dpopt.DualQuery(rounds=4, draws=50, step=0.5)
    >>> made = dpopt.release(table, schema, "marginals:2", n0=900, algorithm=asked, predict=False)
    >>> found = dpopt.certify(made, [1, 4], solver="none")
    >>> found.rounds["round"].tolist(), found.summary["rounds_certified"]
    ([1, 4], 2)
    """
    progress = shown_progress(progress)
    limits = SolveLimits(seconds=seconds, threads=threads, seed=seed)
    certifier = certifier_named(solver, formulation, limits, lp_solver=lp_solver, lift=lift)
    run = release if isinstance(release, SyntheticRelease) else read_release(release)
    named = rounds if isinstance(rounds, str) else ",".join(map(str, [rounds] if isinstance(rounds, int) else rounds))
    wanted = parse_rounds(named, [played.sampled.round for played in run.played])
    with stage(progress, "certifying rounds"):
        done = certify_rounds(
            run, certifier, wanted, on_round=lambda so_far: progress.step(len(so_far), len(wanted), "round")
        )
    return Certified(run, done)
