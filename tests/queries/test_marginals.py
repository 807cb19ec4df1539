"""Sets of marginals: their cells as conjunctions in order, fingerprints, and counting by kernels."""

from __future__ import annotations

import hashlib
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from dpopt.errors import SchemaError, WorkloadError
from dpopt.queries import marginal_set
from dpopt.queries.counting import marginal_kernels
from dpopt.queries.counting.kernels import count_on_records, satisfied
from dpopt.queries.counting.marginal_kernels import cells_of_columns, cells_of_records, count_cells, distinct_rows
from dpopt.queries.marginal_set import MarginalSet
from tests.marginals import added_in_order, domains_of, marginal_sets, marginals_of, named_cells
from tests.strategies import naive_truth, tables

SIZES = (3, 1, 4, 2, 5)
WHOLE = [range(size) for size in SIZES]


@given(marginal_sets(SIZES))
def test_every_cell_is_the_conjunction_of_its_codes_in_order(marginals: MarginalSet) -> None:
    clauses, expected = marginals.clauses(), named_cells(marginals)
    found = [
        [(a, v) for a, v in zip(attributes, values, strict=True) if a >= 0]
        for attributes, values in zip(clauses.attributes.tolist(), clauses.values.tolist(), strict=True)
    ]
    assert found == expected
    assert len(clauses) == marginals.number_of_cells == marginals.starts[-1]
    assert marginals.cells().tolist() == np.diff(marginals.starts).tolist()
    assert np.array_equal(clauses.signs, clauses.attributes >= 0)
    assert (clauses.accepted == 1 << clauses.widths()).all()


@given(marginal_sets(SIZES), st.data())
def test_one_cell_is_written_like_all_of_them(marginals: MarginalSet, data: st.DataObject) -> None:
    cell = data.draw(st.integers(0, marginals.number_of_cells - 1))
    one, same = marginals.clause_of(cell), marginals.clauses().take([cell])
    assert len(one) == 1
    assert one.fingerprint() == same.fingerprint()


@given(
    marginal_sets(SIZES),
    st.sampled_from([1, 2, 7, 1 << 21]),
    st.sampled_from([0, 1, 16]),
    st.sampled_from([1, 4, 1 << 30]),
)
def test_the_fingerprint_is_that_of_the_clauses_in_steps_of_any_length(
    marginals: MarginalSet, step: int, few: int, large: int
) -> None:
    expected = marginals.clauses().fingerprint()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(marginal_set, "STEP", step)
        patched.setattr(marginal_set, "FEW", few)
        patched.setattr(marginal_set, "LARGE", large)
        assert marginals.fingerprint() == expected
        assert marginals.clauses().fingerprint() == expected


def test_the_fingerprint_of_large_sets_is_that_of_the_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand, field by field; and any change of a shape changes it."""
    monkeypatch.setattr(marginal_set, "LARGEST_WRITTEN", 5)
    marginals = marginals_of([[0, 1], [2, 5], [0]], [[0, 1], [1], [2]])
    assert marginals.number_of_cells == 7
    written = b"dpopt marginals 1 3 2 3;"
    written += np.array([0, 1, 1, -1, 2, -1], dtype="<i4").tobytes()
    written += np.array([2, 2, 1], dtype="<i8").tobytes() + np.array([0, 1, 2, 5, 0], dtype="<i4").tobytes()
    assert marginals.fingerprint() == hashlib.sha256(written).hexdigest()
    others = [
        marginals_of([[0, 1], [2, 4], [0]], [[0, 1], [1], [2]]),
        marginals_of([[0, 1], [2, 5], [0]], [[1, 0], [1], [2]]),
        marginals_of([[0, 1], [2, 5], [0]], [[0, 1], [2], [1]]),
        marginals_of([[0, 1, 2], [5], [0]], [[0, 1], [0], [2]]),
    ]
    assert len({marginals.fingerprint(), *(other.fingerprint() for other in others)}) == 5


def test_a_set_that_is_too_large_is_not_written_out_but_its_cells_are_named() -> None:
    marginals = marginals_of([range(1000)] * 3, [[0, 1, 2]])
    assert marginals.number_of_cells == 10**9
    with pytest.raises(WorkloadError, match="1,000,000,000 cells of marginals .* more than the 50,000,000"):
        marginals.clauses()
    assert marginals.clause_of(123_456_789).values.tolist() == [[123, 456, 789]]
    assert len(marginals.fingerprint()) == 64


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ([0, 1], r"must have shape \(M, k\)"),
        (np.zeros((1, 0)), r"must have shape \(M, k\)"),
        ([list(range(32))], r"1 <= k <= 31"),
        ([[-1, -1]], "at least one attribute"),
        ([[-1, 0]], "padding .* at its end only"),
        ([[0, 0]], "no attribute twice"),
        ([[0, 5]], "attributes below 5"),
    ],
)
def test_rows_that_are_no_marginals_are_refused(attributes: object, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        MarginalSet(domains_of(WHOLE), np.array(attributes, dtype=np.int32))


def test_cells_and_codes_that_are_not_there_and_too_many_cells_are_refused() -> None:
    seven, six = (marginals_of([[0, 1], [2, 5], [0]], [[0, 1], [1], [2]]), marginals_of([[0, 1], [2, 5]], [[0, 1]]))
    for cell in (-1, 7):
        with pytest.raises(WorkloadError, match=rf"cell {cell} was asked for; there are 7, numbered from 0"):
            seven.clause_of(cell)
    six.check_against(np.array([2, 6]))
    with pytest.raises(WorkloadError, match="code 5"):
        six.check_against(np.array([2, 5]))
    with pytest.raises(WorkloadError, match="schema"):
        six.check_against(np.array([2, 6, 2]))
    with pytest.raises(WorkloadError, match="cells"):
        marginals_of([range(256)] * 8, [range(8)])


@given(marginal_sets(SIZES))
def test_marginals_survive_pickle_and_stay_read_only(marginals: MarginalSet) -> None:
    again = pickle.loads(pickle.dumps(marginals))
    assert again.fingerprint() == marginals.fingerprint()
    for array in (again.attributes, again.strides, again.starts, again.domains.counts, again.domains.codes):
        assert not array.flags.writeable


def test_some_of_the_marginals_are_taken_in_the_order_asked_for() -> None:
    marginals = marginals_of(WHOLE, [[0, 1], [2], [3, 4]])
    taken = marginals.take([2, 0])
    assert [taken.attributes_of(i) for i in range(2)] == [(3, 4), (0, 1)]
    assert taken.widths().tolist() == [2, 2]


def test_positions_of_codes_are_those_in_the_domain() -> None:
    marginals = marginals_of([[1, 4], [0]], [[0, 1]])
    assert [table.tolist() for table in marginals.position_tables()] == [[-1, 0, -1, -1, 1], [0]]
    assert [table.tolist() for table in marginals.position_tables(np.array([6, 2]))] == [
        [-1, 0, -1, -1, 1, -1],
        [0, -1],
    ]


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
        patched.setattr(marginal_kernels, "FEW", data.draw(st.sampled_from([0, 1 << 14])))
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
        patched.setattr(marginal_kernels, "FEW", 0)
        found = count_cells(marginals, columns_of(records), weights=weights, threads=threads)
    assert found.dtype == np.float64
    assert found.tolist() == expected


@given(marginal_sets(SIZES), tables(SIZES, max_rows=50), st.sampled_from([1, 7, 1 << 15]))
def test_a_record_is_in_the_cell_that_it_satisfies(
    marginals: MarginalSet, records: NDArray[np.int32], block: int
) -> None:
    truth = naive_truth(marginals.clauses(), records)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(marginal_kernels, "BLOCK", block)
        cells = cells_of_records(marginals, records)
        assert np.array_equal(cells_of_columns(marginals, columns_of(records.astype(np.uint8))), cells)
    assert cells.shape == (len(records), len(marginals))
    for place, record in enumerate(records[:3]):
        assert np.array_equal(satisfied(marginals, record), truth[:, place])
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


@given(st.data())
def test_distinct_rows_have_the_counts_of_all_rows(data: st.DataObject) -> None:
    sizes = np.array(data.draw(st.lists(st.integers(1, 300), min_size=1, max_size=5)))
    number = data.draw(st.integers(1, 30))
    some = [data.draw(arrays(np.uint16, number, elements=st.integers(0, size - 1))) for size in sizes.tolist()]
    times = data.draw(st.sampled_from([1, 3, 4, 9]))
    columns = [np.tile(column, times) for column in some]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marginal_kernels, "MOST_NUMBERS", data.draw(st.sampled_from([300, 10_000, 1 << 22])))
        found = distinct_rows(columns, sizes)
    if found is None:
        distinct = len(set(zip(*columns, strict=True)))
        assert 4 * distinct > number * times or distinct * sizes.max() > 300
        return
    rows = [tuple(row) for row in np.array(found[0]).T.tolist()]
    wanted = Counter(zip(*(column.tolist() for column in columns), strict=True))
    assert len(set(rows)) == len(rows)
    assert dict(zip(rows, found[1].tolist(), strict=True)) == wanted


def test_no_records_lie_in_no_cell() -> None:
    marginals = marginals_of([[0, 1], [0]], [[0], [0, 1]])
    none = np.zeros((0, 2), dtype=np.int32)
    assert count_cells(marginals, columns_of(none)).tolist() == [0] * 4
    assert count_cells(marginals, columns_of(none), weights=np.zeros(0)).tolist() == [0.0] * 4
    assert cells_of_records(marginals, none).shape == (0, 2)


def test_columns_and_weights_that_do_not_fit_are_refused_without_quoting_a_code() -> None:
    marginals = marginals_of([[0, 1], [0]], [[0], [0, 1]])
    good = [np.zeros(3, dtype=np.uint8), np.zeros(3, dtype=np.uint8)]
    with pytest.raises(SchemaError, match="codes"):
        count_cells(marginals, good[:1])
    with pytest.raises(SchemaError, match="whole-number"):
        count_cells(marginals, [good[0], good[1][:2]])
    with pytest.raises(SchemaError, match="attribute number 1: expected .* found float64"):
        count_cells(marginals, [good[0], np.zeros(3)])  # type: ignore[list-item]
    with pytest.raises(SchemaError, match="as many weights"):
        count_cells(marginals, good, weights=np.ones(2))
    with pytest.raises(SchemaError, match="negative") as refusal:
        count_cells(marginals, [np.array([0, -77, 0]), good[1]])
    assert "77" not in str(refusal.value)
    with pytest.raises(SchemaError, match="1 columns of codes for 2 attributes"):
        cells_of_records(marginals, np.zeros((3, 1), dtype=np.int32))
