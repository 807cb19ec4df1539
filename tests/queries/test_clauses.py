from __future__ import annotations

import hashlib
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import WorkloadError
from dpopt.queries import Clauses
from dpopt.schema import Attribute, AttributeKind, Schema
from tests.strategies import clause_lists, clauses_of, naive_truth, tables

SCHEMA = Schema(
    (
        Attribute("age", AttributeKind.NUMERIC, edges=(0, 20, 30), missing="?"),
        Attribute("sex", AttributeKind.CATEGORICAL, ("F", "M")),
        Attribute("smoker", AttributeKind.BOOLEAN),
    )
)
SIZES = [3, 2, 2]
ALL = [(0, 1, True), (1, 0, False), (2, 1, True)]


def test_conjunctions_are_true_when_all_literals_are() -> None:
    clauses = Clauses.conjunctions([[0, 1, 2], [1, -1, -1]], [[1, 0, 1], [1, 0, 0]], [[1, 0, 1], [1, 0, 0]])
    assert clauses.accepted.tolist() == [8, 2]
    assert clauses.widths().tolist() == [3, 1]
    assert (len(clauses), clauses.width) == (2, 3)


def test_the_arrays_of_clauses_are_read_only_and_own_their_values() -> None:
    attributes = np.array([[0, 1]], dtype=np.int32)
    clauses = Clauses.conjunctions(attributes, [[0, 0]], [[True, True]])
    attributes[0, 0] = 5
    assert clauses.attributes.tolist() == [[0, 1]]
    again = pickle.loads(pickle.dumps(clauses))
    for array in (clauses.attributes, again.values, again.signs, clauses.accepted):
        assert array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert again.fingerprint() == clauses.fingerprint()


def test_clauses_of_width_zero_and_no_clauses_at_all_are_possible() -> None:
    always = clauses_of([([], 1), ([], 0)])
    assert [always.describe(i, SCHEMA) for i in range(2)] == ["always", "never"]
    assert len(clauses_of([])) == 0
    assert clauses_of([]).negated().widths().tolist() == []


def test_taking_clauses_keeps_their_order_and_allows_repetition() -> None:
    clauses = clauses_of([(ALL[:1], 2), (ALL[1:], 4), ([], 1)])
    taken = clauses.take([2, 0, 0])
    assert taken.accepted.tolist() == [1, 2, 2]
    assert taken.attributes.tolist() == [[-1, -1], [0, -1], [0, -1]]
    assert len(clauses.take([])) == 0
    assert clauses.take(np.array([True, False, True])).accepted.tolist() == [2, 1]


@given(st.data())
def test_a_negated_clause_is_true_exactly_when_the_clause_is_false(data: st.DataObject) -> None:
    clauses = data.draw(clause_lists([3, 2, 4, 2]))
    records = data.draw(tables([3, 2, 4, 2], max_rows=20))
    assert np.array_equal(naive_truth(clauses.negated(), records), ~naive_truth(clauses, records))
    assert clauses.negated().negated().fingerprint() == clauses.fingerprint()


@given(clause_lists(SIZES))
def test_clauses_over_bits_name_the_flat_column(clauses: Clauses) -> None:
    bits = clauses.as_bits(SCHEMA)
    bits.check_against(SCHEMA.as_bits().sizes)
    used = clauses.attributes >= 0
    assert np.array_equal(bits.attributes[used], (SCHEMA.offsets[clauses.attributes] + clauses.values)[used])
    assert np.array_equal(bits.values, used)
    assert np.array_equal(bits.signs, clauses.signs)
    assert np.array_equal(bits.accepted, clauses.accepted)


THREE = "age = [20, 30]; sex != F; smoker = true"


@pytest.mark.parametrize(
    ("width", "mask", "text"),
    [
        (3, 8, "age = [20, 30] and sex != F and smoker = true"),
        (3, 7, "not (age = [20, 30] and sex != F and smoker = true)"),
        (3, 14, "age = [20, 30] or sex != F or smoker = true"),
        (3, 10, f"an odd number of: {THREE}"),
        (3, 5, f"an even number of: {THREE}"),
        (3, 12, f"at least 2 of: {THREE}"),
        (3, 3, f"at most 1 of: {THREE}"),
        (3, 1, f"none of: {THREE}"),
        (3, 4, f"exactly 2 of: {THREE}"),
        (3, 9, f"number of true literals in {{0, 3}} of: {THREE}"),
        (3, 0, "never"),
        (3, 15, "always"),
        (1, 1, "not (age = [20, 30])"),
        (1, 2, "age = [20, 30]"),
        (2, 1, "none of: age = [20, 30]; sex != F"),
        (2, 2, "an odd number of: age = [20, 30]; sex != F"),
        (2, 5, "an even number of: age = [20, 30]; sex != F"),
        (2, 6, "age = [20, 30] or sex != F"),
    ],
)
def test_a_clause_is_described_in_the_plainest_words(width: int, mask: int, text: str) -> None:
    assert clauses_of([(ALL[:width], mask)]).describe(0, SCHEMA) == text
    assert clauses_of([([(0, 2, False)], 2)]).describe(0, SCHEMA) == "age != missing"


def test_the_fingerprint_depends_on_every_array_and_the_order() -> None:
    one = clauses_of([(ALL, 8), (ALL[:2], 4)])
    others = [
        clauses_of([(ALL[:2], 4), (ALL, 8)]),
        one.negated(),
        clauses_of([([(0, 1, False), *ALL[1:]], 8), (ALL[:2], 4)]),
        clauses_of([([(0, 0, True), *ALL[1:]], 8), (ALL[:2], 4)]),
        clauses_of([([ALL[1], ALL[0], ALL[2]], 8), (ALL[:2], 4)]),
        one.take([0]),
    ]
    assert len({clauses.fingerprint() for clauses in [one, *others]}) == 7
    digest = hashlib.sha256()
    one.update(digest)
    assert digest.hexdigest() == one.fingerprint()


def test_a_fingerprint_is_pinned() -> None:
    content = b"dpopt clauses 2 3;" + struct.pack(
        "<6i6i6?2I", *(0, 1, 2), *(0, 1, -1), *(1, 0, 1), *(1, 0, 0), *(1, 0, 1), *(1, 0, 0), 8, 3
    )
    fingerprint = clauses_of([(ALL, 8), (ALL[:2], 3)]).fingerprint()
    assert fingerprint == hashlib.sha256(content).hexdigest()
    assert fingerprint == "5c80779544e5ce8ce1ee88ee2628e4713a02b117e1b4a0fa412bac3f62829e38"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attributes": [[0, 0]]}, "clause 0 names an attribute twice"),
        ({"attributes": [[-1, 0]], "values": [[0, 0]], "signs": [[0, 0]]}, "has a literal after padding"),
        ({"attributes": [[0, -1]], "signs": [[1, 0]], "accepted": [2]}, "has padding with a value or a sign"),
        ({"attributes": [[0, -1]], "values": [[0, 0]], "accepted": [2]}, "has padding with a value"),
        ({"attributes": [[0, -2]]}, "below -1"),
        ({"values": [[0, -1]]}, "a code is negative"),
        ({"accepted": [8]}, "clause 0 accepts more true literals than it has"),
        ({"attributes": [0, 1]}, r"must have shape \(m, k\) with 1 <= k <= 31, found \(2,\)"),
        ({"attributes": [[]]}, r"found \(1, 0\)"),
        ({"attributes": [list(range(32))]}, r"found \(1, 32\)"),
        ({"values": [[0]]}, r"'values' must have shape \(1, 2\), found \(1, 1\)"),
        ({"signs": [[1], [1]]}, r"'signs' must have shape \(1, 2\)"),
        ({"accepted": [1, 1]}, r"'accepted' must have shape \(1,\)"),
        ({"attributes": [[0.5, 1]]}, "'attributes' must be an array of int32"),
        ({"values": [[0, 2**40]]}, "'values' must be an array of int32"),
        ({"signs": [[2, 1]]}, "'signs' must be an array of bool"),
        ({"accepted": np.array([-1])}, "'accepted' must be an array of uint32"),
        ({"attributes": [["a", "b"]]}, "'attributes' must be an array of int32"),
    ],
)
def test_arrays_that_are_no_clauses_are_refused(changes: dict[str, object], message: str) -> None:
    arrays: dict[str, object] = {"attributes": [[0, 1]], "values": [[0, 1]], "signs": [[True, True]], "accepted": [4]}
    with pytest.raises(WorkloadError, match=message):
        Clauses(**{**arrays, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [2, 4, 5, 31])
def test_an_attribute_twice_is_refused_at_every_width_and_conjunctions_need_two_dimensions(width: int) -> None:
    attributes = np.arange(width)[None, :].repeat(3, axis=0)
    signs = np.ones((3, width), dtype=bool)
    assert len(Clauses.conjunctions(attributes, np.zeros((3, width)), signs)) == 3
    attributes[1, 0] = width - 1
    with pytest.raises(WorkloadError, match="twice"):
        Clauses.conjunctions(attributes, np.zeros((3, width)), signs)
    with pytest.raises(WorkloadError, match="dimensions"):
        Clauses.conjunctions(attributes[0], np.zeros(width), signs[0])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([3, 2], "clause 1 names attribute number 2; there are 2 attributes"),
        ([3, 2, 1], r"clause 1 asks for code 1 of attribute number 2, which has the codes 0 \.\. 0"),
    ],
)
def test_literals_that_do_not_exist_are_refused(sizes: list[int], message: str) -> None:
    clauses = clauses_of([(ALL[:2], 4), (ALL, 8)])
    clauses.check_against(np.array(SIZES))
    with pytest.raises(WorkloadError, match=message):
        clauses.check_against(np.array(sizes))
    with pytest.raises(WorkloadError):
        clauses_of([([(0, 3, True)], 2)]).as_bits(SCHEMA)
