"""Small plans of pmw and mwem, whose budgets are exactly what they cost."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from dpopt.accounting.accountants import Accountant, columns_of
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.multiplicative_weights.plan import Learning, MultiplicativePlan
from dpopt.algorithms.options import QUERIES
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.job import Job
from dpopt.schema.schema import Schema
from tests.tiny_runs import REPLACE

LEARNING = Learning(replays=1, last_replays=3, records=50)


def multiplicative_plan(
    algorithm: str = "mwem",
    *,
    select: str = QUERIES,
    relation: NeighbouringRelation = REPLACE,
    gaussian: bool = True,
    size: int = 4,
    rounds: int = 2,
    alpha: float | None = None,
    learning: Learning = LEARNING,
) -> MultiplicativePlan:
    """Return a plan with a budget that one charge more would break."""
    ample = Budget(None, 1e-6, 1e9, Accountant.ZCDP) if gaussian else Budget(1e9, 0.0, None, Accountant.PURE)
    plan = MultiplicativePlan(
        algorithm=algorithm,
        size=size,
        relation=relation,
        budget=ample,
        gaussian=gaussian,
        select=select,
        rounds=rounds,
        step=Decimal("0.5"),
        scale=2.0,
        alpha=alpha,
        learning=learning,
    )
    if gaussian:
        return replace(plan, budget=Budget(None, 1e-6, columns_of(plan.charges()).rho(), Accountant.ZCDP))
    return replace(
        plan, budget=Budget(columns_of(plan.charges()).epsilon(Accountant.PURE, 0.0), 0.0, None, Accountant.PURE)
    )


def multiplicative_job(plan: MultiplicativePlan, schema: Schema, text: str = "marginals:2") -> Job:
    """Return the job of a plan on a workload."""
    return Job(plan, schema, parse_workload(text, schema), {"format": "csv", "rows": None}, {})
