"""Models trained on synthetic records, and models that tell them from real ones, where the answers are known."""

from __future__ import annotations

import numpy as np
import pytest

from dpopt.private import record_comparison
from dpopt.private.record_comparison import compare_predictions, compare_propensity, default_target
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.schema.schema import Attribute, AttributeKind, Schema

SCHEMA = Schema(
    (
        Attribute("size", AttributeKind.NUMERIC, edges=tuple(range(11)), missing="?"),
        Attribute("town", AttributeKind.CATEGORICAL, ("north", "south", "west")),
        Attribute("ill", AttributeKind.BOOLEAN),
    )
)


def records(number: int, seed: int) -> np.ndarray:
    """Return records of which the last column says whether the first is at least 5."""
    generator = np.random.default_rng(seed)
    found = generator.integers(0, (10, 3, 2), size=(number, 3), dtype=np.int32)
    found[:, 2] = found[:, 0] >= 5
    return found


def dataset(number: int = 600) -> PrivateDataset:
    return PrivateDataset.from_codes(SCHEMA, list(records(number, 1).T))


def test_what_synthetic_records_know_can_be_predicted_and_noise_cannot() -> None:
    pytest.importorskip("sklearn")
    good, noise = records(500, 2), records(500, 3)
    noise[:, 2] = np.random.default_rng(4).permutation(noise[:, 2])
    found = compare_predictions(dataset(), SCHEMA, 2, good, np.ones(500))
    assert found is not None
    assert (found.target, found.measure, found.trained, found.tested) == ("ill", "accuracy", 420, 180)
    assert (found.synthetic, found.real, found.area) == (1, 1, 1)
    assert 0.35 < found.guess < 0.65
    poor = compare_predictions(dataset(), SCHEMA, 2, noise, np.ones(500))
    assert poor is not None
    assert poor.area is not None
    assert poor.synthetic < 0.8
    assert poor.area < 0.8


def test_weights_count_and_numbers_are_predicted_by_regression() -> None:
    pytest.importorskip("sklearn")
    both = np.concatenate([records(300, 2), records(300, 3)])
    both[300:, 2] = 1 - both[300:, 2]  # the second half is wrong, and counts little
    found = compare_predictions(dataset(), SCHEMA, 2, both, np.repeat([1.0, 1e-6], 300))
    assert found is not None
    assert found.synthetic > 0.95
    number = compare_predictions(dataset(), SCHEMA, 0, records(500, 2), np.ones(500))
    assert number is not None
    assert number.measure == "R squared"
    assert 0.5 < number.synthetic <= number.real + 0.1
    assert number.area is None


def test_a_target_with_one_value_or_without_other_columns_is_not_predicted() -> None:
    pytest.importorskip("sklearn")
    constant = records(500, 2)
    constant[:, 2] = 0
    assert compare_predictions(dataset(), SCHEMA, 2, constant, np.ones(500)) is None
    column, alone = records(600, 1)[:, 2:], Schema(SCHEMA.attributes[2:])
    assert compare_predictions(PrivateDataset.from_codes(alone, [column[:, 0]]), alone, 0, column, np.ones(600)) is None


def test_the_default_target_is_the_last_column_of_few_values() -> None:
    assert default_target(SCHEMA) == 2
    assert default_target(Schema(SCHEMA.attributes[::-1])) == 1
    assert default_target(Schema(SCHEMA.attributes[:1])) == 0


def test_records_of_the_same_kind_are_not_told_apart_and_others_are() -> None:
    pytest.importorskip("sklearn")
    alike = compare_propensity(dataset(), SCHEMA, records(500, 2), np.ones(500))
    assert alike is not None
    assert alike.records == 600
    assert alike.score < 1.5 * alike.expected
    assert abs(alike.score - alike.expected) < alike.spread < alike.expected
    assert 0.42 < alike.area < 0.58
    other = records(500, 2)
    other[:, 2] = 1 - other[:, 2]  # each column is right, and the two never are together
    apart = compare_propensity(dataset(), SCHEMA, other, np.ones(500))
    assert apart is not None
    assert apart.area > 0.99
    assert apart.expected + apart.spread < 0.2 < apart.score <= 0.25
    weighted = np.concatenate((records(500, 2), other))
    found = compare_propensity(dataset(), SCHEMA, weighted, np.repeat([1.0, 1e-9], 500))
    assert found is not None
    assert found.area < 0.58
    few = PrivateDataset.from_codes(SCHEMA, list(records(20, 1).T))
    assert compare_propensity(few, SCHEMA, other, np.ones(500)) is None


def test_rows_of_large_tables_are_taken_at_equal_distances() -> None:
    whole = records(100, 1)
    taken = record_comparison._sample(PrivateDataset.from_codes(SCHEMA, list(whole.T)), SCHEMA, 7)
    assert np.array_equal(taken, whole[[0, 14, 28, 42, 57, 71, 85]])
