"""Sorted counts: nearest nondecreasing numbers, whole numbers of a known sum, posteriors, degree sequences of graphs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import nbinom

from dpopt.errors import ProgramError
from dpopt.inference.histograms.sorted.degree_sequences import (
    erdos_gallai_slacks,
    evened,
    graph_with_degrees,
    is_graphical,
    nearest_graphical,
)
from dpopt.inference.histograms.sorted.isotonic import isotonic
from dpopt.inference.histograms.sorted.kernels import forward_backward
from dpopt.inference.histograms.sorted.monotone_posterior import (
    NoiseDistribution,
    _levels,
    _Smoothing,
    _Turn,
    band,
    monotone_posterior,
)
from dpopt.inference.histograms.tree_least_squares import whole_of_total

ROWS = st.lists(st.tuples(st.integers(-6, 6), st.integers(1, 3)), min_size=1, max_size=12)


def best_integers(
    values: np.ndarray, weights: np.ndarray, power: int, bounds: tuple[int, int]
) -> tuple[float, np.ndarray]:
    """Return the least cost of nondecreasing whole numbers within the bounds, and the largest that has it: all are tried."""
    grid = np.arange(bounds[0], bounds[1] + 1)
    best, kept = np.inf, np.zeros(0)
    for chosen in itertools.combinations_with_replacement(grid.tolist(), values.size):
        cost = float(weights @ np.abs(np.array(chosen) - values) ** power)
        if cost < best - 1e-12 or (cost < best + 1e-12 and sum(chosen) > kept.sum()):
            best, kept = min(cost, best), np.array(chosen)
    return best, kept


@given(ROWS)
def test_optimality_conditions_hold(rows: list[tuple[int, int]]) -> None:
    """IR-7 of models/isotonic_regression, without bounds and total."""
    values, weights = np.array(rows, dtype=np.float64).T
    fitted = isotonic(values, weights=weights)
    multipliers = np.cumsum(weights * (values - fitted))
    assert (np.diff(fitted) >= 0).all()
    assert multipliers.min() >= -1e-9
    assert abs(multipliers[-1]) <= 1e-9
    np.testing.assert_allclose(multipliers[:-1] * np.diff(fitted), 0, atol=1e-8)


@given(ROWS, st.integers(-3, 0), st.integers(0, 3), st.floats(0, 1))
def test_a_total_is_within_bounds_and_optimal(rows: list[tuple[int, int]], low: int, high: int, share: float) -> None:
    """IR-7 with a shift; an entry at a bound may be pushed outward by any amount."""
    values, weights = np.array(rows, dtype=np.float64).T
    total = values.size * (low + share * (high - low))
    fitted = isotonic(values, weights=weights, lower=low, upper=high, total=total)
    assert fitted.sum() == pytest.approx(total, abs=1e-9 * values.size)
    assert (np.diff(fitted) >= 0).all()
    assert low <= fitted.min() <= fitted.max() <= high
    # No feasible direction lowers the cost: towards every vertex of the chain polytope with the same total.
    slope = weights * (fitted - values)
    inside = np.flatnonzero((fitted > low + 1e-9) & (fitted < high - 1e-9))
    if inside.size:
        first, last = int(inside[0]), int(inside[-1]) + 1
        levels = np.flatnonzero(np.diff(fitted[first:last]) > 1e-9) + 1
        blocks = np.split(slope[first:last], levels)
        shift = np.array([block.mean() for block in blocks])
        np.testing.assert_allclose(shift, shift[0], atol=1e-6)
        for block in blocks:  # pooled entries would fall if they were let free
            assert np.cumsum(shift[0] - block).min() >= -1e-6
        assert (slope[:first] >= shift[0] - 1e-6).all() or np.cumsum((slope[:first] - shift[0])[::-1]).min() >= -1e-6
        assert np.cumsum(shift[0] - slope[last:]).min(initial=0.0) >= -1e-6


@given(st.lists(st.tuples(st.integers(-8, 8), st.integers(1, 3)), min_size=1, max_size=5))
def test_rounding_half_up_is_optimal_among_whole_numbers(rows: list[tuple[int, int]]) -> None:
    """IR-8, all sequences tried: values are quarters, so ties occur."""
    values, weights = np.array(rows, dtype=np.float64).T
    values = values / 4
    best, largest = best_integers(values, weights, 2, (-1, 2))
    fitted = np.clip(np.floor(isotonic(values, weights=weights) + 0.5), -1, 2)
    assert float(weights @ (fitted - values) ** 2) == pytest.approx(best, abs=1e-12)
    np.testing.assert_array_equal(fitted, largest)


def test_a_total_alone_moves_all_entries_alike() -> None:
    generator = np.random.default_rng(1)
    values = generator.normal(size=50)
    fitted = isotonic(values, total=100.0)
    np.testing.assert_allclose(fitted, isotonic(values) + (100 - values.sum()) / 50, atol=1e-9)


def test_a_total_at_the_end_of_what_bounds_allow() -> None:
    np.testing.assert_array_equal(isotonic([5.0, 1.0, 2.0], lower=0, upper=3, total=9), [3, 3, 3])
    np.testing.assert_array_equal(isotonic([5.0, 1.0, 2.0], lower=0, upper=3, total=0), [0, 0, 0])
    np.testing.assert_allclose(isotonic([-9.0, 1.0, 90.0], lower=0, total=50), [0, 0, 50])


LAPLACE: NoiseDistribution = "discrete Laplace"
IN_ONE_ROW = "finite numbers in one row"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        *((partial(isotonic, values), IN_ONE_ROW) for values in ([], [[1.0]], [np.nan], [np.inf])),
        *(
            (partial(isotonic, [1.0, 2.0], weights=weights), "positive")
            for weights in ([1.0], [1.0, 0.0], [1.0, np.inf])
        ),
        *(
            (partial(isotonic, [1.0], lower=lower, upper=upper), "between the bounds")
            for lower, upper in ((2, 1), (np.nan, 1), (np.inf, np.inf))
        ),
        *((partial(isotonic, [1.0, 2.0], upper=3, total=total), "add up") for total in (7, np.nan, np.inf)),
        *((partial(whole_of_total, values, 1), IN_ONE_ROW) for values in ([], [np.inf], [[1.0]])),
        (partial(whole_of_total, [1.0, 2.0], 5), "add up to 3"),
        (partial(monotone_posterior, [], LAPLACE, 1.0), IN_ONE_ROW),
        (partial(monotone_posterior, [1.0], "uniform", 1.0), "the noise is"),  # type: ignore[arg-type]
        *((partial(monotone_posterior, [1.0], LAPLACE, one), "scale") for one in (0.0, -1.0, math.nan, math.inf)),
        (partial(monotone_posterior, [1.0], LAPLACE, 1.0, lower=3, upper=2), "no number lies"),
        *((partial(nearest_graphical, values), IN_ONE_ROW) for values in ([], [np.nan], [[1.0]])),
        *(
            (partial(nearest_graphical, np.arange(8.0), total=total), "even number from 0 to 56")
            for total in (-2, 7, 58)
        ),
        *(
            (partial(method, degrees), "whole numbers from 0 to 1")
            for method in (erdos_gallai_slacks, graph_with_degrees)
            for degrees in ([1.5, 1.5], [-1, 1], [2, 2])
        ),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], object], says: str) -> None:
    with pytest.raises(ProgramError, match=says):
        call()


@pytest.mark.parametrize("seed", range(20))
def test_no_whole_numbers_of_the_sum_are_nearer(seed: int) -> None:
    generator = np.random.default_rng(seed)
    values, total = generator.integers(0, 24, 5) / 6, int(generator.integers(0, 20))
    values = values + (total - values.sum()) / 5
    every = np.array(list(itertools.product(range(-6, 12), repeat=4)))
    every = np.column_stack((every, total - every.sum(axis=1)))
    least = float(((every - values) ** 2).sum(axis=1).min())
    found = whole_of_total(values, total)
    assert found.sum() == total
    assert float(((found - values) ** 2).sum()) == pytest.approx(least)


@given(st.integers(1, 60), st.integers(0, 10**6), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_what_does_not_fall_does_not_fall_afterwards_and_stays_within_whole_bounds(
    size: int, upper: int, share: float, seed: int
) -> None:
    total = round(share * size * upper)
    values = np.random.default_rng(seed).normal(upper / 2, upper, size)
    real = isotonic(values, lower=0, upper=upper, total=total)
    found = whole_of_total(real, total)
    assert found.sum() == total
    assert (np.diff(found) >= 0).all()
    assert 0 <= found.min() <= found.max() <= upper
    assert np.abs(found - real).max() <= 1 + 1e-6


LAWS: tuple[NoiseDistribution, ...] = ("discrete Laplace", "discrete Gaussian")


def noise(
    generator: np.random.Generator, distribution: NoiseDistribution, scale: float, size: int
) -> NDArray[np.int64]:
    """Return noise of the distribution; a rounded normal is near enough to a discrete one."""
    if distribution == "discrete Laplace":
        drawn: NDArray[np.int64] = np.diff(generator.geometric(1 - math.exp(-1 / scale), (2, size)), axis=0)[0]
        return drawn
    return np.rint(generator.normal(0, scale, size)).astype(np.int64)


def squared_error(estimate: NDArray[np.float64] | NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    return float(((estimate - truth) ** 2).sum())


@pytest.mark.parametrize("distribution", LAWS)
@pytest.mark.parametrize("stages", [1, 4])
def test_forward_and_backward_sums_are_those_over_all_sequences(distribution: NoiseDistribution, stages: int) -> None:
    """Four entries on five levels. The last level that is met may go on: it counts with "at least"."""
    values, means = np.array([0.0, 3.0, 1.0, 2.0]), np.array([0.4, 2.0, 3.6, 0.7, 1.0])
    shapes = np.maximum(1, np.rint(np.minimum(stages, means)))
    chances = 1 / (1 + means / shapes)
    low, high = np.array([0, 0, 1, 1]), np.array([3, 3, 3, 4])
    total, first, numbers = 0.0, np.zeros(4), np.zeros(5)
    for one in itertools.combinations_with_replacement(range(5), 4):
        sequence = np.array(one)
        if (sequence < low).any() or (sequence > high).any():
            continue
        count, top = np.bincount(sequence, minlength=5), sequence[-1]
        likely = np.prod(nbinom.pmf(count[:top], shapes[:top], chances[:top]))
        likely *= nbinom.sf(count[top] - 1, shapes[top], chances[top])
        away = np.abs(sequence - values)
        likely *= math.exp(-(away.sum() if distribution == "discrete Laplace" else 0.5 * (away**2).sum()) / 1.5)
        total += likely
        first += likely * sequence
        numbers += likely * count
    scale = 1.5 if distribution == "discrete Laplace" else math.sqrt(1.5)
    turn = _Turn(values, distribution == "discrete Gaussian", scale, np.arange(5.0), low, high)
    found, mean, likelihood = turn.run(means, stages)
    np.testing.assert_allclose(mean, first / total, rtol=1e-6)
    np.testing.assert_allclose(found, numbers / total, rtol=1e-6, atol=1e-9)
    assert likelihood == pytest.approx(math.log(total), rel=1e-6)


@pytest.mark.parametrize("distribution", LAWS)
@pytest.mark.parametrize("scale", [0.5, 5.0, 80.0])
def test_the_truth_is_in_the_band(distribution: NoiseDistribution, scale: float) -> None:
    generator = np.random.default_rng(0)
    truth = np.sort((generator.pareto(1.0, 5000) * 4).astype(np.int64))
    for _ in range(20):
        least, most = band(
            truth + noise(generator, distribution, scale, 5000) * 1.0, distribution, scale, (0.0, np.inf)
        )
        assert (least <= truth).all()
        assert (truth <= most).all()
        assert (np.diff(least) >= 0).all()
        assert (np.diff(most) >= 0).all()


def test_levels_cover_the_band_and_are_single_where_it_is_narrow() -> None:
    least = np.array([0, 0, 5, 5_000, 5_000, 90_000])
    most = np.array([3, 10, 12, 9_000, 9_000, 90_040])
    edges = _levels(least, most).edges
    assert (edges[0], edges[-1]) == (0, 90_041)
    assert (np.diff(edges) >= 1).all()
    assert set(range(13)) <= set(edges.tolist())
    assert set(range(90_000, 90_041)) <= set(edges.tolist())
    assert set(least.tolist()) <= set(edges.tolist())
    inside = (edges >= 5_000) & (edges < 9_000)
    assert 90 <= inside.sum() <= 110


def test_smoothing_keeps_a_power_distribution_and_counts_parameters() -> None:
    levels = _levels(np.array([0, 0]), np.array([99, 99]))
    numbers = 1000 * np.arange(1.0, 101.0) ** -1.5
    smoothing = _Smoothing.over(levels, 0.1)
    np.testing.assert_allclose(smoothing.means(numbers)[:80], numbers[:80], rtol=0.06)
    assert smoothing.freedom(np.zeros(100)) == 0
    assert smoothing.freedom(numbers) < 30 < _Smoothing.over(levels, 0.003).freedom(numbers)


@pytest.mark.parametrize("distribution", LAWS)
@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
def test_the_error_is_less_than_of_sorting_and_isotonic_regression(
    distribution: NoiseDistribution, scale: float
) -> None:
    """A power distribution and a hump, means of three draws. Noise of 100 hides either; then neither is always better."""
    generator = np.random.default_rng(1)
    truths = [np.sort((generator.pareto(1.5, 2000) * 6).astype(np.int64)), np.sort(generator.poisson(60, 1500))]
    for truth in truths:
        errors = np.zeros(3)
        for _ in range(3):
            noisy = truth + noise(generator, distribution, scale, truth.size)
            found = monotone_posterior(noisy, distribution, scale)
            rounded = np.maximum(np.sort(noisy), 0)
            isotone = np.maximum(np.floor(isotonic(noisy) + 0.5), 0)
            errors += [squared_error(one, truth) for one in (np.floor(found + 0.5), isotone, rounded)]
            assert (np.diff(found) >= 0).all()
            least, most = band(noisy.astype(np.float64), distribution, scale, (0.0, np.inf))
            assert (least <= np.floor(found + 0.5)).all()
            assert (np.floor(found + 0.5) <= most).all()
        assert errors[0] < (0.95 if scale < 100 else 1.5) * errors[1]
        assert errors[0] < 0.9 * errors[2]


@pytest.mark.parametrize(
    "truth",
    [
        np.array([3]),
        np.zeros(500, dtype=np.int64),
        np.full(500, 7),
        np.repeat([0, 1000], 100),
        np.array([0, 0, 3, 3, 1_000_000]),
        np.arange(0, 20_000, 100),
    ],
    ids=["one", "zeros", "equal", "two values", "far", "even steps"],
)
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_sequences_that_are_unlike_power_distributions(truth: NDArray[np.int64], scale: float) -> None:
    """Not much worse than sorting and rounding in sequences of five entries, and no worse in long ones."""
    generator, errors = np.random.default_rng(2), np.zeros(2)
    for _ in range(5):
        noisy = truth + noise(generator, "discrete Laplace", scale, truth.size)
        found = monotone_posterior(noisy, "discrete Laplace", scale)
        assert np.isfinite(found).all()
        errors += [squared_error(one, truth) for one in (np.floor(found + 0.5), np.maximum(np.sort(noisy), 0))]
    assert errors[0] <= errors[1] + 20 * scale**2


def test_bounds_are_kept_and_unsorted_values_do_no_harm() -> None:
    generator = np.random.default_rng(3)
    found = monotone_posterior(generator.integers(-50, 50, 40), "discrete Laplace", 30.0, lower=2, upper=9)
    assert 2 <= found.min() <= found.max() <= 9
    crossed = monotone_posterior(np.arange(300.0)[::-1], "discrete Gaussian", 1.0)
    assert np.isfinite(crossed).all()
    assert (np.diff(crossed) >= 0).all()


def test_the_degrees_of_a_social_network(data_folder: Path) -> None:
    """The facebook graph at epsilon 1, where isotonic regression loses to sorting: .96 times its error, here 1.9."""
    truth = np.sort(np.load(data_folder / "hist" / "snap-graphs.npz")["facebook_degrees"]).astype(np.int64)
    generator, errors = np.random.default_rng(4), np.zeros(2)
    for _ in range(5):
        noisy = truth + noise(generator, "discrete Laplace", 1.0, truth.size)
        found = monotone_posterior(noisy, "discrete Laplace", 1.0, upper=truth.size - 1)
        errors += [squared_error(one, truth) for one in (np.floor(found + 0.5), np.maximum(np.sort(noisy), 0))]
    assert errors[1] > 1.5 * errors[0]


def test_too_many_states_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "dpopt.inference.histograms.sorted.monotone_posterior.MOST_STATES"
    values = np.repeat(np.arange(10.0), 30)
    states = []

    def counted(*arguments: Any) -> Any:
        states.append(int(arguments[-1][-1]))
        return forward_backward(*arguments)

    monkeypatch.setattr("dpopt.inference.histograms.sorted.kernels.forward_backward", counted)
    monotone_posterior(values, "discrete Laplace", 10.0)
    full = max(states)
    monkeypatch.setattr(module, full - 1)
    states.clear()
    monotone_posterior(values, "discrete Laplace", 10.0)
    assert max(states) < full
    monkeypatch.setattr(module, 100)
    with pytest.raises(ProgramError, match="isotonic"):
        monotone_posterior(values, "discrete Laplace", 10.0)


@cache
def degrees_of_all_graphs(nodes: int) -> frozenset[tuple[int, ...]]:
    """Return the rising degree sequences of all graphs on so many nodes: every one is drawn."""
    pairs = np.array(list(itertools.combinations(range(nodes), 2)), dtype=np.int64).reshape(-1, 2)
    found = set()
    for number in range(2 ** len(pairs)):
        chosen = pairs[[number >> bit & 1 == 1 for bit in range(len(pairs))]]
        found.add(tuple(sorted(np.bincount(chosen.ravel(), minlength=nodes).tolist())))
    return frozenset(found)


@cache
def graphical_sequences(nodes: int) -> np.ndarray:
    """Return all rising graphical sequences, (s, n)."""
    every = itertools.combinations_with_replacement(range(nodes), nodes)
    return np.array([one for one in every if is_graphical(one)])


def check_graph(degrees: np.ndarray) -> None:
    """Raise unless the graph that is built is simple and has the degrees."""
    edges = graph_with_degrees(degrees)
    np.testing.assert_array_equal(np.bincount(edges.ravel(), minlength=degrees.size), degrees)
    assert (edges[:, 0] != edges[:, 1]).all()
    ordered = np.sort(edges, axis=1)
    assert np.unique(ordered[:, 0] * degrees.size + ordered[:, 1]).size == len(edges)


@pytest.mark.parametrize("nodes", range(1, 6))
def test_graphical_is_what_graphs_have(nodes: int) -> None:
    drawn = degrees_of_all_graphs(nodes)
    for one in itertools.combinations_with_replacement(range(nodes), nodes):
        assert is_graphical(one[::-1]) == (one in drawn)
        if one in drawn:
            check_graph(np.array(one[::2] + one[1::2]))
        else:
            with pytest.raises(ProgramError, match="graph"):
                graph_with_degrees(one)


@given(st.integers(1, 30), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_the_degrees_of_a_random_graph_are_built_again(nodes: int, share: float, seed: int) -> None:
    upper = np.triu(np.random.default_rng(seed).random((nodes, nodes)) < share, 1)
    degrees = (upper | upper.T).sum(axis=1)
    assert is_graphical(degrees)
    check_graph(degrees)


def test_slacks_are_right_side_less_left_side() -> None:
    degrees = np.random.default_rng(0).integers(0, 12, 15)
    falling = np.sort(degrees)[::-1]
    expected = [r * (r - 1) + np.minimum(falling[r:], r).sum() - falling[:r].sum() for r in range(1, falling.size + 1)]
    np.testing.assert_array_equal(erdos_gallai_slacks(degrees), expected)


def test_a_graph_of_200_000_edges_is_built() -> None:
    """Heavy tailed, as the degrees of social networks are."""
    generator = np.random.default_rng(1)
    degrees = np.minimum(generator.pareto(1.2, 57_000) + 1, 2_000).astype(np.int64)
    degrees[0] += degrees.sum() % 2
    assert is_graphical(degrees)
    assert degrees.sum() > 400_000 / 2
    check_graph(degrees)


@pytest.mark.parametrize("noise", [1.0, 3.0, 8.0])
@pytest.mark.parametrize("nodes", [4, 5, 6])
@pytest.mark.parametrize("public", [False, True], ids=["any", "known number of edges"])
def test_the_nearest_sequence_lies_between_its_bound_and_the_best(nodes: int, noise: float, public: bool) -> None:
    """Against all sequences (of that sum): most are nearest, and where the gap is 0 all are."""
    generator, every = np.random.default_rng(nodes), graphical_sequences(nodes)
    excess = []
    for truth in every[generator.integers(len(every), size=40)]:
        values, total = truth + generator.normal(0, noise, nodes), int(truth.sum())
        found = nearest_graphical(values, total=total) if public else nearest_graphical(values)
        others = every[every.sum(axis=1) == total] if public else every
        best = float(((others - values) ** 2).sum(axis=1).min())
        assert is_graphical(found.degrees)
        assert found.degrees.sum() == total or not public
        assert (np.diff(found.degrees) >= 0).all()
        assert found.squared_distance == pytest.approx(float(((found.degrees - values) ** 2).sum()))
        assert found.lower_bound <= best + 1e-6
        assert found.squared_distance >= best - 1e-9
        assert found.gap >= found.squared_distance - best - 1e-6
        excess.append(found.squared_distance - best)
    assert np.mean(np.array(excess) < 1e-6) >= 0.9
    assert public or np.mean(excess) < 0.1 * noise


@given(st.lists(st.integers(0, 11), min_size=1, max_size=12))
def test_a_sequence_is_evened_until_a_graph_has_it(entries: list[int]) -> None:
    start = np.minimum(np.sort(entries)[::-1], len(entries) - 1)
    if start.sum() % 2:
        start[np.flatnonzero(start == start[start > 0][-1])[-1]] -= 1
    found = evened(start.astype(np.float64))
    assert found.sum() == start.sum()
    assert (np.diff(found) <= 0).all()
    assert is_graphical(found)
    if is_graphical(start):
        np.testing.assert_array_equal(found, start)


def test_totals_at_the_ends() -> None:
    values = np.random.default_rng(0).normal(3, 5, 8)
    for total, degree in ((0, 0), (56, 7)):
        np.testing.assert_array_equal(nearest_graphical(values, total=total).degrees, degree)


def test_without_violated_cuts_it_is_isotonic_regression_with_an_even_sum() -> None:
    generator = np.random.default_rng(2)
    for _ in range(20):
        values = np.sort(generator.poisson(20, 400)) + generator.normal(0, 5, 400)
        found, whole = nearest_graphical(values), np.clip(np.floor(isotonic(values) + 0.5), 0, 399)
        assert found.gap == pytest.approx(0, abs=1e-6)
        assert found.cuts.shape == (0, 2)
        assert found.degrees.sum() % 2 == 0
        if whole.sum() % 2 == 0:
            np.testing.assert_array_equal(found.degrees, whole)


def test_hubs_that_know_everybody() -> None:
    """Cuts bind: 15 nodes of 300 have degree 299, the others 15, which is an extreme sequence."""
    truth = np.repeat([15, 299], [285, 15])
    assert erdos_gallai_slacks(truth).min() == 0
    values = truth + np.rint(np.random.default_rng(3).laplace(0, 30, 300))
    found = nearest_graphical(values)
    assert len(found.cuts) > 0
    assert found.gap <= 1e-3 * found.squared_distance
    check_graph(found.degrees)
    assert len(found.edges()) == found.degrees.sum() // 2


@pytest.mark.parametrize("value", [-50.0, 0.4, 1e6])
@pytest.mark.parametrize("nodes", [1, 2, 7])
def test_values_far_outside(nodes: int, value: float) -> None:
    found = nearest_graphical(np.full(nodes, value))
    assert is_graphical(found.degrees)
    np.testing.assert_array_equal(found.degrees, nodes - 1 if value > nodes else 0)


def test_noisy_degrees_of_a_social_network_are_made_those_of_a_graph(data_folder: Path) -> None:
    degrees = np.sort(np.load(data_folder / "hist" / "snap-graphs.npz")["facebook_degrees"]).astype(np.int64)
    assert is_graphical(degrees)
    check_graph(degrees)
    noisy = degrees + np.rint(np.random.default_rng(4).laplace(0, 10, degrees.size))
    found = nearest_graphical(noisy)
    assert found.gap <= 1e-6
    assert ((found.degrees - degrees) ** 2).sum() < 0.1 * ((noisy - degrees) ** 2).sum()


def test_what_is_no_degree_is_not_graphical() -> None:
    assert not any(is_graphical(degrees) for degrees in ([1.5, 1.5], [-1, 1], [2, 2]))
    assert is_graphical([])
