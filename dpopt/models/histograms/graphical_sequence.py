"""The degree sequence of a graph nearest to noisy degrees: relaxed as a quadratic program, exact in whole numbers.

Problem (models/graphical_sequences): for noisy degrees y_1 >= ... >= y_n or thereabouts,

    minimize    1/2 sum_i (d_i - y_i)^2                                                        GS-1
    subject to  n - 1 >= d_1 >= ... >= d_n >= 0                                                GS-2
                sum_{i <= r} d_i <= r (r - 1) + sum_{i > r} m_ir         for r = 1, ..., n     GS-3
                m_ir <= d_i, m_ir <= r                                   for i > r             GS-4
                d_i = sum_v x_iv, x_i(v+1) <= x_iv in {0, 1}, sum_i d_i = 2 E, E whole         GS-5

GS-3 and GS-4 are the inequalities of Erdos and Gallai with m_ir in place of min(d_i, r): larger m_ir only relax, so they may be
chosen freely below it. GS-1 to GS-4 are convex. With GS-5, x_iv says whether d_i >= v, so that m_ir = sum_{v <= r} x_iv and the
square of GS-1 is sum_v (v - 1/2 - y_i) x_iv and a constant: everything is linear.

What the fast method (`dpopt.inference.histograms.sorted.degree_sequences`) rests on:

    GS-3 and GS-4 for all r say: sum_{i <= r} d_i - sum_{i > j} d_i <= r (j - 1) for all r <= j        GS-6
    for u >= 0 the least of GS-1 + sum u (a . d - b) over cuts a . d <= b is a lower bound             GS-7
    the best whole sequence of the other parity under GS-1 and GS-2 has an odd number of entries at the front of one stretch
    of equal entries raised by 1, or at its back lowered                                               GS-8

Reference programs, for sizes that a test needs: n (n - 1) / 2 variables m, n (n - 1) variables x.

Source: Erdos and Gallai (1960); linear form: Koren (1973), Peled and Srinivasan (1989).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from dpopt.errors import ProgramError
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import QuadraticProgram

_Entries = tuple[NDArray[np.int64], NDArray[np.int64], float]


def graphical_relaxation(values: NDArray[np.float64]) -> QuadraticProgram:
    """Return the program GS-1 to GS-4 whose first n variables are d, for falling values (n,), n >= 1.

    Raises
    ------
    ProgramError
        No row of at least one value, or whatever programs refuse.
    """
    size = _size(values)
    nodes = np.arange(size)
    ranks, others = np.triu_indices(size, 1)  # m_ir for r = ranks + 1 and i = others + 1
    free = size + np.arange(ranks.size)
    front, summed = np.tril_indices(size)
    falling = np.arange(size - 1)
    rows = _stacked(
        size + ranks.size,
        [
            (size - 1, [(falling, falling, 1.0), (falling, falling + 1, -1.0)]),  # GS-2
            (size, [(front, summed, -1.0), (ranks, free, 1.0)]),  # GS-3
            (ranks.size, [(free - size, others, 1.0), (free - size, free, -1.0)]),  # GS-4
        ],
    )
    low = np.concatenate([np.zeros(size - 1), -(nodes + 1.0) * nodes, np.zeros(ranks.size)])
    upper = np.concatenate([np.full(size, size - 1.0), ranks + 1.0])
    linear = _program(np.zeros(upper.size), rows, (low, np.full(low.size, np.inf)), upper, whole=False)
    return QuadraticProgram(
        linear,
        np.arange(size + 1, dtype=np.int64),
        np.arange(size, dtype=np.int32),
        np.ones(size),
        values,
        np.ones(size),
    )


def graphical_program(values: NDArray[np.float64]) -> MixedIntegerProgram:
    """Return GS-1 to GS-5 for falling values (n,), n >= 1: variables x_11, ..., x_1(n-1), x_21, ..., and E at the end.

    The objective lacks the constant 1/2 sum y_i^2 of GS-1. Errors as for `graphical_relaxation`.
    """
    size = _size(values)
    most = size - 1
    number = size * most
    places = np.arange(number).reshape(size, most)
    node, level = np.divmod(np.arange(number), max(most, 1))
    longer, shorter = places[:, :-1].ravel(), places[:, 1:].ravel()
    above, below = places[:-1].ravel(), places[1:].ravel()
    rank = np.repeat(np.arange(size), number)
    column = np.tile(np.arange(number), size)
    front = node[column] <= rank
    counted = ~front & (level[column] <= rank)  # m_ir = sum_{v <= r} x_iv
    rows = _stacked(
        number + 1,
        [
            (longer.size, [(np.arange(longer.size), longer, 1.0), (np.arange(longer.size), shorter, -1.0)]),
            (above.size, [(np.arange(above.size), above, 1.0), (np.arange(above.size), below, -1.0)]),  # GS-2
            (size, [(rank[front], column[front], -1.0), (rank[counted], column[counted], 1.0)]),  # GS-3, GS-4
            (
                1,
                [
                    (np.zeros(number, np.int64), np.arange(number), -1.0),
                    (np.zeros(1, np.int64), np.full(1, number), 2.0),
                ],
            ),  # GS-5
        ],
    )
    sides = -np.arange(1.0, size + 1) * np.arange(size)
    low = np.concatenate([np.zeros(longer.size + above.size), sides, [0.0]])
    high = np.append(np.full(low.size - 1, np.inf), 0.0)
    objective = np.append(level + 0.5 - values[node], 0.0)
    return _program(objective, rows, (low, high), np.append(np.ones(number), size * most / 2), whole=True)


def degrees_of(point: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Return falling d (n,) of a point of `graphical_program` for n = `size`."""
    degrees: NDArray[np.int64] = np.rint(point[:-1]).astype(np.int64).reshape(size, size - 1).sum(axis=1)
    return degrees


def _size(values: NDArray[np.float64]) -> int:
    if values.ndim != 1 or values.size == 0:
        raise ProgramError(f"values are one row of at least one number; found shape {values.shape}")
    return values.size


def _stacked(columns: int, blocks: list[tuple[int, list[_Entries]]]) -> csr_array[np.float64]:
    """Return blocks of rows on top of each other; each is its number of rows and its entries (rows, columns, coefficient)."""
    first, rows, places, coefficients = 0, [], [], []
    for number, entries in blocks:
        for row, column, coefficient in entries:
            rows.append(first + row)
            places.append(column)
            coefficients.append(np.full(row.size, coefficient))
        first += number
    where = np.concatenate(rows), np.concatenate(places)
    return csr_array(coo_array((np.concatenate(coefficients), where), shape=(first, columns)))


def _program(
    objective: NDArray[np.float64],
    rows: csr_array[np.float64],
    row_bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
    upper: NDArray[np.float64],
    *,
    whole: bool,
) -> MixedIntegerProgram:
    return MixedIntegerProgram(
        objective=objective,
        maximize=False,
        row_starts=rows.indptr.astype(np.int64),
        columns=rows.indices.astype(np.int32),
        coefficients=rows.data,
        row_lower=row_bounds[0],
        row_upper=row_bounds[1],
        lower=np.zeros(objective.size),
        upper=upper,
        integrality=np.full(objective.size, whole),
    )
