"""Bins of a histogram and the ranges that texts name."""

from __future__ import annotations

import json

import pytest

from dpopt.errors import WorkloadError
from dpopt.files.codec import decode, encode
from dpopt.queries.ranges.bins import Bins
from dpopt.schema.attribute import Attribute, AttributeKind

AGE = Bins.of_attribute(Attribute("age", AttributeKind.NUMERIC, edges=(0, 18, 30, 65), integer=True, missing="?"))
SIZE = Bins.of_attribute(Attribute("size", AttributeKind.CATEGORICAL, ("s", "m", "l"), ordered=True))
PLAIN = Bins("bins", 10)


@pytest.mark.parametrize(
    ("bins", "text", "expected"),
    [
        (AGE, "18:65", (1, 3)), (AGE, "0:18.0", (0, 1)), (AGE, ":30", (0, 2)), (AGE, "30:", (2, 3)),
        (SIZE, "s:m", (0, 2)), (SIZE, "m:", (1, 3)), (SIZE, "l:l", (2, 3)), (PLAIN, "2:5", (2, 5)),
        (PLAIN, ":", (0, 10)),
    ],
)  # fmt: skip
def test_a_text_names_a_range(bins: Bins, text: str, expected: tuple[int, int]) -> None:
    assert bins.range_of(text) == expected


@pytest.mark.parametrize(
    ("bins", "text", "message"),
    [
        (AGE, "18", "two ends and a colon"),
        (AGE, "18:20:30", "two ends and a colon"),
        (AGE, "20:65", "20 is not an edge of a bin; the nearest are 18, 30"),
        (AGE, "x:65", "'x' is not a number"),
        (AGE, "30:18", "holds no bin"),
        (SIZE, "xl:s", "'xl' is not one of its values s, m, l"),
        (SIZE, "l:s", "holds no bin"),
        (PLAIN, "5:11", "outside the 10 bins"),
        (PLAIN, "a:b", "are not positions"),
        (PLAIN, "-3:5", "holds no bin"),
    ],
)
def test_a_text_that_names_none_is_refused(bins: Bins, text: str, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        bins.range_of(text)


def test_values_without_order_are_refused() -> None:
    attribute = Attribute("town", AttributeKind.CATEGORICAL, ("a", "b"))
    with pytest.raises(WorkloadError, match="the schema declares no order of its values"):
        Bins.of_attribute(attribute)
    assert Bins.of_attribute(attribute, in_order=False).label(1) == "b"


def test_bins_are_labelled_and_read_back() -> None:
    assert [AGE.label(place) for place in range(4)] == ["[0, 18)", "[18, 30)", "[30, 65]", "missing"]
    assert PLAIN.label(3) == "3"
    for bins in (AGE, SIZE, PLAIN):
        again = decode(Bins, json.loads(json.dumps(encode(bins))), "bins")
        assert (again.name, again.number, again.labels, again.edges) == (
            bins.name,
            bins.number,
            bins.labels,
            bins.edges,
        )


def test_bins_that_cannot_be_are_refused() -> None:
    with pytest.raises(WorkloadError, match="at least one bin"):
        Bins("x", 0)
    with pytest.raises(WorkloadError, match="2 labels for 3 bins"):
        Bins("x", 3, ("a", "b"))
