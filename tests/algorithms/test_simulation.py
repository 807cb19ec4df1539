from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget
from dpopt.algorithms.dualquery import simulation
from dpopt.algorithms.dualquery.dqrs_plan import DqrsPlan
from dpopt.algorithms.dualquery.plan import DualQueryPlan, OneWayMeasurement
from dpopt.algorithms.dualquery.simulation import predict_error
from dpopt.files.codec import encode
from dpopt.releases.plan import Encoding, FreeAttributes
from tests.algorithms.small_runs import ADD_REMOVE, plan, workload

WORKLOAD = workload()


def good(**changes: Any) -> DualQueryPlan:
    return plan(**{"rounds": 60, "draws": 60, "size": 1000, **changes})


def test_a_prediction_repeats() -> None:
    assert predict_error(good(), WORKLOAD) == predict_error(good(), WORKLOAD)


def test_a_prediction_is_the_mean_over_populations() -> None:
    one, two = predict_error(good(), WORKLOAD, runs=1), predict_error(good(), WORKLOAD, runs=2)
    assert (one.runs, two.runs, one.simulated_queries) == (1, 2, len(WORKLOAD))
    assert one.max_error != two.max_error
    assert 0 < two.mean_error < two.max_error < 1


def test_a_better_plan_is_predicted_to_be_better() -> None:
    poor = predict_error(plan(rounds=3, draws=2, step=Decimal("0.1"), size=1000), WORKLOAD)
    better = predict_error(good(), WORKLOAD)
    assert better.max_error < 0.6 * poor.max_error
    assert better.mean_error < 0.6 * poor.mean_error


def test_size_relation_and_budget_do_not_change_a_prediction() -> None:
    """The weights depend on the answers alone, and the simulated run is charged to a ledger of its own."""
    other = good(
        size=123_456,
        relation=ADD_REMOVE,
        budget=Budget(1e-9, 1e-6, None, Accountant.GDP),
        solver="cp-sat",
        seed=5,
    )
    assert predict_error(other, WORKLOAD) == predict_error(good(), WORKLOAD)


def test_free_indicator_bits_are_predicted_to_be_worse() -> None:
    bits, records = predict_error(good(encoding=Encoding.BITS), WORKLOAD), predict_error(good(), WORKLOAD)
    assert bits.mean_error > records.mean_error


def test_estimated_free_attributes_are_simulated_without_a_measurement() -> None:
    estimated = good(free_attributes=FreeAttributes.ESTIMATED, one_way=OneWayMeasurement(10.0, gaussian=True))
    assert predict_error(estimated, WORKLOAD) == predict_error(good(), WORKLOAD)


def test_each_round_is_reported() -> None:
    reported: list[tuple[int, int]] = []
    predict_error(plan(rounds=4), WORKLOAD, runs=2, on_round=lambda *at: reported.append(at))
    assert reported == [(1, 4), (2, 4), (3, 4), (4, 4)] * 2


def test_many_clauses_are_represented_by_a_part_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    clauses = workload("conjunctions:2,count=40,seed=1")
    monkeypatch.setattr(simulation, "MOST_QUERIES", 20)
    part = predict_error(good(), clauses)
    assert (len(clauses), part.simulated_queries) == (40, 20)
    assert part == predict_error(good(), clauses)


def test_very_many_cells_are_predicted_by_random_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "MOST_CELLS", 20)
    few, many = predict_error(good(rounds=10), WORKLOAD), predict_error(good(rounds=1000), WORKLOAD)
    assert few.simulated_queries == many.simulated_queries == len(WORKLOAD)
    assert many.mean_error < 0.3 * few.mean_error
    assert many.max_error < few.max_error < 1


def test_dqrs_is_predicted_as_dualquery() -> None:
    fields = good().to_json() | {"algorithm": "dqrs", "margin": "0.1"}
    fields["budget"] = encode(Budget(1.0, 1e-9, None, Accountant.ZCDP))
    assert predict_error(DqrsPlan.from_json(fields), WORKLOAD) == predict_error(good(), WORKLOAD)


def test_a_prediction_says_that_it_is_no_bound() -> None:
    found = encode(predict_error(plan(rounds=2), WORKLOAD))
    assert found["kind"] == "prediction by simulation on public synthetic data, not a bound"
    assert found["simulated_queries"] == len(WORKLOAD)
