"""The rules of a problem laid out for the record search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.inference.records.problem import FitProblem
from dpopt.programs.max_csp import MaxCsp
from dpopt.queries.clauses import Clauses
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit, starts
from dpopt.solvers.local_search.layout import build_index, lay_out_rules, new_state, new_status

if TYPE_CHECKING:
    from dpopt.inference.records.sweep_kernels import Room
    from dpopt.solvers.local_search.rules_kernels import Ruled

ALLOWED = "codes that records may have"


def rules_with_domains(problem: FitProblem) -> ThresholdCircuit:
    """Return the rules, and that every attribute has an allowed code: compound moves look at the rules alone."""
    rules, limited = problem.rules, np.flatnonzero(problem.domains.counts < problem.sizes)
    if not limited.size:
        return rules
    sizes = problem.sizes[limited]
    allowed = problem.allowed_columns()[np.repeat(np.isin(np.arange(problem.sizes.size), limited), problem.sizes)]
    more, number = np.ones(limited.size, dtype=np.int64), rules.number_of_rules
    return ThresholdCircuit(
        (*rules.names, ALLOWED),
        freeze(np.concatenate((rules.bounds, more))),
        freeze(np.concatenate((rules.required, more.astype(np.bool_)))),
        freeze(np.concatenate((rules.rule_of, (number * more).astype(np.int32)))),
        starts(np.concatenate((np.diff(rules.term_starts), more))),
        freeze(np.concatenate((rules.term_attributes, limited.astype(np.int32)))),
        starts(np.concatenate((np.diff(rules.value_starts), sizes))),
        freeze(np.concatenate((rules.values, allowed.astype(np.int64)))),
        starts(np.concatenate((np.diff(rules.child_starts), 0 * more))),
        rules.children,
        rules.coefficients,
    )


def lay_out_feasible(problem: FitProblem) -> Ruled:
    """Return rules, and a status for one record at a time; there are no clauses: moves change codes and gates only."""
    from dpopt.solvers.local_search.rules_kernels import Ruled

    none = np.zeros((0, 1), dtype=np.int32)
    nothing = Clauses.conjunctions(none, none, none.astype(np.bool_))
    empty = MaxCsp(problem.sizes, nothing, np.zeros(0, dtype=np.int64))
    index = build_index(empty)
    rules = lay_out_rules(rules_with_domains(problem), problem.sizes.size)
    return Ruled(index, new_state(index, problem.offsets()[:-1]), rules, new_status(rules))


def new_room(problem: FitProblem) -> Room:
    """Return room for a visit of a record."""
    from dpopt.inference.records.sweep_kernels import Room

    d, widest = problem.sizes.size, int(problem.sizes.max())
    return Room(
        costs=np.zeros(widest),
        weights=np.zeros(widest),
        feasible_codes=np.zeros(widest, dtype=np.int64),
        chosen=np.zeros(d, dtype=np.int64),
        before=np.zeros(d, dtype=np.int64),
        after=np.zeros(d, dtype=np.int64),
        promise=np.zeros(d),
        wanted=np.zeros(d, dtype=np.int64),
        left=np.zeros(d),
        random=np.zeros(1, dtype=np.uint64),
    )


def gains_of_one_way(one_way: NDArray[np.float64], least: float) -> NDArray[np.int64]:
    """Return logarithms of one-way marginals as gains of compound moves."""
    from dpopt.inference.records.sweep_kernels import GAIN

    return np.rint(GAIN * np.log(np.maximum(one_way, least))).astype(np.int64)
