"""Clauses some of whose literals are known: shorter ones that are true of the same records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.queries.clauses import Clauses


def full_masks(widths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the mask that accepts every number of true literals, for each width; (m,) int64."""
    return (np.int64(2) << widths) - 1


def without_literals(clauses: Clauses, true: NDArray[np.bool_], false: NDArray[np.bool_]) -> Clauses:
    """Return the same clauses without the literals that are known.

    With t known true literals, j further ones must be true where t + j had to be: the mask is shifted by t.

    Parameters
    ----------
    clauses
        m clauses of up to k literals.
    true, false : (m, k) bool
        Which literals are known to be true, and which to be false; none in padding.
    """
    gone = true | false
    if not gone.any():
        return clauses
    order = np.argsort(gone | (clauses.attributes < 0), axis=1, kind="stable")  # literals first, then padding
    widths = clauses.widths() - np.count_nonzero(gone, axis=1)
    accepted = clauses.accepted.astype(np.int64) >> np.count_nonzero(true, axis=1)
    width = max(1, int(widths.max(initial=1)))

    def packed(array: NDArray[np.int32], padding: int) -> NDArray[np.int32]:
        return freeze(np.take_along_axis(np.where(gone, padding, array), order, axis=1)[:, :width])

    return Clauses(
        packed(clauses.attributes, -1),
        packed(clauses.values, 0),
        freeze(np.take_along_axis(clauses.signs & ~gone, order, axis=1)[:, :width]),
        freeze((accepted & full_masks(widths)).astype(np.uint32)),
    )


def constant_clauses(clauses: Clauses) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which clauses are true of every record and which of none; two arrays (m,)."""
    accepted = clauses.accepted.astype(np.int64)
    return accepted == full_masks(clauses.widths()), accepted == 0
