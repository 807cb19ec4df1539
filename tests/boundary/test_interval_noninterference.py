"""With the noisy values scripted, whole releases of intervals and boxes do not tell two tables apart."""

from __future__ import annotations

import ast
import json
import logging
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
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
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS
from dpopt.private.curators.searching_curator import SearchingCurator
from dpopt.private.mechanisms.noise import Noise, OpendpNoise, ScriptedNoise
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.releases.folder_files import write_json
from dpopt.synopses.intervals.interval_planning import plan_intervals
from dpopt.synopses.intervals.partition_plan import PartitionPlan
from dpopt.synopses.intervals.partition_release import PartitionRelease
from dpopt.synopses.intervals.partition_table import write_boxes
from dpopt.synopses.intervals.release_intervals import release_partition
from dpopt.synopses.intervals.split_planning import plan_split
from tests.boundary.test_bin_noninterference import WatchedNoise
from tests.boundary.test_noninterference import Watcher, contents, watched
from tests.boundary.test_origin import constructions
from tests.source_code import source_files
from tests.tiny_runs import ADD_REMOVE, REPLACE

BINS, RECORDS = 6, 5
BUDGETS = {
    True: Budget(None, 1e-9, 0.7, Accountant.ZCDP),
    False: Budget(1.5, 0.0, None, Accountant.PURE),
}
Seen = tuple[list[str], dict[str, bytes]]


class LastingNoise(WatchedNoise):
    """Scripted noisy values, given one after the other and over again."""

    place = 0

    def _next(self, size: int) -> NDArray[np.int64]:
        found = self._values[(self.place + np.arange(size)) % self._values.size]
        self.place += size
        return np.asarray(found)

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        super().discrete_gaussian(counts, scale)
        return self._next(counts.size)

    def discrete_laplace(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        super().discrete_laplace(counts, scale)
        return self._next(counts.size)


def run(plan: PartitionPlan, counts: NDArray[np.int64], noise: Noise | None = None) -> PartitionRelease:
    held = BinCounts.from_counts(counts)
    return release_partition(held, plan, noise=noise)


@dataclass(frozen=True)
class Public:
    """Everything public about a release, and the script of its noisy values."""

    plan: PartitionPlan
    noise: tuple[int, ...]

    def run(self, counts: list[int]) -> Seen:
        watcher = Watcher()
        noise = LastingNoise(list(self.noise), watcher)
        held = BinCounts.from_counts(np.array(counts, dtype=np.int64))
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            with (
                watched(watcher),
                mock.patch("dpopt.private.curators.door.is_trusted", return_value=True),
            ):
                released = release_partition(held, self.plan, noise=noise, progress=watcher)
                box = [(1, 4)] if len(self.plan.shape) == 1 else [(0, 1), (1, 3)]
                watcher.seen.append(repr(released.boxes([box])))
                watcher.seen += [repr(released), repr(released.plan)]
                write_json(folder / "release.json", released.to_json())
                write_boxes(released, folder / "boxes.csv")
            return [text.replace(temporary, "") for text in watcher.seen], contents(folder)


def plan_of(kind: str, relation: NeighbouringRelation, *, gaussian: bool) -> PartitionPlan:
    if kind == "boxes":
        return plan_split((2, BINS // 2), BUDGETS[gaussian], RECORDS, relation=relation, rounds=1)
    return plan_intervals(BINS, BUDGETS[gaussian], RECORDS, relation=relation, weights=kind, intervals=4)


@st.composite
def publics(draw: st.DrawFn) -> Public:
    kind = draw(st.sampled_from(["measured", "printed", "boxes"]))
    plan = plan_of(kind, draw(st.sampled_from(NeighbouringRelation)), gaussian=draw(st.booleans()))
    return Public(plan, tuple(draw(st.lists(st.integers(-60, 60), min_size=1, max_size=12))))


def tables(public: Public) -> st.SearchStrategy[list[int]]:
    rows = st.just(RECORDS) if public.plan.relation is REPLACE else st.integers(1, 9)
    places = rows.flatmap(lambda n: st.lists(st.integers(0, BINS - 1), min_size=n, max_size=n))
    return places.map(lambda chosen: np.bincount(np.array(chosen, dtype=np.int64), minlength=BINS).tolist())


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data(), public=publics())
def test_two_tables_cannot_be_told_apart_once_the_noisy_values_are_given(
    data: st.DataObject, public: Public
) -> None:
    """Replace-one: any two of the public size. Add-remove: any two of any sizes."""
    one, two = data.draw(tables(public)), data.draw(tables(public))
    seen, files = public.run(one)
    assert (seen, files) == public.run(two)
    assert {"release.json", "boxes.csv"} <= set(files)


TABLES = [0, 1, 4, 0, 0, 0], [2, 0, 0, 0, 0, 3]
PLANS = {
    kind: plan_of(kind, relation, gaussian=gaussian)
    for kind, relation, gaussian in (
        ("measured", ADD_REMOVE, False),
        ("printed", REPLACE, True),
        ("boxes", REPLACE, False),
    )
}
EACH = pytest.mark.parametrize("kind", PLANS)


def both(kind: str, noise: tuple[int, ...] = (30, -9, 41)) -> tuple[Seen, Seen]:
    public = Public(PLANS[kind], noise)
    return public.run(TABLES[0]), public.run(TABLES[1])


@EACH
def test_the_watcher_does_see_a_difference_between_other_noisy_values(kind: str) -> None:
    usual, again = both(kind)
    assert usual == again
    assert usual[1]["release.json"] != both(kind, (-44, 12, -50))[0][1]["release.json"]


def leak_into_a_log(curator: SearchingCurator, secret: int) -> None:
    logging.getLogger("dpopt").debug("counts %s", secret)


def leak_into_an_error(curator: SearchingCurator, secret: int) -> None:
    if secret == 3:
        raise PlanError("stopped early, since the last bin has three records")


def leak_into_the_number_of_draws(curator: SearchingCurator, secret: int) -> None:
    for _ in range(secret):
        curator._noise.discrete_laplace(np.zeros(1, dtype=np.int64), 1.0)


@EACH
@pytest.mark.parametrize("leak", [leak_into_a_log, leak_into_an_error, leak_into_the_number_of_draws])
def test_a_planted_leak_is_seen(leak: Callable[[SearchingCurator, int], None], kind: str) -> None:
    usual = SearchingCurator._compared

    def leaking(curator: SearchingCurator, *given: Any) -> NDArray[np.int64]:
        leak(curator, int(curator._dataset._counts[-1]))
        return usual(curator, *given)

    with mock.patch.object(SearchingCurator, "_compared", leaking):
        try:
            one, two = both(kind)
        except PlanError:
            return  # of one table, and not of the other
    assert one != two


@EACH
def test_a_search_without_noise_is_seen(kind: str) -> None:
    def exact(curator: SearchingCurator, exact: NDArray[np.int64], what: object) -> NDArray[np.int64]:
        return np.asarray(exact * 100)  # beyond any threshold of these plans

    with mock.patch.object(SearchingCurator, "_compared", exact):
        one, two = both(kind)
    assert one[1]["release.json"] != two[1]["release.json"]


FILES = {file.path: file for file in source_files()}
FOLDER = "dpopt/synopses/intervals/"


def test_ends_of_searches_are_constructed_by_their_curators_alone() -> None:
    places = {
        path for path, file in FILES.items() if re.search(r"(?<!class )NoisySearch\(", ast.unparse(file.tree))
    }
    assert places == {"dpopt/private/curators/searching_curator.py"}
    assert [
        place for path, file in FILES.items() if path.startswith(FOLDER) for place in constructions(file.tree)
    ] == []


def test_a_release_is_made_by_its_drivers_or_read_from_a_file() -> None:
    made = {path for path, file in FILES.items() if "PartitionRelease(" in ast.unparse(file.tree)}
    assert made - {FOLDER + "partition_release.py"} == {
        FOLDER + "release_intervals.py",
    }


@EACH
def test_what_is_released_is_what_opendp_drew(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same draws a run repeats to the last byte; the sums that were drawn last are those on file."""
    plan = PLANS[kind]
    distribution = "discrete_gaussian" if plan.gaussian else "discrete_laplace"
    original = getattr(OpendpNoise, distribution)
    drawn: list[NDArray[np.int64]] = []

    def watched_draw(self: OpendpNoise, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        drawn.append(original(self, counts, scale))
        return drawn[-1]

    counts = np.array(TABLES[0], dtype=np.int64)
    with monkeypatch.context() as patch:
        patch.setattr(OpendpNoise, distribution, watched_draw)
        first = run(plan, counts)
        assert first.privacy["private"]
        for values, last in zip(first.noisy, drawn[len(drawn) - len(first.noisy) :], strict=True):
            assert values.tolist() == last.tolist()
        left = iter(list(drawn))
        patch.setattr(OpendpNoise, distribution, lambda self, counts, scale: next(left))
        assert json.dumps(run(plan, counts).to_json()) == json.dumps(first.to_json())
        assert next(left, None) is None


@EACH
def test_noise_from_anywhere_else_marks_the_release(kind: str) -> None:
    privacy = run(PLANS[kind], np.array(TABLES[0], dtype=np.int64), ScriptedNoise([4, 2])).privacy
    assert privacy["private"] is False
    assert privacy["epsilon"] is None
    assert NOT_PRIVATE_DRAWS in [charge["mechanism"] for charge in privacy["charges"]]
