"""A MaxCsp over conjunctions and their negations as a mixed-integer program.

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

in place of BR-3 and BR-5. Its linear relaxation is weaker.

Source: Gaboardi et al. (2014), section 5 (k = 3, aggregated); per-literal rows: the standard linearization of products.
"""

from __future__ import annotations

import enum

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.queries.arrays import freeze


class Formulation(enum.Enum):
    """The two ways to write the rows of a clause whose every literal binds it."""

    PER_LITERAL = "per-literal"
    """One row per literal (BR-3, BR-5), continuous clause variables; the tighter relaxation."""
    AGGREGATED = "aggregated"
    """One row per clause (BR-8, BR-9), binary clause variables; as in the paper."""


def max_csp_as_mip(
    program: MaxCsp, formulation: Formulation = Formulation.PER_LITERAL
) -> MixedIntegerProgram:
    """Write the program as a mixed-integer program.

    Columns: x[a, v] at `program.offsets()[a] + v`, then c_j. Rows: BR-2 for each attribute, then those of the
    clauses in order. Nothing is looped over in Python: 100,000 clauses take well under a second.

    Raises
    ------
    ProgramError
        A clause is neither a conjunction nor the negation of one.
    """
    clauses, weights = program.clauses, program.weights
    m, d, widths = len(clauses), program.sizes.size, clauses.widths()
    offsets = program.offsets()
    number_of_x = int(offsets[-1])
    negation = _negations(program)
    every = (
        weights > 0
    ) != negation  # every literal binds c_j (BR-3, BR-5); else all of them together (BR-4, BR-6)
    split = every & (formulation is Formulation.PER_LITERAL)
    rows_of = np.where(split | (every & (widths == 0)), widths, 1)  # a clause without literals binds nothing
    first_row = d + np.cumsum(rows_of) - rows_of
    number_of_rows = d + int(rows_of.sum())

    # Literals: lit = side * x + [side < 0]. A row reads  scale c_j - turn * sum (side x)  <= or >=  its bound.
    used = clauses.attributes >= 0
    clause, place = np.nonzero(used)
    side = np.where(clauses.signs[used], 1, -1)
    turn = np.where(negation, -1, 1)
    literal_row = first_row[clause] + np.where(split[clause], place, 0)
    literal_column = offsets[clauses.attributes[used]] + clauses.values[used]
    scale = np.where(every & ~split, widths, 1)
    row_clause = np.repeat(np.arange(m), rows_of)

    # The constants of the literals, moved to the right-hand side.
    constant = np.bincount(literal_row, weights=side < 0, minlength=number_of_rows)[d:]
    width = widths[row_clause]
    bound = np.select(
        [
            (every & ~negation)[row_clause],  # BR-3, BR-8: scale c - sum side x <= constant
            (every & negation & split)[row_clause],  # BR-5: c + side x >= 1 - constant
            (every & negation)[row_clause],  # BR-9: k c + sum side x >= k - constant
            (~negation)[row_clause],  # BR-4: c - sum side x >= 1 - k + constant
        ],
        [constant, 1 - constant, width - constant, 1 - width + constant],
        default=width - constant,  # BR-6: c + sum side x <= k - constant
    )
    at_most = (weights > 0)[row_clause]

    row = np.concatenate(
        (np.repeat(np.arange(d), program.sizes), literal_row, d + np.arange(row_clause.size))
    )
    column = np.concatenate((np.arange(number_of_x), literal_column, number_of_x + row_clause))
    value = np.concatenate((np.ones(number_of_x), -(turn[clause] * side), scale[row_clause])).astype(
        np.float64
    )
    order = np.lexsort((column, row))
    ones = np.ones(d)
    return MixedIntegerProgram(
        maximize=True,
        objective=freeze(np.concatenate((np.zeros(number_of_x), weights.astype(np.float64)))),
        row_starts=freeze(np.searchsorted(row[order], np.arange(number_of_rows + 1)).astype(np.int64)),
        columns=freeze(column[order].astype(np.int32)),
        coefficients=freeze(value[order]),
        row_lower=freeze(np.concatenate((ones, np.where(at_most, -np.inf, bound)))),
        row_upper=freeze(np.concatenate((ones, np.where(at_most, bound, np.inf)))),
        lower=freeze(np.zeros(number_of_x + m)),
        upper=freeze(np.ones(number_of_x + m)),
        integrality=freeze(
            np.arange(number_of_x + m) < (number_of_x + m * (formulation is Formulation.AGGREGATED))
        ),
    )


def record_from_point(program: MaxCsp, point: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the record (d,) int32 that a solution of the mixed-integer program stands for.

    Every attribute takes the code whose x is largest, so that rounding errors of the solver do no harm.
    """
    offsets = program.offsets()
    x = point[: int(offsets[-1])]
    owner = np.repeat(np.arange(program.sizes.size), program.sizes)
    order = np.lexsort((-x, owner))  # by attribute, largest first, lowest code first among equals
    return freeze((order[offsets[:-1]] - offsets[:-1]).astype(np.int32))


def point_from_record(program: MaxCsp, record: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the solution of the mixed-integer program that a record (d,) int32 stands for, both x and c."""
    from dpopt.queries.kernels import satisfied  # imports numba

    program.require_record(record)
    x = np.zeros(int(program.offsets()[-1]))
    x[program.offsets()[:-1] + record] = 1.0
    return freeze(np.concatenate((x, satisfied(program.clauses, record).astype(np.float64))))


def _negations(program: MaxCsp) -> NDArray[np.bool_]:
    """Return which clauses are negations of conjunctions, (m,); refuse what is neither."""
    all_true = np.int64(1) << program.clauses.widths()
    accepted = program.clauses.accepted.astype(np.int64)
    negation: NDArray[np.bool_] = accepted == all_true - 1
    other = ~negation & (accepted != all_true)
    if other.any():
        raise ProgramError(
            f"clause {int(np.argmax(other))} is neither a conjunction nor the negation of one; this formulation "
            "covers those alone. The local search and cp-sat take clauses of every kind"
        )
    return negation
