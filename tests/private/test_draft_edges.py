from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.private.readers.draft_columns import Edges, readable_edges


def edges_of(values: Sequence[float], *, bins: int, integer: bool) -> Edges:
    different, counts = np.unique(np.array(values, dtype=np.float64), return_counts=True)
    return readable_edges(different, counts, bins, integer=integer)


@pytest.mark.parametrize(
    ("values", "bins", "integer", "expected"),
    [
        (list(range(100)), 10, True, tuple(range(0, 101, 10))),
        (list(range(3, 98)), 4, True, (0, 25, 50, 75, 100)),
        (list(range(-7, 8)), 3, True, (-10, -5, 0, 5, 10)),
        ([0.0, 0.3, 0.31, 1.0], 10, False, (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
        ([5.0], 10, False, (5.0, 5.1)),
        ([5], 10, True, (5, 6)),
        ([0], 10, True, (0, 1)),
        ([1200, 1201], 10, True, (1200, 1201, 1202)),
    ],
)
def test_edges_of_equal_width_are_round(
    values: list[float], bins: int, integer: bool, expected: tuple[float, ...]
) -> None:
    assert edges_of(values, bins=bins, integer=integer) == expected


def test_crowded_values_get_rounded_quantiles() -> None:
    values = [float(round(1.02**i, 3)) for i in range(1000)]
    edges = edges_of(values, bins=5, integer=False)
    assert edges == (1.0, 51.0, 2700.0, 140000.0, 7400000.0, 400000000.0)
    counts, _ = np.histogram(values, edges)
    assert counts.min() >= 190


def test_a_whole_number_that_many_rows_share_gets_a_bin_of_its_own() -> None:
    zeros = [0] * 900 + list(range(1, 101))
    assert edges_of(zeros, bins=10, integer=True) == (0, 1, *range(10, 101, 10))
    forties = [40] * 500 + list(range(101))
    assert edges_of(forties, bins=5, integer=True) == (0, 20, 40, 41, 60, 80, 100)


@st.composite
def columns(draw: st.DrawFn, numbers: st.SearchStrategy[float]) -> tuple[list[float], list[int]]:
    values = sorted(draw(st.sets(numbers, min_size=1, max_size=40)))
    counts = st.one_of(st.just(1), st.integers(1, 10_000))
    return values, draw(st.lists(counts, min_size=len(values), max_size=len(values)))


def _check(column: tuple[list[float], list[int]], bins: int, *, integer: bool) -> Edges:
    values, counts = np.array(column[0]), np.array(column[1])
    edges = readable_edges(values, counts, bins, integer=integer)
    assert np.isfinite(edges).all()
    assert edges[0] <= values[0]
    assert values[-1] <= edges[-1]
    assert all(low < high for low, high in pairwise(edges))
    assert len(edges) <= 2 * bins + 3
    return edges


@given(columns(st.integers(-50, 50).map(float) | st.integers(-(2**53), 2**53).map(float)), st.integers(2, 40))
def test_whole_edges_hold_all_values(column: tuple[list[float], list[int]], bins: int) -> None:
    edges = _check(column, bins, integer=True)
    assert all(edge == int(edge) for edge in edges)


_FLOATS = st.one_of(st.floats(-1, 1), st.floats(-1e300, 1e300), st.floats(1, 1 + 1e-9)).map(lambda x: x + 0.0)


@given(columns(_FLOATS), st.integers(2, 40))
def test_edges_hold_all_values(column: tuple[list[float], list[int]], bins: int) -> None:
    _check(column, bins, integer=False)
