from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpopt.algorithms.dualquery import simulation
from dpopt.algorithms.dualquery.algorithm import DualQueryAlgorithm
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.algorithms.dualquery.simulation import named_part, simulated_rounds
from dpopt.algorithms.prediction import PredictedError
from dpopt.algorithms.request import Terms
from dpopt.algorithms.run_release import run_release
from dpopt.algorithms.stating import plan_and_statement
from dpopt.errors import PlanError
from dpopt.private.evaluation import non_private_errors
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.binary_columns import SparseColumns
from dpopt.queries.workloads.workload import Workload, parse_workload, workload_from_json
from dpopt.releases.job import Job
from dpopt.releases.plan import FreeAttributes
from dpopt.releases.public_population.population import binary_population
from dpopt.releases.run import Sources
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.small_runs import Heard, plan, seeded

predict_error = DualQueryAlgorithm().predict

NARROW = Schema.binary(40)
WIDE = Schema.binary(512_000)
FEW = "conjunctions:3,count=300,seed=7"


def good(schema: Schema, **changes: Any) -> DualQueryPlan:
    usual = {"rounds": 30, "draws": 60, "size": 1000, "step": Decimal("0.7"), "attributes": len(schema)}
    return plan(**{**usual, **changes})


def on(schema: Schema, text: str = FEW, density: float | None = None, **changes: Any) -> PredictedError:
    return predict_error(good(schema, **changes), parse_workload(text, schema), density=density)


def errors_of_a_run(table: PrivateDataset, made: DualQueryPlan, asked: Workload, seed: int = 5) -> tuple[float, float]:
    """Return the errors of a run on a table; its draws come from a seed."""
    done = run_release(
        table, Job(made, asked.schema, asked, {"format": "npz"}, {}), None, sources=Sources(sampler=seeded(seed))
    )
    found = non_private_errors(table, asked.queries, {"run": done.answers()})["run"]
    return found.max_error, found.mean_error


@pytest.mark.parametrize("density", [None, 0.1])
@pytest.mark.parametrize("text", ["threshold:2of3,count=300", "conjunctions:2,count=300,positive", "marginals:2"])
def test_a_prediction_agrees_with_a_run_on_records_of_the_same_distribution(text: str, density: float | None) -> None:
    """The distribution's own records, played through the curator: both errors within a third, as with other seeds."""
    asked = parse_workload(text, NARROW)
    records = binary_population(40, seed=1, density=density).records(20_000, seed=9)
    table = PrivateDataset.from_codes(NARROW, list(records.T))
    made = good(NARROW, size=20_000)
    predicted, (largest, mean) = (predict_error(made, asked, density=density), errors_of_a_run(table, made, asked))
    assert mean == pytest.approx(predicted.mean_error, rel=1 / 3)
    assert largest == pytest.approx(predicted.max_error, rel=1 / 3)


@pytest.mark.parametrize("signed", [True, False])
def test_a_prediction_agrees_with_a_run_on_real_records(data_folder: Path, signed: bool) -> None:
    """5,551 users of citeulike-a, its articles ranked by popularity, and its share of ones declared."""
    with np.load(data_folder / "sparse" / "citeulike-a.npz") as stored:
        users = np.repeat(np.arange(5551), np.diff(stored["indptr"]))
        items, count = stored["indices"].astype(np.int64), int(stored["shape"][1])
    order = np.lexsort((users, items))
    ones = np.bincount(items, minlength=count)
    columns = SparseColumns(5551, np.concatenate(([0], np.cumsum(ones))), users[order].astype(np.uint32))
    schema = Schema.binary(count)
    obj = {
        "dpopt_workload": 1,
        "workload": f"popular:3,count=30000,seed=7{'' if signed else ',positive'}",
        "ranks": " ".join(map(str, np.argsort(-ones, kind="stable").tolist())),
    }
    asked = workload_from_json(obj, schema)
    density = round(len(items) / 5551 / count, 5)
    settings = Terms.of(algorithm="dualquery", epsilon=1.0, delta=1e-6, neighbours="replace", density=density)
    made, statement = plan_and_statement(settings, 5551, asked, Heard())
    assert isinstance(made, DualQueryPlan)
    largest, mean = errors_of_a_run(PrivateDataset.from_binary(schema, columns), made, asked)
    predicted = statement["predicted"]
    assert predicted["mean_error"] / 1.5 < mean < 1.5 * predicted["mean_error"]
    assert predicted["max_error"] / 2 < largest < 2 * predicted["max_error"]
    if signed:
        zeros = predicted["baselines"]["zeros"]
        assert mean < zeros["mean_error"]
        assert largest < zeros["max_error"]


def test_half_a_million_attributes_are_simulated_as_those_that_queries_name() -> None:
    found = on(WIDE)
    assert 0 < found.mean_error < found.max_error < 1
    assert found.simulated_queries == 300
    part = named_part(parse_workload(FEW, WIDE), parse_workload(FEW, WIDE).clauses, 1, None)
    assert len(part.schema) == len(part.population) < 901


def test_a_part_asks_the_same_queries() -> None:
    asked = parse_workload(FEW, WIDE)
    part = named_part(asked, asked.clauses, 1, None)
    named = np.unique(asked.clauses.attributes)
    assert np.array_equal(named[part.clauses.attributes], asked.clauses.attributes)
    assert np.array_equal(part.clauses.signs, asked.clauses.signs)
    whole = binary_population(len(WIDE), seed=1).answers(asked.clauses)
    assert np.array_equal(part.answers, whole)


def test_padding_stays_padding_in_a_part() -> None:
    clauses = Clauses.conjunctions([[9, 2], [5, -1]], [[1, 1], [1, 0]], [[True, True], [True, False]])
    asked = Workload(NARROW, clauses, {})
    assert named_part(asked, clauses, 1, None).clauses.attributes.tolist() == [[2, 0], [1, -1]]


def test_better_plans_are_predicted_to_be_better() -> None:
    poor = on(WIDE, rounds=3, draws=2, step=Decimal("0.1"), free_attributes=FreeAttributes.RANDOM)
    better = on(WIDE, free_attributes=FreeAttributes.RANDOM)
    assert better.mean_error < 0.7 * poor.mean_error


def test_a_density_needs_zeros_and_ones() -> None:
    schema = Schema((*NARROW.attributes[:5], Attribute("x", AttributeKind.CATEGORICAL, ("a", "b", "c"))))
    with pytest.raises(PlanError, match="'x' has 3 values. Leave the option out"):
        on(schema, "marginals:2", density=0.1)


def test_very_many_draws_are_played_in_fewer_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = parse_workload(FEW, NARROW)
    monkeypatch.setattr(simulation, "MOST_DRAWN", 60 * 25)
    assert simulated_rounds(good(NARROW)) == 25
    assert simulated_rounds(good(NARROW, draws=600)) == 20
    assert simulated_rounds(good(NARROW, rounds=7, draws=600)) == 7
    found = predict_error(good(NARROW), asked)
    assert found.simulated_rounds == 25
    monkeypatch.setattr(simulation, "_TWICE_AT_MOST", 1)
    assert predict_error(good(NARROW), asked, runs=2) == found


def test_many_clauses_and_many_rounds_are_represented_by_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "MOST_QUERIES", 200)
    assert on(NARROW).simulated_queries == 200
    monkeypatch.setattr(simulation, "_MOST_ANSWERS", 30 * 100)
    monkeypatch.setattr(simulation, "_LEAST_QUERIES", 50)
    assert on(NARROW).simulated_queries == 100
    assert on(NARROW, rounds=100, draws=5).simulated_queries == 50


def test_very_many_cells_are_predicted_by_random_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "MOST_CELLS", 100)
    few = on(NARROW, "marginals:3,count=50", rounds=10)
    many = on(NARROW, "marginals:3,count=50", rounds=1000)
    assert few.simulated_queries == many.simulated_queries == 96
    assert many.mean_error < 0.3 * few.mean_error
    monkeypatch.setattr(simulation, "_MOST_RECORD_CELLS", 10 * 3 * 5)
    assert on(NARROW, "marginals:3,count=50", rounds=10).simulated_queries == 40
    monkeypatch.setattr(simulation, "MOST_CELLS", 4)
    with pytest.raises(PlanError, match="the smallest marginal has 8 cells, more than the 4"):
        on(NARROW, "marginals:3,count=50")
