"""The smallest job of every algorithm, with a budget that one charge more would break."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

from dpopt.accounting.accountants import Accountant, columns_of
from dpopt.accounting.budget import Budget
from dpopt.algorithms.dualquery.plan import DualQueryPlan, OneWayMeasurement
from dpopt.algorithms.fem.plan import FemPlan
from dpopt.algorithms.measured.plan import (
    NOISE,
    PROJECTION,
    FitPlan,
    MeasuredPlan,
    PlannedMeasurement,
    PlannedSelections,
    PlannedStage,
)
from dpopt.algorithms.measured.stages import LEAST_BOUND
from dpopt.algorithms.options import MARGINALS, QUERIES, RESIDUALS, SELECTED
from dpopt.algorithms.request import ReleaseRequest, Terms
from dpopt.algorithms.small_database.algorithm import SmallDatabasePlan
from dpopt.files.codec import encode
from dpopt.queries.distances import UNIT
from dpopt.releases.job import Job
from dpopt.releases.plan import FreeAttributes
from dpopt.releases.values import ValuesPlan
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.multiplicative_runs import multiplicative_job, multiplicative_plan
from tests.tiny_runs import REPLACE, Table, bits_schema, conjunctions

SCHEMA = bits_schema(2)
TABLE: Table = ((0, 1), (1, 1), (1, 0), (0, 1))
AMPLE = Budget(None, 1e-6, 1e9, Accountant.ZCDP)


PLANS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "dualquery": (DualQueryPlan, {"rounds": 3, "draws": 2, "step": Decimal("0.5"), "attributes": 2, "work": 5}),
    "smalldb": (SmallDatabasePlan, {"records": 3, "selection_range": Decimal("1.5"), "reach": Decimal(2)}),
    RESIDUALS: (
        MeasuredPlan,
        {
            "algorithm": PROJECTION,
            "gaussian": True,
            "measurements": (),
            "stages": (
                PlannedStage("residuals up to order 1", 1, False, LEAST_BOUND, 2.0**21),
                PlannedStage("distances of order 2", 2, True, 4 * UNIT**2, 2.0 * UNIT),
                PlannedStage("residuals up to order 2", 2, False, LEAST_BOUND, 2.0**21),
            ),
            "fit": FitPlan(records=6, sweeps=1, snapshots=2, smoothing=None),
        },
    ),
    "fem": (
        partial(FemPlan, algorithm="fem", scale=1.0, kept_from=1, work=5),
        {"rounds": 2, "records": 2, "selection_range": Decimal("0.5")},
    ),
}


def plan_of(algorithm: str, **changes: Any) -> Any:
    """Return the tiny plan of an algorithm within an ample budget, changed as asked."""
    kind, usual = PLANS[algorithm]
    return kind(**{"size": len(TABLE), "relation": REPLACE, "budget": AMPLE, **usual, **changes})


def job_of(plan: Any) -> Job:
    """Return the job of a plan whose budget is exactly what it costs."""
    exact = replace(plan, budget=Budget(None, 1e-6, columns_of(plan.charges()).rho(), Accountant.ZCDP))
    measured = isinstance(plan, MeasuredPlan)
    workload = MARGINALS_OF_TWO if measured else CONJUNCTIONS
    return Job(exact, SCHEMA, workload, {"format": "csv", "rows": None}, {})


def coarse_plan() -> MeasuredPlan:
    """Return a tiny plan that measures residuals of coarse tables, too."""
    plan: MeasuredPlan = plan_of(RESIDUALS)
    coarse = PlannedStage("residuals of coarse tables", 2, False, LEAST_BOUND, 2.0**21)
    return replace(plan, stages=(plan.stages[0], coarse, *plan.stages[1:]))


CONJUNCTIONS = conjunctions(SCHEMA, "a", "!a b", "b")
MARGINALS_OF_TWO = multiplicative_job(multiplicative_plan(), SCHEMA).workload


def dualquery_job(rounds: int = 3, *, one_way: bool = False) -> Job:
    """Return a job of DualQuery, with or without one-way marginals."""
    rule = FreeAttributes.ESTIMATED if one_way else FreeAttributes.RANDOM
    measured = OneWayMeasurement(3.0, gaussian=True) if one_way else None
    return job_of(plan_of("dualquery", rounds=rounds, free_attributes=rule, one_way=measured))


def measured_job(what: str) -> Job:
    """Return a job of noise, or of projection onto counts or selected marginals."""
    one_way = tuple(PlannedMeasurement(f"marginal {a}", (a,), 2, 2.0) for a in range(2))
    everything = (PlannedMeasurement("workload", None, 2, 1.5),)
    plan = MeasuredPlan(
        algorithm=NOISE if what == NOISE else PROJECTION,
        size=len(TABLE),
        relation=REPLACE,
        budget=AMPLE,
        gaussian=True,
        measurements={NOISE: everything, PROJECTION: one_way + everything, SELECTED: one_way}[what],
        selections=PlannedSelections(2, Decimal("0.5"), 2.0, ("max", "l1"), 100) if what == SELECTED else None,
        fit=None if what == NOISE else FitPlan(records=6, sweeps=1),
    )
    return job_of(plan)


def asked_job() -> ReleaseRequest:
    """Return what is asked of a run that measures its number of records first."""
    settings = Terms.of(algorithm=NOISE, epsilon=1e3, delta=1e-6, predict=False)
    return ReleaseRequest(settings, SCHEMA, conjunctions(SCHEMA, "a", "b"))


NUMBERS = {"a": [True, False, True, False], "n": [0, 3, 7, 7]}
NUMERIC = Schema(
    (Attribute("a", AttributeKind.BOOLEAN), Attribute("n", AttributeKind.NUMERIC, edges=(0, 4, 8), integer=True))
)


def numbers_job() -> Job:
    """Return a job that measures numbers within bins, in two rounds, after its own."""
    plan = replace(plan_of("dualquery"), budget=Budget(None, 1e-6, 2e9, Accountant.ZCDP))
    values = ValuesPlan(0.5, ("n",), (0.01, 0.02), gaussian=True)
    workload = conjunctions(NUMERIC, "a", "!a")
    return Job(plan, NUMERIC, workload, {}, {"values": encode(values)})


JOBS: dict[str, Callable[[], Job]] = {
    "dualquery": dualquery_job,
    "dualquery with one-way marginals": lambda: dualquery_job(one_way=True),
    "fem": lambda: job_of(plan_of("fem")),
    NOISE: lambda: measured_job(NOISE),
    PROJECTION: lambda: measured_job(PROJECTION),
    SELECTED: lambda: measured_job(SELECTED),
    RESIDUALS: lambda: job_of(plan_of(RESIDUALS)),
    "coarse tables": lambda: job_of(coarse_plan()),
    "mwem, queries": lambda: multiplicative_job(multiplicative_plan(select=QUERIES), SCHEMA),
    "mwem, marginals": lambda: multiplicative_job(multiplicative_plan(select=MARGINALS), SCHEMA),
    "pmw": lambda: multiplicative_job(multiplicative_plan("pmw", alpha=1.0), SCHEMA),
    "smalldb": lambda: job_of(plan_of("smalldb")),
}
"""By the name that tests show."""
