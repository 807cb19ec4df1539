"""Every way to count clauses, on every kind of table, against plain NumPy; and that the ways are taken when they are forced."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import SchemaError, WorkloadError
from dpopt.queries import Clauses
from dpopt.queries.counting import bitmaps, counting, resolved_kernels
from dpopt.queries.counting import sparse_kernels as list_counts
from dpopt.queries.counting.binary_columns import BinaryColumns, BitColumns, SparseColumns
from dpopt.queries.counting.counting import count_on_columns
from tests.strategies import clause_lists, clauses_of, naive_truth, tables

NEVER, ALWAYS = -1e300, 1e300
WAYS = ["as they choose", "by lists", "by bits, singly", "by bits, in sets", "in tiles, singly", "in tiles, in sets"]


def force(patch: pytest.MonkeyPatch, way: str) -> None:
    """Take one way for all clauses that it can count."""
    if way == "as they choose":
        return
    patch.setattr(counting, "LEAST_STEPS", ALWAYS if way == "by lists" else NEVER)
    patch.setattr(bitmaps, "PAIRS_PER_CLAUSE", 1e9 if way.endswith("sets") else -1.0)
    if way.startswith("in tiles"):
        patch.setattr(bitmaps, "MOST_IN_ROWS", 0)


def sparse(table: NDArray[np.integer]) -> SparseColumns:
    starts = np.concatenate(([0], np.cumsum(np.count_nonzero(table, axis=0)))).astype(np.int64)
    return SparseColumns(len(table), starts, np.nonzero(table.T)[1].astype(np.uint32))


def bits(table: NDArray[np.integer]) -> BitColumns:
    padded = np.zeros((-(-len(table) // 64) * 64, table.shape[1]), dtype=np.uint8)
    padded[: len(table)] = table
    packed = np.packbits(padded.T, axis=1, bitorder="little")
    return BitColumns(len(table), np.ascontiguousarray(packed).view(np.uint64))


def codes(table: NDArray[np.integer]) -> list[NDArray[np.integer]]:
    return [table[:, column].astype(np.uint8) for column in range(table.shape[1])]


def kinds(table: NDArray[np.integer]) -> list[list[NDArray[np.integer]] | BinaryColumns]:
    return [codes(table), sparse(table), bits(table)]


def random_clauses(generator: np.random.Generator, m: int, columns: int, widest: int) -> Clauses:
    """Clauses of every width, sign, code and mask; half of them conjunctions, an eighth parities."""
    attributes = np.argsort(generator.random((m, columns)), axis=1)[:, :widest].astype(np.int32)
    widths = generator.integers(0, widest + 1, size=m)
    attributes[np.arange(widest) >= widths[:, None]] = -1
    used = attributes >= 0
    values = generator.integers(0, 2, size=attributes.shape) * used
    signs = (generator.random(attributes.shape) < 0.5) & used
    full = (2 << widths) - 1
    masks = generator.integers(0, 1 << 31, size=m) & full
    kind = generator.integers(0, 8, size=m)
    masks = np.where(kind < 4, 1 << widths, np.where(kind == 4, 0xAAAAAAAA & full, masks))
    return Clauses(attributes, values.astype(np.int32), signs, masks.astype(np.uint32))


def naive(table: NDArray[np.integer], clauses: Clauses) -> NDArray[np.int64]:
    """Count in NumPy, one literal position at a time."""
    number = np.zeros((len(clauses), len(table)), dtype=np.int64)
    for literal in range(clauses.width):
        attributes = clauses.attributes[:, literal]
        equal = clauses.values[:, literal, None] == table[:, attributes].T
        number += (equal == clauses.signs[:, literal, None]) & (attributes >= 0)[:, None]
    return np.asarray((clauses.accepted[:, None] >> number & 1).sum(axis=1), dtype=np.int64)


def uneven_table(generator: np.random.Generator, rows: int, columns: int) -> NDArray[np.uint8]:
    """Columns from empty to full, some of them empty or full over long stretches of records."""
    table = (generator.random((rows, columns)) < np.linspace(0, 1, columns) ** 3).astype(np.uint8)
    if columns > 3:
        table[:, 1] = np.arange(rows) < rows // 2
        table[rows // 3 :, 2] = 0
        table[:, 3] = np.arange(rows) >= rows // 4
    return np.asarray(generator.permuted(table, axis=1) if columns < 3 else table)


@settings(max_examples=60)
@given(st.data(), st.sampled_from(WAYS))
def test_counts_equal_those_of_plain_python(data: st.DataObject, way: str) -> None:
    clauses = data.draw(clause_lists([2] * 8, widest=8))
    records = data.draw(tables([2] * 8))
    expected = naive_truth(clauses, records).sum(axis=1)
    with pytest.MonkeyPatch.context() as patch:
        force(patch, way)
        for table in kinds(records):
            assert np.array_equal(count_on_columns(table, np.full(8, 2), clauses), expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 4096, 4097, 10_000])
def test_every_way_counts_the_same(monkeypatch: pytest.MonkeyPatch, way: str, rows: int) -> None:
    generator = np.random.default_rng(rows)
    table = uneven_table(generator, rows, 12)
    clauses = random_clauses(generator, 300, 12, 5)
    expected = naive(table, clauses)
    force(monkeypatch, way)
    for kept in kinds(table):
        assert np.array_equal(count_on_columns(kept, np.full(12, 2), clauses), expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_borders_and_threads_do_not_change_a_count(monkeypatch: pytest.MonkeyPatch, way: str, threads: int) -> None:
    generator = np.random.default_rng(threads)
    table = uneven_table(generator, 9_000, 30)
    clauses = random_clauses(generator, 500, 30, 4)
    expected = naive(table, clauses)
    force(monkeypatch, way)
    monkeypatch.setattr(bitmaps, "CHUNK", 37)
    monkeypatch.setattr(resolved_kernels, "CHUNK", 37)
    monkeypatch.setattr(bitmaps, "CACHE_WORDS", 5 * 64)
    monkeypatch.setattr(bitmaps, "COPIED_WORDS", 1_000)
    monkeypatch.setattr(list_counts, "MOST_KEPT", 3_000)
    monkeypatch.setattr(list_counts, "MOST_BITS", 8 * -(-9_000 // 64) * 2)
    monkeypatch.setattr(counting, "MOST_BYTES", 9_000 // 8 * 20)
    for kept in kinds(table):
        counts = count_on_columns(kept, np.full(30, 2), clauses, threads=threads)
        assert np.array_equal(counts, expected)


def test_wide_clauses_are_counted_on_every_kind_of_table() -> None:
    generator = np.random.default_rng(4)
    table = uneven_table(generator, 700, 40)
    clauses = random_clauses(generator, 200, 40, 31)
    for kept in kinds(table):
        assert np.array_equal(count_on_columns(kept, np.full(40, 2), clauses), naive(table, clauses))


def test_the_ways_that_tests_force_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each function that counts is replaced by one that says its name: else the tests above could test one way many times."""
    generator = np.random.default_rng(5)
    table = sparse(uneven_table(generator, 500, 9))
    clauses = random_clauses(generator, 50, 9, 3)
    taken: list[str] = []

    def watched(module: object, name: str) -> None:
        function = getattr(module, name)

        def report(*arguments: object, **named: object) -> object:
            taken.append(name)
            return function(*arguments, **named)

        monkeypatch.setattr(module, name, report)

    watched(list_counts, "count_short_pairs")
    watched(list_counts, "count_longest")
    watched(bitmaps, "count_tile")
    watched(bitmaps, "add_triples")
    watched(bitmaps, "copy_in_tiles")
    expected = {
        "by lists": {"count_short_pairs", "count_longest"},
        "by bits, singly": {"count_tile"},
        "by bits, in sets": {"add_triples"},
        "in tiles, singly": {"count_tile", "copy_in_tiles"},
        "in tiles, in sets": {"add_triples", "copy_in_tiles"},
    }
    for way, functions in expected.items():
        taken.clear()
        with monkeypatch.context() as patch:
            force(patch, way)
            count_on_columns(table, np.full(9, 2), clauses)
        assert set(taken) == functions


def test_of_clauses_that_are_counted_by_lists_only_long_columns_become_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(6)
    rows, columns = 20_000, 300
    table = np.zeros((rows, columns), dtype=np.uint8)
    for column in range(columns):
        table[generator.integers(0, rows, size=20 if column % 50 else 1_000), column] = 1
    clauses = Clauses.conjunctions(
        np.sort(np.argsort(generator.random((400, columns)), axis=1)[:, :3], axis=1),
        np.ones((400, 3), dtype=int),
        generator.random((400, 3)) < 0.5,
    )
    packed: list[int] = []
    pack = SparseColumns.pack_into

    def watch(self: SparseColumns, wanted: NDArray[np.int64], words: NDArray[np.uint64]) -> None:
        packed.extend(wanted.tolist())
        pack(self, wanted, words)

    monkeypatch.setattr(SparseColumns, "pack_into", watch)
    force(monkeypatch, "by lists")
    counts = count_on_columns(sparse(table), np.full(columns, 2), clauses)
    assert np.array_equal(counts[::40], naive(table, clauses.take(np.arange(400)[::40])))
    assert packed
    assert all(column % 50 == 0 for column in packed)


def test_two_codes_take_one_column(monkeypatch: pytest.MonkeyPatch) -> None:
    clauses = clauses_of([([(0, 0, True), (1, 1, False)], 4), ([(0, 1, True), (2, 2, True)], 2)])
    made: list[int] = []
    of_codes = bitmaps.Bitmaps.of_codes

    def watch(*arguments: object) -> bitmaps.Bitmaps:
        result = of_codes(*arguments)  # type: ignore[arg-type]
        made.append(result.columns)
        return result

    monkeypatch.setattr(bitmaps.Bitmaps, "of_codes", watch)
    table = [np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([2, 2, 0])]
    assert count_on_columns(table, np.array([2, 2, 3]), clauses).tolist() == [1, 2]
    assert made == [3]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", [10, 20_000])
def test_progress_is_reported_in_the_same_steps_for_every_table(rows: int, threads: int) -> None:
    generator = np.random.default_rng(7)
    table = uneven_table(generator, rows, 9)
    clauses = random_clauses(generator, 200, 9, 5)
    for kept in kinds(table):
        shares: list[float] = []
        count_on_columns(kept, np.full(9, 2), clauses, threads=threads, progress=shares.append)
        assert shares == [step / 20 for step in range(1, 21)]


@pytest.mark.parametrize("way", WAYS)
def test_a_nearly_empty_table_costs_its_ones_and_counts_the_same(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """A file may announce four thousand million records and list a few ones: bits of a column would be 500 MB."""
    generator = np.random.default_rng(10)
    table = (generator.random((90, 12)) < 0.3).astype(np.uint8)
    ones = sparse(table)
    places = np.sort(generator.choice(2**32 - 1, size=90, replace=False)).astype(np.uint32)
    huge = SparseColumns(2**32 - 1, ones.starts, places[ones.listed])
    clauses = random_clauses(generator, 300, 12, 5)
    empty = naive(np.zeros((1, 12), dtype=np.uint8), clauses)
    expected = naive(table, clauses) + (2**32 - 1 - 90) * empty
    longest: list[int] = []
    pack = SparseColumns.pack_into

    def watch(self: SparseColumns, wanted: NDArray[np.int64], words: NDArray[np.uint64]) -> None:
        longest.append(words.shape[1])
        pack(self, wanted, words)

    monkeypatch.setattr(SparseColumns, "pack_into", watch)
    force(monkeypatch, way)
    shares: list[float] = []
    counts = count_on_columns(huge, np.full(12, 2), clauses, progress=shares.append)
    assert np.array_equal(counts, expected)
    assert shares == [step / 20 for step in range(1, 21)]
    assert longest
    assert max(longest) <= 64  # words; of all records there would be 67 million


def test_no_clauses_and_clauses_without_literals() -> None:
    table = uneven_table(np.random.default_rng(8), 70, 4)
    for kept in kinds(table):
        assert count_on_columns(kept, np.full(4, 2), clauses_of([])).shape == (0,)
        assert count_on_columns(kept, np.full(4, 2), clauses_of([([], 1), ([], 0)])).tolist() == [70, 0]


def test_what_does_not_fit_is_refused() -> None:
    table = uneven_table(np.random.default_rng(9), 70, 4)
    clauses = clauses_of([([(0, 1, True)], 2)])
    for kept in kinds(table):
        with pytest.raises(SchemaError, match="4 columns of .* for 5 attributes"):
            count_on_columns(kept, np.full(5, 2), clauses)
        for wrong in ((4, 1, True), (3, 2, True)):
            with pytest.raises(WorkloadError, match="attribute number"):
                count_on_columns(kept, np.full(4, 2), clauses_of([([wrong], 2)]))
    with pytest.raises(SchemaError, match="give each attribute two codes"):
        count_on_columns(sparse(table), np.array([2, 3, 2, 2]), clauses)
    with pytest.raises(SchemaError, match="attribute number 0: a code lies outside"):
        count_on_columns([np.array([0, 2])], np.array([2]), clauses)
