from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.measured import planning as module
from dpopt.algorithms.measured.algorithm import MeasuredAlgorithm
from dpopt.algorithms.measured.plan import MEASURED as NAMES
from dpopt.algorithms.measured.plan import NOISE, FitPlan, MeasuredPlan, candidate_marginals, planned_queries
from dpopt.algorithms.options import COUNTS, SELECTED
from dpopt.algorithms.registry import plan_of
from dpopt.algorithms.request import Terms
from dpopt.errors import AccountingError, DpoptError, PlanError
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.measured_runs import CLAUSES, moved_by, named
from tests.algorithms.small_runs import ADD_REMOVE, workload

make_measured_plan = MeasuredAlgorithm[Any]().plan

SIZE = 5000
BUDGETS: dict[str, dict[str, Any]] = {
    "epsilon": {"epsilon": 1.0, "delta": 1e-9},
    "rho": {"rho": 0.02},
    "pure": {"epsilon": 1.0, "accountant": "pure"},
    "little": {"epsilon": 0.001, "delta": 1e-9},
    "much": {"epsilon": 200.0, "delta": 1e-9},
}
FORMS = [
    (NOISE, "marginals:1"), (NOISE, "marginals:2"), (NOISE, CLAUSES), (NOISE, "parity:3,count=10,seed=1"),
    (COUNTS, "marginals:1"), (COUNTS, "marginals:3"), (COUNTS, "marginals:2,count=2,seed=1"), (COUNTS, CLAUSES),
    (SELECTED, "marginals:1"), (SELECTED, "marginals:2"), (SELECTED, "marginals:3"),
]  # fmt: skip


def terms(what: str, **options: Any) -> Terms:
    """Return the terms of a release by what is measured."""
    return Terms.of(**named(what), **options)


def planned(what: str, text: str = "marginals:2", *, size: int = SIZE, **options: Any) -> MeasuredPlan:
    given: dict[str, Any] = {"rho": 0.02} if not {"rho", "epsilon"} & set(options) else {}
    return make_measured_plan(terms(what, **given, **options).request(size), workload(text))


@pytest.mark.parametrize("algorithm", [COUNTS, SELECTED])
def test_a_named_solver_makes_a_plan_with_column_generation(algorithm: str) -> None:
    made = planned(algorithm, solver="clarabel", pricing_solver="cp-sat")
    assert made.fit is not None
    assert (made.solver, made.pricing_solver) == ("clarabel", "cp-sat")
    assert (made.fit.records, made.fit.columns, made.fit.smoothing) == (2_000, 50, 0.0)
    assert MeasuredPlan.from_json(made.to_json()) == made
    assert planned(algorithm, solver="osqp").charges() == planned(algorithm).charges()
    assert "pricing_solver" not in planned(algorithm, solver="clarabel").to_json()


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_more_records_than_a_solver_takes_are_refused_with_how_many_it_takes(relation: NeighbouringRelation) -> None:
    options: dict[str, Any] = {"solver": "clarabel", "neighbours": relation.value}
    with pytest.raises(PlanError, match=r"9,000,000 records in .* Give records=([0-9,]+)") as refusal:
        planned(COUNTS, records=9_000_000, **options)
    most = int(str(refusal.value).split("records=")[1].split(", or")[0].replace(",", ""))
    assert planned(COUNTS, records=most, **options).fit is not None
    with pytest.raises(PlanError, match="at most"):
        planned(COUNTS, records=most + 1, **options)
    assert planned(COUNTS, records=9_000_000, neighbours=relation.value).fit is not None


@pytest.mark.solver("clarabel")
@pytest.mark.parametrize("budget", ["rho", "pure"])
def test_a_solver_that_takes_cones_allocates_the_noise(budget: str) -> None:
    own = planned(COUNTS, "marginals:3", **BUDGETS[budget])
    made = planned(COUNTS, "marginals:3", solver="clarabel", **BUDGETS[budget])
    assert "solved by clarabel" in made.chosen_by
    assert [one.name for one in made.measurements] == [one.name for one in own.measurements]
    scales = [[one.scale for one in plan.measurements] for plan in (made, own)]
    assert scales[0] == pytest.approx(scales[1], rel=1e-2)
    assert made.budget.allows(made.charges())
    other = planned(COUNTS, "marginals:3", solver="osqp", **BUDGETS[budget])
    assert other.measurements == own.measurements


@pytest.mark.parametrize("option", ["solver", "pricing_solver"])
@pytest.mark.parametrize("other", [{"smoothing": 3.0}, {"column_generation": 0}])
def test_a_solver_without_column_generation_is_refused(option: str, other: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match="work in column generation"):
        planned(COUNTS, **{**other, option: "cp-sat"})


@pytest.mark.parametrize(("algorithm", "text"), FORMS)
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_a_plan_takes_the_budget_and_no_more(
    algorithm: str, text: str, budget: str, relation: NeighbouringRelation
) -> None:
    made = planned(algorithm, text, **BUDGETS[budget], neighbours=relation.value)
    assert made.budget.allows(made.charges())
    spent = made.budget.spent(made.charges())
    if made.budget.rho is not None:
        share = spent.rho / made.budget.rho
    else:
        assert made.budget.epsilon is not None
        share = spent.epsilon / made.budget.epsilon
    assert 0.99 < share <= 1
    assert made.gaussian is (budget != "pure")
    assert MeasuredPlan.from_json(made.to_json()) == made


@pytest.mark.parametrize("text", ["marginals:2", CLAUSES])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_noise_measures_each_query_with_the_workloads_sensitivity(text: str, relation: NeighbouringRelation) -> None:
    made = planned(NOISE, text, neighbours=relation.value)
    (one,) = made.measurements
    assert one.attributes is None
    assert one.sensitivity == moved_by(workload(text), relation)
    assert made.fit is None


def test_a_projection_of_marginals_measures_parts_of_them() -> None:
    made = planned(COUNTS, "marginals:3")
    wanted = workload("marginals:3").marginals
    assert wanted is not None
    whole = [set(wanted.attributes_of(number)) for number in range(len(wanted))]
    for one in made.measurements:
        assert one.attributes is not None
        assert any(set(one.attributes) <= attributes for attributes in whole)
        assert one.sensitivity == 1
    assert "least predicted error" in made.chosen_by


def test_a_projection_of_clauses_measures_attributes_first_and_then_every_clause() -> None:
    made = planned(COUNTS, CLAUSES)
    first, last = made.measurements
    assert (first.attributes, first.sensitivity) == ((), 4)
    assert planned_queries(workload(CLAUSES), first).attributes.tolist() == [[0], [1], [2], [3]]
    assert last.attributes is None
    assert last.sensitivity == moved_by(workload(CLAUSES), made.relation)


def test_an_adaptive_plan_starts_from_single_attributes_and_selects_within_its_candidates() -> None:
    made = planned(SELECTED, "marginals:3")
    assert [one.attributes for one in made.measurements] == [(0,), (1,), (2,), (3,)]
    assert made.selections is not None
    candidates = candidate_marginals(made, workload("marginals:3"))
    assert candidates is not None
    assert 1 <= made.selections.rounds <= len(candidates)
    assert f"{made.selections.rounds} rounds that select among {len(candidates)} marginals" in made.chosen_by
    assert set(made.selections.scores) == {"l1", "max"}


def test_the_user_fixes_the_number_of_selections() -> None:
    for rounds in (1, 2, 17):
        made = planned(SELECTED, selections=rounds)
        assert made.selections is not None
        assert made.selections.rounds == rounds
        assert made.budget.allows(made.charges())


def test_a_larger_table_or_budget_selects_no_fewer_marginals() -> None:
    schema = Schema(tuple(Attribute(f"a{i}", AttributeKind.BOOLEAN) for i in range(12)))
    queries = parse_workload("marginals:2", schema)

    def rounds(size: int, rho: float) -> int:
        made = make_measured_plan(terms(SELECTED, rho=rho).request(size), queries)
        assert made.selections is not None
        return made.selections.rounds

    found = [rounds(1000, 0.01), rounds(50_000, 0.01), rounds(50_000, 1.0)]
    assert found == sorted(found)
    assert found[0] < found[2]


FITTED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nothing said": ({}, {"columns": 0, "snapshots": 10, "records": 5000}),
    "records": ({"records": 70}, {"records": 70, "columns": 0}),
    "columns": ({"column_generation": 30}, {"columns": 30, "smoothing": 0.0, "snapshots": 1}),
    "columns and records": ({"column_generation": 30, "records": 9}, {"columns": 30, "records": 9}),
    "no smoothing": ({"smoothing": 0.0}, {"smoothing": 0.0, "snapshots": 1, "columns": 0}),
    "smoothing": ({"smoothing": 3.25}, {"smoothing": 3.25, "snapshots": 10}),
    "seconds": ({"fit_seconds": 2.5}, {"seconds": 2.5}),
}


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("algorithm", [COUNTS, SELECTED])
def test_records_are_fitted_as_the_user_says(algorithm: str, name: str) -> None:
    options, expected = FITTED[name]
    fit = planned(algorithm, **options).fit
    assert isinstance(fit, FitPlan)
    assert {key: getattr(fit, key) for key in expected} == expected


def smoothing(what: str, text: str = "marginals:2", **options: Any) -> float:
    """Return the smoothing that a plan chooses."""
    fit = planned(what, text, **options).fit
    assert fit is not None
    assert fit.smoothing is not None
    return fit.smoothing


def test_smoothing_follows_from_the_ratio_of_size_to_noise() -> None:
    """More budget, or more records, means less pull towards independent attributes in proportion to the records."""
    usual, larger, richer = (
        smoothing(COUNTS, size=size, rho=rho) for size, rho in ((SIZE, 0.02), (2 * SIZE, 0.02), (SIZE, 0.08))
    )
    assert larger == pytest.approx(2 * usual, rel=1e-3)
    assert richer == pytest.approx(2 * usual, rel=1e-3)


def test_clauses_that_are_many_for_the_values_are_fitted_without_smoothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert smoothing(COUNTS, CLAUSES) > 0
    monkeypatch.setattr(module, "CLAUSES_PER_VALUE", 0.1)
    many = planned(COUNTS, CLAUSES).fit
    assert many is not None
    assert (many.smoothing, many.records, many.snapshots) == (0.0, 20_000, 1)
    assert smoothing(COUNTS) > 0


REFUSED: dict[str, tuple[str, str, dict[str, Any], type[DpoptError], str]] = {
    "adaptive on clauses": (SELECTED, CLAUSES, {}, PlanError, "this workload has none; use measure='counts'"),
    "gdp": (
        COUNTS,
        "marginals:2",
        {"epsilon": 1.0, "delta": 1e-9, "accountant": "gdp"},
        PlanError,
        "algorithm='projection' measures with Gaussian noise under accountant='zcdp'.*found gdp",
    ),
    "a budget beyond any noise": (COUNTS, CLAUSES, {"rho": 1e-40}, AccountingError, "change the budget"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_an_algorithm_cannot_serve_is_refused(name: str) -> None:
    algorithm, text, options, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        planned(algorithm, text, **options)


@pytest.mark.parametrize("algorithm", [NOISE, COUNTS])
@pytest.mark.parametrize("text", ["marginals:2", CLAUSES])
def test_more_counts_than_transcripts_hold_are_refused(
    algorithm: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_MEASURED_CELLS", len(workload(text)) - 1)
    with pytest.raises(PlanError, match="measure='selected', fem or dualquery"):
        planned(algorithm, text)
    monkeypatch.setattr(module, "MOST_MEASURED_CELLS", len(workload(text)))
    planned(algorithm, text)


@pytest.mark.parametrize("selections", [0, -1, 1.5])
def test_a_number_of_selections_that_is_none_is_refused(selections: Any) -> None:
    with pytest.raises(PlanError, match="the number of selections must be a whole number"):
        planned(SELECTED, selections=selections)


def test_the_range_of_a_selection_is_an_exact_decimal_below_its_share() -> None:
    made = planned(SELECTED, rho=0.02, neighbours=ADD_REMOVE.value)
    assert made.selections is not None
    assert isinstance(made.selections.step, Decimal)
    share = 0.02 * (1 - module.ONE_WAY_SHARE) * module.SELECTION_SHARE / made.selections.rounds
    assert float(made.selections.step) ** 2 / 8 == pytest.approx(share, rel=1e-3)
    assert float(made.selections.step) ** 2 / 8 <= share


def test_every_algorithm_is_planned_by_its_name() -> None:
    for algorithm in NAMES:
        request = Terms.of(algorithm, rho=0.02, values_share=0).request(SIZE)
        assert plan_of(request, workload()) == make_measured_plan(request, workload())
    with pytest.raises(PlanError, match="found 'magic'"):
        Terms.of("magic", rho=0.02)
