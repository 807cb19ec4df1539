"""Neighbouring histograms and graphs of tiny universes, and the games of what is released of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from itertools import combinations, combinations_with_replacement
from math import prod

import numpy as np

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.measurements.bin_measurement import BinMeasurement
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.synopses.histograms.grids.grid_plan import GridPlan
from dpopt.synopses.histograms.grids.release_grid import release_grid
from dpopt.synopses.histograms.release_histogram import release_histogram
from dpopt.synopses.histograms.sorted.release_sorted import SortedPlan, release_sorted
from dpopt.synopses.histograms.tree_plan import TreePlan
from tests.exact_counts_loss import ROWS, CountingGame, measurement_game, release_game
from tests.tiny_runs import ADD_REMOVE

BINS = NODES = 5
EDGES = 4
Counts = tuple[int, ...]
Pair = tuple[Counts, Counts]


def bin_game(what: BinMeasurement, relation: NeighbouringRelation, *, graph: bool) -> CountingGame:
    """Return the game of one measurement by the curator alone."""
    pairs = edge_neighbours(relation) if graph else record_neighbours(relation)
    return measurement_game(pairs, partial(bin_counts, graph=graph), what, relation)


def histogram_game(plan: TreePlan) -> CountingGame:
    """Return the game of a whole release of a histogram."""
    return release_game(
        record_neighbours(plan.relation, plan.bins),
        lambda counts, noise: release_histogram(bin_counts(counts, graph=False), plan, noise=noise),
    )


def grid_game(plan: GridPlan) -> CountingGame:
    """Return the game of a whole release of a histogram of several columns."""
    return release_game(
        record_neighbours(plan.relation, prod(plan.shape)),
        lambda counts, noise: release_grid(bin_counts(counts, graph=False), plan, noise=noise),
    )


def sorted_game(plan: SortedPlan) -> CountingGame:
    """Return the game of a whole release of sorted counts, or of degrees."""
    graph = plan.bins_of_a_record == 2
    return release_game(
        edge_neighbours(plan.relation) if graph else record_neighbours(plan.relation),
        lambda counts, noise: release_sorted(bin_counts(counts, graph=graph), plan, noise=noise),
        first=NODES if plan.length is None else None,
    )


def bin_counts(counts: Counts, *, graph: bool) -> BinCounts:
    given = np.array(counts, dtype=np.int64)
    return BinCounts.of_degrees(given, int(given.sum()) // 2) if graph else BinCounts.from_counts(given)


@lru_cache(maxsize=4)
def record_neighbours(relation: NeighbouringRelation, bins: int = BINS) -> list[Pair]:
    """Return neighbouring tables as counts of bins: of 0 to 3 records, or of 3 under replace-one."""

    def counts(records: Iterable[int]) -> Counts:
        return tuple(np.bincount(np.array(tuple(records), dtype=np.int64), minlength=bins).tolist())

    def tables(rows: int) -> Iterator[tuple[int, ...]]:
        return combinations_with_replacement(range(bins), rows)

    if relation is ADD_REMOVE:
        found = {
            (counts(t), counts((*t, b))) for rows in range(ROWS) for t in tables(rows) for b in range(bins)
        }
    else:
        moves = list(combinations(range(bins), 2))
        found = {(counts((*t, a)), counts((*t, b))) for t in tables(ROWS - 1) for a, b in moves}
    return sorted(found)


@lru_cache(maxsize=4)
def edge_neighbours(relation: NeighbouringRelation) -> list[Pair]:
    """Return neighbouring graphs of up to four edges as degrees of five nodes, each pair once up to the names of nodes."""
    edges = list(combinations(range(NODES), 2))
    found = set()
    for number in range(EDGES):
        for graph in combinations(edges, number):
            common = np.bincount(np.array(graph, dtype=np.int64).reshape(-1), minlength=NODES)
            ends = [np.bincount(edge, minlength=NODES) for edge in edges if edge not in graph]
            if relation is ADD_REMOVE:
                pairs = [(common, common + one) for one in ends]
            elif number == ROWS - 1:
                pairs = [(common + one, common + other) for one, other in combinations(ends, 2)]
            else:
                pairs = []
            found |= {tuple(sorted(zip(a.tolist(), b.tolist(), strict=True))) for a, b in pairs}
    return [(tuple(a for a, _ in nodes), tuple(b for _, b in nodes)) for nodes in sorted(found)]
