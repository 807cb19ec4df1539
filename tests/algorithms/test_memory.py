from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from dpopt import machine
from dpopt.algorithms import memory
from dpopt.algorithms.measured.plan import MeasuredPlan
from dpopt.algorithms.memory import (
    ExpectedMemory,
    available_memory,
    check_memory,
    expected_memory,
    note_on_memory,
    number_of_named_columns,
)
from dpopt.algorithms.options import Noise
from dpopt.algorithms.registry import algorithm_of, plan_of
from dpopt.algorithms.request import Terms
from dpopt.arrays import freeze
from dpopt.errors import PlanError
from dpopt.queries import Clauses
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.schema import Schema
from tests.strategies import clause_lists, clauses_of

SIZES = (3, 2, 5, 2)


def triples(queries: int, attributes: int) -> Clauses:
    base = np.random.default_rng(0).integers(0, attributes - 2, (queries, 1))
    ones = np.ones((queries, 3), dtype=np.int32)
    return Clauses.conjunctions(freeze((base + np.arange(3)).astype(np.int32)), freeze(ones), freeze(ones == 1))


@pytest.fixture(autouse=True)
def _no_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process and its control group may hold what they like, wherever the tests run."""
    monkeypatch.setattr(machine, "memory_limit", lambda: None)
    monkeypatch.setattr(memory, "GROUP", tmp_path / "no group")


def two(width: int) -> NDArray[np.int32]:
    return np.full(width, 2, dtype=np.int32)


@given(clause_lists(SIZES))
def test_named_columns_are_counted_one_by_one(clauses: Clauses) -> None:
    """An attribute of two codes is one column of bits, whichever of its codes are named."""
    named = {
        (a, v if SIZES[a] != 2 else 0)
        for a, v in zip(clauses.attributes.ravel().tolist(), clauses.values.ravel().tolist(), strict=True)
        if a >= 0
    }
    with pytest.MonkeyPatch.context() as patched:
        for step in (1 << 18, 3):
            patched.setattr(memory, "STEP", step)
            assert number_of_named_columns(clauses, np.array(SIZES)) == len(named)


def test_items_follow_the_public_numbers() -> None:
    clauses, sizes = triples(2_000, 1_500), two(1_500)
    usual = dict(expected_memory(clauses, sizes, rows=80_000, rounds=50, draws=300).items)
    assert usual["columns that queries name, as bits"] == number_of_named_columns(clauses, sizes) * 10_064
    assert usual["queries"] == sum(
        array.nbytes for array in (clauses.attributes, clauses.values, clauses.signs, clauses.accepted)
    )
    assert usual["draws of all rounds"] == 50 * 300 * 16
    assert usual["records of all rounds"] == 50 * 188
    many = dict(expected_memory(clauses, sizes, rows=80_000, rounds=50, draws=5_000).items)
    assert many["draws of all rounds"] == 50 * 2_000 * 16
    streamed = dict(expected_memory(clauses, sizes, rows=80_000, rounds=50, draws=300, rows_at_once=8_000).items)
    assert streamed["columns that queries name, as bits"] < usual["columns that queries name, as bits"] / 9
    assert streamed["queries"] == usual["queries"]


def test_very_many_columns_of_bits_are_counted_some_at_a_time() -> None:
    clauses, sizes, item = triples(2_000, 1_500), two(1_500), "columns that queries name, as bits"
    for binary, most in ((False, 2**50), (True, 2**32)):
        found = dict(expected_memory(clauses, sizes, rows=10**10, rounds=5, draws=9, binary=binary).items)
        assert found[item] == min(number_of_named_columns(clauses, sizes) * (10**10 // 8 + 64), most)


def test_records_of_more_codes_take_four_bytes_an_attribute() -> None:
    clauses = clauses_of([([(0, 1, True)], 2)])
    found = dict(expected_memory(clauses, np.full(2_000, 3), rows=10, rounds=7, draws=5).items)
    assert found["records of all rounds"] == 7 * 8_000


def test_a_transcript_is_counted_where_it_is_read() -> None:
    clauses, sizes = triples(2_000, 1_500), two(1_500)
    fresh = expected_memory(clauses, sizes, rows=10, rounds=9, draws=300)
    resumed = expected_memory(clauses, sizes, rows=10, rounds=9, draws=300, resumed=True)
    assert resumed.total - fresh.total == 9 * (300 * 80 + 2 * 188)


def test_a_run_over_half_a_million_columns_fits_a_small_machine() -> None:
    clauses, sizes = triples(100_000, 512_000), two(512_000)
    found = expected_memory(clauses, sizes, rows=100_000, rounds=63, draws=50_000)
    assert 2e9 < found.total < 5e9


SMALL = ExpectedMemory((("queries", 3_000_000_000), ("scores", 5_000_000_000)))


def test_a_run_that_does_not_fit_is_refused_with_the_numbers() -> None:
    with pytest.raises(PlanError) as refusal:
        check_memory(SMALL, 7_999_999_999)
    text = str(refusal.value)
    assert "needs about 8.00 GB: scores 5.00 GB, queries 3.00 GB; the machine has 8.00 GB available" in text
    assert "draws=" in text
    assert "engine='stream'" in text


def test_a_run_that_fits_is_not_refused() -> None:
    check_memory(SMALL, 8_000_000_000)


def test_much_memory_is_reported_and_too_little_of_a_run_that_goes_on_is_no_refusal() -> None:
    assert note_on_memory(ExpectedMemory((("queries", 1_000_000_000),))) is None
    assert note_on_memory(SMALL) == note_on_memory(SMALL, 8_000_000_000) == f"memory: about {SMALL.describe()}"
    scarce = note_on_memory(SMALL, 7_999_999_999)
    assert scarce is not None
    assert "queries 3.00 GB; the machine has 8.00 GB available" in scarce
    assert "resume it on a machine with more memory, or with --engine stream if the table is no wide one" in scarce
    assert note_on_memory(ExpectedMemory((("queries", 9),)), 8) is not None


def test_the_least_of_machine_process_and_control_group_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "GROUP", tmp_path)
    monkeypatch.setattr(machine, "free_memory", lambda: 20_000_000)
    assert available_memory() == 20_000_000
    monkeypatch.setattr(machine, "memory_limit", lambda: 9_000_000)
    assert available_memory() == 9_000_000
    (tmp_path / "memory.max").write_text("max\n", encoding="ascii")
    (tmp_path / "memory.current").write_text("3000000\n", encoding="ascii")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 1000000\n", encoding="ascii")
    assert available_memory() == 9_000_000
    (tmp_path / "memory.max").write_text("4000000\n", encoding="ascii")
    assert available_memory() == 2_000_000


def test_marginals_are_counted_without_writing_out_their_cells() -> None:
    workload = parse_workload("marginals:2", Schema.binary(300))
    listed = expected_memory(workload.clauses, workload.schema.sizes, rows=9, rounds=2, draws=3)
    assert expected_memory(workload.queries, workload.schema.sizes, rows=9, rounds=2, draws=3) == listed


def test_a_fit_of_wide_records_is_refused_where_it_would_not_find_room() -> None:
    schema = Schema.binary(300_000)
    workload = parse_workload("conjunctions:3,count=100,seed=1", schema)
    asked = Terms.of(algorithm="projection", epsilon=1.0, delta=1e-6, predict=False)
    plan = plan_of(asked.request(1000), workload)
    needed = algorithm_of(plan).expected_memory(plan, workload)
    assert isinstance(plan, MeasuredPlan)
    assert plan.fit is not None
    assert needed is not None
    items = dict(needed.items)
    assert plan.fit.records == 200
    assert items["fitted records of all snapshots"] == 10 * 200 * 4 * 300_000
    assert items["queries as records are fitted to them"] == 100 * 3 * memory.FITTED
    with pytest.raises(PlanError, match="fitted records of all snapshots 2.4"):
        check_memory(needed, 2_000_000_000)
    marginals = parse_workload("marginals:1,count=3,seed=1", schema)
    for terms, asked_of in ((asked, marginals), (replace(asked, algorithm=Noise()), workload)):
        other = plan_of(terms.request(1000), asked_of)
        assert algorithm_of(other).expected_memory(other, asked_of) is None
