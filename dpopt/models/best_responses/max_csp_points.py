"""Records and solutions of the mixed-integer program of a MaxCsp, one from the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze, frozen
from dpopt.models.best_responses.formulation import Formulation
from dpopt.models.best_responses.rewarded_clauses import rewarded_clauses
from dpopt.models.best_responses.rows.counted_rows import counted_values
from dpopt.models.best_responses.rows.parity_rows import parity_values
from dpopt.programs.max_csp import MaxCsp


def record_from_point(program: MaxCsp, point: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the record (d,) int32 that a solution of the mixed-integer program stands for, whatever the formulation.

    Every attribute takes the code whose x is largest, so that rounding errors of the solver do no harm.
    """
    offsets = program.offsets()
    x = point[: int(offsets[-1])]
    owner = np.repeat(np.arange(program.sizes.size), program.sizes)
    order = np.lexsort((-x, owner))  # by attribute, largest first, lowest code first among equals
    return freeze((order[offsets[:-1]] - offsets[:-1]).astype(np.int32))


def point_from_record(
    program: MaxCsp, record: NDArray[np.int32], formulation: Formulation = Formulation.PER_LITERAL
) -> NDArray[np.float64]:
    """Return the solution of the mixed-integer program that a record (d,) int32 stands for, with all its variables.

    It is feasible, exactly, if the record obeys the rules; else only the rows of the rules that it breaks are broken.
    """
    from dpopt.queries.counting.kernels import satisfied  # imports numba

    program.require_record(record)
    x = np.zeros(int(program.offsets()[-1]))
    x[program.offsets()[:-1] + record] = 1.0
    rewarded = rewarded_clauses(program)
    parts = [
        x,
        satisfied(program.clauses, record).astype(np.float64),
        parity_values(rewarded, formulation, x),
        counted_values(rewarded, x),
    ]
    if program.rules.number_of_rules:
        true = program.rules.gates(frozen(record, np.int32)[None, :])[0]
        parts.append(true[~program.rules.required].astype(np.float64))
    return freeze(np.concatenate(parts))
