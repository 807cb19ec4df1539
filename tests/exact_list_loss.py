"""Tiny families of decision lists, and the games of what is released of them."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import combinations

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.measurements.conjunction_measurement import ListCounts, ListTable
from dpopt.queries.decision_lists.coefficients import ListCoefficients
from dpopt.queries.decision_lists.families import ListFamily
from dpopt.synopses.decision_lists.list_plan import ListPlan
from dpopt.synopses.decision_lists.release_lists import release_lists
from tests.exact_counts_loss import AMPLE, CountingGame, measurement_game, release_game
from tests.tiny_lists import Row, family_of, private, random_coefficients, rows_of
from tests.tiny_runs import ADD_REMOVE

ROWS = 2
"""Under replace-one; add-remove has one more or less."""
FAMILIES: dict[str, ListFamily] = {
    "lists": family_of(2, 2),
    "one change": family_of(2, 2, "lists", 1),
    "disjunctions": family_of(4, 2, "disjunctions"),
    "conjunctions": family_of(4, 2, "conjunctions"),
}
Table = tuple[Row, ...]


@lru_cache
def coefficients_of(kind: str) -> ListCoefficients:
    """Return small ones, under which a row counts several units in conjunctions of each size."""
    return random_coefficients(FAMILIES[kind], 2, 1, bits=1, largest=2)


def tiny_plan(
    kind: str,
    relation: NeighbouringRelation,
    *,
    gaussian: bool,
    scales: tuple[float, ...] = (8.0, 8.0, 8.0),
) -> ListPlan:
    """Return a plan within an ample budget."""
    return ListPlan(
        coefficients=coefficients_of(kind),
        relation=relation,
        budget=AMPLE[gaussian],
        gaussian=gaussian,
        sizes=(0, 1, 2),
        scales=scales,
        size=ROWS,
        points=1,
    )


def list_neighbours(family: ListFamily, relation: NeighbouringRelation) -> list[tuple[Table, Table]]:
    """Return a row beside each other one, and each with another one in its place."""
    rows = rows_of(family)
    first = rows[len(rows) // 2]
    if relation is ADD_REMOVE:
        return [((first,), (first, row)) for row in rows]
    return [((first, one), (first, other)) for one, other in combinations(rows, 2)]


def list_game(kind: str, what: ListCounts, relation: NeighbouringRelation) -> CountingGame:
    """Return the game of one measurement by the curator alone; the largest losses of many are looked at."""
    coefficients = coefficients_of(kind)
    family = coefficients.family

    def hold(table: Table) -> ListTable:
        return ListTable.of(private(family, table), coefficients)

    return replace(measurement_game(list_neighbours(family, relation), hold, what, relation), most=4)


def list_release_game(plan: ListPlan) -> CountingGame:
    """Return the game of a whole release."""
    game = release_game(
        list_neighbours(plan.family, plan.relation),
        lambda table, noise: release_lists(private(plan.family, table), plan, noise=noise),
    )
    return replace(game, most=4)
