"""Exact numbers: every result is the one that Python's fractions give."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.programs.dyadic import Dyadic

FLOATS = st.one_of(
    st.integers(-(10**6), 10**6).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.1, -0.0, 5e-324, 1e300, 2.0**62, -(2.0**63), 1 / 3]),
)
LISTS = st.lists(FLOATS, max_size=6)


def fractions(numbers: Dyadic) -> list[Fraction]:
    return [Fraction(int(numerator), 2**numbers.shift) for numerator in numbers.numerators]


@given(LISTS)
def test_a_number_is_taken_as_it_is(values: list[float]) -> None:
    assert fractions(Dyadic.of(np.array(values, dtype=np.float64))) == [Fraction(value) for value in values]


@given(st.lists(st.tuples(FLOATS, FLOATS, st.integers(0, 2)), max_size=6))
def test_sums_differences_and_products_are_exact(rows: list[tuple[float, float, int]]) -> None:
    one, two = (np.array([row[i] for row in rows], dtype=np.float64) for i in (0, 1))
    owner = np.array([row[2] for row in rows], dtype=np.int64)
    first, second = Dyadic.of(one), Dyadic.of(two)
    pairs = [(Fraction(a), Fraction(b)) for a, b, _ in rows]
    products = first.times(second)
    assert fractions(products) == [a * b for a, b in pairs]
    assert fractions(first.minus(second)) == [a - b for a, b in pairs]
    assert products.total() == sum(a * b for a, b in pairs)
    assert fractions(products.sum_by(owner, 3)) == [
        sum((a * b for (a, b), number in zip(pairs, owner, strict=True) if number == k), Fraction(0))
        for k in range(3)
    ]
    assert products.positive().tolist() == [a * b > 0 for a, b in pairs]
    assert products.negative().tolist() == [a * b < 0 for a, b in pairs]


@given(LISTS, st.integers(-(2**80), 2**80))
def test_a_whole_factor_is_exact(values: list[float], factor: int) -> None:
    scaled = Dyadic.of(np.array(values, dtype=np.float64)).scaled(factor)
    assert fractions(scaled) == [Fraction(value) * factor for value in values]


@pytest.mark.parametrize("number", [2**62 - 1, 2**62, 2**63 - 1])
def test_whole_numbers_do_not_overflow(number: int) -> None:
    numbers = Dyadic.whole(np.array([number, -number, number], dtype=np.int64))
    assert numbers.times(numbers).total() == 3 * number**2
    assert numbers.take(np.array([0, 2])).total() == 2 * number
