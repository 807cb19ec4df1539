"""Tiny tables, selections and measurements, and the exact distributions of what a measuring curator releases of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.curators.measuring_curator import MeasuringCurator
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.selections.selection import Selection
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.noises import NoNoise
from tests.tiny_runs import ADD_REMOVE, EventJournal, Record, Table, dataset_of, trusted, universe

SCHEMA = Schema((Attribute("a", AttributeKind.BOOLEAN), Attribute("b", AttributeKind.CATEGORICAL, ("x", "y", "z"))))
RECORDS = np.array([[0, 0], [1, 2], [0, 1]], dtype=np.int32)
MULTIPLICITY = np.array([2, 1, 2], dtype=np.int64)
RHO = Budget(None, 1e-9, 1e9, Accountant.ZCDP)


def marginals(*attributes: Sequence[int], schema: Schema = SCHEMA, domains: Domains | None = None) -> MarginalSet:
    """Return marginals over these attributes, over all codes unless domains are given."""
    width = max(map(len, attributes))
    padded = [[*row, *[-1] * (width - len(row))] for row in attributes]
    return MarginalSet(domains or Domains.of(schema, occurring=False), np.array(padded, dtype=np.int32))


def selection(
    score: str = "l1",
    *,
    range_: str = "1.5",
    penalties: Sequence[int] = (0, 1, -1),
    number: int = 1,
    candidates: MarginalSet | None = None,
) -> Selection:
    """Return a selection among a, b, and a with b."""
    return Selection(
        number, candidates or marginals([0], [1], [0, 1]), score, np.array(penalties, dtype=np.int64), Decimal(range_)
    )


@dataclass
class Measuring:
    """A measuring curator whose plan is reserved, and the events around it, in order."""

    table: Table
    charges: Sequence[Charge]
    relation: NeighbouringRelation = ADD_REMOVE
    size: int = 2
    chosen: int = 0
    events: list[str] = field(default_factory=list)
    weights: list[list[int]] = field(default_factory=list)
    schema: Schema = SCHEMA

    def __post_init__(self) -> None:
        self.noise = NoNoise(self.events)
        self.journal = EventJournal(self.events)
        self.ledger = Ledger(RHO, self.relation)
        self.ledger.reserve(self.charges)
        spend = self.ledger.spend
        self._spend = spend
        with mock.patch("dpopt.private.curators.door.is_trusted", trusted):
            self.curator = MeasuringCurator(
                dataset_of(self.schema, self.table), self.ledger, self.journal, size=self.size, noise=self.noise
            )

    def drawing(self) -> AbstractContextManager[object]:
        """Keep the weights of selections, and draw the chosen candidate whatever they are."""

        def draw(weights: Sequence[int], words: object) -> int:
            self.events.append("draw")
            self.weights.append(list(weights))
            return self.chosen

        return mock.patch("dpopt.private.curators.measuring_curator.draw_candidate", draw)

    def select(
        self, what: Selection, records: NDArray[np.int32] = RECORDS, multiplicity: NDArray[np.int64] = MULTIPLICITY
    ) -> list[Fraction]:
        """Select, and return the probability of each candidate."""
        with self.drawing():
            self.curator.select(what, records, multiplicity)
        return [Fraction(weight, sum(self.weights[-1])) for weight in self.weights[-1]]


def tables(schema: Schema, rows: int) -> list[Table]:
    """Return every table of so many records, order left aside."""
    return list(combinations_with_replacement(universe(schema), rows))


def neighbours(
    relation: NeighbouringRelation, rows: Sequence[int], schema: Schema = SCHEMA
) -> list[tuple[Table, Table]]:
    """Return pairs of neighbouring tables; under replace-one every pair twice, under add-remove the shorter one first."""
    everyone: list[Record] = universe(schema)
    if relation is ADD_REMOVE:
        return [(table, (*table, record)) for number in rows for table in tables(schema, number) for record in everyone]
    return [
        ((*table, one), (*table, two))
        for number in rows
        for table in tables(schema, number - 1)
        for one in everyone
        for two in everyone
        if one != two
    ]


def distinct_pairs(relation: NeighbouringRelation, size: int, schema: Schema = SCHEMA) -> list[tuple[Table, Table]]:
    """Return each pair of neighbours once: of the public size, or of one record less to one more."""
    return pairs_of(relation, [size - 1, size] if relation is ADD_REMOVE else [size], schema)


def pairs_of(relation: NeighbouringRelation, rows: Sequence[int], schema: Schema) -> list[tuple[Table, Table]]:
    """Return each pair of neighbours once: of so many records, or under add-remove of so many and one more."""
    found = neighbours(relation, rows, schema)
    ordered = ((tuple(sorted(one)), tuple(sorted(two))) for one, two in found)
    return sorted({(min(pair), max(pair)) for pair in ordered})


Distribution = Callable[[Table], list[Fraction]]


def distribution_of_selection(what: Selection, relation: NeighbouringRelation, size: int) -> Distribution:
    """Return the distribution of a selection as a function of the table, each table's computed once."""
    known: dict[Table, list[Fraction]] = {}

    def distribution(table: Table) -> list[Fraction]:
        key = tuple(sorted(table))
        if key not in known:
            known[key] = Measuring(key, [what.charge(relation)], relation, size).select(what)
        return known[key]

    return distribution


def measured_counts(
    what: Measurement, table: Table, relation: NeighbouringRelation, size: int, schema: Schema = SCHEMA
) -> tuple[NDArray[np.int64], float]:
    """Return the counts to which the curator adds noise, and the scale of the noise."""
    run = Measuring(table, [what.charge(schema.sizes, relation)], relation, size, schema=schema)
    run.curator.measure(what)
    return np.concatenate(run.noise.counts), run.noise.scales[0]
