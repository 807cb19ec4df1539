"""Sums over records from residuals: no bias, and the covariances that noise on each residual gives; all exact."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.algorithms.prediction import PublicNoise
from dpopt.answers.estimates import Sums, covariances
from dpopt.inference.measured_residuals import MeasuredResiduals, pooled, residuals_of_counts, shrunken_residuals
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import residuals_of, subsets_of
from dpopt.schema.domains import Domains

SIZES = np.array([3, 4, 2])
DOMAINS = Domains(SIZES, np.cumsum(SIZES) - SIZES, np.concatenate([np.arange(n) for n in SIZES]).astype(np.int32))
WHOLE = MarginalSet(DOMAINS, np.array([[0, 1, 2]], dtype=np.int32))
SETS, _, _ = subsets_of(WHOLE)
TABLE = np.random.default_rng(3).integers(0, 20, tuple(SIZES)).astype(np.float64)
VARIANCES = np.arange(1.0, len(SETS) + 1)


def residuals(table: NDArray[np.float64]) -> NDArray[np.float64]:
    others = [tuple(set(range(3)) - set(SETS.attributes_of(place))) for place in range(len(SETS))]
    return residuals_of(SETS, np.concatenate([table.sum(axis=away).ravel() for away in others]))


def measured(noise: NDArray[np.float64], records: float) -> MeasuredResiduals:
    return MeasuredResiduals(SETS, residuals(TABLE) + noise, VARIANCES, TABLE.sum() + records, 4.0)


def sums() -> list[Sums]:
    draw = np.random.default_rng(4)
    return [
        Sums((1,), (2, 0), draw.normal(size=(2, 2, 3))),
        Sums((1,), (0,), draw.normal(size=(1, 3))),
        Sums((1,), (), np.ones((1,))),
    ]


def directions() -> list[tuple[NDArray[np.float64], float, float]]:
    """Return every direction of the noise, (cells,) and in the number of records, with its variance."""
    found: list[tuple[NDArray[np.float64], float, float]] = [(np.zeros(SETS.number_of_cells), 1.0, 4.0)]
    for place, variance in enumerate(VARIANCES.tolist()):
        own = slice(SETS.starts[place], SETS.starts[place + 1])
        for cell in range(own.stop - own.start):
            noise = np.zeros(SETS.number_of_cells)
            noise[own.start + cell] = 1.0
            found.append((residuals_of(SETS, noise), 0.0, variance))  # a projection: its columns give s^2 P P' = s^2 P
    return found


def test_estimates_of_exact_residuals_are_the_sums_of_the_table() -> None:
    exact = measured(np.zeros(SETS.number_of_cells), 0.0)
    first, second, third = (one.estimates(exact) for one in sums())
    assert first == pytest.approx(np.einsum("abc,kca->bk", TABLE, sums()[0].values))
    assert second == pytest.approx(np.einsum("abc,ka->bk", TABLE, sums()[1].values))
    assert third == pytest.approx(TABLE.sum(axis=(0, 2))[:, None])


@pytest.mark.parametrize(("one", "two"), list(product(range(3), repeat=2)))
def test_covariances_are_those_that_every_direction_of_the_noise_gives(one: int, two: int) -> None:
    first, second = sums()[one], sums()[two]
    start = measured(np.zeros(SETS.number_of_cells), 0.0)
    found = np.zeros((4, len(first.values), len(second.values)))
    for noise, records, variance in directions():
        moved = measured(noise, records)
        apart = [each.estimates(moved) - each.estimates(start) for each in (first, second)]
        found += variance * apart[0][:, :, None] * apart[1][:, None, :]
    expected = covariances(start, first, second)
    assert found == pytest.approx(np.broadcast_to(expected, found.shape))


def test_counts_say_what_least_squares_says() -> None:
    """Two marginals with noise of different scales: estimates and deviations are those of the dense normal equations."""
    pairs = MarginalSet(DOMAINS, np.array([[0, 1], [1, 2]], dtype=np.int32))
    exact = np.concatenate([TABLE.sum(axis=2).ravel(), TABLE.sum(axis=0).ravel()]).astype(np.int64)
    noisy = PublicNoise(1).discrete_gaussian(exact, 3.0)
    split = pairs.starts[1]
    counted = [(pairs.take(np.array([0])), noisy[:split], 4.0), (pairs.take(np.array([1])), noisy[split:], 9.0)]
    found = residuals_of_counts(counted, 100.0, gaussian=True, adaptive=False)
    assert found is not None
    cells = np.indices(tuple(SIZES)).reshape(3, -1)
    design = np.zeros((len(noisy), cells.shape[1]))
    design[cells[0] * 4 + cells[1], np.arange(cells.shape[1])] = 1
    design[split + cells[1] * 2 + cells[2], np.arange(cells.shape[1])] = 1
    weights = np.repeat([1 / 4.0, 1 / 9.0], [split, len(noisy) - split])
    inverse = np.linalg.pinv(design.T @ (weights[:, None] * design))
    fitted = inverse @ design.T @ (weights * noisy)
    for one in ((0,), (1,), (0, 1), (1, 2)):
        rows = np.zeros((int(np.prod(SIZES[list(one)])), cells.shape[1]))
        rows[np.ravel_multi_index(tuple(cells[list(one)]), tuple(SIZES[list(one)])), np.arange(cells.shape[1])] = 1
        assert found.table(one).ravel() == pytest.approx(rows @ fitted)
        assert found.deviation(one) ** 2 == pytest.approx((rows @ inverse @ rows.T)[0, 0])
    assert found.missing((0, 2)) == (0, 2)
    assert not np.isfinite(found.deviation((0, 2)))


def test_counts_that_were_chosen_by_counts_are_used_once() -> None:
    column = MarginalSet(DOMAINS, np.array([[0]], dtype=np.int32))
    counted = [(column, np.array([5, 6, 7]), 1.0), (column, np.array([50, 60, 70]), 1e-6)]
    both, first = (residuals_of_counts(counted, 18.0, gaussian=True, adaptive=adaptive) for adaptive in (False, True))
    assert both is not None
    assert first is not None
    assert first.table((0,)) == pytest.approx(np.array([5, 6, 7]))
    assert both.table((0,)) == pytest.approx(np.array([50, 60, 70]), rel=1e-4)


def test_releases_are_pooled_by_their_precision() -> None:
    noise = residuals_of(SETS, np.random.default_rng(5).normal(size=SETS.number_of_cells))
    one, two = measured(noise, 1.0), MeasuredResiduals(SETS, residuals(TABLE), 3 * VARIANCES, TABLE.sum(), 12.0)
    both = pooled([one, two])
    assert both.estimates == pytest.approx(residuals(TABLE) + 0.75 * noise)
    assert both.variances == pytest.approx(0.75 * VARIANCES)
    assert (both.records, both.records_variance) == pytest.approx((TABLE.sum() + 0.75, 3.0))
    assert pooled([one]) is one


def test_shrunken_residuals_are_posterior_means_around_what_smaller_sets_predict() -> None:
    """By the formulas, of one pair alone: 3 * 4 cells have 6 directions of noise."""
    found = measured(residuals_of(SETS, np.random.default_rng(6).normal(size=SETS.number_of_cells)), 0.0)
    shrunk, place = shrunken_residuals(found), found.places[0, 1]
    rows, columns = found.table((0,)), found.table((1,))
    product = np.outer(rows, columns) / TABLE.sum()
    predicted = (product - product.mean(axis=0) - product.mean(axis=1)[:, None] + product.mean()).ravel()
    own, noise = slice(SETS.starts[place], SETS.starts[place + 1]), VARIANCES[place]
    apart = found.estimates[own] - predicted
    prior = max(0.0, apart @ apart / 6 - noise) + noise * np.sqrt(2 / 6)
    assert shrunk.estimates[own] == pytest.approx(predicted + prior / (prior + noise) * apart)
    assert shrunk.variances[place] == pytest.approx(prior / (prior + noise) * noise)
    assert shrunk.estimates[:9] == pytest.approx(found.estimates[:9])  # of single columns
    assert shrunk.missing((0, 1, 2)) is None


def test_shrunken_intervals_hold_and_have_less_error() -> None:
    """Noise of the size of the relations, 400 fixed draws: 95 % are expected of all cells together, and 93 % demanded."""
    draw, held, error, far = np.random.default_rng(7), [], 0.0, 0.0
    noise, pair = np.full(len(SETS), 30.0**2), Sums((0, 1), (), np.ones(1))
    for _ in range(400):
        moved = residuals_of(SETS, draw.normal(0, 30.0, SETS.number_of_cells))
        found = MeasuredResiduals(SETS, residuals(TABLE) + moved, noise, TABLE.sum())
        shrunk, truth = shrunken_residuals(found), TABLE.sum(axis=2)
        off = pair.estimates(shrunk)[..., 0] - truth
        held.append(np.abs(off) <= 1.96 * np.sqrt(covariances(shrunk, pair, pair)[..., 0, 0]))
        error, far = error + (off**2).sum(), far + ((found.table((0, 1)) - truth) ** 2).sum()
    assert np.mean(held) > 0.93
    assert error < 0.8 * far


def test_where_pairs_were_not_measured_nothing_is_shrunken() -> None:
    ones = MeasuredResiduals(SETS, residuals(TABLE), np.where(SETS.widths() > 1, np.inf, 1.0), TABLE.sum())
    assert shrunken_residuals(ones) is ones
