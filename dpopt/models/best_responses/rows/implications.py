"""Hard rules "A in S or B in T" that share a side, merged: RU-6 of models/best_response_with_rules.

A functional dependency "A decides B" is one such rule for every code v of A, "A != v or B = image(v)". Row by row they
say x[A, v] <= x[B, image(v)]. Together, for every code b of B: the sum of x[A, v] over all v with the image b is <=
x[B, b], which is as tight as it gets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.models.best_responses.row_blocks import Flags, Indices, RowBlock, stacked
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit

_Shared = tuple[int, int, bytes]
"""Attribute and codes (as bytes) of a side that several rules share, and the attribute of their other side between."""


def merged_implications(
    rules: ThresholdCircuit, needs: Indices, offsets: Indices
) -> tuple[list[RowBlock], Flags]:
    """Return the merged rows, and which gates they replace, (G,).

    Parameters
    ----------
    rules
        The circuit.
    needs : (G,) int64
        What each gate needs once all inputs are least.
    offsets : (d + 1,) int64
        Column of code 0 of each attribute.
    """
    pairs = (
        rules.required & (needs == 1) & (np.diff(rules.term_starts) == 2) & (np.diff(rules.child_starts) == 0)
    )
    low, _ = rules.term_ranges()
    shared: list[
        tuple[_Shared, _Shared]
    ] = []  # of each pair: its first side with the second, and the reverse
    others: dict[_Shared, list[NDArray[np.bool_]]] = {}
    for gate in np.flatnonzero(pairs).tolist():
        first = int(rules.term_starts[gate])
        a, b = (int(rules.term_attributes[term]) for term in (first, first + 1))
        left, right = (_codes(rules, term, int(low[term])) for term in (first, first + 1))
        shared.append(((a, b, left.tobytes()), (b, a, right.tobytes())))
        for key, codes in zip(shared[-1], (right, left), strict=True):
            others.setdefault(key, []).append(codes)
    # A pair that merges on one side alone is held by that row; one that merges on neither stays as it is.
    kept = dict.fromkeys(
        key for both in shared for key in ([key for key in both if len(others[key]) > 1] or both[:1])
    )
    blocks = [_row(offsets, key, np.logical_and.reduce(others[key])) for key in kept]
    return [stacked(blocks)] if blocks else [], pairs


def _codes(rules: ThresholdCircuit, term: int, low: int) -> NDArray[np.bool_]:
    """Return which codes of a term's attribute make its condition true."""
    span = slice(int(rules.value_starts[term]), int(rules.value_starts[term + 1]))
    return rules.values[span] > low


def _row(offsets: Indices, shared: _Shared, codes: NDArray[np.bool_]) -> RowBlock:
    """Return  sum of x[A, v] over S + sum of x[B, w] over T >= 1  with S shared and T the codes."""
    first, second, side = shared
    column = np.concatenate(
        (
            offsets[first] + np.flatnonzero(np.frombuffer(side, dtype=np.bool_)),
            offsets[second] + np.flatnonzero(codes),
        )
    )
    zeros = np.zeros(column.size, dtype=np.int64)
    return RowBlock(zeros, column, np.ones(column.size), np.ones(1), np.full(1, np.inf))
