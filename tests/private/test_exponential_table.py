from __future__ import annotations

import decimal
import random
from decimal import Decimal
from fractions import Fraction
from math import nextafter

import numpy as np
import pytest

from dpopt.errors import PlanError
from dpopt.private.mechanisms.selection_distribution import ExponentialTable
from tests.exact_distribution import exp_minus, table_form

SETTINGS = [
    (Decimal("0.4"), 30_162, 50),
    (Decimal("1.2"), 494_021, 50),
    (Decimal("1.4"), 1_000_000_000, 50),
    (Decimal("0.0137"), 977, 46),
    (Decimal(2), 3, 50),
    (Decimal("33.9"), 1, 50),
    (Decimal(17), 1, 46),
]


def distances(table: ExponentialTable) -> list[int]:
    """Both ends, the places where the digits roll over, and some between; all of them where there are few."""
    if table.clamp < 400:
        return list(range(table.clamp + 1))
    base = 1 << table.bits
    chosen = random.Random(7)
    ends = {0, 1, base - 1, base, base + 1, table.clamp - 1, table.clamp}
    return sorted(ends | {chosen.randrange(table.clamp + 1) for _ in range(250)})


def is_nearest_double(value: float, true: Fraction) -> bool:
    away = abs(Fraction(value) - true)
    return all(away <= abs(Fraction(nextafter(value, to)) - true) for to in (0.0, 2.0))


@pytest.mark.parametrize(("step", "size", "depth"), SETTINGS)
def test_every_entry_is_the_double_nearest_to_the_true_exponential(step: Decimal, size: int, depth: int) -> None:
    table = ExponentialTable(step, size, depth=depth)
    rate = Fraction(step) / size
    for distance in distances(table):
        high, low = distance >> table.bits, distance & ((1 << table.bits) - 1)
        assert is_nearest_double(float(table.high[high]), exp_minus(rate * (high << table.bits)))
        assert is_nearest_double(float(table.low[low]), exp_minus(rate * low))


@pytest.mark.parametrize(("step", "size", "depth"), SETTINGS)
def test_a_weight_is_off_by_three_roundings_at_most(step: Decimal, size: int, depth: int) -> None:
    table = ExponentialTable(step, size, depth=depth)
    rate = Fraction(step) / size
    allowed = Fraction(3, 2**53) * (1 + Fraction(1, 2**50))
    for distance in distances(table):
        product = float(table.high[distance >> table.bits] * table.low[distance & ((1 << table.bits) - 1)])
        assert abs(Fraction(product) / exp_minus(rate * distance) - 1) <= allowed


@pytest.mark.parametrize(("step", "size", "depth"), SETTINGS)
def test_a_weight_is_a_whole_number_of_its_smallest_units(step: Decimal, size: int, depth: int) -> None:
    table = ExponentialTable(step, size, depth=depth)
    for distance in distances(table):
        product = float(table.high[distance >> table.bits] * table.low[distance & ((1 << table.bits) - 1)])
        assert 2.0 ** -(depth + 1) <= product <= 1.0
        assert (Fraction(product) * 2 ** (depth + 54)).denominator == 1


@pytest.mark.parametrize(("step", "size", "depth"), SETTINGS)
def test_the_clamp_is_the_last_distance_whose_weight_reaches_the_depth(step: Decimal, size: int, depth: int) -> None:
    table = ExponentialTable(step, size, depth=depth)
    rate = Fraction(step) / size
    assert exp_minus(rate * table.clamp) >= Fraction(1, 2**depth) > exp_minus(rate * (table.clamp + 1))
    assert (table.clamp, table.bits) == table_form(step, size, depth)


def test_the_tables_cover_every_distance_up_to_the_clamp_and_nothing_can_be_changed() -> None:
    table = ExponentialTable(Decimal("0.4"), 30_162)
    assert len(table.low) == 1 << table.bits
    assert len(table.high) == (table.clamp >> table.bits) + 1
    assert table.high[0] == table.low[0] == 1.0
    assert np.all(np.diff(table.high) < 0)
    assert np.all(np.diff(table.low) < 0)
    with pytest.raises(ValueError, match="read-only"):
        table.low[0] = 2.0


def test_the_callers_decimal_settings_change_nothing() -> None:
    plain = ExponentialTable(Decimal("1.2"), 494_021)
    coarse = decimal.Context(prec=4, rounding=decimal.ROUND_DOWN, traps=[decimal.Inexact, decimal.Rounded])
    with decimal.localcontext(coarse):
        other = ExponentialTable(Decimal("1.2"), 494_021)
    assert other.clamp == plain.clamp
    assert np.array_equal(other.low, plain.low)
    assert np.array_equal(other.high, plain.high)


@pytest.mark.parametrize(
    ("step", "size", "message"),
    [
        *((step, 10, "the step eta must be a positive number") for step in ("0", "-1", "NaN", "Infinity")),
        ("1", 0, "the public size must be at least 1, found 0"),
        ("1e-9", 1_000_000, "choose a larger step"),
        # Accepted, it would count every score as the best one: uniform draws in every round, without a word.
        ("35", 1, "choose a smaller step"),
    ],
)
def test_steps_and_sizes_without_tables_are_refused(step: str, size: int, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        ExponentialTable(Decimal(step), size)
