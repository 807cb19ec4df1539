"""What is measured of points: sides of projected halfspaces, arcs of projected circles, and how many records there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, PrivateDataError
from dpopt.private.measurements.measurement import NumberOfRecords
from dpopt.private.measurements.noisy_counts import check_scale, noise_charge, once_or_twice
from dpopt.private.readers.read_numbers import HalfspacePoints
from dpopt.private.tables.closed import Declared
from dpopt.queries.halfspaces.halfspaces import Projections
from dpopt.threads import USUAL


class ProjectedPoints(Declared[HalfspacePoints, Projections]):
    """Points, their public projections, and how many points fall into each bin of angles of each projection."""

    __slots__ = ()

    @classmethod
    def _check(cls, records: HalfspacePoints, public: Projections) -> None:
        found, expected = records._coordinates.shape[1], public.shape[0]
        if found != expected:
            raise PrivateDataError(f"points of {found} coordinates, and projections of points of {expected}")

    def _bins(self) -> NDArray[np.int64]:
        """Return how many points fall into each bin, (m, 2 h), counted once for all levels."""
        if self._counts is None:
            from dpopt.private.measurements.kernels import count_angles

            _, _, m, h = self._public.shape
            bins = np.zeros((m, 2 * h), dtype=np.int64)
            count_angles(self._records._coordinates, self._public.matrices, self._public.directions, bins)
            self._keep(bins)
        counts: NDArray[np.int64] = self._counts
        return counts


@dataclass(frozen=True, slots=True)
class _Noised:
    """Scale and distribution of the noise.

    Attributes
    ----------
    scale : float
        sigma of the discrete Gaussian or b of the discrete Laplace distribution.
    gaussian : bool
    """

    scale: float
    gaussian: bool

    def __post_init__(self) -> None:
        check_scale("halfspaces", self.scale, "")


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

        **Theorem.** `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C11 in docs/privacy. Test:
        `tests/private/test_halfspace_curator.py`.
        """
        _, _, m, h = projections.shape
        return noise_charge(self, m * h, relation)

    def exact(
        self, points: ProjectedPoints, relation: NeighbouringRelation, threads: int = USUAL
    ) -> NDArray[np.int64]:
        """Return the numbers, (m h,): for each projection all directions. Private."""
        from dpopt.private.measurements.kernels import count_positive_sides

        positive = count_positive_sides(points._records._coordinates, points._public.normals)
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
        and in squared L2. **Theorem.** `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C12 in docs/privacy.
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
        return noise_charge(self, once_or_twice(m, relation), relation)

    def exact(self, points: ProjectedPoints, *_: object) -> NDArray[np.int64]:
        """Return the numbers, (m 2 h / 2^height,), from those of the bins. Private."""
        bins = points._bins()
        m, number = bins.shape
        return np.asarray(bins.reshape(m, number >> self.height, 1 << self.height).sum(axis=2).reshape(-1))


HalfspaceMeasurement = Sides | Arcs | NumberOfRecords
