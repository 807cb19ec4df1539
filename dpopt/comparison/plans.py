"""Plans of DualQuery for several rounds, draws and steps: cost, accuracy and running time of each."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Unpack

from dpopt.algorithms.dualquery.algorithm import DualQueryAlgorithm
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.planned import Planned, planned_for
from dpopt.algorithms.terms import Keywords
from dpopt.errors import DpoptError, PlanError
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.progress import Progress, shown_progress, stage
from dpopt.releases.table_output import frame_of
from dpopt.schema.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

MOST_PLANS = 200


def sweep(
    schema: Schema | str | os.PathLike[str],
    workload: Workload | str | None = None,
    *,
    over: Mapping[str, Sequence[Any]],
    n: int | None = None,
    progress: Progress | bool | None = None,
    **terms: Unpack[Keywords],
) -> pd.DataFrame:
    """Plan DualQuery for each combination of some values, and return a table with a line for each. Reads no record.

    Without a budget each plan costs what its rounds, draws and step cost. Columns: these three; epsilon at delta, rho,
    epsilon by each accountant; proven and predicted errors; seconds of the rounds here; why a combination was refused.

    Parameters
    ----------
    schema, workload, n, progress, **terms
        As of `dpopt.plan`.
    over : mapping of str to sequence
        Terms by name, each with several values: ``{"rounds": [50, 100], "step": [0.7, 1.4]}``.

    Raises
    ------
    DpoptError
        For what is wrong with every combination.

    Examples
    --------
    >>> import dpopt
    >>> asked = {"draws": 20, "step": 0.4, "n0": 1000}
    >>> found = dpopt.sweep(dpopt.Schema.binary(4), "marginals:2", over={"rounds": [5, 9]}, **asked)
    >>> found[["rounds", "epsilon", "epsilon_pure"]].round(2).values.tolist()
    [[5.0, 0.02, 0.08], [9.0, 0.05, 0.29]]
    """
    progress, number = shown_progress(progress), prod(map(len, over.values()))
    if not 0 < number <= MOST_PLANS:
        raise PlanError(f"found {number:,} combinations, expected 1 to {MOST_PLANS}")
    if twice := over.keys() & terms.keys():
        raise PlanError(f"found {', '.join(sorted(twice))} in over= and beside it; give each once")
    rows: list[dict[str, Any]] = []
    with stage(progress, "planning"):
        for values in product(*over.values()):
            given: Any = dict(zip(over, values, strict=True))
            try:
                rows.append(_row(planned_for(schema, workload, n, "dualquery", Progress(), {**terms, **given}, runs=1)))
            except DpoptError as error:
                rows.append({**given, "refused": str(error)})
                if len(rows) == number and all("refused" in row for row in rows):
                    raise
            progress.step(len(rows), number, ", ".join(f"{name} {value}" for name, value in given.items()))
    return frame_of(rows)


def _row(planned: Planned) -> dict[str, Any]:
    plan, explained, asked = DualQueryPlan.of(planned.plan), planned.explained, planned.request.terms
    predicted = explained["accuracy"]["predicted"] or {}
    return {
        "rounds": plan.rounds,
        "draws": plan.draws,
        "step": float(plan.step),
        **{name: explained[name] for name in ("epsilon", "delta", "rho")},
        **{f"epsilon_{row['accountant']}": row["epsilon"] for row in explained["accountants"]},
        "proven_error": explained["accuracy"]["proven"]["bound"],
        **{name: predicted.get(name) for name in ("mean_error", "max_error")},
        "seconds": DualQueryAlgorithm().seconds_of_rounds(
            plan, planned.request.workload, asked.algorithm, asked.density
        ),
    }
