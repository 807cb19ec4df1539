"""The data player's best response in DualQuery: the record that answers the drawn queries best.

Problem (models/best_response, BR-1 and BR-2): maximize sum_j w_j q_j(x) over records x, where w_j is how often base
query j was drawn minus how often its negation was. A draw of the negation 1 - q_j counts -q_j(x) plus a constant, so
the net counts are the weights, and a record that maximizes BR-1 maximizes the number of drawn queries that are true.

Source: Gaboardi, Gallego Arias, Hsu, Roth and Wu (2014), "Dual Query: Practical Private Query Release for High
Dimensional Data", Algorithm 2 and section 5.

Reading a record off a solver's result, and saying why there is none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import SolveResult
from dpopt.queries.clauses import Clauses
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from dpopt.transcript.released import SampledQueries


def round_program(
    workload: Clauses,
    sizes: NDArray[np.int32],
    sampled: SampledQueries,
    rules: ThresholdCircuit = NO_RULES,
) -> MaxCsp:
    """Return the best response to one round's draw as a program.

    Parameters
    ----------
    workload
        The m base queries.
    sizes : (d,) int32
        Number of codes of each attribute.
    sampled
        Net counts of the drawn queries; at most s clauses result, however large the workload is.
    rules
        Hard rules on records, public; none if left out.

    Raises
    ------
    ProgramError
        The draw names a query that the workload does not hold.
    WorkloadError
        A clause does not fit the sizes.
    SchemaError
        A rule does not fit the sizes.
    """
    if sampled.queries.size and int(sampled.queries[-1]) >= len(workload):
        raise ProgramError(
            f"round {sampled.round} names query {int(sampled.queries[-1])}; the workload has {len(workload)} "
            "(numbered from 0): the transcript belongs to another workload"
        )
    return MaxCsp(sizes, workload.take(sampled.queries), sampled.counts, rules)


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
