"""The data player's best response in DualQuery: the record that answers the drawn queries best.

Problem (models/best_response, BR-1 and BR-2): maximize sum_j w_j q_j(x) over records x, where w_j is how often base
query j was drawn minus how often its negation was. A draw of the negation 1 - q_j counts -q_j(x) plus a constant, so
the net counts are the weights, and a record that maximizes BR-1 maximizes the number of drawn queries that are true.

Source: Gaboardi, Gallego Arias, Hsu, Roth and Wu (2014), "Dual Query: Practical Private Query Release for High
Dimensional Data", Algorithm 2 and section 5.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.max_csp import MaxCsp
from dpopt.queries.clauses import Clauses
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from dpopt.transcript.released import SampledQueries


def best_response(
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
