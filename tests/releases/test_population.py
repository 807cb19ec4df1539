from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.releases.public_population.population import public_population
from dpopt.schema import Rule, implies, literal
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.algorithms.small_runs import SCHEMA
from tests.strategies import schemas

WIDE = Schema(tuple(Attribute(f"a{i}", AttributeKind.CATEGORICAL, tuple(range(2 + i % 7))) for i in range(45)))


def digest(columns: Sequence[NDArray[np.int64]]) -> str:
    return hashlib.sha256(np.stack(columns, axis=1).astype("<i4").tobytes()).hexdigest()


@pytest.mark.parametrize(
    ("schema", "rows", "seed", "pinned"),
    [
        (SCHEMA, 5000, 1, "4f89b0d64596ea7c16a1effe08926e937dfa6d20317973954b3763d64207a92b"),
        (SCHEMA, 5000, 2, "d8254394a3076eae134abccd98b7f35c976f17412260ce83e4704825e11e98c9"),
        (WIDE, 2000, 1, "6cd7566a02693422cdeaca0ea417741e8b3f1642fdb871a1a737fdedb1ea1279"),
    ],
)
def test_a_population_is_the_same_for_ever(schema: Schema, rows: int, seed: int, pinned: str) -> None:
    assert digest(public_population(schema, rows, seed=seed)) == pinned


def test_a_population_obeys_the_rules_and_changes_only_what_breaks_them() -> None:
    rule = Rule(implies(literal("smoker", "=", True), literal("colour", "=", "red")), "smokers are red")
    schema = Schema(SCHEMA.attributes, rules=(rule,))
    free, ruled = (np.stack(public_population(one, 5000, seed=1), axis=1).astype(np.int32) for one in (SCHEMA, schema))
    kept = ~schema.circuit().broken(free).any(axis=1)
    assert 0.05 < kept.mean() < 0.95
    assert not schema.circuit().broken(ruled).any()
    np.testing.assert_array_equal(ruled[kept], free[kept])
    changed = (ruled != free).sum(axis=1)[~kept]
    assert changed.min() == 1
    assert changed.max() <= 2  # the rule mentions two attributes


@given(schema=schemas(), rows=st.integers(1, 300), seed=st.integers(0, 1000))
def test_a_population_holds_codes_that_may_occur_and_no_others(schema: Schema, rows: int, seed: int) -> None:
    columns = public_population(schema, rows, seed=seed)
    assert len(columns) == len(schema)
    for attribute, column in zip(schema.attributes, columns, strict=True):
        assert column.shape == (rows,)
        allowed = range(attribute.size) if attribute.occurring is None else attribute.occurring
        assert set(column.tolist()) <= set(allowed)


def test_attributes_are_skewed_and_depend_on_each_other() -> None:
    columns = public_population(WIDE, 20_000, seed=3)
    largest = sorted(float(np.bincount(column).max() / len(column)) for column in columns)
    assert largest[0] < 0.75
    assert largest[-1] > 0.98
    informations = [mutual_information(columns[i], columns[j]) for i in range(len(columns)) for j in range(i)]
    independent = 0.001  # (values - 1)**2 / (2 rows) is what independent columns of 8 values would show
    assert max(informations) > 50 * independent
    assert sum(value > 5 * independent for value in informations) > 10


def mutual_information(one: NDArray[np.integer], other: NDArray[np.integer]) -> float:
    joint = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(joint, (one, other), 1 / len(one))
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / apart[seen])).sum())
