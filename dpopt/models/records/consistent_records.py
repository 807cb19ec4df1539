"""The range of a query's answer that noisy counts of small conjunctions allow: two linear programs over patterns.

Problem (models/consistent_records). A query has K conditions; each record has a pattern z in {0, 1}^K of literals that
hold, or, where there are too many, a pair of numbers of them. Given the answer f of each pattern, and bands within
which counts lie, choose how many of n records have each pattern:

    minimize and maximize  sum_z f(z) x_z                                          CR-1
    subject to             sum_z x_z = n,  x >= 0                                  CR-2
                           low_A <= sum_z [z_A = 1] x_z <= high_A                  CR-3, each counted set A
                           low_ij <= sum_z C(s(z), i) C(u(z), j) x_z <= high_ij    CR-4, each counted pair of sizes

If all bands hold, the exact answer is between the two optima. Any multipliers y of the rows of CR-3 and CR-4 prove a bound:
with y_0 = max_z (f(z) - sum_A y_A [z_A = 1] - ...) for the row CR-2 no reduced cost is positive, and weak duality
(`dpopt.programs.duality`) gives the number in exact arithmetic.                   CR-5
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError
from dpopt.models.model import Model
from dpopt.programs.building import Builder
from dpopt.programs.duality import GRID, LARGEST_MULTIPLIER, dual_bound
from dpopt.programs.mixed_integer import MixedIntegerProgram

LARGEST_PATTERN = 10
"""Most conditions of a query with a pattern for each subset, 1,024 in all; of more, only numbers that hold count."""


@dataclass(frozen=True, slots=True, eq=False)
class PatternRows:
    """The rows of CR-3 and CR-4, and the numbers of literals that hold for each pattern."""

    held: NDArray[np.int64]
    """Shape (P, 2). s(z) and u(z): how many literals of the two kinds hold."""
    sets: tuple[tuple[int, ...], ...]
    """The conditions of each row of CR-3."""
    pairs: tuple[tuple[int, int], ...]
    """(i, j) of each row of CR-4."""
    units: NDArray[np.float64]
    """Shape (R,). The divisor of each row, a power of two: entries are at most 1, and exact."""
    matrix: NDArray[np.float64]
    """Shape (R, P). The rows: those of CR-3, then those of CR-4."""


@lru_cache(maxsize=64)
def pattern_rows(counted: int, negated: int, sizes: tuple[int, ...], always: int = 0) -> PatternRows:
    """Return the rows for this number of literals that represent conditions and negations of conditions.

    Of k `counted` and l `negated` literals, conjunctions of these `sizes` are counted. Of the k, `always` at their end
    hold for every record that satisfies any literal; a pattern without any is kept, too.
    """
    total = counted + negated
    if total < 1 or not 0 <= always <= counted:
        raise ProgramError(f"found {counted} and {negated} literals of which {always} always hold")
    pairs = tuple((i, size - i) for size in sizes for i in range(max(0, size - negated), min(counted, size) + 1))
    sets: tuple[tuple[int, ...], ...] = ()
    if total - always <= LARGEST_PATTERN:
        free = np.array([at for at in range(total) if not counted - always <= at < counted], dtype=np.int64)
        bits = np.zeros((1 << free.size, total), dtype=np.int64)
        bits[:, free] = np.arange(1 << free.size)[:, None] >> np.arange(free.size) & 1
        bits[:, counted - always : counted] = 1
        if always:
            bits = np.vstack((np.zeros((1, total), dtype=np.int64), bits))
        held = np.column_stack((bits[:, :counted].sum(axis=1), bits[:, counted:].sum(axis=1)))
        sets = tuple(one for size in sizes for one in combinations(range(total), size))
        single = np.array([bits[:, one].all(axis=1) for one in sets], dtype=np.float64).reshape(-1, len(bits))
    else:
        held = np.array([(s, u) for s in range(counted + 1) for u in range(negated + 1)], dtype=np.int64)
        single = np.zeros((0, len(held)))
    sums = np.array([[comb(int(s), i) * comb(int(u), j) for s, u in held] for i, j in pairs], dtype=np.float64).reshape(
        -1, len(held)
    )
    rows = np.vstack((single, sums))
    units = np.exp2(np.ceil(np.log2(np.maximum(1.0, rows.max(axis=1, initial=1.0)))))
    return PatternRows(freeze(held), sets, pairs, freeze(units), freeze(rows / units[:, None]))


def consistent_records(
    rows: NDArray[np.float64],
    answers: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    records: float,
    *,
    maximize: bool,
) -> Model:
    """Return CR-1 to CR-4 for patterns that may occur, in x (P,); the row of CR-2 is the last one.

    Parameters
    ----------
    rows : (R, P) float64
        Coefficients of CR-3 and CR-4.
    answers : (P,) float64
        f.
    low, high : (R,) float64
        The bands, in records, divided as the rows are.
    records
        n.
    maximize
        Whether the largest answer is asked for, and not the least.
    """
    if rows.shape != (low.size, answers.size) or high.shape != low.shape:
        raise ProgramError(
            f"rows of shape {rows.shape} need {rows.shape[-1]} answers and {len(rows)} bands; found {answers.size} "
            f"answers and bands of shapes {low.shape} and {high.shape}"
        )
    build = Builder(maximize=maximize)
    x = build.variables("x", answers.size, upper=float(records), objective=answers)
    row, pattern = np.nonzero(rows)
    build.rows("CR-3", len(rows), (row, x[pattern], rows[row, pattern]), lower=low, upper=high)  # and CR-4
    build.rows("CR-2", 1, (0, x, 1.0), lower=records, upper=records, single=True)
    return Model.of("consistent_records", build)


def proven_end(program: MixedIntegerProgram, duals: NDArray[np.float64]) -> float | None:
    """Return CR-5: an upper (or lower) bound on CR-1 from any multipliers; None if they are no numbers.

    The program is that of `consistent_records`. Multipliers (R + 1,) are not trusted; the last one is replaced.
    """
    if duals.shape != program.row_lower.shape or not (np.abs(duals) <= LARGEST_MULTIPLIER).all():
        return None
    sign = 1.0 if program.maximize else -1.0
    y = np.rint(sign * duals * GRID)
    y[-1] = 0.0
    y[:-1][(y[:-1] > 0) & np.isposinf(program.row_upper[:-1])] = 0.0
    y[:-1][(y[:-1] < 0) & np.isneginf(program.row_lower[:-1])] = 0.0
    terms = program.coefficients * y[program.row_of_entry()]
    reached = np.bincount(program.columns, weights=terms, minlength=program.number_of_variables)
    y[-1] = np.ceil((sign * program.objective * GRID - reached).max())
    bound = dual_bound(program, sign * y / GRID)
    if bound is None:
        return None
    # Rounded outwards: a float is within half a unit of its last place of the fraction.
    return float(np.nextafter(float(bound), np.inf if program.maximize else -np.inf))


def reversed_sense(program: MixedIntegerProgram) -> MixedIntegerProgram:
    """Return the program that minimizes where this one maximizes, and the other way round."""
    return replace(program, maximize=not program.maximize)
