from __future__ import annotations

import hashlib
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import WorkloadError
from dpopt.queries import marginal_set
from dpopt.queries.marginal_set import MarginalSet
from tests.marginals import domains_of, marginal_sets, marginals_of, named_cells

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


@pytest.mark.parametrize("cell", [-1, 7])
def test_a_cell_that_is_not_there_is_refused(cell: int) -> None:
    with pytest.raises(WorkloadError, match=rf"cell {cell} was asked for; there are 7, numbered from 0"):
        marginals_of([[0, 1], [2, 5], [0]], [[0, 1], [1], [2]]).clause_of(cell)


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


def test_more_cells_than_can_be_numbered_are_refused() -> None:
    with pytest.raises(WorkloadError, match=r"2\^62 cells or more"):
        marginals_of([range(256)] * 8, [range(8)])


def test_marginals_must_fit_the_sizes() -> None:
    marginals = marginals_of([[0, 1], [2, 5]], [[0, 1]])
    marginals.check_against(np.array([2, 6]))
    with pytest.raises(
        WorkloadError, match=r"name code 5 of attribute number 1, which has the codes 0 \.\. 4"
    ):
        marginals.check_against(np.array([2, 5]))
    with pytest.raises(WorkloadError, match="over 2 attributes; the schema has 3"):
        marginals.check_against(np.array([2, 6, 2]))


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
