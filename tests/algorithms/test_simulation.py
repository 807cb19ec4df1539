"""Predicted errors: plans played on public populations."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from math import pi, sqrt
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget
from dpopt.algorithms.dualquery import simulation
from dpopt.algorithms.dualquery.algorithm import DualQueryAlgorithm
from dpopt.algorithms.dualquery.plan import DualQueryPlan, OneWayMeasurement
from dpopt.algorithms.measured import algorithm as module
from dpopt.algorithms.measured.algorithm import MeasuredAlgorithm
from dpopt.algorithms.measured.plan import MeasuredPlan
from dpopt.algorithms.prediction import CLOSED_FORM, PublicNoise
from dpopt.algorithms.registry import ALGORITHMS, plan_of, predict
from dpopt.algorithms.request import Terms
from dpopt.algorithms.stating import choose
from dpopt.errors import PlanError
from dpopt.files.codec import encode
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.plan import FreeAttributes
from dpopt.schema.schema import Schema
from tests.algorithms.small_runs import ADD_REMOVE, plan, workload

predict_error = DualQueryAlgorithm().predict
predict_measured = MeasuredAlgorithm().predict

WORKLOAD = workload()
BITS = parse_workload("conjunctions:3,count=300,seed=7", Schema.binary(40))
both = pytest.mark.parametrize("asked", [WORKLOAD, BITS], ids=["columns", "zeros and ones"])
SAID = "prediction by simulation on public synthetic data, not a bound"


def good(asked: Workload = WORKLOAD, **changes: Any) -> DualQueryPlan:
    return plan(**{"rounds": 60, "draws": 60, "size": 1000, "attributes": len(asked.schema), **changes})


@both
def test_a_prediction_repeats_is_the_mean_over_populations_and_no_bound(asked: Workload) -> None:
    one, again, two = (predict_error(good(asked), asked, runs=runs) for runs in (1, 1, 2))
    assert one == again
    assert (one.runs, two.runs, one.simulated_queries, one.simulated_rounds) == (1, 2, len(asked), None)
    assert one.max_error != two.max_error
    assert 0 < two.mean_error < two.max_error < 1
    assert encode(one)["kind"] == SAID + ("; a public population of zeros and ones" if asked is BITS else "")


def test_a_better_plan_is_predicted_to_be_better() -> None:
    poor = predict_error(plan(rounds=3, draws=2, step=Decimal("0.1"), size=1000), WORKLOAD)
    better = predict_error(good(), WORKLOAD)
    assert better.max_error < 0.6 * poor.max_error
    assert better.mean_error < 0.6 * poor.mean_error


def test_size_relation_and_budget_do_not_change_a_prediction() -> None:
    """The weights depend on the answers alone, and the simulated run is charged to a ledger of its own."""
    other = good(
        size=123_456, relation=ADD_REMOVE, budget=Budget(1e-9, 1e-6, None, Accountant.GDP), solver="cp-sat", seed=5
    )
    assert predict_error(other, WORKLOAD) == predict_error(good(), WORKLOAD)


@both
def test_estimated_free_attributes_are_simulated_without_a_measurement(asked: Workload) -> None:
    one_way = OneWayMeasurement(10.0, gaussian=True)
    estimated = good(asked, free_attributes=FreeAttributes.ESTIMATED, one_way=one_way)
    assert predict_error(estimated, asked) == predict_error(good(asked), asked)


def test_many_clauses_are_represented_by_a_part_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    clauses = workload("conjunctions:2,count=40,seed=1")
    monkeypatch.setattr(simulation, "MOST_QUERIES", 20)
    part = predict_error(good(), clauses)
    assert (len(clauses), part.simulated_queries) == (40, 20)
    assert part == predict_error(good(), clauses)


def test_very_many_cells_are_predicted_by_random_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "MOST_CELLS", 20)
    few, many = (predict_error(good(rounds=10), WORKLOAD), predict_error(good(rounds=1000), WORKLOAD))
    assert few.simulated_queries == many.simulated_queries == len(WORKLOAD)
    assert many.mean_error < 0.3 * few.mean_error
    assert many.max_error < few.max_error < 1


SIZE = 5000


def made(algorithm: str, queries: Workload, **options: Any) -> Any:
    settings = {"epsilon": 1.0, "delta": 1e-9, **options}
    return plan_of(Terms.of(algorithm=algorithm, **settings).request(SIZE), queries)


@pytest.mark.parametrize("accountant", ["zcdp", "pure"])
def test_errors_of_noise_are_those_of_the_noise(accountant: str) -> None:
    queries = workload("marginals:2")
    plan: MeasuredPlan = made("noise", queries, accountant=accountant, delta=1e-9 if accountant == "zcdp" else None)
    found = predict_measured(plan, queries)
    assert (found.kind, found.simulated_queries, found.runs) == (CLOSED_FORM, len(queries), 0)
    source, scale = PublicNoise(1), plan.measurements[0].scale
    draw = source.discrete_gaussian if plan.gaussian else source.discrete_laplace
    noise = np.abs([draw(np.zeros(len(queries), dtype=np.int64), scale) for _ in range(2000)]) / SIZE
    assert found.mean_error == pytest.approx(noise.mean(), rel=0.05)
    assert found.max_error == pytest.approx(noise.max(axis=1).mean(), rel=0.1)
    if plan.gaussian:
        assert found.mean_error == pytest.approx(scale * sqrt(2 / pi) / SIZE)


def test_a_part_of_many_clauses_says_as_much_as_all(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = workload("conjunctions:2,count=60,seed=3")
    plan = made("projection", queries)
    whole = predict_measured(plan, queries)
    monkeypatch.setattr(module, "MOST_CLAUSES", 30)
    part, played = module.simulated_part(plan, queries)
    assert (len(part), whole.simulated_queries) == (30, 60)
    scales = [one.scale for one in plan.measurements if one.attributes is None]
    thinner = [one.scale for one in played.measurements if one.attributes is None]
    assert thinner == pytest.approx([scale / sqrt(2) for scale in scales])
    found = predict_measured(plan, queries)
    assert found.simulated_queries == 30
    assert 0.4 * whole.mean_error < found.mean_error < 2.5 * whole.mean_error


def test_fem_is_predicted_by_a_smaller_run_of_its_own() -> None:
    queries = workload("marginals:2")
    plan = made("fem", queries, rounds=12)
    found = predict(plan, queries)
    assert 0 < found.mean_error < found.max_error < 1
    weak = replace(plan, selection_range=plan.selection_range / 1000)
    assert predict(weak, queries).mean_error > found.mean_error


def test_fem_on_very_many_queries_is_not_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = workload("marginals:2")
    monkeypatch.setattr("dpopt.algorithms.fem.algorithm.MOST_SIMULATED", 10)
    with pytest.raises(PlanError, match="takes as long as a run"):
        predict(made("fem", queries, rounds=12), queries)


def test_a_comparison_names_every_algorithm_and_chooses_the_same() -> None:
    queries = workload("marginals:1")
    request = Terms.of(epsilon=1.0, delta=1e-9).request(SIZE)
    plain, compared = choose(request, queries), choose(request, queries, compare=True)
    assert plain.plan == compared.plan
    assert set(plain.considered) == {"projection"}
    assert set(compared.considered) == set(ALGORITHMS)
    assert all(compared.considered.values())
