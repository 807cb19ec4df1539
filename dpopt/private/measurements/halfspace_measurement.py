"""What is measured of points: sides of projected halfspaces, arcs of projected circles, and how many records there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import LARGEST_SCALE, SMALLEST_SCALE, measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.private.readers.read_numbers import HalfspacePoints
from dpopt.queries.halfspaces.halfspaces import Projections


@dataclass(frozen=True, slots=True)
class _Noised:
    """Scale and law of the noise.

    Attributes
    ----------
    scale : float
        sigma of the discrete Gaussian or b of the discrete Laplace law.
    gaussian : bool
    """

    scale: float
    gaussian: bool

    def __post_init__(self) -> None:
        if not SMALLEST_SCALE <= self.scale < LARGEST_SCALE:
            raise PlanError(
                f"the scale of the noise must be from {SMALLEST_SCALE:g} to below {LARGEST_SCALE:g}, found {self.scale!r}"
            )


@dataclass(frozen=True, slots=True)
class Sides(_Noised):
    """One number for each projection and canonical direction: how records fall to its two sides.

    Under replace-one the number of records on the positive side. Under add-remove, where the number of records is not known,
    that of the positive side less that of the other one, which has half the noise of a count for the same budget, since one
    record moves it by 1 and the share of a side by half of that. A tie <A_i x, u_j> = 0 is not on the positive side.
    """

    @property
    def name(self) -> str:
        """What is counted, in words."""
        return "sides of projected halfspaces"

    def charge(self, projections: Projections, relation: NeighbouringRelation) -> Charge:
        """Return what it costs.

        **Sensitivity.** Of m projections with h directions: m h in L1, and in squared L2, under both relations. A direction
        stands for its antipode too, so |U| = 2 h costs half of Blum, Ligett and Roth, Theorem 6.8.

        **Theorem.** `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C11 in docs/privacy.md. Test:
        `tests/private/test_halfspace_curator.py`.
        """
        _, _, m, h = projections.shape
        return measurement_charge(self.name, m * h, self.scale, gaussian=self.gaussian, relation=relation)

    def exact(
        self, points: HalfspacePoints, projections: Projections, relation: NeighbouringRelation
    ) -> NDArray[np.int64]:
        """Return the numbers, (m h,): for each projection all directions. Private."""
        from dpopt.private.measurements.halfspace_kernels import count_positive_sides

        positive = count_positive_sides(points._coordinates, projections.normals)
        return positive if relation is NeighbouringRelation.REPLACE_ONE else 2 * positive - points._rows


@dataclass(frozen=True, slots=True)
class Arcs(_Noised):
    """Numbers of records in arcs of 2^height neighbouring bins, for T = 2: one level of a circular tree of each projection.

    Attributes
    ----------
    height : int
        From 0 (single bins) on; 2^height is less than the number of bins, 2 h, and divides it.
    """

    height: int

    @property
    def name(self) -> str:
        """What is counted, in words."""
        return f"arcs of {2**self.height} bins" if self.height else "single bins of angles"

    def charge(self, projections: Projections, relation: NeighbouringRelation) -> Charge:
        """Return what it costs.

        **Sensitivity.** A record lies in one arc of each of the m projections: m under add-remove, 2 m under replace-one, in L1
        and in squared L2. **Theorem.** `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C12 in docs/privacy.md.
        Test: `tests/private/test_halfspace_curator.py`.

        Raises
        ------
        PlanError
            If T is not 2, or the arcs do not divide the circle.
        """
        _, dimension, m, h = projections.shape
        bins, arc = 2 * h, 2 ** min(max(self.height, 0), 62)
        if dimension != 2 or self.height < 0 or bins % arc or arc >= bins:
            raise PlanError(
                f"found arcs of 2^{self.height} of {bins} bins, T = {dimension}; expected T = 2, and two or more arcs of "
                "equal numbers of bins"
            )
        moved = m if relation is NeighbouringRelation.ADD_REMOVE else 2 * m
        return measurement_charge(self.name, moved, self.scale, gaussian=self.gaussian, relation=relation)

    def exact(self, bins: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers from those of the bins (m, 2 h): (m 2 h / 2^height,). Private."""
        m, number = bins.shape
        return np.asarray(bins.reshape(m, number >> self.height, 1 << self.height).sum(axis=2).reshape(-1))


@dataclass(frozen=True, slots=True)
class NumberOfRecords(_Noised):
    """How many records there are; under replace-one it is public and not measured."""

    @property
    def name(self) -> str:
        """What is counted, in words."""
        return "number of records"

    def charge(self, projections: Projections, relation: NeighbouringRelation) -> Charge:
        """Return what it costs.

        **Sensitivity.** Add-remove: 1 in L1 and in L2. **Theorem.** `dpopt.accounting.measurements.measurement_charge`.
        Privacy: C1, C12 in docs/privacy.md. Test: `tests/private/test_halfspace_curator.py`.

        Raises
        ------
        PlanError
            Under replace-one, where it is public.
        """
        if relation is NeighbouringRelation.REPLACE_ONE:
            raise PlanError(
                "under replace-one the number of records is public; measuring it would waste budget"
            )
        return measurement_charge(self.name, 1, self.scale, gaussian=self.gaussian, relation=relation)


HalfspaceMeasurement = Sides | Arcs | NumberOfRecords
