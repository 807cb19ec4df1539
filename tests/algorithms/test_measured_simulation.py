from __future__ import annotations

from dataclasses import replace
from math import pi, sqrt
from typing import Any

import numpy as np
import pytest

from dpopt.algorithms.asked import Terms
from dpopt.algorithms.measured import simulation as module
from dpopt.algorithms.measured.plan import MeasuredPlan
from dpopt.algorithms.measured.simulation import predict_measured
from dpopt.algorithms.prediction import CLOSED_FORM, PublicNoise
from dpopt.algorithms.registry import ALGORITHMS, plan_of, predict
from dpopt.algorithms.stating import choose
from dpopt.errors import PlanError
from dpopt.queries.workloads.workload import Workload
from tests.algorithms.small_runs import workload

SIZE = 5000


def made(algorithm: str, queries: Workload, **options: Any) -> Any:
    settings = {"epsilon": 1.0, "delta": 1e-9, **options}
    return plan_of(Terms.of(algorithm=algorithm, **settings).request(SIZE), queries)


@pytest.mark.parametrize("accountant", ["zcdp", "pure"])
def test_errors_of_noise_are_those_of_the_noise(accountant: str) -> None:
    queries = workload("marginals:2")
    plan: MeasuredPlan = made(
        "noise", queries, accountant=accountant, delta=1e-9 if accountant == "zcdp" else None
    )
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
    part, played = module._part(plan, queries)
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
    monkeypatch.setattr("dpopt.algorithms.fem.driver.MOST_SIMULATED", 10)
    with pytest.raises(PlanError, match="takes as long as a run"):
        predict(made("fem", queries, rounds=12), queries)


def test_a_comparison_names_every_algorithm_and_chooses_the_same() -> None:
    queries = workload("marginals:1")
    request = Terms.of(epsilon=1.0, delta=1e-9).request(SIZE)
    plain, compared = choose(request, queries), choose(request, queries, compare=True)
    assert plain.plan == compared.plan
    assert set(plain.considered) == {name for name, one in ALGORITHMS.items() if one.candidate}
    assert set(compared.considered) == set(ALGORITHMS)
    assert all(compared.considered.values())
