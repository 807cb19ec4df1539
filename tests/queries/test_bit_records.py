from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import SchemaError
from dpopt.queries.counting.binary_columns import WIDE, BitRecords, are_kept_as_bits

RECORDS = st.tuples(st.integers(1, 140), st.integers(1, 70)).flatmap(
    lambda shape: arrays(np.int32, shape, elements=st.integers(0, 1))
)


@given(RECORDS)
def test_codes_columns_and_numbers_of_ones_come_back(records: NDArray[np.int32]) -> None:
    held = BitRecords.of(records)
    assert (len(held), held.shape) == (len(records), records.shape)
    assert held.octets.shape == (len(records), -(-records.shape[1] // 8))
    assert held.codes().dtype == np.int32
    assert np.array_equal(held.codes(), records)
    assert np.array_equal(held.ones(), records.sum(axis=1))
    columns = held.columns()
    assert (columns.rows, len(columns)) == records.shape
    assert np.array_equal(np.stack(list(columns), axis=1), records)


@given(RECORDS, st.integers(0, 2**32 - 1))
def test_distinct_records_are_those_of_numpy_in_the_same_order(records: NDArray[np.int32], seed: int) -> None:
    """Bytes in order are records in order."""
    repeated = records[np.random.default_rng(seed).integers(0, len(records), 2 * len(records))]
    found, counts, places = BitRecords.of(repeated).distinct()
    expected, inverse, number = np.unique(repeated, axis=0, return_inverse=True, return_counts=True)
    assert np.array_equal(found.codes(), expected)
    assert counts.tolist() == number.tolist()
    assert places.tolist() == inverse.ravel().tolist()


@given(RECORDS)
def test_records_are_taken_and_joined(records: NDArray[np.int32]) -> None:
    held, order = BitRecords.of(records), np.arange(len(records))[::-1]
    assert np.array_equal(held.take(order).codes(), records[::-1])
    joined = BitRecords.joined([held, held.take(order[:1])])
    assert np.array_equal(joined.codes(), np.concatenate([records, records[-1:]]))


@pytest.mark.parametrize("code", [2, -1])
def test_a_code_that_is_no_bit_is_refused(code: int) -> None:
    with pytest.raises(SchemaError, match="expected rows of codes 0 and 1"):
        BitRecords.of(np.array([[0, code]]))


@pytest.mark.parametrize("width", [0, 7, 17])
def test_octets_that_do_not_fit_the_width_are_refused(width: int) -> None:
    with pytest.raises(SchemaError, match=f"records of {width} bits are rows of {-(-width // 8)} octets"):
        BitRecords(width, np.zeros((3, 2), dtype=np.uint8))


@pytest.mark.parametrize(("width", "last"), [(9, 0b0100_0000), (15, 1), (12, 0b0000_1000)])
def test_a_bit_beyond_the_last_attribute_is_refused(width: int, last: int) -> None:
    BitRecords(width, np.array([[255, 0x100 - 2 * last]], dtype=np.uint8))
    with pytest.raises(SchemaError, match=f"a bit is set beyond the last of {width} attributes"):
        BitRecords(width, np.array([[0, last]], dtype=np.uint8))


def test_nobody_changes_the_octets() -> None:
    octets = np.zeros((1, 1), dtype=np.uint8)
    held = BitRecords(8, octets)
    octets[:] = 255
    assert not held.codes().any()
    with pytest.raises(ValueError, match="read-only"):
        held.octets[0, 0] = 1
    assert BitRecords(8, freeze(octets)).octets is octets


def test_many_attributes_of_two_codes_are_kept_as_bits_and_no_others() -> None:
    two = np.full(WIDE, 2, dtype=np.int32)
    assert are_kept_as_bits(two)
    assert are_kept_as_bits(np.where(np.arange(WIDE) == 5, 1, two))
    assert not are_kept_as_bits(two[1:])
    assert not are_kept_as_bits(np.where(np.arange(WIDE) == 5, 3, two))


@given(RECORDS, st.integers(0, 2**32 - 1))
def test_some_attributes_are_taken_in_any_order(records: NDArray[np.int32], seed: int) -> None:
    random, width = np.random.default_rng(seed), records.shape[1]
    attributes = random.permutation(width)[: random.integers(1, width + 1)]
    found = BitRecords.of(records).over(attributes)
    assert np.array_equal(found.codes(), records[:, attributes])


@given(RECORDS, st.integers(0, 2**32 - 1))
def test_the_order_is_the_lexicographic_one_and_stable(records: NDArray[np.int32], seed: int) -> None:
    repeated = records[np.random.default_rng(seed).integers(0, len(records), 2 * len(records))]
    assert np.array_equal(BitRecords.of(repeated).order(), np.lexsort(repeated.T[::-1]))
