"""With the draws scripted, two wide tables leave the same folder, byte for byte, and print and tell the same."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.algorithms.run_release import run_release
from dpopt.private.readers.read_binary_table import read_binary_table
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.job import Job
from dpopt.releases.run import Sources
from dpopt.schema.schema import Schema
from tests.algorithms.small_runs import plan
from tests.boundary.noninterference import Watcher, watched
from tests.scripted import ScriptedSampler
from tests.wide_tables import FILES, some_cells

ROWS, WIDTH, ROUNDS, DRAWS = 70, 1_030, 3, 5
SCHEMA = Schema.binary(WIDTH)
WORKLOAD = parse_workload("conjunctions:2,count=40,seed=1", SCHEMA)


def left_by(seed: int, layout: str, script: list[list[int]], file_format: str) -> dict[str, object]:
    """Release a table that depends on the seed, and return everything that can be seen of it."""
    made = plan(rounds=ROUNDS, draws=DRAWS, size=ROWS, attributes=WIDTH)
    job = Job(made, SCHEMA, WORKLOAD, {"format": file_format, "rows": None}, {})
    watcher = Watcher()
    with tempfile.TemporaryDirectory() as folder, watched(watcher.seen):
        reading = FILES[layout](Path(folder) / "table", some_cells(ROWS, WIDTH, seed=seed, share=0.01 + seed % 7 / 10))
        dataset = read_binary_table(Path(folder) / "table", SCHEMA, reading)
        run_release(
            dataset, job, Path(folder) / "out", sources=Sources(sampler=ScriptedSampler(script)), progress=watcher
        )
        files: dict[str, object] = {path.name: path.read_bytes() for path in (Path(folder) / "out").iterdir()}
    return {**files, "seen": [text.replace(folder, "") for text in watcher.seen]}


@pytest.mark.parametrize(("layout", "file_format"), [("csr", "npz"), ("baskets", "baskets"), ("bits", "npz")])
@given(st.integers(0, 999), st.integers(0, 999), st.data())
@settings(max_examples=2, deadline=None)
def test_wide_tables_leave_the_same(layout: str, file_format: str, one: int, other: int, data: st.DataObject) -> None:
    script = [
        data.draw(st.lists(st.integers(0, 2 * len(WORKLOAD) - 1), min_size=DRAWS, max_size=DRAWS))
        for _ in range(ROUNDS)
    ]
    first, second = (left_by(seed, layout, script, file_format) for seed in (one, other))
    assert len(first) >= 6
    assert first == second
