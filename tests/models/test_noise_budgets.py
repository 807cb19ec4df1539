"""Noise budgets (LB-1 to LB-7, HB-1 to HB-6, NA-1 to NA-7): variances of dense least squares, amounts that are the best."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from itertools import combinations, product
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError, WorkloadError
from dpopt.inference.histograms.mean_variance import MeanVariance
from dpopt.models.noise_budgets.hierarchy_budgets import HierarchyProgram
from dpopt.models.noise_budgets.level_budgets import LevelProgram, best_level_budgets
from dpopt.models.noise_budgets.level_descent import best_budgets
from dpopt.models.noise_budgets.noise_allocation import (
    Allocation,
    AllocationProgram,
    allocate_noise,
    allocation_program,
    solve_allocation,
)
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.grids import block_of_cells, box_variances, grid_levels, informative_levels
from dpopt.queries.ranges.tree import Tree, deepened, hierarchy_of
from dpopt.queries.ranges.weighted_ranges import height_of, loads_of, loads_of_all_ranges, loads_of_size
from dpopt.schema.domains import Domains
from dpopt.synopses.histograms.range_workload import ranges_of_nodes
from tests.inference.histograms.small_trees import coverage, null_space, random_tree
from tests.lying_solvers import POINTS, Lying


def powers(levels: int) -> NDArray[np.float64]:
    return np.exp2(np.arange(levels, dtype=np.float64))


def level_program(loads: NDArray[np.float64], *, amount: float, gaussian: bool, sensitivity: int = 1) -> LevelProgram:
    rows = np.atleast_2d(loads)
    return LevelProgram(
        rows, powers(rows.shape[1]), np.tri(rows.shape[1]), np.ones(len(rows)), amount, sensitivity, gaussian
    )


def all_ranges(bins: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    starts, stops = np.triu_indices(bins)
    return starts.astype(np.int64), stops.astype(np.int64) + 1


def dense_variance(precisions: NDArray[np.float64], start: int, stop: int, bins: int) -> float:
    """Return the variance of a range by generalised least squares, every block a row; no formula of the page."""
    information = np.zeros((bins, bins))
    for h, precision in enumerate(precisions):
        block = np.arange(bins) // 2**h
        information += precision * (block[:, None] == block)
    query = np.zeros(bins)
    query[start:stop] = 1.0
    return float(query @ np.linalg.solve(information, query))


@settings(max_examples=30, deadline=None)
@given(height=st.integers(0, 5), seed=st.integers(0, 10**6), gaussian=st.booleans(), sensitivity=st.integers(1, 2))
def test_variances_are_those_of_least_squares(height: int, seed: int, gaussian: bool, sensitivity: int) -> None:
    generator, bins = np.random.default_rng(seed), 2**height
    amounts = generator.uniform(0.01, 1.0, height + 1)
    start = int(generator.integers(bins))
    stop = int(generator.integers(start, bins)) + 1
    loads = loads_of(np.array([start]), np.array([stop]), bins)
    program = level_program(loads, amount=float(amounts.sum()), gaussian=gaussian, sensitivity=sensitivity)
    variances = program.variances(amounts)
    assert variances[0] == pytest.approx(dense_variance(program.precisions(amounts), start, stop, bins))


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 8, 20, 33])
def test_loads_of_all_ranges_and_of_a_size_are_means_over_the_ranges(bins: int) -> None:
    starts, stops = all_ranges(bins)
    assert loads_of_all_ranges(bins) == pytest.approx(loads_of(starts, stops, bins), abs=1e-12)
    assert loads_of_all_ranges(bins).sum() == pytest.approx(float((stops - starts).mean()))
    for size in range(1, bins + 1):
        chosen = stops - starts == size
        assert loads_of_size(size, bins) == pytest.approx(loads_of(starts[chosen], stops[chosen], bins))


def test_weights_of_ranges_count() -> None:
    starts, stops = np.array([0, 3]), np.array([2, 8])
    one, other = (loads_of(starts[[i]], stops[[i]], 8) for i in (0, 1))
    weights = np.array([3.0, 1.0])
    assert loads_of(starts, stops, 8, weights) == pytest.approx(0.75 * one + 0.25 * other)


def test_known_figures_over_256_bins() -> None:
    """Uniform binary tree 264.8, single bins 172.0, best levels 78.9; with Gaussian noise 11.81."""
    loads, amount = loads_of_all_ranges(256), 1e-4
    laplace = level_program(loads, amount=amount, gaussian=False)
    uniform, leaves = np.full(9, amount / 9), np.eye(9)[0] * amount
    assert laplace.variances(uniform)[0] * amount**2 == pytest.approx(264.8, abs=0.1)
    assert laplace.variances(leaves)[0] * amount**2 == pytest.approx(172.0, abs=0.1)
    best = best_level_budgets(laplace)
    assert best.variances[0] * amount**2 == pytest.approx(78.94, abs=0.01)
    assert np.flatnonzero(best.amounts).tolist() == [0, 4]
    assert best.gap is None
    gaussian = best_level_budgets(level_program(loads, amount=0.5, gaussian=True))
    assert gaussian.variances[0] == pytest.approx(11.81, abs=0.005)
    assert gaussian.gap is not None
    assert gaussian.gap < 1e-6


def test_the_worked_example() -> None:
    best = best_level_budgets(level_program(loads_of_all_ranges(2), amount=0.5, gaussian=True))
    assert best.amounts == pytest.approx([1 / (1 + 3**0.5), 0.5 - 1 / (1 + 3**0.5)], abs=1e-5)
    assert best.variances[0] == pytest.approx(1.244, abs=1e-3)


@settings(max_examples=8, deadline=None)
@given(bins=st.integers(2, 40), seed=st.integers(0, 10**6), groups=st.integers(1, 3))
@example(bins=17, seed=46377, groups=2)  # two levels of less than .4 %, which are worth .25 %
@example(bins=26, seed=250155, groups=3)  # a level that first got no share at all
def test_gaussian_amounts_are_those_of_a_cone_program(bins: int, seed: int, groups: int) -> None:
    import cvxpy

    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, bins + 1, groups)
    loads = np.array([loads_of_size(int(size), bins) for size in sizes])
    references = generator.uniform(0.5, 2.0, groups) * sizes
    program = LevelProgram(loads, powers(loads.shape[1]), np.tri(loads.shape[1]), references, 0.7, 2, True)
    budget = cvxpy.Variable(loads.shape[1], nonneg=True)
    gathered = cvxpy.cumsum(cvxpy.multiply(program.blocks, 2.0 * budget / 2.0))
    ratios = [
        cvxpy.sum(cvxpy.multiply(row, cvxpy.inv_pos(gathered))) / r for row, r in zip(loads, references, strict=True)
    ]
    reference = cvxpy.Problem(cvxpy.Minimize(cvxpy.maximum(*ratios) if groups > 1 else ratios[0]))
    reference = cvxpy.Problem(reference.objective, [cvxpy.sum(budget) == 0.7])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": the comparison allows for it
        reference.solve(solver=cvxpy.CLARABEL)
    found = best_level_budgets(program)
    objective = float((found.variances / references).max())
    assert found.amounts.sum() == pytest.approx(0.7)
    assert objective <= float(reference.value) * (1 + 5e-3)
    assert found.gap is not None
    assert objective * (1 - found.gap) <= float(reference.value) * (1 + 1e-6)
    assert found.gap < 2e-3


@pytest.mark.parametrize("bins", [4, 8, 16])
@pytest.mark.parametrize("sizes", [(1,), (3,), (1, 4)])
def test_laplace_amounts_are_the_best_of_a_grid(bins: int, sizes: tuple[int, ...]) -> None:
    loads = np.array([loads_of_size(min(size, bins), bins) for size in sizes])
    references = loads.sum(axis=1)
    program = LevelProgram(loads, powers(loads.shape[1]), np.tri(loads.shape[1]), references, 1.0, 1, False)
    found = best_level_budgets(program)
    steps, levels = 20, loads.shape[1]
    grid = [
        (*point, steps - sum(point))
        for point in product(range(steps + 1), repeat=levels - 1)
        if sum(point) <= steps and point[0]
    ]
    least = min(program.objective(np.array(point) / steps) for point in grid)
    assert float((found.variances / references).max()) <= least * (1 + 1e-6)


def test_slopes_are_derivatives() -> None:
    loads = np.array([loads_of_size(size, 30) for size in (1, 7, 30)])
    mixture = np.array([0.2, 0.5, 0.3])
    for gaussian in (True, False):
        program = LevelProgram(loads, powers(6), np.tri(6), np.array([1.0, 2.0, 3.0]), 1.0, 2, gaussian)
        amounts = np.array([0.3, 0.1, 0.2, 0.05, 0.15, 0.2])
        for level, step in product(range(6), (1e-6,)):
            sensitivity = np.eye(6)[level] * step
            difference = program.variances(amounts + sensitivity) - program.variances(amounts - sensitivity)
            expected = float(mixture @ (difference / program.references)) / (2 * step)
            assert mixture @ program.evaluate(amounts)[1][:, level] == pytest.approx(expected, rel=1e-5)


@settings(max_examples=30, deadline=None)
@given(heights=st.tuples(st.integers(0, 2), st.integers(0, 3)), seed=st.integers(0, 10**6), gaussian=st.booleans())
def test_variances_of_boxes_are_those_of_least_squares(heights: tuple[int, int], seed: int, gaussian: bool) -> None:
    """LB-7: every level is measured, and a box has the variance of dense generalised least squares."""
    generator = np.random.default_rng(seed)
    shape = tuple(2**height for height in heights)
    levels = grid_levels(shape)
    amounts = generator.uniform(0.01, 1.0, len(levels))
    start = np.array([[generator.integers(0, bins) for bins in shape]])
    stop = np.array([[generator.integers(at + 1, bins + 1) for at, bins in zip(start[0], shape, strict=True)]])
    parts = np.eye(len(levels)).reshape(-1, *(height + 1 for height in heights))
    program = LevelProgram(
        np.array([[box_variances(start, stop, shape, part)[0] for part in parts]]),
        np.array([2.0 ** sum(level) for level in levels]),
        informative_levels(levels, levels),
        np.ones(1),
        float(amounts.sum()),
        1,
        gaussian,
    )
    information = np.zeros((np.prod(shape), np.prod(shape)))
    for level, precision in zip(levels, program.precisions(amounts), strict=True):
        block = block_of_cells(shape, level)
        information += precision * (block[:, None] == block)
    box = np.zeros(shape)
    box[tuple(slice(*side) for side in zip(start[0], stop[0], strict=True))] = 1.0
    expected = box.reshape(-1) @ np.linalg.solve(information, box.reshape(-1))
    assert program.variances(amounts)[0] == pytest.approx(expected)


def test_ranges_that_make_no_sense_are_refused() -> None:
    with pytest.raises(WorkloadError, match="domain"):
        loads_of_size(9, 8)
    for start, stop in ((0, 9), (-1, 3), (4, 4)):
        with pytest.raises(WorkloadError, match="start < stop"):
            loads_of(np.array([start]), np.array([stop]), 8)
    assert [height_of(bins) for bins in (1, 2, 3, 4, 5, 1024, 1025)] == [0, 1, 2, 2, 3, 10, 11]


def small_hierarchy(seed: int) -> Tree:
    """Return a tree of 2 to 4 levels over 2 to 7 bins, with bins beside groups."""
    generator = np.random.default_rng(seed)
    trees = (random_tree(generator, most=7, deepest=3) for _ in range(1000))
    return next(tree for tree in trees if tree.bins > 1 and len(tree.levels) > 2)


def program_of(
    hierarchy: Tree, amount: float, *, gaussian: bool, sensitivity: int = 1, least: float = 0.02
) -> HierarchyProgram:
    tree, known = deepened(hierarchy), sensitivity == 2
    variance = MeanVariance(tree, ranges_of_nodes(hierarchy), known)
    return HierarchyProgram(variance, len(tree.levels), int(known), amount, sensitivity, gaussian, least)


def dense_objective(hierarchy: Tree, precisions: NDArray[np.float64], *, known: bool) -> float:
    """Return the mean over levels of the mean variance of their groups, by generalised least squares over rows of bins."""
    tree = deepened(hierarchy)
    groups = [coverage(tree)[level] for level in tree.levels]
    information = sum(p * rows.T @ rows for p, rows in zip(precisions, groups, strict=True))
    covariance = np.linalg.inv(information)
    if known:
        total = np.ones(tree.bins)
        covariance -= np.outer(covariance @ total, total @ covariance) / (total @ covariance @ total)
    declared = coverage(hierarchy)
    means = [np.mean([q @ covariance @ q for q in declared[level]]) for level in hierarchy.levels]
    return float(np.mean(means))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), gaussian=st.booleans(), known=st.booleans())
def test_the_objective_is_that_of_least_squares(seed: int, gaussian: bool, known: bool) -> None:
    """HB-1, HB-3, HB-4 and HB-5."""
    generator, hierarchy = np.random.default_rng(seed), small_hierarchy(seed)
    program = program_of(hierarchy, 1.0, gaussian=gaussian, sensitivity=1 + known)
    amounts = generator.uniform(0.05, 1.0, program.levels)
    amounts[:-1][generator.random(program.levels - 1) < 0.3] = 0.0
    precisions = program.precisions(amounts)
    if known:
        precisions[0] = 0.0
    assert program.objective(amounts) == pytest.approx(dense_objective(hierarchy, precisions, known=known), rel=1e-8)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), gaussian=st.booleans(), known=st.booleans())
def test_slopes_of_hierarchies_are_derivatives(seed: int, gaussian: bool, known: bool) -> None:
    generator, hierarchy = np.random.default_rng(seed), small_hierarchy(seed)
    program = program_of(hierarchy, 1.0, gaussian=gaussian, sensitivity=1 + known)
    amounts = generator.uniform(0.1, 1.0, program.levels)
    slopes = program.evaluate(amounts)[1][0]
    for level in range(program.first, program.levels):
        step = 1e-6 * np.eye(program.levels)[level]
        expected = (program.objective(amounts + step) - program.objective(amounts - step)) / 2e-6
        assert slopes[level] == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("sensitivity", [1, 2])
@pytest.mark.parametrize("gaussian", [True, False])
def test_precisions_and_their_rates_are_those_of_the_noise(sensitivity: int, gaussian: bool) -> None:
    """The variance of discrete Laplace noise of scale m / b is 2 a / (1 - a)^2, a = exp(-b / m); of Gaussian noise m / 2 b."""
    amounts = np.array([0.01, 0.3, 2.0])
    a = np.exp(-amounts / sensitivity)
    expected = sensitivity / (2 * amounts) if gaussian else 2 * a / (1 - a) ** 2
    program = level_program(np.ones(3), amount=1.0, gaussian=gaussian, sensitivity=sensitivity)
    assert 1 / program.precisions(amounts) == pytest.approx(expected)
    above, below = (program.precisions(amounts * factor) for factor in (1 + 1e-6, 1 - 1e-6))
    assert program.rates(amounts) == pytest.approx((above - below) / (2e-6 * amounts), rel=1e-6)
    assert np.isfinite(program.precisions(np.array([1e6]))).all()


@pytest.mark.parametrize("sensitivity", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_laplace_amounts_of_hierarchies_are_the_best_of_a_grid(seed: int, sensitivity: int) -> None:
    """Enumeration of all shares in steps of a twentieth, single bins with their least share on top (HB-2)."""
    program = program_of(small_hierarchy(seed), 1.0, gaussian=False, sensitivity=sensitivity)
    found = best_budgets(program)
    steps, levels = 20, program.levels - program.first
    shares = [
        np.array((*point, steps - sum(point))) / steps
        for point in product(range(steps + 1), repeat=levels - 1)
        if sum(point) <= steps
    ]
    least = min(program.objective(program.spread(one)) for one in shares)
    assert found.variances[0] <= least * (1 + 1e-4)
    assert found.amounts.sum() == pytest.approx(1.0)
    assert found.amounts[-1] >= 0.02 * (1 - 1e-9)
    assert found.gap is None
    assert not found.amounts[: program.first].any()


@pytest.mark.parametrize("sensitivity", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_gaussian_amounts_are_those_of_a_convex_program(seed: int, sensitivity: int) -> None:
    import cvxpy

    hierarchy, amount = small_hierarchy(seed), 0.7
    tree, declared = deepened(hierarchy), coverage(hierarchy)
    free = null_space(np.ones((1, tree.bins))) if sensitivity == 2 else np.eye(tree.bins)  # the total is known, or not
    budget = cvxpy.Variable(len(tree.levels), nonneg=True)
    groups = [coverage(tree)[level] @ free for level in tree.levels]
    information = sum(2.0 / sensitivity * budget[depth] * (rows.T @ rows) for depth, rows in enumerate(groups))
    sizes = [level.stop - level.start for level in hierarchy.levels]
    weights = 1.0 / np.repeat(sizes, sizes) / len(sizes)
    terms = [w * cvxpy.matrix_frac(q @ free, information) for w, q in zip(weights, declared, strict=True)]
    objective = cvxpy.sum(terms[1:] if sensitivity == 2 else terms)
    rules = [cvxpy.sum(budget) == amount, budget[-1] >= 0.02 * amount]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": the comparison allows for it
        reference = cvxpy.Problem(cvxpy.Minimize(objective), rules)
        reference.solve(solver=cvxpy.CLARABEL)
    found = best_budgets(program_of(hierarchy, amount, gaussian=True, sensitivity=sensitivity))
    assert found.variances[0] == pytest.approx(float(reference.value), rel=2e-3)
    assert found.gap is not None
    assert found.gap < 2e-3


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), known=st.booleans())
def test_no_amounts_are_below_the_bound(seed: int, known: bool) -> None:
    """HB-6 at any amounts against any others."""
    generator = np.random.default_rng(seed)
    program = program_of(small_hierarchy(seed), 0.5, gaussian=True, sensitivity=1 + known)
    levels = program.levels - program.first
    one, other = (program.spread(generator.dirichlet(np.full(levels, 0.5))) for _ in range(2))
    assert program.lower_bound(one) <= program.objective(other) * (1 + 1e-9)


def test_the_worked_hierarchy() -> None:
    """Two bins and their sum: the golden ratio."""
    golden = (1 + 5**0.5) / 2
    hierarchy = hierarchy_of([0, 1], Bins("x", 2))
    found = best_budgets(program_of(hierarchy, 0.5, gaussian=True))
    assert found.amounts == pytest.approx([0.5 - 1 / (2 * golden), 1 / (2 * golden)], abs=1e-4)
    assert found.variances[0] == pytest.approx(5 / (8 - 4 / golden) + golden / 4)
    assert found.variances[0] == pytest.approx(1.309, abs=1e-3)


def test_levels_that_hardly_count_are_left_out() -> None:
    hierarchy = Tree.balanced(64, 2)
    found = best_budgets(program_of(hierarchy, 1e-3, gaussian=False))
    used = found.amounts[found.amounts > 0]
    assert used.size < found.amounts.size
    assert used.min() >= 0.004e-3 * (1 - 1e-9)


def test_with_nothing_to_choose_all_goes_to_single_bins() -> None:
    found = best_budgets(program_of(hierarchy_of([0, 1, 2], Bins("x", 3)), 1.0, gaussian=False, sensitivity=2))
    assert found.amounts.tolist() == [0.0, 1.0]


WORKED = {"rho": 0.5, "sensitivity": 1, "size": 4, "signal": 0.25}


def marginal_set(sizes: list[int], marginals: list[tuple[int, ...]]) -> MarginalSet:
    counts = np.array(sizes, dtype=np.int64)
    codes = np.concatenate([np.arange(size, dtype=np.int32) for size in sizes])
    width = max(map(len, marginals))
    rows = np.array([[*marginal, *[-1] * (width - len(marginal))] for marginal in marginals], dtype=np.int32)
    return MarginalSet(Domains(counts, np.cumsum(counts) - counts, codes), rows)


def sets_of(candidates: NDArray[np.int32]) -> list[tuple[int, ...]]:
    return [tuple(a for a in row if a >= 0) for row in candidates.tolist()]


def matrix_of(sizes: list[int], chosen: tuple[int, ...], inside: Any, outside: Any) -> NDArray[np.float64]:
    """Return the Kronecker product of inside(size) for the chosen attributes and outside(size) for the others."""
    parts = [inside(size) if a in chosen else outside(size) for a, size in enumerate(sizes)]
    return np.asarray(reduce(np.kron, parts))


def contrasts(size: int) -> NDArray[np.float64]:
    """Return size - 1 orthonormal rows, orthogonal to (1, ..., 1)."""
    full = np.linalg.qr(np.column_stack((np.ones(size), np.eye(size)[:, 1:])))[0]
    return full[:, 1:].T


def ones(size: int) -> NDArray[np.float64]:
    return np.ones((1, size))


def least_squares_error(
    sizes: list[int],
    workload: list[tuple[int, ...]],
    program: AllocationProgram,
    shares: NDArray[np.float64],
    *,
    rho: float,
    sensitivity: int,
) -> list[float]:
    """Return the total variance of each marginal of the workload by least squares on the whole table, its total known.

    Marginal A has noise of variance sensitivity / (2 rho s_A); component B of the table has the prior precision kappa_B in each
    dimension. Dense linear algebra, without any formula of the page.
    """
    rows, weights = [], []
    for marginal, share, prior in zip(sets_of(program.candidates.attributes), shares, program.prior, strict=True):
        rows.append(matrix_of(sizes, marginal, np.eye, ones))
        weights.append(2 * rho * share / sensitivity)
        rows.append(matrix_of(sizes, marginal, contrasts, ones))
        weights.append(prior)
    free = contrasts(int(np.prod(sizes)))  # changes of the table that keep its total
    information = sum(weight * free @ row.T @ row @ free.T for row, weight in zip(rows, weights, strict=True))
    covariance = np.linalg.pinv(information, rcond=1e-12, hermitian=True)
    queries = [matrix_of(sizes, marginal, np.eye, ones) @ free.T for marginal in workload]
    return [float(np.trace(query @ covariance @ query.T)) for query in queries]


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, ...]]]:
    """Draw sizes and marginals of one to three attributes, in any order; some twice."""
    sizes = draw(st.lists(st.integers(2, 4), min_size=2, max_size=4))
    subsets = [one for k in range(1, 4) for one in combinations(range(len(sizes)), k)]
    chosen = draw(st.lists(st.sampled_from(subsets), min_size=1, max_size=5))
    return sizes, [tuple(draw(st.permutations(one))) for one in chosen]


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(0, 2**32 - 1), st.sampled_from([1, 2]))
def test_na_1_na_3_na_4_na_5_the_objective_is_the_error_of_least_squares(
    problem: tuple[list[int], list[tuple[int, ...]]], seed: int, sensitivity: int
) -> None:
    sizes, workload = problem
    program = allocation_program(marginal_set(sizes, workload), rho=0.1, size=20, sensitivity=sensitivity, signal=0.3)
    shares = np.random.default_rng(seed).dirichlet(np.ones(program.prior.size))
    expected = least_squares_error(sizes, workload, program, shares, rho=0.1, sensitivity=sensitivity)
    cells = [float(np.prod([sizes[a] for a in marginal])) for marginal in workload]
    weighted = sum(error / sqrt(number) for error, number in zip(expected, cells, strict=True))
    assert program.objective(shares) == pytest.approx(weighted, rel=1e-5)


@given(problems())
def test_na_2_candidates_are_all_subsets_each_once(problem: tuple[list[int], list[tuple[int, ...]]]) -> None:
    sizes, workload = problem
    program = allocation_program(marginal_set(sizes, workload), rho=1.0, size=9, sensitivity=1, signal=0.5)
    expected = {one for marginal in workload for k in range(1, 4) for one in combinations(sorted(marginal), k)}
    assert sets_of(program.candidates.attributes) == sorted(expected, key=lambda one: (len(one), one))


def test_na_5_the_prior_of_a_component_shrinks_with_its_attributes() -> None:
    program = allocation_program(marginal_set([3, 5], [(0, 1)]), rho=1.0, size=10, sensitivity=1, signal=0.5)
    assert program.prior.tolist() == pytest.approx([2 / 50, 4 / 50, 8 / 25])


@settings(max_examples=60, deadline=None)
@given(problems(), st.floats(-5, 1), st.integers(1, 10**5), st.floats(0.02, 1.0))
def test_na_6_steps_never_go_up_and_na_7_bounds_every_other_choice(
    problem: tuple[list[int], list[tuple[int, ...]]], log_rho: float, size: int, signal: float
) -> None:
    sizes, workload = problem
    program = allocation_program(
        marginal_set(sizes, workload), rho=10**log_rho, size=size, sensitivity=1, signal=signal
    )
    shares = np.full(program.prior.size, 1 / program.prior.size)
    values = [program.objective(shares)]
    for _ in range(50):
        shares = shares * np.sqrt(program.slopes(shares))
        shares /= shares.sum()
        values.append(program.objective(shares))
    assert (np.diff(values) <= 1e-9 * values[0]).all()
    best = solve_allocation(program)
    bound = program.lower_bound(best)
    assert bound >= (1 - 1e-5) * program.objective(best)
    rng = np.random.default_rng(3)
    others = [*np.eye(shares.size), *rng.dirichlet(np.ones(shares.size), 20), *rng.dirichlet(best * 50 + 1e-3, 20)]
    assert min(program.objective(other) for other in others) >= bound * (1 - 1e-9)


def test_na_6_slopes_are_derivatives() -> None:
    program = allocation_program(marginal_set([2, 3, 4], [(0, 1, 2)]), rho=0.2, size=30, sensitivity=2, signal=0.4)
    shares, step = np.full(7, 1 / 7), 1e-6
    differences = [
        (program.objective(shares - step * unit) - program.objective(shares + step * unit)) / (2 * step)
        for unit in np.eye(7)
    ]
    assert program.slopes(shares).tolist() == pytest.approx(differences, rel=1e-6)


REFERENCE = """
import sys, json
for name in ("ortools", "gurobipy"):
    sys.modules[name] = None
import cvxpy, numpy as np
for line in sys.stdin:
    p = json.loads(line)
    supersets, components, gains = (np.array(p[key]) for key in ("supersets", "components", "gains"))
    s = cvxpy.Variable(len(p["prior"]), nonneg=True)
    matrix = np.zeros((len(p["prior"]),) * 2)
    matrix[components, supersets] = gains
    unit = np.array(p["prior"]) + matrix.max(axis=1)  # precisions at most, so that the program's numbers are of one size
    costs = np.array(p["costs"]) / unit
    precisions = (matrix / unit[:, None]) @ s + np.array(p["prior"]) / unit
    objective = costs / costs.sum() @ cvxpy.inv_pos(precisions)
    problem = cvxpy.Problem(cvxpy.Minimize(objective), [cvxpy.sum(s) == 1])
    problem.solve(solver="CLARABEL")
    print(problem.value * costs.sum())
"""


def text_of(program: AllocationProgram) -> str:
    names = ("supersets", "components", "gains", "costs", "prior")
    return json.dumps({name: getattr(program, name).tolist() for name in names})


@pytest.mark.solver("clarabel")
def test_the_shares_are_those_of_an_interior_point_method() -> None:
    """CVXPY with Clarabel, in a process of its own: the same optimum, on the scale of hand-made and of real workloads."""
    programs = []
    rng = np.random.default_rng(8)
    for sizes, width, number in (([2, 3, 4, 5], 3, 4), ([9, 16, 7, 15, 6, 5, 2, 42], 3, 20), ([4] * 12, 2, 40)):
        sets = list(combinations(range(len(sizes)), width))
        chosen = [sets[i] for i in rng.choice(len(sets), min(number, len(sets)), replace=False)]
        for rho, size in ((0.5, 30), (2e-4, 48_842), (0.01, 48_842)):
            marginals = marginal_set(sizes, chosen)
            programs.append(allocation_program(marginals, rho=rho, size=size, sensitivity=2, signal=0.2))
    command = [sys.executable, "-c", REFERENCE]
    lines = "\n".join(map(text_of, programs))
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr  # it may warn that its answer is inexact
    optima = [float(line) for line in done.stdout.split()]
    found = [program.objective(solve_allocation(program)) for program in programs]
    assert found == pytest.approx(optima, rel=1e-5)


@pytest.mark.solver("clarabel")
def test_a_solver_allocates_as_our_own_steps_do() -> None:
    marginals = marginal_set([9, 16, 7, 15, 6], list(combinations(range(5), 3)))
    for rho, size, sensitivity in ((0.01, 48_842, 1), (2e-4, 48_842, 2)):
        own = allocate_noise(marginals, rho=rho, size=size, sensitivity=sensitivity)
        found = allocate_noise(marginals, rho=rho, size=size, sensitivity=sensitivity, solver="clarabel")
        assert own.solved is None
        assert found.solved is not None
        assert found.solved.who.startswith("clarabel")
        assert abs(found.solved.ahead) < 1e-5
        assert found.gap <= own.gap + 1e-3


@pytest.mark.parametrize("lie", POINTS)
def test_shares_of_a_solver_that_lies_are_refused(lie: str) -> None:
    with pytest.raises(ProgramError, match=r"above that of our own method|found no answer"):
        allocate_noise(marginal_set([3, 3], [(0, 1)]), **WORKED, solver=Lying(POINTS[lie]))  # type: ignore[arg-type]


def test_the_worked_example_of_the_page() -> None:
    """Two attributes of three codes: .43 for each of them, .14 for both together."""
    marginals = marginal_set([3, 3], [(0, 1)])
    found = allocate_noise(marginals, **WORKED)  # type: ignore[arg-type]
    assert sets_of(found.marginals.attributes) == [(0,), (1,), (0, 1)]
    x = 7.5 - 5 * sqrt(2)
    assert found.shares.tolist() == pytest.approx([x, x, 1 - 2 * x], abs=1e-3)
    assert replace_shares(marginals, found.shares.tolist()) * 3 == pytest.approx(1.2 + 0.8 * sqrt(2), rel=1e-5)
    assert found.gap <= 1e-5
    alone = replace_shares(marginals, [0.0, 0.0, 1.0])
    assert alone == pytest.approx(2.4 / 3)


def replace_shares(marginals: MarginalSet, shares: list[float]) -> float:
    program = allocation_program(marginals, **WORKED)  # type: ignore[arg-type]
    return program.objective(np.array(shares))


@settings(max_examples=40, deadline=None)
@given(problems(), st.floats(-6, 2), st.integers(1, 10**6))
def test_an_allocation_is_feasible_and_says_no_more_than_is_so(
    problem: tuple[list[int], list[tuple[int, ...]]], log_rho: float, size: int
) -> None:
    sizes, workload = problem
    marginals = marginal_set(sizes, workload)
    found = allocate_noise(marginals, rho=10**log_rho, size=size)
    assert abs(found.shares.sum() - 1) <= 1e-12
    assert len(found.marginals) == found.shares.size
    program = allocation_program(marginals, rho=10**log_rho, size=size, sensitivity=1, signal=0.2)
    places = [sets_of(program.candidates.attributes).index(one) for one in sets_of(found.marginals.attributes)]
    assert places == sorted(places)
    shares = np.zeros(program.prior.size)
    shares[places] = found.shares
    best = program.objective(solve_allocation(program))
    assert program.objective(shares) * (1 - found.gap) <= best * (1 + 1e-9)
    assert found.gap <= 0.05


def test_a_poor_budget_goes_to_few_attributes_and_a_rich_one_to_the_workload() -> None:
    workload = marginal_set([10] * 6, list(combinations(range(6), 3)))
    orders = []
    for rho in (1e-9, 1e-5, 1.0):
        found = allocate_noise(workload, rho=rho, size=10_000)
        orders.append(float((found.marginals.widths() * found.shares).sum()))
    assert orders[0] < 1.2
    assert orders[0] < orders[1] < orders[2]
    assert orders[2] > 2.9


def test_twice_the_noise_is_half_the_budget() -> None:
    workload = marginal_set([3, 4, 5], [(0, 1), (1, 2)])
    one = allocate_noise(workload, rho=0.01, size=100, sensitivity=1)
    two = allocate_noise(workload, rho=0.02, size=100, sensitivity=2)
    assert one.shares.tolist() == two.shares.tolist()


def test_attributes_of_one_value_take_no_budget_from_others() -> None:
    """The marginals with and without such an attribute are the same table; nothing breaks down."""
    found = allocate_noise(marginal_set([1, 4], [(0, 1), (0,)]), rho=0.1, size=50)
    alone = allocate_noise(marginal_set([1, 4], [(1,)]), rho=0.1, size=50)
    measured = [one for one in sets_of(found.marginals.attributes) if 1 in one]
    assert measured
    given = sum(share for one, share in zip(sets_of(found.marginals.attributes), found.shares, strict=True) if 1 in one)
    assert given == pytest.approx(alone.shares.sum(), abs=0.02)


def test_a_single_marginal_over_constants_is_measured_all_the_same() -> None:
    found = allocate_noise(marginal_set([1, 1], [(0, 1)]), rho=0.1, size=50)
    assert found.gap == 0
    assert found.shares.sum() == pytest.approx(1)


WORKLOAD = marginal_set([3, 3], [(0, 1)])


def no_variance(precisions: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    return 0.0, precisions


def hierarchy_program(
    *, levels: int = 2, first: int = 0, amount: float = 1.0, sensitivity: int = 1, least: float = 0.02
) -> HierarchyProgram:
    return HierarchyProgram(no_variance, levels, first, amount, sensitivity, True, least)


def allocated(**changes: Any) -> Allocation:
    return allocate_noise(WORKLOAD, **{"rho": 1.0, "size": 10, **changes})


def shared(*shares: float) -> Allocation:
    return Allocation(marginal_set([3, 3], [(0,), (1,)]), freeze(np.array(shares)), 0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (partial(LevelProgram, np.ones((1, 2)), np.ones(3), np.tri(2), np.ones(1), 1.0, 1, True), "3 levels"),
        (partial(level_program, np.ones(2), amount=0.0, gaussian=True), "above 0"),
        (partial(hierarchy_program, first=-1), "levels"),
        (partial(hierarchy_program, first=2), "levels"),
        (partial(hierarchy_program, amount=0.0), "above 0"),
        (partial(hierarchy_program, sensitivity=0), "above 0"),
        (partial(hierarchy_program, least=0.0), "above 0"),
        *((partial(allocated, rho=rho), "allocation") for rho in (0.0, np.inf, np.nan)),
        (partial(allocated, size=0), "allocation"),
        (partial(allocated, sensitivity=3), "allocation"),
        *((partial(allocated, signal=signal), "allocation") for signal in (0.0, 1.5)),
        (partial(allocate_noise, WORKLOAD.take([]), rho=1.0, size=10), "marginal"),
        (partial(allocate_noise, marginal_set([2] * 24, [tuple(range(24))]), rho=1.0, size=10), "subsets"),
        *((partial(shared, *shares), "allocation") for shares in ([0.5], [0.5, 0.0], [0.5, 0.4], [1.5, -0.5])),
    ],
)
def test_what_makes_no_sense_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        call()


def test_allocations_keep_their_arrays() -> None:
    found = allocate_noise(WORKLOAD, rho=1.0, size=10)
    assert replace(found, gap=0.5).shares is found.shares
    assert not found.shares.flags.writeable
