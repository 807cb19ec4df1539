from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import PlanError
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.releases.records import SyntheticRecords, merged

RECORDS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=40)


def records_of(rows: list[tuple[int, ...]]) -> SyntheticRecords:
    return SyntheticRecords.of([np.array(row, dtype=np.int32) for row in rows])


@given(rows=RECORDS)
def test_equal_records_are_merged_with_their_number_and_weighed_by_it(rows: list[tuple[int, ...]]) -> None:
    records = records_of(rows)
    counted = Counter(rows)
    assert [tuple(row) for row in records.distinct.tolist()] == sorted(counted)
    assert records.multiplicity.tolist() == [counted[row] for row in sorted(counted)]
    assert records.distinct.dtype == np.int32
    assert records.weights.sum() == pytest.approx(1, abs=1e-12)
    assert np.array_equal(records.weights, records.multiplicity / len(rows))


@given(rows=RECORDS, number=st.integers(1, 500))
def test_rows_hold_each_record_as_often_as_its_weight_says(rows: list[tuple[int, ...]], number: int) -> None:
    """Systematic resampling: floor or ceiling of number times weight."""
    records = records_of(rows)
    taken = [tuple(row) for row in records.resampled(number).rows().tolist()]
    assert len(taken) == number
    counted = Counter(taken)
    for row, times in Counter(rows).items():
        exact = Fraction(number * times, len(rows))
        assert counted[row] in {exact.__floor__(), exact.__ceil__()}


@given(rows=RECORDS, times=st.integers(1, 5))
def test_a_multiple_of_the_rounds_is_exact(rows: list[tuple[int, ...]], times: int) -> None:
    records = records_of(rows)
    _, counts = np.unique(records.resampled(times * len(rows)).rows(), axis=0, return_counts=True)
    assert np.array_equal(counts, times * records.multiplicity)


def test_rows_come_in_a_public_random_order_that_stays_the_same() -> None:
    records = records_of([(code, 0) for code in range(100)])
    first = records.resampled(1000).rows()[:, 0]
    assert np.array_equal(first, records.resampled(1000).rows()[:, 0])
    assert len(set(first[:20].tolist())) > 10


def test_no_rows_and_no_records_are_refused() -> None:
    for number in (0, -1):
        with pytest.raises(PlanError, match=f"the number of rows must be at least 1, found {number}"):
            records_of([(0, 0)]).resampled(number)
    with pytest.raises(PlanError, match="ended without a single record"):
        SyntheticRecords.of([])


@given(rows=st.lists(st.tuples(*[st.integers(0, 1)] * 11), min_size=1, max_size=30), number=st.integers(1, 99))
def test_records_as_bits_are_the_same_records(rows: list[tuple[int, ...]], number: int) -> None:
    codes = records_of(rows)
    bits = SyntheticRecords.of([BitRecords.of(np.array([row])) for row in rows])
    assert isinstance(bits.held, BitRecords)
    assert len(bits) == len(codes) == len(codes.distinct)
    assert bits.distinct.dtype == np.int32
    assert np.array_equal(bits.distinct, codes.distinct)
    assert np.array_equal(bits.multiplicity, codes.multiplicity)
    some, others = codes.resampled(number), bits.resampled(number)
    assert np.array_equal(others.rows(), some.rows())
    assert np.array_equal(some.distinct[some.places()], some.rows())


def test_merging_says_where_each_record_went() -> None:
    rows = np.array([[1, 0], [0, 1], [1, 0], [0, 0]], dtype=np.int32)
    for given_records in (list(rows), [BitRecords.of(row[None, :]) for row in rows]):
        held, multiplicity, place = merged(given_records)
        assert multiplicity.tolist() == [1, 1, 2]
        assert place.tolist() == [2, 1, 2, 0]
        distinct = held.codes() if isinstance(held, BitRecords) else held
        assert np.array_equal(distinct[place], rows)
