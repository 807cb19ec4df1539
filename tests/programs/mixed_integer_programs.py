"""Small mixed-integer programs for tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from dpopt.programs import MixedIntegerProgram, QuadraticProgram

INFINITY = float("inf")


def dense(
    objective: ArrayLike,
    matrix: ArrayLike,
    rows: list[tuple[float, float]],
    bounds: list[tuple[float, float]],
    integrality: ArrayLike,
    *,
    maximize: bool = True,
) -> MixedIntegerProgram:
    """Return the program with a matrix given in full and bounds in pairs."""
    c = np.asarray(objective, dtype=np.float64)
    a = np.asarray(matrix, dtype=np.float64).reshape(len(rows), c.size)
    row, column = np.nonzero(a)
    starts = np.searchsorted(row, np.arange(len(rows) + 1))
    low, high = np.array(rows, dtype=np.float64).reshape(-1, 2).T
    lower, upper = np.array(bounds, dtype=np.float64).reshape(-1, 2).T
    return MixedIntegerProgram(
        maximize,
        c,
        starts.astype(np.int64),
        column.astype(np.int32),
        a[row, column],
        low,
        high,
        lower,
        upper,
        np.asarray(integrality, dtype=np.bool_),
    )


def squares(linear: MixedIntegerProgram, matrix: ArrayLike, targets: ArrayLike, weights: ArrayLike) -> QuadraticProgram:
    """Return the program with the squares' matrix given in full."""
    full = np.asarray(matrix, dtype=np.float64).reshape(np.size(targets), linear.number_of_variables)
    row, column = np.nonzero(full)
    starts = np.searchsorted(row, np.arange(full.shape[0] + 1)).astype(np.int64)
    return QuadraticProgram(
        linear,
        starts,
        column.astype(np.int32),
        full[row, column],
        np.asarray(targets, dtype=np.float64),
        np.asarray(weights, dtype=np.float64),
    )


_NUMBERS = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3, allow_subnormal=False))
_INTERVALS = st.one_of(
    st.tuples(_NUMBERS, _NUMBERS).map(lambda pair: (min(pair), max(pair))),
    _NUMBERS.map(lambda low: (low, INFINITY)),
    _NUMBERS.map(lambda high: (-INFINITY, high)),
    st.just((-INFINITY, INFINITY)),
)


@st.composite
def mixed_integer_programs(draw: st.DrawFn) -> MixedIntegerProgram:
    """Draw a program of a few rows and columns, with every kind of bound."""
    n, r = draw(st.integers(1, 4)), draw(st.integers(0, 4))
    return dense(
        draw(st.lists(_NUMBERS, min_size=n, max_size=n)),
        draw(st.lists(_NUMBERS, min_size=n * r, max_size=n * r)),
        draw(st.lists(_INTERVALS, min_size=r, max_size=r)),
        draw(st.lists(_INTERVALS, min_size=n, max_size=n)),
        draw(st.lists(st.booleans(), min_size=n, max_size=n)),
        maximize=draw(st.booleans()),
    )
