"""With the draw scripted, whole runs of SmallDB do not tell two tables apart; its draws read the system's generator alone."""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import ChargeKind
from dpopt.accounting.ledger import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.release import release
from dpopt.algorithms.small_database.plan import SmallDatabasePlan
from dpopt.private.curators import net_curator
from dpopt.private.mechanisms.net.net_distribution import Multisets
from dpopt.private.mechanisms.net.net_draw import draw_multiset
from dpopt.private.mechanisms.randomness import ScriptedWords, SeededWords
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.job import Job
from dpopt.releases.progress import Silent
from dpopt.releases.run import Sources
from tests.tiny_runs import ADD_REMOVE, REPLACE, Table, bits_schema, dataset_of

SCHEMA = bits_schema(3)
TABLES: list[Table] = [((0, 0, 0),) * 6, ((1, 1, 1), (0, 1, 0), (1, 0, 0), (1, 1, 0), (0, 0, 1), (1, 1, 1))]
logging.getLogger("numba").setLevel(logging.WARNING)


class Told(Silent):
    """Progress that keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def note(self, text: str) -> None:
        self.seen.append(text)

    def owner_note(self, text: str) -> None:
        self.seen.append(text)

    def begin(self, stage: str) -> None:
        super().begin(stage)
        self.seen.append(stage)

    def share(self, done: float) -> None:
        self.seen.append(f"share {done}")


@contextlib.contextmanager
def scripted(counts: list[int]) -> Iterator[None]:
    """Draw as the private side does, then take the script's database in its place."""
    original = draw_multiset

    def drawn(multisets: Multisets, *given: object, **named: object) -> NDArray[np.int64]:
        original(multisets, *given, **named)  # type: ignore[arg-type]
        return np.array(counts, dtype=np.int64)

    with mock.patch.object(net_curator, "draw_multiset", drawn):
        yield


def job(relation: NeighbouringRelation, records: int) -> Job:
    plan = SmallDatabasePlan(
        records,
        Decimal("0.9"),
        Decimal(1),
        6,
        relation,
        Budget(1.0, 0.0, None, Accountant.PURE),
    )
    return Job(plan, SCHEMA, parse_workload("marginals:2", SCHEMA), {}, {})


@pytest.mark.parametrize("records", [4, 16], ids=["listed", "branch and bound"])
@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE])
def test_two_tables_give_the_same_messages_and_files(
    tmp_path: Path, relation: NeighbouringRelation, records: int, caplog: pytest.LogCaptureFixture
) -> None:
    seen = []
    tables = [*TABLES, TABLES[1][:4]] if relation is ADD_REMOVE else TABLES
    for place, table in enumerate(tables):
        folder, told, printed = tmp_path / str(place), Told(), io.StringIO()
        caplog.clear()
        with scripted([records - 1, 0, 0, 1, 0, 0, 0, 0]), contextlib.redirect_stdout(printed):
            release(dataset_of(SCHEMA, table), job(relation, records), folder, progress=told)
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        assert {"transcript.jsonl", "synthetic.csv", "release.json"} <= set(files)
        seen.append((told.seen, printed.getvalue(), caplog.text, files))
    assert all(one == seen[0] for one in seen)


def test_a_seeded_run_says_that_it_is_not_private(tmp_path: Path) -> None:
    made = release(
        dataset_of(SCHEMA, TABLES[1]), job(REPLACE, 4), tmp_path / "a", sources=Sources(words=SeededWords(1))
    )
    assert not made.ledger.is_private
    assert made.ledger.entries[-1].kind is ChargeKind.NOT_PRIVATE or not made.statement["privacy"]["private"]


def test_draws_read_the_operating_system_s_generator() -> None:
    """The same bytes give the same database; other bytes other ones."""
    found = []
    for name in ("one", "one", "another", "a third"):
        given = 0

        def urandom(count: int, name: str = name) -> bytes:
            nonlocal given
            start, given = given, given + count
            return hashlib.shake_256(name.encode()).digest(given)[start:]

        with mock.patch("dpopt.private.mechanisms.randomness.os.urandom", urandom):
            made = release(dataset_of(SCHEMA, TABLES[1]), job(REPLACE, 4), None)
        assert made.ledger.is_private
        assert given > 0
        found.append(made.records.distinct.tolist())
    assert found[0] == found[1]
    assert found[2] != found[0] or found[3] != found[0]


def test_a_script_that_ends_is_no_silent_draw() -> None:
    with pytest.raises(IndexError):
        release(
            dataset_of(SCHEMA, TABLES[1]), job(REPLACE, 4), None, sources=Sources(words=ScriptedWords([]))
        )
