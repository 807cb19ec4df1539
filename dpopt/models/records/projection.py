"""The projection over given records as a quadratic program.

Problem (models/projection): with one column q(x) of answers for each of r records x,

    minimize    1/2 sum_j v_j (sum_x w_x q_j(x) - y_j)^2                                        PJ-1
    subject to  sum_x w_x = 1,                                                                  PJ-2
                w_x >= 0 for every record x,                                                    PJ-3
                low_j <= sum_x w_x q_j(x) <= high_j for each query that is kept.                PJ-9

Over all feasible records it is the projection itself; over some of them the master problem of column generation, whose
next record is the one of least slope (`column_pricing`, PJ-4).

Whole rows (PJ-7) are searched, and how near they can come is bounded (PJ-8), in `dpopt.inference.records.rounding`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.errors import ProgramError
from dpopt.models.model import Model
from dpopt.programs.building import Builder

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def projection(
    answers: NDArray[np.bool_] | csr_array[np.bool_],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    *,
    low: ArrayLike = -np.inf,
    high: ArrayLike = np.inf,
) -> Model:
    """Return PJ-1 to PJ-3, and PJ-9, in the weights w (r,) of the given records.

    Parameters
    ----------
    answers : (m, r) bool, an array or a sparse one
        Whether each query is true of each record.
    values : (m,) float64
        y.
    weights : (m,) float64
        v, >= 0.
    low, high : (m,) float64 or float
        Bounds of PJ-9; infinite for queries that are not kept.

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
    least, most = (np.broadcast_to(np.asarray(one, np.float64), values.shape) for one in (low, high))
    if (kept := np.isfinite(least) | np.isfinite(most)).any():
        row, some = np.cumsum(kept) - 1, kept[query]
        build.rows(
            "PJ-9", int(kept.sum()), (row[query[some]], w[record[some]], 1.0), lower=least[kept], upper=most[kept]
        )
    return Model.of("projection", build)
