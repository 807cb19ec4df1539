"""Whole numbers with a known sum: against all of them, in order, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import ProgramError
from dpopt.inference.histograms.sorted.isotonic import isotonic
from dpopt.inference.histograms.tree_least_squares import whole_of_total


@pytest.mark.parametrize("seed", range(20))
def test_no_whole_numbers_of_the_sum_are_nearer(seed: int) -> None:
    generator = np.random.default_rng(seed)
    values, total = generator.integers(0, 24, 5) / 6, int(generator.integers(0, 20))
    values = values + (total - values.sum()) / 5
    every = np.array(list(itertools.product(range(-6, 12), repeat=4)))
    every = np.column_stack((every, total - every.sum(axis=1)))
    least = float(((every - values) ** 2).sum(axis=1).min())
    found = whole_of_total(values, total)
    assert found.sum() == total
    assert float(((found - values) ** 2).sum()) == pytest.approx(least)


@given(st.integers(1, 60), st.integers(0, 10**6), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_what_does_not_fall_does_not_fall_afterwards_and_stays_within_whole_bounds(
    size: int, upper: int, share: float, seed: int
) -> None:
    total = round(share * size * upper)
    values = np.random.default_rng(seed).normal(upper / 2, upper, size)
    real = isotonic(values, lower=0, upper=upper, total=total)
    found = whole_of_total(real, total)
    assert found.sum() == total
    assert (np.diff(found) >= 0).all()
    assert 0 <= found.min() <= found.max() <= upper
    assert np.abs(found - real).max() <= 1 + 1e-6


def test_what_makes_no_sense_is_refused() -> None:
    for values in ([], [np.inf], [[1.0]]):
        with pytest.raises(ProgramError, match="finite numbers in one row"):
            whole_of_total(values, 1)
    with pytest.raises(ProgramError, match="add up to 3; expected a sum of 5"):
        whole_of_total([1.0, 2.0], 5)
