"""A MaxCsp as a mixed-integer program: clauses of every kind, weights of both signs, hard rules.

Page: models/best_response. Labels (BR-1 ...) are those of the page.

Variables: x[a, v] = 1 if attribute a has code v (binary), and c_j = truth of clause j. Write lit = x[a, v] for the
literal "a = v" and lit = 1 - x[a, v] for "a != v".

    maximize  sum_j w_j c_j                                                       BR-1
    subject to  sum_v x[a, v] = 1                      for every attribute a      BR-2
        w_j > 0, conjunction:  c_j <= lit              for every literal of j     BR-3
        w_j < 0, conjunction:  c_j >= 1 - sum (1 - lit)                           BR-4
        w_j < 0, negation:     c_j >= 1 - lit          for every literal of j     BR-5
        w_j > 0, negation:     c_j <= sum (1 - lit)                               BR-6
        0 <= c_j <= 1, x[a, v] binary                                             BR-7

The aggregated form has one row for each clause, as printed in the paper, and needs binary c_j: with k literals

        w_j > 0, conjunction:  k c_j <= sum lit                                   BR-8
        w_j < 0, negation:     k (1 - c_j) <= sum lit                             BR-9

in place of BR-3 and BR-5. Its linear relaxation is weaker. The third form strengthens BR-3 to BR-6 by rows that follow
from BR-2 (`clique_rows`, BR-10 to BR-12). Thresholds, parities, other masks and rules: `clause_rows`, `parity_rows`,
`counted_rows`, `rule_rows`, each with its own page.

Source: Gaboardi et al. (2014), section 5 (k = 3, aggregated); per-literal rows: the standard linearization of products.

`record_from_point` and `point_from_record` go from a solution to a record and back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze, frozen
from dpopt.errors import ProgramError
from dpopt.models.best_responses.formulation import Formulation
from dpopt.models.best_responses.rewarded_clauses import RewardedClauses, rewarded_clauses
from dpopt.models.best_responses.row_blocks import RowBlock, Variables, assembled
from dpopt.models.best_responses.rows.clause_rows import (
    counted_columns,
    counted_rows,
    counted_values,
    threshold_rows,
)
from dpopt.models.best_responses.rows.clique_rows import clique_rows
from dpopt.models.best_responses.rows.parity_rows import parity_columns, parity_rows, parity_values
from dpopt.models.best_responses.rows.rule_rows import gate_variables, rule_rows
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram


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


LARGEST_TOTAL = 2.0**53
"""Whole numbers up to here are exact in double precision."""

__all__ = ["Formulation", "MipParts", "max_csp_as_mip", "mip_parts", "point_from_record", "record_from_point"]


@dataclass(frozen=True, slots=True, eq=False)
class MipParts:
    """Variables and rows of the mixed-integer program of a MaxCsp, for programs that add to them."""

    rewarded: RewardedClauses
    variables: Variables
    blocks: list[RowBlock]


def max_csp_as_mip(
    program: MaxCsp, formulation: Formulation = Formulation.PER_LITERAL
) -> MixedIntegerProgram:
    """Write the program as a mixed-integer program.

    Columns: x[a, v] at `program.offsets()[a] + v`, then c_j, then what parities, clauses of other masks and inner gates
    of rules need besides, in this order. Rows: BR-2 for each attribute, then those of conjunctions, thresholds and their
    negations in the order of the clauses, then the others. Nothing is looped over in Python clause by clause.
    """
    parts = mip_parts(program, formulation)
    return assembled(parts.variables, parts.blocks)


def mip_parts(program: MaxCsp, formulation: Formulation) -> MipParts:
    """Return variables and rows of the mixed-integer program.

    Raises
    ------
    ProgramError
        The absolute weights sum to 2**53 or more: double precision would round them, and with them the optimum.
    """
    if float(np.abs(program.weights.astype(np.float64)).sum()) >= LARGEST_TOTAL:
        raise ProgramError(
            "the weights sum to 2**53 or more, which programs in double precision would round; scale them down, or take the "
            "local search or cp-sat"
        )
    rewarded = rewarded_clauses(program)
    codes, m, d = int(program.offsets()[-1]), len(program.clauses), program.sizes.size
    strengthened, without = (
        clique_rows(program, rewarded, codes)
        if formulation is Formulation.CLIQUE
        else ([], np.zeros(m, dtype=np.bool_))
    )
    thresholds, whole = threshold_rows(rewarded, formulation, codes, without)
    if formulation is Formulation.AGGREGATED:
        whole = np.ones(m, dtype=np.bool_)
    owners, most, whole_halves = parity_columns(rewarded, formulation)
    number_of_counts = counted_columns(rewarded).size
    gates = gate_variables(program.rules, formulation)
    further = (owners.size, number_of_counts, gates.size)
    first_count, first_gate = codes + m + further[0], codes + m + further[0] + further[1]

    ones = np.ones(codes + m + sum(further))
    variables = Variables(
        objective=np.concatenate(
            (np.zeros(codes), program.weights.astype(np.float64), np.zeros(sum(further)))
        ),
        lower=np.zeros_like(ones),
        upper=np.concatenate((ones[: codes + m], most, ones[: further[1] + further[2]])),
        integrality=np.concatenate(
            (
                np.ones(codes, dtype=np.bool_),
                whole,
                whole_halves,
                np.ones(number_of_counts, dtype=np.bool_),
                gates,
            )
        ),
    )
    attribute = np.repeat(np.arange(d, dtype=np.int64), program.sizes)
    one_code = RowBlock(attribute, np.arange(codes, dtype=np.int64), np.ones(codes), np.ones(d), np.ones(d))
    blocks = [
        one_code,  # BR-2
        thresholds,
        *strengthened,
        *parity_rows(rewarded, formulation, codes, codes + m),
        *counted_rows(rewarded, codes, first_count),
        *rule_rows(program.rules, program.offsets(), first_gate, formulation),
    ]
    return MipParts(rewarded, variables, blocks)
