"""The plan of a halfspace release: its projections, its measurements with their noise, and its predicted errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Self

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.constraints import Number, constrain
from dpopt.errors import PlanError
from dpopt.files.json_files import json_object
from dpopt.private.measurements.halfspace_measurement import HalfspaceMeasurement, Sides
from dpopt.private.measurements.measurement import NumberOfRecords
from dpopt.queries.halfspaces.halfspaces import PointColumns, Projections
from dpopt.releases.plan import removed
from dpopt.synopses.histograms.counts_plan import RECORDS
from dpopt.synopses.synopsis import SynopsisPlan

LEAST_MARGIN = 1e-6
"""Errors of smaller margins are near 1, and beyond what floats hold."""
MARGIN = Number("the margin", least=LEAST_MARGIN, below=1)
REMOVED = {"measured": "sides", "heights": []}
"""Keys of earlier versions in a plan of sides. They could release arcs and bins of angles instead."""


@dataclass(frozen=True)
class Prediction:
    """The expected errors of queries whose margin is the planned one, in shares of records."""

    error: float
    """With probability 95 % all `queries` together are off by at most this, whatever the records: the sum of the next
    two."""
    bias: float
    """The part due to projections; for records that do not depend on them."""
    noise: float
    """The part due to noise."""
    typical: float
    """Root of the mean squared bias of a record at the worst margin; tables of many different records come below it."""
    queries: int
    direct: float
    """The error if each of these queries was counted with separate noise."""
    worth: int
    """From how many queries on that is more than `error`."""


@dataclass(frozen=True, eq=False)
class HalfspacePlan(SynopsisPlan):
    """The plan of a halfspace release's measurements."""

    columns: PointColumns
    dimension: int
    number: int
    directions: int
    """T, m and h; |U| = 2 h."""
    seed: int
    copies: int
    """Of the public projections."""
    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    scales: tuple[float, ...]
    """Of the noise: of the number of records first (add-remove only), then of sides."""
    size: Annotated[int, RECORDS]
    """The public number of records: n under replace-one, n0 under add-remove."""
    margin: Annotated[float, MARGIN]
    """gamma: for which margin the weights are made and errors are predicted; others can be asked for."""
    prediction: Prediction

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        expected = 1 + (self.relation is NeighbouringRelation.ADD_REMOVE)
        if len(self.scales) != expected:
            raise PlanError(f"found {len(self.scales)} scales for {expected} measurements")
        self.charges()

    @cached_property
    def projections(self) -> Projections:
        """The public projections."""
        return Projections.of(
            self.columns.dimension, self.dimension, self.number, self.directions, seed=self.seed, copies=self.copies
        )

    @property
    def expected_error(self) -> float:
        """The predicted error, as a share of the records."""
        return self.prediction.error

    @property
    def features(self) -> int:
        """How many halfspaces of R^d are known through their signed sums: m h."""
        return self.number * self.directions

    @property
    def numbers(self) -> list[int]:
        """How many numbers each measurement releases."""
        found = [1] if self.relation is NeighbouringRelation.ADD_REMOVE else []
        return [*found, self.features]

    def measurements(self) -> list[HalfspaceMeasurement]:
        """Return the measurements."""
        sides = Sides(self.scales[-1], self.gaussian)
        if self.relation is NeighbouringRelation.ADD_REMOVE:
            return [NumberOfRecords(self.scales[0], self.gaussian), sides]
        return [sides]

    def charges(self) -> list[Charge]:
        """Return the charge of each measurement."""
        return [one.charge(self.projections, self.relation) for one in self.measurements()]

    @property
    def records_scale(self) -> float:
        """Scale of the noise on the number of records; 0 where that is public."""
        return self.scales[0] if self.relation is NeighbouringRelation.ADD_REMOVE else 0.0

    @property
    def sums_scale(self) -> float:
        """Scale of the noise on each signed sum: records on the positive side less those on the other one."""
        doubled = self.relation is NeighbouringRelation.REPLACE_ONE
        return 2.0 * self.scales[-1] if doubled else self.scales[-1]

    @classmethod
    def from_json(cls, given: object) -> Self:
        """Read the output of `to_json`, also of an earlier version."""
        stated = json_object(given, "the plan", PlanError)
        if any(stated.get(key, usual) != usual for key, usual in REMOVED.items()):
            raise removed("a release of arcs or bins of angles", "sides, whose errors are no larger")
        return super().from_json({key: part for key, part in stated.items() if key not in REMOVED})

    def derived(self) -> dict[str, Any]:
        """Return the numbers that follow from the fields: of canonical directions, and of released values."""
        return {**super().derived(), "canonical_directions": 2 * self.directions, "numbers": self.numbers}
