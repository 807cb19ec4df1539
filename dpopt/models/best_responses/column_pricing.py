"""Pricing in column generation as a best response: the record whose answers lower the objective of a projection most.

Problem (models/projection, PJ-4): minimize sum_j s_j q_j(x) over feasible records x, for slopes s_j of either sign. A
solver of `MaxCsp` takes whole weights, so round(-factor * s_j) are maximized; what rounding can lose is bounded with
each answer:

    min_x sum_j s_j q_j(x)  >=  -(max_x sum_j round(-factor * s_j) q_j(x) + most / 2) / factor,                         PJ-5

where at most `most` of the queries are true of one record, and factor is a power of two, so that the products are
exact.

A proven least slope bounds the projection from below: for weights w with slopes s = gradient of f in the answers a = A
w, and every other distribution w',

    f(w') >= f(w) - (s . a - min_x sum_j s_j q_j(x)).                                                                     PJ-6
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError
from dpopt.programs.max_csp import MaxCsp
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit

LARGEST_TOTAL = 2**40
"""Largest sum of the absolute weights: small enough for solvers to keep it exact, and finer than the gaps that they
close."""


@dataclass(frozen=True, slots=True, eq=False)
class PricingProgram:
    """A best response with real weights, in whole numbers."""

    program: MaxCsp
    factor: Fraction
    """The factor of the slopes, a power of two."""
    most: int
    """Largest number of queries that are true of one record."""

    def least(self, bound: Fraction | float) -> float:
        """Return a number that no record's sum of slopes is below, given an upper bound on the program (PJ-5); rounded down."""
        exact = -(Fraction(bound) + Fraction(self.most, 2)) / self.factor
        return math.nextafter(float(exact), -math.inf)


def pricing_program(
    queries: Sequence[MarginalSet | Clauses],
    slopes: Sequence[NDArray[np.float64]],
    sizes: NDArray[np.int32],
    rules: ThresholdCircuit,
) -> PricingProgram:
    """Return the record of least slope as a program.

    Queries have one slope each; one clause for every cell results, so small sets of queries only. `sizes` (d,) are the
    numbers of codes.
    """
    parts = [one.clauses() if isinstance(one, MarginalSet) else one for one in queries]
    if len(parts) != len(slopes) or any(len(a) != b.size for a, b in zip(parts, slopes, strict=True)):
        raise ProgramError("pricing needs one slope for every query")
    flat = np.concatenate([np.zeros(0), *slopes])
    if not np.isfinite(flat).all():
        raise ProgramError("pricing needs finite slopes")
    total = float(np.abs(flat).sum())
    factor = 2.0 ** math.floor(math.log2(LARGEST_TOTAL / total)) if total > 0 else 1.0
    weights = np.rint(-flat * factor).astype(np.int64)
    clauses = joined_clauses(parts)
    used = np.flatnonzero(weights)
    most = sum(
        len(one) if isinstance(one, MarginalSet) else len(part) for one, part in zip(queries, parts, strict=True)
    )
    program = MaxCsp(sizes, clauses.take(used), freeze(weights[used]), rules)
    return PricingProgram(program, Fraction(factor), most)


def joined_clauses(parts: Sequence[Clauses]) -> Clauses:
    """Return all clauses in one list, in their order."""
    width = max((one.width for one in parts), default=1)
    number = sum(len(one) for one in parts)
    attributes = np.full((number, width), -1, dtype=np.int32)
    values, signs = np.zeros((number, width), dtype=np.int32), np.zeros((number, width), dtype=np.bool_)
    first = 0
    for one in parts:  # a loop over lists
        part = np.s_[first : first + len(one), : one.width]
        attributes[part], values[part], signs[part] = one.attributes, one.values, one.signs
        first += len(one)
    accepted = np.concatenate([np.zeros(0, dtype=np.uint32), *(one.accepted for one in parts)])
    return Clauses(freeze(attributes), freeze(values), freeze(signs), freeze(accepted))
