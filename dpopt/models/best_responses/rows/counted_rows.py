"""Rows and further variables of clauses with any mask: a choice of the number of true literals.

Page: models/best_response_thresholds (TH-5 to TH-8). With w literals and y_(j,t) = 1 if t of them are true, t = 0, ..., w:

    sum_t y_(j,t) = 1                                   TH-5
    sum lit = sum_t t y_(j,t)                           TH-6
    c_j = sum of y_(j,t) over the accepted t            TH-7
    y_(j,t) whole                                       TH-8

The same for every formulation; c_j need not be whole.
"""

from __future__ import annotations

import numpy as np

from dpopt.models.best_responses.rewarded_clauses import Kind, RewardedClauses
from dpopt.models.best_responses.row_blocks import Indices, Numbers, RowBlock, table_block


def counted_columns(rewarded: RewardedClauses) -> Indices:
    """Return the clause of each y, in the order of the clauses and, within each, of t; all are whole, between 0 and 1."""
    clauses = rewarded.of_kind(Kind.COUNTED)
    return np.repeat(clauses, rewarded.widths[clauses] + 1)


def counted_values(rewarded: RewardedClauses, x: Numbers) -> Numbers:
    """Return the values of all y where x is whole."""
    clauses = rewarded.of_kind(Kind.COUNTED)
    literals = rewarded.constants[clauses] + rewarded.sides[clauses] * x[rewarded.columns[clauses]]
    length = rewarded.widths[clauses] + 1
    values = np.zeros(int(length.sum()))
    values[np.cumsum(length) - length + np.rint(literals.sum(axis=1)).astype(np.int64)] = 1.0
    return values


def counted_rows(rewarded: RewardedClauses, first_clause: int, first_further: int) -> list[RowBlock]:
    """Return TH-5, TH-6 and TH-7 for each width; the variables y start at column `first_further`."""
    clauses = rewarded.of_kind(Kind.COUNTED)
    length = rewarded.widths[clauses] + 1
    first = first_further + np.cumsum(length) - length
    blocks = []
    for width in np.unique(rewarded.widths[clauses]).tolist():
        those = np.flatnonzero(rewarded.widths[clauses] == width)
        one, n = clauses[those], those.size
        t = np.arange(width + 1)
        y = first[those][:, None] + t
        # The mask is of what the weight rewards: u = c, or u = 1 - c.
        accepted = (rewarded.accepted[one][:, None] >> t & 1) == (rewarded.signs[one] > 0)[:, None]
        literals = slice(0, width)
        constant = -rewarded.constants[one].sum(axis=1)
        zeros, ones = np.zeros(n), np.ones(n)
        blocks += [
            table_block(y, np.ones(y.shape), ones, ones),
            table_block(
                np.column_stack((rewarded.columns[one, literals], y)),
                np.column_stack(
                    (rewarded.sides[one, literals], np.broadcast_to(-t.astype(np.float64), y.shape))
                ),
                constant,
                constant,
            ),
            table_block(
                np.column_stack((first_clause + one, y)),
                np.column_stack((ones, -accepted.astype(np.float64))),
                zeros,
                zeros,
            ),
        ]
    return blocks
