"""The projection over given records as a quadratic program, for general solvers.

Problem (models/projection): with one column q(x) of answers for each of r records x,

    minimize    1/2 sum_j v_j (sum_x w_x q_j(x) - y_j)^2                                        PJ-1
    subject to  sum_x w_x = 1,                                                                  PJ-2
                w_x >= 0 for every record x.                                                    PJ-3

Over all feasible records it is the projection itself; over some of them the master problem of column generation, whose next
record is the one of least slope (`column_pricing`, PJ-4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dpopt.errors import ProgramError
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import QuadraticProgram


def projection_master(
    answers: NDArray[np.bool_], values: NDArray[np.float64], weights: NDArray[np.float64]
) -> QuadraticProgram:
    """Return the program whose variables are the weights of the records.

    Parameters
    ----------
    answers : (m, r) bool
        Whether each query is true of each record.
    values : (m,) float64
        y.
    weights : (m,) float64
        v, >= 0.

    Raises
    ------
    ProgramError
        Shapes that do not fit, or no record.
    """
    queries, records = answers.shape
    if values.shape != (queries,) or weights.shape != (queries,) or records == 0:
        raise ProgramError(
            f"answers of shape {answers.shape} need {queries} values and weights and at least one record; found "
            f"{values.shape} and {weights.shape}"
        )
    squares = csr_array(answers.astype(np.float64))
    linear = MixedIntegerProgram(  # PJ-2 and PJ-3
        objective=np.zeros(records),
        maximize=False,
        row_starts=np.array([0, records], dtype=np.int64),
        columns=np.arange(records, dtype=np.int32),
        coefficients=np.ones(records),
        row_lower=np.ones(1),
        row_upper=np.ones(1),
        lower=np.zeros(records),
        upper=np.full(records, np.inf),
        integrality=np.zeros(records, dtype=np.bool_),
    )
    return QuadraticProgram(  # PJ-1
        linear,
        squares.indptr.astype(np.int64),
        squares.indices.astype(np.int32),
        squares.data,
        values,
        weights,
    )
