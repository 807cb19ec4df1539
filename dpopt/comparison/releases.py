"""Whole releases of DualQuery compared: one plan and one public table, played by each solver with common random numbers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpopt.algorithms.planned import Planned, read_planned
from dpopt.algorithms.public_release import public_job, run_on_public
from dpopt.algorithms.release import read_again
from dpopt.algorithms.release_folder import read_job
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.errors import DpoptError, PlanError
from dpopt.html_pages.shown import Shown
from dpopt.programs.solver import Solver
from dpopt.releases.folder_files import TRANSCRIPT
from dpopt.releases.kept_records import round_rows
from dpopt.releases.progress import Progress, shown_progress, stage
from dpopt.releases.solver_choice import require_solver
from dpopt.releases.table_output import frame_of

if TYPE_CHECKING:
    import pandas as pd

    from dpopt.algorithms.request import ReleaseRequest
    from dpopt.releases.job import Job


@dataclass(slots=True, eq=False, repr=False)
class ReleaseComparison(Shown):
    """Releases of one public table by several solvers; see `compare_releases`. NOT private.

    Attributes
    ----------
    seed : int
        What all draws are a function of.
    rows : list of mapping
        For each solver the mean and the largest error of its records on the table; seconds of the whole run and of the
        solver; means per draw of what records are worth, of the proven bounds, and of the gaps to the proven or the
        solver's bound; in how many rounds there is no gap, and the fallback answered; or what failed.
    rounds, errors : list of mapping
        What each solver did in each round, as `SyntheticRelease.rounds` says it; errors after some numbers of rounds.

    Examples
    --------
    >>> import dpopt
    >>> found = dpopt.ReleaseComparison(seed=1)
    >>> len(found.to_pandas()), found.to_json()["private"]
    (0, False)
    """

    seed: int
    rows: list[Mapping[str, Any]] = field(default_factory=list)
    rounds: list[Mapping[str, Any]] = field(default_factory=list)
    errors: list[Mapping[str, Any]] = field(default_factory=list)

    def _said(self) -> list[str]:
        return [", ".join(str(row["solver"]) for row in self.rows), f"seed={self.seed}", "not private"]

    def to_pandas(self) -> pd.DataFrame:
        """Return a line for each solver."""
        return frame_of(self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return everything as a JSON object."""
        return {"dpopt_compare_releases": 1, "private": False, **asdict(self)}


def _add(
    found: ReleaseComparison, solver: str, made: SyntheticRelease, seconds: float, errors: Sequence[Mapping[str, float]]
) -> None:
    rounds = [{"compared": solver, **row} for row in round_rows(made.played, made.job.plan.solver)]
    row = {"solver": solver, **errors[-1], "seconds": seconds}
    row["solver_seconds"] = sum(one["seconds"] or 0.0 for one in rounds)
    for name in ("value", "proven_bound", "gap"):
        row[name] = sum(one[name] / one["draws"] for one in rounds) / len(rounds)
    row["without_gap"] = sum(one["gap"] == 0 for one in rounds)
    row["fallbacks"] = sum(one["fallback"] is not None for one in rounds)
    found.rows.append(row)
    found.rounds += rounds
    found.errors += [{"compared": solver, **one} for one in errors]


def compare_releases(
    plan: Planned | SyntheticRelease | str | os.PathLike[str],
    table: Any,
    solvers: str | Sequence[str | Solver],
    *,
    seconds: float | None = None,
    seed: int = 0,
    progress: Progress | bool | None = None,
) -> ReleaseComparison:
    """Release a public table by DualQuery with each of several solvers, all draws by common random numbers. NOT private.

    Parameters
    ----------
    plan : Planned, SyntheticRelease or path
        A plan of DualQuery (`dpopt.plan`) or its file, or a release or its folder: schema, workload, T, s and eta.
    table
        The table, read as the plan says. All figures are computed from it.
    solvers : str or sequence
        Names with commas, each with a formulation where it needs one ("local-search,cp-sat,highs:clique"), or a list of
        names and of objects with the methods of Solver.
    seconds : float, optional
        Time limit in each round; if left out 2 for exact solvers, and none for the local search.
    seed : int
        What all draws, and the solvers' own choices, are a function of: as long as records are equal, so are draws.
    progress : Progress or bool, optional
        As of `dpopt.release`.

    Raises
    ------
    DpoptError
        If the plan is not of DualQuery, or a solver is unknown or cannot run here.

    Examples
    --------
    >>> import dpopt, numpy
    >>> schema, table = dpopt.Schema.binary(3), numpy.eye(3, dtype=int).repeat(300, axis=0)
    >>> planned = dpopt.plan(schema, "marginals:2", n0=900, algorithm="dualquery", rounds=4, draws=50, step=0.5)
    >>> found = dpopt.compare_releases(planned, table, "local-search,highs", seed=1)
    >>> found.to_pandas().solver.tolist(), found.rounds[0]["value"] == found.rounds[4]["value"]
    (['local-search', 'highs'], True)
    """
    progress = shown_progress(progress)
    named = [one.strip() for one in solvers.split(",") if one.strip()] if isinstance(solvers, str) else list(solvers)
    labels = [one if isinstance(one, str) else one.name for one in named]
    if not named or len(set(labels)) < len(labels):
        raise PlanError("name solvers, each once, such as local-search,cp-sat,highs:clique; 'dpopt solvers' lists them")
    for one in named:
        require_solver(one)
    begun = _begun(plan)
    with stage(progress, "reading the table"):
        dataset = read_again(begun, table)
    job, found = public_job(begun, dataset), ReleaseComparison(seed)
    for label, one in zip(labels, named, strict=True):
        progress.note(f"solver {label}")
        try:
            _add(found, label, *run_on_public(job, dataset, one, seconds=seconds, seed=seed, progress=progress))
        except DpoptError as error:
            if label == labels[-1] and not found.rounds:
                raise
            found.rows.append({"solver": label, "failed": str(error)})
    return found


def _begun(plan: Planned | SyntheticRelease | str | os.PathLike[str]) -> Job | ReleaseRequest:
    if isinstance(plan, Planned):
        return plan.request
    if isinstance(plan, SyntheticRelease):
        return plan.job
    return read_job(Path(plan)) if (Path(plan) / TRANSCRIPT).exists() else read_planned(plan)
