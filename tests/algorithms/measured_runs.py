"""Small plans and runs of the algorithms that measure counts; their budgets are exactly what they cost."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from dpopt.accounting.accountants import Accountant, columns_of
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.measured.plan import (
    NOISE,
    PROJECTION,
    WORKLOAD,
    FitPlan,
    MeasuredPlan,
    PlannedMeasurement,
    PlannedSelections,
)
from dpopt.algorithms.options import COUNTS, SELECTED
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.job import Job
from dpopt.releases.run import Sources
from dpopt.schema.schema import Schema
from tests.algorithms.small_runs import ADD_REMOVE, REPLACE, ROWS, SCHEMA
from tests.noises import NoNoise
from tests.scripted import ScriptedNoise

MEASURED = (NOISE, COUNTS, SELECTED)
"""Noise alone, and what records are projected onto."""
FIT = FitPlan(records=30, sweeps=2)
CLAUSES = "conjunctions:2,count=20,seed=3"


def named(what: str) -> dict[str, Any]:
    """Return the options of `release` that ask for it."""
    return {"algorithm": NOISE} if what == NOISE else {"algorithm": PROJECTION, "measure": what}


AMPLE_RHO = Budget(None, 1e-9, 1e9, Accountant.ZCDP)
AMPLE_EPSILON = Budget(1e9, 0.0, None, Accountant.PURE)
SELECTIONS = PlannedSelections(3, Decimal("0.5"), 3.0, ("max", "l1"), 1000)


def moved_by(workload: Workload, relation: NeighbouringRelation) -> int:
    """Return by how much a record moves the counts of a workload."""
    return Measurement(WORKLOAD, workload.queries, 1.0, gaussian=True).sensitivity(relation, workload.schema.sizes)


def exact_budget(plan: MeasuredPlan) -> MeasuredPlan:
    """Return the plan with a budget that one charge more would break."""
    charges = plan.charges()
    if plan.gaussian:
        return replace(plan, budget=Budget(None, 1e-9, columns_of(charges).rho(), Accountant.ZCDP))
    epsilon = columns_of(charges).epsilon(Accountant.PURE, 0.0)
    return replace(plan, budget=Budget(epsilon, 0.0, None, Accountant.PURE))


def measured_plan(
    what: str,
    *,
    text: str = "marginals:2",
    schema: Schema = SCHEMA,
    relation: NeighbouringRelation = REPLACE,
    gaussian: bool = True,
    size: int = ROWS,
    **changes: Any,
) -> MeasuredPlan:
    """Return a plan that measures the workload as a whole, after the one-way marginals where records are fitted."""
    one = 1 if relation is ADD_REMOVE else 2
    one_way = tuple(PlannedMeasurement(f"marginal {a}", (a,), one, 4.0) for a in range(len(schema)))
    sensitivity = moved_by(parse_workload(text, schema), relation)
    everything = () if what == SELECTED else (PlannedMeasurement(WORKLOAD, None, sensitivity, 3.5),)
    usual = MeasuredPlan(
        algorithm=NOISE if what == NOISE else PROJECTION,
        size=size,
        relation=relation,
        budget=AMPLE_RHO if gaussian else AMPLE_EPSILON,
        gaussian=gaussian,
        measurements=everything if what == NOISE else (*one_way, *everything),
        selections=SELECTIONS if what == SELECTED else None,
        fit=None if what == NOISE else FIT,
    )
    return exact_budget(replace(usual, **changes))


def measured_job(
    what: str,
    *,
    text: str = "marginals:2",
    schema: Schema = SCHEMA,
    output: dict[str, Any] | None = None,
    **changes: Any,
) -> Job:
    """Return the public inputs of a small run that measures."""
    plan = measured_plan(what, text=text, schema=schema, **changes)
    return Job(plan, schema, parse_workload(text, schema), output or {}, {"versions": {"dpopt": "test"}})


def noiseless(seed: int = 1) -> Sources:
    """Return sources without noise, and selections that a seed determines."""
    return Sources(noise=NoNoise(), words=SeededWords(seed))


def scripted(values: list[int], seed: int = 1) -> Sources:
    """Return sources whose noisy values are given, whatever the table."""
    return Sources(noise=ScriptedNoise(values), words=SeededWords(seed))
