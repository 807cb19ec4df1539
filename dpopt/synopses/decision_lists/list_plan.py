"""The plan of a release of decision lists: coefficients, sizes of conjunctions, and noise; all of it public."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.polynomials.decision_lists import approximation_error
from dpopt.private.measurements.conjunction_measurement import ListCounts
from dpopt.queries.decision_lists.coefficients import ListCoefficients
from dpopt.queries.decision_lists.families import ListFamily
from dpopt.synopses.histograms.counts_plan import check_rising, check_scales
from dpopt.synopses.summaries.noise_bounds import noise_bound
from dpopt.synopses.synopsis import SynopsisPlan

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
    size: int
    """The public number of rows: n under replace-one, n0 under add-remove."""
    points: int
    """Number of points for which the joint error is predicted."""

    def __post_init__(self) -> None:
        largest = self.coefficients.largest_size
        check_rising("sizes", self.sizes, range(1), range(largest, largest + 1))
        check_scales(self.scales, self.sizes)
        if any(self.coefficients.used(size) for size in range(largest) if size not in self.sizes):
            raise PlanError("found coefficients of conjunctions that are not counted")
        if self.size < 1 or self.points < 1:
            raise PlanError(f"found {self.size} rows and {self.points} points; expected at least one of each")

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
