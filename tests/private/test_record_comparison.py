"""Models trained on synthetic records, and nearest records, where the answers are known."""

from __future__ import annotations

import numpy as np
import pytest

from dpopt.private import record_comparison
from dpopt.private.record_comparison import compare_nearness, compare_predictions, default_target
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


def test_nearest_records_are_those_of_a_search_by_hand() -> None:
    real, own = records(40, 1), records(30, 7)
    found = compare_nearness(PrivateDataset.from_codes(SCHEMA, list(real.T)), SCHEMA, own)
    assert found is not None
    assert found.searched == 40
    apart = (own[:, None, :] != real[None, :, :]).sum(axis=2).min(axis=1)
    assert found.synthetic == pytest.approx(np.bincount(apart, minlength=4) / 30)
    among = (real[:, None, :] != real[None, :, :]).sum(axis=2)
    np.fill_diagonal(among, 9)
    assert found.real == pytest.approx(np.bincount(among.min(axis=1), minlength=4) / 40)


def test_large_tables_are_searched_in_rows_at_equal_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_comparison, "MOST_RECORDS", 7)
    whole = records(100, 1)
    taken = record_comparison._sample(PrivateDataset.from_codes(SCHEMA, list(whole.T)), SCHEMA, 7)
    assert np.array_equal(taken, whole[[0, 14, 28, 42, 57, 71, 85]])
