"""Columns and pairs, real beside synthetic, against counts by hand and independent formulas of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr
from scipy.stats.contingency import association

from dpopt.errors import PrivateDataError
from dpopt.private import evaluation, marginal_comparison
from dpopt.private.marginal_comparison import NonPrivateMarginal, compare_marginals
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.associations import cramers_v
from dpopt.queries.counting.answers import RecordAnswers
from dpopt.schema.schema import Attribute, AttributeKind, Schema

SCHEMA = Schema(
    (
        Attribute("colour", AttributeKind.CATEGORICAL, ("red", "green", "blue")),
        Attribute("age", AttributeKind.NUMERIC, edges=(0, 20, 40, 60), missing=""),
        Attribute("height", AttributeKind.NUMERIC, edges=(0, 1, 2)),
    )
)
PAIRS: list[tuple[int, ...]] = [(0, 1), (0, 2), (1, 2)]


def tables(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return real records, synthetic ones, and weights of these."""
    generator = np.random.default_rng(seed)
    real, own = (generator.integers(0, SCHEMA.sizes, size=(number, 3), dtype=np.int32) for number in (60, 25))
    real[:, 2] = (real[:, 1] > 1) ^ (generator.random(60) < 0.1)
    return real, own, generator.random(25)


def compared(seed: int, sets: list[tuple[int, ...]]) -> list[NonPrivateMarginal]:
    real, own, weights = tables(seed)
    dataset = PrivateDataset.from_codes(SCHEMA, list(real.T))
    return compare_marginals(dataset, SCHEMA, sets, RecordAnswers(own, weights))


def shares(records: np.ndarray, weights: np.ndarray, columns: tuple[int, ...]) -> np.ndarray:
    found = np.zeros([int(SCHEMA.sizes[column]) for column in columns])
    for record, weight in zip(records, weights, strict=True):
        found[tuple(record[column] for column in columns)] += weight / weights.sum()
    return found


@pytest.mark.parametrize("seed", range(3))
def test_distances_associations_and_correlations_are_those_of_a_count_by_hand(seed: int) -> None:
    real, own, weights = tables(seed)
    for one in compared(seed, PAIRS):
        truth, synthetic = shares(real, np.ones(60), one.attributes), shares(own, weights, one.attributes)
        assert one.distance == pytest.approx(np.abs(truth - synthetic).sum() / 2)
        counts = np.rint(60 * truth).astype(int)
        assert one.association == pytest.approx(association(counts, "cramer"))
        if one.attributes == (1, 2):
            known = real[real[:, 1] < 3]
            ages, heights = np.array([10, 30, 50])[known[:, 1]], np.array([0.5, 1.5])[known[:, 2]]
            assert one.correlation is not None
            assert one.correlation == pytest.approx(pearsonr(ages, heights).statistic)
            assert one.own_correlation is not None
            assert one.score == pytest.approx(1 - abs(float(one.correlation) - one.own_correlation) / 2)
        else:
            assert one.correlation is None
            assert one.score == pytest.approx(1 - one.distance)


def test_scores_of_columns_are_total_variation_or_the_largest_difference_of_cumulative_shares() -> None:
    real, own, weights = tables(1)
    colour, age, _ = compared(1, [(0,), (1,), (2,)])
    by_hand = np.abs(shares(real, np.ones(60), (0,)) - shares(own, weights, (0,))).sum() / 2
    assert colour.score == pytest.approx(1 - by_hand)
    assert colour.real == pytest.approx(shares(real, np.ones(60), (0,)))
    known = [
        np.cumsum(one[:3] / one[:3].sum()) for one in (shares(real, np.ones(60), (1,)), shares(own, weights, (1,)))
    ]
    assert age.score == pytest.approx(1 - np.abs(known[0] - known[1]).max())


def test_the_sampling_error_is_what_samples_of_a_population_have() -> None:
    """2,000 samples of 400: the mean distance is within 3 % of the figure; its own error is below 1 %."""
    generator = np.random.default_rng(5)
    population = np.array([0.6, 0.3, 0.1])
    codes = np.repeat(np.arange(3), (240, 120, 40))
    columns = [codes, np.zeros(400, dtype=np.int64), np.zeros(400, dtype=np.int64)]
    dataset = PrivateDataset.from_codes(SCHEMA, columns)
    (found,) = compare_marginals(dataset, SCHEMA, [(0,)], RecordAnswers(np.zeros((1, 3), dtype=np.int32)))
    samples = generator.multinomial(400, population, size=2_000) / 400
    assert found.sampling == pytest.approx(np.abs(samples - population).sum(axis=1).mean() / 2, rel=0.03)


def test_nothing_depends_on_how_many_cells_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [one.distance for one in compared(2, PAIRS)]
    monkeypatch.setattr(marginal_comparison, "CELLS", 7)
    assert [one.distance for one in compared(2, PAIRS)] == before
    assert evaluation.CELLS > 7


def test_columns_that_are_constant_are_not_associated() -> None:
    assert cramers_v(np.array([[0.5, 0.5], [0.0, 0.0]])) == 0
    assert cramers_v(np.array([[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]])) == pytest.approx(1)


def test_an_empty_table_is_refused() -> None:
    empty = PrivateDataset.from_codes(SCHEMA, [np.zeros(0, dtype=np.uint8)] * 3)
    with pytest.raises(PrivateDataError, match="no records"):
        compare_marginals(empty, SCHEMA, [(0,)], RecordAnswers(np.zeros((1, 3), dtype=np.int32)))
