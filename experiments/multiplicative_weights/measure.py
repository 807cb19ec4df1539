"""One release in memory: its errors, rounds and seconds."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from dpopt.algorithms.multiplicative_weights.plan import MultiplicativePlan
from dpopt.algorithms.registry import plan_of
from dpopt.algorithms.request import Terms
from dpopt.algorithms.run_release import run_release
from dpopt.algorithms.stating import plan_statement
from dpopt.private.evaluation import non_private_errors
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.counting.answers import Answers, RecordAnswers
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.job import Job
from dpopt.schema.schema import Schema

Result = dict[str, Any]


def measure(dataset: PrivateDataset, schema: Schema, workload: Workload, size: int, settings: Terms) -> Result:
    """Plan, release and evaluate; seconds are of planning and release, without reading and writing."""
    began = time.perf_counter()
    plan = plan_of(settings.request(size), workload)
    stated = plan_statement(plan, workload, predict_errors=False, accept_draft=False)
    made = run_release(dataset, Job(plan, schema, workload, {}, stated), None)
    seconds = time.perf_counter() - began
    records, weights = made.records.distinct, made.records.multiplicity.astype(np.float64)
    answers: Answers = (
        RecordAnswers(records, weights) if workload.marginals is not None else workload.answers_on(records, weights)
    )
    errors = non_private_errors(dataset, workload.queries, {"release": answers})["release"]
    spent = made.ledger.spent()
    result: Result = {
        "max_error": errors.max_error,
        "mean_error": errors.mean_error,
        "epsilon_spent": spent.epsilon,
        "seconds": seconds,
    }
    if isinstance(plan, MultiplicativePlan):
        played = made.statement["multiplicative_weights"]
        proven = made.statement["accuracy"]["proven"]
        result |= {
            "rounds": played["rounds_played"],
            "planned": plan.rounds,
            "bound": None if proven is None else proven["bound"],
            "bound_if": None if proven is None else proven["if"],
        }
    return result
