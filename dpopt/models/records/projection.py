"""The projection over given records as a quadratic program, and which weights of records to round up.

Problem (models/projection): with one column q(x) of answers for each of r records x,

    minimize    1/2 sum_j v_j (sum_x w_x q_j(x) - y_j)^2                                        PJ-1
    subject to  sum_x w_x = 1,                                                                  PJ-2
                w_x >= 0 for every record x.                                                    PJ-3

Over all feasible records it is the projection itself; over some of them the master problem of column generation, whose next
record is the one of least slope (`column_pricing`, PJ-4).

Weights w_x of records are to become multiplicities m_x = floor(N w_x) + up_x
with up_x in {0, 1},

    minimize    1/2 (m / N)' K (m / N) - b' (m / N)                                              PJ-7
    subject to  sum_x up_x = N - sum_x floor(N w_x),                                             PJ-8

with K and b of the master problem. Products of two up_x are clauses of two literals, so it is a `MaxCsp` with one rule
that counts; real coefficients become whole ones (`factor`).

Rows of any records, not of the given ones alone (PJ-9), are searched, and how near they can come is bounded (PJ-10), in
`dpopt.inference.records.rounding`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError
from dpopt.models.model import Model
from dpopt.programs.building import Builder
from dpopt.programs.max_csp import MaxCsp
from dpopt.queries.clauses import Clauses
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit, starts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LARGEST_TOTAL = 2**40


def projection(
    answers: NDArray[np.bool_] | csr_array[np.bool_],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> Model:
    """Return PJ-1 to PJ-3 in the weights w (r,) of the given records.

    Parameters
    ----------
    answers : (m, r) bool, an array or a sparse one
        Whether each query is true of each record.
    values : (m,) float64
        y.
    weights : (m,) float64
        v, >= 0.

    Raises
    ------
    ProgramError
        Shapes that do not fit, or no record.

    Examples
    --------
    >>> import numpy as np
    >>> model = projection(np.eye(2, dtype=bool), np.array([0.3, 0.9]), np.ones(2))
    >>> model.solve("clarabel").value["w"].round(6).tolist()
    [0.2, 0.8]
    """
    queries, records = answers.shape
    if values.shape != (queries,) or weights.shape != (queries,) or records == 0:
        raise ProgramError(
            f"answers of shape {answers.shape} need {queries} values and weights and at least one record; found "
            f"{values.shape} and {weights.shape}"
        )
    build = Builder()
    w = build.variables("w", records, upper=1.0)  # PJ-3; 1 follows from PJ-2, and bounds what duals prove
    build.rows("PJ-2", 1, (0, w, 1.0), lower=1.0, upper=1.0, single=True)
    query, record = answers.nonzero()
    build.squares("PJ-1", queries, (query, w[record], 1.0), targets=values, weights=weights)
    return Model.of("projection", build)


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
