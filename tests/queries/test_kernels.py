from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import SchemaError, WorkloadError
from dpopt.queries import Clauses
from dpopt.queries.counting import bitmaps, kernels, resolved_kernels
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.queries.counting.counting import column_positions, count_on_columns
from dpopt.queries.counting.kernels import count_on_records, satisfied
from dpopt.queries.counting.packing_kernels import pack_codes
from tests.strategies import clause_lists, clauses_of, naive_truth, tables

SIZES = np.array([3, 2, 5, 2, 4, 1, 7, 2], dtype=np.int32)
OFFSETS = np.concatenate(([0], np.cumsum(SIZES))).astype(np.int64)
EVERY = np.arange(OFFSETS[-1], dtype=np.int32)  # a row of bits for each attribute and code


def records_of(rows: int, seed: int = 0) -> NDArray[np.int32]:
    generator = np.random.default_rng(seed)
    return generator.integers(0, SIZES, size=(rows, SIZES.size)).astype(np.int32)


def columns_of(records: NDArray[np.int32]) -> list[NDArray[np.integer]]:
    return [records[:, a].astype(np.uint8) for a in range(records.shape[1])]


def every_mask(width: int) -> Clauses:
    literals = [(a, 0, a % 3 != 1) for a in range(width)]
    return clauses_of([(literals, mask) for mask in range(2 << width)])


@given(st.data())
def test_counts_equal_those_of_plain_python(data: st.DataObject) -> None:
    clauses = data.draw(clause_lists(SIZES.tolist(), widest=8))
    records = data.draw(tables(SIZES.tolist()))
    expected = naive_truth(clauses, records).sum(axis=1)
    assert np.array_equal(count_on_records(clauses, records, SIZES), expected)


@given(st.data())
def test_a_record_satisfies_the_clauses_that_plain_python_says(data: st.DataObject) -> None:
    clauses = data.draw(clause_lists(SIZES.tolist(), widest=8))
    record = np.array([data.draw(st.integers(0, size - 1)) for size in SIZES.tolist()], dtype=np.int32)
    expected = naive_truth(clauses, record[None, :])[:, 0]
    assert np.array_equal(satisfied(clauses, record), expected)
    assert np.array_equal(count_on_records(clauses, record[None, :], SIZES), expected)


@given(st.data())
def test_clauses_over_bits_count_the_same(data: st.DataObject) -> None:
    clauses = data.draw(clause_lists(SIZES.tolist()))
    records = data.draw(tables(SIZES.tolist()))
    used = clauses.attributes >= 0
    bits = Clauses(
        np.where(used, OFFSETS[clauses.attributes] + clauses.values, -1).astype(np.int32),
        used.astype(np.int32),
        clauses.signs,
        clauses.accepted,
    )
    one_hot = np.concatenate([np.eye(SIZES[a], dtype=np.int32)[records[:, a]] for a in range(8)], axis=1)
    sizes = np.full(int(OFFSETS[-1]), 2)
    expected = count_on_records(clauses, records, SIZES)
    assert np.array_equal(count_on_records(bits, one_hot, sizes), expected)


@pytest.mark.parametrize("width", range(1, 8))
@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 511, 512, 513, 3000])
def test_every_mask_is_counted_at_every_number_of_rows(width: int, rows: int) -> None:
    records = records_of(rows)
    clauses = every_mask(width)
    literals = np.stack([(records[:, a] == 0) == (a % 3 != 1) for a in range(width)])
    numbers = np.bincount(literals.sum(axis=0), minlength=width + 1)
    expected = [sum(int(numbers[j]) for j in range(width + 1) if mask >> j & 1) for mask in range(2 << width)]
    assert count_on_records(clauses, records, SIZES).tolist() == expected


def test_the_widest_clauses_are_counted() -> None:
    sizes = np.full(31, 3)
    generator = np.random.default_rng(5)
    records = generator.integers(0, 3, size=(1000, 31)).astype(np.int32)
    literals = [(a, int(generator.integers(3)), bool(generator.integers(2))) for a in range(31)]
    masks = [1 << 31, (1 << 31) - 1, 0xAAAAAAAA, 0x55555555, *generator.integers(0, 1 << 32, size=20).tolist()]
    clauses = clauses_of([(literals, mask) for mask in masks])
    truth = naive_truth(clauses, records)
    assert np.array_equal(count_on_records(clauses, records, sizes), truth.sum(axis=1))
    assert np.array_equal(satisfied(clauses, records[3]), truth[:, 3])


@pytest.mark.parametrize("width", range(1, 32))
def test_conjunctions_parities_thresholds_and_any_mask_are_counted_at_every_width(width: int) -> None:
    """With random signs; the sum of the literals is taken by NumPy."""
    generator = np.random.default_rng(width)
    records = generator.integers(0, 2, size=(700, 31)).astype(np.int32)
    full = (2 << width) - 1
    masks = [1 << width, full ^ (1 << width), 1, full & 0xAAAAAAAA, full & 0x55555555, 0, full]
    masks += [full >> least << least for least in range(1, width + 1)]
    masks += [(2 << most) - 1 for most in range(width)]
    masks += [int(mask) & full for mask in generator.integers(0, 1 << 32, size=20)]
    rows, expected = [], []
    for mask in masks:
        chosen = generator.permutation(31)[:width]
        values, signs = generator.integers(0, 2, size=width), generator.integers(0, 2, size=width) == 1
        numbers = ((records[:, chosen] == values) == signs).sum(axis=1)
        rows.append((list(zip(chosen.tolist(), values.tolist(), signs.tolist(), strict=True)), mask))
        expected.append(int((mask >> numbers & 1).sum()))
    assert count_on_records(clauses_of(rows), records, np.full(31, 2)).tolist() == expected


@pytest.mark.parametrize("rows", [1, 63, 65, 1000])
def test_clauses_of_negative_literals_do_not_count_the_padding(rows: int) -> None:
    records = np.zeros((rows, 8), dtype=np.int32)
    literals = [(0, 1, False), (1, 1, False), (2, 4, False), (4, 2, False)]
    rows_of_clauses = [(literals[:width], 1 << width) for width in range(1, 5)]
    assert count_on_records(clauses_of(rows_of_clauses), records, SIZES).tolist() == [rows] * 4


@pytest.mark.parametrize("threads", [1, 3])
def test_chunks_and_threads_do_not_change_which_clauses_are_true(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    clauses, record = every_mask(7), records_of(1)
    monkeypatch.setattr(kernels, "SATISFIED_CHUNK", 11)
    found = satisfied(clauses, record[0], threads=threads)
    assert np.array_equal(found, naive_truth(clauses, record)[:, 0])


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_while_progress_is_reported_ends_the_count(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    def stop(share: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(bitmaps, "CHUNK", 1)
    monkeypatch.setattr(resolved_kernels, "CHUNK", 1)
    clauses = every_mask(3)
    with pytest.raises(KeyboardInterrupt):
        count_on_columns(columns_of(records_of(10)), SIZES, clauses, threads=threads, progress=stop)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int64])
def test_codes_of_any_integer_type_and_layout_are_packed(dtype: type[np.integer]) -> None:
    records = records_of(130)
    expected, _ = pack_codes(columns_of(records), SIZES, EVERY)
    table = records.astype(dtype)
    read_only = np.asfortranarray(table)
    read_only.flags.writeable = False
    for held in (table, read_only):
        assert np.array_equal(pack_codes([held[:, a] for a in range(8)], SIZES, EVERY)[0], expected)


def test_packed_columns_are_the_indicators_of_their_codes() -> None:
    records = records_of(130)
    words, rows = pack_codes(columns_of(records), SIZES, EVERY)
    assert rows == 130
    assert words.shape[0] == OFFSETS[-1]
    assert words.ctypes.data % 64 == 0
    assert words.shape[1] // 8 % 2 == 1
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little").astype(bool)
    for a in range(8):
        for code in range(int(SIZES[a])):
            row = bits[OFFSETS[a] + code]
            assert np.array_equal(row[:130], records[:, a] == code)
            assert not row[130:].any()


def test_printing_packed_columns_shows_nothing_of_the_table() -> None:
    made = bitmaps.Bitmaps.of_codes(columns_of(records_of(130)), SIZES, EVERY)
    assert repr(made) == "Bitmaps(columns=26)"


def test_only_the_columns_that_clauses_name_are_packed() -> None:
    clauses = clauses_of([([(0, 2, True), (2, 4, False)], 4), ([(0, 2, False)], 2), ([], 1)])
    positions, flat = column_positions(OFFSETS, clauses)
    assert flat.tolist() == [2, 9]
    assert positions[flat].tolist() == [0, 1]
    assert pack_codes(columns_of(records_of(10)), SIZES, positions)[0].shape[0] == 2


def test_no_clauses_give_no_counts() -> None:
    none = clauses_of([])
    assert count_on_records(none, records_of(3), SIZES).shape == (0,)
    assert satisfied(none, records_of(1)[0]).shape == (0,)


def test_a_column_that_is_not_packed_is_refused() -> None:
    positions, _ = column_positions(OFFSETS, clauses_of([([(0, 1, True)], 2)]))
    others = clauses_of([([(0, 1, True), (1, 0, True)], 4)])
    flat = resolved_kernels.FlatColumns(OFFSETS, positions, np.arange(1))
    with pytest.raises(WorkloadError, match="name a column that is not packed"):
        resolved_kernels.resolve(others, flat, threads=1)


@pytest.mark.parametrize("literal", [(8, 0, True), (0, 3, True)])
def test_a_literal_that_does_not_exist_is_refused(literal: tuple[int, int, bool]) -> None:
    clauses = clauses_of([([literal], 2)])
    with pytest.raises(WorkloadError, match="attribute number"):
        count_on_records(clauses, records_of(10), SIZES)


def test_a_record_that_is_too_short_is_refused() -> None:
    with pytest.raises(WorkloadError, match="that a record of 2 codes does not have"):
        satisfied(every_mask(3), np.zeros(2, dtype=np.int32))
    with pytest.raises(WorkloadError, match="a record has shape"):
        satisfied(every_mask(3), np.zeros((1, 8), dtype=np.int32))


def test_records_of_another_width_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"shape \(3, 7\) do not fit a schema of 8 attributes"):
        count_on_records(every_mask(1), np.zeros((3, 7), dtype=np.int32), SIZES)


@given(st.data())
def test_counts_on_records_over_many_attributes_take_the_named_columns_alone(data: st.DataObject) -> None:
    """As codes and as bits, with attributes before, between and after those that are named."""
    clauses, records = data.draw(clause_lists((2,) * 6)), data.draw(tables((2,) * 6))
    attributes = np.array([3, 70, 71, 400, 1_000, 1_029])
    wide = np.ones((len(records), 1_030), dtype=np.int32)
    wide[:, attributes] = records
    named = np.where(clauses.attributes >= 0, attributes[clauses.attributes], -1)
    sensitivity = Clauses(named, clauses.values, clauses.signs, clauses.accepted)
    expected = naive_truth(clauses, records).sum(axis=1)
    sizes = np.full(1_030, 2)
    assert np.array_equal(count_on_records(sensitivity, wide, sizes), expected)
    assert np.array_equal(count_on_records(sensitivity, BitRecords.of(wide), sizes), expected)


def test_records_over_many_attributes_that_do_not_fit_are_refused() -> None:
    wide, sizes = np.ones((3, 1_030), dtype=np.int32), np.full(1_030, 2)
    wide[1, 900] = 2
    with pytest.raises(SchemaError, match=r"attribute number 900: a code lies outside 0 \.\. 1"):
        count_on_records(every_mask(1), wide, sizes)
    wide[1, 900] = 1
    with pytest.raises(WorkloadError, match="names attribute number 1030"):
        count_on_records(clauses_of([([(1_030, 0, True)], 2)]), wide, sizes)
    with pytest.raises(SchemaError, match="records as bits need attributes of two codes"):
        count_on_records(every_mask(1), BitRecords.of(wide), np.full(1_030, 3))


def test_columns_that_do_not_fit_are_refused_without_quoting_a_code() -> None:
    columns = columns_of(records_of(10))
    outside = [np.where(np.arange(10) == 4, wrong, columns[2].astype(np.int64)) for wrong in (77, -77)]
    for given_columns, message in (
        (columns[:-1], "7 columns of codes for 8 attributes"),
        ([columns[0], columns[1][:-1], *columns[2:]], "attribute number 1: its codes are not as many"),
        ([columns[0].astype(float), *columns[1:]], "integer codes in 1 dimension, found float64 in 1"),
        *(([*columns[:2], one, *columns[3:]], r"number 2: a code lies outside 0 \.\. 4;") for one in outside),
    ):
        with pytest.raises(SchemaError, match=message) as refusal:
            pack_codes(given_columns, SIZES, EVERY)
        assert "77" not in str(refusal.value)


def test_counts_on_a_large_table_equal_those_of_numpy(data_folder: Path) -> None:
    with np.load(data_folder / "kdd99" / "kdd99-dualquery-41attr-396bits.npz", allow_pickle=False) as stored:
        codes, sizes = stored["codes"], stored["sizes"].astype(np.int32)
    generator = np.random.default_rng(1)
    attributes = np.argsort(generator.random((40, 41)), axis=1)[:, :3]
    values = generator.integers(0, sizes[attributes])
    signs = generator.random((40, 3)) < 0.3
    clauses = Clauses.conjunctions(attributes, values, signs)
    counts = count_on_columns(list(codes.T), sizes, clauses)
    for i in range(40):
        true = ((codes[:, attributes[i]] == values[i]) == signs[i]).all(axis=1)
        assert counts[i] == np.count_nonzero(true)
