"""Tiny sets of points, ties among them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.arrays import freeze
from dpopt.private.measurements.halfspace_measurement import ProjectedPoints
from dpopt.private.readers.read_numbers import HalfspacePoints
from dpopt.queries.halfspaces.halfspaces import DIRECTION_UNIT, PointColumns, Projections, Scaling
from dpopt.synopses.halfspaces.halfspace_plan import HalfspacePlan, Prediction
from tests.exact_counts_loss import AMPLE, ROWS, TinyTables, neighbours_of
from tests.tiny_runs import ADD_REMOVE

COLUMNS = PointColumns(("x", "y"), Scaling.NORMALISE)
Point = tuple[int, int]
Table = tuple[Point, ...]
UNIVERSE: tuple[Point, ...] = ((1, 0), (0, 1), (-1, 0), (1, 1), (-1, -1), (2, -3))
"""Points on canonical directions, across them, on the kernel of a projection, and their antipodes."""


def integers(values: object) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return freeze(np.array(values, dtype=np.int64))


_AXES = [[1, 0], [0, 1]]
_PROJECTIONS: dict[str, Projections] = {
    "plane": Projections(integers([_AXES, [[1, 1], [1, 1]]]), integers([[DIRECTION_UNIT, 0], [0, DIRECTION_UNIT]])),
    "line": Projections(integers([[[1, 0]], [[1, 1]], [[1, -2]]]), integers([[DIRECTION_UNIT]])),
}
"""In the plane the second projection takes (1, -1) to zero and all else to one line; ties are everywhere."""


def projections(kind: str) -> Projections:
    return _PROJECTIONS[kind]


def points_of(table: Table) -> HalfspacePoints:
    return HalfspacePoints.of(np.array(table, dtype=np.float64), COLUMNS)


def sides_of(kind: str, point: Point) -> list[bool]:
    """Return on which sides a point lies, in whole numbers, one by one."""
    found = projections(kind)
    return [
        sum(int(u[t]) * sum(int(a) * x for a, x in zip(row, point, strict=True)) for t, row in enumerate(matrix)) > 0
        for matrix in found.matrices.tolist()
        for u in found.directions.tolist()
    ]


@lru_cache
def point_neighbours(relation: NeighbouringRelation) -> list[tuple[Table, Table]]:
    return neighbours_of(UNIVERSE, relation)


def tiny_plan(relation: NeighbouringRelation, *, gaussian: bool, size: int = ROWS) -> HalfspacePlan:
    """Return a plan within an ample budget: two projections to the plane, two directions each."""
    return HalfspacePlan(
        columns=COLUMNS,
        dimension=2,
        number=2,
        directions=2,
        seed=3,
        copies=1,
        relation=relation,
        budget=AMPLE[gaussian],
        gaussian=gaussian,
        scales=((3.0,) if relation is ADD_REMOVE else ()) + (5.0,),
        size=size,
        margin=0.5,
        prediction=Prediction(1.0, 1.0, 0.0, 1.0, 1, 1.0, 1),
    )


def point_tables(kind: str = "plane") -> TinyTables:
    """Return tables of points, held as their projections."""
    return TinyTables(point_neighbours, points_of, lambda points: ProjectedPoints.of(points, projections(kind)))
