"""Plans of DualQuery for several rounds, draws and steps: what each costs, how accurate it is, how long it runs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.dualquery.simulation import on_population
from dpopt.algorithms.options import DualQuery
from dpopt.algorithms.planned import Planned, planned_for
from dpopt.algorithms.prediction import ROWS
from dpopt.algorithms.registry import algorithm_of, options_named
from dpopt.algorithms.terms import Keywords, OtherKeywords, SweepKeywords
from dpopt.errors import DpoptError, PlanError
from dpopt.html_pages.shown import Shown, figure
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.selections.query_weights import ExactSampler
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.programs.solver import Solver
from dpopt.releases.job import Job
from dpopt.releases.progress import Progress, shown_progress, stage
from dpopt.releases.public_population.population import MOST_ATTRIBUTES, public_table
from dpopt.releases.run import Run, Sources, play_run
from dpopt.schema.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

    from dpopt.queries.workloads.workload import Workload

SWEPT = ("rounds", "draws", "step")
"""The options that take several values."""
MOST_PLANS, TIMED_ROUNDS = 200, 12
"""Plans of a sweep; rounds that are timed, of which the first, that compiles and loads, does not count."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sweep(Shown):
    """Plans of DualQuery side by side; see `sweep`.

    Attributes
    ----------
    plans : sequence of Planned
        Those that can be made, in the order of rounds, draws and step.
    rows : sequence of mapping
        A row for each combination: rounds, draws, step; epsilon by each accountant at delta, and rho; the proven and
        the predicted errors; seconds that the rounds take on this machine, judged by the first few on a public
        population; or why it was refused.
    """

    plans: Sequence[Planned]
    rows: Sequence[Mapping[str, Any]]

    def _said(self) -> list[str]:
        return [f"{len(self.plans)} of {len(self.rows)} plans"]

    def _rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        names = ("rounds", "draws", "step", "epsilon", "mean_error", "max_error", "seconds")
        return names, ([figure(row[name]) if row.get(name) is not None else "" for name in names] for row in self.rows)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a table."""
        import pandas as pd

        return pd.DataFrame(list(self.rows))


def sweep(
    schema: Schema | str | os.PathLike[str],
    workload: Workload | str | None = None,
    *,
    rounds: int | Sequence[int] | None = None,
    draws: int | Sequence[int] | None = None,
    step: float | str | Decimal | Sequence[float | str | Decimal] | None = None,
    n: int | None = None,
    progress: Progress | bool | None = None,
    **terms: Unpack[SweepKeywords],
) -> Sweep:
    """Plan DualQuery for each combination of rounds, draws and steps. Reads no record.

    Without a budget each plan costs what its numbers cost. With one, a number that is left out is fitted to it, and
    combinations that cost more are refused in their rows.

    Parameters
    ----------
    schema, workload, n, progress, **terms
        As of `dpopt.plan`.
    rounds, draws, step : number or sequence of numbers, optional
        T, s and eta.

    Raises
    ------
    DpoptError
        For what is wrong with every combination.

    Examples
    --------
    >>> import dpopt
    >>> found = dpopt.sweep(dpopt.Schema.binary(4), "marginals:2", rounds=[5, 9], draws=20, step=0.4, n0=1000)
    >>> [(row["rounds"], round(row["epsilon"], 2)) for row in found.rows]
    [(5, 0.04), (9, 0.09)]
    >>> found.to_pandas().seconds.max() < 60, found.plans[0].plan.rounds
    (True, 5)
    """
    progress = shown_progress(progress)
    several = [_listed(given) for given in (rounds, draws, step)]
    combinations = list(product(*several))
    if len(combinations) > MOST_PLANS:
        raise PlanError(f"found {len(combinations):,} combinations, expected at most {MOST_PLANS}; give fewer values")
    options, asked = _split(terms)
    plans: list[Planned] = []
    rows: list[dict[str, Any]] = []
    with stage(progress, "planning"):
        for number, numbers in enumerate(combinations, start=1):
            given = {name: value for name, value in zip(SWEPT, numbers, strict=True) if value is not None}
            try:
                named = options_named(DualQuery.algorithm, {**options, **given})
                plans.append(planned_for(schema, workload, n, named, Progress(), asked, runs=1))
                rows.append(_row(plans[-1], named.own_solver))
            except DpoptError as error:
                rows.append({**given, "refused": str(error)})
                if number == len(combinations) and not plans:
                    raise
            progress.step(number, len(combinations), ", ".join(f"{name} {value}" for name, value in given.items()))
    return Sweep(plans, rows)


def _listed(given: Any) -> list[Any]:
    if given is None or isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        return [given]
    if not len(given):
        raise PlanError("found an empty list of rounds, draws or steps; give at least one number")
    return list(dict.fromkeys(given))


def _split(terms: SweepKeywords) -> tuple[dict[str, Any], Keywords]:
    """Return the options of the algorithm among the terms, and the others."""
    options = {name: value for name, value in terms.items() if name in OtherKeywords.__annotations__}
    others: Any = {name: value for name, value in terms.items() if name not in options}
    return {name: value for name, value in options.items() if value is not None}, others


def _row(planned: Planned, solver: Solver | None) -> dict[str, Any]:
    plan, explained = DualQueryPlan.of(planned.plan), planned.explained
    predicted = explained["accuracy"]["predicted"] or {}
    return {
        "rounds": plan.rounds,
        "draws": plan.draws,
        "step": float(plan.step),
        **{name: explained[name] for name in ("epsilon", "delta", "rho")},
        **{f"epsilon_{row['accountant']}": row["epsilon"] for row in explained["accountants"]},
        "proven_error": explained["accuracy"]["proven"]["bound"],
        **{name: predicted.get(name) for name in ("mean_error", "max_error")},
        "seconds": seconds_of_rounds(planned, solver),
    }


class _Clock(Progress):
    """Notes when rounds end."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[float] = []

    def round(self, number: int, rounds: int, value: float) -> None:
        self.ends.append(time.perf_counter())


def seconds_of_rounds(planned: Planned, solver: Solver | None = None) -> float | None:
    """Return the seconds of all rounds of a plan on this machine, as the first ones take on a public population.

    Draws, best responses by the plan's own solver, and weights; without reading and counting the table. None for wide
    tables, of which no population is written, and for a single round.
    """
    plan, asked = DualQueryPlan.of(planned.plan), planned.request
    if plan.rounds < 2 or (asked.schema.is_binary and len(asked.schema) > MOST_ATTRIBUTES):
        return None
    played, clock = on_population(plan, rounds=min(plan.rounds, TIMED_ROUNDS)), _Clock()
    run = Run(_population(planned), sources=Sources(ExactSampler(SeededWords(1))), progress=clock, solver=solver)
    play_run(algorithm_of(played), Job(played, asked.schema, asked.workload, {}, {}), run)
    return float(np.median(np.diff(clock.ends))) * plan.rounds


def _population(planned: Planned) -> PrivateDataset:
    asked = planned.request
    return public_table(asked.workload, ROWS, seed=1, density=asked.terms.density)
