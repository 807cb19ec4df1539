"""The optimum of a small MaxCsp by looking at every record."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.programs.max_csp import MaxCsp

MOST_RECORDS = 2048
MOST_LITERALS = 500_000  # of all records together


def is_small(program: MaxCsp) -> bool:
    """Return whether every record of the problem can be looked at in about a millisecond."""
    if program.sizes.size > 60:
        return False
    records = math.prod(program.sizes.tolist())
    literals = program.clauses.attributes.size + program.rules.term_attributes.size
    return bool(records <= MOST_RECORDS and records * literals <= MOST_LITERALS)


def best_record(program: MaxCsp, record: NDArray[np.int32]) -> NDArray[np.int32] | None:
    """Return an optimal record (d,): the given one if it is optimal, else the first; None if no record is legal.

    Parameters
    ----------
    program
        A small problem: its records are written down one by one.
    record : (d,) int32
        Preferred among equals.
    """
    grid = np.indices(program.sizes.tolist(), dtype=np.int32)
    records = np.ascontiguousarray(grid.reshape(program.sizes.size, -1).T)
    values = _objectives(program, records)
    legal = ~program.rules.broken(records).any(axis=1)
    if not legal.any():
        return None
    best = legal & (values == values[legal].max())
    own = int(np.ravel_multi_index(tuple(record.tolist()), tuple(program.sizes.tolist())))
    return freeze(records[own if best[own] else int(np.argmax(best))].copy())


def _objectives(program: MaxCsp, records: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the objective of each record (r, d); (r,) int64."""
    clauses = program.clauses
    used = clauses.attributes >= 0
    true = (records[:, clauses.attributes] == clauses.values) == clauses.signs
    count = np.count_nonzero(true & used, axis=2)
    result: NDArray[np.int64] = ((clauses.accepted >> count) & 1).astype(np.int64) @ program.weights
    return result
