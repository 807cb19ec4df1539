"""The kinds of noisy counts: one `Family` for each, with what is measured and released of it on tiny tables.

`test_exact_loss.py` computes the loss of every row; the defects of `defects/counting.py` are tried on the rows that are
`planted`. A new kind adds a row to `FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.curators.counting_curator import Counted
from dpopt.private.measurements.bin_measurement import BinsInUse, ColumnSums, GroupSums, SortedCounts
from dpopt.private.measurements.conjunction_measurement import ConjunctionCounts, ListCounts
from dpopt.private.measurements.halfspace_measurement import Sides
from dpopt.private.measurements.measurement import NumberOfRecords
from dpopt.private.measurements.sanitizer_sums import CoefficientSums
from dpopt.private.measurements.wave_sums import WaveSums
from dpopt.private.tables.bin_counts import ColumnCounts
from dpopt.private.tables.closed import Closed
from dpopt.queries.polynomial_families import PolynomialFamily
from dpopt.synopses.decision_lists.release_lists import release_lists
from dpopt.synopses.halfspaces.release_halfspaces import release_halfspaces
from dpopt.synopses.histograms.grids.grid_plan import GridPlan
from dpopt.synopses.histograms.grids.release_grid import release_grid
from dpopt.synopses.histograms.histogram_plan import HistogramPlan
from dpopt.synopses.histograms.release_histogram import release_histogram
from dpopt.synopses.histograms.sorted.release_sorted import SortedPlan, release_sorted
from dpopt.synopses.sanitizers.release_sanitizer import release_sanitizer
from dpopt.synopses.summaries.release_summary import release_summary
from tests import exact_halfspace_loss as points
from tests import exact_sanitizer_loss as sanitizers
from tests import exact_summary_loss as summaries
from tests import tiny_lists as lists
from tests.exact_counts_loss import AMPLE, BINS, NODES, ROWS, CountingGame, TinyTables, binned, graphs, neighbours_of
from tests.tiny_runs import ADD_REMOVE, Table

NOISES = (False, True)
SCALE = 7.5


class Least(NamedTuple):
    """The share of a charge that some neighbours use up: of pure epsilon, and of rho with Gaussian noise."""

    pure: float
    rho: float


class Draws(NamedTuple):
    """How often a release draws, under add-remove and under replace-one."""

    added: int
    replaced: int


ALL = Least(1 - 1e-12, 0.999)
"""Pure epsilon but for its rounding, rho to a thousandth."""
NEARLY, HALF, ANYTHING = Least(1 - 1e-12, 0.99), Least(0.5, 0.5), Least(-1.0, -1.0)


@dataclass(frozen=True)
class Measured:
    """What the curator measures alone, given scale and whether noise is Gaussian, and how much of its charge is reached."""

    tables: Callable[[], TinyTables]
    make: Callable[[float, bool], Counted]
    least: Least = ALL
    planted: bool = True

    def game(self, relation: NeighbouringRelation, gaussian: bool, scale: float = SCALE) -> CountingGame:
        return self.tables().measuring(self.make(scale, gaussian), relation)


@dataclass(frozen=True)
class Released:
    """A whole release by a plan, given relation and whether noise is Gaussian, and how much of its charges is reached."""

    tables: Callable[[], TinyTables]
    release: Callable[..., Any]
    plan: Callable[[NeighbouringRelation, bool], Any]
    least: Least = ALL
    planted: bool = True

    def game(self, relation: NeighbouringRelation, gaussian: bool) -> CountingGame:
        """Return the game; where the number of nodes is bought, all that follows depends on what it came out as."""
        plan = self.plan(relation, gaussian)
        first = NODES if getattr(plan, "length", NODES) is None else None
        return self.tables().releasing(self.release, plan, first=first)

    def of(self, table: Any, plan: Any) -> Callable[..., Any]:
        """Return the release of a table, given noise."""
        return partial(self.release, self.tables().read(table), plan)


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
    measured, released : mapping
        By name.
    runs : sequence
        Releases and tables, of which the order of events is watched, and how often each draws.
    questions : sequence
        A measurement, a table, and something else to measure, given whether noise is Gaussian.
    """

    measured: Mapping[str, Measured]
    released: Mapping[str, Released]
    runs: Sequence[tuple[Released, Any, Draws]]
    questions: Sequence[tuple[Measured, Any, Callable[[bool], Counted]]]

    @property
    def rows(self) -> dict[str, Measured | Released]:
        return {**self.measured, **self.released}

    def asked(self, gaussian: bool) -> list[Asked]:
        return [
            Asked(row.tables().held(table), row.make(SCALE, gaussian), row.make(9.0, gaussian), other(gaussian))
            for row, table, other in self.questions
        ]


# Histograms, grids, sorted counts and degrees.

GROUPS = np.array([0, 0, -1, 1, 1], dtype=np.int64)
COUNTS, DEGREES = (1, 0, 2, 0, 0), (3, 1, 1, 1, 0)


def sums(scale: float, gaussian: bool) -> GroupSums:
    return GroupSums("groups", scale, gaussian, GROUPS, 2)


def blocks(scale: float, gaussian: bool) -> GroupSums:
    return GroupSums.blocks("blocks", scale, gaussian=gaussian, bins=BINS, height=1)


def in_order(scale: float, gaussian: bool, length: int = NODES, ranked: int | None = None) -> SortedCounts:
    return SortedCounts("sorted", scale, gaussian, length, ranked)


in_use = partial(BinsInUse, "in use")


def waves(scale: float, gaussian: bool, *, prefixes: bool = False) -> WaveSums:
    return WaveSums("waves", scale, gaussian, BINS, prefixes, unit=4)


def ample(kind: type[Any], relation: NeighbouringRelation, gaussian: bool, **own: Any) -> Any:
    """Return a plan within an ample budget."""
    size = None if relation is ADD_REMOVE else ROWS
    return kind(relation=relation, budget=AMPLE[gaussian], gaussian=gaussian, size=size, **own)


def histogram_plan(relation: NeighbouringRelation, gaussian: bool) -> Any:
    """Return a plan with three levels, or two under replace-one, where the total is public."""
    heights, scales = ((0, 1, 3), (4.0, 6.0, 9.0)) if relation is ADD_REMOVE else ((0, 1), (4.0, 6.0))
    levels: dict[str, Any] = {"heights": heights, "scales": scales, "ranges": "all", "predicted": {}}
    return ample(HistogramPlan, relation, gaussian, bins=BINS, **levels)


def grid_plan(relation: NeighbouringRelation, gaussian: bool) -> Any:
    """Return a plan over 2 x 3 bins: cells, rows and squares."""
    levels = {"levels": ((0, 0), (0, 2), (1, 1)), "scales": (4.0, 6.0, 9.0), "ranges": "all", "predicted": {}}
    return ample(GridPlan, relation, gaussian, shape=(2, 3), **levels)


def sorted_plan(
    relation: NeighbouringRelation,
    gaussian: bool,
    *,
    bins: int = 2,
    length: int | None = NODES,
    ranked: int | None = None,
) -> Any:
    lengths = {"length": length, "length_scale": None if length is not None else 6.0, "ranked": ranked}
    return ample(SortedPlan, relation, gaussian, bins_of_a_record=bins, scale=4.0, **lengths)


def degrees(length: int | None, least: Least = ANYTHING, ranked: int | None = None) -> Released:
    """Return a release of degrees with a number of nodes that is declared, or bought."""
    return Released(graphs, release_sorted, partial(sorted_plan, length=length, ranked=ranked), least)


HISTOGRAM = Released(binned, release_histogram, histogram_plan)
GRID = Released(partial(binned, 6), release_grid, grid_plan)
BIN_FAMILY = Family(
    measured={
        "sums": Measured(binned, sums),
        "blocks": Measured(binned, blocks, planted=False),
        "sorted": Measured(binned, in_order),
        "the largest": Measured(binned, partial(in_order, length=2), ANYTHING, planted=False),
        "sorted degrees": Measured(graphs, in_order),
        "the largest degrees": Measured(graphs, partial(in_order, length=3), ANYTHING, planted=False),
        "numbers of nodes": Measured(graphs, partial(in_order, ranked=0)),
        "the largest and numbers of the others": Measured(graphs, partial(in_order, ranked=2), ANYTHING),
        "bins in use": Measured(binned, in_use),
        # Replaced, a record is charged twice its largest column.
        "waves": Measured(binned, waves, ANYTHING),
        "waves of prefixes": Measured(binned, partial(waves, prefixes=True), ANYTHING, planted=False),
        "nodes in use": Measured(graphs, in_use),
    },
    released={
        "histogram": HISTOGRAM,
        "grid": GRID,
        "counts": Released(binned, release_sorted, partial(sorted_plan, bins=1)),
        "degrees": degrees(NODES, ALL),
        "fewer degrees": degrees(3),
        "more degrees": degrees(NODES + 2),
        "bought degrees": degrees(None),
        "ranked degrees": degrees(NODES, ranked=2),
        "bought and ranked degrees": degrees(None, ranked=2),
    },
    runs=[
        (HISTOGRAM, COUNTS, Draws(3, 2)),
        (GRID, (*COUNTS, 0), Draws(3, 3)),
        (degrees(NODES), DEGREES, Draws(1, 1)),
        (degrees(None), DEGREES, Draws(2, 2)),
    ],
    questions=[
        (Measured(binned, sums), COUNTS, lambda gaussian: in_order(SCALE, gaussian)),
        (Measured(graphs, in_order), DEGREES, lambda gaussian: in_use(SCALE, gaussian)),
    ],
)

# Numeric columns, of three and of two cells; a record's number may be missing in the first.

NUMBERS = list(product((0, 1, 2, 3), (0, 1)))


def column_tables() -> TinyTables:
    def held(table: Sequence[tuple[int, int]]) -> ColumnCounts:
        first, second = np.array(table, dtype=np.int64).reshape(-1, 2).T
        return ColumnCounts.of([np.bincount(first, minlength=4)[:3], np.bincount(second, minlength=2)], len(table))

    return TinyTables(partial(neighbours_of, NUMBERS), lambda table: table, held)


def halves(
    scale: float, gaussian: bool, starts: Sequence[int] = (0, 1, 3), stops: Sequence[int] = (1, 3, 4)
) -> ColumnSums:
    return ColumnSums("halves", scale, gaussian, np.array(starts), np.array(stops), 2)


COLUMN_FAMILY = Family(
    measured={
        "halves of columns": Measured(column_tables, partial(halves, starts=(0, 1, 3, 4), stops=(1, 3, 4, 5))),
        # Half of what is charged: intervals of one column, where two were planned.
        "halves of a column": Measured(column_tables, partial(halves, starts=(0, 1), stops=(1, 3)), ANYTHING),
    },
    released={},
    runs=[],
    questions=[
        (
            Measured(column_tables, halves),
            ((0, 1), (3, 0), (2, 1)),
            lambda gaussian: replace(halves(SCALE, gaussian), name="other halves"),
        )
    ],
)

# Conjunctions.

LITERALS = summaries.UNIVERSES["bits"]
RECORDS: Table = ((0, 1, 1), (1, 1, 0), (0, 0, 1))


def release_of_summary(kind: str, least: Least = ALL, *, planted: bool = False) -> Released:
    literals = summaries.UNIVERSES[kind]
    return Released(
        partial(summaries.literal_tables, literals),
        release_summary,
        lambda relation, gaussian: summaries.tiny_plan(literals, relation, gaussian=gaussian),
        least,
        planted,
    )


CONJUNCTION_FAMILY = Family(
    measured={
        f"{kind}, {size}": Measured(partial(summaries.literal_tables, literals), partial(ConjunctionCounts, size))
        for kind, literals in summaries.UNIVERSES.items()
        for size in (1, 2)
    },
    # Two records that differ in a move 3 single literals and 1 pair, two that share it move 2 single literals and 2 pairs.
    released={
        f"release of {kind}": release_of_summary(
            kind, HALF if kind == "mixed, positive" else ALL, planted=kind == "bits"
        )
        for kind in summaries.UNIVERSES
    },
    runs=[(release_of_summary("bits"), RECORDS, Draws(3, 3))],
    questions=[
        (
            Measured(partial(summaries.literal_tables, LITERALS), partial(ConjunctionCounts, 2)),
            RECORDS,
            lambda gaussian: ConjunctionCounts(1, SCALE, gaussian),
        )
    ],
)

# Decision lists.

LISTS = lists.coefficients_of("lists")
LIST_ROWS = lists.rows_of(LISTS.family)[20], lists.rows_of(LISTS.family)[-9]


def release_of_lists(kind: str) -> Released:
    return Released(
        partial(lists.list_tables, kind),
        release_lists,
        lambda relation, gaussian: lists.tiny_plan(kind, relation, gaussian=gaussian),
        HALF,
    )


def measured_lists(kind: str, size: int) -> Measured:
    return Measured(partial(lists.list_tables, kind), partial(ListCounts, size))


LIST_FAMILY = Family(
    measured={
        f"{kind}, {size}": measured_lists(kind, size) for kind in ("lists", "disjunctions") for size in (0, 1, 2)
    },
    released={f"release of {kind}": release_of_lists(kind) for kind in ("lists", "disjunctions")},
    runs=[(release_of_lists("lists"), LIST_ROWS, Draws(3, 3))],
    questions=[(measured_lists("lists", 2), LIST_ROWS, lambda gaussian: ListCounts(1, SCALE, gaussian))],
)

# Halfspaces: over points on canonical directions, across them and in kernels, with ties on every side.


RELEASE_OF_POINTS = Released(
    points.point_tables, release_halfspaces, lambda relation, g: points.tiny_plan(relation, gaussian=g)
)
POINT_FAMILY = Family(
    measured={f"sides, {kind}": Measured(partial(points.point_tables, kind), Sides) for kind in ("plane", "line")},
    released={"all sides": RELEASE_OF_POINTS},
    runs=[(RELEASE_OF_POINTS, points.UNIVERSE[:ROWS], Draws(2, 1))],
    questions=[
        (
            Measured(points.point_tables, Sides),
            points.UNIVERSE[:ROWS],
            lambda gaussian: NumberOfRecords(SCALE, gaussian),
        )
    ],
)

# Coefficients of polynomials. Functions need not reach their bounds, and a table not those of its squares.

TIGHT_FAMILIES = ("mixed, sets", "mixed, powers", "mixed, positive, sets")
OF_CODES: Table = ((0, 2), (1, 1), (0, 0))


def family_of(kind: str) -> PolynomialFamily:
    """Return a family, made anew where its bounds are looked at when it is made."""
    if kind == "huge":
        low, high = [-0.25, -1.0, 0.0], [0.5, 0.25, 0.5]
        return sanitizers.function_family(sanitizers.huge, low=low, high=high)
    if kind == "not a number":
        return sanitizers.function_family(sanitizers.not_a_number)
    return sanitizers.FAMILIES[kind]


def tables_of_family(kind: str) -> TinyTables:
    return sanitizers.family_tables(family_of(kind))


coefficients = partial(CoefficientSums, "the coefficients", sanitizers.UNIT)


def least_of(kind: str) -> Least:
    if kind.startswith(("function", "huge")):
        return ANYTHING
    return NEARLY._replace(rho=0.0) if kind == "table" else NEARLY


PLANTED_FAMILIES = (*TIGHT_FAMILIES, "table", "huge")
RELEASED_POLYNOMIAL = Released(
    partial(tables_of_family, "mixed, sets"),
    release_sanitizer,
    lambda relation, gaussian: sanitizers.plan_of(family_of("mixed, sets"), relation, gaussian=gaussian),
)
COEFFICIENT_FAMILY = Family(
    measured={
        kind: Measured(partial(tables_of_family, kind), coefficients, least_of(kind), kind in PLANTED_FAMILIES)
        for kind in dict.fromkeys((*PLANTED_FAMILIES, *sanitizers.FAMILIES))
        if not kind.startswith(("bits, sets", "bits, powers"))
    },
    released={},  # sums in small units have too many values to be enumerated: `exact_sanitizer_loss.check_planned_loss`
    runs=[(RELEASED_POLYNOMIAL, OF_CODES, Draws(1, 1))],
    questions=[
        (
            Measured(partial(tables_of_family, "mixed, sets"), coefficients),
            OF_CODES,
            lambda gaussian: coefficients(3.0, gaussian),
        )
    ],
)

FAMILIES = {
    "bins": BIN_FAMILY,
    "columns": COLUMN_FAMILY,
    "conjunctions": CONJUNCTION_FAMILY,
    "lists": LIST_FAMILY,
    "points": POINT_FAMILY,
    "coefficients": COEFFICIENT_FAMILY,
}
