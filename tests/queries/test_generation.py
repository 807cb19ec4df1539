from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Philox

from dpopt.errors import WorkloadError
from dpopt.queries import Clauses
from dpopt.queries.counting.kernels import count_on_records
from dpopt.queries.workloads import families as generation
from dpopt.queries.workloads.families import (
    all_marginals,
    all_parities,
    chosen_marginals,
    listed_marginals,
    random_conjunctions,
    random_parities,
    random_thresholds,
)
from dpopt.schema import Attribute, AttributeKind, Schema
from dpopt.schema.domains import Domains
from tests.strategies import naive_truth, schemas, tables


def schema_of(*sizes: int, occurring: dict[int, tuple[int, ...]] | None = None) -> Schema:
    return Schema(
        tuple(
            Attribute(f"x{i}", AttributeKind.CATEGORICAL, tuple(range(size)), occurring=(occurring or {}).get(i))
            for i, size in enumerate(sizes)
        )
    )


def everything(schema: Schema) -> Domains:
    return Domains.of(schema, occurring=False)


def expected_cells(marginals: list[tuple[int, ...]], domains: list[list[int]]) -> list[list[tuple[int, int]]]:
    return [
        list(zip(marginal, cell, strict=True))
        for marginal in marginals
        for cell in product(*(domains[a] for a in marginal))
    ]


@given(schemas(), st.integers(1, 5), st.booleans())
@settings(max_examples=60)
def test_marginals_have_one_conjunction_for_every_cell(schema: Schema, width: int, occurring: bool) -> None:
    width = min(width, len(schema))
    occurring = occurring and any(attribute.occurring is not None for attribute in schema.attributes)
    clauses = all_marginals(width, schema, Domains.of(schema, occurring=occurring)).clauses()
    domains = [list(a.occurring if occurring and a.occurring is not None else range(a.size)) for a in schema.attributes]
    marginals = list(combinations(range(len(schema)), width))
    found = [
        list(zip(a, v, strict=True)) for a, v in zip(clauses.attributes.tolist(), clauses.values.tolist(), strict=True)
    ]
    assert found == expected_cells(marginals, domains)
    assert clauses.signs.all()
    assert (clauses.accepted == 1 << width).all()


def test_listed_marginals_may_differ_in_width() -> None:
    clauses = listed_marginals([[2], [1, 0]], everything(schema_of(2, 2, 3))).clauses()
    assert clauses.attributes.tolist() == [[2, -1]] * 3 + [[1, 0]] * 4
    assert clauses.values.tolist() == [[0, 0], [1, 0], [2, 0], [0, 0], [0, 1], [1, 0], [1, 1]]


@pytest.mark.parametrize("count", [1, 4, 10])
def test_chosen_marginals_are_distinct_and_in_order(count: int) -> None:
    schema = schema_of(2, 2, 2, 2, 2)
    clauses = chosen_marginals(2, count, 3, schema, everything(schema)).clauses()
    chosen = list(dict.fromkeys(tuple(row) for row in clauses.attributes.tolist()))
    assert len(chosen) == count
    assert chosen == sorted(chosen)
    assert set(chosen) <= set(combinations(range(5), 2))
    assert len(clauses) == 4 * count


def test_choosing_all_marginals_gives_all_marginals() -> None:
    schema = schema_of(2, 3, 2, 4, 2, 2)
    for width in range(1, 7):
        everyone = all_marginals(width, schema, everything(schema))
        available = len(list(combinations(range(6), width)))
        chosen = chosen_marginals(width, available, 11, schema, everything(schema))
        assert chosen.fingerprint() == everyone.fingerprint()


def test_marginals_are_chosen_among_more_than_64_bits_can_number() -> None:
    schema = schema_of(*[1] * 300)
    marginals = chosen_marginals(20, 50, 1, schema, everything(schema))
    assert len(marginals) == marginals.number_of_cells == 50
    assert (np.diff(marginals.attributes, axis=1) > 0).all()
    assert int(marginals.attributes.max()) < 300


def naive_literals(
    width: int, count: int, seed: int, domains: list[list[int]], *, signed: bool = True
) -> list[list[tuple[int, int, bool]]]:
    """The definition, in plain Python: all first draws, all second draws, ..., all values, all signs if there are any."""
    stream = Philox(key=seed)

    def below(bounds: list[int]) -> list[int]:
        words = [int(word) for word in stream.random_raw(len(bounds))]
        assert all(word < 2**64 // bound * bound for word, bound in zip(words, bounds, strict=True))
        return [word % bound for word, bound in zip(words, bounds, strict=True)]

    chosen: list[list[int]] = [[] for _ in range(count)]
    for position in range(width):
        for attributes, draw in zip(chosen, below([len(domains) - position] * count), strict=True):
            free = [a for a in range(len(domains)) if a not in attributes]
            attributes.append(free[draw])
    flat = [sorted(attributes) for attributes in chosen]
    digits = below([len(domains[a]) for attributes in flat for a in attributes])
    words = [int(word) for word in stream.random_raw(-(-count * width // 64))]
    signs = [not signed or bool(words[i // 64] >> (i % 64) & 1) for i in range(count * width)]
    return [
        [(a, domains[a][digits[i * width + place]], signs[i * width + place]) for place, a in enumerate(attributes)]
        for i, attributes in enumerate(flat)
    ]


def literals_of(clauses: Clauses) -> list[list[tuple[int, int, bool]]]:
    rows = zip(clauses.attributes.tolist(), clauses.values.tolist(), clauses.signs.tolist(), strict=True)
    return [list(zip(*row, strict=True)) for row in rows]


MIXED = schema_of(2, 3, 5, 1, 7, 4, occurring={2: (0, 4)})
MIXED_DOMAINS = [[0, 1], [0, 1, 2], [0, 4], [0], list(range(7)), list(range(4))]


@pytest.mark.parametrize(("width", "count", "seed"), [(1, 100, 0), (3, 257, 7), (6, 50, 2**64 - 1)])
def test_random_clauses_follow_their_definition(width: int, count: int, seed: int) -> None:
    occurring = Domains.of(MIXED, occurring=True)
    signed = naive_literals(width, count, seed, MIXED_DOMAINS)
    clauses = random_conjunctions(width, count, seed, MIXED, occurring)
    assert literals_of(clauses) == signed
    assert (clauses.accepted == 1 << width).all()
    for least in range(1, width + 1):
        clauses = random_thresholds(width, least, count, seed, MIXED, occurring)
        assert literals_of(clauses) == signed
        assert (clauses.accepted == sum(1 << number for number in range(least, width + 1))).all()
    clauses = random_parities(width, count, seed, MIXED, occurring)
    assert literals_of(clauses) == naive_literals(width, count, seed, MIXED_DOMAINS, signed=False)
    assert (clauses.accepted == sum(1 << number for number in range(1, width + 1, 2))).all()


def test_clauses_beyond_one_batch_continue_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """By definition a batch is drawn as a whole before the next one: 2^20 clauses, here 4."""
    monkeypatch.setattr(generation, "BATCH", 4)
    clauses = random_thresholds(2, 1, 6, 5, MIXED, everything(MIXED))
    alone = random_thresholds(2, 1, 4, 5, MIXED, everything(MIXED))
    assert literals_of(clauses)[:4] == literals_of(alone)
    parities = random_parities(2, 6, 5, MIXED, everything(MIXED))
    assert literals_of(parities)[4:] != literals_of(random_parities(2, 2, 5, MIXED, everything(MIXED)))


@pytest.mark.parametrize("occurring", [False, True])
@pytest.mark.parametrize("width", [1, 2, 5])
def test_all_parities_are_those_of_every_set_of_attributes(width: int, occurring: bool) -> None:
    schema = schema_of(2, 2, 4, 2, 2, occurring={2: (1, 3)}) if occurring else schema_of(2, 2, 2, 2, 2)
    clauses = all_parities(width, schema, Domains.of(schema, occurring=occurring))
    second = {2: 3} if occurring else {}
    assert literals_of(clauses) == [
        [(a, second.get(a, 1), True) for a in chosen] for chosen in combinations(range(5), width)
    ]
    odd = [sum(record) % 2 == 1 for record in product(range(2), repeat=width)]
    records = np.zeros((2**width, 5), dtype=np.int32)
    for place, record in enumerate(product(range(2), repeat=width)):
        records[place, :width] = [code * second.get(a, 1) for a, code in enumerate(record)]
    assert naive_truth(clauses.take([0]), records)[0].tolist() == odd


@given(st.data(), st.sampled_from(["threshold", "parity"]))
def test_one_record_moves_the_count_of_a_query_by_at_most_one(data: st.DataObject, family: str) -> None:
    """Answers are counts over a public n: sensitivity 1/n, replacing a record as well as adding one."""
    sizes = MIXED.sizes.tolist()
    width = data.draw(st.integers(1, 6))
    least, seed = data.draw(st.integers(1, width)), data.draw(st.integers(0, 2**64 - 1))
    if family == "threshold":
        clauses = random_thresholds(width, least, 8, seed, MIXED, everything(MIXED))
    else:
        clauses = random_parities(width, 8, seed, MIXED, everything(MIXED))
    records = data.draw(tables(sizes, max_rows=12))
    added = np.array([[data.draw(st.integers(0, size - 1)) for size in sizes]], dtype=np.int32)
    before = count_on_records(clauses, records, MIXED.sizes)
    after = count_on_records(clauses, np.concatenate((records, added)), MIXED.sizes)
    assert np.array_equal(before, naive_truth(clauses, records).sum(axis=1))
    assert np.array_equal(after - before, naive_truth(clauses, added)[:, 0])
    if len(records):
        replaced = count_on_records(clauses, np.concatenate((records[1:], added)), MIXED.sizes)
        assert np.abs(replaced - before).max() <= 1


def test_replacing_one_record_can_move_a_threshold_and_a_parity_by_one() -> None:
    schema = schema_of(2, 2, 2)
    clauses = all_parities(3, schema, everything(schema))
    for mask in (0b1010, 0b1100):
        query = Clauses(clauses.attributes, clauses.values, clauses.signs, np.array([mask], dtype=np.uint32))
        records = np.array([[0, 0, 0], [1, 1, 1]], dtype=np.int32)
        assert count_on_records(query, records[:1], schema.sizes).tolist() == [0]
        assert count_on_records(query, records[1:], schema.sizes).tolist() == [1]


@pytest.mark.statistics
def test_random_conjunctions_are_uniform() -> None:
    """60,000 conjunctions of 2 out of 4 attributes with 1 to 4 values, fixed seed.

    All 6 attribute sets, all values of an attribute and both signs are equally frequent up to 5 standard deviations:
    false alarm below 1e-4. A choice with repetition, or values drawn before attributes, is rejected.
    """
    schema = schema_of(1, 2, 3, 4)
    clauses = random_conjunctions(2, 60_000, 1, schema, everything(schema))
    sets = np.bincount(clauses.attributes[:, 0] * 4 + clauses.attributes[:, 1], minlength=16).reshape(4, 4)
    assert np.count_nonzero(sets) == 6
    assert (abs(sets[np.triu_indices(4, 1)] - 10_000) < 5 * 91.3).all()
    for attribute in range(4):
        values = np.bincount(clauses.values[clauses.attributes == attribute], minlength=attribute + 1)
        expected = 30_000 / (attribute + 1)
        assert values.size == attribute + 1
        assert (abs(values - expected) < 5 * expected**0.5 + 650).all()
    assert abs(np.count_nonzero(clauses.signs) - 60_000) < 5 * 173.3


def test_occurring_values_are_refused_where_none_are_declared() -> None:
    with pytest.raises(WorkloadError, match="the schema declares none; declare 'occurring' for some"):
        Domains.of(schema_of(2, 2), occurring=True)


@pytest.mark.parametrize("width", [0, 4])
def test_a_width_that_the_schema_cannot_give_is_refused(width: int) -> None:
    schema = schema_of(2, 2, 2)
    for build in (chosen_marginals, random_conjunctions, random_parities):
        with pytest.raises(WorkloadError, match=f"{width}-way queries .* between 1 and 3 attributes are possible"):
            build(width, 1, 0, schema, everything(schema))
    with pytest.raises(WorkloadError, match=f"{width}-way queries"):
        all_marginals(width, schema, everything(schema))


def test_a_query_has_at_most_31_literals() -> None:
    schema = schema_of(*[1] * 40)
    assert len(all_marginals(31, schema_of(*[1] * 31), everything(schema_of(*[1] * 31)))) == 1
    with pytest.raises(WorkloadError, match="between 1 and 31 attributes are possible"):
        random_conjunctions(32, 1, 0, schema, everything(schema))


HUNDREDS, ONES, BITS = (schema_of(*[size] * 60) for size in (100, 1, 2))


@pytest.mark.parametrize(
    ("build", "arguments", "schema", "message"),
    [
        (all_marginals, (4,), HUNDREDS, "48,763,500,000,000 cells in the 487,635 marginals over 4"),
        (chosen_marginals, (5, 1, 0), HUNDREDS, "10,000,000,000 cells in 1 marginal, more"),
        (all_marginals, (7,), ONES, "386,206,920 marginals over 7 attributes, more"),
        (random_conjunctions, (3, 50_000_001, 0), HUNDREDS, "50,000,001 conjunctions"),
        (random_thresholds, (3, 2, 50_000_001, 0), HUNDREDS, "50,000,001 thresholds"),
        (random_parities, (3, 50_000_001, 0), HUNDREDS, "50,000,001 parities"),
        (all_parities, (7,), BITS, "386,206,920 parities over 7 of 60 attributes, more"),
        (chosen_marginals, (8, 50_000_001, 0), HUNDREDS, "marginals, more than the 50,000,000"),
    ],
)
def test_too_many_queries_are_refused_with_their_number_before_anything_is_built(
    build: Any, arguments: tuple[int, ...], schema: Schema, message: str
) -> None:
    with pytest.raises(WorkloadError, match=message):
        build(*arguments, schema, everything(schema))
    with pytest.raises(WorkloadError, match="2,100,000,000 cells in 21 marginals,"):
        listed_marginals([[0, 1, 2, last] for last in range(3, 24)], everything(HUNDREDS))


def test_more_marginals_than_there_are_and_none_are_refused() -> None:
    schema = schema_of(2, 2, 2)
    for count in (0, 4):
        with pytest.raises(WorkloadError, match=f"{count} marginals were asked for; there are 3 over 2 of 3"):
            chosen_marginals(2, count, 0, schema, everything(schema))
    with pytest.raises(WorkloadError, match="'count' is at least 1"):
        random_conjunctions(2, 0, 0, schema, everything(schema))
