from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.conversions import lifted, split_product, sum_upward, weighted_squares, weighted_sum_upward
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError
from dpopt.files.codec import decode, encode

FIELDS: dict[str, Any] = {
    "mechanism": "exponential mechanism",
    "kind": ChargeKind.BOUNDED_RANGE,
    "parameter": 0.25,
    "count": 7,
    "relation": NeighbouringRelation.REPLACE_ONE,
    "theorem": "a theorem",
    "label": "round 2",
}


def charge(**changes: Any) -> Charge:
    return Charge(**{**FIELDS, **changes})


charges = st.builds(
    Charge,
    mechanism=st.text(min_size=1),
    kind=st.sampled_from([ChargeKind.BOUNDED_RANGE, ChargeKind.PURE, ChargeKind.CONCENTRATED]),
    parameter=st.floats(0.0, 1e100),
    count=st.integers(1, 2**53),
    relation=st.sampled_from(NeighbouringRelation),
    theorem=st.text(min_size=1),
    label=st.text(),
)


@given(charges | st.just(charge(kind=ChargeKind.NOT_PRIVATE, parameter=math.inf)))
def test_a_charge_reads_back_from_strict_json_exactly(original: Charge) -> None:
    text = json.dumps(encode(original), allow_nan=False)
    assert decode(Charge, json.loads(text), "a charge") == original


def test_charges_are_values() -> None:
    assert charge() == charge()
    assert len({charge(), charge(), charge(label="round 3")}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        charge().parameter = 0.0  # type: ignore[misc]


def test_numbers_of_numpy_become_plain_numbers() -> None:
    built = charge(parameter=np.float64(0.25), count=np.int64(7))
    assert built == charge()
    assert type(built.parameter) is float
    assert type(built.count) is int


def test_a_minus_zero_is_a_zero() -> None:
    assert math.copysign(1.0, charge(parameter=-0.0).parameter) == 1.0


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("mechanism", "", "mechanism of a charge: found ''"),
        ("mechanism", 3, "mechanism of a charge"),
        ("theorem", "", "theorem of a charge"),
        ("label", None, "label of a charge"),
        ("kind", "pure", "kind of a charge"),
        ("relation", "replace", "relation of a charge"),
        ("count", 0, "count of a charge"),
        ("count", -1, "count of a charge"),
        ("count", 1.5, "count of a charge"),
        ("count", True, "count of a charge"),
        ("count", 2**53 + 1, "count of a charge"),
        ("parameter", -0.1, "parameter of a charge"),
        ("parameter", math.nan, "parameter of a charge"),
        ("parameter", math.inf, "charged as not private"),
        ("parameter", 1e101, "parameter of a charge"),
        ("parameter", True, "parameter of a charge"),
        ("parameter", "0.1", "parameter of a charge"),
    ],
)
def test_a_field_out_of_range_is_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(AccountingError, match=message):
        charge(**{field: value})


@pytest.mark.parametrize("parameter", [0.0, 1.0, math.nan])
def test_a_not_private_charge_has_an_infinite_parameter(parameter: float) -> None:
    with pytest.raises(AccountingError, match="expected infinity"):
        charge(kind=ChargeKind.NOT_PRIVATE, parameter=parameter)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "approximate"},
        {"relation": "swap"},
        {"parameter": "0.1"},
        {"parameter": None},
        {"parameter": 10**400},
        {"count": 1.0},
        {"label": 3},
        {"extra": 1},
    ],
)
def test_json_that_is_no_charge_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(AccountingError):
        decode(Charge, {**encode(charge()), **changes}, "a charge", AccountingError)


def test_a_relation_names_the_number_that_has_to_be_public() -> None:
    assert NeighbouringRelation.REPLACE_ONE.describe() == "replace-one with public n"
    assert NeighbouringRelation.ADD_REMOVE.describe() == "one record more or less (add-remove)"
    assert NeighbouringRelation("replace") is NeighbouringRelation.REPLACE_ONE
    assert NeighbouringRelation("add-remove") is NeighbouringRelation.ADD_REMOVE


# Sums.

sizes = st.floats(1e-110, 1e90)
counts = st.integers(1, 2**53)
pairs = st.lists(st.tuples(counts, sizes), min_size=1, max_size=20)


def columns(rows: list[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    count, value = zip(*rows, strict=True)
    return np.array(count, dtype=np.float64), np.array(value, dtype=np.float64)


def exact(*arrays: np.ndarray) -> Fraction:
    return sum((Fraction(value) for array in arrays for value in array.tolist()), Fraction(0))


def is_smallest_float_not_below(value: float, target: Fraction) -> bool:
    return Fraction(value) >= target > Fraction(math.nextafter(value, -math.inf))


@given(pairs)
def test_a_product_is_split_without_error(rows: list[tuple[int, float]]) -> None:
    count, value = columns(rows)
    high, low = split_product(count, value)
    for c, v, h, rest in zip(count.tolist(), value.tolist(), high.tolist(), low.tolist(), strict=True):
        assert Fraction(h) + Fraction(rest) == Fraction(c) * Fraction(v)


@given(pairs)
def test_a_weighted_sum_is_the_smallest_float_that_is_not_below_it(rows: list[tuple[int, float]]) -> None:
    total = sum((Fraction(c) * Fraction(v) for c, v in rows), Fraction(0))
    assert is_smallest_float_not_below(weighted_sum_upward(*columns(rows)), total)


@given(pairs)
def test_weighted_squares_add_up_without_error(rows: list[tuple[int, float]]) -> None:
    total = sum((c * Fraction(v) ** 2 for c, v in rows), Fraction(0))
    assert exact(*weighted_squares(*columns(rows))) == total
    assert is_smallest_float_not_below(sum_upward(*weighted_squares(*columns(rows))), total)


def test_a_total_that_is_a_float_is_not_rounded() -> None:
    assert weighted_sum_upward(np.array([10.0]), np.array([0.5])) == 5.0
    assert sum_upward(np.array([1.0, 2.0**-60, -(2.0**-60)])) == 1.0


def test_a_total_just_above_a_float_is_rounded_up() -> None:
    assert sum_upward(np.array([1.0, 2.0**-60])) == math.nextafter(1.0, 2.0)


def test_the_order_does_not_matter() -> None:
    values = np.array([0.1, 1e16, 0.3, 1e-9, 7.0] * 11)
    assert sum_upward(values) == sum_upward(values[::-1]) == sum_upward(values[:7], values[7:])


def test_nothing_adds_up_to_zero_and_infinity_to_infinity() -> None:
    assert sum_upward() == 0.0
    assert sum_upward(np.zeros(0)) == 0.0
    assert sum_upward(np.array([1.0, math.inf])) == math.inf


def test_tiny_values_are_lifted_so_that_their_squares_do_not_vanish() -> None:
    assert lifted(np.array([0.0, 1e-300, 1e-120, 0.5])).tolist() == [0.0, 1e-120, 1e-120, 0.5]
    assert sum_upward(*weighted_squares(np.array([1.0]), np.array([1e-300]))) > 0.0
