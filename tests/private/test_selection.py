from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from dpopt.accounting.charges import ChargeKind
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_charge
from dpopt.errors import PlanError
from dpopt.private.selections.selection import Selection
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.tiny_measuring import MULTIPLICITY, RECORDS, SCHEMA, marginals, selection
from tests.tiny_runs import ADD_REMOVE, REPLACE

CANDIDATES = marginals([0], [1])
WIDE = Schema(tuple(Attribute(f"a{i}", AttributeKind.CATEGORICAL, tuple(map(str, range(150)))) for i in range(3)))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"number": 0}, "the number of a round must be a whole number of at least 1"),
        ({"number": True}, "the number of a round must be a whole number of at least 1"),
        ({"score": "L1"}, "the score of candidates is l1 or max"),
        ({"penalties": [0]}, "2 candidates need as many penalties"),
        ({"penalties": [0, 0.5]}, "whole numbers"),
        ({"penalties": [0, 2**70]}, "whole numbers"),
        ({"range_": Decimal(0)}, "a finite number above 0"),
        ({"range_": Decimal("inf")}, "a finite number above 0"),
        ({"range_": 1.0}, "a finite number above 0"),
        ({"candidates": marginals([0]).take([])}, "one of 1 to 10,000 candidates"),
        ({"candidates": marginals([0]).take([0] * 10_001)}, "found 10,001"),
        ({"candidates": marginals([0], [0, 1, 2], schema=WIDE)}, "candidate 1 has 3,375,000 cells"),
    ],
)
def test_a_selection_that_is_none_is_refused(fields: dict[str, object], message: str) -> None:
    given: dict[str, object] = {
        "number": 1,
        "candidates": CANDIDATES,
        "score": "max",
        "penalties": [0, 0],
        "range_": Decimal(1),
    } | fields
    with pytest.raises(PlanError, match=message):
        Selection(*given.values())  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_it_is_charged_by_its_round_and_range(relation: NeighbouringRelation) -> None:
    charge = selection(number=7, range_="0.25").charge(relation)
    assert charge == selection_charge(7, Decimal("0.25"), relation)
    assert charge.kind is ChargeKind.BOUNDED_RANGE
    assert Decimal("0.25") < Decimal(charge.parameter) < Decimal("0.2500001")


@pytest.mark.parametrize(
    ("score", "relation", "spread"),
    [("l1", ADD_REMOVE, 2), ("l1", REPLACE, 4), ("max", ADD_REMOVE, 2), ("max", REPLACE, 2)],
)
def test_the_spread_is_in_units_of_the_public_records(score: str, relation: NeighbouringRelation, spread: int) -> None:
    assert selection(score).spread(relation, 5) == 5 * spread


@pytest.mark.parametrize(
    ("records", "multiplicity", "message"),
    [
        (RECORDS[:, :1], MULTIPLICITY, "do not fit a schema of 2 attributes"),
        (RECORDS, MULTIPLICITY[:2], "do not fit a schema"),
        (RECORDS[0], MULTIPLICITY, "do not fit a schema"),
        (RECORDS + np.int32(1), MULTIPLICITY, "codes that the schema does not have"),
        (RECORDS - np.int32(1), MULTIPLICITY, "codes that the schema does not have"),
        (RECORDS, MULTIPLICITY - 2, "must not be negative"),
        (RECORDS, MULTIPLICITY * 0, "not all of them 0"),
        (RECORDS, MULTIPLICITY / 2, "multiplicities whole numbers"),
        (RECORDS, MULTIPLICITY * 2**20, "too many to score marginals at public size 100 in 64 bits"),
        (RECORDS, MULTIPLICITY * 2**61, "too many to score"),
    ],
)
def test_records_without_any_score_are_refused(records: np.ndarray, multiplicity: np.ndarray, message: str) -> None:
    with pytest.raises(PlanError, match=f"round 1: .*{message}"):
        selection().check_records(records, multiplicity, SCHEMA.sizes, 100)


def test_whole_numbers_of_any_type_are_taken() -> None:
    records, multiplicity = selection().check_records(
        RECORDS.astype(np.uint8), MULTIPLICITY.astype(np.float64), SCHEMA.sizes, 100
    )
    assert records.dtype == np.int32
    assert multiplicity.dtype == np.int64
    assert records.tolist() == RECORDS.tolist()
