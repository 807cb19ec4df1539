"""With the noisy values scripted, whole releases of histograms and of degrees do not tell two inputs apart.

Neither by log records, warnings, what is printed, the progress that is told, errors, nor by a byte of the files that are
written; nor by how often noise is drawn, for how many counts, of which distribution and scale.
"""

from __future__ import annotations

import logging
import re
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
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
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.measurements.bin_measurement import BinsInUse
from dpopt.private.mechanisms.noise import ScriptedNoise
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.releases.folder_files import write_json
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
from dpopt.synopses.histograms.grids.grid_plan import GridPlan, plan_grid
from dpopt.synopses.histograms.grids.release_grid import release_grid
from dpopt.synopses.histograms.histogram import Histogram, write_frequencies, write_table
from dpopt.synopses.histograms.histogram_plan import HistogramPlan, plan_histogram
from dpopt.synopses.histograms.release_histogram import release_histogram
from dpopt.synopses.histograms.sorted.release_sorted import SortedPlan, plan_sorted, release_sorted
from dpopt.synopses.histograms.sorted.sorted_counts import SortedCountsRelease
from tests.boundary.test_noninterference import Watcher, contents, watched
from tests.cli.command_line import call
from tests.tiny_runs import ADD_REMOVE, REPLACE

# What the compiler logs when a kernel is used for the first time is no message of dpopt, and comes once for each process.
logging.getLogger("numba").setLevel(logging.WARNING)

BINS, NODES, RECORDS = 6, 7, 5
BUDGETS = {
    True: Budget(None, 1e-9, 0.7, Accountant.ZCDP),
    False: Budget(1.5, 0.0, None, Accountant.PURE),
}
AnyPlan = HistogramPlan | GridPlan | SortedPlan
Seen = tuple[list[str], dict[str, bytes]]


class WatchedNoise(ScriptedNoise):
    """Scripted noisy values, and a note of each draw that shows nothing of the counts but their number."""

    def __init__(self, values: list[int], watcher: Watcher) -> None:
        super().__init__(values)
        self.watcher = watcher

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        self.watcher.seen.append(f"draw {counts.size} Gaussian of scale {scale}")
        return super().discrete_gaussian(counts, scale)

    def discrete_laplace(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        self.watcher.seen.append(f"draw {counts.size} Laplace of scale {scale}")
        return super().discrete_laplace(counts, scale)


@dataclass(frozen=True)
class Public:
    """Everything public about a release, and the script of its noisy values."""

    plan: AnyPlan
    noise: tuple[int, ...]

    @property
    def graph(self) -> bool:
        return isinstance(self.plan, SortedPlan) and self.plan.bins_of_a_record == 2

    def run(self, counts: list[int]) -> Seen:
        """Release exact counts (degrees, for a graph); return what was seen and the files."""
        watcher, given = Watcher(), np.array(counts, dtype=np.int64)
        held = (
            BinCounts.of_degrees(given, int(given.sum()) // 2) if self.graph else BinCounts.from_counts(given)
        )
        noise = WatchedNoise(list(self.noise), watcher)
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            # The statement is to be that of a private run, so that the claim of this noise is taken.
            with (
                watched(watcher),
                mock.patch("dpopt.private.curators.door.is_trusted", return_value=True),
            ):
                self._release(held, noise, watcher, folder)
            return [text.replace(temporary, "") for text in watcher.seen], contents(folder)

    def _release(self, held: BinCounts, noise: WatchedNoise, watcher: Watcher, folder: Path) -> None:
        released: Histogram | GridHistogram | SortedCountsRelease
        if isinstance(self.plan, GridPlan):
            released = release_grid(held, self.plan, noise=noise, progress=watcher)
            watcher.seen += [repr(released), repr(released.box((0, 1), (1, 3))), repr(released.plan)]
        elif isinstance(self.plan, HistogramPlan):
            released = release_histogram(held, self.plan, noise=noise, progress=watcher)
            write_table(released, folder / "table.csv")
            watcher.seen += [repr(released), repr(released.range(1, 4)), repr(released.plan)]
        else:
            released = release_sorted(held, self.plan, noise=noise, progress=watcher)
            write_frequencies(released.counts, folder / "frequencies.csv")
            watcher.seen.append(repr(released))
        write_json(folder / "release.json", released.to_json())


@lru_cache
def histogram_plan(
    relation: NeighbouringRelation = REPLACE, *, gaussian: bool = False, ranges: str = "all"
) -> HistogramPlan:
    size = RECORDS if relation is REPLACE else None
    return plan_histogram(BINS, BUDGETS[gaussian], ranges=ranges, relation=relation, size=size)


@lru_cache
def grid_plan(
    relation: NeighbouringRelation = REPLACE, *, gaussian: bool = False, shapes: str = "rectangles"
) -> GridPlan:
    size = RECORDS if relation is REPLACE else None
    return plan_grid((2, BINS // 2), BUDGETS[gaussian], shapes=shapes, relation=relation, size=size)


def sorted_plan(
    relation: NeighbouringRelation = REPLACE,
    *,
    gaussian: bool = False,
    graph: bool = True,
    length: int | None = None,
) -> SortedPlan:
    size = RECORDS if relation is REPLACE else None
    return plan_sorted(length, BUDGETS[gaussian], graph=graph, relation=relation, size=size)


@st.composite
def publics(draw: st.DrawFn) -> Public:
    relation, gaussian = draw(st.sampled_from(NeighbouringRelation)), draw(st.booleans())
    kind = draw(st.sampled_from(["histogram", "grid", "counts", "degrees"]))
    plan: AnyPlan
    if kind == "histogram":
        ranges = draw(st.sampled_from(["all", "sizes:1,3", "worst"]))
        plan = histogram_plan(relation, gaussian=gaussian, ranges=ranges)
    elif kind == "grid":
        plan = grid_plan(relation, gaussian=gaussian, shapes=draw(st.sampled_from(["cubes", "rectangles"])))
    elif kind == "counts":
        plan = sorted_plan(relation, gaussian=gaussian, graph=False, length=BINS)
    else:
        length = draw(st.sampled_from([None, 4, NODES, 20]))
        plan = sorted_plan(relation, gaussian=gaussian, length=length)
    return Public(plan, tuple(draw(st.lists(st.integers(-3, 9), min_size=1, max_size=8))))


def inputs(public: Public) -> st.SearchStrategy[list[int]]:
    """Return exact counts of tables, or degrees of graphs: of the public number of records, or of any under add-remove."""
    rows = st.just(RECORDS) if public.plan.relation is REPLACE else st.integers(1, 9)
    if not public.graph:
        places = rows.flatmap(lambda n: st.lists(st.integers(0, BINS - 1), min_size=n, max_size=n))
        return places.map(
            lambda chosen: np.bincount(np.array(chosen, dtype=np.int64), minlength=BINS).tolist()
        )
    edge = st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)).filter(
        lambda ends: ends[0] < ends[1]
    )
    edges = rows.flatmap(lambda n: st.lists(edge, min_size=n, max_size=n, unique=True))
    # As they are read: the nodes with an edge alone, in the order of the file.
    return edges.map(lambda chosen: np.unique(np.array(chosen), return_counts=True)[1].tolist())


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), public=publics())
def test_two_inputs_cannot_be_told_apart_once_the_noisy_values_are_given(
    data: st.DataObject, public: Public
) -> None:
    """Replace-one: any two of the public size. Add-remove: any two of any sizes, graphs with any numbers of nodes too."""
    one, two = data.draw(inputs(public)), data.draw(inputs(public))
    seen, files = public.run(one)
    assert (seen, files) == public.run(two)
    assert "release.json" in files
    assert sum(text.startswith("draw ") for text in seen) == draws_of(public.plan)


def draws_of(plan: AnyPlan) -> int:
    if not isinstance(plan, SortedPlan):
        return len(plan.scales)
    return 2 if plan.length is None else 1


TABLES = [0, 1, 4, 0, 0, 0], [2, 0, 0, 0, 0, 3]
GRAPHS = [1, 1, 2, 3, 3], [1] * 10
PLANS: dict[str, AnyPlan] = {
    "grid": grid_plan(),
    "histogram": histogram_plan(),
    "histogram, add-remove": histogram_plan(ADD_REMOVE, gaussian=True),
    "degrees": sorted_plan(),
    "degrees of a declared number": sorted_plan(ADD_REMOVE, length=NODES),
}
EACH = pytest.mark.parametrize("kind", PLANS)


def both(kind: str, noise: tuple[int, ...] = (3, 0, 1)) -> tuple[Seen, Seen]:
    """Release two inputs by one plan."""
    public = Public(PLANS[kind], noise)
    one, two = GRAPHS if public.graph else TABLES
    return public.run(one), public.run(two)


@EACH
def test_the_watcher_does_see_a_difference_between_other_noisy_values(kind: str) -> None:
    usual, again = both(kind)
    assert usual == again
    assert usual[1]["release.json"] != both(kind, (4, 2, 2))[0][1]["release.json"]


Leak = Callable[[CountingCurator, int], object]


def leak_into_a_log(curator: CountingCurator, secret: int) -> None:
    logging.getLogger("dpopt").debug("counts %s", secret)


def leak_into_a_warning(curator: CountingCurator, secret: int) -> None:
    warnings.warn(f"counts {secret}", stacklevel=1)


def leak_into_a_print(curator: CountingCurator, secret: int) -> None:
    print(secret)  # noqa: T201


def leak_into_an_error(curator: CountingCurator, secret: int) -> None:
    if secret == 3:
        raise PlanError("stopped early, since the last bin has three records")


def leak_into_the_number_of_draws(curator: CountingCurator, secret: int) -> None:
    for _ in range(secret):
        curator._noise.discrete_laplace(np.zeros(1, dtype=np.int64), 1.0)


def leak_into_the_progress(curator: CountingCurator, secret: int) -> None:
    assert curator._progress is not None
    curator._progress(1 / (secret + 2))


LEAKS: list[Leak] = [
    leak_into_a_log,
    leak_into_a_warning,
    leak_into_a_print,
    leak_into_an_error,
    leak_into_the_number_of_draws,
    leak_into_the_progress,
]


@EACH
@pytest.mark.parametrize("leak", LEAKS)
def test_a_planted_leak_is_seen(leak: Leak, kind: str) -> None:
    """A number of records, of one bin or node, in any of these places is noticed."""
    usual = CountingCurator.measure

    def leaking(curator: Any, measurement: Any) -> Any:
        leak(curator, int(curator._dataset._counts[-1]))
        return usual(curator, measurement)

    with mock.patch.object(CountingCurator, "measure", leaking):
        one, two = both(kind)
    assert one != two


@EACH
def test_a_noisy_value_that_depends_on_the_input_is_seen(kind: str) -> None:
    def leaky(self: WatchedNoise, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return np.asarray(np.resize(self._values, counts.shape) + (counts == counts.max()))

    with (
        mock.patch.object(WatchedNoise, "discrete_laplace", leaky),
        mock.patch.object(WatchedNoise, "discrete_gaussian", leaky),
    ):
        one, two = both(kind)
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
        one, two = both("degrees")
    assert one != two


SCHEMA = Schema(
    (
        Attribute("age", AttributeKind.NUMERIC, edges=(0.0, 10.0, 20.0, 30.0, 40.0), integer=True),
        Attribute("rooms", AttributeKind.NUMERIC, edges=(0.0, 1.0, 2.0, 5.0), integer=True),
    )
)
PEOPLE = ["age,rooms", "3,0", "39,4", "12,1"], ["age,rooms", "12,1", "12,1", "12,1"]
LISTED = ["n", "0", "3", "0", "1"], ["n", "1", "1", "1", "1"]
EDGES = ["a b", "a c", "a d", "b c"], ["k l", "m n", "o p", "a q"]
SECONDS = re.compile(r"\d+\.\d\d s")  # how long a stage took
FilePair = tuple[list[str], list[str]]


@dataclass(frozen=True)
class Command:
    """A command that releases something, and two files with equal numbers of records; `more` are further ones."""

    group: str
    options: tuple[object, ...]
    files: FilePair
    more: tuple[str, ...]

    def inputs(self, relation: NeighbouringRelation) -> FilePair:
        """Return two files; under add-remove one has more records, in counts too."""
        one, two = self.files
        if relation is REPLACE:
            return self.files
        return one, (["n", "1", "7", "0", "1"] if self.files is LISTED else [*two, *self.more])


MORE = ("5,4", "25,0")
COMMANDS = {
    "column": Command("histogram", ("--column", "age"), PEOPLE, MORE),
    "counts": Command("histogram", ("--counts", "n"), LISTED, ()),
    "columns": Command("grid", ("--columns", "age,rooms"), PEOPLE, MORE),
    "sorted column": Command("sorted", ("--column", "age"), PEOPLE, MORE),
    "sorted counts": Command("sorted", ("--counts", "n"), LISTED, ()),
    "declared nodes": Command("degrees", ("--nodes", 12), EDGES, ("x y",)),
    "bought nodes": Command("degrees", ("--nodes", "noisy"), EDGES, ("x y", "y z")),
}


@pytest.mark.parametrize("kind", COMMANDS)
@pytest.mark.parametrize("budget", [("--epsilon", 1), ("--epsilon", 1, "--delta", 1e-6), ("--rho", 0.2)])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_two_files_cannot_be_told_apart_from_reading_to_the_released_file(
    relation: NeighbouringRelation, budget: tuple[object, ...], kind: str, tmp_path: Path
) -> None:
    """The whole command, and what can be made of its file; under add-remove with different numbers of records."""
    command = COMMANDS[kind]
    schema = tmp_path / "schema.json"
    SCHEMA.write(schema)
    options = [*command.options, *budget, "--neighbours", relation.value]
    options += ["--schema", schema] if command.files is PEOPLE else []
    seen = []
    for number, lines in enumerate(command.inputs(relation)):
        folder = tmp_path / str(number)
        folder.mkdir()
        table = folder / ("input.txt" if command.files is EDGES else "input.csv")
        table.write_text("\n".join(lines) + "\n", encoding="utf-8")
        out, exported, watcher = folder / "out.json", folder / "out.csv", Watcher()
        noise = WatchedNoise([4, 3, 9, 2], watcher)
        with (
            mock.patch("dpopt.private.curators.door.OpendpNoise", return_value=noise),
            mock.patch("dpopt.private.curators.door.is_trusted", return_value=True),
            watched(watcher),
        ):
            released = call(command.group, "release", table, *options, "-o", out)
            results = [released, call(command.group, "export", out, "-o", exported)]
        table.unlink()
        texts = [(result.exit_code, result.stdout, SECONDS.sub("some", result.stderr)) for result in results]
        assert [code for code, *_ in texts] == [0, 0], texts
        heard = [str(part).replace(str(folder), "") for part in [*texts, *watcher.seen]]
        seen.append((heard, contents(folder)))
    assert seen[0] == seen[1]
    assert any(text.startswith("draw ") for text in seen[0][0])
    assert set(seen[0][1]) == {"out.json", "out.csv"}
