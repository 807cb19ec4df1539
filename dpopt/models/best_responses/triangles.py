"""Rows that tie three tables of the pairwise lifting together: chosen where a point violates them.

Page: models/best_response_pairwise_bound (PB-11, PB-12). For codes i, j, k of three attributes, every two with a cell y in
their table:

    x_i - y_ij - y_ik + y_jk >= 0                                PB-11, for each of the three as i
    1 - x_i - x_j - x_k + y_ij + y_ik + y_jk >= 0                PB-12

For a record, the left side of PB-11 is  x_i (1 - x_j) (1 - x_k) + (1 - x_i) x_j x_k, that of PB-12 is  (1 - x_i) (1 - x_j)
(1 - x_k) + x_i x_j x_k: neither is negative. So every choice of rows leaves the bound valid, and the point is not trusted.

Source: Padberg (1989), the triangle inequalities of the Boolean quadric polytope.
"""

from __future__ import annotations

import numpy as np

from dpopt.models.best_responses.pairwise_lifting import PairTables
from dpopt.programs.building import Numbers, RowBlock, table_block

MOST = 8_000
"""Rows that are added at once, those that the point violates most: some thousands are all that first rounds of KDD Cup have."""

LEAST_VIOLATION = 0.01

_SIDES = np.array(  # x_i, x_j, x_k, y_ij, y_ik, y_jk
    [[1, 0, 0, -1, -1, 1], [0, 1, 0, -1, 1, -1], [0, 0, 1, 1, -1, -1], [-1, -1, -1, 1, 1, 1]],
    dtype=np.float64,
)
_LOWER = np.array([0.0, 0.0, 0.0, -1.0])


def violated_triangles(tables: PairTables, point: Numbers, most: int = MOST) -> RowBlock:
    """Return rows of PB-11 and PB-12 that a point violates, of each three codes the one that it violates most.

    Parameters
    ----------
    tables
        The tables of the lifting.
    point : (n,) float64
        A point of the lifting, as a solver left it.
    most
        How many rows at most: those that the point violates most.
    """
    from scipy.sparse import coo_array

    size = tables.columns
    _, cell, left, right = tables.lines()
    one, other = tables.left[left] % size, tables.right[right] % size
    both = (np.concatenate((one, other)), np.concatenate((other, one)))
    cells = coo_array((np.concatenate((cell, cell)), both), shape=(size, size)).tocsr()
    found, kinds, violations = [np.zeros((0, 6), dtype=np.int64)], [_NONE.astype(np.int64)], [_NONE]
    for first in range(size):
        span = slice(*cells.indptr[first : first + 2])
        later = cells.indices[span] > first
        near, to_near = cells.indices[span][later], cells.data[span][later]
        between = cells[near][:, near].toarray()
        j, k = np.nonzero(np.triu(between))
        codes = np.column_stack((np.full(j.size, first), near[j], near[k]))
        columns = np.column_stack((codes, to_near[j], to_near[k], between[j, k])).astype(np.int64)
        slack = point[columns] @ _SIDES.T - _LOWER
        kind = np.argmin(slack, axis=1)
        violation = -slack[np.arange(kind.size), kind]
        chosen = violation > LEAST_VIOLATION
        found.append(columns[chosen])
        kinds.append(kind[chosen])
        violations.append(violation[chosen])
    worst = np.argsort(-np.concatenate(violations), kind="stable")[:most]
    kind = np.concatenate(kinds)[worst]
    return table_block(np.concatenate(found)[worst], _SIDES[kind], _LOWER[kind], np.full(kind.size, np.inf))


_NONE = np.zeros(0)
