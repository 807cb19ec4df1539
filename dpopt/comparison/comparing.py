"""`dpopt.compare`: solvers on best responses and models, from Python; and contestants by the names that a user types."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dpopt.algorithms.replay import read_release
from dpopt.algorithms.synthetic_release import SyntheticRelease
from dpopt.comparison.compare import cases_from_instances, cases_of_rounds, contestant_named, run_comparison
from dpopt.comparison.parts import Case, Comparison, Contestant
from dpopt.errors import PlanError
from dpopt.models.model import Model
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveLimits
from dpopt.programs.solver import Solver
from dpopt.releases.folder_files import TRANSCRIPT
from dpopt.releases.progress import Progress, shown_progress, stage

SOLVERS = {False: "local-search,cp-sat,highs:per-literal", True: "closed-form,highs,clarabel"}
"""Solvers where none are named: of best responses, and of models."""

Posed = Model | MaxCsp | SyntheticRelease | str | os.PathLike[str]
"""Problems on which solvers are compared."""


def contestants_named(solvers: str | Sequence[str | Solver], *, models: bool = False) -> list[Contestant]:
    """Return the contestants of names with commas, or of a list of names and solvers."""
    given = [name for name in solvers.split(",") if name.strip()] if isinstance(solvers, str) else list(solvers)
    found = [contestant_named(one, models=models) for one in given]
    labels = [contestant.label for contestant in found]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise PlanError(f"--solvers names {', '.join(twice)} twice")
    if not labels:
        raise PlanError("--solvers names no solver; 'dpopt solvers' lists them")
    return found


def compare(
    problems: Posed | list[Posed] | tuple[Posed, ...],
    solvers: str | Sequence[str | Solver] | None = None,
    *,
    rounds: str | Sequence[int] = "all",
    seconds: float = 20.0,
    threads: int = 1,
    seed: int = 0,
    progress: Progress | bool | None = None,
) -> Comparison:
    """Run solvers on the same problems with equal limits. Values are evaluated again here, and bounds proven.

    Parameters
    ----------
    problems
        A model, weighted clauses, a run of DualQuery (its `rounds`) or its folder, a file or folder of instances; or
        several of one kind: best responses, or models.
    solvers : str or sequence, optional
        Names with commas, or a list of names and of objects with the methods of Solver: "cp-sat,highs:clique" for best
        responses, "closed-form,clarabel" for models.
    seconds, threads, seed
        Limits of each solver on each problem.

    Raises
    ------
    DpoptError
        If a problem or a solver is none.

    Examples
    --------
    >>> import dpopt
    >>> model = dpopt.models.isotonic_regression([14, 9, 10, 15], total=52)
    >>> found = dpopt.compare(model, "closed-form,clarabel", seconds=5)
    >>> found.to_pandas()[["solver", "value"]].round(3).values.tolist()
    [['closed-form', 9.0], ['clarabel', 9.0]]
    """
    progress = shown_progress(progress)
    listed = list(problems) if isinstance(problems, list | tuple) else [problems]
    named = rounds if isinstance(rounds, str) else ",".join(map(str, rounds))
    cases = [case for place, one in enumerate(listed, start=1) for case in _cases(one, named, place)]
    of_models = bool(cases) and isinstance(cases[0].problem, Model)
    if not cases or any(isinstance(case.problem, Model) is not of_models for case in cases):
        raise PlanError(f"found {'models and best responses together' if cases else 'no problem'}; compare on one kind")
    contestants = contestants_named(SOLVERS[of_models] if solvers is None else solvers, models=of_models)
    total, limits = len(cases) * len(contestants), SolveLimits(seconds=seconds, threads=threads, seed=seed)

    def show(so_far: Comparison) -> None:
        progress.step(len(so_far.rows), total, so_far.rows[-1].solver)

    with stage(progress, "comparing solvers"):
        return run_comparison(cases, contestants, limits, on_row=show)


def _cases(problem: Posed, rounds: str, place: int) -> list[Case]:
    if isinstance(problem, Model | MaxCsp):
        return [Case(f"{problem.name if isinstance(problem, Model) else 'best response'} {place}", problem)]
    if not isinstance(problem, SyntheticRelease | str | os.PathLike):
        raise PlanError(
            f"found a problem of type {type(problem).__name__}; expected a model, weighted clauses, a run of DualQuery or its "
            "folder, or a file or folder of instances"
        )
    if not isinstance(problem, SyntheticRelease) and not (Path(problem) / TRANSCRIPT).exists():
        return cases_from_instances([Path(problem)])
    return cases_of_rounds(problem if isinstance(problem, SyntheticRelease) else read_release(problem), rounds)
