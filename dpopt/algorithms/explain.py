"""A plan explained from public values: totals by accountant, proven bounds, predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dpopt.accounting.accountants import COMPARED, Accountant, Composition, costs
from dpopt.accounting.budget import Budget
from dpopt.accounting.dualquery import MOST_ROUNDS, run_columns
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.accuracy import log_universe, parameters_for_accuracy, proven_error
from dpopt.algorithms.registry import algorithm_of
from dpopt.errors import AccountingError, PlanError
from dpopt.files.codec import encode
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.job import whole_cost
from dpopt.releases.plan import Plan, whole_number

_LARGEST_SIZE = 10**15


def explain(plan: Plan, workload: Workload, statement: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plan with its cost, its proven and predicted errors, the memory that it takes, and why it was chosen."""
    algorithm, charges = algorithm_of(plan), whole_cost(plan, statement, workload.schema)
    spent, needed = plan.budget.guaranteed(charges), algorithm.expected_memory(plan, workload)
    return {
        "plan": plan.to_json(),
        "queries": len(workload),
        "workload_fingerprint": workload.fingerprint,
        "neighbours": plan.budget.neighbours(plan.relation),
        "unit": plan.budget.unit,
        **{name: encode(spent)[name] for name in ("epsilon", "delta", "rho")},  # rho may be unbounded: null
        **algorithm.prices(plan, charges),
        "accuracy": {key: statement[key] for key in ("proven", "predicted")},
        **{key: statement[key] for key in ("declared", "assumed") if key in statement},
        "chosen": statement.get("chosen"),
        "memory": None
        if needed is None
        else {"bytes": needed.total, "items": dict(needed.items), "described": needed.describe()},
    }


def explain_accuracy(
    accuracy: float,
    confidence: float,
    workload: Workload,
    *,
    size: int,
    relation: NeighbouringRelation,
    epsilon: float,
    delta: float,
) -> dict[str, Any]:
    """Return the paper's parameters for a wanted accuracy, and their requirements: epsilon at n, and n at epsilon.

    Source: Gaboardi et al. 2014, Algorithm 2, Theorem 4.6, Remark 4.7.
    """
    Budget(epsilon, delta, None, Accountant.ZCDP).warned()  # refuses what is no budget
    size = whole_number("the public size", size, least=1)
    universe, queries, failure = (log_universe(workload.schema), len(workload), 1 - confidence)
    rounds, draws, step = parameters_for_accuracy(accuracy, failure=failure, queries=queries, log_universe=universe)
    if rounds > MOST_ROUNDS:
        raise PlanError(
            f"a largest error of {accuracy} needs T = {rounds:,} rounds of s = {draws:,} draws, more "
            f"than the {MOST_ROUNDS:,} rounds that are possible; ask for a larger error"
        )
    run = rounds, draws, float(step)
    at_size = costs(run_columns(*run, size, relation).epsilon, delta)
    for row, composition in zip(at_size, COMPARED, strict=True):

        def enough(size: int, accountant: Composition = composition, at: float = row["delta"]) -> bool:
            return run_columns(*run, size, relation).epsilon(accountant, at) <= epsilon

        row["size_needed"] = _size_needed(enough)
    return {
        "accuracy": accuracy,
        "confidence": confidence,
        "theorem": "DualQuery Theorem 4.6 with the parameters of Algorithm 2",
        "rounds": rounds,
        "draws": draws,
        "step": str(step),
        "solver_gap_allowed": accuracy / 4,
        "size": size,
        "neighbours": relation.describe(),
        "epsilon_wanted": epsilon,
        "accountants": at_size,
        "sharpened_bound_of_the_same_parameters": proven_error(
            rounds=rounds,
            draws=draws,
            step=float(step),
            queries=queries,
            log_universe=universe,
            failure=failure,
            solver_gap=accuracy / 4,
        ).bound,
    }


def _size_needed(enough: Callable[[int], bool]) -> int | None:
    """Return the least public size, to 0.01 per cent, that is enough; None if none up to 10**15 is, or there is no figure."""
    try:
        if not enough(_LARGEST_SIZE):
            return None
    except AccountingError:
        return None
    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
    while high - low > max(1, high // 10_000):
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
