"""What a release takes where it is not told: delta by the public number of records, the workload by size of the table."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import DEFAULT_DELTA
from dpopt.algorithms.request import ReleaseRequest, Terms, _cells_of_triples, delta_in_words, usual_workload
from dpopt.errors import AccountingError, PlanError
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.plan import MOST_DELTA, usual_delta
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.schema import Schema


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
