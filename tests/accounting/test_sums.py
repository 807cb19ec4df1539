from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpopt.accounting.conversions import lifted, split_product, sum_upward, weighted_squares, weighted_sum_upward

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
