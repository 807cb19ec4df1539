from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import DEFAULT_DELTA
from dpopt.accounting.charges import ChargeKind
from dpopt.accounting.dualquery import plan_charges
from dpopt.accounting.ledger import Budget
from dpopt.accounting.measurements import one_way_charge
from dpopt.algorithms.dualquery.plan import DualQueryPlan, OneWayMeasurement
from dpopt.algorithms.options import MWEM, Projection
from dpopt.algorithms.request import ReleaseRequest, Terms, _cells_of_triples, delta_in_words, usual_workload
from dpopt.errors import AccountingError, PlanError
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.plan import MOST_DELTA, FreeAttributes, usual_delta
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.schema import Schema
from tests.algorithms.small_runs import ADD_REMOVE, REPLACE, plan

ESTIMATED = {"free_attributes": FreeAttributes.ESTIMATED, "one_way": OneWayMeasurement(scale=12.5, gaussian=True)}
PLANS: dict[str, dict[str, Any]] = {
    "the usual one": {},
    "estimated free attributes": ESTIMATED,
    "add-remove, rho": {"relation": ADD_REMOVE, "budget": Budget(None, 1e-9, 0.1, Accountant.ZCDP)},
    "pure": {"budget": Budget(3.0, 0.0, None, Accountant.PURE)},
    "limits": {"work": 7, "seconds": 0.1, "seed": 2**31 - 1, "solver": "cp-sat"},
    "a step of many digits": {"step": Decimal("0.1234567890123456789012345678901")},
    "random": {"free_attributes": FreeAttributes.RANDOM},
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_reads_back_from_its_json_exactly(name: str) -> None:
    made = plan(**PLANS[name])
    assert DualQueryPlan.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_a_plan_reserves_the_one_way_marginals_first_then_each_round() -> None:
    made = plan(**ESTIMATED)
    measured = one_way_charge(4, scale=12.5, gaussian=True, relation=REPLACE)
    assert made.charges() == (measured, *plan_charges(6, 8, 1.4, 200, REPLACE))
    assert [charge.kind for charge in plan().charges()] == [ChargeKind.BOUNDED_RANGE] * 6


def test_whole_numbers_of_numpy_become_pythons() -> None:
    made = plan(rounds=np.int64(3), draws=np.uint8(2), size=np.int32(9), seed=np.int64(5), work=np.int16(4))
    assert made == plan(rounds=3, draws=2, size=9, seed=5, work=4)
    assert json.loads(json.dumps(made.to_json()))["work"] == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "the number of rounds must be a whole number of at least 1, found 0"),
        ({"draws": -2}, "the number of draws must be a whole number of at least 1, found -2"),
        ({"rounds": 2.0}, "the number of rounds must be a whole number of at least 1, found 2.0"),
        ({"rounds": True}, "the number of rounds must be a whole number of at least 1, found True"),
        ({"size": 0}, "the public size must be a whole number of at least 1, found 0"),
        ({"attributes": 0}, "the number of attributes must be a whole number"),
        ({"step": Decimal(0)}, "the step eta must be a finite number above 0, found 0"),
        ({"step": Decimal("NaN")}, "the step eta must be a finite number above 0, found NaN"),
        ({"step": Decimal("Infinity")}, "the step eta must be a finite number above 0, found Infinity"),
        ({"seed": -1}, "the seed must be a whole number of at least 0, found -1"),
        ({"seed": 2**31}, "the seed must be at most 2,147,483,647, found 2,147,483,648"),
        ({"work": 0}, "the work per round must be a whole number of at least 1, found 0"),
        ({"seconds": 0}, "the seconds per round must be a finite number above 0, found 0"),
        ({"seconds": float("inf")}, "the seconds per round must be a finite number above 0, found inf"),
        ({"seconds": 10**400}, "the seconds per round must be a finite number above 0, found 1"),
        ({"seconds": True}, "the seconds per round must be a finite number above 0, found True"),
        ({"free_attributes": FreeAttributes.ESTIMATED}, "if and only if free attributes are estimated"),
        ({"one_way": OneWayMeasurement(1.0, gaussian=True)}, "if and only if free attributes are estimated"),
    ],
)
def test_a_plan_that_cannot_be_run_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        plan(**changes)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf"), "1"])
def test_noise_of_no_scale_is_refused(scale: Any) -> None:
    with pytest.raises(PlanError, match="the scale of one-way marginals must be a finite number above 0"):
        OneWayMeasurement(scale, gaussian=True)


@pytest.mark.parametrize(("key", "value"), [("free_attributes", "zeros"), ("encoding", "one-hot"), ("step", None)])
def test_a_damaged_plan_is_refused(key: str, value: object) -> None:
    with pytest.raises(PlanError, match="plan.json at"):
        DualQueryPlan.from_json({**plan().to_json(), key: value})


@pytest.mark.parametrize("given", [None, 3, b"x", object()])
def test_what_is_no_solver_is_refused(given: Any) -> None:
    for kind in (Projection, MWEM):
        with pytest.raises(PlanError, match="solver= is the name of one"):
            kind(solver=given)


# What a release takes where it is not told: delta by the public number of records, the workload by size of the table.


def table(*sizes: int) -> Schema:
    return Schema(
        tuple(
            Attribute(f"c{place}", AttributeKind.CATEGORICAL, values=tuple(range(size)))
            for place, size in enumerate(sizes)
        )
    )


@pytest.mark.parametrize("n0", [1000, 1001, 32_561, 48_842, 99_999, 10**6, 2**53])
def test_delta_is_one_over_the_square_rounded_down_to_one_digit(n0: int) -> None:
    delta = Fraction(repr(usual_delta(n0)))
    digit, power = repr(float(delta)).split("e")
    assert delta <= Fraction(1, n0**2)
    assert float(digit).is_integer()
    assert delta + Fraction(10) ** int(power) > Fraction(1, n0**2)


def test_few_records_and_unknown_numbers_have_a_fixed_delta() -> None:
    assert usual_delta(1) == usual_delta(999) == MOST_DELTA
    assert usual_delta(None) == DEFAULT_DELTA
    with pytest.raises(PlanError, match="public size"):
        usual_delta(0)


def test_epsilon_alone_has_a_delta_and_a_delta_of_0_is_pure() -> None:
    budget = Terms(epsilon=1.0).budget()
    assert (budget.accountant, budget.delta) == (Accountant.ZCDP, DEFAULT_DELTA)
    assert Terms(epsilon=1.0, n0=48_842).budget().delta == 4e-10
    for pure in (Terms(epsilon=1.0, delta=0.0), Terms(epsilon=1.0, accountant="pure")):
        assert (pure.budget().accountant, pure.budget().delta) == (Accountant.PURE, 0.0)
    with pytest.raises(AccountingError, match="delta of a budget"):
        Terms(rho=0.1, delta=0.0).budget()


def test_a_delta_that_was_not_given_is_said_with_its_reason() -> None:
    declared, measured = delta_in_words(Terms(epsilon=1.0, n0=48_842)), delta_in_words(Terms(epsilon=1.0))
    assert declared is not None
    assert declared.startswith("delta: 4e-10, 1/n0^2 for n0 = 48,842")
    assert measured is not None
    assert "fixed before the number of records is measured" in measured
    for given in (Terms(epsilon=1.0, delta=1e-6), Terms(rho=0.1), Terms(epsilon=1.0, accountant="pure")):
        assert delta_in_words(given) is None


def test_what_is_put_on_file_has_its_delta_and_older_files_keep_their_meaning() -> None:
    terms = Terms(epsilon=1.0, n0=2000).complete()
    assert (terms.delta, terms.accountant) == (2e-7, "zcdp")
    assert terms.complete() == terms
    schema = table(2, 3)
    queries = parse_workload("marginals:1", schema)
    older = ReleaseRequest(
        Terms(epsilon=1.0), schema, queries
    ).to_json()  # an earlier version's: no delta stood for none
    assert ReleaseRequest.from_json(older, schema, queries).terms.budget().accountant is Accountant.PURE
    assert (
        ReleaseRequest.from_json(ReleaseRequest(terms, schema, queries).to_json(), schema, queries).terms.budget()
        == terms.budget()
    )


def test_three_columns_are_asked_for_where_they_can_be_answered() -> None:
    schema, terms = table(2, 3, 4, 5, 3, 2), Terms(epsilon=1.0)
    many, why = usual_workload(schema, terms, 50_000)
    assert many.specification["workload"] == "marginals:3"
    assert why.startswith("workload: marginals:3 (all 3-way marginals of 6 columns")
    assert "as for" not in why
    assert "chosen as for 10,000 records" in usual_workload(schema, terms, None)[1]
    few, why = usual_workload(schema, terms, 30)
    assert few.specification["workload"] == "marginals:2"
    assert "hardly less than that of noisy, independent columns" in why


def test_large_tables_are_asked_for_two_columns_and_wide_ones_for_conjunctions() -> None:
    terms = Terms(epsilon=1.0)
    large, why = usual_workload(table(*[300] * 4), terms, 50_000)
    assert large.specification["workload"] == "marginals:2"
    assert "those of three columns have 108,000,000 cells, more than 5,000,000" in why
    together, why = usual_workload(Schema.binary(60), terms, 10**6)
    assert together.specification["workload"] == "marginals:2"
    assert "36,050 sets of up to three columns, more than the 10,000" in why
    wide, why = usual_workload(Schema.binary(101), terms, 50_000)
    assert (len(wide), why.split(" (")[0]) == (100_000, "workload: conjunctions:3,count=100000,seed=0")
    assert usual_workload(table(4), terms, None)[0].specification["workload"] == "marginals:1"


def test_cells_of_triples_are_counted_as_they_are_listed() -> None:
    sizes = np.random.default_rng(5).integers(2, 40, size=9).tolist()
    assert _cells_of_triples(table(*sizes)) == sum(prod(three) for three in combinations(sizes, 3))
