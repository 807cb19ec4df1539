from __future__ import annotations

from itertools import combinations, permutations
from math import factorial, isqrt, prod
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.queries import parse_workload, workload_from_json
from dpopt.queries.workloads.items import (
    EXPONENTS,
    _elementary_symmetric,
    popular_conjunctions,
    popularity_weights,
    ranks_from_text,
    ranks_to_text,
    read_ranks,
)
from dpopt.schema import Attribute, AttributeKind, Schema

WIDE = Schema.binary(500_000)
SCHEMA = Schema.binary(6)
RANKS = np.array([4, 1, 5, 0], dtype=np.int64)
MIXED = Schema(
    (
        Attribute("milk", AttributeKind.BOOLEAN),
        Attribute("size", AttributeKind.CATEGORICAL, ("s", "m", "l")),
        Attribute("eggs", AttributeKind.CATEGORICAL, ("no", "yes")),
        Attribute("7", AttributeKind.BOOLEAN),
    )
)


def ranked(folder: Path, text: str) -> Path:
    path = folder / "items.txt"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("twice", EXPONENTS.values())
def test_weights_are_whole_parts_of_a_power_of_the_rank(twice: int) -> None:
    found = popularity_weights(3000, twice)
    assert found.dtype == np.uint64
    assert found.tolist() == [isqrt(2**80 // rank**twice) for rank in range(1, 3001)]
    assert np.allclose(found.astype(float), 2**40 * np.arange(1.0, 3001.0) ** (-twice / 2), rtol=1e-4)


def distribution(twice: int, width: int) -> dict[tuple[int, ...], float]:
    """Return the probability of every set of attributes, from all ordered draws without repetition."""
    weights = dict(zip(RANKS.tolist(), popularity_weights(len(RANKS), twice).tolist(), strict=True))
    masses = {
        items: float(sum(prod(weights[item] for item in order) for order in permutations(items)))
        for items in combinations(sorted(weights), width)
    }
    total = sum(masses.values())
    return {items: mass / total for items, mass in masses.items()}


@pytest.mark.parametrize("twice", [0, 2, 3])
@pytest.mark.parametrize("width", [1, 3])
def test_sets_of_items_follow_the_distribution_given_that_they_are_distinct(twice: int, width: int) -> None:
    """Chi-square on 40,000 draws; a false alarm once in 10^6, and a likeliest set off by a tenth is found nearly always."""
    draws = 40_000
    clauses = popular_conjunctions(width, draws, 3, RANKS, SCHEMA, twice_exponent=twice)
    sets, counts = np.unique(clauses.attributes, axis=0, return_counts=True)
    found = dict(zip(map(tuple, sets.tolist()), counts.tolist(), strict=True))
    expected = distribution(twice, width)
    assert set(found) == set(expected)
    statistic = sum((found[one] - draws * mass) ** 2 / (draws * mass) for one, mass in expected.items())
    assert statistic < 30.7  # the quantile 1 - 10^-6 with 3 degrees of freedom: 4 sets in each case


def test_signs_are_fair_and_independent_of_the_items() -> None:
    clauses = popular_conjunctions(2, 40_000, 9, RANKS, SCHEMA)
    assert set(clauses.values.ravel().tolist()) == {1}
    assert set(clauses.accepted.tolist()) == {0b100}
    for item in RANKS.tolist():
        signs = clauses.signs[clauses.attributes == item]
        assert abs(signs.mean() - 0.5) < 5 / (2 * len(signs) ** 0.5)  # five standard deviations
    both = clauses.signs[:, 0] & clauses.signs[:, 1]
    assert abs(both.mean() - 0.25) < 5 * (3 / 16 / 40_000) ** 0.5


def test_positive_conjunctions_ask_for_what_is_there() -> None:
    signed = popular_conjunctions(3, 50, 1, RANKS, SCHEMA)
    positive = popular_conjunctions(3, 50, 1, RANKS, SCHEMA, positive=True)
    assert positive.signs.all()
    assert not signed.signs.all()
    assert np.array_equal(positive.attributes, signed.attributes)


def test_a_popular_workload_never_changes(tmp_path: Path) -> None:
    path = ranked(tmp_path, "item4\nitem1\n\nitem5\nitem0\n")
    pinned = {
        "popular:3,count=1000,seed=7": "25190d0ae94d476f168b9a57bb08939705185591201ebdeb3f9f8a036121f65b",
        "popular:2,count=1100000,seed=0": "76146feb9018e0ce8aac9ea50950c72a91a07f48298baee452a324e67da48b57",
        "popular:3,count=1000,seed=7,exponent=0.5": "1dd553bf31b695edeedbd02f41befe69cfdacea321abf94295d33f4a9a8c1850",
        "popular:3,count=1000,seed=7,exponent=2,positive": "ec4c0c27cd966bda9d819fd7bdc1dbe02ec0e75b638217bbaa885a2bf8fd4edf",
    }
    found = {text: parse_workload(f"{text},ranks={path}", SCHEMA).fingerprint for text in pinned}
    assert found == pinned


def test_a_workload_holds_its_ranks_and_no_path(tmp_path: Path) -> None:
    path = ranked(tmp_path, "4\n1\n5\n0\n")
    workload = parse_workload(f" popular : 2, ranks={path}, positive, count=20", SCHEMA)
    written = workload.to_json()
    assert written == {
        "dpopt_workload": 1,
        "workload": "popular:2,count=20,seed=0,positive",
        "ranks": "4 1 5 0",
        "fingerprint": workload.fingerprint,
    }
    path.unlink()
    again = workload_from_json(written, SCHEMA)
    assert again.fingerprint == workload.fingerprint
    assert again.ranks is not None
    assert again.ranks.tolist() == RANKS.tolist()
    assert parse_workload("marginals:1", SCHEMA).ranks is None


def test_very_many_items_are_ranked_by_name(tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(100_000)
    path = ranked(tmp_path, "\n".join(f"item{item}" for item in order.tolist()))
    wide = Schema.binary(100_000)
    ranks = read_ranks(path, wide)
    assert np.array_equal(ranks, order)
    assert np.array_equal(ranks_from_text(ranks_to_text(ranks)), order)
    clauses = popular_conjunctions(3, 100_000, 1, ranks, wide)
    share = np.isin(clauses.attributes, order[:10]).mean()
    assert 0.19 < share < sum(1 / rank for rank in range(1, 11)) / 12.1  # a little less, for items are distinct
    assert (np.diff(clauses.attributes, axis=1) > 0).all()


@pytest.mark.parametrize(
    ("text", "positions"),
    [("milk\neggs\n7\n", [0, 2, 3]), ("3\n0\n2", [3, 0, 2]), ("7\nmilk\neggs", [3, 0, 2]), (" eggs \r\nmilk", [2, 0])],
)
def test_lines_are_names_or_numbers(tmp_path: Path, text: str, positions: list[int]) -> None:
    """A name that looks like a number is a name where all lines are names."""
    assert read_ranks(ranked(tmp_path, text), MIXED).tolist() == positions


def test_names_that_are_numbers_of_other_columns_are_not_guessed(tmp_path: Path) -> None:
    numbered = Schema.binary(4, ["1", "2", "3", "8"])
    assert read_ranks(ranked(tmp_path, "3\n1\n8"), numbered).tolist() == [2, 0, 3]
    assert read_ranks(ranked(tmp_path, "0"), numbered).tolist() == [0]
    with pytest.raises(WorkloadError, match=r"line 2: '3' is a name \(and a number\), and other lines"):
        read_ranks(ranked(tmp_path, "0\n3\n"), numbered)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("milk\nbread\n", "line 2: 'bread' is neither an attribute of the schema nor a column number from 0 to 3"),
        ("0\n4\n", "line 2: '4' is neither an attribute of the schema nor a column number from 0 to 3"),
        ("0\nmilk\n-1\n", "line 3: '-1' is neither an attribute"),
        ("2\nmilk\n", "line 2: 'milk' is a name, and other lines are not, such as line 1; give names"),
        ("7\nmilk\n9\n", "line 3: '9' is neither an attribute of the schema nor a column number from 0 to 3"),
        ("\n\n", "are empty; expected one item per line"),
        ("milk\neggs\nmilk\n", "the ranks name 'milk' twice, at the places 1 and 3"),
        ("milk\nsize\neggs\n", "the ranks name 'size', which has 3 values; items are attributes of two"),
        ("milk\neggs\n", "conjunctions of 3 items need at least 3 ranked items, found 2"),
    ],
)
def test_ranks_that_cannot_be_used_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = ranked(tmp_path, text)
    with pytest.raises(WorkloadError, match=message):
        parse_workload(f"popular:3,count=10,ranks={path}", MIXED)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"missing.txt' cannot be read: No such file"):
        parse_workload(f"popular:2,count=10,ranks={tmp_path / 'missing.txt'}", SCHEMA)
    path = tmp_path / "latin"
    path.write_bytes(b"caf\xe9\n")
    with pytest.raises(WorkloadError, match="it is not UTF-8 text"):
        parse_workload(f"popular:2,count=10,ranks={path}", SCHEMA)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("popular:2,count=10", "needs the ranks of its items: 'ranks=FILE', or the key 'ranks'"),
        ("popular:2,ranks=x", "needs the number of queries, such"),
        ("popular:2,count=10,ranks=", "has the option 'ranks='; expected count=N, seed=S, exponent=A"),
        ("popular:2,count=10,occurring", "has the option 'occurring'; expected .* or positive"),
        ("popular:2,count=10,exponent=3,ranks=x", "has the exponent '3'; expected one of 0, 0.5, 1, 1.5, 2"),
        ("marginals:2,positive", "has the option 'positive'; expected count=N, seed=S or occurring"),
        ("threshold:1of2,count=3,positive", "has the option 'positive'; expected count=N, seed=S"),
        ("conjunctions:2,count=3,ranks=x", "has the option 'ranks=x'; expected count=N, seed=S, occurring"),
    ],
)
def test_short_forms_that_do_not_fit_are_refused(text: str, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        parse_workload(text, SCHEMA)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"workload": "marginals:2"}, "has no use for ranks; they go with 'popular:K,...'"),
        ({"workload": "popular:2,count=5,ranks=x"}, "a JSON file keeps the ranks themselves"),
        ({"ranks": [4, 1]}, "'ranks' is one text of column numbers"),
        ({"ranks": "4  1"}, "'ranks' is one text of column numbers"),
        ({"ranks": "4 6"}, "the ranks name column number 6; the schema has 6 attributes"),
        ({"fingerprint": "0"}, "expected 0"),
    ],
)
def test_objects_that_do_not_fit_are_refused(changes: dict[str, object], message: str) -> None:
    usual = {"dpopt_workload": 1, "workload": "popular:2,count=5", "ranks": "4 1 5"}
    assert len(workload_from_json(usual, SCHEMA)) == 5
    with pytest.raises(WorkloadError, match=message):
        workload_from_json({**usual, **changes}, SCHEMA)


def test_ranks_go_with_short_forms_only() -> None:
    with pytest.raises(WorkloadError, match="'ranks' goes with 'workload': 'popular:K,...' only"):
        workload_from_json({"dpopt_workload": 1, "marginals": [["item1"]], "ranks": "1"}, SCHEMA)


def shares(items: int, twice: int) -> NDArray[np.float64]:
    weights = popularity_weights(items, twice).astype(np.float64)
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize(("items", "width"), [(4, 1), (4, 4), (7, 3), (1, 1)])
def test_the_chance_of_distinct_items_is_an_elementary_symmetric_sum(items: int, width: int) -> None:
    given = shares(items, 2)
    expected = sum(prod(given[list(chosen)]) for chosen in combinations(range(items), width))
    assert _elementary_symmetric(given, width) == pytest.approx(expected, rel=1e-12)


def test_items_that_are_nearly_never_distinct_are_refused() -> None:
    narrow = Schema.binary(12)
    assert factorial(12) * _elementary_symmetric(shares(12, 0), 12) < 1e-3
    with pytest.raises(WorkloadError, match="12 items drawn by popularity are distinct once in 1.9e[+]04"):
        popular_conjunctions(12, 5, 1, np.arange(12), narrow, twice_exponent=0)


def test_ranks_too_many_for_an_exponent_are_refused() -> None:
    assert popularity_weights(2**20, 4)[-1] == 1
    assert int(popularity_weights(2**22, 0).sum()) == 2**62
    with pytest.raises(WorkloadError, match="1,048,577 ranked items are too many for the exponent 2"):
        popularity_weights(2**20 + 1, 4)
    with pytest.raises(WorkloadError, match="4,194,305 ranked items are too many for the exponent 0"):
        popularity_weights(2**22 + 1, 0)


@pytest.mark.parametrize(("width", "count"), [(0, 5), (7, 5), (3, 0)])
def test_no_clauses_and_impossible_widths_are_refused(width: int, count: int) -> None:
    with pytest.raises(WorkloadError, match="were asked for"):
        popular_conjunctions(width, count, 0, RANKS, SCHEMA)


def test_positive_conjunctions_name_second_values() -> None:
    schema = Schema(
        (*MIXED.attributes, Attribute("town", AttributeKind.CATEGORICAL, ("a", "b", "c"), occurring=(0, 2)))
    )
    clauses = parse_workload("conjunctions:2,count=400,seed=3,positive", schema).clauses
    assert clauses.signs.all()
    two = np.isin(clauses.attributes, [0, 2, 3])
    assert set(clauses.values[two].tolist()) == {1}
    assert set(clauses.values[clauses.attributes == 1].tolist()) == {0, 1, 2}
    occurring = parse_workload("conjunctions:2,count=400,seed=3,occurring,positive", schema)
    assert set(occurring.clauses.values[occurring.clauses.attributes == 4].tolist()) == {2}
    assert occurring.specification["workload"] == "conjunctions:2,count=400,seed=3,occurring,positive"


@pytest.mark.parametrize("text", ["marginals:2", "marginals:3", "parity:3"])
def test_too_many_queries_over_a_wide_schema_are_refused_with_their_number(text: str) -> None:
    with pytest.raises(
        WorkloadError, match="of 500000 attributes|in the 124,999,750,000|in the 20,833,208,333,500,000"
    ):
        parse_workload(text, WIDE)
