from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.comparison.instances import (
    clauses_from_text,
    record_from_text,
    text_from_clauses,
    text_from_record,
)
from dpopt.errors import ProgramError, WorkloadError
from dpopt.queries import Clauses
from tests.strategies import clause_lists, clauses_of

SIZES = [3, 12, 2, 5, 2, 2, 40]
WEIGHTS = st.integers(-(10**17), 10**17).filter(bool)


@given(
    clause_lists(SIZES, min_size=0, widest=7), st.none() | st.lists(st.integers(0, 4), max_size=4), st.data()
)
def test_clauses_written_are_the_clauses_read(
    clauses: Clauses, agreed: list[int] | None, data: st.DataObject
) -> None:
    weights = np.array([data.draw(WEIGHTS) for _ in range(len(clauses))], dtype=np.int64)
    text = text_from_clauses(clauses, weights, agreed)
    found, weighed = clauses_from_text(text, agreed)
    assert weighed.tolist() == weights.tolist()
    assert found.accepted.tolist() == clauses.accepted.tolist()
    width = found.width
    assert found.attributes.tolist() == clauses.attributes[:, :width].tolist()
    assert found.values.tolist() == clauses.values[:, :width].tolist()
    assert found.signs.tolist() == clauses.signs[:, :width].tolist()
    assert (clauses.attributes[:, width:] == -1).all()


def test_a_text_says_which_numbers_are_accepted() -> None:
    text = "2 17=3 20!=5 35=0\n-1 4=1 17!=3 :0,1\n7 :\n1 0=0 1=1 2=2 :1,3\n"
    literals = [(17, 3, True), (20, 5, False), (35, 0, True)]
    expected = clauses_of(
        [
            (literals, 0b1000),
            ([(4, 1, True), (17, 3, False)], 0b011),
            ([], 0),
            ([(0, 0, True), (1, 1, True), (2, 2, True)], 0b1010),
        ]
    )
    found, weights = clauses_from_text(text, None)
    assert found.fingerprint() == expected.fingerprint()
    assert weights.tolist() == [2, -1, 7, 1]
    assert text_from_clauses(found, weights) == text
    parity, _ = clauses_from_text("2 17=3 20!=5 35=0\n", [1, 3])
    assert parity.fingerprint() == clauses_of([(literals, 0b1010)]).fingerprint()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 0=1\n1 0-1", "clause 1 is '1 0-1'; expected a weight and literals"),
        ("1 0=1 ", "clause 0 is"),
        ("0=1", "clause 0 is"),
        ("1.5 0=1", "clause 0 is"),
        ("1 0=1\n\n1 1=1", "clause 1 is ''"),
        ("1 0=1 :a", "clause 0 is"),
        ("1 0=9999999999", "clause 0 is"),
        ("1 0=1 :2", "clause 0: accepted numbers of true literals lie between 0 and 1"),
        ("1 " + " ".join(f"{a}=0" for a in range(32)), "clause 0 has more than 31 literals"),
    ],
)
def test_a_text_of_another_form_is_refused(text: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        clauses_from_text(text, None)


def test_a_text_that_names_an_attribute_twice_is_refused() -> None:
    with pytest.raises(WorkloadError, match="names an attribute twice"):
        clauses_from_text("1 0=1 0!=2", None)


def test_agreed_numbers_beyond_the_width_of_a_clause_are_refused() -> None:
    with pytest.raises(ProgramError, match="clause 1: accepted numbers"):
        clauses_from_text("1 0=1 1=1 2=1\n1 0=1", [2])


@given(st.lists(st.integers(0, 10**6), max_size=20))
def test_records_written_are_the_records_read(codes: list[int]) -> None:
    record = np.array(codes, dtype=np.int32)
    assert record_from_text(text_from_record(record), record.size).tolist() == codes


def test_a_record_names_the_codes_that_are_not_zero() -> None:
    assert text_from_record(np.array([0, 5, 0, 2], dtype=np.int32)) == "1=5 3=2"
    assert record_from_text(" 1=5\n3=2 ", 4).tolist() == [0, 5, 0, 2]


@pytest.mark.parametrize(
    ("text", "message"), [("1:5", "a record is text such as"), ("4=1", "names attribute 4; there are 4")]
)
def test_a_record_of_another_form_is_refused(text: str, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        record_from_text(text, 4)
