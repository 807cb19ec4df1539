"""Answers of summaries: within the stated approximation of the truth for every tiny table, where there is no noise."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, PolynomialError, PrivateDataError, SchemaError, TranscriptError, WorkloadError
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.synopses.summaries.release_summary import release_summary, summary
from dpopt.synopses.summaries.summary import Summary
from dpopt.synopses.summaries.summary_plan import SummaryPlan
from tests.exact_summary_loss import tiny_plan
from tests.synopses.summaries.tiny_summaries import (
    CONDITIONS,
    PRIVACY,
    PURE,
    RHO,
    SCHEMA,
    Asked,
    remember_polynomials,
    silent,
    true_share,
)
from tests.tiny_runs import ADD_REMOVE, REPLACE, Table, bits_schema, dataset_of, universe

EVERY, POSITIVE = (ChosenLiterals.of(SCHEMA, None, which) for which in ("all", "positive"))
ROUNDING = 1e-12
TABLES: list[Table] = [
    *combinations_with_replacement(universe(SCHEMA), 1),
    *list(combinations_with_replacement(universe(SCHEMA), 2))[::6],  # without noise an answer is the mean over records
]
QUERIES: list[tuple[Asked, ...]] = [
    query for number in (1, 2, 3) for some in combinations(CONDITIONS, number) for query in product(*some)
]


@pytest.fixture(autouse=True)
def remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    remember_polynomials(monkeypatch)


def predicates(conditions: int) -> Iterator[str]:
    yield "and"
    yield "or"
    for needed in range(2, conditions):
        yield f"atleast:{needed}"


def words(query: tuple[Asked, ...]) -> str:
    return ",".join(one.text for one in query)


def check_every_answer(
    literals: ChosenLiterals, relation: NeighbouringRelation, sizes: tuple[int, ...], *, size: int | None
) -> set[float]:
    """Hold all answers to all tables against enumeration; return the approximations that were stated."""
    stated = set()
    plan = tiny_plan(literals, relation, gaussian=True, sizes=sizes, scales=(1e-4,) * 3, width=3, size=size or 1)
    for table in TABLES:
        records = size or len(table)
        if size is None and len(table) != plan.size:
            plan = tiny_plan(literals, relation, gaussian=True, sizes=sizes, scales=(1e-4,) * 3, width=3, size=records)
        made = silent(plan, table)
        for query in QUERIES:
            for predicate in predicates(len(query)):
                answer = made.answer(words(query), predicate, estimate="polynomial")
                truth = true_share(table, query, predicate, records)
                assert abs(answer.value - truth) <= answer.approximation + ROUNDING, (table, words(query), predicate)
                assert answer.bound >= answer.approximation
                assert answer.low <= answer.value <= answer.high
                stated.add(round(answer.approximation, 9))
    return stated


@pytest.mark.parametrize("sizes", [(1,), (2,), (1, 2), (1, 3), (1, 2, 3)])
@pytest.mark.parametrize("literals", [EVERY, POSITIVE], ids=["all", "positive"])
def test_every_answer_to_every_tiny_table_is_near_as_stated(literals: ChosenLiterals, sizes: tuple[int, ...]) -> None:
    """Replace-one; one to three conditions, of several values, negated, all predicates; some sizes are not counted."""
    stated = check_every_answer(literals, REPLACE, sizes, size=None)
    assert 0 in stated
    assert (max(stated) > 0.1) == (sizes in {(1,), (2,), (1, 2), (1, 3)})
    if sizes == (1, 2, 3):
        assert max(stated) < 1e-6


@pytest.mark.parametrize(
    ("size", "sizes"), [(3, (1,)), (3, (1, 2)), (3, (2, 3)), (3, (1, 2, 3)), (2, (1, 2)), (7, (1, 2))]
)
def test_under_add_remove_answers_hold_for_all_tables_of_at_most_n0_records(size: int, sizes: tuple[int, ...]) -> None:
    """A record that is missing from n0 counts nothing, whatever constant a polynomial has."""
    check_every_answer(EVERY, ADD_REMOVE, sizes, size=size)


def test_under_add_remove_negated_conditions_alone_take_n0_for_the_number_of_records() -> None:
    """With positive literals and no attribute that is counted whole, what nobody satisfies is what is left of n0."""
    literals = ChosenLiterals.of(bits_schema(2), None, "positive")
    plan = tiny_plan(literals, ADD_REMOVE, gaussian=True, scales=(1e-4,) * 2, size=4)
    table: Table = ((0, 0), (1, 0), (0, 0))
    assert silent(plan, table).answer("a=false").value == pytest.approx(3 / 4)  # 2 records, and the one that is missing
    assert silent(plan, (*table, (1, 1))).answer("a=false").value == pytest.approx(2 / 4)
    assert silent(plan, table).answer("a=true").value == pytest.approx(1 / 4)


def test_a_query_of_few_conditions_is_padded_with_attributes_that_are_free() -> None:
    """Only pairs are counted: a single condition is the sum of its pairs with all values of another attribute."""
    table: Table = ((1, 0, 0), (1, 2, 1), (0, 1, 1))
    plan = tiny_plan(EVERY, REPLACE, gaussian=True, sizes=(2,), scales=(1e-4,), width=3, size=3)
    answer = silent(plan, table).answer("a=true")
    assert answer.value == pytest.approx(2 / 3)
    assert (answer.approximation, answer.degree) == (0, 2)
    bits = ChosenLiterals.of(bits_schema(3), None, "positive")
    plan = tiny_plan(bits, REPLACE, gaussian=True, sizes=(2,), scales=(1e-4,), width=3, size=3)
    assert silent(plan, ((1, 0, 0), (1, 1, 1), (0, 1, 1))).answer("a=true").approximation == pytest.approx(0.5)


def test_padding_is_used_where_it_pays_and_never_makes_a_bound_larger() -> None:
    """Pairs with hardly any noise, single literals with much."""
    loud = tiny_plan(EVERY, REPLACE, gaussian=True, sizes=(1, 2), scales=(50.0, 0.1), width=3, size=100)
    answer = silent(loud, [(1, 0, 0)] * 100).answer("a=true")
    assert answer.degree == 2
    assert answer.bound < 0.01
    quiet = tiny_plan(EVERY, REPLACE, gaussian=True, sizes=(1, 2), scales=(0.1, 50.0), width=3, size=100)
    assert silent(quiet, [(1, 0, 0)] * 100).answer("a=true").degree == 1


@pytest.mark.parametrize("gaussian", [False, True])
def test_conjunctions_of_are_the_answers_in_words(gaussian: bool) -> None:
    """With random noisy counts: the same polynomial by enumeration, and what `answer` says where nothing is cut or padded."""
    literals = ChosenLiterals.of(SCHEMA, None, "all")
    plan = tiny_plan(literals, REPLACE, gaussian=gaussian, sizes=(1, 2), scales=(3.0, 5.0), width=3, size=1000)
    generator = np.random.default_rng(2)
    noisy = tuple(generator.integers(300, 400, literals.groups.conjunctions(j)) for j in (1, 2))
    made = Summary(plan, noisy, PRIVACY)
    chosen = np.array([[x, 2 + y, 5 + z] for x in (0, 1) for y in (0, 1, 2) for z in (0, 1)])
    labels = literals.labels
    names = {"b=[0, 10)": "b<10", "b=[10, 20)": "b=[10,, 20)", "b=[20, 30]": "b>=20"}
    for predicate in ("and", "or", "atleast:2"):
        values, bound = made.conjunctions_of(chosen, predicate, confidence=0.9)
        for row, value in zip(chosen.tolist(), values.tolist(), strict=True):
            text = ",".join(names.get(labels[at], labels[at]) for at in row)
            answer = made.answer(text, predicate, confidence=0.9, estimate="polynomial")
            if answer.bound == pytest.approx(bound, rel=1e-9):
                assert answer.value == pytest.approx(min(1.0, max(0.0, value)), abs=1e-12)
            else:  # all conditions negated are better
                assert answer.bound < bound
        if predicate == "and":
            assert all(
                made.answer(
                    ",".join(names.get(labels[at], labels[at]) for at in row), confidence=0.9, estimate="polynomial"
                ).bound
                == bound
                for row in chosen.tolist()
            )
        polynomial = made.polynomial([1, 1, 1], _target(predicate), 0.9)
        by_hand = np.full(len(chosen), polynomial.coefficients[0])
        for j in range(1, len(polynomial.coefficients)):
            for part in combinations(range(3), j):
                at = literals.groups.numbers(chosen[:, part])
                by_hand += polynomial.coefficients[j] * noisy[j - 1][at] / 1000
        assert values == pytest.approx(by_hand, abs=1e-12)


def _target(predicate: str) -> Any:
    from dpopt.polynomials.targets import Target

    return Target.named(predicate, 3).values


def test_conjunctions_of_refuse_what_the_summary_lacks() -> None:
    made = silent(tiny_plan(EVERY, REPLACE, gaussian=True, width=2, size=1), [(0, 0, 0)])
    for rows in (np.array([[0, 2, 5]]), np.zeros((1, 0), dtype=np.int64)):
        with pytest.raises(WorkloadError, match="this summary answers 1 to 2"):
            made.conjunctions_of(rows)
    with pytest.raises(WorkloadError, match="different attributes"):
        made.conjunctions_of(np.array([[0, 1]]))
    with pytest.raises(WorkloadError, match="literals from 0 to 6"):
        made.conjunctions_of(np.array([[0, 9]]))


def test_the_bound_grows_with_the_confidence() -> None:
    made = silent(tiny_plan(EVERY, REPLACE, gaussian=False, width=3, size=100), [(1, 1, 1)] * 100)
    bounds = [made.answer("a=true,c=yes", confidence=share).bound for share in (0.5, 0.9, 0.99, 0.999999)]
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1]


def test_answers_are_cut_at_0_and_1() -> None:
    plan = tiny_plan(EVERY, REPLACE, gaussian=True, sizes=(1,), scales=(0.1,), width=3, size=10)
    for count, value in ((-5, 0.0), (25, 1.0)):
        made = Summary(plan, (np.full(7, count, dtype=np.int64),), PRIVACY)
        assert made.answer("b=[10,, 20)").value == value


@pytest.mark.parametrize(
    ("query", "predicate", "confidence", "kind", "message"),
    [
        ("a=true,b<10,c=yes", "and", 0.9, WorkloadError, "at most k = 2.*k=3"),
        ("a=true", "and", 1.0, WorkloadError, "between 0 and 1, found 1.0"),
        ("a=true", "and", 0.0, WorkloadError, "between 0 and 1"),
        ("a=true", "and", float("nan"), WorkloadError, "between 0 and 1"),
        ("a=true,c=yes", "atleast:3", 0.9, PolynomialError, "at least 3 of 2"),
        ("a=true", "nand", 0.9, PolynomialError, "expected 'or', 'and' or 'atleast:R'"),
        ("shoe=1", "and", 0.9, SchemaError, "shoe"),
        ("a=maybe", "and", 0.9, SchemaError, "maybe"),
        ("b<5", "and", 0.9, SchemaError, "b"),
        ("b<nan", "and", 0.9, SchemaError, "b"),
        ("b<inf", "and", 0.9, (SchemaError, WorkloadError), "b"),
        ("", "and", 0.9, WorkloadError, "expected attribute=value"),
        ("a=true,", "and", 0.9, WorkloadError, "expected attribute=value"),
        ("a=true,a=false", "and", 0.9, WorkloadError, "a=true and a=false holds for no value of 'a'"),
        ("b>=10,c=yes,b<10", "or", 0.9, WorkloadError, "b>=10 and b<10 holds for every value of 'b'"),
        ("b>=10,c=yes,b<20", "atleast:2", 0.9, WorkloadError, "two conditions on 'b'"),
    ],
)
def test_what_has_no_answer_is_refused(query: str, predicate: str, confidence: float, kind: Any, message: str) -> None:
    made = silent(tiny_plan(EVERY, REPLACE, gaussian=True, width=2, size=1), [(0, 0, 0)])
    with pytest.raises(kind, match=message):
        made.answer(query, predicate, confidence=confidence)


def test_conditions_of_both_signs_are_answered_by_a_polynomial_in_two_numbers() -> None:
    """Counted with positive literals alone; all predicates, and padded with an attribute that is counted whole."""
    plan = tiny_plan(POSITIVE, REPLACE, gaussian=True, scales=(1e-4,) * 3, width=3, size=4)
    made = silent(plan, [(1, 0, 0), (1, 2, 1), (0, 1, 0), (0, 1, 1)])
    for query, predicate, value in [
        ("a=false,c=no", "and", 1 / 4),
        ("a=true,c=no", "and", 1 / 4),
        ("a=true,c=no", "or", 3 / 4),
        ("a=true,b<20,c=no", "atleast:2", 2 / 4),
        ("a=true,b<20", "and", 1 / 4),
    ]:
        answer = made.answer(query, predicate)
        assert answer.value == pytest.approx(value, abs=1e-3), query
        assert answer.bound < 2e-3
    pairs = tiny_plan(POSITIVE, REPLACE, gaussian=True, sizes=(1, 2), scales=(1e-4,) * 2, width=3, size=4)
    rough = silent(pairs, [(1, 0, 0), (1, 2, 1), (0, 1, 0), (0, 1, 1)]).answer(
        "a=true,b<20,c=no", estimate="polynomial"
    )
    assert 0 < rough.approximation < 0.3
    assert abs(rough.value - 1 / 4) <= rough.bound


def test_conditions_on_one_column_are_one_condition() -> None:
    plan = tiny_plan(EVERY, REPLACE, gaussian=True, scales=(1e-4,) * 2, width=2, size=4)
    made = silent(plan, [(1, 0, 0), (1, 1, 1), (0, 1, 0), (0, 2, 1)])
    for query, predicate, value in [
        ("b>=10,b<20", "and", 2 / 4),
        ("a=true,b>=10,b<20", "and", 1 / 4),
        ("b<10,b>=20", "or", 2 / 4),
        ("a=true,b<10,b>=20", "or", 3 / 4),
    ]:
        assert made.answer(query, predicate).value == pytest.approx(value, abs=1e-3), query


def test_a_summary_has_a_count_for_every_conjunction() -> None:
    plan = tiny_plan(EVERY, REPLACE, gaussian=True, sizes=(1,), width=3, size=1)
    with pytest.raises(TranscriptError, match="found 6 counts of conjunctions of 1 literals; expected 7"):
        Summary(plan, (np.zeros(6, dtype=np.int64),), PRIVACY)
    assert "3 columns, 7 literals, k=3" in repr(silent(plan, [(0, 0, 0)]))


def release(table: Table, plan: SummaryPlan) -> Summary:
    return release_summary(dataset_of(plan.literals.schema, table), plan)


@pytest.mark.parametrize("budget", [RHO, PURE])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_a_release_states_what_it_cost(relation: NeighbouringRelation, budget: Any) -> None:
    from dpopt.synopses.summaries.summary_plan import plan_summary

    plan = plan_summary(EVERY, 3, budget, size=5, relation=relation)
    made = release(((0, 1, 1),) * 5, plan)
    assert made.privacy["private"] is True
    assert [charge["label"] for charge in made.privacy["charges"]] == [one.name for one in plan.measurements()]
    assert made.privacy["public_size"] == 5
    assert made.privacy["relation"] == relation.value
    if budget is PURE:
        assert made.privacy["epsilon"] == pytest.approx(1.0)
        assert made.privacy["epsilon"] <= 1.0


def test_a_release_of_another_table_is_refused() -> None:
    plan = tiny_plan(EVERY, REPLACE, gaussian=True, size=4)
    with pytest.raises(PrivateDataError, match="plan was made for n = 4"):
        release(((0, 1, 1),) * 5, plan)
    with pytest.raises(PrivateDataError, match="other attributes"):
        release_summary(dataset_of(bits_schema(3), ((0, 1, 1),) * 4), plan)


def test_a_table_is_read_planned_and_released() -> None:
    import pandas as pd

    table = pd.DataFrame({"a": [True, False] * 50, "b": [5, 15, 25, 29] * 25, "c": ["yes", "no"] * 50, "other": 1})
    made = summary(table, SCHEMA, 2, rho=RHO.rho, columns=("c", "a"), n0=100)
    assert made.plan.literals.schema.names == ("c", "a")
    assert made.plan.size == 100
    assert (
        abs(made.answer("a=true,c=yes", confidence=1 - 1e-9).value - 0.5)
        <= made.answer("a=true,c=yes", confidence=1 - 1e-9).bound
    )
    replaced = summary(table, SCHEMA, 2, epsilon=PURE.epsilon, neighbours="replace", literals="positive")
    assert replaced.plan.size == 100
    assert replaced.plan.literals.groups.sizes == (1, 3, 1)
    with pytest.raises(PlanError, match="Leave n0 out"):
        summary(table, SCHEMA, 2, rho=RHO.rho, neighbours="replace", n0=100)
