"""The plan of a release of decision lists with the least predicted error; made from public numbers alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb, log2, sqrt
from typing import Annotated, Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.constraints import Whole, constrain
from dpopt.errors import PlanError
from dpopt.models.model import Solution
from dpopt.polynomials.decision_lists import approximation_error, certified_coefficients
from dpopt.polynomials.solver_answers import DEFAULT, linear_solver
from dpopt.private.measurements.conjunction_measurement import ListCounts
from dpopt.programs.solver import Solver
from dpopt.queries.decision_lists.coefficients import ListCoefficients
from dpopt.queries.decision_lists.families import ListFamily
from dpopt.synopses.histograms.counts_plan import check_rising, check_scales, is_gaussian, whole_amount
from dpopt.synopses.summaries.noise_bounds import deviations_for, noise_bound
from dpopt.synopses.synopsis import SynopsisPlan

ROWS, POINTS = Whole("the number of rows"), Whole("the number of points")
BETA = 0.05
"""The probability with which some point may be off by more than predicted."""


@dataclass(frozen=True, eq=False)
class ListPlan(SynopsisPlan):
    """The plan of the measurements of a table of decision lists."""

    coefficients: ListCoefficients
    """By which rows count in conjunctions; with the declared family."""
    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    sizes: tuple[int, ...]
    """The counted sizes of conjunctions, increasing from 0: the empty conjunction."""
    scales: tuple[float, ...]
    """Scale of the noise of each, in units of the coefficients."""
    size: Annotated[int, ROWS]
    """The public number of rows: n under replace-one, n0 under add-remove."""
    points: Annotated[int, POINTS]
    """Number of points for which the joint error is predicted."""

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        largest = self.coefficients.largest_size
        check_rising("sizes", self.sizes, range(1), range(largest, largest + 1))
        check_scales(self.scales, self.sizes)
        if any(self.coefficients.used(size) for size in range(largest) if size not in self.sizes):
            raise PlanError("found coefficients of conjunctions that are not counted")

    @property
    def family(self) -> ListFamily:
        """The declared rows."""
        return self.coefficients.family

    @property
    def unit(self) -> float:
        """The value of one count, as a share of the rows."""
        return 2.0**-self.coefficients.bits / self.size

    @cached_property
    def approximation(self) -> float:
        """How far the sum over conjunctions is off at most without noise, for any row at any point; rounded up."""
        exact = approximation_error(self.coefficients)
        return float(exact) if float(exact) >= exact else float(np.nextafter(float(exact), 2.0))

    @property
    def predicted(self) -> float:
        """With probability 95 % all points together are off by at most this share of the rows."""
        return self.approximation + self.noise(BETA, self.points)

    @property
    def shares(self) -> NDArray[np.float64]:
        """Scale of the noise of each size, as shares of the rows."""
        return np.array(self.scales) * self.unit

    @property
    def expected_error(self) -> float:
        """The predicted error, as a share of the rows."""
        return self.predicted

    def noise(self, beta: float, points: int = 1) -> float:
        """Return a bound on the noise of answers at this number of points, for all of them with probability 1 - beta."""
        numbers = [comb(len(self.family.variables), size) for size in self.sizes]
        return noise_bound(
            self.shares, np.array(numbers, dtype=np.float64), beta, gaussian=self.gaussian, queries=points
        )

    def measurements(self) -> list[ListCounts]:
        """Return the measurements."""
        return [ListCounts(size, scale, self.gaussian) for size, scale in zip(self.sizes, self.scales, strict=True)]

    def charges(self) -> list[Charge]:
        """Return the charge of each size."""
        return [one.charge(self.coefficients, self.relation) for one in self.measurements()]

    def derived(self) -> dict[str, Any]:
        """Return derived figures: the number of conjunctions, and the errors."""
        return {
            **super().derived(),
            "conjunctions": [self.coefficients.conjunctions(size) for size in self.sizes],
            "log2_of_points": log2(self.points),
            "predicted": self.predicted,
            "approximation": self.approximation,
        }


MOST_COUNTED = 20_000_000
"""Conjunctions of all sizes together, at most: they are counted, get noise and are kept."""
_STARTS: tuple[float, ...] = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 2.0, 4.0, 10.0, 30.0)
"""The program knows only a bound of the sensitivity: dpopt tries cheaper and dearer noise, and takes the best plan."""
_STARTS_OF_THE_PAPER = (1.0, 2.0, 4.0)
_LAPLACE_ROUNDS = 2
_DEAREST = 1e6


class ListKeywords(TypedDict, total=False):
    """Keywords of the plan of decision lists."""

    relation: NeighbouringRelation
    points: int | None
    """Q: for how many points together the predicted error is to hold; all 2^m if left out."""
    largest: int | None
    """The largest size of conjunctions; as far as 20 million are counted if left out."""
    solver: str | Solver | None
    """Of linear programs; highs if left out."""
    negations: bool
    """False for comparisons: rows count in conjunctions of their own literals alone, as in the paper."""


def plan_lists(family: ListFamily, budget: Budget, size: int | None, **how: Unpack[ListKeywords]) -> ListPlan:
    """Return the plan with about the least predicted error of the points, for a public number of rows.

    minimize E + sum_j w_j S_j over the coefficients (models/decision_lists), the noise of each size scaled best. Errors
    and sensitivities of what is found are computed exactly.
    """
    return certified_plan(family, budget, size, **how)[0]


def certified_plan(
    family: ListFamily, budget: Budget, size: int | None, **how: Unpack[ListKeywords]
) -> tuple[ListPlan, Callable[[], Solution]]:
    """Return `plan_lists`, and a bound on the solver's distance from the least value of the program behind the plan."""
    asked, most, chosen = plannable(family, budget, size, **how)
    ways: list[tuple[_Asked, tuple[float, ...]]] = [(asked, _STARTS)]
    if asked.negations and not asked.gaussian:  # not convex, and begun without negations, too
        ways.append((replace(asked, negations=False), _STARTS_OF_THE_PAPER))
    found = [made for one, starts in ways for start in starts for made in one.plans(start, most, chosen)]
    return min(found, key=lambda one: one[0].predicted)


def plannable(
    family: ListFamily, budget: Budget, size: int | None, **how: Unpack[ListKeywords]
) -> tuple[_Asked, int, Solver]:
    """Return the inputs, largest size and solver of a plan, or refuse what `plan_lists` would refuse, without planning."""
    relation, solver = how.get("relation", NeighbouringRelation.ADD_REMOVE), how.get("solver")
    points = how.get("points")
    points = POINTS(2 ** len(family.variables) if points is None else points, PlanError)
    size = ROWS(size or 0, PlanError)
    gaussian, amount, negations = is_gaussian(budget), whole_amount(budget), how.get("negations", True)
    asked = _Asked(family, budget, relation, gaussian, amount, size, points, negations)
    return asked, largest_size(family, how.get("largest")), linear_solver(DEFAULT if solver is None else solver)


def largest_size(family: ListFamily, asked: int | None = None) -> int:
    """Return the largest size of conjunctions that is counted."""
    total, most = 1, 0
    for size in range(1, family.length + 1):
        total += 2**size * comb(len(family.variables), size)
        if total > MOST_COUNTED:
            break
        most = size
    if asked is None:
        return most
    if not 1 <= asked <= most:
        raise PlanError(
            f"found conjunctions of {asked} literals; expected 1 to {most} for rows of up to {family.length} literals "
            f"on {len(family.variables)} variables: at most {MOST_COUNTED:,} conjunctions are counted"
        )
    return asked


@dataclass(frozen=True, slots=True)
class _Asked:
    """The inputs of a plan."""

    family: ListFamily
    budget: Budget
    relation: NeighbouringRelation
    gaussian: bool
    amount: float
    size: int
    points: int
    negations: bool

    @property
    def replaced(self) -> bool:
        return self.relation is NeighbouringRelation.REPLACE_ONE

    def plans(self, start: float, most: int, solver: Solver) -> list[tuple[ListPlan, Callable[[], Solution]]]:
        """Return the plans met from weights `start` times those of the noise, and how good each solution is."""
        base = self._base(most)
        slopes, found = base, []
        for _ in range(1 if self.gaussian else _LAPLACE_ROUNDS):
            weights = start * slopes
            if self.replaced:
                weights[1:] *= 2.0
            best, judged = certified_coefficients(
                self.family,
                weights,
                gaussian=self.gaussian,
                replaced=self.replaced,
                solver=solver,
                negations=self.negations,
            )
            sensitivities = self._sensitivities(best)
            found.append((self._plan(best, sensitivities), judged))
            slopes = self._slopes(base, np.append(sensitivities, np.zeros(most + 1 - sensitivities.size)))
        return found

    def _base(self, most: int) -> NDArray[np.float64]:
        """The cost of noise to an answer for each unit of sensitivity of each size, with the whole budget for it."""
        zeta = deviations_for(BETA, self.points)
        each = 1.0 / sqrt(2.0 * self.amount) if self.gaussian else sqrt(2.0) / self.amount
        numbers = [comb(len(self.family.variables), j) for j in range(most + 1)]
        return np.asarray(zeta * each / self.size * np.sqrt(np.array(numbers, dtype=np.float64)))

    def _slopes(self, base: NDArray[np.float64], sensitivities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how fast the noise of the best scales grows with each sensitivity.

        Gaussian: sum_j base_j S_j, so that they are the base. Laplace: (sum_j (base_j S_j)^(2/3))^(3/2), which is
        concave: its tangent bounds it, and the next program can only be better for it.
        """
        if self.gaussian:
            return base
        total = ((base * sensitivities) ** (2.0 / 3.0)).sum()
        steep = np.sqrt(total) * base ** (2.0 / 3.0) * np.maximum(sensitivities, 1e-12) ** (-1.0 / 3.0)
        return np.asarray(np.minimum(steep, _DEAREST))

    def _sensitivities(self, coefficients: ListCoefficients) -> NDArray[np.float64]:
        sizes = range(coefficients.largest_size + 1)
        sensitivity = [coefficients.sensitivity(j, replaced=self.replaced, squared=self.gaussian) for j in sizes]
        found = np.array(sensitivity, dtype=np.float64)
        return (np.sqrt(found) if self.gaussian else found) / 2.0**coefficients.bits

    def _plan(self, coefficients: ListCoefficients, sensitivities: NDArray[np.float64]) -> ListPlan:
        """Share the budget for the least variance of an answer: by S_j (C(m, j))^(1/2), under Laplace its power 2/3."""
        sizes = [0, *(j for j in range(1, coefficients.largest_size + 1) if coefficients.used(j))]
        shares = self._base(sizes[-1])[sizes] * sensitivities[sizes]
        if not self.gaussian:
            shares = shares ** (2.0 / 3.0)
        shares = shares / shares.sum()
        scales = [
            measurement_scale(
                coefficients.sensitivity(j, replaced=self.replaced, squared=self.gaussian),
                amount=self.amount * float(share),
                gaussian=self.gaussian,
            )
            for j, share in zip(sizes, shares, strict=True)
        ]
        return ListPlan(
            coefficients=coefficients.up_to(sizes[-1]),
            relation=self.relation,
            budget=self.budget,
            gaussian=self.gaussian,
            sizes=tuple(sizes),
            scales=tuple(scales),
            size=self.size,
            points=self.points,
        )
