"""SmallDB: bounds, plans, refusals, and runs that are interrupted, resumed and replayed."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import combinations, product
from math import comb, log
from pathlib import Path

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.ledger import Budget
from dpopt.algorithms.options import PlanRequest, SmallDatabase
from dpopt.algorithms.registry import predict
from dpopt.algorithms.replay import differing_files, replay
from dpopt.algorithms.request import Terms
from dpopt.algorithms.run_release import run_release
from dpopt.algorithms.small_database.accuracy import distinct_queries, impossible, log_multisets, nearest, vc_dimension
from dpopt.algorithms.small_database.algorithm import SmallDatabaseAlgorithm, SmallDatabasePlan, drawn_databases
from dpopt.algorithms.small_database.universe import Universe, answers_on_each
from dpopt.errors import PlanError
from dpopt.queries.workloads.workload import Workload, parse_workload
from dpopt.releases.job import Job
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.transcript.journal import read_journal
from tests.tiny_nets import all_multisets, cells, prefixes
from tests.tiny_runs import ADD_REMOVE, REPLACE, bits_schema, conjunctions, dataset_of, sized_schema

make_small_database_plan = SmallDatabaseAlgorithm().plan
proven_small_database = SmallDatabaseAlgorithm().prove

SCHEMA = sized_schema(p=3, q=2, r=2)
WORKLOAD = parse_workload("marginals:2", SCHEMA)
GENERATOR = np.random.default_rng(5)
TABLE = tuple(tuple(int(v) for v in GENERATOR.integers(0, [3, 2, 2])) for _ in range(60))
PURE = Budget(2.0, 0.0, None, Accountant.PURE)


def job_of(records: int = 3) -> Job:
    plan = SmallDatabasePlan(records, Decimal("1.9"), Decimal(1), 60, REPLACE, PURE)
    return Job(plan, SCHEMA, WORKLOAD, {"format": "csv", "rows": None}, {})


def run(folder: Path, job: Job | None = None) -> None:
    run_release(dataset_of(SCHEMA, TABLE), job_of() if job is None else job, folder)


# universes


@pytest.mark.parametrize(
    "text", ["marginals:2", "conjunctions:2,count=9,seed=3", "threshold:2of3,count=5,seed=1", "parity:3,count=4"]
)
def test_a_universe_has_every_record_and_what_each_query_says_of_it(text: str) -> None:
    workload = parse_workload(text, SCHEMA)
    universe = Universe.of(workload)
    assert universe.records.shape == (12, 3)
    for record, element in zip(universe.records, universe.element, strict=True):
        assert workload.answers_on(record[None, :]).tolist() == universe.answers[:, element].tolist()
    assert len(np.unique(universe.answers.T, axis=0)) == universe.elements
    assert answers_on_each(workload.queries, universe.records).shape == (12, len(workload))


def test_records_that_no_query_tells_apart_are_one_element_and_are_dealt_out() -> None:
    universe = Universe.of(conjunctions(bits_schema(3), "a", "a b"))
    assert universe.elements == 3
    spread = universe.spread(np.array([0, 2]), np.array([8, 1]), seed=0)
    assert (spread[:8, 0] == 0).all()
    assert sorted(spread[:8, 1].tolist()) == [0] * 4 + [1] * 4
    assert universe.left_out.tolist() == [2]
    assert set(universe.spread(np.array([0]), np.array([60]), seed=0)[:, 2].tolist()) == {0, 1}
    assert spread[8].tolist()[:2] == [1, 1]


def test_a_universe_has_room_for_any_number_of_attributes_that_nobody_asks_about() -> None:
    universe = Universe.of(parse_workload("marginals:1,count=2,seed=1", Schema.binary(100)))
    asked = np.setdiff1d(np.arange(100), universe.left_out)
    assert asked.size == 2
    assert universe.records[:, asked].tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert not universe.records[:, universe.left_out].any()


def test_what_a_universe_holds_does_not_grow_with_the_attributes_that_nobody_asks_about() -> None:
    """Records of all 300,000 columns would take 5 GB here."""
    workload = parse_workload("marginals:1,count=12,seed=1", Schema.binary(300_000))
    universe = Universe.of(workload)
    assert universe.codes.shape == (2**12, 12)
    assert universe.elements == 2**12
    np.testing.assert_array_equal(universe.named, np.unique(workload.queries.attributes))
    spread = universe.spread(np.array([5, 4095]), np.array([2, 1]), seed=0)
    assert spread[:, universe.named].tolist() == universe.codes[[5, 5, 4095]].tolist()


def test_records_that_break_a_rule_are_no_elements(tmp_path: Path) -> None:
    ruled = {**SCHEMA.to_json(), "rules": [{"name": "p0 means q1", "if": ["p", "=", "p0"], "then": ["q", "=", "q1"]}]}
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(ruled), encoding="utf-8")
    schema = Schema.read(path)
    universe = Universe.of(parse_workload("marginals:2", schema))
    assert len(universe.records) == 10
    assert not schema.circuit().broken(universe.records).any()


def test_a_universe_that_cannot_be_listed_is_refused() -> None:
    wide = parse_workload("marginals:2", Schema(tuple(Attribute(f"a{i}", AttributeKind.BOOLEAN) for i in range(19))))
    with pytest.raises(PlanError, match="lists every possible record.*projection"):
        Universe.of(wide)


def test_fine_bins_are_refused_with_what_is_impossible_without_any() -> None:
    edges = tuple(range(3_000))
    ages = Schema((Attribute("age", AttributeKind.NUMERIC, edges=edges), *bits_schema(7).attributes))
    with pytest.raises(PlanError, match="'age' has many bins.*Theorem 5.1 and Corollary 5.2"):
        Universe.of(parse_workload("marginals:1", ages))


# bounds


@pytest.mark.parametrize(("answers", "records"), [(prefixes(4), 4), (cells(2, 2), 3), (cells(2, 1), 5)])
def test_a_nearest_database_is_as_near_as_the_bound_says(answers: np.ndarray, records: int) -> None:
    """For every table of 7 records; by the best of all databases."""
    multisets = np.array(all_multisets(answers.shape[1], records))
    alpha, _ = nearest(answers.shape[1], records, distinct_queries(answers), vc_dimension(answers)[1])
    tables = np.array(all_multisets(answers.shape[1], 7))
    given = (answers @ tables.T) / 7
    offered = (answers @ multisets.T) / records
    errors = np.abs(given[:, :, None] - offered[:, None, :]).max(axis=0).min(axis=1)
    assert errors.max() <= alpha + 1e-12


def test_rounding_is_tight_for_all_subsets() -> None:
    """A = 4, m = 2: counts of 1/2 each; two of them rounded up, two down: A / (4 m) = 1/2."""
    every = np.array([[x >> i & 1 for i in range(4)] for x in range(1, 15)], dtype=np.int8)
    errors = [np.abs(every @ np.array(counts) / 2 - every.sum(axis=1) / 4).max() for counts in all_multisets(4, 2)]
    assert min(errors) == 0.5 == 4 / (4 * 2)


def test_queries_are_counted_up_to_negation_without_constants() -> None:
    rows = np.array([[0, 1, 1], [1, 0, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0], [0, 0, 1]], dtype=np.int8)
    assert distinct_queries(rows) == 2
    assert distinct_queries(rows[3:5]) == 0


@pytest.mark.parametrize(
    ("answers", "dimension"),
    [
        (prefixes(6), 1),
        (np.array([[i <= x <= j for x in range(6)] for i, j in combinations(range(6), 2)], dtype=np.int8), 2),
        (np.array([[x >> i & 1 for i in range(4)] for x in range(16)], dtype=np.int8), 4),
        (np.array([[1, 1, 1]], dtype=np.int8), 0),
    ],
)
def test_vc_dimensions(answers: np.ndarray, dimension: int) -> None:
    assert vc_dimension(answers) == (dimension, dimension)
    low, high = vc_dimension(answers, most_sets=0)
    assert low <= dimension <= high


def test_the_vc_dimension_of_conjunctions() -> None:
    schema = bits_schema(3)
    monotone = conjunctions(schema, *(" ".join(s) for w in (1, 2, 3) for s in combinations("abc", w)))
    assert vc_dimension(Universe.of(monotone).answers) == (2, 2)  # 3 with the empty one, which is missing


def test_the_lower_bound_is_that_of_its_theorem() -> None:
    found = impossible(10, size=5, range_=0.5, relation=REPLACE)
    assert found is not None
    assert found["printed"] == 1 / 12
    assert found["error_at_least"] == pytest.approx(1 / (2 * (1 + np.exp(0.5))))
    other = impossible(10, size=5, range_=0.5, relation=ADD_REMOVE)
    assert other is not None
    assert found["printed"] <= other["error_at_least"] < found["error_at_least"]
    assert impossible(10, size=6, range_=0.5, relation=REPLACE) is None


# plans


def request(
    size: int, *, epsilon: float = 1.0, records: int | None = None, seed: int = 0
) -> PlanRequest[SmallDatabase]:
    budget = Budget(epsilon, 0.0, None, Accountant.PURE)
    return PlanRequest(size, REPLACE, budget, SmallDatabase(records=records, seed=seed))


def test_a_plan_has_the_number_of_records_with_the_least_bound() -> None:
    plan = make_small_database_plan(request(2_000), WORKLOAD)
    proven = proven_small_database(plan, WORKLOAD)
    assert 0.99999 < plan.selection_range <= 1
    assert plan.budget.allows(plan.charges())
    expected = 12 / (4 * plan.records) + 2 / (float(plan.selection_range) * 2_000) * (
        log(comb(plan.records + 11, plan.records)) + log(20)
    )
    assert proven["bound"] == pytest.approx(expected)
    for records in (plan.records - 1, plan.records // 2, 5):
        other = make_small_database_plan(request(2_000, records=records), WORKLOAD)
        assert proven_small_database(other, WORKLOAD)["bound"] > proven["bound"]
        assert other.records == records
    assert SmallDatabasePlan.from_json(plan.to_json()) == plan


def test_a_budget_in_rho_buys_the_epsilon_that_its_square_over_eight_allows() -> None:
    of_rho = PlanRequest(2_000, REPLACE, Budget(None, 1e-9, 0.02, Accountant.ZCDP), SmallDatabase())
    assert float(make_small_database_plan(of_rho, WORKLOAD).selection_range) == pytest.approx(
        (8 * 0.02) ** 0.5, rel=1e-5
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (request(20), r"no informative bound.*An error of 1/4 needs n = .*give records="),
        (request(1), r"errors of at least 0\.\d+ cannot be avoided.*Theorem 3.11"),
        (request(2_000, records=300_000), "at most 1,000 records"),
        (request(2_000, records=900), r"fewer than 2\^62; at most \d+ records"),
    ],
)
def test_what_cannot_be_is_refused_with_numbers(asked: PlanRequest[SmallDatabase], message: str) -> None:
    workload = WORKLOAD if asked.size != 1 else all_subsets()
    with pytest.raises(PlanError, match=message):
        make_small_database_plan(asked, workload)


def all_subsets() -> Workload:
    """Return conjunctions of up to four attributes: their VC dimension is 3."""
    queries = (" ".join(s) for w in (1, 2, 3, 4) for s in combinations("abcd", w))
    return conjunctions(bits_schema(4), *queries)


def test_options_of_others_are_refused() -> None:
    with pytest.raises(PlanError, match="rounds= is an option of"):
        Terms.of(algorithm="smalldb", epsilon=1, accountant="pure", rounds=3).check()
    Terms.of(algorithm="smalldb", epsilon=1, accountant="pure", records=3, rows=10).check()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"records": 0}, "number of records"),
        ({"selection_range": "-1"}, "range of the selection"),
        ({"reach": "3"}, "reach"),
        ({"size": 2**60}, "public size"),
    ],
)
def test_a_damaged_plan_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        SmallDatabasePlan.from_json({**job_of().plan.to_json(), **change})


def test_errors_are_predicted_on_public_populations() -> None:
    plan = make_small_database_plan(request(2_000, records=4), WORKLOAD)
    predicted = predict(plan, WORKLOAD)
    assert 0 < predicted.mean_error < predicted.max_error < 0.5


# runs


def test_a_run_is_charged_once_and_replayed_byte_for_byte(tmp_path: Path) -> None:
    run(tmp_path / "a")
    kinds = [entry["kind"] for entry in read_journal(tmp_path / "a" / "transcript.jsonl").entries]
    assert kinds == ["reserve", "charge", "database", "finish"]
    made = replay(tmp_path / "a", tmp_path / "b")
    assert differing_files(tmp_path / "a", tmp_path / "b") == []
    assert int(made.records.multiplicity.sum()) == 3
    assert made.ledger.is_private
    assert [charge.label for charge in made.ledger.entries] == ["selection of round 1"]
    assert made.statement["small_database"]["databases"] == comb(14, 3)


def test_many_databases_are_drawn_from_by_branch_and_bound(tmp_path: Path) -> None:
    run(tmp_path / "a", job_of(records=12))
    made = replay(tmp_path / "a", tmp_path / "b")
    assert made.statement["small_database"] == {
        "records": 12,
        "elements": 12,
        "databases": comb(23, 12),
        "drawn": "by branch and bound",
    }
    assert log_multisets(12, 12) == pytest.approx(log(comb(23, 12)))


@pytest.mark.parametrize("strength", [0.0, 20.0, 200.0])
def test_chains_of_a_prediction_end_with_the_probabilities_of_the_mechanism(strength: float) -> None:
    """All 126 multisets of 5 records of 5 classes: the mean error of 64 chains of 3 seeds, within 5 standard errors.

    They are independent but for a remainder of the start: a false alarm has probability below 1e-5. A chain of half the
    strength is farther off at both strengths above 0.
    """
    answers = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 1], [1, 0, 1, 1, 0]], dtype=np.int8)
    exact = np.array([0.32, 0.61, 0.55])
    multisets = np.array([m for m in product(range(6), repeat=5) if sum(m) == 5])
    errors = np.abs(multisets @ answers.T / 5 - exact).max(axis=1)

    def mean(of: float) -> tuple[float, float]:
        weights = np.exp(-of / 2 * (errors - errors.min()))
        weights /= weights.sum()
        centre = float(weights @ errors)
        return centre, float(np.sqrt(weights @ (errors - centre) ** 2))

    drawn = np.concatenate([drawn_databases(answers, exact, 5, strength, seed=seed) for seed in (1, 2, 3)])
    assert (drawn.sum(axis=1) == 5).all()
    assert (drawn >= 0).all()
    found = float(np.abs(drawn @ answers.T / 5 - exact).max(axis=1).mean())
    centre, deviation = mean(strength)
    slack = 5 * deviation / np.sqrt(len(drawn)) + 1e-9
    assert abs(found - centre) <= slack
    assert strength == 0 or abs(found - mean(strength / 4)[0]) > slack


@pytest.mark.parametrize("size", [30_000, 1_000_000])
def test_errors_of_large_tables_are_predicted_to_be_small(size: int) -> None:
    """The planned databases are drawn, however many there are: the error falls with n, and is below what is proven."""
    plan = make_small_database_plan(request(size), WORKLOAD)
    predicted = predict(plan, WORKLOAD)
    assert predicted.max_error < 0.5 * proven_small_database(plan, WORKLOAD)["bound"]
    assert predicted.max_error < predict(make_small_database_plan(request(2_000), WORKLOAD), WORKLOAD).max_error
