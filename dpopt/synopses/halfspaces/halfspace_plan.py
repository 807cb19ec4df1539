"""The plan of a halfspace release: which projections, what is measured of them with how much noise, and what to expect."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.private.measurements.halfspace_measurement import (
    Arcs,
    HalfspaceMeasurement,
    Sides,
)
from dpopt.private.measurements.measurement import NumberOfRecords
from dpopt.queries.halfspaces.halfspaces import PointColumns, Projections
from dpopt.synopses.synopsis import SynopsisPlan

SIDES, ARCS = "sides", "arcs"
"""What is measured of the projections: sides of each canonical direction, or a circular tree of arcs (T = 2)."""


@dataclass(frozen=True)
class Prediction:
    """What errors to expect of queries whose margin is the planned one, in shares of records.

    Attributes
    ----------
    error : float
        With probability 95 % all `queries` together are off by at most this, whatever the records: the sum of the next two.
    bias : float
        What of it is due to projections; for records that do not depend on them.
    noise : float
        What of it is noise.
    typical : float
        Root of the mean squared bias of a record at the worst margin; tables of many different records come below it.
    queries : int
    direct : float
        The error if each of these queries was counted with separate noise.
    worth : int
        From how many queries on that is more than `error`.
    """

    error: float
    bias: float
    noise: float
    typical: float
    queries: int
    direct: float
    worth: int


@dataclass(frozen=True, slots=True, eq=False)
class SideSums:
    """The same linear map for each projection, from its r released numbers to its h signed sums of sides.

    The signed sum of a direction is the number of records on its positive side less that on the other one.

    Attributes
    ----------
    matrix : (h, r) float64
    scales : (r,) float64
        Scale of the noise on each released number.
    """

    matrix: NDArray[np.float64]
    scales: NDArray[np.float64]
    gaussian: bool

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Of the noise of the signed sums, (h, h)."""
        variances = self.scales**2 * (1.0 if self.gaussian else 2.0)
        return np.asarray((self.matrix * variances) @ self.matrix.T)

    def coefficients(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each released number is multiplied with, (m, r), where signed sums have weights (m, h)."""
        return np.asarray(weights @ self.matrix)

    @classmethod
    def of_sides(cls, directions: int, scale: float, *, gaussian: bool, doubled: bool) -> SideSums:
        """Return the map of sides that were released themselves; as counts of one side (`doubled`) or as differences."""
        factor = 2.0 if doubled else 1.0
        return cls(factor * np.eye(directions), np.full(directions, scale), gaussian)

    @classmethod
    def of_arcs(
        cls, directions: int, heights: tuple[int, ...], scales: tuple[float, ...], *, gaussian: bool
    ) -> SideSums:
        """Return the map of noisy arcs: the least-squares bins, added up over half circles.

        Bins are estimated as in Hay et al. 2010, Theorem 3: the unbiased linear estimate of least variance. Side j is positive
        for the bins j, ..., j + h - 1 of 2 h. A known total would change nothing: it moves all bins alike.
        """
        bins = 2 * directions
        design = np.concatenate([arc_rows(bins, height) for height in heights])
        spread = np.concatenate(
            [np.full(bins >> height, scale) for height, scale in zip(heights, scales, strict=True)]
        )
        weighted = design / spread[:, None] ** 2
        estimate = np.linalg.solve(design.T @ weighted, weighted.T)
        return cls(half_circles(directions) @ estimate, spread, gaussian)


def arc_rows(bins: int, height: int) -> NDArray[np.float64]:
    """Return which bins each arc of 2^height bins has, (arcs, bins), as 0 and 1."""
    return np.asarray(np.repeat(np.eye(bins >> height), 1 << height, axis=1))


def half_circles(directions: int) -> NDArray[np.float64]:
    """Return 1 for the bins of the positive side of each direction and -1 for the others, (h, 2 h)."""
    place = (np.arange(2 * directions) - np.arange(directions)[:, None]) % (2 * directions)
    return np.where(place < directions, 1.0, -1.0)


@dataclass(frozen=True, eq=False)
class HalfspacePlan(SynopsisPlan):
    """What a halfspace release measures.

    Attributes
    ----------
    dimension, number, directions : int
        T, m and h; |U| = 2 h.
    seed, copies : int
        Of the public projections.
    measured : str
        `SIDES` or `ARCS`.
    heights : tuple of int
        Of the measured levels of arcs, increasing from 0; empty for sides.
    scales : tuple of float
        Of the noise: of the number of records first (add-remove only), then of sides, or of each level of arcs.
    size : int
        The public number of records: n under replace-one, n0 under add-remove.
    margin : float
        gamma: for which margin the weights are made and errors are predicted; others can be asked for.
    """

    columns: PointColumns
    dimension: int
    number: int
    directions: int
    seed: int
    copies: int
    measured: str
    heights: tuple[int, ...]
    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    scales: tuple[float, ...]
    size: int
    margin: float
    prediction: Prediction

    def __post_init__(self) -> None:
        if self.measured not in {SIDES, ARCS} or (self.measured == SIDES) != (not self.heights):
            raise PlanError(
                f"found {self.measured!r} with levels {self.heights}; expected sides, or arcs and their levels"
            )
        if self.heights and (self.heights[0] != 0 or list(self.heights) != sorted(set(self.heights))):
            raise PlanError(
                f"found the levels {self.heights}; expected increasing ones from 0, single bins, on"
            )
        expected = max(1, len(self.heights)) + (self.relation is NeighbouringRelation.ADD_REMOVE)
        if len(self.scales) != expected:
            raise PlanError(f"found {len(self.scales)} scales for {expected} measurements")
        if self.size < 1:
            raise PlanError(f"found {self.size} records; a release needs at least one")
        if not 0.0 < self.margin < 1.0:
            raise PlanError(f"found the margin {self.margin:g}; expected one between 0 and 1")
        self.charges()

    @cached_property
    def projections(self) -> Projections:
        """The public projections."""
        return Projections.of(
            self.columns.dimension,
            self.dimension,
            self.number,
            self.directions,
            seed=self.seed,
            copies=self.copies,
        )

    @property
    def features(self) -> int:
        """How many halfspaces of R^d are known through their signed sums: m h."""
        return self.number * self.directions

    @property
    def numbers(self) -> list[int]:
        """How many numbers each measurement releases."""
        found = [1] if self.relation is NeighbouringRelation.ADD_REMOVE else []
        if self.measured == SIDES:
            return [*found, self.features]
        return [*found, *(self.number * (2 * self.directions >> height) for height in self.heights)]

    def measurements(self) -> list[HalfspaceMeasurement]:
        """Return what is asked of the curator."""
        found: list[HalfspaceMeasurement] = []
        scales = list(self.scales)
        if self.relation is NeighbouringRelation.ADD_REMOVE:
            found.append(NumberOfRecords(scales.pop(0), self.gaussian))
        if self.measured == SIDES:
            return [*found, Sides(scales[0], self.gaussian)]
        return [
            *found,
            *(Arcs(scale, self.gaussian, height) for scale, height in zip(scales, self.heights, strict=True)),
        ]

    def charges(self) -> list[Charge]:
        """Return what each measurement costs."""
        return [one.charge(self.projections, self.relation) for one in self.measurements()]

    @property
    def records_scale(self) -> float:
        """Scale of the noise on the number of records; 0 where that is public."""
        return self.scales[0] if self.relation is NeighbouringRelation.ADD_REMOVE else 0.0

    @cached_property
    def side_sums(self) -> SideSums:
        """How released numbers become signed sums."""
        add_remove = self.relation is NeighbouringRelation.ADD_REMOVE
        scales = self.scales[1:] if add_remove else self.scales
        if self.measured == SIDES:
            return SideSums.of_sides(
                self.directions, scales[0], gaussian=self.gaussian, doubled=not add_remove
            )
        return SideSums.of_arcs(self.directions, self.heights, scales, gaussian=self.gaussian)

    def derived(self) -> dict[str, Any]:
        """Return what follows from the fields: how many canonical directions there are, and how many numbers are released."""
        return {
            **super().derived(),
            "canonical_directions": 2 * self.directions,
            "numbers": self.numbers,
        }
