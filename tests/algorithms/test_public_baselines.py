from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpopt.algorithms import stating as module
from dpopt.algorithms.prediction import ROWS
from dpopt.algorithms.stating import public_baselines, verdict
from dpopt.queries.workloads.workload import Workload, parse_workload, workload_from_json
from dpopt.releases.public_population.population import binary_population, public_population
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.small_runs import SCHEMA, workload

POSITIVE: dict[str, Any] = {
    "dpopt_workload": 1,
    "workload": "popular:3,count=400,seed=7,positive",
    "ranks": " ".join(map(str, range(300))),
}
SIGNED = {**POSITIVE, "workload": "popular:3,count=400,seed=7"}
WIDE = Schema.binary(300)


def errors(largest: float, mean: float) -> dict[str, Any]:
    return {"max_error": largest, "mean_error": mean}


@pytest.mark.parametrize("text", ["marginals:2", "conjunctions:2,count=50"])
def test_baselines_are_those_of_the_population_of_predictions(text: str) -> None:
    asked = parse_workload(text, SCHEMA)
    found = public_baselines(asked, runs=2)
    expected = []
    for seed in (1, 2):
        records = np.stack(public_population(SCHEMA, ROWS, seed=seed), axis=1).astype(np.int32)
        truth = asked.answers_on(records)
        zeros = asked.answers_on(np.zeros((1, len(SCHEMA)), dtype=np.int32))
        expected.append([np.abs(zeros - truth).max(), np.abs(zeros - truth).mean()])
    assert [found["zeros"]["max_error"], found["zeros"]["mean_error"]] == pytest.approx(np.mean(expected, axis=0))
    assert set(found) == {"zeros", "uniform"}
    assert 0 < found["uniform"]["mean_error"] < found["uniform"]["max_error"] < 1


def test_uniform_answers_are_those_of_all_records() -> None:
    schema = Schema((Attribute("a", AttributeKind.BOOLEAN), Attribute("b", AttributeKind.CATEGORICAL, ("x", "y", "z"))))
    asked = parse_workload("marginals:2", schema)
    truth = asked.answers_on(np.stack(public_population(schema, ROWS, seed=1), axis=1).astype(np.int32))
    found = public_baselines(asked)["uniform"]
    assert found["max_error"] == pytest.approx(np.abs(truth - 1 / 6).max())
    assert found["mean_error"] == pytest.approx(np.abs(truth - 1 / 6).mean())


def test_baselines_of_wide_tables_follow_from_the_distribution() -> None:
    for obj in (POSITIVE, SIGNED):
        asked = workload_from_json(obj, WIDE)
        distribution = binary_population(300, seed=1, density=0.02, ranks=asked.ranks)
        truth = distribution.answers(asked.clauses)
        zeros = (~asked.clauses.signs).all(axis=1)
        found = public_baselines(asked, density=0.02)
        for name, own in (("zeros", zeros), ("uniform", np.full(400, 0.125))):
            assert found[name]["max_error"] == pytest.approx(np.abs(own - truth).max(), abs=1e-6)
            assert found[name]["mean_error"] == pytest.approx(np.abs(own - truth).mean(), abs=1e-6)


def test_of_very_many_cells_a_part_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = public_baselines(workload("marginals:2"))
    monkeypatch.setattr(module, "MOST_CELLS", 12)
    part = public_baselines(workload("marginals:2"))
    assert part != whole
    monkeypatch.setattr(module, "MOST_CELLS", 1)
    assert public_baselines(workload("marginals:2"))["zeros"]["max_error"] <= whole["zeros"]["max_error"]


SMALL = {"zeros": errors(0.0007, 0.00002), "uniform": errors(0.125, 0.12)}


def test_positive_queries_that_zeros_answer_best_are_pointed_out() -> None:
    said = verdict(errors(0.03, 0.01), SMALL, workload_from_json(POSITIVE, WIDE))
    assert said == (
        "on the public population, one record of zeros has largest error 0.0007 and mean error 2e-05: this plan's 0.03 "
        "and 0.01 cannot beat it; ask signed queries, more popular items, or use a larger budget"
    )


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (workload_from_json(SIGNED, WIDE), "cannot beat it; ask fewer or other queries, or use a larger"),
        (workload(), "one record of first values has largest error 0.0007"),
        (parse_workload("marginals:1", WIDE), "cannot beat it; ask for fewer or smaller marginals, or use a larger"),
    ],
)
def test_the_advice_suits_the_queries(asked: Workload, expected: str) -> None:
    assert expected in str(verdict(errors(0.03, 0.01), SMALL, asked))


def test_a_plan_that_beats_one_error_only_is_pointed_out() -> None:
    asked = workload_from_json(SIGNED, WIDE)
    said = str(verdict(errors(0.0005, 0.01), SMALL, asked))
    assert said.endswith("its mean error is smaller than this plan's (0.0005 and 0.01)")
    said = str(verdict(errors(0.2, 0.00001), {"zeros": errors(0.3, 0.1), "uniform": errors(0.125, 0.12)}, asked))
    assert "the uniform distribution has largest error 0.12" in said
    assert "its largest error is smaller" in said
    assert "zeros" not in said
    alone = {"independence": errors(0.2, 0.1)}
    assert verdict(errors(0.2, 0.1), alone, parse_workload("marginals:1", WIDE)) is None  # it is the release
    assert "on average about as large" in str(verdict(errors(0.2, 0.1), alone, workload()))


def test_a_plan_that_beats_both_is_not_warned_of_and_both_can_be_better() -> None:
    assert verdict(errors(0.0001, 0.00001), SMALL, workload()) is None
    assert str(verdict(errors(0.3, 0.2), SMALL, workload())).count("cannot beat it") == 2


def test_independent_columns_tie_win_or_lose() -> None:
    own = errors(0.03, 0.01)
    tie = verdict(own, {"independence": errors(0.05, 0.0081)}, workload())
    assert tie == (
        "on the public population, noisy columns, treated as unrelated, have largest error 0.05 and mean error 0.0081: "
        "this plan's are 0.03 and 0.01, on average about as large; ask for fewer or smaller marginals, or use a larger "
        "budget"
    )
    won = verdict(own, {"independence": errors(0.02, 0.0079)}, workload())
    assert won is not None
    assert "cannot beat it" in won
    assert verdict(own, {"independence": errors(0.05, 0.013)}, workload()) is None
