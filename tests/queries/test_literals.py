"""Numbers and moves of conjunctions against enumeration, and what a query in words says of literals."""

from __future__ import annotations

from itertools import combinations, pairwise, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.errors import SchemaError, WorkloadError
from dpopt.queries.conjunctions.literals import ChosenLiterals, LiteralGroups
from dpopt.queries.counting.subset_kernels import count_subsets
from dpopt.schema.schema import Schema

SIZES = st.lists(st.integers(1, 3), min_size=1, max_size=5).map(tuple)


def conjunctions(groups: LiteralGroups, size: int) -> list[tuple[int, ...]]:
    every = combinations(range(groups.literals), size)
    return [one for one in every if len({int(groups.group[at]) for at in one}) == size]


@given(sizes=SIZES, size=st.integers(1, 5))
def test_conjunctions_are_numbered_in_lexicographic_order(sizes: tuple[int, ...], size: int) -> None:
    groups = LiteralGroups(sizes)
    every = conjunctions(groups, size)
    assert groups.conjunctions(size) == len(every)
    if every:
        assert groups.numbers(np.array(every)).tolist() == list(range(len(every)))


@settings(deadline=None)
@given(sizes=SIZES.filter(lambda some: len(some) <= 4), size=st.integers(1, 4))
def test_a_record_moves_as_many_conjunctions_as_stated_and_no_more(sizes: tuple[int, ...], size: int) -> None:
    """Over all records, each with at most one literal of each group, and all pairs of them."""
    groups = LiteralGroups(sizes)
    firsts = np.concatenate(([0], np.cumsum(sizes)))
    choices = [[None, *range(int(first), int(last))] for first, last in pairwise(firsts)]
    families = []
    for record in product(*choices):
        held = [at for at in record if at is not None]
        families.append(set(combinations(held, size)))
    assert max(map(len, families)) == groups.sensitivity(size, replaced=False)
    assert max(len(one ^ other) for one in families for other in families) == groups.sensitivity(size, replaced=True)


def test_sensitivities_of_bits() -> None:
    """Of d bits, one literal each: C(d, j) under both relations; with both signs twice that under replace-one."""
    single, both = LiteralGroups((1,) * 50), LiteralGroups((2,) * 50)
    for size in range(1, 6):
        for replaced in (False, True):
            assert single.sensitivity(size, replaced=replaced) == comb(50, size)
        assert both.sensitivity(size, replaced=False) == comb(50, size)
        assert both.sensitivity(size, replaced=True) == 2 * comb(50, size)


@settings(max_examples=60, deadline=None)
@given(
    sizes=SIZES, rows=st.integers(1, 300), size=st.integers(1, 4), seed=st.integers(0, 10**6), threads=st.integers(1, 3)
)
def test_counts_are_those_of_plain_numpy(sizes: tuple[int, ...], rows: int, size: int, seed: int, threads: int) -> None:
    groups, generator = LiteralGroups(sizes), np.random.default_rng(seed)
    bits = np.zeros((groups.literals, 64 * -(-rows // 64)), dtype=np.bool_)
    for group, number in enumerate(sizes):
        chosen = generator.integers(0, number + 1, rows)
        first = sum(sizes[:group])
        for code in range(number):
            bits[first + code, :rows] = chosen == code
    words = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    shares: list[float] = []
    found = count_subsets(words, groups, size, threads=threads, progress=shares.append)
    for j in range(1, size + 1):
        expected = [int(bits[list(one)].all(axis=0).sum()) for one in conjunctions(groups, j)]
        assert found[j - 1].tolist() == expected
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_more_blocks_than_one_are_added_up() -> None:
    words = np.random.default_rng(1).integers(0, 2**63, (30, 5000), dtype=np.uint64)
    groups = LiteralGroups((1,) * 30)
    pairs = count_subsets(words, groups, 2)[1]
    for one in ((0, 1), (3, 29), (28, 29)):
        expected = int(np.bitwise_count(words[one[0]] & words[one[1]]).sum())
        assert pairs[groups.numbers(np.array([one]))[0]] == expected


SCHEMA = Schema.from_json(
    {
        "dpopt_schema": 1,
        "draft": False,
        "attributes": [
            {"name": "smoker", "type": "categorical", "values": ["no", "yes"]},
            {"name": "age", "type": "numeric", "edges": [0, 20, 40, 60], "integer": True},
            {"name": "city", "type": "categorical", "values": ["Oslo", "Rome, Italy", "Bonn"]},
        ],
    }
)


def test_conditions_are_sets_of_literals() -> None:
    every = ChosenLiterals.of(SCHEMA, None, "all")
    assert every.groups.sizes == (2, 3, 3)
    found = every.conditions("city!=Bonn, smoker=yes,age>=20")
    assert [(one.group, one.true_by, one.false_by) for one in found] == [
        (0, (1,), (0,)),
        (1, (3, 4), (2,)),
        (2, (5, 6), (7,)),
    ]
    assert every.conditions("city=Rome,, Italy")[0].true_by == (6,)
    positive = ChosenLiterals.of(SCHEMA, ["age", "smoker"], "positive")
    assert positive.groups.sizes == (3, 1)
    assert positive.labels == ("age=[0, 20)", "age=[20, 40)", "age=[40, 60]", "smoker=yes")
    yes, no = positive.conditions("smoker=yes")[0], positive.conditions("smoker=no")[0]
    assert (yes.true_by, yes.false_by) == ((3,), None)
    assert (no.true_by, no.false_by) == (None, (3,))
    again = ChosenLiterals.from_json(positive.to_json())
    assert again.labels == positive.labels


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("smoker", "expected attribute=value"),
        ("smoker=maybe", "maybe"),
        ("shoe=1", "shoe"),
        ("age>=25", "age"),
        ("age>=0", "holds for every value"),
        ("age<0", "holds for no value"),
        ("smoker=yes,smoker=no", "smoker=yes and smoker=no holds for no value of 'smoker'"),
        ("age>=20,smoker=yes,age<20", "age>=20 and age<20 holds for no value"),
    ],
)
def test_conditions_that_say_nothing_are_refused(text: str, message: str) -> None:
    with pytest.raises((WorkloadError, SchemaError), match=message):
        ChosenLiterals.of(SCHEMA, None, "all").conditions(text)


def test_conditions_on_one_attribute_are_one() -> None:
    """All of them hold for the values in common, some of them for those of any; counted one by one they are refused."""
    every, positive = (ChosenLiterals.of(SCHEMA, None, which) for which in ("all", "positive"))
    both = every.conditions("age>=20,smoker=yes,age<40")
    assert [(one.text, one.true_by) for one in both] == [
        ("smoker=yes", every.conditions("smoker=yes")[0].true_by),
        ("age>=20,age<40", every.conditions("age=[20,, 40)")[0].true_by),
    ]
    (some,) = every.conditions("age<20,age>=40", "or")
    assert some.true_by == every.conditions("age!=[20,, 40)")[0].true_by
    assert positive.conditions("smoker=no,smoker!=yes")[0].false_by == positive.conditions("smoker=no")[0].false_by
    with pytest.raises(WorkloadError, match="age<20 and age>=20 holds for every value of 'age'; leave"):
        every.conditions("age<20,age>=20", "or")
    with pytest.raises(WorkloadError, match="two conditions on 'age'.*'atleast:2' each condition needs"):
        every.conditions("age<40,age>=20,smoker=yes", "atleast:2")


def test_input_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(WorkloadError, match="none empty"):
        LiteralGroups((2, 0))
    with pytest.raises(WorkloadError, match="different attributes, in their order"):
        LiteralGroups((2, 2)).numbers(np.array([[0, 1]]))
    with pytest.raises(WorkloadError, match="from 0 to 3"):
        LiteralGroups((2, 2)).numbers(np.array([[0, 4]]))
    with pytest.raises(WorkloadError, match="take fewer columns, or a smaller degree"):
        LiteralGroups((1,) * 1000).before(3)
    with pytest.raises(WorkloadError, match="packed columns of 4 literals"):
        count_subsets(np.zeros((3, 1), dtype=np.uint64), LiteralGroups((2, 2)), 1)
    with pytest.raises(WorkloadError, match="expected all or positive"):
        ChosenLiterals.of(SCHEMA, None, "some")
    with pytest.raises(SchemaError, match="no attribute 'shoe'"):
        ChosenLiterals.of(SCHEMA, ["shoe"], "all")
    with pytest.raises(SchemaError, match="'age' twice"):
        ChosenLiterals.of(SCHEMA, ["age", "age"], "all")
