"""Reading a record off a solver's result, and saying why there is none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveResult


def read_record(problem: MaxCsp, result: SolveResult) -> tuple[NDArray[np.int32] | None, str | None]:
    """Return the record of a result, or None and the reason why it gives none.

    Parameters
    ----------
    problem
        The best-response problem.
    result
        What a solver answered; not trusted.

    Returns
    -------
    record : (d,) int32 array or None
        One existing code for every attribute.
    reason : str or None
        Set if and only if there is no record.
    """
    if result.solution is None:
        return None, f"{result.solver} ended '{result.termination.value}' without a solution"
    codes = result.solution
    if codes.shape != problem.sizes.shape or codes.dtype != np.dtype(np.int32):
        return None, f"{result.solver} gave an answer of the wrong shape or type"
    record = np.array(codes, dtype=np.int32)
    if problem.domain_violation(record):
        return None, f"{result.solver} gave a code that does not exist"
    broken = problem.broken_rules(record)
    if broken:
        return None, f"{result.solver} gave a record that breaks the rule {broken[0]!r}"
    return record, None
