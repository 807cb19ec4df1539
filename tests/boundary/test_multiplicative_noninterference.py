"""With noise and selections scripted, whole runs of pmw and mwem do not tell two tables apart.

Neither by log records, warnings, what is printed, the progress that is told, errors, nor by a byte of the release folder.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.multiplicative_weights.plan import Learning, MultiplicativePlan
from dpopt.algorithms.options import DATA_STEP, EXACT, HOEFFDING, MARGINALS, MAX_ENTROPY, QUERIES
from dpopt.algorithms.release import release, resume
from dpopt.algorithms.release_folder import read_job
from dpopt.private.curators.multiplicative_curator import MultiplicativeCurator
from dpopt.private.mechanisms.noise import ScriptedNoise
from dpopt.private.selections.multiplicative_scores import SignedQueryDistribution
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.releases.run import Sources
from tests.algorithms.multiplicative_runs import multiplicative_job, multiplicative_plan
from tests.boundary.test_noninterference import RULED, SCHEMA, SIZE, Watcher, contents, tables, watched
from tests.tiny_runs import REPLACE

logging.getLogger("numba").setLevel(logging.WARNING)


@dataclass(frozen=True)
class Public:
    """Everything public about a run, and the script of its noise and selections."""

    plan: MultiplicativePlan
    noise: list[int]
    selections: list[int]
    cut: int | None
    ruled: bool = False
    text: str = "marginals:2"

    def run(self, table: list[list[int]]) -> tuple[list[str], dict[str, bytes]]:
        """Play on a table; return what was seen and the folder."""
        watcher, schema = Watcher(), RULED if self.ruled else SCHEMA
        job = multiplicative_job(self.plan, schema, self.text)
        dataset = PrivateDataset.from_codes(schema, list(np.array(table, dtype=np.int32).T))
        noise = ScriptedNoise(self.noise)
        with (
            tempfile.TemporaryDirectory() as temporary,
            mock.patch("dpopt.private.curators.door.OpendpNoise", return_value=noise),
            mock.patch("os.fsync"),
        ):
            folder = Path(temporary) / "release"
            with self._drawing(), watched(watcher):
                release(dataset, job, folder, sources=Sources(noise=noise), progress=watcher)
            if self.cut is not None:
                transcript = folder / "transcript.jsonl"
                data = transcript.read_bytes()
                transcript.write_bytes(data[: max(1, len(data) * self.cut // 1000)])
                (folder / "release.json").unlink(missing_ok=True)
                with self._drawing(), watched(watcher):
                    resume(folder, dataset, read_job(folder), progress=watcher)
            return [text.replace(temporary, "") for text in watcher.seen], contents(folder)

    def _drawing(self) -> AbstractContextManager[object]:
        marginals, queries = iter(self.selections * 20), iter(self.selections * 20)
        stack = ExitStack()
        stack.enter_context(
            mock.patch(
                "dpopt.private.selections.multiplicative_scores.draw_candidate",
                lambda weights, words: next(marginals) % len(weights),
            )
        )
        stack.enter_context(
            mock.patch.object(
                SignedQueryDistribution,
                "draw",
                lambda self, answers, words: next(queries) % (2 * len(answers)),
            )
        )
        return stack


@st.composite
def publics(draw: st.DrawFn) -> Public:
    select = draw(st.sampled_from([QUERIES, MARGINALS]))
    text = "marginals:2"
    if select == QUERIES:
        text = draw(
            st.sampled_from(["marginals:2", "conjunctions:2,count=6,seed=1", "threshold:1of2,count=4"])
        )
    updates = [MAX_ENTROPY, DATA_STEP, EXACT] + ([HOEFFDING] if select == QUERIES else [])
    update = draw(st.sampled_from(updates))
    alpha = 0.05 if update == HOEFFDING else None
    algorithm = "pmw" if alpha else draw(st.sampled_from(["pmw", "mwem"]))
    if algorithm == "pmw" and select == QUERIES:
        alpha = draw(st.sampled_from([0.02, 0.3]))
    plan = multiplicative_plan(
        algorithm,
        select=select,
        relation=draw(st.sampled_from(NeighbouringRelation)),
        gaussian=draw(st.booleans()),
        size=SIZE,
        rounds=3,
        alpha=alpha,
        learning=Learning(
            update=update,
            replays=draw(st.integers(0, 2)),
            last_replays=2,
            average=draw(st.booleans()),
            records=9,
        ),
    )
    noise = draw(st.lists(st.integers(-3, 9), min_size=1, max_size=8))
    selections = draw(st.lists(st.integers(0, 40), min_size=3, max_size=3))
    return Public(plan, noise, selections, draw(st.none() | st.integers(0, 999)), draw(st.booleans()), text)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data(), public=publics())
def test_two_tables_cannot_be_told_apart_once_the_draws_are_given(
    data: st.DataObject, public: Public
) -> None:
    """Replace-one: any two tables of the public size. Add-remove: any two tables of any sizes."""
    rows = st.just(SIZE) if public.plan.relation is REPLACE else st.integers(1, 12)
    one, two = data.draw(tables(rows)), data.draw(tables(rows))
    assert public.run(one) == public.run(two)


TABLES = [[0, 0, 0]] * SIZE, [[1, 2, 1]] * SIZE


def public_of(noise: list[int] | None = None, selections: list[int] | None = None) -> Public:
    return Public(multiplicative_plan(size=SIZE), noise or [1, 4], selections or [0, 1], None)


def test_the_watcher_does_see_a_difference_between_other_draws() -> None:
    first = public_of().run(TABLES[0])
    for other in (public_of(noise=[2, 3]), public_of(selections=[4, 1])):
        assert first[1]["transcript.jsonl"] != other.run(TABLES[0])[1]["transcript.jsonl"]


LEAKS: dict[str, Callable[[MultiplicativeCurator], object]] = {
    "a log record": lambda curator: logging.getLogger("dpopt").debug("%s", curator._counts[0]),
    "what is printed": lambda curator: print(curator._counts[0]),  # noqa: T201
    "the journal": lambda curator: curator._journal.append({"kind": "torn", "hint": int(curator._counts[0])}),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_is_noticed(leak: str) -> None:
    """The test has teeth: one count in any of these places is seen."""
    usual = MultiplicativeCurator.measure

    def leaking(curator: MultiplicativeCurator, *given: Any, **more: Any) -> Any:
        LEAKS[leak](curator)
        return usual(curator, *given, **more)

    with mock.patch.object(MultiplicativeCurator, "measure", leaking):
        assert public_of().run(TABLES[0]) != public_of().run(TABLES[1])
