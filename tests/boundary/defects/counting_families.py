"""What the defects of `counting.py` are tried on: one `Family` for each kind of noisy counts; a new kind adds a row.

A family says with what games its losses are computed, which of them reach their charges, by which releases the order of events
is watched, and what is asked of a curator that was paid for something else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.curators.counting_curator import Counted
from dpopt.private.measurements.bin_measurement import BinsInUse, GroupSums, SortedCounts
from dpopt.private.measurements.conjunction_measurement import (
    ConjunctionCounts,
    ConjunctionTable,
    ListCounts,
    ListTable,
)
from dpopt.private.measurements.halfspace_measurement import Arcs, ProjectedPoints, Sides
from dpopt.private.measurements.sanitizer_sums import CoefficientSums, CoefficientTable
from dpopt.private.tables.closed import Closed
from dpopt.queries.polynomial_families import PolynomialFamily
from dpopt.synopses.decision_lists.release_lists import release_lists
from dpopt.synopses.halfspaces.halfspace_plan import ARCS, SIDES
from dpopt.synopses.halfspaces.release_halfspaces import release_halfspaces
from dpopt.synopses.histograms.grids.grid_plan import GridPlan
from dpopt.synopses.histograms.grids.release_grid import release_grid
from dpopt.synopses.histograms.histogram_plan import HistogramPlan
from dpopt.synopses.histograms.release_histogram import release_histogram
from dpopt.synopses.histograms.sorted.release_sorted import SortedPlan, release_sorted
from dpopt.synopses.sanitizers.release_sanitizer import release_sanitizer
from dpopt.synopses.summaries.release_summary import release_summary
from tests import exact_halfspace_loss as points
from tests import exact_list_loss as lists
from tests import exact_sanitizer_loss as sanitizers
from tests import exact_summary_loss as summaries
from tests.exact_bin_loss import BINS, NODES, bin_counts, bin_game, grid_game, histogram_game, sorted_game
from tests.exact_counts_loss import AMPLE, ROWS, CountingGame
from tests.tiny_lists import private, rows_of
from tests.tiny_runs import ADD_REMOVE, Table, bits_schema, dataset_of

NOISES = (False, True)
SCALE = 7.5
Games = Mapping[str, CountingGame]
Release = Callable[..., object]


@dataclass(frozen=True)
class Asked:
    """What is measured once, its like with other noise, something else, and the records that hold it."""

    held: Closed
    what: Counted
    again: Counted
    other: Counted


@dataclass(frozen=True)
class Family:
    """One kind of noisy counts.

    Attributes
    ----------
    measured, released : callable
        Given the relation and whether noise is Gaussian, the games of single measurements and of whole releases.
    tight : mapping
        The games in which some neighbours use up the whole charge, with the share that is reached; under pure epsilon all but
        its rounding, and with Gaussian noise `rho` of it, where it is None.
    runs : callable
        Releases, given noise, and how often each draws.
    journal : tuple of str
        The drivers, whose journals are watched.
    asked : callable
        What is asked of a curator; it costs nothing if the ledger has other reservations.
    """

    measured: Callable[[NeighbouringRelation, bool], Games]
    released: Callable[[NeighbouringRelation, bool], Games]
    tight: Mapping[str, float | None]
    runs: Callable[[NeighbouringRelation, bool], Sequence[tuple[Release, int]]]
    journal: tuple[str, ...]
    asked: Callable[[bool], Sequence[Asked]]
    rho: float = 0.999

    def games(self, relation: NeighbouringRelation, gaussian: bool) -> Games:
        return {**self.measured(relation, gaussian), **self.released(relation, gaussian)}


# Histograms, grids, sorted counts and degrees.

GROUPS = np.array([0, 0, -1, 1, 1], dtype=np.int64)
COUNTS, DEGREES = (1, 0, 2, 0, 0), (3, 1, 1, 1, 0)


def sums(gaussian: bool, scale: float = SCALE) -> GroupSums:
    return GroupSums("groups", scale, gaussian, GROUPS, 2)


def in_order(gaussian: bool, scale: float = SCALE) -> SortedCounts:
    return SortedCounts("sorted", scale, gaussian, NODES)


def in_use(gaussian: bool) -> BinsInUse:
    return BinsInUse("in use", SCALE, gaussian)


def size_under(relation: NeighbouringRelation) -> int | None:
    return None if relation is ADD_REMOVE else ROWS


def histogram_plan(relation: NeighbouringRelation, gaussian: bool) -> HistogramPlan:
    """Return a plan with three levels, or two under replace-one, where the total is public."""
    levels, scales = ((0, 1, 3), (4.0, 6.0, 9.0)) if relation is ADD_REMOVE else ((0, 1), (4.0, 6.0))
    return HistogramPlan(
        bins=BINS,
        relation=relation,
        budget=AMPLE[gaussian],
        gaussian=gaussian,
        heights=levels,
        scales=scales,
        ranges="all",
        size=size_under(relation),
        predicted={},
    )


def grid_plan(relation: NeighbouringRelation, gaussian: bool) -> GridPlan:
    """Return a plan over 2 x 3 bins: cells, rows and squares."""
    return GridPlan(
        shape=(2, 3),
        relation=relation,
        budget=AMPLE[gaussian],
        gaussian=gaussian,
        levels=((0, 0), (0, 2), (1, 1)),
        scales=(4.0, 6.0, 9.0),
        ranges="all",
        size=size_under(relation),
        predicted={},
    )


def sorted_plan(
    relation: NeighbouringRelation, gaussian: bool, *, bins: int = 2, length: int | None = NODES
) -> SortedPlan:
    length_scale = None if length is not None else 6.0
    size = size_under(relation)
    return SortedPlan(relation, AMPLE[gaussian], gaussian, bins, length, 4.0, length_scale, size)


def bin_games(relation: NeighbouringRelation, gaussian: bool) -> Games:
    return {
        "sums": bin_game(sums(gaussian), relation, graph=False),
        "sorted": bin_game(in_order(gaussian), relation, graph=False),
        "sorted degrees": bin_game(in_order(gaussian), relation, graph=True),
        "bins in use": bin_game(in_use(gaussian), relation, graph=False),
        "nodes in use": bin_game(in_use(gaussian), relation, graph=True),
    }


def bin_releases(relation: NeighbouringRelation, gaussian: bool) -> Games:
    """Whole releases: levels of a tree, blocks of a grid; degrees with a number of nodes that is declared, or bought."""
    plan = partial(sorted_plan, relation, gaussian)
    return {
        "histogram": histogram_game(histogram_plan(relation, gaussian)),
        "grid": grid_game(grid_plan(relation, gaussian)),
        "counts": sorted_game(plan(bins=1)),
        "degrees": sorted_game(plan()),
        "fewer degrees": sorted_game(plan(length=3)),
        "more degrees": sorted_game(plan(length=NODES + 2)),
        "bought degrees": sorted_game(plan(length=None)),
    }


def bin_runs(relation: NeighbouringRelation, gaussian: bool) -> list[tuple[Release, int]]:
    table, graph = bin_counts(COUNTS, graph=False), bin_counts(DEGREES, graph=True)
    plan, grid = histogram_plan(relation, gaussian), grid_plan(relation, gaussian)
    return [
        (partial(release_histogram, table, plan), len(plan.heights)),
        (partial(release_grid, bin_counts((*COUNTS, 0), graph=False), grid), len(grid.levels)),
        (partial(release_sorted, graph, sorted_plan(relation, gaussian)), 1),
        (partial(release_sorted, graph, sorted_plan(relation, gaussian, length=None)), 2),
    ]


def bins_asked(gaussian: bool) -> list[Asked]:
    like = GroupSums("groups", 9.0, gaussian, GROUPS[::-1], 2)
    table, graph = bin_counts(COUNTS, graph=False), bin_counts(DEGREES, graph=True)
    return [
        Asked(table, sums(gaussian), like, in_order(gaussian)),
        Asked(graph, in_order(gaussian), in_order(gaussian, 9.0), in_use(gaussian)),
    ]


# Conjunctions.

LITERALS = summaries.UNIVERSES["bits"]
RECORDS: Table = ((0, 1, 1), (1, 1, 0), (0, 0, 1))


def summary_games(relation: NeighbouringRelation, gaussian: bool) -> Games:
    return {
        f"{name}, {size}": summaries.summary_game(
            literals, ConjunctionCounts(size, SCALE, gaussian), relation
        )
        for name, literals in summaries.UNIVERSES.items()
        for size in (1, 2)
    }


def conjunctions_asked(gaussian: bool) -> list[Asked]:
    held = ConjunctionTable.of(dataset_of(bits_schema(3), RECORDS), LITERALS)
    pairs = ConjunctionCounts(2, SCALE, gaussian)
    return [Asked(held, pairs, replace(pairs, scale=9.0), replace(pairs, size=1))]


# Decision lists.

LISTS = lists.coefficients_of("lists")
KINDS = ("lists", "disjunctions")


def list_rows() -> lists.Table:
    rows = rows_of(lists.FAMILIES["lists"])
    return rows[20], rows[-9]


def list_games(relation: NeighbouringRelation, gaussian: bool) -> Games:
    return {
        f"{kind}, {size}": lists.list_game(kind, ListCounts(size, SCALE, gaussian), relation)
        for kind in KINDS
        for size in (0, 1, 2)
    }


def list_releases(relation: NeighbouringRelation, gaussian: bool) -> Games:
    return {
        f"release of {kind}": lists.list_release_game(lists.tiny_plan(kind, relation, gaussian=gaussian))
        for kind in KINDS
    }


def lists_asked(gaussian: bool) -> list[Asked]:
    held = ListTable.of(private(LISTS.family, list_rows()), LISTS)
    pairs = ListCounts(2, SCALE, gaussian)
    return [Asked(held, pairs, replace(pairs, scale=9.0), replace(pairs, size=1))]


# Halfspaces.


def point_games(relation: NeighbouringRelation, gaussian: bool) -> Games:
    sides, game = Sides(SCALE, gaussian), points.halfspace_game
    arcs = {f"arcs, {height}": game("plane", Arcs(SCALE, gaussian, height), relation) for height in (0, 1)}
    return {f"sides, {kind}": game(kind, sides, relation) for kind in ("plane", "line")} | arcs


def point_releases(relation: NeighbouringRelation, gaussian: bool) -> Games:
    plan = partial(points.tiny_plan, relation, gaussian=gaussian)
    return {f"all {what}": points.halfspace_release_game(plan(measured=what)) for what in (SIDES, ARCS)}


def points_asked(gaussian: bool) -> list[Asked]:
    held = ProjectedPoints.of(points.points_of(points.UNIVERSE[:ROWS]), points.projections("plane"))
    sides = Sides(SCALE, gaussian)
    return [Asked(held, sides, replace(sides, scale=9.0), Arcs(SCALE, gaussian, 0))]


# Coefficients of polynomials.

TIGHT_FAMILIES = ("mixed, sets", "mixed, powers", "mixed, positive, sets")


def family_of(kind: str) -> PolynomialFamily:
    """Return a family, made anew where its bounds are looked at when it is made."""
    if kind == "huge":
        low, high = [-0.25, -1.0, 0.0], [0.5, 0.25, 0.5]
        return sanitizers.function_family(sanitizers.huge, low=low, high=high)
    if kind == "not a number":
        return sanitizers.function_family(sanitizers.not_a_number)
    return sanitizers.FAMILIES[kind]


def coefficients(gaussian: bool, scale: float = SCALE) -> CoefficientSums:
    return CoefficientSums("the coefficients", sanitizers.UNIT, scale, gaussian)


def coefficient_games(relation: NeighbouringRelation, gaussian: bool) -> Games:
    return {
        kind: sanitizers.sums_game(family_of(kind), coefficients(gaussian), relation)
        for kind in (*TIGHT_FAMILIES, "table", "huge")
    }


def coefficients_asked(gaussian: bool) -> list[Asked]:
    family = family_of("mixed, sets")
    held = CoefficientTable.of(dataset_of(family.schema, ((0, 2), (1, 1), (0, 0))), family)
    return [Asked(held, coefficients(gaussian), coefficients(gaussian, 9.0), coefficients(gaussian, 3.0))]


def sanitizer_runs(relation: NeighbouringRelation, gaussian: bool) -> list[tuple[Release, int]]:
    family = family_of("mixed, sets")
    plan = sanitizers.plan_of(family, relation, gaussian=gaussian)
    return [(partial(release_sanitizer, dataset_of(family.schema, ((0, 2), (1, 1), (0, 0))), plan), 1)]


FAMILIES: dict[str, Family] = {
    "bins": Family(
        measured=bin_games,
        released=bin_releases,
        tight=dict.fromkeys(
            (
                "sums",
                "sorted",
                "sorted degrees",
                "bins in use",
                "nodes in use",
                "histogram",
                "grid",
                "degrees",
                "counts",
            )
        ),
        runs=bin_runs,
        journal=tuple(
            f"histograms.{driver}"
            for driver in ("grids.release_grid", "release_histogram", "sorted.release_sorted")
        ),
        asked=bins_asked,
    ),
    "conjunctions": Family(
        measured=summary_games,
        released=lambda relation, gaussian: {
            "release": summaries.summary_release_game(
                summaries.tiny_plan(LITERALS, relation, gaussian=gaussian)
            )
        },
        tight=dict.fromkeys(f"{name}, 2" for name in summaries.UNIVERSES),
        runs=lambda relation, gaussian: [
            (
                partial(
                    release_summary,
                    dataset_of(bits_schema(3), RECORDS),
                    summaries.tiny_plan(LITERALS, relation, gaussian=gaussian),
                ),
                3,
            )
        ],
        journal=("summaries.release_summary",),
        asked=conjunctions_asked,
    ),
    "lists": Family(
        measured=list_games,
        released=list_releases,
        tight=dict.fromkeys(f"{kind}, {size}" for kind in KINDS for size in (0, 1, 2))
        | dict.fromkeys((f"release of {kind}" for kind in KINDS), 0.5),
        runs=lambda relation, gaussian: [
            (
                partial(
                    release_lists,
                    private(LISTS.family, list_rows()),
                    lists.tiny_plan("lists", relation, gaussian=gaussian),
                ),
                3,
            )
        ],
        journal=("decision_lists.release_lists",),
        asked=lists_asked,
    ),
    "points": Family(
        measured=point_games,
        released=point_releases,
        tight=dict.fromkeys(("sides, plane", "sides, line", "arcs, 1")),
        runs=lambda relation, gaussian: [
            (
                partial(
                    release_halfspaces,
                    points.points_of(points.UNIVERSE[:ROWS]),
                    points.tiny_plan(relation, gaussian=gaussian, measured=ARCS),
                ),
                3 if relation is ADD_REMOVE else 2,
            )
        ],
        journal=("halfspaces.release_halfspaces",),
        asked=points_asked,
    ),
    "coefficients": Family(
        measured=coefficient_games,
        released=lambda relation, gaussian: {},
        tight=dict.fromkeys(TIGHT_FAMILIES),
        runs=sanitizer_runs,
        journal=("sanitizers.release_sanitizer",),
        asked=coefficients_asked,
        rho=0.99,
    ),
}
