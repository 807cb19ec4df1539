"""Weighted records as a number of rows: systematic, and the best that moving single rows reaches.

Problem (models/projection, PJ-7 with any whole m_x >= 0): minimize f over multiplicities m with sum m = N. Systematic
resampling gives every record floor or ceil of N times its weight, whatever f is; from there `best_multiplicities` moves
one row at a time from one record to another while that lowers f. `exact_multiplicities` lets a solver decide which to
round up; for few records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import NoSolutionError, ProgramError
from dpopt.inference.records.columns.columns import MATRIX_UP_TO, Answers, Matrix
from dpopt.inference.records.problem import FitProblem
from dpopt.models.best_responses.best_response import read_record
from dpopt.models.best_responses.max_csp_as_mip import accepting_max_csp
from dpopt.models.records.projection import rounding_program
from dpopt.programs.results import NO_LIMITS, SolveLimits
from dpopt.programs.solver import Solver, why_refused


def systematic_multiplicities(weights: NDArray[np.float64], number: int) -> NDArray[np.int64]:
    """Return how many of `number` rows each record gets: floor or ceil of number * weight, `number` in all.

    Row j stands at (j + 1/2) / number of the total weight. Records that stand together share what is rounded, so sort them
    first where neighbours should be alike.

    Raises
    ------
    ProgramError
        No rows, or weights that are not positive or do not sum to 1.
    """
    if number < 1:
        raise ProgramError(f"the number of rows must be at least 1, found {number}")
    if not weights.size or not np.all(weights >= 0) or abs(float(weights.sum()) - 1.0) > 1e-6:
        raise ProgramError("weights of records must not be negative and must sum to 1")
    edges = np.cumsum(weights) * number
    edges *= number / edges[-1]
    edges[-1] = number
    upper = np.floor(edges + 0.5).astype(np.int64)
    upper[1:] -= upper[:-1].copy()
    return upper


def best_multiplicities(
    problem: FitProblem, records: NDArray[np.int32], weights: NDArray[np.float64], number: int
) -> NDArray[np.int64]:
    """Return multiplicities (r,) of sum `number` that no move of one row to another of these records improves.

    Parameters
    ----------
    problem
        What was fitted.
    records : (r, d) int32
        Up to 3,000 records; for more, a record search from the rows (`fit_records`) does better anyway.
    weights : (r,) float64
        Their weights.
    number
        Rows, >= 1.

    Raises
    ------
    ProgramError
        Too many records, or as for `systematic_multiplicities`.
    """
    from dpopt.inference.records.columns.column_kernels import move_rows

    start = systematic_multiplicities(weights, number)
    gram, pull = _products(problem, records)
    gradient = gram @ start / number - pull
    move_rows(np.ascontiguousarray(gram), gradient, start, number)
    return start


def exact_multiplicities(
    problem: FitProblem,
    records: NDArray[np.int32],
    weights: NDArray[np.float64],
    number: int,
    solver: Solver,
    limits: SolveLimits = NO_LIMITS,
) -> NDArray[np.int64]:
    """Return the best multiplicities among floor and ceil of number * weight, by a solver of `MaxCsp` with rules.

    Raises
    ------
    ProgramError
        Too many records, nothing to decide, or a solver that does not take the rule.
    NoSolutionError
        The solver found none within the limits.
    """
    gram, pull = _products(problem, records)
    written = rounding_program(gram, pull, weights, number)
    able = accepting_max_csp(solver)
    refusal = why_refused(able, written.program)
    if refusal is not None:
        raise ProgramError(refusal)
    record, reason = read_record(written.program, able.solve(written.program, limits))
    if record is None:
        raise NoSolutionError(f"no rounding was found: {reason}; raise the limits, or round systematically")
    return written.multiplicities(record)


def _products(
    problem: FitProblem, records: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return K and b of the master problem over these records."""
    if len(records) > MATRIX_UP_TO:
        raise ProgramError(
            f"{len(records):,} records; up to {MATRIX_UP_TO:,} can be rounded so: round systematically, and search from there"
        )
    answers = Answers(problem)
    columns = answers.columns(records)
    none = answers.columns(np.zeros((0, problem.sizes.size), dtype=np.int32))
    pull = -answers.along(columns, answers.slopes(none, np.zeros(0)))
    return Matrix(answers).of(columns), pull
