"""The score of an evaluation: 0 % for columns shuffled on their own, 100 % at sampling error. All tables are public."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from dpopt.algorithms.evaluate import evaluate
from dpopt.public_random import permutation, public_stream, uniforms
from dpopt.queries.associations import chi_square
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.schema import Schema

Codes = NDArray[np.int64]
ROWS = 600


def drawn(name: str, values: int, rows: int = ROWS) -> Codes:
    """Return public random codes, which are the same for ever."""
    return (uniforms(public_stream(3, name), rows) * values).astype(np.int64)


def noisy(codes: Codes, name: str, share: float) -> Codes:
    """Return codes of which a part is drawn anew."""
    return np.where(uniforms(public_stream(4, name), codes.size) < share, drawn(name, int(codes.max()) + 1), codes)


def tables() -> dict[str, list[Codes]]:
    """Return columns of made-up tables with dependence between pairs."""
    a, b = drawn("a", 4), drawn("b", 3)
    skewed = (drawn("c", 100) < 3).astype(np.int64)
    return {
        "a copy": [a, a],
        "functions": [a, b, a % 2, (a + b) % 4],
        "a chain": [a, noisy(a, "d", 0.5), noisy(noisy(a, "d", 0.5), "e", 0.5), b],
        "rare codes": [skewed, skewed * b, b, noisy(skewed, "f", 0.2)],
        "one pair of ten columns": [a, noisy(a, "g", 0.3), *(drawn(f"h{i}", 3) for i in range(8))],
    }


def score(rows: list[Codes], table: list[Codes]) -> dict[str, Any]:
    sizes = [int(max(one.max(), other.max())) + 1 for one, other in zip(rows, table, strict=True)]
    schema = Schema(
        tuple(
            Attribute(f"c{place}", AttributeKind.CATEGORICAL, tuple(f"v{code}" for code in range(size)))
            for place, size in enumerate(sizes)
        )
    )
    frames = [pd.DataFrame({f"c{i}": [f"v{code}" for code in one] for i, one in enumerate(s)}) for s in (rows, table)]
    found = evaluate(*frames, schema=schema)
    assert found.dependence is not None
    assert found.to_json()["dependence"] == found.dependence
    assert found.dependence["words"].startswith("dependence between columns kept: ")
    return dict(found.dependence)


def shuffled(table: list[Codes], seed: int = 1) -> list[Codes]:
    """Return each column in an order of its own, by public random numbers."""
    return [one[permutation(public_stream(seed, f"order of {place}"), one.size)] for place, one in enumerate(table)]


@pytest.mark.parametrize("name", tables())
def test_shuffling_the_columns_of_a_release_makes_its_score_worse(name: str) -> None:
    """Five tables, one public order each, so that nothing is left to chance; the release keeps about half of a table's rows."""
    table = tables()[name]
    some = permutation(public_stream(2, "rows"), ROWS)[: ROWS // 2]
    release = [
        np.concatenate([one[some], other[: ROWS // 2]]) for one, other in zip(table, shuffled(table), strict=True)
    ]
    kept, worse = score(release, table), score(shuffled(release, 5), table)
    assert 10 < kept["percent"] < 100
    assert worse["percent"] < kept["percent"] - 10
    assert worse["percent"] < 5
    assert score(table, table)["percent"] == 100


def test_shuffles_score_0_in_the_mean_by_the_convexity_of_distances() -> None:
    """Exact: of all 720 orders of a column the mean distance is at least that of the product of shares, whose score is 0."""
    table = [np.tile([0, 0, 0, 1, 1, 2], 8), np.tile([0, 0, 0, 1, 1, 1], 8)]
    release = [np.array([0, 0, 1, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 1])]
    real, ones = pair(*table), [np.bincount(one) / one.size for one in release]
    orders = np.array([pair(release[0], release[1][list(order)]) for order in permutations(range(6))])
    assert orders.mean(axis=0) == pytest.approx(np.outer(*ones))
    distances = np.abs(orders - real).sum(axis=(1, 2)) / 2
    found = score(release, table)
    assert found["shuffled"] == pytest.approx(np.abs(np.outer(*ones) - real).sum() / 2)
    assert distances.mean() >= found["shuffled"]
    assert found["distance"] == pytest.approx(np.abs(pair(*release) - real).sum() / 2)


def pair(one: Codes, other: Codes) -> NDArray[np.float64]:
    return np.histogram2d(one, other, (np.arange(4), np.arange(3)))[0] / one.size


def test_the_score_is_0_for_the_product_and_100_at_sampling_error() -> None:
    """a and b are equal in the table; the product of both columns is a release whose score is exactly 0."""
    table, product = [np.repeat([0, 1], 50)] * 2, [np.repeat([0, 1], 50), np.tile([0, 1], 50)]
    assert score(product, table)["percent"] == 0
    found = score(table, table)
    assert found["sampling"] == pytest.approx(np.sqrt(2 * 0.25 / (np.pi * 100)))
    assert (found["shuffled"], found["distance"], found["percent"]) == (0.5, 0, 100)
    moved = [np.repeat([0, 1], 50), np.repeat([0, 1, 0, 1], [45, 5, 5, 45])]
    middle = score(moved, table)
    assert middle["percent"] == pytest.approx(100 * (1 - (0.1 - found["sampling"]) / (0.5 - found["sampling"])))


@pytest.mark.parametrize(
    "table",
    [
        [drawn("i", 4), drawn("j", 3), drawn("k", 2)],
        [drawn("i", 2), drawn("j", 2), drawn("i", 2) ^ drawn("j", 2)],  # dependence of three columns alone
        [np.zeros(9, dtype=np.int64)] * 2,
        [np.array([0, 1]), np.array([0, 1])],
        [np.arange(100), np.arange(100)[::-1]],  # every shuffle is alike
    ],
)
def test_a_table_without_dependence_has_no_score(table: list[Codes]) -> None:
    found = score(table, table)
    assert found["percent"] is None
    assert "not applicable, since the table shows none beyond its sampling error" in found["words"]


def test_columns_that_shuffles_keep_have_no_score() -> None:
    """400 combinations, ten rows each, are independent; 5 rows of rare codes are not, and move shares by less than sampling."""
    table = [np.append(np.repeat(np.arange(20), 200), [20] * 5), np.append(np.tile(np.arange(20), 200), [20] * 5)]
    found = score(table, table)
    assert (found["percent"], found["pairs"]) == (None, 1)
    assert "not applicable, since the table shows none beyond its sampling error" in found["words"]


@pytest.mark.statistics
def test_independent_columns_are_rarely_taken_for_dependent_ones() -> None:
    """200 made-up tables of 6 independent columns of 3 to 8 skewed codes, 100 rows: 2 are expected to fail at 1 %.

    Public random numbers, so that it never fails by chance. At most 8 of 200 is what a rate of 1 % exceeds with probability
    2e-4; a test at 10 % gives 20.
    """
    wrong = 0
    for number in range(200):
        table = [
            (uniforms(public_stream(number, f"column {place}"), 100) ** 2 * (3 + place)).astype(np.int64)
            for place in range(6)
        ]
        wrong += score(table, table)["pairs"] > 0
    assert wrong <= 8


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([0, 0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 2, 3]),
        ([0, 1, 2, 3, 3, 3], [0, 0, 1, 1, 2, 2]),
        ([0, 0, 0, 1], [0, 1, 1, 1]),
    ],
)
def test_chi_square_has_its_exact_mean_and_variance_over_all_shuffles(one: list[int], other: list[int]) -> None:
    found = []
    for order in permutations(other):
        shares = np.zeros((4, 4))
        np.add.at(shares, (one, order), 1 / len(one))
        found.append(chi_square(shares, len(one)) or (np.nan,) * 3)
    values, means, variances = np.array(found).T
    assert means == pytest.approx(values.mean())
    assert variances == pytest.approx(values.var())
