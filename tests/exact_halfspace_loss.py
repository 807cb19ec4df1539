"""The exact privacy loss of sides and arcs of projected points, over all neighbours of tiny universes, ties among them.

The real curator, and the real driver, play with noise that notes the exact counts, the law and the scale of each draw
(`tests/exact_summary_loss.py`, whose laws these are).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, combinations_with_replacement
from unittest import mock

import numpy as np

from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.arrays import freeze
from dpopt.private.curators.halfspace_curator import HalfspaceCurator
from dpopt.private.measurements.halfspace_measurement import HalfspaceMeasurement
from dpopt.private.readers.read_numbers import HalfspacePoints
from dpopt.queries.halfspaces.halfspaces import DIRECTION_UNIT, PointColumns, Projections, Scaling
from dpopt.synopses.halfspaces.halfspace_plan import ARCS, SIDES, HalfspacePlan, Prediction
from dpopt.synopses.halfspaces.release_halfspaces import release_halfspaces
from tests.exact_bin_loss import AMPLE, Drawn, Watching, stated
from tests.exact_summary_loss import _concentrated_share, _pure_share, moves_between
from tests.tiny_runs import ADD_REMOVE, EventJournal

ROWS = 3
"""Records under replace-one; add-remove has one to three."""
COLUMNS = PointColumns(("x", "y"), Scaling.NORMALISE)
Point = tuple[int, int]
Table = tuple[Point, ...]
UNIVERSE: tuple[Point, ...] = ((1, 0), (0, 1), (-1, 0), (1, 1), (-1, -1), (2, -3))
"""Points on canonical directions, across them, on the kernel of a projection, and their antipodes."""


def integers(values: object) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return freeze(np.array(values, dtype=np.int64))


_AXES = [[1, 0], [0, 1]]
_PROJECTIONS: dict[str, Projections] = {
    "plane": Projections(
        integers([_AXES, [[1, 1], [1, 1]]]),
        integers([[DIRECTION_UNIT, 0], [0, DIRECTION_UNIT]]),
    ),
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
        sum(
            int(u[t]) * sum(int(a) * x for a, x in zip(row, point, strict=True))
            for t, row in enumerate(matrix)
        )
        > 0
        for matrix in found.matrices.tolist()
        for u in found.directions.tolist()
    ]


@lru_cache
def table_neighbours(relation: NeighbouringRelation) -> list[tuple[Table, Table]]:
    """Return neighbouring tables: of 1 to 3 records, or of 3 under replace-one."""

    def with_one_more(table: Table, record: Point) -> Table:
        return tuple(sorted((*table, record)))

    if relation is ADD_REMOVE:
        return [
            (table, with_one_more(table, record))
            for rows in range(1, ROWS)
            for table in combinations_with_replacement(sorted(UNIVERSE), rows)
            for record in UNIVERSE
        ]
    return [
        (with_one_more(table, one), with_one_more(table, other))
        for table in combinations_with_replacement(sorted(UNIVERSE), ROWS - 1)
        for one, other in combinations(UNIVERSE, 2)
    ]


Play = Callable[[HalfspacePoints, Watching], Sequence[Charge]]


@dataclass(frozen=True)
class HalfspaceGame:
    """A measurement or a whole release, small enough to enumerate."""

    relation: NeighbouringRelation
    play: Play

    def played(self, table: Table) -> tuple[tuple[Drawn, ...], tuple[Charge, ...]]:
        noise = Watching()
        # The laws are the real ones, so that the claim of this noise to be private is taken.
        with mock.patch("dpopt.private.curators.halfspace_curator.is_trusted", return_value=True):
            charges = tuple(self.play(points_of(table), noise))
        assert len(noise.drawn) == len(charges), (
            f"drawn {len(noise.drawn)} times, charged {len(charges)} times"
        )
        for drawn, charge in zip(noise.drawn, charges, strict=True):
            assert f"discrete {drawn.law} noise" in charge.mechanism, (
                f"{drawn.law} noise for {charge.mechanism}"
            )
        return tuple(noise.drawn), charges


def measurement_game(kind: str, what: HalfspaceMeasurement, relation: NeighbouringRelation) -> HalfspaceGame:
    """Return the game of one measurement by the curator alone."""

    def play(points: HalfspacePoints, noise: Watching) -> Sequence[Charge]:
        ledger = Ledger(AMPLE[what.gaussian], relation)
        ledger.reserve([what.charge(projections(kind), relation)])
        curator = HalfspaceCurator(
            points, projections(kind), ledger, EventJournal([]), size=ROWS, noise=noise
        )
        curator.measure(what)
        return ledger.entries

    return HalfspaceGame(relation, play)


def release_game(plan: HalfspacePlan) -> HalfspaceGame:
    """Return the game of a whole release."""

    def play(points: HalfspacePoints, noise: Watching) -> Sequence[Charge]:
        return stated(release_halfspaces(points, plan, noise=noise).privacy)

    return HalfspaceGame(plan.relation, play)


def tiny_plan(
    relation: NeighbouringRelation, *, gaussian: bool, measured: str = SIDES, size: int = ROWS
) -> HalfspacePlan:
    """Return a plan within an ample budget: two projections to the plane, two directions each."""
    heights = (0, 1) if measured == ARCS else ()
    return HalfspacePlan(
        columns=COLUMNS,
        dimension=2,
        number=2,
        directions=2,
        seed=3,
        copies=1,
        measured=measured,
        heights=heights,
        relation=relation,
        budget=AMPLE[gaussian],
        gaussian=gaussian,
        scales=((3.0,) if relation is ADD_REMOVE else ()) + (5.0, 7.0)[: max(1, len(heights))],
        size=size,
        margin=0.5,
        prediction=Prediction(1.0, 1.0, 0.0, 1.0, 1, 1.0, 1),
    )


def check_halfspace_game(game: HalfspaceGame) -> float:
    """Check all neighbours; return the largest share of the charged parameter that a pair uses up."""
    pairs = table_neighbours(game.relation)
    known = {table: game.played(table) for table in sorted({one for pair in pairs for one in pair})}
    (charges,) = {charged for _, charged in known.values()}
    shapes = {
        tuple((draw.law, len(draw.counts), draw.scale) for draw in drawn) for drawn, _ in known.values()
    }
    assert len(shapes) == 1, f"shape of the draws: {shapes}"
    moves = {moves_between(known[one][0], known[two][0]) for one, two in pairs}
    if all(charge.kind is ChargeKind.PURE for charge in charges):
        return max(_pure_share(charges, one) for one in moves)
    return max(_concentrated_share(charges, one) for one in moves)
