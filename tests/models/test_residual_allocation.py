"""Residual allocation: the errors of the dense least squares, its optimum, its proof, and what is planned from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.errors import ProgramError, WorkloadError
from dpopt.models.noise_budgets.noise_allocation import allocation_program, solve_allocation
from dpopt.models.noise_budgets.residual_allocation import (
    ResidualPrior,
    ResidualProgram,
    residual_allocation,
    residual_program,
    solve_residuals,
)
from dpopt.queries.residuals import cell_variances, subsets_of
from tests.models.test_noise_budgets import marginal_set, problems

Workload = list[tuple[int, ...]]
SIZES, WORKLOAD = [3, 2, 4, 2], [(0, 1, 2), (1, 3), (2, 3), (2,)]
ADULT = [9, 16, 7, 15, 6, 5, 2, 42, 2, 10, 13, 6, 10]


def mixed(program: ResidualProgram, seed: int, scales: int = 3) -> ResidualProgram:
    """Return the program with a random prior and something known."""
    rng, number = np.random.default_rng(seed), program.prices.size
    variances = np.exp(rng.normal(0, 2, (number, scales)))
    chances = rng.dirichlet(np.ones(scales), number)
    chances[0] = np.eye(scales)[0]
    return replace(program, prior=ResidualPrior(variances, chances), known=rng.choice([0.0, 0.1, 2.0], number))


def feasible(program: ResidualProgram, seed: int, number: int = 40) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    shares = [
        *np.eye(program.prices.size) * 0.99 + 0.01 / program.prices.size,
        *rng.dirichlet(np.ones(program.prices.size), number),
    ]
    return [program.budget * one / program.prices for one in shares]


@settings(max_examples=30, deadline=None)
@given(problems(), st.integers(0, 10**6))
def test_ra_3_errors_are_variances_of_plain_least_squares(problem: tuple[list[int], Workload], seed: int) -> None:
    marginals = marginal_set(*problem)
    program = residual_program(marginals, rho=0.3)
    x = np.random.default_rng(seed).uniform(0.1, 9, program.prices.size)
    expected = cell_variances(program.sets, 1 / x, marginals) * marginals.cells()
    assert program.errors(x) == pytest.approx(expected)
    assert program.objective(x) == pytest.approx(expected.sum())


def test_ra_3_errors_with_a_prior_are_those_of_posterior_means() -> None:
    """By simulation: 40,000 residuals of 4 dimensions from a mixture of known variances, each mean shrunken by its own."""
    program = residual_program(
        marginal_set([3, 3], [(0, 1)]), rho=0.5, prior=prior_of([0.5, 4.0], 3), known=[0, 0, 0.25]
    )
    rng, x, known = np.random.default_rng(4), 1.5, 0.25
    v = np.repeat(rng.choice([0.5, 4.0], 40_000), 4)
    r = rng.normal(0, np.sqrt(v))
    first, second = rng.normal(r, known**-0.5), rng.normal(r, x**-0.5)
    estimate = (known * first + x * second) / (known + x + 1 / v)
    found = program.moments(np.array([1.0, 1.0, x]), 1)[2]
    # The squared errors of 160,000 numbers have a deviation below 1.5 times their mean: 5 deviations are 2 %.
    assert np.mean((estimate - r) ** 2) == pytest.approx(found, rel=0.02)


def prior_of(variances: list[float], sets: int) -> ResidualPrior:
    return ResidualPrior(np.tile(variances, (sets, 1)), np.full((sets, len(variances)), 1 / len(variances)))


@settings(max_examples=30, deadline=None)
@given(problems(), st.floats(-4, 3), st.integers(0, 10**6))
def test_ra_1_ra_2_ra_5_ra_6_the_optimum_is_proven_and_nothing_feasible_is_below(
    problem: tuple[list[int], Workload], log_rho: float, seed: int
) -> None:
    """RA-1, RA-2, RA-5 and RA-6."""
    plain = residual_program(marginal_set(*problem), rho=10**log_rho)
    for program in (plain, mixed(plain, seed)):
        best, bound, _ = solve_residuals(program)
        assert (best >= 0).all()
        assert program.prices @ best == pytest.approx(program.budget, rel=1e-12)
        assert program.objective(best) * (1 - 1e-9) <= bound <= program.objective(best) * (1 + 1e-12)
        others = feasible(program, seed)
        assert min(program.objective(other) for other in others) >= bound * (1 - 1e-12)
        assert max(program.lower_bound(other) for other in others) <= program.objective(best) * (1 + 1e-9)


def test_ra_5_without_a_prior_is_a_closed_form() -> None:
    program = residual_program(marginal_set(ADULT, list(combinations(range(13), 3))), rho=0.05)
    best, _, _ = solve_residuals(program)
    closed = np.sqrt(program.costs / program.prices)
    assert best == pytest.approx(closed * program.budget / (closed @ program.prices), rel=1e-9)
    least = np.sqrt(program.costs * program.prices).sum() ** 2 / program.budget
    assert program.objective(best) == pytest.approx(least, rel=1e-12)


@pytest.mark.parametrize("workload", [WORKLOAD, [(0, 1)], [(0,), (0, 3), (1, 2)]])
def test_no_linear_gaussian_mechanism_does_better_by_the_singular_values(workload: Workload) -> None:
    """Of the workload as a dense matrix with weighted rows, constant answers left out."""
    marginals = marginal_set(SIZES, workload)
    weights = np.random.default_rng(2).uniform(0.2, 5, len(workload))
    records = np.indices(SIZES).reshape(len(SIZES), -1)
    rows = []
    for one, weight in zip(workload, weights, strict=True):
        cells = np.ravel_multi_index([records[a] for a in one], [SIZES[a] for a in one])
        rows.append(np.sqrt(weight) * (cells == np.arange(cells.max() + 1)[:, None]))
    matrix = np.vstack(rows)
    matrix -= matrix.mean(axis=1, keepdims=True)
    rho = 0.2
    bound = np.linalg.svd(matrix, compute_uv=False).sum() ** 2 / np.prod(SIZES) / (2 * rho)
    program = residual_program(marginals, rho=rho, weights=weights)
    assert program.objective(solve_residuals(program)[0]) == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize(("sizes", "order", "less"), [(ADULT, 3, 0.0796), ([2] * 20, 3, 0.3708), ([2] * 20, 2, 0.3062)])
def test_residuals_need_less_noise_than_the_best_shares_of_marginals(sizes: list[int], order: int, less: float) -> None:
    marginals = marginal_set(sizes, list(combinations(range(len(sizes)), order)))
    program = allocation_program(marginals, rho=0.05, size=10**6, sensitivity=1, signal=1.0)
    sets, whole = program.candidates, program.candidates.widths() == order
    dimensions = np.where(sets.attributes >= 0, np.array(sizes)[sets.attributes] - 1.0, 1.0).prod(axis=1)
    each = program.gains / (2 * 0.05) * whole[program.supersets]  # all cells of the workload, of equal weight
    errors = dimensions * np.bincount(program.components, each, len(sets))
    program = replace(program, costs=errors, prior=np.full_like(program.prior, 1e-30))
    shares = program.objective(solve_allocation(program))
    residuals = residual_program(marginals, rho=0.05)
    found = residuals.errors(solve_residuals(residuals)[0])
    assert 1 - np.sqrt(found.sum() / shares) == pytest.approx(less, abs=2e-4)


@settings(max_examples=4, deadline=None)
@given(problems(), st.integers(0, 10**6))
def test_ra_4_the_largest_error_is_within_a_proven_gap(problem: tuple[list[int], Workload], seed: int) -> None:
    marginals = marginal_set(*problem)
    program = mixed(residual_program(marginals, rho=0.3, weights=1 / marginals.cells()), seed)
    best, bound, pulls = solve_residuals(program, largest=True)
    value = (program.weights * program.errors(best)).max()
    assert value * (1 - 2e-4) <= bound <= value * (1 + 1e-12)
    assert pulls.sum() == pytest.approx(1)
    for other in feasible(program, seed):
        assert (program.weights * program.errors(other)).max() >= bound * (1 - 1e-12)


@pytest.mark.solver("clarabel")
@pytest.mark.parametrize("largest", [False, True])
def test_a_solver_of_cones_finds_the_same(largest: bool) -> None:
    triples = [*combinations(range(6), 3)]
    for rho, size in ((0.05, 48_842), (1e-4, 5_000)):
        model = residual_allocation(ADULT[:6], triples, rho, size=size, largest=largest)
        own, found = model.solve(), model.solve("clarabel")
        assert found.objective == pytest.approx(own.objective, rel=2e-4 if largest else 1e-5)
        assert found.value["b"] == pytest.approx(own.value["b"], abs=2e-2)


def test_a_poor_budget_buys_few_attributes_and_what_is_not_worth_its_cost_is_not_measured() -> None:
    marginals = marginal_set(ADULT, list(combinations(range(13), 3)))
    orders, sets = [], []
    for rho in (1e-7, 1e-4, 0.1, 1e3):
        program = residual_program(marginals, rho=rho, prior=48_842.0)
        precisions = solve_residuals(program)[0]
        spent = precisions * program.prices
        orders.append(float(program.sets.widths() @ spent / spent.sum()))
        sets.append(np.count_nonzero(precisions))
    assert orders == sorted(orders)
    assert sets == sorted(sets)
    assert orders[0] < 1.2
    assert sets[0] < 20
    assert sets[-1] == 377


def test_what_is_known_is_not_bought_again() -> None:
    marginals = marginal_set([3, 3], [(0, 1)])
    program = residual_program(marginals, rho=0.5, known=[100.0, 0.0, 0.0])
    bought = np.flatnonzero(solve_residuals(program)[0])
    assert [program.sets.attributes_of(place) for place in bought.tolist()] == [(1,), (0, 1)]


def test_the_public_prior_follows_records_cells_and_order() -> None:
    sets = subsets_of(marginal_set([4, 5, 2, 3], [(0, 1, 2, 3)]))[0]
    one, ten = ResidualPrior.public(sets, 100.0), ResidualPrior.public(sets, 1000.0)
    assert ten.variances == pytest.approx(100 * one.variances)
    assert one.variances[0] == pytest.approx((np.array([0.21, 0.62, 0.81, 1.3, 2.5]) * 25) ** 2 / 0.75)
    relative = np.sqrt(one.variances.mean(axis=1)) * sets.cells()
    assert relative[sets.widths() == 1].min() > relative[sets.widths() == 2].max()
    assert relative[sets.widths() == 2].min() > relative[sets.widths() == 3].max()


MARGINALS = marginal_set(SIZES, WORKLOAD)
allocated = partial(residual_program, MARGINALS, rho=0.1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        *((partial(allocated, rho=rho), ProgramError, "rho above 0") for rho in (0.0, np.inf, np.nan)),
        (partial(residual_program, MARGINALS.take([]), rho=1.0), ProgramError, "at least one"),
        (partial(allocated, weights=[1.0, 2.0]), ProgramError, "one for each"),
        (partial(allocated, weights=0.0), ProgramError, "above 0"),
        (partial(allocated, known=-1.0), ProgramError, "at least 0"),
        (partial(allocated, known=[1.0] * 3), ProgramError, "one for each"),
        (partial(allocated, prior=prior_of([1.0], 3)), ProgramError, "a prior of 3 residuals"),
        (partial(prior_of, [0.0], 2), ProgramError, "above 0"),
        (partial(ResidualPrior, np.ones((2, 2)), np.ones((2, 2))), ProgramError, "add up to 1"),
        (partial(residual_allocation, [3], [[1]], 1.0), ProgramError, "attributes below 1"),
        (partial(residual_allocation, [1], [[0]], 1.0), ProgramError, "at least 2 codes"),
        (partial(residual_allocation, [3], [[0]], 1.0, variances=[1.0], size=9), ProgramError, "one of the two"),
        (partial(residual_allocation, [2, -3], [[0, 1]], 1.0), ProgramError, "sizes from 1"),
        (partial(subsets_of, marginal_set([2] * 24, [tuple(range(24))])), WorkloadError, "fewer or smaller"),
    ],
)
def test_what_makes_no_sense_is_refused(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_ra_3_a_residual_is_spread_over_uneven_codes_as_records_are() -> None:
    """The error of a product of marginals: noise on one of them, times the shares of the other."""
    sizes, shares = (3, 4), np.array([0.7, 0.1, 0.1, 0.1])
    marginals = marginal_set(list(sizes), [(0, 1)])
    uneven = np.array([1.0, 4 * (shares**2).sum()])
    program = residual_program(marginals, rho=0.5, unevenness=uneven)
    noise = np.random.default_rng(0).normal(size=(20_000, 3))
    noise -= noise.mean(axis=1, keepdims=True)
    exact = float((np.einsum("ni,j->nij", noise, shares) ** 2).sum(axis=(1, 2)).mean())
    own = [program.sets.attributes_of(place) for place in range(3)]
    assert own == [(0,), (1,), (0, 1)]
    np.testing.assert_allclose(program.spreads[own.index((0,))], exact, rtol=0.03)
    np.testing.assert_allclose(program.spreads, [2 * 0.52, 3 / 3, 6])
