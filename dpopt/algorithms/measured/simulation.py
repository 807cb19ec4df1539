"""Predicted error of a plan that measures: the plan, played on a public population instead of the table."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from math import exp, log, pi, sqrt
from statistics import NormalDist

import numpy as np

from dpopt.algorithms.measured.plan import MeasuredPlan
from dpopt.algorithms.prediction import AMPLE, CLOSED_FORM, LEAST_SCALE, PredictedError
from dpopt.public_random import permutation, public_stream
from dpopt.queries.sensitivity.clauses import count_sensitivity
from dpopt.queries.workloads.workload import Workload

RECORDS = 5_000
SWEEPS = 1
MOST_CLAUSES = 10_000
_EULER = 0.5772156649015329


def error_of_noise(plan: MeasuredPlan, queries: int) -> PredictedError:
    """Return the expected mean and about the expected largest of so many absolute noises, as shares of the size."""
    scale = plan.measurements[0].scale
    if plan.gaussian:
        mean = scale * sqrt(2 / pi)
        largest = scale * NormalDist().inv_cdf(1 - exp(-_EULER) / (2 * queries))
    else:
        mean, largest = scale, scale * (log(queries) + _EULER)
    return PredictedError(min(1.0, largest / plan.size), min(1.0, mean / plan.size), 0, queries, CLOSED_FORM)


def simulated_part(plan: MeasuredPlan, workload: Workload) -> tuple[Workload, MeasuredPlan]:
    """Return a public random part of very many clauses, and the plan that measures it with accordingly less noise."""
    if workload.marginals is not None or len(workload) <= MOST_CLAUSES:
        return workload, plan
    order = permutation(public_stream(0, "simulated queries"), len(workload))
    clauses = workload.clauses.take(np.sort(order[:MOST_CLAUSES]))
    bound = count_sensitivity(clauses, workload.schema.sizes, replaced=plan.replaced)
    sensitivity = bound.replace if plan.replaced else bound.add_remove
    measurements = tuple(
        replace(one, sensitivity=sensitivity, scale=one.scale * sqrt(len(clauses) / len(workload)))
        if one.attributes is None
        else one
        for one in plan.measurements
    )
    kept = {"ranks": workload.specification["ranks"]} if "ranks" in workload.specification else {}
    part = Workload(workload.schema, clauses, {"simulated_part_of": workload.fingerprint, **kept})
    return part, replace(plan, measurements=measurements)


def scaled_plan(plan: MeasuredPlan, rows: int) -> MeasuredPlan:
    """Return the plan for so many rows: the same noise in shares of the size, under a budget that covers everything."""
    factor = rows / plan.size
    selections = plan.selections
    if selections is not None:
        selections = replace(
            selections, step=selections.step / Decimal(factor), scale=max(LEAST_SCALE, selections.scale * factor)
        )
    measurements = tuple(
        replace(planned, scale=max(LEAST_SCALE, planned.scale * factor)) for planned in plan.measurements
    )
    fit = plan.fit
    if fit is not None:
        if fit.smoothing:
            fit = replace(fit, records=min(fit.records, RECORDS), sweeps=min(fit.sweeps, SWEEPS))
        # Without smoothing a fit goes on until it is near the counts; fewer records or sweeps would leave errors of their own.
        fit = replace(fit, columns=0, seconds=None)
    return replace(plan, size=rows, budget=AMPLE, measurements=measurements, selections=selections, fit=fit)
