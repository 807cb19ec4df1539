"""Weights of records as whole numbers of rows: which to round up, as a program.

Problem (models/projection, PJ-7 and PJ-8): weights w_x of records are to become multiplicities m_x = floor(N w_x) + up_x
with up_x in {0, 1},

    minimize    1/2 (m / N)' K (m / N) - b' (m / N)                                              PJ-7
    subject to  sum_x up_x = N - sum_x floor(N w_x),                                             PJ-8

with K and b of the master problem. Products of two up_x are clauses of two literals, so it is a `MaxCsp` with one rule
that counts; real coefficients become whole ones (`factor`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError
from dpopt.programs.max_csp import MaxCsp
from dpopt.queries.clauses import Clauses
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit, starts

LARGEST_TOTAL = 2**40


@dataclass(frozen=True, slots=True, eq=False)
class RoundingProgram:
    """The program, and how to read its answer.

    Attributes
    ----------
    program : MaxCsp
        One attribute with codes 0 (down) and 1 (up) for each record that is no whole number already.
    open_records : (u,) int64
        Those records.
    floors : (r,) int64
    """

    program: MaxCsp
    open_records: NDArray[np.int64]
    floors: NDArray[np.int64]

    def multiplicities(self, record: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return m (r,) for an answer (u,) of the program."""
        result = self.floors.copy()
        result[self.open_records] += record
        return result


def rounding_program(
    gram: NDArray[np.float64], pull: NDArray[np.float64], weights: NDArray[np.float64], number: int
) -> RoundingProgram:
    """Return the program of the best rounding of weights to `number` rows.

    Parameters
    ----------
    gram, pull : (r, r) and (r,) float64
        K and b.
    weights : (r,) float64
        On the simplex.
    number
        N, >= 1.

    Raises
    ------
    ProgramError
        All weights times N are whole: there is nothing to decide.
    """
    exact = weights * number
    floors = np.floor(exact + 1e-9).astype(np.int64)
    rest = number - int(floors.sum())
    open_records = np.flatnonzero(exact - floors > 1e-9)
    if not 0 < rest <= open_records.size:
        raise ProgramError(
            f"{rest} of {open_records.size} records are to be rounded up: there is nothing to decide"
        )
    part = gram[np.ix_(open_records, open_records)] / number**2
    linear = 0.5 * np.diag(part) + (gram @ floors)[open_records] / number**2 - pull[open_records] / number
    one, other = np.triu_indices(open_records.size, 1)
    values = -np.concatenate((linear, part[one, other]))  # PJ-7
    total = float(np.abs(values).sum())
    factor = 2.0 ** math.floor(math.log2(LARGEST_TOTAL / total)) if total > 0 else 1.0
    whole = np.rint(values * factor).astype(np.int64)
    attributes = np.full((values.size, 2), -1, dtype=np.int32)
    attributes[:, 0] = np.concatenate((np.arange(open_records.size), one))
    attributes[open_records.size :, 1] = other
    clauses = Clauses.conjunctions(attributes, (attributes >= 0).astype(np.int32), attributes >= 0)
    used = np.flatnonzero(whole)
    sizes = freeze(np.full(open_records.size, 2, dtype=np.int32))
    program = MaxCsp(sizes, clauses.take(used), freeze(whole[used]), _exactly(rest, open_records.size))
    return RoundingProgram(program, open_records, floors)


def _exactly(rest: int, attributes: int) -> ThresholdCircuit:
    """Return the rule that exactly `rest` of so many attributes have code 1 (PJ-8)."""
    every = np.arange(attributes, dtype=np.int32)
    return ThresholdCircuit(
        ("the number of rows",),
        np.array([rest, -rest]),
        np.ones(2, dtype=np.bool_),
        np.zeros(2, dtype=np.int32),
        starts(np.array([attributes, attributes])),
        np.concatenate((every, every)),
        starts(np.full(2 * attributes, 2)),
        np.concatenate((np.tile([0, 1], attributes), np.tile([0, -1], attributes))),
        np.zeros(3, dtype=np.int64),
        np.zeros(0, dtype=np.int32),
        np.zeros(0, dtype=np.int64),
    )
