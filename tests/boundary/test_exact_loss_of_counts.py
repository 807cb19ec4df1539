"""The exact privacy loss of noisy counts, over all pairs of neighbours, is what the ledger says at most, and reached.

A new kind of counts adds its measurements and its releases to `MEASURED` and `RELEASED`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import localcontext
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.measurements.bin_measurement import BinMeasurement, BinsInUse, GroupSums, SortedCounts
from dpopt.private.measurements.conjunction_measurement import ConjunctionCounts
from dpopt.private.measurements.halfspace_measurement import Arcs, Sides
from dpopt.private.measurements.measurement import NumberOfRecords
from dpopt.private.measurements.sanitizer_sums import CoefficientSums
from dpopt.queries.polynomial_families import FunctionFamily
from dpopt.queries.ranges.tree import Tree
from dpopt.synopses.halfspaces.halfspace_plan import ARCS, SIDES
from dpopt.synopses.histograms.grids.grid_plan import plan_grid
from dpopt.synopses.histograms.hierarchy_plan import plan_hierarchy
from dpopt.synopses.histograms.histogram_plan import plan_histogram
from dpopt.synopses.histograms.sorted.release_sorted import plan_sorted
from dpopt.synopses.summaries.summary_plan import plan_summary
from tests import exact_halfspace_loss as points
from tests import exact_summary_loss as summaries
from tests.exact_bin_loss import (
    BINS,
    NODES,
    bin_game,
    edge_neighbours,
    grid_game,
    histogram_game,
    record_neighbours,
    sorted_game,
)
from tests.exact_counts_loss import ROWS, CountingGame, check_game, laplace_cells
from tests.exact_distribution import exp_minus
from tests.exact_loss import DIGITS, as_decimal, hockey_stick
from tests.exact_sanitizer_loss import FAMILIES, UNIT, check_planned_loss, plan_of, sums_game
from tests.exact_summary_loss import UNIVERSES, summary_game, summary_release_game
from tests.tiny_runs import ADD_REMOVE, REPLACE

Measured = Callable[[NeighbouringRelation, float, bool], CountingGame]
RELATIONS = list(NeighbouringRelation)
GROUPS = np.array([0, -1, 0, 1, 1], dtype=np.int64)
ALL_OF_IT = {True: 0.999, False: 1 - 1e-12}
"""What is reached of a charge: pure epsilon but for its rounding, rho to a thousandth."""
NEARLY = {True: 0.99, False: 1 - 1e-12}
ANYTHING = {True: 0.0, False: 0.0}


def bins(make: Callable[[float, bool], BinMeasurement], *, graph: bool = False) -> Measured:
    return lambda relation, scale, gaussian: bin_game(make(scale, gaussian), relation, graph=graph)


def conjunctions(kind: str, size: int) -> Measured:
    return lambda relation, scale, gaussian: summary_game(
        UNIVERSES[kind], ConjunctionCounts(size, scale, gaussian), relation
    )


def sides_or_arcs(kind: str, make: Callable[[float, bool], Any]) -> Measured:
    return lambda relation, scale, gaussian: points.halfspace_game(kind, make(scale, gaussian), relation)


def arcs_of(height: int, scale: float, gaussian: bool) -> Arcs:
    return Arcs(scale, gaussian, height)


def sums_of(kind: str) -> Measured:
    return lambda relation, scale, gaussian: sums_game(
        FAMILIES[kind], CoefficientSums("sums", UNIT, scale, gaussian), relation
    )


def least_of(kind: str) -> dict[bool, float]:
    """Functions need not reach their bounds, and a table not those of its squares."""
    if isinstance(FAMILIES[kind], FunctionFamily):
        return ANYTHING
    return {**NEARLY, True: 0.0} if kind == "table" else NEARLY


MEASURED: dict[str, tuple[Measured, dict[bool, float]]] = {
    "sums of some bins": (
        bins(lambda scale, gaussian: GroupSums("x", scale, gaussian, GROUPS, 2)),
        ALL_OF_IT,
    ),
    "blocks": (
        bins(lambda scale, gaussian: GroupSums.blocks("x", scale, gaussian=gaussian, bins=BINS, height=1)),
        ALL_OF_IT,
    ),
    "sorted counts": (bins(lambda scale, gaussian: SortedCounts("x", scale, gaussian, BINS)), ALL_OF_IT),
    "the largest counts": (bins(lambda scale, gaussian: SortedCounts("x", scale, gaussian, 2)), ANYTHING),
    "bins in use": (bins(lambda scale, gaussian: BinsInUse("x", scale, gaussian)), ALL_OF_IT),
    "sorted degrees": (
        bins(lambda scale, gaussian: SortedCounts("x", scale, gaussian, NODES), graph=True),
        ALL_OF_IT,
    ),
    "the largest degrees": (
        bins(lambda scale, gaussian: SortedCounts("x", scale, gaussian, 3), graph=True),
        ANYTHING,
    ),
    "nodes in use": (bins(lambda scale, gaussian: BinsInUse("x", scale, gaussian), graph=True), ALL_OF_IT),
    # Over points on canonical directions, across them and in kernels: ties on every side.
    **{f"sides, {kind}": (sides_or_arcs(kind, Sides), ALL_OF_IT) for kind in ("plane", "line")},
    **{
        f"arcs, {height}": (
            sides_or_arcs("plane", partial(arcs_of, height)),
            ALL_OF_IT,
        )
        for height in (0, 1)
    },
    **{
        f"conjunctions of {size}, {kind}": (conjunctions(kind, size), ALL_OF_IT)
        for kind in UNIVERSES
        for size in (1, 2)
    },
    **{
        f"coefficients, {kind}": (sums_of(kind), least_of(kind))
        for kind in FAMILIES
        if not kind.startswith(("bits, sets", "bits, powers"))
    },
}
OF_ANY_SCALE = ("blocks", "sorted degrees", "nodes in use", "conjunctions of 2, bits")


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("measured", MEASURED)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_measurement_costs_what_is_charged_at_most_and_not_less(
    relation: NeighbouringRelation, measured: str, gaussian: bool
) -> None:
    game, least = MEASURED[measured]
    assert least[gaussian] < check_game(game(relation, 7.5, gaussian)) <= 1 + 1e-9


@pytest.mark.parametrize("scale", [0.3, 1.3, 50.0])
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("measured", OF_ANY_SCALE)
@pytest.mark.parametrize("relation", RELATIONS)
def test_noise_of_any_scale_keeps_to_its_charge(
    relation: NeighbouringRelation, measured: str, gaussian: bool, scale: float
) -> None:
    assert 0 < check_game(MEASURED[measured][0](relation, scale, gaussian)) <= 1 + 1e-9


@pytest.mark.parametrize("scale", [0.3, 1.3, 50.0])
@pytest.mark.parametrize("gaussian", [False, True])
def test_the_number_of_records_costs_what_is_charged(gaussian: bool, scale: float) -> None:
    share = check_game(points.halfspace_game("plane", NumberOfRecords(scale, gaussian), ADD_REMOVE))
    assert (0.9 if gaussian else 1 - 1e-9) < share <= 1 + 1e-9 or scale < 1


RELEASES = [
    *(pytest.param("points", measured, id=f"points-{measured}") for measured in (SIDES, ARCS)),
    *(pytest.param("conjunctions", kind, id=f"conjunctions-{kind}") for kind in UNIVERSES),
]


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(("family", "kind"), RELEASES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_whole_release_costs_what_is_charged_at_most_and_not_less(
    relation: NeighbouringRelation, family: str, kind: str, gaussian: bool
) -> None:
    """One record moves what is counted by as much as is charged for each measurement, at the same time."""
    if family == "points":
        plan = points.tiny_plan(relation, gaussian=gaussian, measured=kind)
        share = check_game(points.halfspace_release_game(plan))
    else:
        made = summaries.tiny_plan(UNIVERSES[kind], relation, gaussian=gaussian)
        share = check_game(summary_release_game(made))
    # Two records that differ in a move 3 single literals and 1 pair, two that share it move 2 single literals and 2 pairs.
    tight = kind != "mixed, positive" or relation is ADD_REMOVE
    assert (ALL_OF_IT[gaussian] if tight else 0.5) < share <= 1 + 1e-9


BUDGETS = {
    "pure": Budget(1.5, 0.0, None, Accountant.PURE),
    "rho": Budget(None, 1e-9, 0.1, Accountant.ZCDP),
}
HIERARCHIES: dict[str, list[Any]] = {
    "deep": [["a", "b"], [["c", "d"], "e"]],
    "a bin beside groups": ["a", ["b", "c", ["d", "e"]]],
}
Planned = Callable[[Budget, NeighbouringRelation], CountingGame]


def of_bins(game: Callable[[Any], CountingGame], plan: Callable[..., Any], what: Any, **more: Any) -> Planned:
    return lambda budget, relation: game(
        plan(what, budget, relation=relation, size=None if relation is ADD_REMOVE else ROWS, **more)
    )


def of_conjunctions(kind: str, predicate: str) -> Planned:
    literals = UNIVERSES[kind]
    return lambda budget, relation: summary_release_game(
        plan_summary(
            literals,
            len(literals.schema),
            budget,
            size=ROWS if relation is REPLACE else 1000,
            predicate=predicate,
            relation=relation,
        )
    )


def least_of_degrees(length: int | None) -> float:
    """Where the number of nodes is bought, whatever number comes out; nearly all where all nodes are released."""
    return 0.99 if length is not None and length >= NODES else 0.4


RELEASED: dict[str, tuple[Planned, float]] = {
    **{
        f"histogram, {ranges}": (of_bins(histogram_game, plan_histogram, BINS, ranges=ranges), 0.99)
        for ranges in ("all", "sizes:1,5", "worst")
    },
    **{
        f"hierarchy, {name}": (of_bins(histogram_game, plan_hierarchy, Tree.nested(nested)), 0.99)
        for name, nested in HIERARCHIES.items()
    },
    **{
        f"grid, {shapes}": (of_bins(grid_game, plan_grid, (2, 3), shapes=shapes), 0.99)
        for shapes in ("cubes", "rectangles")
    },
    **{
        f"degrees, {length}": (
            of_bins(sorted_game, plan_sorted, length, graph=True),
            least_of_degrees(length),
        )
        for length in (3, NODES, NODES + 3, None)
    },
    **{
        f"conjunctions, {kind}, {predicate}": (of_conjunctions(kind, predicate), 0.99)
        for kind in ("mixed", "bits")
        for predicate in ("and", "or", "atleast:2")
    },
}


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("released", RELEASED)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_release_as_it_is_planned_costs_its_budget_at_most_and_not_less(
    relation: NeighbouringRelation, released: str, budget: str
) -> None:
    game, least = RELEASED[released]
    assert least < check_game(game(BUDGETS[budget], relation)) <= 1 + 1e-9


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(
    "kind", ["bits, positive, sets", "bits, sets", "mixed, powers", "table", "function, huge"]
)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_polynomial_as_it_is_planned_costs_its_budget_at_most_and_not_less(
    relation: NeighbouringRelation, kind: str, gaussian: bool
) -> None:
    plan = plan_of(FAMILIES[kind], relation, gaussian=gaussian)
    assert 0.99 < check_planned_loss(plan) <= 1 + 1e-9


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("kind", ["bits, positive, powers", "mixed, sets"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_noise_as_the_paper_prints_it_costs_what_is_charged_which_is_less(
    relation: NeighbouringRelation, kind: str, gaussian: bool
) -> None:
    crude, exact = (
        plan_of(FAMILIES[kind], relation, gaussian=gaussian, sensitivity=how) for how in ("crude", "exact")
    )
    assert 0.99 < check_planned_loss(crude) <= 1 + 1e-9
    assert crude.charges()[0].parameter < exact.charges()[0].parameter


def test_the_neighbours_are_those_of_one_record_and_of_one_edge() -> None:
    """A record moves one bin by 1, an edge two nodes; a replaced one twice as many at most, and as many for some."""

    def moves(pairs: Iterable[tuple[tuple[int, ...], tuple[int, ...]]]) -> set[int]:
        return {sum(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in pairs}

    assert moves(record_neighbours(ADD_REMOVE)) == {1}
    assert moves(record_neighbours(REPLACE)) == {2}
    assert moves(edge_neighbours(ADD_REMOVE)) == {2}
    assert moves(edge_neighbours(REPLACE)) == {2, 4}
    assert ((0, 0, 0, 0, 0), (0, 0, 0, 1, 1)) in edge_neighbours(ADD_REMOVE)


@pytest.mark.parametrize(
    "pairs", [partial(summaries.table_neighbours, UNIVERSES["mixed"].schema), points.point_neighbours]
)
def test_neighbours_differ_in_one_record(pairs: Callable[[NeighbouringRelation], Any]) -> None:
    assert {(len(one), len(two)) for one, two in pairs(ADD_REMOVE)} == {(1, 2), (2, 3)}
    assert {(len(one), len(two)) for one, two in pairs(REPLACE)} == {(3, 3)}
    assert len(pairs(REPLACE)) == 21 * 15


@pytest.mark.parametrize(("one", "two"), [(0, 1), (3, 1), (0, 4)])
def test_cells_lose_nothing_of_a_discrete_laplace_distribution(one: int, two: int) -> None:
    """The smallest deltas over the cells are those over all values from -150 to 150, beyond which lies less than 1e-40."""
    scale, ratio = 1.5, exp_minus(1 / Fraction(1.5))
    low, high = min(one, two), max(one, two)

    def distribution(centre: int) -> list[Fraction]:
        return [(1 - ratio) / (1 + ratio) * ratio ** abs(value - centre) for value in range(-150, 151)]

    found = []
    for distributions in (
        [distribution(one), distribution(two)],
        [laplace_cells(centre, scale, low, high) for centre in (one, two)],
    ):
        with localcontext(DIGITS):
            left, right = ([as_decimal(share) for share in shares] for shares in distributions)
            ratios = [p / q for p, q in zip(left, right, strict=True)]
            growths = [as_decimal(Fraction(growth, 8)) for growth in range(8, 60, 7)]
            found.append([hockey_stick(left, right, ratios, growth) for growth in growths])
    for everywhere, in_cells in zip(*found, strict=True):
        for a, b in zip(everywhere, in_cells, strict=True):
            assert abs(a - b) < 1e-40
