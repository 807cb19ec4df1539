"""Degree sequences: the test against all small graphs, graphs with given degrees, the nearest sequence and its gap."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import ProgramError
from dpopt.inference.histograms.sorted.degree_sequences import (
    erdos_gallai_slacks,
    evened,
    graph_with_degrees,
    is_graphical,
    nearest_graphical,
)
from dpopt.inference.histograms.sorted.isotonic import isotonic_integers


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
            with pytest.raises(ProgramError, match="no graph has these degrees"):
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
    expected = [
        r * (r - 1) + np.minimum(falling[r:], r).sum() - falling[:r].sum() for r in range(1, falling.size + 1)
    ]
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
def test_the_nearest_sequence_lies_between_its_bound_and_the_best(nodes: int, noise: float) -> None:
    """Against all sequences: most are nearest, and where the gap is 0 all are."""
    generator, every = np.random.default_rng(nodes), graphical_sequences(nodes)
    excess = []
    for truth in every[generator.integers(len(every), size=40)]:
        values = truth + generator.normal(0, noise, nodes)
        found = nearest_graphical(values)
        best = float(((every - values) ** 2).sum(axis=1).min())
        assert is_graphical(found.degrees)
        assert (np.diff(found.degrees) >= 0).all()
        assert found.squared_distance == pytest.approx(float(((found.degrees - values) ** 2).sum()))
        assert found.lower_bound <= best + 1e-6
        assert found.squared_distance >= best - 1e-9
        assert found.gap >= found.squared_distance - best - 1e-6
        excess.append(found.squared_distance - best)
    assert np.mean(np.array(excess) < 1e-6) >= 0.9
    assert np.mean(excess) < 0.1 * noise


@pytest.mark.parametrize("noise", [1.0, 3.0, 8.0])
@pytest.mark.parametrize("nodes", [4, 5, 6])
def test_with_a_public_number_of_edges_the_nearest_sequence_keeps_it(nodes: int, noise: float) -> None:
    """Against all sequences of that sum: nearly all are nearest, and none is below its bound."""
    generator, every = np.random.default_rng(nodes), graphical_sequences(nodes)
    excess = []
    for truth in every[generator.integers(len(every), size=40)]:
        values, total = truth + generator.normal(0, noise, nodes), int(truth.sum())
        found = nearest_graphical(values, total=total)
        best = float(((every[every.sum(axis=1) == total] - values) ** 2).sum(axis=1).min())
        assert is_graphical(found.degrees)
        assert found.degrees.sum() == total
        assert (np.diff(found.degrees) >= 0).all()
        assert found.lower_bound <= best + 1e-6
        assert found.squared_distance >= best - 1e-9
        excess.append(found.squared_distance - best)
    assert np.mean(np.array(excess) < 1e-6) >= 0.9


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


def test_totals_at_the_ends_and_those_that_no_graph_has() -> None:
    values = np.random.default_rng(0).normal(3, 5, 8)
    for total, degree in ((0, 0), (56, 7)):
        np.testing.assert_array_equal(nearest_graphical(values, total=total).degrees, degree)
    for total in (-2, 7, 58):
        with pytest.raises(ProgramError, match="an even number from 0 to 56"):
            nearest_graphical(values, total=total)


def test_without_violated_cuts_it_is_isotonic_regression_with_an_even_sum() -> None:
    generator = np.random.default_rng(2)
    for _ in range(20):
        values = np.sort(generator.poisson(20, 400)) + generator.normal(0, 5, 400)
        found, whole = nearest_graphical(values), isotonic_integers(values, lower=0, upper=399)
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


def test_the_degrees_of_a_social_network(data_folder: Path) -> None:
    degrees = np.sort(np.load(data_folder / "hist" / "snap-graphs.npz")["facebook_degrees"]).astype(np.int64)
    assert is_graphical(degrees)
    check_graph(degrees)
    noisy = degrees + np.rint(np.random.default_rng(4).laplace(0, 10, degrees.size))
    found = nearest_graphical(noisy)
    assert found.gap <= 1e-6
    assert ((found.degrees - degrees) ** 2).sum() < 0.1 * ((noisy - degrees) ** 2).sum()


def test_what_is_no_degree_is_refused() -> None:
    for degrees in ([1.5, 1.5], [-1, 1], [2, 2]):
        with pytest.raises(ProgramError, match="whole numbers from 0 to 1"):
            erdos_gallai_slacks(degrees)
        with pytest.raises(ProgramError, match="whole numbers from 0 to 1"):
            graph_with_degrees(degrees)
        assert not is_graphical(degrees)
    assert is_graphical([])
    for values in ([], [np.nan], [[1.0]]):
        with pytest.raises(ProgramError, match="finite numbers in one row"):
            nearest_graphical(values)
