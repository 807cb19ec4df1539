"""Clauses by the events that their weights reward: a positive weight the truth of a clause, a negative one its falsity.

A solver that maximizes raises u_j = c_j where w_j > 0 and u_j = 1 - c_j where w_j < 0, up to what the rows allow. So
rows are needed on one side only, u_j <= ..., and one form serves both signs. Three kinds are told apart:

    threshold   u_j = [at least b_j of its literals]: conjunctions, disjunctions, "r of w", and all their negations
    parity      u_j = [an odd number of its literals], or an even one
    counted     u_j = [number of true literals in a set]: every other mask

The negation of "at least r of w literals" is "at least w - r + 1 of their complements", so the literals of a threshold
are complemented where that is what the weight rewards; those of the other two kinds never are.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.building import Flags, Indices, Numbers
from dpopt.programs.max_csp import MaxCsp
from dpopt.queries.clauses import EVEN, ODD


class Formulation(enum.Enum):
    """How the rows of clauses and rules are written; each has the same optimum, the later the better relaxation."""

    AGGREGATED = "aggregated"
    """One row per clause, every variable whole; as in the paper."""
    PER_LITERAL = "per-literal"
    """One row per literal that binds a clause by itself, variables continuous where the rows leave no choice."""
    CLIQUE = "clique"
    """PER_LITERAL, with the rows that "one code per attribute" implies for clauses that share a literal."""


class Kind:
    """Which rows a clause needs: numbers, since NumPy can lose a Ctrl-C in an enumeration (see dpopt.cli.interruption)."""

    THRESHOLD = 0
    PARITY = 1
    COUNTED = 2


@dataclass(frozen=True, slots=True, eq=False)
class RewardedClauses:
    """The events that the weights of a MaxCsp reward, clause by clause.

    Literal i of clause j, i < widths[j], is  constants[j, i] + sides[j, i] * x[columns[j, i]]; beyond the width of a
    clause all three are 0.
    """

    kinds: NDArray[np.int8]
    """Shape (m,). `Kind` of each clause."""
    signs: Numbers
    """Shape (m,). 1: u_j = c_j. -1: u_j = 1 - c_j."""
    weights: Numbers
    """Shape (m,). Absolute weights."""
    widths: Indices
    """Shape (m,). Number of literals."""
    bounds: Indices
    """Shape (m,). Of a threshold: u_j asks for at least this number of literals, 0 .. width + 1. Of the others: 0."""
    accepted: Indices
    """Shape (m,). Of a parity or a counted clause: mask of the numbers of true literals that make u_j = 1. Of a
    threshold: 0."""
    columns: Indices
    sides: Numbers
    constants: Numbers
    """The literals, (m, k) each: columns, sides of 1 or -1, and constants of 0 or 1."""

    def of_kind(self, kind: int) -> Indices:
        """Return the numbers of the clauses of one kind."""
        return np.flatnonzero(self.kinds == kind)

    def conjunctions(self) -> Flags:
        """Return which clauses ask for all of their literals, and have some; (m,)."""
        found: Flags = (self.kinds == Kind.THRESHOLD) & (self.bounds == self.widths) & (self.widths > 0)
        return found

    def disjunctions(self) -> Flags:
        """Return which clauses ask for one of their literals, of two or more; (m,)."""
        found: Flags = (self.kinds == Kind.THRESHOLD) & (self.bounds == 1) & (self.widths > 1)
        return found


def rewarded_clauses(program: MaxCsp) -> RewardedClauses:
    """Return the clauses of a program by the events that their weights reward."""
    clauses, positive = program.clauses, program.weights > 0
    widths = clauses.widths()
    full = np.left_shift(np.int64(2), widths) - 1
    mask = clauses.accepted.astype(np.int64)
    # the mask of "at least r" lacks the bits below r, that of "at most r - 1" has just these
    low = full ^ mask
    at_least = (low & (low + 1)) == 0
    at_most = ((mask & (mask + 1)) == 0) & ~at_least
    threshold = at_least | at_most
    parity = ~threshold & ((mask == (full & ODD)) | (mask == (full & EVEN)))
    number = np.bitwise_count(np.where(at_least, low, mask)).astype(np.int64)
    complemented = threshold & (at_least != positive)

    used = clauses.attributes >= 0
    positive_literal = clauses.signs ^ (complemented[:, None] & used)
    columns = np.where(used, program.offsets()[clauses.attributes] + clauses.values, 0)
    return RewardedClauses(
        np.select([threshold, parity], [Kind.THRESHOLD, Kind.PARITY], default=Kind.COUNTED).astype(np.int8),
        np.where(positive, 1.0, -1.0),
        np.abs(program.weights).astype(np.float64),
        widths,
        np.where(threshold, np.where(complemented, widths - number + 1, number), 0),
        np.where(threshold, 0, np.where(positive, mask, low)),
        columns,
        np.where(used, np.where(positive_literal, 1.0, -1.0), 0.0),
        (used & ~positive_literal).astype(np.float64),
    )
