"""NA-1 to NA-7: the predicted error is that of least squares, the shares are optimal, and what is said of them is so."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import replace
from functools import reduce
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError
from dpopt.models.noise_budgets.noise_allocation import (
    Allocation,
    AllocationProgram,
    allocate_noise,
    allocation_program,
    solve_allocation,
)
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains
from tests.models.catalogue import MODELS

WORKED = {"rho": 0.5, "moved": 1, "size": 4, "signal": 0.25}


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
    moved: int,
) -> list[float]:
    """Return the total variance of each marginal of the workload by least squares on the whole table, its total known.

    Marginal A has noise of variance moved / (2 rho s_A); component B of the table has the prior precision kappa_B in each
    dimension. Dense linear algebra, without any formula of the page.
    """
    rows, weights = [], []
    for marginal, share, prior in zip(sets_of(program.candidates), shares, program.prior, strict=True):
        rows.append(matrix_of(sizes, marginal, np.eye, ones))
        weights.append(2 * rho * share / moved)
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
    problem: tuple[list[int], list[tuple[int, ...]]], seed: int, moved: int
) -> None:
    sizes, workload = problem
    program = allocation_program(marginal_set(sizes, workload), rho=0.1, size=20, moved=moved, signal=0.3)
    shares = np.random.default_rng(seed).dirichlet(np.ones(program.prior.size))
    expected = least_squares_error(sizes, workload, program, shares, rho=0.1, moved=moved)
    assert program.squared_error(shares) == pytest.approx(sum(expected), rel=1e-5)
    cells = [float(np.prod([sizes[a] for a in marginal])) for marginal in workload]
    weighted = sum(error / sqrt(number) for error, number in zip(expected, cells, strict=True))
    assert program.objective(shares) == pytest.approx(weighted, rel=1e-5)


@given(problems())
def test_na_2_candidates_are_all_subsets_each_once(problem: tuple[list[int], list[tuple[int, ...]]]) -> None:
    sizes, workload = problem
    program = allocation_program(marginal_set(sizes, workload), rho=1.0, size=9, moved=1, signal=0.5)
    expected = {
        one for marginal in workload for k in range(1, 4) for one in combinations(sorted(marginal), k)
    }
    assert sets_of(program.candidates) == sorted(expected, key=lambda one: (len(one), one))
    assert program.cells == sum(int(np.prod([sizes[a] for a in marginal])) for marginal in workload)


def test_na_5_the_prior_of_a_component_shrinks_with_its_attributes() -> None:
    program = allocation_program(marginal_set([3, 5], [(0, 1)]), rho=1.0, size=10, moved=1, signal=0.5)
    assert program.prior.tolist() == pytest.approx([2 / 50, 4 / 50, 8 / 25])


@settings(max_examples=60, deadline=None)
@given(problems(), st.floats(-5, 1), st.integers(1, 10**5), st.floats(0.02, 1.0))
def test_na_6_steps_never_go_up_and_na_7_bounds_every_other_choice(
    problem: tuple[list[int], list[tuple[int, ...]]], log_rho: float, size: int, signal: float
) -> None:
    sizes, workload = problem
    program = allocation_program(
        marginal_set(sizes, workload), rho=10**log_rho, size=size, moved=1, signal=signal
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
    others = [
        *np.eye(shares.size),
        *rng.dirichlet(np.ones(shares.size), 20),
        *rng.dirichlet(best * 50 + 1e-3, 20),
    ]
    assert min(program.objective(other) for other in others) >= bound * (1 - 1e-9)


def test_na_6_slopes_are_derivatives() -> None:
    program = allocation_program(marginal_set([2, 3, 4], [(0, 1, 2)]), rho=0.2, size=30, moved=2, signal=0.4)
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
    import json

    names = ("supersets", "components", "gains", "costs", "prior")
    return json.dumps({name: getattr(program, name).tolist() for name in names})


@pytest.mark.solver("clarabel")
def test_the_shares_are_those_of_an_interior_point_method() -> None:
    """CVXPY with Clarabel, in a process of its own: the same optimum, on the scale of hand-made and of real workloads."""
    programs = []
    rng = np.random.default_rng(8)
    for sizes, width, number in (
        ([2, 3, 4, 5], 3, 4),
        ([9, 16, 7, 15, 6, 5, 2, 42], 3, 20),
        ([4] * 12, 2, 40),
    ):
        sets = list(combinations(range(len(sizes)), width))
        chosen = [sets[i] for i in rng.choice(len(sets), min(number, len(sets)), replace=False)]
        for rho, size in ((0.5, 30), (2e-4, 48_842), (0.01, 48_842)):
            marginals = marginal_set(sizes, chosen)
            programs.append(allocation_program(marginals, rho=rho, size=size, moved=2, signal=0.2))
    command = [sys.executable, "-c", REFERENCE]
    lines = "\n".join(map(text_of, programs))
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr  # it may warn that its answer is inexact
    optima = [float(line) for line in done.stdout.split()]
    found = [program.objective(solve_allocation(program)) for program in programs]
    assert found == pytest.approx(optima, rel=1e-5)


def test_the_worked_example_of_the_page() -> None:
    """Two attributes of three codes: .43 for each of them, .14 for both together."""
    marginals = marginal_set([3, 3], [(0, 1)])
    found = allocate_noise(marginals, **WORKED)  # type: ignore[arg-type]
    assert sets_of(found.marginals.attributes) == [(0,), (1,), (0, 1)]
    x = 7.5 - 5 * sqrt(2)
    assert found.shares.tolist() == pytest.approx([x, x, 1 - 2 * x], abs=1e-3)
    assert found.predicted_mean_squared_error * 9 * 16 == pytest.approx(1.2 + 0.8 * sqrt(2), rel=1e-5)
    assert found.gap <= 1e-5
    alone = replace_shares(marginals, [0.0, 0.0, 1.0])
    assert alone == pytest.approx(2.4 / 3)


def replace_shares(marginals: MarginalSet, shares: list[float]) -> float:
    program = allocation_program(marginals, **WORKED)  # type: ignore[arg-type]
    return program.objective(np.array(shares))


@pytest.mark.solver("cbc")
def test_the_textbook_finds_the_same_optimum() -> None:
    examples: list[tuple[list[int], list[tuple[int, ...]], float, int, int, float]] = [
        ([3, 3], [(0, 1)], 0.5, 1, 4, 0.25),
        ([2, 3, 4], [(0, 1), (1, 2)], 0.05, 2, 20, 0.3),
        ([2, 5, 3], [(0, 1, 2)], 0.01, 1, 100, 0.2),
    ]
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from noise_allocation_textbook import *\n"
        "print([WORKED_EXAMPLE, *[solve(*one) for one in eval(sys.argv[2])]])"
    )
    command = [sys.executable, "-c", code, str(MODELS / "noise_allocation"), repr(examples)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    worked, *answers = ast.literal_eval(done.stdout)
    assert worked == examples[0]
    for (sizes, workload, rho, moved, n, theta), (predicted, shares) in zip(examples, answers, strict=True):
        program = allocation_program(
            marginal_set(sizes, workload), rho=rho, size=n, moved=moved, signal=theta
        )
        assert predicted == pytest.approx(program.objective(solve_allocation(program)), rel=1e-5)
        assert list(shares) == sets_of(program.candidates)


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
    program = allocation_program(marginals, rho=10**log_rho, size=size, moved=1, signal=0.2)
    places = [sets_of(program.candidates).index(one) for one in sets_of(found.marginals.attributes)]
    assert places == sorted(places)
    shares = np.zeros(program.prior.size)
    shares[places] = found.shares
    predicted = program.squared_error(shares) / (program.cells * size**2)
    assert found.predicted_mean_squared_error == pytest.approx(predicted)
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
    one = allocate_noise(workload, rho=0.01, size=100, moved=1)
    two = allocate_noise(workload, rho=0.02, size=100, moved=2)
    assert one.shares.tolist() == two.shares.tolist()
    assert one.predicted_mean_squared_error == two.predicted_mean_squared_error


def test_attributes_of_one_value_take_no_budget_from_others() -> None:
    """The marginals with and without such an attribute are the same table; nothing breaks down."""
    found = allocate_noise(marginal_set([1, 4], [(0, 1), (0,)]), rho=0.1, size=50)
    alone = allocate_noise(marginal_set([1, 4], [(1,)]), rho=0.1, size=50)
    measured = [one for one in sets_of(found.marginals.attributes) if 1 in one]
    assert measured
    total = found.predicted_mean_squared_error * 5
    assert total == pytest.approx(alone.predicted_mean_squared_error * 4, rel=1e-3)


def test_a_single_marginal_over_constants_is_measured_all_the_same() -> None:
    found = allocate_noise(marginal_set([1, 1], [(0, 1)]), rho=0.1, size=50)
    assert found.predicted_mean_squared_error == 0
    assert found.shares.sum() == pytest.approx(1)


WORKLOAD = marginal_set([3, 3], [(0, 1)])


@pytest.mark.parametrize(
    "change",
    [
        {"rho": 0.0},
        {"rho": np.inf},
        {"rho": np.nan},
        {"size": 0},
        {"moved": 3},
        {"signal": 0.0},
        {"signal": 1.5},
    ],
)
def test_numbers_out_of_range_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ProgramError, match="noise allocation: found"):
        allocate_noise(WORKLOAD, **{"rho": 1.0, "size": 10, **change})


def test_no_marginal_and_too_many_subsets_are_refused() -> None:
    with pytest.raises(ProgramError, match="found no marginal"):
        allocate_noise(WORKLOAD.take([]), rho=1.0, size=10)
    with pytest.raises(ProgramError, match="more than 4,194,304 subsets"):
        allocate_noise(marginal_set([2] * 24, [tuple(range(24))]), rho=1.0, size=10)


@pytest.mark.parametrize("shares", [[0.5], [0.5, 0.0], [0.5, 0.4], [1.5, -0.5]])
def test_an_allocation_whose_shares_do_not_add_up_is_refused(shares: list[float]) -> None:
    marginals = marginal_set([3, 3], [(0,), (1,)])
    with pytest.raises(ProgramError, match="an allocation"):
        Allocation(marginals, freeze(np.array(shares)), 0.0, 0.0)


def test_allocations_keep_their_arrays() -> None:
    found = allocate_noise(WORKLOAD, rho=1.0, size=10)
    assert replace(found, gap=0.5).shares is found.shares
    assert not found.shares.flags.writeable
