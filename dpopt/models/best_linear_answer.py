"""By which numbers noisy counts add up to an answer: no bias, and the least variance.

Counts y_i of the cells of several marginals M have independent noise of variance v_i. An answer, the sum over records of a
number u(x) of each record's codes x, is sum_i l_i y_i with

    minimize    sum_i v_i l_i^2                                                          (BL-1)
    subject to  sum of the l_i of the cells that x lies in = u(x), for every x.           (BL-2)

The optimum has a closed form (BL-3, BL-4), by which questions are answered (`dpopt.answers.estimates`). Page:
models/best_linear_answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from dpopt.errors import ProgramError
from dpopt.models.model import Model
from dpopt.models.noise_budgets.budget_program import workload_of
from dpopt.programs.building import Builder

MOST_RECORDS = 100_000
"""Different records, one row each, at most."""


def best_linear_answer(
    sizes: ArrayLike, marginals: Sequence[Sequence[int]], variances: ArrayLike, numbers: ArrayLike
) -> Model:
    """Return the model of BL-1 and BL-2; infeasible if nothing that was counted determines the answer.

    Parameters
    ----------
    sizes : (d,) int
        How many codes each attribute has.
    marginals
        What was counted: attributes of each marginal, from 0, increasing.
    variances : (M,) float64
        v of the counts of each, above 0.
    numbers : (product of the sizes,) float64
        u(x), the last attribute's codes fastest: 1 where a record is counted, and 0 else; or any numbers.

    Raises
    ------
    ProgramError
        If arrays do not fit.

    Examples
    --------
    >>> found = best_linear_answer([2], [[0], [0]], [1, 3], [0, 1]).solve()
    >>> found.value["l"].round(4).tolist(), round(found.objective, 4)
    ([0.0, 0.75, 0.0, 0.25], 0.75)
    """
    from dpopt.queries.counting.marginal_kernels import cells_of_records

    workload = workload_of(sizes, marginals, name="best_linear_answer")
    shape = tuple(workload.domains.counts.tolist())
    spread, u = (np.asarray(one, dtype=np.float64) for one in (variances, numbers))
    if prod(shape) > MOST_RECORDS or u.shape != (prod(shape),) or not np.isfinite(u).all():
        raise ProgramError(
            f"best_linear_answer: found {u.size:,} numbers for {prod(shape):,} records; expected one finite number for each "
            f"of at most {MOST_RECORDS:,}"
        )
    if spread.shape != (len(workload),) or not ((spread > 0) & np.isfinite(spread)).all():
        raise ProgramError(f"best_linear_answer: expected a variance above 0 for each of {len(workload)} marginals")
    cells = cells_of_records(workload, np.indices(shape, dtype=np.int32).reshape(len(shape), -1).T)
    build = Builder()
    l = build.variables("l", workload.number_of_cells, lower=-np.inf, start=0)  # noqa: E741  the page's letter
    build.rows(
        "BL-2",
        u.size,
        (np.arange(u.size)[:, None], l[cells], 1.0),
        lower=u,
        upper=u,
        inside=lambda: map(str, range(u.size)),
    )
    build.squares(
        "BL-1",
        l.size,
        (np.arange(l.size), l, 1.0),
        targets=np.zeros(l.size),
        weights=2.0 * np.repeat(spread, workload.cells()),
        inside=lambda: map(str, range(l.size)),
    )
    return Model.of("best_linear_answer", build)
