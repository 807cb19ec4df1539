"""The interval of an answer if the noisy counts are those of records: bands that hold together, and proven ends."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PolynomialError
from dpopt.models.records.consistent_records import (
    PatternRows,
    consistent_records,
    pattern_rows,
    proven_end,
    reversed_sense,
)
from dpopt.polynomials.solver_answers import linear_solver, suggested_point
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.results import SolveLimits, Termination
from dpopt.programs.solver import Capability
from dpopt.programs.verification import verified
from dpopt.synopses.summaries.noise_bounds import noise_bound
from dpopt.synopses.summaries.ways import Way

if TYPE_CHECKING:
    from dpopt.programs.solver import Solver
    from dpopt.synopses.summaries.summary_plan import SummaryPlan

SOLVER = "highs"
_LIMITS = SolveLimits(seconds=60.0)
_ROUNDING = 1e-12  # bands are wider by so much, relatively, than what floating-point numbers say
MOST_ADDED = 200_000
"""Conjunctions that the rows of one size add up, at most; larger sizes have no rows."""
SUMS = 0.5
"""Of the probability that some band fails, the part for sums over all sets of a size; the rest is for single sets."""


@dataclass(frozen=True, slots=True)
class ConsistentInterval:
    """The possible range of an answer."""

    low: float
    high: float
    """Shares of records, 0 <= low <= high <= 1."""
    contradiction: bool
    """Whether no records have counts within all bands; the interval is [0, 1] then."""
    gap: float
    """By how large a share of the records an end is farther out than the solver's own point at most; inf without a
    point."""


def consistent_interval(
    way: Way, plan: SummaryPlan, noisy: tuple[NDArray[np.int64], ...], beta: float, *, solver: str | Solver = SOLVER
) -> ConsistentInterval:
    """Return an interval that holds the exact answer with probability 1 - beta.

    All bands of CR-3 and CR-4 (models/consistent_records) hold together with that probability, whatever the records are
    (`noise_bound`, for as many counts or sums as there are rows); if they do, the exact numbers of records with each
    pattern are feasible, and the answer is between the optima. Both ends come from multipliers that are not believed,
    by weak duality in exact arithmetic: a solver that fails, or lies, makes the interval wider, and no end wrong.
    """
    sizes = tuple(size for size in plan.sizes if size <= len(way.counted) + len(way.negated))
    sizes = tuple(size for size in sizes if int(way.terms(size).sum()) <= MOST_ADDED)
    rows = pattern_rows(len(way.counted), len(way.negated), sizes, way.always)
    counts, bands = _bands(way, plan, noisy, rows, beta)
    values = [way.values[s][u] for s, u in rows.held.tolist()]
    occurring = np.array([value is not None for value in values], dtype=np.bool_)
    answers = np.array([float(value) for value in values if value is not None])
    reach = bands * (1 + _ROUNDING) + _ROUNDING
    program = consistent_records(
        rows.matrix[:, occurring],
        answers,
        np.nextafter(counts - reach, -np.inf) / rows.units,
        np.nextafter(counts + reach, np.inf) / rows.units,
        float(plan.size),
        maximize=False,
    ).linear
    chosen = consistency_solver(solver)
    low, infeasible, below = _end(program, chosen)
    high, also, above = _end(reversed_sense(program), chosen)
    low, high, gap = max(0.0, low / plan.size), min(1.0, high / plan.size), max(below, above) / plan.size
    if (infeasible and also) or low > high:
        return ConsistentInterval(0.0, 1.0, contradiction=True, gap=gap)
    return ConsistentInterval(low, high, contradiction=False, gap=gap)


def _end(program: MixedIntegerProgram, solver: Solver) -> tuple[float, bool, float]:
    """Return the proven end, in records; whether the solver says that there is none; how far its point is off."""
    records = float(program.row_upper[-1])
    end = records if program.maximize else 0.0
    found = verified(program, suggested_point(solver, program, _LIMITS)[1])
    if found.termination in {Termination.INFEASIBLE, Termination.INFEASIBLE_OR_UNBOUNDED}:
        return end, True, inf
    proven = None if found.duals is None else proven_end(program, found.duals)
    if proven is not None:
        end = min(records, proven) if program.maximize else max(0.0, proven)
    return end, False, inf if found.objective is None else abs(end - found.objective)


def consistency_solver(solver: str | Solver) -> Solver:
    """Return the solver, which is to prove ends and can run here."""
    found = linear_solver(solver)
    if Capability.DUALS not in found.capabilities:
        raise PolynomialError(
            f"the solver {found.name!r} gives no dual values, by which the ends of an answer are proved; give another "
            f"one"
        )
    return found


def _bands(
    way: Way, plan: SummaryPlan, noisy: tuple[NDArray[np.int64], ...], rows: PatternRows, beta: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the noisy number of records of each row and how far it is off at most, in records, (R,) each."""
    groups, by_size = plan.literals.groups, dict(zip(plan.sizes, noisy, strict=True))
    scales = dict(zip(plan.sizes, plan.scales, strict=True))
    sums = SUMS if rows.sets else 1.0

    def band(size: int, numbers: NDArray[np.int64], share: float, together: int) -> tuple[float, float]:
        scale, added = np.array([scales[size]]), np.array([float(numbers.size)])
        reach = noise_bound(scale, added, beta * share, gaussian=plan.gaussian, queries=together)
        return float(by_size[size][numbers].sum()), reach

    found = [
        band(size, numbers, 1.0 - sums, len(rows.sets))
        for size in dict.fromkeys(map(len, rows.sets))
        for numbers in way.sets_of(groups, size)
    ]
    found += [band(i + j, way.numbers(groups, i, j), sums, len(rows.pairs)) for i, j in rows.pairs]
    table = np.array(found, dtype=np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
