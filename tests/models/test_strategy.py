"""The least variance of linear queries (ST-1 to ST-11): by steps, by solvers, in closed form, against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from dpopt import models
from dpopt.errors import ProgramError
from dpopt.inference.histograms.prefix_factors import (
    UNIT,
    prefix_deviations,
    prefixes_of_rows,
    root_coefficients,
    whole_coefficients,
)
from dpopt.models.noise_budgets.continual_counting import continual_counting
from dpopt.models.noise_budgets.least_variance import (
    least_of_declared,
    least_of_gram,
    least_of_prefixes,
    least_of_ranges,
    least_of_size,
)
from dpopt.models.noise_budgets.strategy import best_strategy, gram_of_prefixes, gram_of_ranges, nuclear_bound
from tests.models.textbook_problems import least_of_growing

Numbers = NDArray[np.float64]
GRAMS = {"ranges": gram_of_ranges, "prefixes": gram_of_prefixes}
CLOSED = {"ranges": least_of_ranges, "prefixes": least_of_prefixes}


def ranges(bins: int) -> Numbers:
    """Return all ranges as rows."""
    first, last = np.triu_indices(bins)
    return np.array([(np.arange(bins) >= a) & (np.arange(bins) <= b) for a, b in zip(first, last, strict=True)]) * 1.0


def variance(gram: Numbers, strategy: Numbers) -> float:
    """Return ST-1 for a strategy A with columns of norm 1 at most, by dense least squares."""
    assert (strategy**2).sum(axis=0).max() <= 1 + 1e-12
    return float(np.trace(gram @ np.linalg.inv(strategy.T @ strategy)))


@pytest.mark.parametrize(("kind", "optimum", "bound"), [("ranges", 5.3002, 5.186), ("prefixes", 4.4094, 4.162)])
def test_64_bins_have_the_least_variance_that_is_known(kind: str, optimum: float, bound: float) -> None:
    found = best_strategy(GRAMS[kind](64))
    assert found.variance == pytest.approx(optimum, abs=1e-4)
    assert found.gap <= 1e-6
    assert CLOSED[kind](64) == pytest.approx(bound, abs=1e-3)
    assert np.diag(found.information).max() <= 1 + 1e-12


@pytest.mark.parametrize("kind", GRAMS)
def test_256_bins_are_within_a_thousandth_of_the_optimum(kind: str) -> None:
    found = best_strategy(GRAMS[kind](256), close=1e-4)
    assert found.gap <= 1e-4
    one = best_strategy(GRAMS[kind](256), steps=1)  # ST-6 of equal d
    assert found.bound <= one.variance <= 1.005 * found.bound


@given(workload=arrays(np.int64, (5, 4), elements=st.integers(-3, 3)), seed=st.integers(0, 99))
def test_no_strategy_is_below_the_bound_and_the_steps_attain_it(workload: NDArray[np.int64], seed: int) -> None:
    draw = np.random.default_rng(seed)
    gram = workload.T @ workload + 0.01 * np.eye(4)
    found = best_strategy(gram)
    assert found.bound * (1 - 1e-9) <= found.variance <= found.bound * (1 + 1e-4)
    root = np.linalg.cholesky(found.information).T
    assert variance(gram, root / np.linalg.norm(root, axis=0).max()) == pytest.approx(found.variance, rel=1e-6)
    other = draw.normal(size=(6, 4))
    shares = draw.dirichlet(np.ones(4))
    assert nuclear_bound(gram, shares) <= found.variance * (1 + 1e-9)
    assert variance(gram, other / np.linalg.norm(other, axis=0)) >= found.bound * (1 - 1e-9)


@pytest.mark.parametrize("solver", ["clarabel", "scs"])
@pytest.mark.parametrize("rows", [np.tril(np.ones((6, 6))), ranges(5), np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 2.0]])])
def test_solvers_find_the_optimum_of_the_steps_and_prove_it(rows: Numbers, solver: str) -> None:
    model = models.strategy(rows)
    own, found = model.solve(), model.solve(solver)
    assert found.objective == pytest.approx(own.objective, rel=1e-5)
    for one in (own, found):
        assert one.certificate is not None
        assert one.certificate.proven_bound is not None
        assert float(one.certificate.proven_bound) == pytest.approx(own.objective, rel=1e-5)


def test_bins_that_no_query_asks_for_cost_nothing_and_change_nothing() -> None:
    asked = gram_of_prefixes(4)
    gram = np.zeros((6, 6))
    gram[np.ix_([0, 2, 3, 5], [0, 2, 3, 5])] = asked
    one, other = best_strategy(asked), best_strategy(gram)
    assert other.variance == pytest.approx(one.variance)
    assert other.bound == pytest.approx(one.bound)
    assert best_strategy(np.zeros((3, 3))).variance == 0
    alone = best_strategy(np.ones((3, 3)))  # only the sum is asked for
    assert alone.variance == pytest.approx(1) == alone.bound


@pytest.mark.parametrize("kind", GRAMS)
@pytest.mark.parametrize("bins", [1, 2, 5, 40])
def test_closed_forms_are_the_singular_values(kind: str, bins: int) -> None:
    gram, equal = GRAMS[kind](bins), np.full(bins, 1 / bins)
    if kind == "ranges":
        rows = ranges(bins)
        np.testing.assert_allclose(gram, rows.T @ rows / len(rows))
    assert CLOSED[kind](bins) == pytest.approx(nuclear_bound(gram, equal), rel=1e-8)
    centred = np.eye(bins) - 1 / bins  # ST-9
    dense = 2 * bins / max(1, bins - 1) * nuclear_bound(centred @ gram @ centred, equal)
    closed = CLOSED[kind](bins, known_total=True)
    assert closed <= dense + 1e-9
    assert closed == pytest.approx(dense, rel=1e-6 if kind == "prefixes" else 1.1 / bins**0.5, abs=1e-9)
    assert dense * (1 - 1e-6) <= least_of_gram(gram, known_total=True) <= 1.2 * dense + 1e-9


@pytest.mark.parametrize("bins", [2, 3, 6])
def test_no_strategy_for_replaced_records_is_below_its_bound(bins: int) -> None:
    draw = np.random.default_rng(bins)
    for gram in (gram_of_ranges(bins), gram_of_prefixes(bins)):
        bound = least_of_gram(gram, known_total=True)
        assert bound > 0
        for _ in range(200):
            strategy = draw.normal(size=(bins + 1, bins)) + 3 * draw.normal(size=(bins + 1, 1))
            apart = np.linalg.norm(strategy[:, :, None] - strategy[:, None, :], axis=0).max()
            known = np.vstack((strategy / apart, 1e4 * np.ones(bins)))  # the total, all but exactly
            assert np.trace(gram @ np.linalg.inv(known.T @ known)) >= bound * (1 - 1e-6)
    pair = gram_of_prefixes(2)  # one of two bins, noise of variance 1: attained
    assert least_of_gram(pair, known_total=True) == pytest.approx(0.5)


@pytest.mark.parametrize(("size", "bins"), [(1, 5), (2, 7), (3, 32), (8, 64)])
def test_a_size_has_a_bound_below_that_of_its_matrix(size: int, bins: int) -> None:
    rows = np.array([np.eye(bins)[start : start + size].sum(axis=0) for start in range(bins - size + 1)])
    dense = nuclear_bound(rows.T @ rows / len(rows), np.full(bins, 1 / bins))
    found = least_of_size(size, bins)  # ST-10
    assert 0.75 * dense <= found <= dense + 1e-9
    starts = np.arange(bins - size + 1)
    declared = least_of_declared(starts, starts + size, np.full(starts.size, 1 / starts.size), bins)
    assert dense - 1e-9 <= declared <= best_strategy(rows.T @ rows / len(rows)).variance + 1e-6


def test_many_bins_are_bounded_by_some_of_them() -> None:
    starts, stops = np.zeros(3_000, dtype=np.int64), np.arange(1, 3_001)
    found = least_of_declared(starts, stops, np.full(3_000, 1 / 3_000), 3_000)
    assert 0.5 * least_of_prefixes(3_000) <= found <= least_of_prefixes(3_000) * 1.1


def test_boxes_multiply() -> None:
    sides = gram_of_ranges(3), gram_of_prefixes(4)
    both = best_strategy(np.asarray(np.kron(*sides), dtype=np.float64)).variance  # ST-11
    assert both == pytest.approx(best_strategy(sides[0]).variance * best_strategy(sides[1]).variance, rel=1e-5)


# The factors of the triangle of ones, CC-1 to CC-8: optimum, bound, root, and factors that do not need the future.


@pytest.mark.solver("clarabel")
@pytest.mark.parametrize("steps", [1, 2, 3, 8])
def test_the_optimum_lies_between_the_bound_and_the_root(steps: int) -> None:
    """CC-5 <= CC-1 <= CC-6; and the triangular factor of X has the variances of V (CC-2 to CC-4)."""
    found = continual_counting(steps).solve("clarabel")
    root = float((root_coefficients(steps) ** 2).sum() ** 2)
    assert found.objective is not None
    assert least_of_growing(steps) <= found.objective + 1e-6 <= root + 2e-6
    x = np.zeros((steps, steps))
    x[np.tril_indices(steps)] = found.value["X"]
    x = x + np.tril(x, -1).T
    factor = np.linalg.cholesky(x[::-1, ::-1]).T[::-1, ::-1]  # from the last step on
    assert factor == pytest.approx(np.tril(factor))
    assert factor.T @ factor == pytest.approx(x, abs=1e-9)
    answers = np.tri(steps) @ np.linalg.inv(factor)
    assert answers == pytest.approx(np.tril(answers), abs=1e-9)
    assert (factor**2).sum(axis=0).max() <= 1 + 1e-6
    assert (answers**2).sum(axis=1).max() == pytest.approx(found.objective, rel=1e-4)


def test_the_root_times_itself_is_the_triangle_of_ones() -> None:
    """CC-6, and CC-7: whole numbers within a half."""
    f, c = root_coefficients(200), whole_coefficients(200)
    assert np.convolve(f, f)[:200] == pytest.approx(np.ones(200))
    assert np.abs(c - UNIT * f).max() <= 0.5
    assert c.min() > 0


def test_rows_without_noise_give_every_prefix() -> None:
    """CC-8, with the variances of the matrix that answers."""
    draw, c = np.random.default_rng(2), whole_coefficients(60)
    x = draw.integers(0, 1000, 60)
    rows = np.convolve(x, c)[:60]
    for last in (1, 7, 60):
        assert prefixes_of_rows(rows[:last], c) == pytest.approx(np.cumsum(x)[:last], rel=1e-9)
    triangle = np.array([[c[t - s] if s <= t else 0 for s in range(60)] for t in range(60)], dtype=np.float64)
    answers = np.tri(60) @ np.linalg.inv(triangle)
    assert prefix_deviations(c, 3.0) == pytest.approx(3.0 * np.sqrt((answers**2).sum(axis=1)), rel=1e-6)


@pytest.mark.parametrize("steps", [0, 129, 2.5])
def test_other_numbers_of_steps_are_refused(steps: int) -> None:
    with pytest.raises(ProgramError, match="expected 1 to 128"):
        continual_counting(steps)
