"""Tiny tables and literals, and what conjunctions count there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache, partial
from itertools import combinations

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.measurements.conjunction_measurement import ConjunctionTable
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.synopses.summaries.summary_plan import SummaryPlan
from tests.exact_counts_loss import AMPLE, ROWS, TinyTables, neighbours_of
from tests.tiny_runs import Record, Table, bits_schema, dataset_of, universe

MIXED = Schema((Attribute("a", AttributeKind.BOOLEAN), Attribute("b", AttributeKind.CATEGORICAL, ("x", "y", "z"))))
UNIVERSES: dict[str, ChosenLiterals] = {
    "mixed": ChosenLiterals.of(MIXED, None, "all"),
    "mixed, positive": ChosenLiterals.of(MIXED, None, "positive"),
    "bits": ChosenLiterals.of(bits_schema(3), None, "all"),
    "bits, positive": ChosenLiterals.of(bits_schema(3), None, "positive"),
}


def tiny_plan(
    literals: ChosenLiterals,
    relation: NeighbouringRelation,
    *,
    gaussian: bool,
    sizes: tuple[int, ...] | None = None,
    size: int = ROWS,
    width: int | None = None,
    scales: tuple[float, ...] = (4.0, 6.0, 9.0),
) -> SummaryPlan:
    """Return a plan within an ample budget, of all sizes unless some are named."""
    width = len(literals.schema) if width is None else width
    sizes = tuple(range(1, width + 1)) if sizes is None else sizes
    return SummaryPlan(
        literals=literals,
        width=width,
        predicate="and",
        relation=relation,
        budget=AMPLE[gaussian],
        gaussian=gaussian,
        sizes=sizes,
        scales=scales[: len(sizes)],
        size=size,
        predicted=1.0,
        approximation=0.0,
        direct=1.0,
    )


def held_literals(literals: ChosenLiterals, record: Record) -> list[int]:
    """Return the numbers of the literals that a record satisfies, counted one by one."""
    numbered = [(at, code) for at, codes in enumerate(literals.codes) for code in codes]
    return [number for number, (at, code) in enumerate(numbered) if record[at] == code]


def counted(literals: ChosenLiterals, table: Iterable[Record], size: int) -> list[int]:
    """Return how many records satisfy each conjunction, in lexicographic order, by enumeration."""
    groups = literals.groups
    every = [
        one
        for one in combinations(range(groups.literals), size)
        if len({int(groups.group[number]) for number in one}) == size
    ]
    found = Counter(one for record in table for one in combinations(held_literals(literals, record), size))
    return [found[one] for one in every]


@lru_cache(maxsize=16)
def table_neighbours(schema: Schema, relation: NeighbouringRelation) -> list[tuple[Table, Table]]:
    return neighbours_of(universe(schema), relation)


def literal_tables(literals: ChosenLiterals) -> TinyTables:
    """Return all tables of the literals' schema, held for counts of conjunctions."""
    schema = literals.schema
    return TinyTables(
        partial(table_neighbours, schema),
        partial(dataset_of, schema),
        lambda dataset: ConjunctionTable.of(dataset, literals),
    )
