"""Measurements of points: sides of projected halfspaces, and the number of records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.constraints import constrain
from dpopt.errors import PlanError, PrivateDataError
from dpopt.private.measurements.measurement import NumberOfRecords
from dpopt.private.measurements.noisy_counts import Scale, noise_charge
from dpopt.private.readers.read_numbers import HalfspacePoints
from dpopt.private.tables.closed import Declared
from dpopt.queries.halfspaces.halfspaces import Projections
from dpopt.threads import USUAL


class ProjectedPoints(Declared[HalfspacePoints, Projections]):
    """Points and their public projections."""

    __slots__ = ()

    @classmethod
    def _check(cls, records: HalfspacePoints, public: Projections) -> None:
        found, expected = records._coordinates.shape[1], public.shape[0]
        if found != expected:
            raise PrivateDataError(f"points of {found} coordinates, and projections of points of {expected}")


@dataclass(frozen=True, slots=True)
class Sides:
    """One number for each projection and canonical direction: how records fall to its two sides.

    Under replace-one the number of records on the positive side. Under add-remove, where the number of records is not
    known, that of the positive side less that of the other one, which has half the noise of a count for the same
    budget, since one record moves it by 1 and the share of a side by half of that. A tie <A_i x, u_j> = 0 is not on the
    positive side.
    """

    scale: Scale
    """sigma of the discrete Gaussian or b of the discrete Laplace distribution."""
    gaussian: bool

    def __post_init__(self) -> None:
        constrain(self, PlanError)

    @property
    def name(self) -> str:
        """The name of the counts."""
        return "sides of projected halfspaces"

    def charge(self, projections: Projections, relation: NeighbouringRelation) -> Charge:
        """Return the charge.

        **Sensitivity.** Of m projections with h directions: m h in L1, and in squared L2, under both relations. A
        direction stands for its antipode too, so |U| = 2 h costs half of Blum, Ligett and Roth, Theorem 6.8.

        **Theorem.** `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C11 in docs/privacy. Test:
        `tests/private/test_halfspace_curator.py`.
        """
        _, _, m, h = projections.shape
        return noise_charge(self, m * h, relation)

    def exact(self, points: ProjectedPoints, relation: NeighbouringRelation, threads: int = USUAL) -> NDArray[np.int64]:
        """Return the numbers, (m h,): for each projection all directions. Private."""
        from dpopt.private.measurements.kernels import count_positive_sides

        positive = count_positive_sides(points._records._coordinates, points._public.normals)
        return positive if relation is NeighbouringRelation.REPLACE_ONE else 2 * positive - points._rows


HalfspaceMeasurement = Sides | NumberOfRecords
