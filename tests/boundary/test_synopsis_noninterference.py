"""With the noisy values scripted, whole releases that answer by themselves do not tell two tables apart.

Neither by log records, warnings, what is printed, the progress that is told, errors, nor by a byte of the files that are
written; nor by how often noise is drawn, for how many counts, of which distribution and scale. A new synopsis adds a row to
`KINDS`, and its command one to `COMMANDS`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.inference.histograms.halves_in_rounds import groups_of, next_nodes
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.curators.prefix_curator import RoundsCurator
from dpopt.private.curators.searching_curator import SearchingCurator
from dpopt.private.measurements.bin_measurement import BinsInUse
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.releases.folder_files import write_json
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.synopses.decision_lists.list_plan import plan_lists
from dpopt.synopses.decision_lists.release_lists import release_lists
from dpopt.synopses.halfspaces.estimators import Estimator
from dpopt.synopses.halfspaces.release_halfspaces import release_halfspaces
from dpopt.synopses.histograms import histogram_plan, in_rounds
from dpopt.synopses.histograms.grids import grid_plan
from dpopt.synopses.histograms.grids.grid_plan import GridPlan, plan_grid
from dpopt.synopses.histograms.grids.release_grid import release_grid
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.histograms.histogram_plan import plan_blocks
from dpopt.synopses.histograms.release_histogram import release_histogram
from dpopt.synopses.histograms.released_counts import write_cells
from dpopt.synopses.histograms.sorted.release_sorted import plan_sorted, release_sorted
from dpopt.synopses.histograms.sorted.sorted_counts import SortedCountsRelease, write_frequencies
from dpopt.synopses.histograms.wave_plan import plan_waves
from dpopt.synopses.intervals.interval_plan import plan_intervals
from dpopt.synopses.intervals.partition_release import write_boxes
from dpopt.synopses.intervals.release_intervals import release_partition
from dpopt.synopses.intervals.split_plan import plan_split
from dpopt.synopses.sanitizers.release_sanitizer import release_sanitizer
from dpopt.synopses.sanitizers.sanitizer_plan import plan_sanitizer
from dpopt.synopses.summaries.release_summary import release_summary
from dpopt.synopses.summaries.summary_plan import plan_summary
from tests import exact_halfspace_loss as points
from tests.boundary.noninterference import (
    SECONDS,
    SECRET,
    Leak,
    Seen,
    WatchedNoise,
    Watcher,
    contents,
    leak_into_a_log,
    leak_into_a_print,
    leak_into_a_warning,
    leak_into_an_error,
    leak_into_the_number_of_draws,
    leak_into_the_progress,
    leaking,
    watched,
)
from tests.cli.command_line import call
from tests.exact_counts_loss import ROWS
from tests.exact_sanitizer_loss import FAMILIES
from tests.tiny_lists import family_of, private, rows_of
from tests.tiny_runs import ADD_REMOVE, REPLACE, dataset_of, even_budgets, trusted, universe

BINS, NODES, RECORDS = 6, 7, 5
BUDGETS = {True: Budget(None, 1e-9, 0.7, Accountant.ZCDP), False: Budget(1.5, 0.0, None, Accountant.PURE)}
SCHEMA = Schema(
    (
        Attribute("smoker", AttributeKind.BOOLEAN),
        Attribute("city", AttributeKind.CATEGORICAL, ("x", "y", "z")),
        Attribute("ill", AttributeKind.BOOLEAN),
    )
)
QUERIES = ("smoker=true,city=x", "city!=x,ill=true,smoker=true", "ill=true")
Strategy = st.SearchStrategy[Any]


@dataclass(frozen=True)
class Kind:
    """One kind of synopsis.

    Attributes
    ----------
    plan : callable
        A plan, given the relation, whether noise is Gaussian, and one of the variants.
    variants : sequence
        What plans differ in besides.
    records : callable
        What a plan's table is made of: given the plan and a strategy of numbers of records.
    release : callable
        Given the plan, a table, noise and progress: a release, and what it answers.
    write : callable
        Writes a release into a folder.
    file : str
        The file that says what was released.
    draws : callable or None
        How often a plan draws, where the plan says so.
    pairs : mapping
        By name relation, Gaussian, variant, and two tables that leaks tell apart.
    secret : callable
        Given a curator, a number that is SECRET for one table of a pair.
    examples : int
        How many generated plans with two tables are tried.
    measures : type and str
        The method of a curator that leaks are planted in.
    size : int
        The public number of records.
    told : bool
        Whether the curator tells its progress.
    """

    plan: Callable[..., Any]
    variants: Sequence[Any]
    records: Callable[[Any, Strategy], Strategy]
    release: Callable[..., tuple[Any, list[object]]]
    write: Callable[[Any, Path], object]
    file: str
    draws: Callable[[Any], int | None] | None
    pairs: Mapping[str, tuple[NeighbouringRelation, bool, Any, tuple[Any, Any]]]
    secret: Callable[[Any], int]
    examples: int
    measures: tuple[type, str] = (CountingCurator, "measure")
    size: int = RECORDS
    told: bool = True

    def tables(self, plan: Any) -> Strategy:
        """Return tables of the public number of records, or of any under add-remove."""
        rows = st.just(self.size) if plan.relation is REPLACE else st.integers(1, 9)
        return self.records(plan, rows)

    def run(self, plan: Any, table: Any, noise: tuple[int, ...]) -> Seen:
        """Release a table; return what was seen, answers among it, and the files."""
        watcher = Watcher()
        with tempfile.TemporaryDirectory() as temporary:
            # The statement is to be that of a private run, so that the claim of this noise is taken.
            with watched(watcher.seen), mock.patch("dpopt.private.curators.door.is_trusted", trusted):
                scripted = WatchedNoise(noise, watcher.seen)
                released, answers = self.release(plan, table, noise=scripted, progress=watcher)
                self.write(released, Path(temporary))
                watcher.seen += map(repr, (released, *answers))
            return [text.replace(temporary, "") for text in watcher.seen], contents(Path(temporary))

    def both(self, pair: str, noise: tuple[int, ...] = (30, -9, 41)) -> tuple[Seen, Seen]:
        """Release both tables of a pair by one plan."""
        relation, gaussian, variant, tables = self.pairs[pair]
        plan = self.plan(relation, gaussian, variant)
        one, two = (self.run(plan, table, noise) for table in tables)
        return one, two


def lists_of(record: Strategy, rows: Strategy, **more: Any) -> Strategy:
    return rows.flatmap(lambda n: st.lists(record, min_size=n, max_size=n, **more))


def tables_of(schema: Callable[[Any], Schema]) -> Callable[[Any, Strategy], Strategy]:
    return lambda plan, rows: lists_of(st.sampled_from(universe(schema(plan))), rows).map(tuple)


def writing(name: str) -> Callable[[Any, Path], object]:
    return lambda released, folder: released.write(folder / name)


# Histograms, grids, sorted counts and degrees.


@pytest.fixture(autouse=True, scope="module")
def rounds_that_halve_once() -> Iterator[None]:
    """Have few bins measured in several rounds, so that what is divided is decided."""
    with mock.patch.object(grid_plan, "ROUND_DEPTH", 1):
        yield


def is_graph(plan: Any) -> bool:
    return getattr(plan, "bins_of_a_record", 1) == 2


@cache
def bins_plan(relation: NeighbouringRelation, gaussian: bool, variant: tuple[str, Any]) -> Any:
    what, how = variant
    more: dict[str, Any] = {"relation": relation, "size": RECORDS if relation is REPLACE else None}
    if what == "waves":
        return plan_waves(BINS, BUDGETS[gaussian], ranges=how, relation=relation)
    if what == "rounds":
        with mock.patch.object(histogram_plan, "best_level_budgets", even_budgets):
            return plan_blocks(BINS, BUDGETS[gaussian], ranges=how, rounds=True, **more)
    if what == "histogram":
        return plan_blocks(BINS, BUDGETS[gaussian], ranges=how, **more)
    if what == "grid":
        return plan_grid((2, BINS // 2), BUDGETS[gaussian], shapes=how, **more)
    if what == "ranked":
        return plan_sorted(NODES, BUDGETS[gaussian], graph=True, ranked=how, **more)
    return plan_sorted(how, BUDGETS[gaussian], graph=what == "degrees", **more)


def counts_of(plan: Any, rows: Strategy) -> Strategy:
    """Return exact counts of tables; of graphs degrees as they are read: the nodes with an edge alone, in the file's order."""
    if not is_graph(plan):
        return lists_of(st.integers(0, BINS - 1), rows).map(
            lambda chosen: np.bincount(np.array(chosen, dtype=np.int64), minlength=BINS).tolist()
        )
    edge = st.tuples(*[st.integers(0, NODES - 1)] * 2).filter(lambda ends: ends[0] < ends[1])
    return lists_of(edge, rows, unique=True).map(
        lambda chosen: np.unique(np.array(chosen), return_counts=True)[1].tolist()
    )


def held_bins(counts: list[int]) -> BinCounts:
    return BinCounts.from_counts(np.array(counts, dtype=np.int64))


def release_bins(plan: Any, counts: list[int], **more: Any) -> tuple[Any, list[object]]:
    if is_graph(plan):
        degrees = np.array(counts, dtype=np.int64)
        return release_sorted(BinCounts.of_degrees(degrees, int(degrees.sum()) // 2), plan, **more), []
    if isinstance(plan, GridPlan):
        grid = release_grid(held_bins(counts), plan, **more)
        return grid, [grid.box((0, 1), (1, 3)), grid.plan]
    if hasattr(plan, "bins_of_a_record"):
        return release_sorted(held_bins(counts), plan, **more), []
    histogram = release_histogram(held_bins(counts), plan, **more)
    return histogram, [histogram.range(1, 4), histogram.plan]


def write_bins(released: Any, folder: Path) -> None:
    write_json(folder / "release.json", released.to_json())
    if isinstance(released, Histogram):
        write_cells(released, folder / "table.csv")
    if isinstance(released, SortedCountsRelease):
        write_frequencies(released.counts, folder / "frequencies.csv")


def draws_of_bins(plan: Any) -> int | None:
    """Return how often a plan draws; in rounds noisy values say how often."""
    if getattr(plan, "round_levels", ()):
        return None
    return len(plan.scales) if hasattr(plan, "scales") else 1 + (plan.length is None)


IN_BINS = [0, 1, 4, 0, 0, 0], [2, 0, 0, 0, 0, SECRET]
MANY_IN_BINS = [0, 1, 4, 0, 0, 0], [0, 0, 900, 0, 0, SECRET]
GRAPHS = [1, 1, 2, SECRET, 3], [1] * 10


# Intervals and boxes.


def partition_plan(relation: NeighbouringRelation, gaussian: bool, variant: str) -> Any:
    if variant == "boxes":
        return plan_split((2, BINS // 2), BUDGETS[gaussian], RECORDS, relation=relation, rounds=1)
    return plan_intervals(BINS, BUDGETS[gaussian], RECORDS, relation=relation, intervals=4)


def release_parts(plan: Any, counts: list[int], **more: Any) -> tuple[Any, list[object]]:
    released = release_partition(held_bins(counts), plan, **more)
    return released, [released.boxes([[(1, 4)] if len(plan.shape) == 1 else [(0, 1), (1, 3)]]), released.plan]


def write_partition(released: Any, folder: Path) -> None:
    write_json(folder / "release.json", released.to_json())
    write_boxes(released, folder / "boxes.csv")


# Records: conjunctions, lists, points, polynomials.


@cache
def summary_plan(relation: NeighbouringRelation, gaussian: bool, variant: tuple[str, int]) -> Any:
    which, width = variant
    literals = ChosenLiterals.of(SCHEMA, None, which)
    return plan_summary(literals, width, BUDGETS[gaussian], size=RECORDS, relation=relation)


def release_of_summary(plan: Any, table: Any, **more: Any) -> tuple[Any, list[object]]:
    released = release_summary(dataset_of(SCHEMA, table), plan, **more)
    return released, [released.answer(query) for query in QUERIES if query.count(",") < plan.width]


@cache
def list_plan(relation: NeighbouringRelation, gaussian: bool, variant: str) -> Any:
    return plan_lists(family_of(3, 2, variant), BUDGETS[gaussian], size=RECORDS, relation=relation)


def release_of_lists(plan: Any, table: Any, **more: Any) -> tuple[Any, list[object]]:
    released = release_lists(private(plan.family, table), plan, **more)
    return released, [released.answer("010")]


def counted_in_lists(curator: Any) -> int:
    """Whether rows count anything in the empty conjunction."""
    curator._dataset.count()
    return SECRET * (int(curator._dataset._counts[0][0]) > 0)


def release_points(plan: Any, table: Any, **more: Any) -> tuple[Any, list[object]]:
    released = release_halfspaces(points.points_of(table), plan, **more)
    return released, [released.answer("1,2", estimate=one) for one in Estimator]


@cache
def sanitizer_plan(relation: NeighbouringRelation, gaussian: bool, variant: tuple[str, bool]) -> Any:
    """Return a plan; with the second of a variant a function is asked for the records of the table, not for all."""
    kind, asked = variant
    with mock.patch("dpopt.queries.polynomial_families.MOST_RECORDS", 1 if asked else 2**16):
        return plan_sanitizer(FAMILIES[kind], BUDGETS[gaussian], size=RECORDS, relation=relation)


def release_polynomial(plan: Any, table: Any, **more: Any) -> tuple[Any, list[object]]:
    released = release_sanitizer(dataset_of(plan.family.schema, table), plan, **more)
    return released, [released.answer([0]), released.answer([])]


PEOPLE = ((0, 0, 0), (1, 2, 1), (1, 2, 1), (0, 1, 0), (1, 0, 1))
PAIRS_OF_CODES = ((0, 0), (1, 2), (1, 2), (0, 1), (1, 0))
FEW, MANY = points.UNIVERSE[:SECRET], (*points.UNIVERSE[SECRET : 2 * SECRET], points.UNIVERSE[SECRET])
NOTHING, ONES = ((((0, True),), (0, 0)),) * 5, ((((0, True),), (1, 1)),) * 5

KINDS: dict[str, Kind] = {
    "bins": Kind(
        plan=bins_plan,
        variants=[
            *(("histogram", ranges) for ranges in ("all", "sizes:1,3", "worst")),
            *(("grid", shapes) for shapes in ("cubes", "rectangles", "rounds")),
            *(("rounds", ranges) for ranges in ("all", "sizes:1,3")),
            ("counts", BINS),
            *(("degrees", length) for length in (None, 4, NODES, 20)),
            *(("ranked", ranked) for ranked in (0, 3)),
        ],
        records=counts_of,
        release=release_bins,
        write=write_bins,
        file="release.json",
        draws=draws_of_bins,
        pairs={
            "grid": (REPLACE, False, ("grid", "rectangles"), IN_BINS),
            "histogram": (REPLACE, False, ("histogram", "all"), IN_BINS),
            "histogram, add-remove": (ADD_REMOVE, True, ("histogram", "all"), IN_BINS),
            "rounds": (REPLACE, False, ("rounds", "all"), IN_BINS),
            "rounds, add-remove": (ADD_REMOVE, False, ("rounds", "all"), MANY_IN_BINS),
            "grid in rounds": (ADD_REMOVE, True, ("grid", "rounds"), MANY_IN_BINS),
            "waves": (ADD_REMOVE, True, ("waves", "all"), IN_BINS),
            "degrees": (REPLACE, False, ("degrees", None), GRAPHS),
            "degrees of a declared number": (ADD_REMOVE, False, ("degrees", NODES), GRAPHS),
        },
        secret=lambda curator: int(curator._dataset._counts[-1]),
        examples=80,
    ),
    "intervals": Kind(
        plan=partition_plan,
        variants=["intervals", "boxes"],
        records=counts_of,
        release=release_parts,
        write=write_partition,
        file="release.json",
        draws=None,
        pairs={
            "intervals": (ADD_REMOVE, False, "intervals", IN_BINS),
            "intervals, Gaussian": (REPLACE, True, "intervals", IN_BINS),
            "boxes": (REPLACE, False, "boxes", IN_BINS),
        },
        secret=lambda curator: int(curator._dataset._counts[-1]),
        examples=25,
        measures=(SearchingCurator, "_compared"),
        told=False,
    ),
    "conjunctions": Kind(
        plan=summary_plan,
        variants=[(which, width) for which in ("all", "positive") for width in (2, 3)],
        records=tables_of(lambda plan: SCHEMA),
        release=release_of_summary,
        write=writing("summary.npz"),
        file="summary.npz",
        draws=lambda plan: len(plan.sizes),
        pairs={
            "replace": (REPLACE, False, ("all", 3), (PEOPLE, ((1, 1, 0),) * 5)),
            "add-remove": (ADD_REMOVE, True, ("all", 3), (PEOPLE, ((1, 1, 0),) * 3)),
            "positive": (ADD_REMOVE, False, ("positive", 2), (PEOPLE, ((1, 1, 0),) * 3)),
        },
        secret=lambda curator: int(curator._dataset._counts[0][-1]),
        examples=60,
    ),
    "lists": Kind(
        plan=list_plan,
        variants=["lists", "disjunctions"],
        records=lambda plan, rows: lists_of(st.sampled_from(rows_of(plan.family)), rows).map(tuple),
        release=release_of_lists,
        write=writing("lists.npz"),
        file="lists.npz",
        draws=lambda plan: len(plan.sizes),
        pairs={
            "replace": (REPLACE, False, "lists", (NOTHING, ONES)),
            "add-remove": (ADD_REMOVE, True, "lists", (NOTHING, ONES[:3])),
        },
        secret=counted_in_lists,
        examples=40,
    ),
    "halfspaces": Kind(
        plan=lambda relation, gaussian, variant: points.tiny_plan(relation, gaussian=gaussian),
        variants=[None],
        records=lambda plan, rows: lists_of(st.sampled_from(points.UNIVERSE), rows).map(tuple),
        release=release_points,
        write=writing("halfspaces.npz"),
        file="halfspaces.npz",
        draws=lambda plan: len(plan.scales),
        pairs={"sides": (ADD_REMOVE, False, None, (FEW, MANY))},
        secret=lambda curator: int(curator._dataset._rows),
        examples=25,
        size=ROWS,
        told=False,
    ),
    "polynomials": Kind(
        plan=sanitizer_plan,
        variants=[
            (kind, asked)
            for kind in ("mixed, sets", "mixed, positive, powers", "table", "function, huge", "function, not a number")
            for asked in (False, True)
        ],
        records=tables_of(lambda plan: plan.family.schema),
        release=release_polynomial,
        write=writing("released.npz"),
        file="released.npz",
        draws=lambda plan: 1,
        pairs={
            "replace": (REPLACE, False, ("mixed, sets", False), (PAIRS_OF_CODES, ((1, 1),) * 5)),
            "add-remove": (ADD_REMOVE, True, ("mixed, positive, powers", False), (PAIRS_OF_CODES, ((1, 1),) * 3)),
            "function": (ADD_REMOVE, False, ("function, huge", True), (PAIRS_OF_CODES, ((1, 1),) * 3)),
        },
        secret=lambda curator: 1 + int((curator._dataset._records._columns[0] == 0).sum()),
        examples=60,
    ),
}
LEAKS: list[Leak] = [
    leak_into_a_log, leak_into_a_warning, leak_into_a_print, leak_into_an_error, leak_into_the_number_of_draws,
]  # fmt: skip
EACH = pytest.mark.parametrize(("kind", "pair"), [(name, pair) for name in KINDS for pair in KINDS[name].pairs])


@pytest.mark.parametrize("name", KINDS)
def test_two_tables_cannot_be_told_apart_once_the_noisy_values_are_given(name: str) -> None:
    """Replace-one: any two of the public size. Add-remove: any two of any sizes, graphs with any numbers of nodes too."""
    kind = KINDS[name]
    plans = st.builds(kind.plan, st.sampled_from(NeighbouringRelation), st.booleans(), st.sampled_from(kind.variants))
    values = st.lists(st.integers(-3, 9) | st.integers(-60, 60), min_size=1, max_size=12).map(tuple)

    @settings(max_examples=kind.examples, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.data(), plans, values)
    def cannot_be_told_apart(data: st.DataObject, plan: Any, noise: tuple[int, ...]) -> None:
        one, two = data.draw(kind.tables(plan)), data.draw(kind.tables(plan))
        seen, files = kind.run(plan, one, noise)
        assert (seen, files) == kind.run(plan, two, noise)
        assert kind.file in files
        draws = sum(text.startswith("draw ") for text in seen)
        assert kind.draws is None or kind.draws(plan) in {draws, None}

    cannot_be_told_apart()


@EACH
def test_the_watcher_does_see_a_difference_between_other_noisy_values(kind: str, pair: str) -> None:
    usual, again = KINDS[kind].both(pair)
    assert usual == again
    other, _ = KINDS[kind].both(pair, (-44, 12, -50))
    assert usual[1][KINDS[kind].file] != other[1][KINDS[kind].file]


@pytest.mark.parametrize(
    ("leak", "kind", "pair"),
    [
        (leak, name, pair)
        for name, kind in KINDS.items()
        for pair in kind.pairs
        for leak in (*LEAKS, *[leak_into_the_progress] * kind.told)
    ],
)
def test_a_planted_leak_is_seen(leak: Leak, kind: str, pair: str) -> None:
    """A number that the table says, in any of these places, is noticed."""
    place, name = (RoundsCurator, "measure_round") if "rounds" in pair else KINDS[kind].measures
    with mock.patch.object(place, name, leaking(getattr(place, name), leak, KINDS[kind].secret)):
        one, two = KINDS[kind].both(pair)
    assert one != two


@EACH
def test_a_noisy_value_that_depends_on_the_table_is_seen(kind: str, pair: str) -> None:
    def leaky(self: WatchedNoise, distribution: str, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return np.asarray(counts % 1000)

    with mock.patch.object(WatchedNoise, "_next", leaky):
        one, two = KINDS[kind].both(pair)
    assert one[1][KINDS[kind].file] != two[1][KINDS[kind].file]


@pytest.mark.parametrize("pair", KINDS["intervals"].pairs)
def test_a_search_without_noise_is_seen(pair: str) -> None:
    def exact(curator: SearchingCurator, exact: NDArray[np.int64], what: object) -> NDArray[np.int64]:
        return np.asarray(exact * 100)  # beyond any threshold of these plans

    with mock.patch.object(SearchingCurator, "_compared", exact):
        one, two = KINDS["intervals"].both(pair)
    assert one[1]["release.json"] != two[1]["release.json"]


def test_degrees_of_the_true_number_of_nodes_are_seen() -> None:
    """The number of nodes with an edge, as it is, in place of what was drawn for it."""
    usual = CountingCurator.measure

    def exact_number(curator: Any, measurement: Any) -> Any:
        found = usual(curator, measurement)
        if not isinstance(measurement, BinsInUse):
            return found
        return mock.Mock(values=measurement.exact(curator._dataset))

    with mock.patch.object(CountingCurator, "measure", exact_number):
        one, two = KINDS["bins"].both("degrees")
    assert one != two


@pytest.mark.parametrize("pair", ["rounds, add-remove", "grid in rounds"])
def test_blocks_that_are_divided_by_exact_counts_are_seen(pair: str) -> None:
    """Each round's values have their noise, and the plan's charge is the same; which blocks are divided follows the table."""
    held: list[BinCounts] = []
    measure, decide = RoundsCurator.measure_round, next_nodes

    def measured(curator: Any, *given: Any) -> Any:
        held[:] = [curator._dataset]
        return measure(curator, *given)

    def decided(shape: Sequence[int], rounds: Sequence[Any], *given: Any, **more: Any) -> NDArray[np.int64]:
        exact = []
        for one in rounds:
            groups = groups_of(shape, one.nodes)
            sums = np.bincount(groups + 1, weights=held[0]._counts, minlength=one.nodes.size + 1)[1:]
            exact.append(replace(one, counts=sums.astype(np.int64)))
        return decide(shape, exact, *given, **more)

    with (
        mock.patch.object(RoundsCurator, "measure_round", measured),
        mock.patch.object(in_rounds, "next_nodes", decided),
    ):
        one, two = KINDS["bins"].both(pair)
    assert one != two


@pytest.mark.parametrize("pair", ["rounds, add-remove", "grid in rounds"])
def test_all_rounds_are_charged_by_the_plan_before_the_first_is_drawn(pair: str) -> None:
    """What rounds divide follows other noisy values; what they cost, and in which order, does not."""
    relation, gaussian, variant, tables = KINDS["bins"].pairs[pair]
    plan = bins_plan(relation, gaussian, variant)
    assert len(plan.scales) > 1
    divided, events = set(), list[str]()

    def spent(ledger: Ledger, charge: Charge) -> None:
        events.append(f"charge {charge.label}")
        spend(ledger, charge)

    spend, draw = Ledger.spend, WatchedNoise._next

    def drawn(self: WatchedNoise, *given: Any) -> NDArray[np.int64]:
        events.append("draw")
        return draw(self, *given)

    with mock.patch.object(Ledger, "spend", spent), mock.patch.object(WatchedNoise, "_next", drawn):
        for noise in ((30, -9, 41), (-44, -12, -50), (900, 900, 900)):
            events.clear()
            released, _ = release_bins(plan, tables[1], noise=WatchedNoise(noise, []))
            divided.add(tuple(len(nodes) for nodes, _ in released.noisy))
            assert events[0] == f"charge {plan.charges()[0].label}"
            assert set(events[1:]) == {"draw"}
    assert len(divided) > 1


# Whole commands, from reading a file to what is made of the released one.

COLUMNS = Schema(
    (
        Attribute("age", AttributeKind.NUMERIC, edges=(0.0, 10.0, 20.0, 30.0, 40.0), integer=True),
        Attribute("rooms", AttributeKind.NUMERIC, edges=(0.0, 1.0, 2.0, 5.0), integer=True),
    )
)


@dataclass(frozen=True)
class Command:
    """A command that releases something, two files with equal numbers of records, and what makes more of its file.

    Attributes
    ----------
    release, after : sequence
        The words of both commands; OUT stands for the released file, and FOLDER for that of all files.
    files : tuple
        Lines of two files.
    more : tuple
        Further lines of the second one under add-remove, or all of its lines where records are no lines.
    header : tuple
        The first lines of each.
    schema : Schema or None
    sized : bool
        Whether the number of records is declared under add-remove.
    left : set
        The files that are left.
    name : str
        Of the table.
    """

    release: Sequence[object]
    after: Sequence[object]
    files: tuple[tuple[str, ...], tuple[str, ...]]
    more: tuple[str, ...]
    left: frozenset[str]
    header: tuple[str, ...] = ()
    schema: Schema | None = None
    sized: bool = False
    name: str = "input.csv"

    def lines(self, number: int, relation: NeighbouringRelation) -> list[str]:
        """Return one of two files; under add-remove the second has more records, in counts too."""
        own, more = self.files[number], self.more if number and relation is ADD_REMOVE else ()
        return [*self.header, *(more if more and "--counts" in self.release else (*own, *more))]


EXPORT = ("export", "FOLDER/out.json", "-o", "FOLDER/out.csv")
bins_command = partial(Command, left=frozenset({"out.json", "out.csv"}))
column_command = partial(
    bins_command,
    files=(("3,0", "39,4", "12,1"), ("12,1", "12,1", "12,1")),
    more=("5,4", "25,0"),
    header=("age,rooms",),
    schema=COLUMNS,
)
count_command = partial(
    bins_command, files=(("0", "3", "0", "1"), ("1", "1", "1", "1")), more=("1", "7", "0", "1"), header=("n",)
)
edge_command = partial(
    bins_command, files=(("a b", "a c", "a d", "b c"), ("k l", "m n", "o p", "a q")), name="input.txt"
)
FOUR_PROJECTIONS = ("--projections", 4, "--directions", 4)
COMMANDS = {
    "column": column_command(("histogram", "--column", "age"), EXPORT),
    "counts": count_command(("histogram", "--counts", "n"), EXPORT),
    "columns": column_command(("grid", "--columns", "age,rooms"), EXPORT),
    "column in rounds": column_command(("histogram", "--column", "age", "--measure", "rounds"), EXPORT),
    "columns in rounds": column_command(("grid", "--columns", "age,rooms", "--shapes", "rounds"), EXPORT),
    "sorted column": column_command(("sorted", "--column", "age"), EXPORT),
    "sorted counts": count_command(("sorted", "--counts", "n"), EXPORT),
    "declared nodes": edge_command(("degrees", "--nodes", 12), EXPORT, more=("x y",)),
    "bought nodes": edge_command(("degrees", "--nodes", "noisy"), EXPORT, more=("x y", "y z")),
    "conjunctions": Command(
        ("summary", "--k", 3),
        ("answer", "FOLDER/out.npz", "--query", QUERIES[0], "--query", QUERIES[1]),
        (("true,x,false", "false,z,true", "true,z,true"), ("false,y,false", "false,y,false", "true,y,false")),
        ("false,x,true",),
        frozenset({"out.npz"}),
        header=("smoker,city,ill",),
        schema=SCHEMA,
        sized=True,
    ),
    "lists": Command(
        ("lists", "--variables", "x1,x2,x3", "--k", 2),
        ("answer", "FOLDER/out.npz", "--query", "010", "--query", "111"),
        (("x1:1, else:0", "!x2:0, x3:1, else:0", "else:1"), ("x3:0, else:1", "x1:1, x2:0, else:1", "else:0")),
        ("x1:0, else:0",),
        frozenset({"out.npz"}),
        sized=True,
        name="rows.txt",
    ),
    "halfspaces": Command(
        ("halfspaces", "--normalise", "--margin", 0.4, "--projected-to", 2, *FOUR_PROJECTIONS),
        ("answer", "FOLDER/out.npz", "--query", "1,2,3"),
        (("1,0,2", "3,4,5", "1,1,1"), ("-1,0,0", "0,-2,1", "5,5,-1")),
        ("1,2,2",),
        frozenset({"out.npz"}),
        header=("a,b,c",),
        sized=True,
    ),
}


@pytest.mark.parametrize("kind", COMMANDS)
@pytest.mark.parametrize("budget", [("--epsilon", 1), ("--epsilon", 1, "--delta", 0), ("--rho", 0.2)])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_two_files_cannot_be_told_apart_from_reading_to_the_released_file(
    relation: NeighbouringRelation, budget: tuple[object, ...], kind: str, tmp_path: Path
) -> None:
    """The whole command, and what can be made of its file; under add-remove with different numbers of records."""
    command, seen = COMMANDS[kind], []
    group, *options = [*command.release, *budget, "--neighbours", relation.value]
    if command.schema is not None:
        command.schema.write(tmp_path / "schema.json")
        options += ["--schema", tmp_path / "schema.json"]
    options += ["--n0", 5] if command.sized and relation is ADD_REMOVE else []
    for number in (0, 1):
        folder = tmp_path / str(number)
        folder.mkdir()
        table, watcher = folder / command.name, Watcher()
        table.write_text("\n".join([*command.lines(number, relation), ""]), encoding="utf-8")
        noise = WatchedNoise((4, 3, 9, 2), watcher.seen)
        after = [str(word).replace("FOLDER", str(folder)) for word in command.after]
        out = next(word for word in after if word.startswith(str(folder)))
        with (
            mock.patch("dpopt.private.curators.door.OpendpNoise", return_value=noise),
            mock.patch("dpopt.private.curators.door.is_trusted", trusted),
            watched(watcher.seen),
        ):
            results = [call(group, "release", table, *options, "-o", out), call(group, *after)]
        table.unlink()
        texts = [(result.exit_code, result.stdout, SECONDS.sub("some", result.stderr)) for result in results]
        assert [code for code, *_ in texts] == [0, 0], texts
        heard = [str(part).replace(str(folder), "") for part in [*texts, *watcher.seen]]
        seen.append((heard, contents(folder)))
    assert seen[0] == seen[1]
    assert any(text.startswith("draw ") for text in seen[0][0])
    assert set(seen[0][1]) == command.left
