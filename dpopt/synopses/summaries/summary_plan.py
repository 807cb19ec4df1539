"""The plan of a summary: the sizes of the counted conjunctions, and their noise; made from public numbers alone."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.constraints import constrain
from dpopt.errors import PlanError
from dpopt.files.codec import Unbounded
from dpopt.polynomials.solver_answers import DEFAULT
from dpopt.polynomials.targets import Target
from dpopt.private.measurements.conjunction_measurement import ConjunctionCounts
from dpopt.programs.solver import Solver
from dpopt.queries.conjunctions.literals import ChosenLiterals, LiteralGroups
from dpopt.synopses.histograms.counts_plan import RECORDS, check_rising, check_scales, is_gaussian, whole_amount
from dpopt.synopses.summaries.budget_spread import Measured, best_spread
from dpopt.synopses.synopsis import SynopsisPlan

BETA = 0.05
"""The probability with which some query of the planned kind may be off by more than predicted."""
SMALL_QUERIES = 0.05
"""The share of the budget that the sizes below k have together at least, as far as sizes above them are counted."""
MOST_COUNTED = 20_000_000
"""Conjunctions of all sizes together, at most: they are counted, get noise and are kept."""
LARGEST_WIDTH = 16


@dataclass(frozen=True, eq=False)
class SummaryPlan(SynopsisPlan):
    """The plan of a summary's measurements."""

    literals: ChosenLiterals
    width: int
    """k, the largest number of literals of a query."""
    predicate: str
    """"and", "or" or "atleast:R": the queries that the budget was spread for; others of at most k literals are answered
    too."""
    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    sizes: tuple[int, ...]
    """The counted sizes of conjunctions, increasing."""
    scales: tuple[float, ...]
    """Scale of the noise of each, in records."""
    size: Annotated[int, RECORDS]
    """The public number of records: n under replace-one, n0 under add-remove."""
    predicted: float
    """With probability 95 % every query of the planned kind with k literals is off by at most this share of records."""
    approximation: float
    """The part due to the polynomial; the rest is noise."""
    direct: Unbounded
    """The prediction if each of these queries was counted with separate noise; inf for queries that are none."""

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        check_width(self.width, self.literals)
        check_rising("sizes", self.sizes, range(1, self.width + 1), range(1, self.width + 1))
        check_scales(self.scales, self.sizes)
        Target.named(self.predicate, self.width)

    @property
    def expected_error(self) -> float:
        """The predicted error, as a share of the records."""
        return self.predicted

    def measurements(self) -> list[ConjunctionCounts]:
        """Return the measurements."""
        return [
            ConjunctionCounts(size, scale, self.gaussian) for size, scale in zip(self.sizes, self.scales, strict=True)
        ]

    def charges(self) -> list[Charge]:
        """Return the charge of each size."""
        return [one.charge(self.literals, self.relation) for one in self.measurements()]

    @property
    def deviations(self) -> NDArray[np.float64]:
        """Standard deviation of a count of each size 1, ..., t, (t,); inf where none was counted."""
        found = np.full(self.sizes[-1], inf)
        for size, scale in zip(self.sizes, self.scales, strict=True):
            found[size - 1] = scale if self.gaussian else scale * sqrt(2.0)
        return found

    def derived(self) -> dict[str, Any]:
        """Return derived figures, including the number of conjunctions."""
        return {**super().derived(), "conjunctions": [self.literals.groups.conjunctions(size) for size in self.sizes]}


def check_width(width: int, literals: ChosenLiterals) -> None:
    """Refuse a k that is out of range."""
    most = min(LARGEST_WIDTH, len(literals.groups.sizes))
    if not 1 <= width <= most:
        raise PlanError(
            f"found k = {width}; expected 1 to {most}: queries have one literal of a column, of which there are "
            f"{len(literals.groups.sizes)}, and at most {LARGEST_WIDTH}"
        )


def plan_summary(
    literals: ChosenLiterals,
    width: int,
    budget: Budget,
    size: int | None,
    *,
    predicate: str = "and",
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    small_queries: float = SMALL_QUERIES,
    solver: str | Solver | None = None,
) -> SummaryPlan:
    """Return the plan with the least predicted error of the queries of k literals that the budget covers.

    minimize E + zeta sum_j |a_j| w_j over polynomials a (models/approximation_plus_noise), the noise of each size
    scaled best. What is predicted holds for all Q queries together (`noise_bound`).

    k (`width`) is from 1 to 16 and to the number of columns. Sizes below k have together at least the share
    `small_queries` of the budget, from 0 to below 1, for queries of fewer than k conditions. With 0 what is predicted
    is never more than with noise on each query of k of its own, where those can be counted; else it may be more by as
    much as that share of the budget is worth. The exact method of approximation_plus_noise begins with a solver of
    linear programs (highs if left out), which has no part in how good the plan is.
    """
    check_width(width, literals)
    size = RECORDS(size or 0, PlanError)
    if not 0.0 <= small_queries < 1.0:
        raise PlanError(f"found {small_queries!r} as the share for queries of fewer conditions; expected 0 to below 1")
    target = Target.named(predicate, width)
    kept = countable(literals, width)
    measured = measured_by(literals, kept, width, budget, size=size, relation=relation)
    spread = best_spread(target, measured, small_queries, DEFAULT if solver is None else solver)
    sizes = tuple((np.flatnonzero(spread.shares) + 1).tolist())
    direct = inf
    if target == Target.conjunction(width) or width == 1:
        every = measured_by(literals, width, width, budget, size=size, relation=relation)
        direct = replace(every, sensitivity=every.sensitivity[-1:]).noise(np.ones(1), np.ones(1), np.ones(1))
    return SummaryPlan(
        literals=literals,
        width=width,
        predicate=predicate,
        relation=relation,
        budget=budget,
        gaussian=measured.gaussian,
        sizes=sizes,
        scales=tuple(
            measurement_scale(
                int(measured.sensitivity[j - 1]),
                amount=measured.amount * float(spread.shares[j - 1]),
                gaussian=measured.gaussian,
            )
            for j in sizes
        ),
        size=size,
        predicted=spread.bound,
        approximation=spread.answer.approximation,
        direct=direct,
    )


def measured_by(
    literals: ChosenLiterals, kept: int, width: int, budget: Budget, *, size: int, relation: NeighbouringRelation
) -> Measured:
    """Return the facts about the measurements of sizes 1 to `kept` for queries of `width` literals."""
    gaussian, amount = is_gaussian(budget), whole_amount(budget)
    replaced = relation is NeighbouringRelation.REPLACE_ONE
    sensitivity = [literals.groups.sensitivity(j, replaced=replaced) for j in range(1, kept + 1)]
    queries = literals.groups.conjunctions(width)
    return Measured(np.array(sensitivity, dtype=np.float64), amount, size, queries, gaussian, BETA)


def countable(literals: ChosenLiterals, width: int) -> int:
    """Return the largest size up to which all conjunctions can be counted, at most `width`."""
    largest = _largest_countable(literals.groups, width)
    if not largest:
        columns = columns_that_do(literals, 1)
        raise PlanError(
            f"{literals.groups.literals:,} literals are more than the {MOST_COUNTED:,} that are counted; take fewer "
            f"columns (--columns): the {columns:,} with the fewest values are possible"
        )
    return largest


def columns_that_do(literals: ChosenLiterals, width: int) -> int:
    """Return how many columns, fewest literals first, have at most 20,000,000 conjunctions of up to `width`."""
    sizes = sorted(literals.groups.sizes)

    def too_many(columns: int) -> bool:
        return _largest_countable(LiteralGroups(tuple(sizes[:columns])), width) < min(width, columns)

    return bisect_left(range(1, len(sizes) + 1), x=True, key=too_many)


def _largest_countable(groups: LiteralGroups, width: int) -> int:
    total, largest = 0, 0
    for size in range(1, width + 1):
        total += groups.conjunctions(size)
        if total > MOST_COUNTED:
            break
        largest = size
    return largest
