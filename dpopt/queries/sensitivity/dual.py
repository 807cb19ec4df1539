"""The dual of the largest number of true clauses: its descent, and its value in whole numbers.

minimize over whole theta_{S, a}(v):
    sum_a max_v sum_{S with a} theta_{S, a}(v) + sum_S max_{x_S} (K f_S(x_S) - sum_{a in S} theta_{S, a}(x_a))

f_S(x_S) is the table of set S. Why every theta gives a bound on K max_x sum_S f_S(x_S): `dpopt.queries.sensitivity.clauses`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.queries.sensitivity.tables import ClauseSets

DENOMINATOR = 1 << 16  # K
MOST_SWEEPS = 40
WORK = 600_000_000  # cells that the descent visits at most, in all sweeps together: about 20 s on one core
LARGEST_SUM = 1 << 62


def largest_entries(sets: ClauseSets, tables: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return for each set the largest entry of its table, over the cells that exist, (S,)."""
    return _largest(sets, tables, 1, np.zeros(int(sets.first_message[-1]), dtype=np.int64))


def dual_bound(sets: ClauseSets, tables: NDArray[np.int32]) -> int:
    """Return a whole number that the sum over sets of their entries exceeds at no record.

    The descent ends when a sweep gains less than a part in 1,000, and after WORK cells; it changes how good the bound is, never
    whether it is one.
    """
    from dpopt.queries.sensitivity.kernels import sweep_messages

    messages = np.zeros(int(sets.first_message[-1]), dtype=np.int64)
    sums = np.zeros(int(sets.offsets[-1]), dtype=np.int64)
    best = int(largest_entries(sets, tables).sum())  # the value of messages 0
    visited = tables.size + int(np.diff(sets.offsets)[sets.axis_attribute].sum())
    for sweep in range(min(MOST_SWEEPS, WORK // max(visited, 1))):
        sweep_messages(
            sets.first_axis,
            sets.axis_attribute,
            sets.first_named,
            sets.named,
            sets.real_other,
            sets.first_cell,
            tables,
            DENOMINATOR,
            messages,
            sets.first_message,
            sets.offsets,
            sums,
            bool(sweep % 2),
        )
        before, best = best, min(best, dual_value(sets, tables, messages))
        if sweep and before - best <= before // 1000:
            break
    return best


def dual_value(sets: ClauseSets, tables: NDArray[np.int32], messages: NDArray[np.int64]) -> int:
    """Return the objective of the dual at any messages, over K, rounded down; exact.

    All sums are below 2^62 in size, or the value is refused: then it is the number of clauses, which is a bound too.
    """
    from dpopt.queries.sensitivity.kernels import sum_messages

    largest = max(int(messages.max(initial=0)), -int(messages.min(initial=0)))
    terms = int(sets.first_axis[-1]) * largest + len(sets) * DENOMINATOR * int(tables.max(initial=0))
    if 2 * terms >= LARGEST_SUM:
        return sets.order.size
    sums = np.zeros(int(sets.offsets[-1]), dtype=np.int64)
    sum_messages(
        sets.axis_attribute, sets.first_named, sets.named, messages, sets.first_message, sets.offsets, sums
    )
    attributes = np.maximum.reduceat(sums, sets.offsets[:-1])
    entries = _largest(sets, tables, DENOMINATOR, messages)
    return (int(attributes.sum()) + int(entries.sum())) // DENOMINATOR


def _largest(
    sets: ClauseSets, tables: NDArray[np.int32], scale: int, messages: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return for each set the largest scale * entry - messages of the cell, over the cells that exist, (S,)."""
    from dpopt.queries.sensitivity import kernels as sensitivity_kernels

    largest = np.empty(len(sets), dtype=np.int64)
    sensitivity_kernels.largest_entries(
        sets.first_axis,
        sets.first_named,
        sets.real_other,
        sets.first_cell,
        tables,
        scale,
        messages,
        sets.first_message,
        largest,
    )
    return largest
