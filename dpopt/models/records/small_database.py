"""The database of m records nearest to given answers, as a mixed-integer program, and a lower bound on its error.

Problem (models/small_database): for shares t_q in [0, 1] and the value of each query on each element, Q_q(x) in {0, 1},

    minimize    e                                                                              SD-1
    subject to  -e <= sum_x Q_q(x) n_x - m t_q <= e                      for every query q     SD-2
                sum_x n_x = m                                                                  SD-3
                low_x <= n_x <= high_x, n_x whole                        for every element x   SD-4

e / m is the largest error of the database. With least and most the sums of low and high, for every q, by SD-3 and SD-4
alone,

    e >= m t_q - min(sum_{Q_q(x) = 1} high_x, m - sum_{Q_q(x) = 0} low_x), and likewise from below     SD-5

and for every y, by weak duality,

    e >= (sum_q y_q m t_q - max_n sum_x (sum_q y_q Q_q(x)) n_x) / sum_q abs(y_q), n over SD-3 and SD-4     SD-6

where the maximum fills the elements of largest coefficient first. The best y of SD-6 are the dual values of SD-2, and give
the optimum of the linear relaxation, since the points of SD-3 and SD-4 have whole vertices                SD-7

The answers are public: released ones, or those of a public population. The draw of SmallDB is no solution of this
program; its bounds SD-5 and SD-6 are computed in whole numbers by `dpopt.private.mechanisms.net.net_kernels`, and no
solver sees what they are for.

Source: Blum, Ligett and Roth 2013, section 3 (what is nearest); Lagrangian bound and program: our own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models.model import Model
from dpopt.programs.building import Builder


def small_database(
    answers: NDArray[np.int8],
    targets: NDArray[np.float64],
    records: int,
    *,
    low: NDArray[np.int64] | None = None,
    high: NDArray[np.int64] | None = None,
    whole: bool = True,
) -> Model:
    """Return SD-1 to SD-4: n (A,), the count of every element, and e, in records.

    Parameters
    ----------
    answers : (k, A) int8
        Value of each query on each element, 0 or 1.
    targets : (k,) float64
        The given answers, shares. Public.
    records
        m, at least 1.
    low, high : (A,) int64, optional
        Bounds on the counts; 0 and m if left out.
    whole
        Whether counts are whole; False gives the linear relaxation (SD-7).
    """
    _check(answers, targets, records)
    queries, elements = answers.shape
    build = Builder()
    n = build.variables(  # SD-4
        "n", elements, lower=0.0 if low is None else low, upper=float(records) if high is None else high, whole=whole
    )
    error = build.variables("e", upper=float(records), objective=1.0)  # SD-1
    query, element = np.nonzero(answers)
    each, sides = np.arange(queries), records * targets
    build.rows("SD-2.above", queries, (query, n[element], 1.0), (each, error, -1.0), upper=sides)
    build.rows("SD-2.below", queries, (query, n[element], 1.0), (each, error, 1.0), lower=sides)
    build.rows("SD-3", 1, (0, n, 1.0), lower=records, upper=records, single=True)
    return Model.of("small_database", build)


def database_of(point: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the counts (A,) of a point of `small_database`."""
    counts: NDArray[np.int64] = np.rint(point[:-1]).astype(np.int64)
    return counts


def largest_difference(answers: NDArray[np.int8], targets: NDArray[np.float64], counts: NDArray[np.int64]) -> float:
    """Return e of a database, computed from its counts alone: max_q abs(sum_x Q_q(x) n_x - m t_q), in records."""
    return float(np.abs(answers @ counts - int(counts.sum()) * targets).max())


def _check(answers: NDArray[np.int8], targets: NDArray[np.float64], records: int) -> None:
    if answers.ndim != 2 or 0 in answers.shape or targets.shape != answers.shape[:1]:
        raise ProgramError(f"answers of shape {answers.shape} and targets of shape {targets.shape} do not fit together")
    if np.any((answers != 0) & (answers != 1)) or not np.all(np.isfinite(targets)):
        raise ProgramError("the value of a query on an element is 0 or 1, and targets are finite shares")
    if records < 1:
        raise ProgramError(f"a database has at least one record, found {records}")
