from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import SchemaError
from dpopt.queries.counting import marginal_kernels
from dpopt.queries.counting.kernels import count_on_records
from dpopt.queries.counting.marginal_kernels import cells_of_columns, cells_of_records, count_cells
from dpopt.queries.marginal_set import MarginalSet
from tests.marginals import added_in_order, marginal_sets, marginals_of
from tests.strategies import naive_truth, tables

SIZES = (3, 1, 4, 2, 5)
TYPES = (np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int32, np.int64)


def columns_of(records: NDArray[np.int32]) -> list[NDArray[np.integer]]:
    return list(records.T)


@given(marginal_sets(SIZES), tables(SIZES), st.data())
def test_counts_of_cells_are_those_of_their_conjunctions(
    marginals: MarginalSet, records: NDArray[np.int32], data: st.DataObject
) -> None:
    """Against the counting of clauses, for columns of every whole-number type, in blocks and threads of any number."""
    expected = count_on_records(marginals.clauses(), records, np.array(SIZES))
    columns = [column.astype(data.draw(st.sampled_from(TYPES))) for column in records.T]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(marginal_kernels, "BLOCK", data.draw(st.sampled_from([1, 7, 1 << 15])))
        patched.setattr(marginal_kernels, "TASK", data.draw(st.sampled_from([1, 1 << 20])))
        counts = count_cells(marginals, columns, threads=data.draw(st.integers(1, 3)))
    assert counts.dtype == np.int64
    assert np.array_equal(counts, expected)


@given(marginal_sets(SIZES), tables(SIZES, max_rows=50), st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_weights_of_cells_are_those_of_their_conjunctions(
    marginals: MarginalSet, records: NDArray[np.int32], seed: int, threads: int
) -> None:
    """Added in the order of the records, bit by bit, with weights of both signs."""
    weights = np.random.default_rng(seed).normal(size=len(records))
    truth = naive_truth(marginals.clauses(), records)
    expected = added_in_order(weights, truth)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(marginal_kernels, "BLOCK", 13)
        found = count_cells(marginals, columns_of(records), weights=weights, threads=threads)
    assert found.dtype == np.float64
    assert found.tolist() == expected


@given(marginal_sets(SIZES), tables(SIZES, max_rows=50), st.sampled_from([1, 7, 1 << 15]))
def test_a_record_lies_in_the_cell_whose_conjunction_is_true(
    marginals: MarginalSet, records: NDArray[np.int32], block: int
) -> None:
    truth = naive_truth(marginals.clauses(), records)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(marginal_kernels, "BLOCK", block)
        cells = cells_of_records(marginals, records)
        assert np.array_equal(cells_of_columns(marginals, columns_of(records.astype(np.uint8))), cells)
    assert cells.shape == (len(records), len(marginals))
    for marginal in range(len(marginals)):
        begin, end = marginals.starts[marginal : marginal + 2]
        inside = truth[begin:end]
        assert inside.sum(axis=0).max(initial=0) <= 1
        expected = np.where(inside.any(axis=0), begin + inside.argmax(axis=0), -1)
        assert np.array_equal(cells[:, marginal], expected)


def test_codes_beyond_the_domain_put_a_record_in_no_cell_of_that_attribute() -> None:
    marginals = marginals_of([[1, 3], [0, 1]], [[0], [1], [0, 1]])
    columns: list[NDArray[np.integer]] = [
        np.array([1, 200, 3, 0], dtype=np.uint8),
        np.array([0, 1, 2**63 + 1, 1], dtype=np.uint64),
    ]
    assert count_cells(marginals, columns).tolist() == [1, 1, 1, 2, 1, 0, 0, 0]
    assert cells_of_columns(marginals, columns).tolist() == [[0, 2, 4], [-1, 3, -1], [1, -1, -1], [-1, 3, -1]]


def test_a_domain_longer_than_a_narrow_type_holds() -> None:
    marginals = marginals_of([range(1000)], [[0]])
    counts = count_cells(marginals, [np.array([0, 255, 255], dtype=np.uint8)])
    assert counts.size == 1000
    assert np.flatnonzero(counts).tolist() == [0, 255]


def test_a_marginal_of_many_cells_is_counted() -> None:
    marginals = marginals_of([range(200)] * 3, [[2, 0, 1]])
    generator = np.random.default_rng(3)
    records = generator.integers(0, 200, size=(5000, 3)).astype(np.uint16)
    flat = (records[:, 2].astype(np.int64) * 200 + records[:, 0]) * 200 + records[:, 1]
    expected = np.bincount(flat, minlength=8_000_000)
    assert np.array_equal(count_cells(marginals, list(records.T)), expected)
    assert np.array_equal(cells_of_records(marginals, records)[:, 0], flat)


def test_the_progress_of_counting_rises_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marginal_kernels, "BLOCK", 10)
    shares: list[float] = []
    count_cells(marginals_of([[0, 1]], [[0]]), [np.zeros(25, dtype=np.uint8)], progress=shares.append)
    assert shares == [0.4, 0.8, 1.0]


def test_no_records_lie_in_no_cell() -> None:
    marginals = marginals_of([[0, 1], [0]], [[0], [0, 1]])
    none = np.zeros((0, 2), dtype=np.int32)
    assert count_cells(marginals, columns_of(none)).tolist() == [0] * 4
    assert count_cells(marginals, columns_of(none), weights=np.zeros(0)).tolist() == [0.0] * 4
    assert cells_of_records(marginals, none).shape == (0, 2)


def test_columns_and_weights_that_do_not_fit_are_refused_without_quoting_a_code() -> None:
    marginals = marginals_of([[0, 1], [0]], [[0], [0, 1]])
    good = [np.zeros(3, dtype=np.uint8), np.zeros(3, dtype=np.uint8)]
    with pytest.raises(SchemaError, match="1 columns of codes for 2 attributes"):
        count_cells(marginals, good[:1])
    with pytest.raises(SchemaError, match="attribute number 1: expected 3 whole-number codes"):
        count_cells(marginals, [good[0], good[1][:2]])
    with pytest.raises(SchemaError, match="attribute number 1: expected .* found float64"):
        count_cells(marginals, [good[0], np.zeros(3)])  # type: ignore[list-item]
    with pytest.raises(SchemaError, match="3 records need as many weights"):
        count_cells(marginals, good, weights=np.ones(2))
    with pytest.raises(SchemaError, match="attribute number 0: a code is negative") as refusal:
        count_cells(marginals, [np.array([0, -77, 0]), good[1]])
    assert "77" not in str(refusal.value)
    with pytest.raises(SchemaError, match=r"shape \(3, 1\) do not fit marginals over 2 attributes"):
        cells_of_records(marginals, np.zeros((3, 1), dtype=np.int32))
