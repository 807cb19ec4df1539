"""Programs of histograms (TC-1 to TC-8, IR-1 to IR-8, GS-1 to GS-8, IV-1 to IV-6) and the fast methods held to them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.errors import ProgramError
from dpopt.inference.histograms.grid_least_squares import grid_least_squares
from dpopt.inference.histograms.interval_partition import MOST_BINS, best_intervals, partition_cost
from dpopt.inference.histograms.sorted.degree_sequences import (
    cut_violations,
    is_graphical,
    nearest_graphical,
    parity_changes,
    relax,
)
from dpopt.inference.histograms.sorted.isotonic import isotonic
from dpopt.inference.histograms.tree_least_squares import least_squares, range_variances
from dpopt.models.histograms.graphical_sequence import graphical_relaxation, graphical_sequence
from dpopt.models.histograms.grid_consistency import grid_consistency
from dpopt.models.histograms.interval_partition import interval_arcs, interval_costs, interval_partition
from dpopt.models.histograms.isotonic_regression import isotonic_median_regression, isotonic_regression
from dpopt.models.histograms.tree_consistency import tree_consistency, whole_tree_consistency
from dpopt.programs import SolveLimits
from dpopt.programs.results import Termination
from dpopt.programs.solver import Program
from dpopt.queries.ranges.grids import blocks_shape
from dpopt.queries.ranges.tree import Tree
from dpopt.solvers.registry import get_solver
from dpopt.synopses.histograms.hierarchy_plan import plan_hierarchy
from tests.inference.histograms.small_trees import (
    least_whole_cost,
    nearest_nonnegative,
    random_measurements,
    random_tree,
)
from tests.models.catalogue import MODELS
from tests.models.linear_programs import relaxed

LIMITS = SolveLimits(seconds=60)
WORKED = Tree.balanced(4, 2)
NOISY = np.array([13.0, 3, 11, 4, 1, 12, 1])


def example(seed: int, *, exact: float = 0.0, most: int = 12) -> tuple[Tree, NDArray[np.float64], NDArray[np.float64]]:
    """Return a tree with measured bins; other nodes are measured, not measured, or known exactly."""
    generator = np.random.default_rng(seed)
    tree = random_tree(generator, most=most, deepest=4)
    values, variances = random_measurements(generator, tree, unmeasured=0.2, exact=exact)
    lost = np.isinf(variances) & (tree.children == 0)
    values[lost], variances[lost] = generator.normal(size=int(lost.sum())), 1.5
    return tree, values, variances


@pytest.mark.parametrize("name", ["clarabel", "osqp"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("nonnegative", [False, True])
def test_least_squares_with_and_without_bounds(name: str, seed: int, nonnegative: bool) -> None:
    """TC-1, TC-2 and TC-4 against two passes; with bins of at least zero, TC-3, against all supports."""
    tree, values, variances = example(seed, exact=0.1 if nonnegative else 0.2, most=6 if nonnegative else 12)
    program = tree_consistency(tree, values, variances, nonnegative=nonnegative).program
    found = (nearest_nonnegative if nonnegative else least_squares)(tree, values, variances)
    assert program.violation(found) <= 1e-8
    point = solution(name, program)
    assert program.evaluate(found) == pytest.approx(program.evaluate(point), rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(found, point, atol=1e-3 if nonnegative else 1e-4)


@pytest.mark.solver("clarabel")
def test_a_larger_tree_without_negative_bins_is_proven_nearest() -> None:
    """TC-1 to TC-3 with 1,024 bins: duals prove the optimum, and it lies above that of TC-1 and TC-2."""
    generator = np.random.default_rng(8)
    tree = Tree.balanced(1024, 4)
    truth = tree.totals(np.floor(generator.exponential(1, 1024) ** 4))
    values, variances = truth + 5 * generator.laplace(size=len(tree)), np.full(len(tree), 50.0)
    model = tree_consistency(tree, values, variances, nonnegative=True)
    assert model.closed_form is None
    found = model.solve("clarabel")
    assert found.value["x"][tree.leaf_of_bin].min() >= -1e-6
    without = tree_consistency(tree, values, variances).solve().objective
    assert found.certificate is not None
    assert found.certificate.proven_gap is not None
    assert found.objective is not None
    assert without is not None
    assert abs(float(found.certificate.proven_gap)) <= 1e-6 * found.objective
    assert found.objective > 1.01 * without


@pytest.mark.parametrize("seed", range(8))
def test_whole_counts_and_the_linear_relaxation_have_one_optimum(seed: int) -> None:
    """TC-5 and TC-6 against all whole bins: by a mixed-integer solver, and without integrality, since TC-2 is unimodular."""
    tree, values, variances = example(200 + seed, exact=0.1, most=4)
    least = least_whole_cost(tree, values, variances, 14)
    program = whole_tree_consistency(tree, values, variances, 60).linear
    for one in (program, relaxed(program)):
        result = get_solver("highs").solve(one, LIMITS)
        assert result.objective == pytest.approx(least, rel=1e-6, abs=1e-6)


def test_the_worked_example() -> None:
    """The example of Hay et al.; then with a bin below 0, in real and in whole numbers."""
    ones = np.ones(7)
    np.testing.assert_allclose(least_squares(WORKED, NOISY, ones), [14, 3, 11, 3, 0, 11, 0], atol=1e-12)
    values = np.array([15.0, 3, 11, 4, -2, 12, 1])
    np.testing.assert_allclose(
        least_squares(WORKED, values, ones), np.array([103, 20, 83, 31, -11, 80, 3]) / 7, atol=1e-12
    )
    real = solution("clarabel", tree_consistency(WORKED, values, ones, nonnegative=True).program)
    np.testing.assert_allclose(real, np.array([196, 45, 151, 45, 0, 147, 4]) / 13, atol=1e-4)
    distances = {
        bins: float(((WORKED.totals(np.array(bins)) - values) ** 2).sum())
        for bins in itertools.product(range(16), repeat=4)
    }
    least = min(distances.values())
    nearest = {bins for bins, distance in distances.items() if distance == least}
    assert nearest == {(3, 0, 11, 1), (3, 0, 12, 0), (4, 0, 11, 0)}
    whole = whole_tree_consistency(WORKED, values, ones, 16)
    point = np.rint(solution("highs", whole.linear)[:7])
    assert whole.linear.evaluate(solution("highs", whole.linear)) == pytest.approx(7)
    assert tuple(point[WORKED.leaf_of_bin].astype(int).tolist()) in nearest


def test_the_grades_are_better_measured_alone() -> None:
    """The introduction of Hay et al.: consistent counts, their variances, and what the plan of dpopt measures."""
    tree = Tree.nested([["A", "B", "C", "D"], "F"])
    noisy = np.array([100.0, 103, 14, 18, 31, 27, 12])
    solved = tree_consistency(tree, noisy, np.ones(7)).solve()
    np.testing.assert_allclose(solved.value["x"], [105, 96, 9, 20, 33, 29, 14], atol=1e-12)
    starts, stops = np.array([[0, 5], [0, 4], [4, 5], [0, 1]]).T  # all, passed, F, A
    seven = 9 * range_variances(tree, np.ones(7), starts, stops)
    np.testing.assert_allclose(seven, [81 / 14, 36 / 7, 81 / 14, 99 / 14], atol=1e-12)
    plan = plan_hierarchy(tree, Budget(0.01, 0.0, None, Accountant.PURE))
    planned = plan.range_variances(starts, stops) * 0.01**2 / 2
    np.testing.assert_allclose(planned, [5, 4, 1, 1], rtol=1e-4)
    assert (planned < seven).all()


CASES = [(bounds, total) for bounds, total in itertools.product(((-np.inf, np.inf), (0.0, 9.0)), (None, 20.0))]


def solution(name: str, program: Program) -> np.ndarray:
    """Return what a general solver finds."""
    solver = get_solver(name)
    if not solver.availability().available:
        pytest.skip(f"{name} is not available")
    return np.asarray(solver.solve(program, SolveLimits(seconds=60)).require_solution(), dtype=np.float64)


@pytest.mark.parametrize(("bounds", "total"), CASES)
@pytest.mark.parametrize("seed", range(2))
def test_the_quadratic_program_has_the_fast_solution(
    bounds: tuple[float, float], total: float | None, seed: int
) -> None:
    """IR-1 with IR-3 to IR-5."""
    generator = np.random.default_rng(seed)
    values, weights = generator.normal(3, 6, 9), generator.uniform(0.5, 3, 9)
    program = isotonic_regression(values, weights, lower=bounds[0], upper=bounds[1], total=total).program
    fast = isotonic(values, weights=weights, lower=bounds[0], upper=bounds[1], total=total)
    assert program.violation(fast) <= 1e-9
    found = solution("clarabel", program)
    assert program.evaluate(fast) <= program.evaluate(found) + 1e-5
    np.testing.assert_allclose(fast, found, atol=1e-3)


def least_absolute_cost(
    values: NDArray[np.float64], weights: NDArray[np.float64], bounds: tuple[float | None, float | None]
) -> float:
    """Return IR-2 with IR-3 and IR-4, value by value: some best sequence has noisy values and bounds alone."""
    levels, least = np.sort(np.clip(values, *bounds)), np.zeros(values.size)
    for value, weight in zip(values, weights, strict=True):
        least = np.minimum.accumulate(least) + weight * np.abs(levels - value)
    return float(least.min())


@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (0.0, 9.0)])
@pytest.mark.parametrize("seed", range(2))
def test_the_linear_program_has_the_least_of_all_sequences(bounds: tuple[float, float], seed: int) -> None:
    """IR-2 with IR-3 and IR-4."""
    generator = np.random.default_rng(seed)
    values = generator.integers(-8, 15, 12).astype(float)
    weights = generator.integers(1, 4, 12).astype(float)
    program = isotonic_median_regression(values, weights, lower=bounds[0], upper=bounds[1]).linear
    least = least_absolute_cost(values, weights, bounds)
    assert program.evaluate(solution("highs", program)) == pytest.approx(least, abs=1e-6)


def test_a_total_is_a_row_of_the_linear_program() -> None:
    """IR-5 with IR-2: the median of three is 2 with cost 2; a total of 9 costs 3."""
    program = isotonic_median_regression(np.array([1.0, 2.0, 3.0]), np.ones(3), total=9.0).linear
    assert program.evaluate(solution("highs", program)) == pytest.approx(3)


@pytest.mark.parametrize("seed", range(20))
def test_the_fast_solution_is_the_min_max_formula(seed: int) -> None:
    """IR-6, both forms."""
    generator = np.random.default_rng(seed)
    size = int(generator.integers(1, 12))
    values = generator.integers(-5, 6, size).astype(float)
    weights = generator.integers(1, 4, size).astype(float)
    means = np.array(
        [
            [np.average(values[i : j + 1], weights=weights[i : j + 1]) if i <= j else np.nan for j in range(size)]
            for i in range(size)
        ]
    )
    low = [min(means[: j + 1, j].max() for j in range(k, size)) for k in range(size)]
    high = [max(means[i, i:].min() for i in range(k + 1)) for k in range(size)]
    np.testing.assert_allclose(low, high, atol=1e-12)
    np.testing.assert_allclose(isotonic(values, weights=weights), low, atol=1e-12)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([9, 10, 14], [9, 10, 14]), ([9, 14, 10], [9, 12, 12]), ([14, 9, 10, 15], [11, 11, 11, 15])],
)
def test_example_four_of_the_paper(values: list[float], expected: list[float]) -> None:
    noisy = np.array(values, dtype=np.float64)
    np.testing.assert_allclose(isotonic(noisy), expected)
    assert isotonic_regression(noisy, np.ones(len(values))).program.violation(np.array(expected, dtype=float)) == 0


@cache
def falling_sequences(size: int) -> np.ndarray:
    """Return all falling sequences of whole numbers from 0 to size - 1, (s, n)."""
    return np.array(list(itertools.combinations_with_replacement(range(size - 1, -1, -1), size)))


@cache
def graphical_sequences(size: int) -> np.ndarray:
    """Return those of even sum within GS-3 and GS-4 with m_ir = min(d_i, r), from the definition."""
    kept = []
    for one in falling_sequences(size).tolist():
        inside = all(sum(one[:r]) <= r * (r - 1) + sum(min(d, r) for d in one[r:]) for r in range(1, size + 1))
        if inside and sum(one) % 2 == 0:
            kept.append(one)
    return np.array(kept)


def noisy_degrees(generator: np.random.Generator, size: int) -> np.ndarray:
    """Return values that are often far from any graph's degrees."""
    return np.sort(np.rint(generator.normal(size / 2, 4, size)))[::-1] + generator.integers(-2, 3, size)


@pytest.mark.parametrize("seed", range(6))
def test_the_relaxation_is_what_cuts_reach(seed: int) -> None:
    """GS-1 to GS-4 as a quadratic program, and GS-6 cut by cut, have the same solution."""
    values = noisy_degrees(np.random.default_rng(seed), 8).astype(np.float64)
    program = graphical_relaxation(values).program
    found = solution("clarabel", program)
    assert program.violation(found) < 1e-5
    relaxed = relax(values)
    np.testing.assert_allclose(relaxed.point, found[:8], atol=2e-3)
    assert 0.5 * ((relaxed.point - values) ** 2).sum() == pytest.approx(program.evaluate(found), abs=1e-2)


@pytest.mark.parametrize("size", [1, 2, 4, 6])
def test_cuts_say_what_erdos_and_gallai_say(size: int) -> None:
    """GS-6 against the definition, on all sequences."""
    by_cuts = [
        one
        for one in falling_sequences(size).tolist()
        if sum(one) % 2 == 0 and cut_violations(np.array(one, dtype=np.float64))[0].max() <= 0
    ]
    np.testing.assert_array_equal(by_cuts, graphical_sequences(size))


def degrees_of(point: np.ndarray, size: int) -> np.ndarray:
    """Return falling degrees (n,) of a point of `graphical_sequence`."""
    return np.asarray(np.rint(point[:-1]).astype(np.int64).reshape(size, size - 1).sum(axis=1))


@pytest.mark.parametrize("seed", range(6))
def test_the_exact_program_finds_the_nearest_of_all_sequences(seed: int) -> None:
    """GS-5, and the bound GS-7 of the fast method."""
    size = 5 + seed % 2
    values = noisy_degrees(np.random.default_rng(seed), size).astype(np.float64)
    best = float(((graphical_sequences(size) - values) ** 2).sum(axis=1).min())
    program = graphical_sequence(values).linear
    point = solution("highs", program)
    exact = degrees_of(point, size)
    assert is_graphical(exact)
    assert float(((exact - values) ** 2).sum()) == pytest.approx(best)
    assert 2 * program.evaluate(point) + values @ values == pytest.approx(best)
    fast = nearest_graphical(values[::-1])
    assert fast.lower_bound <= best + 1e-6
    assert fast.squared_distance >= best - 1e-9


@pytest.mark.parametrize("seed", range(40))
def test_one_stretch_changes_the_parity_in_the_cheapest_way(seed: int) -> None:
    """GS-8, against all sequences of the other parity."""
    generator = np.random.default_rng(seed)
    values = generator.integers(-4, 20, 6) / 4
    best = np.clip(np.floor(isotonic(values[::-1]) + 0.5), 0, 5).astype(np.int64)[::-1]
    others = falling_sequences(6)
    others = others[others.sum(axis=1) % 2 != best.sum() % 2]
    least = float(((others - values) ** 2).sum(axis=1).min())
    costs, firsts, ends, signs = parity_changes(best.astype(np.float64), values)
    change = int(np.argmin(costs))
    sensitivity = best.copy()
    sensitivity[firsts[change] : ends[change]] += signs[change]
    assert (np.diff(sensitivity) <= 0).all()
    assert float(((sensitivity - values) ** 2).sum()) == pytest.approx(least)
    assert float(((best - values) ** 2).sum()) + costs[change] == pytest.approx(least)


def test_the_worked_example_of_the_page() -> None:
    values = np.array([4.0, 4.0, 1.0, 1.0, 0.0])
    found = solution("clarabel", graphical_relaxation(values).program)
    np.testing.assert_allclose(found[:5], [3.2, 3.2, 1.8, 1.8, 0.8], atol=1e-3)
    exact = degrees_of(solution("highs", graphical_sequence(values).linear), 5)
    fast = nearest_graphical(values[::-1])
    np.testing.assert_array_equal(fast.degrees, [1, 2, 2, 3, 4])
    assert float(((exact - values) ** 2).sum()) == pytest.approx(fast.squared_distance)
    assert fast.squared_distance == 4
    assert fast.lower_bound == pytest.approx(4)
    np.testing.assert_array_equal(fast.cuts, [[2, 2]])


def test_the_degree_of_one_node_is_a_program_too() -> None:
    assert graphical_sequence(np.zeros(1)).linear.number_of_variables == 1


INSTANCES = json.loads((MODELS / "interval_partition" / "known_optima.json").read_text())["instances"]
BY = pytest.mark.parametrize("by", ["error", "depth"])
EACH = pytest.mark.parametrize("instance", INSTANCES, ids=lambda one: one["name"])


def every_partition(number: int, intervals: int) -> list[np.ndarray]:
    return [np.array((0, *cuts, number)) for cuts in combinations(range(1, number), intervals - 1)]


def cost(values: np.ndarray | list[float], places: np.ndarray, *, by_depth: bool) -> float:
    """Return what IV-1 minimizes: the squared error, or by depth the sum of squared totals."""
    if not by_depth:
        return partition_cost(values, places)
    return float((np.add.reduceat(np.asarray(values), places[:-1]) ** 2).sum())


def solved(values: list[float], intervals: int, *, by_depth: bool) -> tuple[float, np.ndarray]:
    program = interval_partition(values, intervals, by_depth=by_depth).linear
    point = solution("highs", program)
    return program.evaluate(point), point


@BY
@EACH
def test_the_program_and_the_recursion_find_the_known_optimum(instance: dict[str, object], by: str) -> None:
    """IV-1, IV-2 and IV-6 on the frozen instances; the vertex of the program is a path."""
    values, intervals, depth = instance["values"], instance["intervals"], by == "depth"
    assert isinstance(values, list)
    assert isinstance(intervals, int)
    known = instance[by]
    assert isinstance(known, dict)
    places = best_intervals(values, intervals, by_depth=depth)
    assert cost(values, places, by_depth=depth) == pytest.approx(known["optimum"], abs=1e-6)
    ends = np.array([0, *known["ends"]])
    assert cost(values, ends, by_depth=depth) == pytest.approx(known["optimum"], abs=1e-6)
    objective, solution = solved(values, intervals, by_depth=depth)
    assert objective == pytest.approx(known["optimum"], abs=1e-6)
    arcs = np.stack(interval_arcs(len(values), intervals))[:, solution > 0.5]
    first, last, _ = arcs[:, np.argsort(arcs[2])]
    assert first[1:].tolist() == last[:-1].tolist()
    path = np.append(first, len(values))
    assert cost(values, path, by_depth=depth) == pytest.approx(known["optimum"], abs=1e-6)


@BY
def test_no_partition_is_better(by: str) -> None:
    generator = np.random.default_rng(3)
    for _ in range(12):
        number = int(generator.integers(3, 9))
        intervals = int(generator.integers(1, number + 1))
        values = generator.exponential(5, number).round(2)
        if by == "error":
            values -= 3.0
        depth = by == "depth"
        found = cost(values, best_intervals(values, intervals, by_depth=depth), by_depth=depth)
        least = min(cost(values, places, by_depth=depth) for places in every_partition(number, intervals))
        assert found == pytest.approx(least, abs=1e-9)


def test_costs_are_those_of_their_definition_and_grow_with_the_interval() -> None:
    """IV-3, IV-4, IV-5."""
    values = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0])
    by_error, by_depth = interval_costs(values), interval_costs(values, by_depth=True)
    for start, stop in combinations(range(values.size + 1), 2):
        part = values[start:stop]
        assert by_error[start, stop] == pytest.approx(((part - part.mean()) ** 2).sum(), abs=1e-9)
        assert by_depth[start, stop] == pytest.approx(part.sum() ** 2)
    for costs in (by_error, by_depth):
        for stop in range(2, values.size + 1):
            assert all(longer >= shorter - 1e-9 for longer, shorter in pairwise(costs[:stop, stop]))


def test_large_counts_keep_their_digits() -> None:
    """By error, the same cuts whatever is added to all counts."""
    values = np.array([1.0, 2.0, 9.0, 8.0, 7.0, 0.0])
    assert best_intervals(values + 1e9, 3).tolist() == best_intervals(values, 3).tolist() == [0, 2, 5, 6]


def test_a_thousand_bins_are_cut_where_their_steps_are() -> None:
    steps = np.repeat([5.0, 1.0, 8.0, 2.0], [100, 300, 200, 424])
    assert best_intervals(steps, 4).tolist() == [0, 100, 400, 600, 1024]


@pytest.mark.parametrize(
    ("values", "intervals", "by_depth", "message"),
    [
        ([1.0, 2.0], 3, False, "3 intervals for 2 bins"),
        ([1.0, 2.0], 0, False, "0 intervals"),
        ([], 1, False, "finite numbers in one row"),
        ([1.0, float("nan")], 1, False, "finite numbers"),
        ([1.0, -1.0], 1, True, "no value may be negative"),
        (np.zeros(MOST_BINS + 1), 2, False, "at most 65,536 bins"),
    ],
)
def test_what_has_no_partition_is_refused(values: list[float], intervals: int, by_depth: bool, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        best_intervals(values, intervals, by_depth=by_depth)


ONES = np.ones(7)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: tree_consistency(WORKED, np.ones(6), ONES, nonnegative=True).program, "7 nodes"),
        (lambda: whole_tree_consistency(WORKED, ONES, -ONES, 4).linear, "at least 0"),
        (lambda: whole_tree_consistency(WORKED, ONES, ONES, 0).linear, "found 0"),
        (lambda: isotonic_regression(np.array([]), np.array([])).program, "weights"),
        (lambda: isotonic_regression(np.array([1.0]), np.array([1.0, 2.0])).program, "weights"),
        (lambda: isotonic_regression(np.array([1.0, 2.0]), np.array([1.0, 0.0])).program, "weights"),
        (lambda: isotonic_regression(np.ones(2), np.ones(2), lower=2.0, upper=1.0).program, "variable"),
        (lambda: graphical_relaxation(np.zeros(0)).program, "one row"),
        (lambda: graphical_relaxation(np.zeros((2, 2))).program, "one row"),
        (lambda: graphical_sequence(np.zeros(0)).linear, "one row"),
        (lambda: graphical_sequence(np.zeros((2, 2))).linear, "one row"),
        (lambda: interval_arcs(4, 5), "5 intervals"),
        (lambda: interval_arcs(1000, 100), "variables"),
        (lambda: partition_cost([1.0, 2.0], np.array([0, 2, 1])), "increasing"),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], object], says: str) -> None:
    with pytest.raises(ProgramError, match=says):
        call()


@pytest.mark.parametrize("total", [None, 40.0])
@pytest.mark.parametrize(
    ("shape", "levels"),
    [
        ((8, 8), [(0, 0), (1, 1), (2, 3)]),
        ((5, 7), [(0, 0), (1, 0), (0, 2), (2, 2)]),
        ((6, 3, 2), [(0, 0, 0), (1, 1, 1), (0, 2, 1)]),
        ((4,), [(0,)]),
        ((1, 1), [(0, 0)]),
    ],
)
def test_tc_10_and_tc_11_hold_blocks_of_a_grid_together(
    shape: tuple[int, ...], levels: list[tuple[int, ...]], total: float | None
) -> None:
    """The closed form is certified by its duals; without negative cells a solver finds what a tree of the same blocks has."""
    generator = np.random.default_rng(3)
    noisy = {level: 3 * generator.normal(size=blocks_shape(shape, level)) for level in levels}
    precisions = {level: float(generator.uniform(0.1, 3)) for level in levels}
    model = grid_consistency(shape, noisy, precisions, total=total)
    best, other = model.solve(), model.solve("clarabel")
    assert best.termination is other.termination is Termination.OPTIMAL
    assert best.certificate is not None
    assert best.certificate.proven_gap is not None
    assert abs(float(best.certificate.proven_gap)) <= 1e-9 * max(1.0, float(best.certificate.objective))
    assert other.objective == pytest.approx(best.objective, rel=1e-6, abs=1e-9)
    expected = grid_least_squares(shape, noisy, precisions, total=total)
    np.testing.assert_allclose(best.value["x"], expected, atol=1e-9)
    positive = grid_consistency(shape, noisy, precisions, total=total, nonnegative=True).solve()
    assert positive.termination is Termination.OPTIMAL
    assert positive.value["x"].min() >= 0
    assert best.objective is not None
    assert positive.objective is not None
    assert positive.objective >= best.objective * (1 - 1e-7)
    if total is not None:
        assert positive.value["x"].sum() == pytest.approx(total, abs=1e-5)


def test_tc_10_of_one_column_is_tc_1() -> None:
    generator = np.random.default_rng(4)
    levels: list[tuple[int, ...]] = [(0,), (1,), (2,), (3,)]
    noisy = {level: 5 * generator.normal(size=blocks_shape((8,), level)) for level in levels}
    values = np.concatenate([noisy[level] for level in reversed(levels)])
    for nonnegative in (False, True):
        grid = grid_consistency((8,), noisy, dict.fromkeys(levels, 0.5), nonnegative=nonnegative)
        tree = tree_consistency(Tree.balanced(8, 2), values, np.full(15, 2.0), nonnegative=nonnegative)
        assert grid.solve("clarabel").objective == pytest.approx(tree.solve().objective, rel=1e-7)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_tc_4_multipliers_of_known_nodes_prove_the_closed_form(*, nonnegative: bool) -> None:
    generator = np.random.default_rng(5)
    for _ in range(30):
        tree = Tree.balanced(int(generator.integers(2, 30)), int(generator.integers(2, 5)))
        variances = generator.choice([0.01, 1.0, 1e4], len(tree))
        whole = tree.totals(generator.poisson(2, tree.bins).astype(np.float64))
        known = generator.random(len(tree)) < 0.2
        known[0] = True
        variances[known] = 0.0
        values = np.where(known, whole, whole + generator.normal(size=len(tree)) * np.sqrt(variances))
        found = tree_consistency(tree, values, variances, nonnegative=nonnegative).solve()
        assert found.termination is Termination.OPTIMAL
        assert found.certificate is not None
        assert found.certificate.proven_gap is not None
        assert float(found.certificate.proven_gap) <= 1e-5 * max(1.0, float(found.certificate.objective))


def test_a_grid_without_single_cells_is_no_model() -> None:
    with pytest.raises(ProgramError, match="single cells"):
        grid_consistency((4,), {(1,): np.zeros(2)}, {(1,): 1.0})
    with pytest.raises(ProgramError, match="single cells"):
        grid_consistency((4,), {(0,): np.zeros(3)}, {(0,): 1.0})


@pytest.mark.parametrize("total", [0, 3, 6, 9, 12])
def test_ir_7_proves_a_total_that_leaves_every_entry_at_a_bound(total: int) -> None:
    """Four entries from 0 to 3, far apart: with these totals all of them are 0 or 3."""
    model = isotonic_regression([-9.0, -5.0, 6.0, 20.0], lower=0, upper=3, total=total)
    found = model.solve()
    assert found.termination is Termination.OPTIMAL
    assert found.certificate is not None
    assert found.certificate.proven_gap is not None
    assert abs(float(found.certificate.proven_gap)) <= 1e-9
    assert model.solve("clarabel").objective == pytest.approx(found.objective, rel=1e-6)
