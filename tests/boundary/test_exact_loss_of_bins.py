"""The exact privacy loss of histograms and sorted counts, over all pairs of neighbours, is what the ledger says at most."""

from __future__ import annotations

from collections.abc import Callable
from decimal import localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.measurements.bin_measurement import BinMeasurement, BinsInUse, GroupSums, SortedCounts
from dpopt.queries.ranges.tree import Tree
from dpopt.synopses.histograms.grids.grid_plan import plan_grid
from dpopt.synopses.histograms.hierarchy_plan import plan_hierarchy
from dpopt.synopses.histograms.histogram_plan import plan_histogram
from dpopt.synopses.histograms.sorted.release_sorted import plan_sorted
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
from tests.exact_counts_loss import ROWS, check_game, laplace_cells
from tests.exact_distribution import exp_minus
from tests.exact_loss import DIGITS, as_decimal, hockey_stick
from tests.tiny_runs import ADD_REMOVE, REPLACE

RELATIONS = list(NeighbouringRelation)
GROUPS = np.array([0, -1, 0, 1, 1], dtype=np.int64)
MEASURED: dict[str, tuple[bool, Callable[[float, bool], BinMeasurement]]] = {
    "sums of some bins": (False, lambda scale, gaussian: GroupSums("x", scale, gaussian, GROUPS, 2)),
    "blocks": (
        False,
        lambda scale, gaussian: GroupSums.blocks("x", scale, gaussian=gaussian, bins=BINS, height=1),
    ),
    "sorted counts": (False, lambda scale, gaussian: SortedCounts("x", scale, gaussian, BINS)),
    "the largest counts": (False, lambda scale, gaussian: SortedCounts("x", scale, gaussian, 2)),
    "bins in use": (False, lambda scale, gaussian: BinsInUse("x", scale, gaussian)),
    "sorted degrees": (True, lambda scale, gaussian: SortedCounts("x", scale, gaussian, NODES)),
    "the largest degrees": (True, lambda scale, gaussian: SortedCounts("x", scale, gaussian, 3)),
    "nodes in use": (True, lambda scale, gaussian: BinsInUse("x", scale, gaussian)),
}
TIGHT = set(MEASURED) - {"the largest counts", "the largest degrees"}


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("measured", MEASURED)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_measurement_costs_what_is_charged_at_most_and_not_less(
    relation: NeighbouringRelation, measured: str, gaussian: bool
) -> None:
    """Pure epsilon is reached by some neighbours but for the rounding of the charge, rho to a thousandth."""
    graph, make = MEASURED[measured]
    share = check_game(bin_game(make(7.5, gaussian), relation, graph=graph))
    assert share <= 1 + 1e-9
    if measured in TIGHT:
        assert share > (0.999 if gaussian else 1 - 1e-12)


@pytest.mark.parametrize("scale", [0.3, 1.3, 50.0])
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("measured", ["blocks", "sorted degrees", "nodes in use"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_noise_of_any_scale_keeps_to_its_charge(
    relation: NeighbouringRelation, measured: str, gaussian: bool, scale: float
) -> None:
    graph, make = MEASURED[measured]
    check_game(bin_game(make(scale, gaussian), relation, graph=graph))


BUDGETS = {
    "pure": Budget(1.5, 0.0, None, Accountant.PURE),
    "rho": Budget(None, 1e-9, 0.1, Accountant.ZCDP),
}


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("ranges", ["all", "sizes:1,5", "worst"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_histogram_as_it_is_planned_costs_its_budget_at_most_and_not_less(
    relation: NeighbouringRelation, ranges: str, budget: str
) -> None:
    size = None if relation is ADD_REMOVE else ROWS
    plan = plan_histogram(BINS, BUDGETS[budget], ranges=ranges, relation=relation, size=size)
    assert 0.99 < check_game(histogram_game(plan)) <= 1 + 1e-9


HIERARCHIES: dict[str, list[Any]] = {
    "deep": [["a", "b"], [["c", "d"], "e"]],
    "a bin beside groups": ["a", ["b", "c", ["d", "e"]]],
}


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("hierarchy", HIERARCHIES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_histogram_over_a_hierarchy_costs_its_budget_at_most_and_not_less(
    relation: NeighbouringRelation, hierarchy: str, budget: str
) -> None:
    size = None if relation is ADD_REMOVE else ROWS
    tree = Tree.nested(HIERARCHIES[hierarchy])
    plan = plan_hierarchy(tree, BUDGETS[budget], relation=relation, size=size)
    assert 0.99 < check_game(histogram_game(plan)) <= 1 + 1e-9


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("shapes", ["cubes", "rectangles"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_histogram_of_two_columns_costs_its_budget_at_most_and_not_less(
    relation: NeighbouringRelation, shapes: str, budget: str
) -> None:
    size = None if relation is ADD_REMOVE else ROWS
    plan = plan_grid((2, 3), BUDGETS[budget], shapes=shapes, relation=relation, size=size)
    assert 0.99 < check_game(grid_game(plan)) <= 1 + 1e-9


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("length", [3, NODES, NODES + 3, None])
@pytest.mark.parametrize("relation", RELATIONS)
def test_degrees_as_they_are_planned_cost_their_budget_at_most(
    relation: NeighbouringRelation, length: int | None, budget: str
) -> None:
    """Where the number of nodes is bought, whatever number comes out; nearly all is reached where all nodes are released."""
    size = None if relation is ADD_REMOVE else ROWS
    plan = plan_sorted(length, BUDGETS[budget], graph=True, relation=relation, size=size)
    share = check_game(sorted_game(plan))
    assert (0.99 if length is not None and length >= NODES else 0.4) < share <= 1 + 1e-9


def test_the_neighbours_are_those_of_one_record_and_of_one_edge() -> None:
    """A record moves one bin by 1, an edge two nodes; a replaced one twice as many at most, and as many for some."""

    def moves(pairs: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> set[int]:
        return {sum(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in pairs}

    assert moves(record_neighbours(ADD_REMOVE)) == {1}
    assert moves(record_neighbours(REPLACE)) == {2}
    assert moves(edge_neighbours(ADD_REMOVE)) == {2}
    assert moves(edge_neighbours(REPLACE)) == {2, 4}
    assert ((0, 0, 0, 0, 0), (0, 0, 0, 1, 1)) in edge_neighbours(ADD_REMOVE)


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
            found.append(
                [
                    hockey_stick(left, right, ratios, as_decimal(Fraction(growth, 8)))
                    for growth in range(8, 60, 7)
                ]
            )
    for everywhere, in_cells in zip(*found, strict=True):
        for a, b in zip(everywhere, in_cells, strict=True):
            assert abs(a - b) < 1e-40
