"""What is declared of rows, points, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpopt.errors import WorkloadError
from dpopt.files.codec import decode, encode
from dpopt.queries.decision_lists.families import DeclaredRows, ListFamily, RowKind
from tests.tiny_lists import family_of, output_at, points_of, rows_of


def test_names_are_given_in_words_or_as_a_range() -> None:
    assert ListFamily.of("a, b,x2..x4", 2).variables == ("a", "b", "x2", "x3", "x4")
    assert ListFamily.of(["a", "b"], 2).changes == 2
    assert ListFamily.of("a,b,c", 3, "disjunctions") == ListFamily(("a", "b", "c"), 3, RowKind.DISJUNCTIONS, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", 1), "'' is not a name"),
        (("a,else", 1), "'else' is not a name"),
        (("a,b!", 1), "'b!' is not a name"),
        (("a,b,a", 1), "'a' is declared twice"),
        (("x5..x2", 1), "is not a range of variables"),
        (("a,b", 3), "found k = 3; expected 1 to 2"),
        (("a,b", 0), "found k = 0"),
        (("x1..x20", 13), "expected 1 to 12"),
        (("a,b", 2, "trees"), "expected one of lists, disjunctions, conjunctions"),
        (("a,b", 2, "lists", 3), "found 3 changes of the output; expected 1 to 2"),
        (("a,b", 2, "disjunctions", 2), "expected 1 to 1 for disjunctions"),
        (("a,b", 2, "lists", 0), "found 0 changes"),
        (([], 1), "found 0 variables"),
    ],
)
def test_declarations_that_say_nothing_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        ListFamily.of(*arguments)


@pytest.mark.parametrize("rows", list(RowKind))
def test_a_family_is_read_back_as_it_was(rows: RowKind) -> None:
    family = family_of(4, 3, rows.value, 1)
    assert decode(ListFamily, encode(family), "rows") == family


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"variables": ["a"]},
        {"variables": 3, "k": 1},
        {"variables": ["a", 3], "k": 1},
        {"variables": ["a"], "k": 1.5},
        {"variables": ["a"], "k": True},
        {"variables": ["a"], "k": 1, "changes": "1"},
        {"variables": ["a"], "k": 1, "length": 1},
        [],
    ],
)
def test_other_json_declares_no_rows(given: Any) -> None:
    with pytest.raises(WorkloadError):
        decode(DeclaredRows, given, "rows", WorkloadError, partial=True)


def test_points_are_said_by_names_or_digits() -> None:
    family = ListFamily.of("a,b,c", 2)
    assert family.point("c=0, a=1,b=1").tolist() == [1, 1, 0]
    assert family.point(" 110 ").tolist() == [1, 1, 0]
    assert family.checked(np.array([[True, False, True]])).tolist() == [[1, 0, 1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("11", "found 2 bits; a point has 3"), ("a=1,b=0", "1 variables have no value: c"),
        ("a=1,b=0,c=2", "neither 0 nor 1"), ("a=1,b=0,c=1,a=1", "has a value already"),
        ("a=1,b=0,d=1", "'d=1' names no variable"), ("", "names no variable"), ("a,b,c", "neither 0 nor 1"),
    ],
)  # fmt: skip
def test_what_is_no_point_is_refused(text: str, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        ListFamily.of("a,b,c", 2).point(text)


@pytest.mark.parametrize("points", [[[0, 1]], [[0, 1, 2]], [0, 1, 0], [[[0]]]])
def test_arrays_that_are_no_points_are_refused(points: Any) -> None:
    with pytest.raises(WorkloadError):
        ListFamily.of("a,b,c", 2).checked(np.array(points))


@pytest.mark.parametrize("rows", list(RowKind))
@pytest.mark.parametrize("changes", [1, 2, 3])
def test_patterns_are_the_outputs_of_all_rows(rows: RowKind, changes: int) -> None:
    """Filled up to k literals; those without a change among them."""
    family = family_of(3, 3, rows.value, changes if rows is RowKind.LISTS else 1)
    filled = {bits + bits[-1:] * (3 - len(literals)) for literals, bits in rows_of(family)}
    assert set(map(tuple, family.patterns.tolist())) == filled


def test_a_disjunction_is_true_where_a_literal_is_and_a_conjunction_where_all_are() -> None:
    for kind, rule in (("disjunctions", any), ("conjunctions", all)):
        family = family_of(3, 2, kind)
        for row in rows_of(family):
            wanted = [itself == (kind == "disjunctions") for _, itself in row[0]]
            if not row[0]:
                continue
            for point in points_of(family):
                held = [point[v] == want for (v, _), want in zip(row[0], wanted, strict=True)]
                assert output_at(row, point) == rule(held)
