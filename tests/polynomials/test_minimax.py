"""Best approximations and least degrees: closed facts, known tables, brute force, and proofs that no solver can change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest

from dpopt.errors import NoSolutionError, PolynomialError, ProgramError, SolverUnavailableError
from dpopt.polynomials import (
    Target,
    best_polynomial,
    least_coefficients,
    least_degree,
    solver_answer,
    verify,
    verify_least_degree,
)
from dpopt.polynomials.certificates import Witness, lower_bound
from dpopt.polynomials.exact_optimum import ExactProgram
from dpopt.polynomials.minimax import (
    ERRORS,
    degree_table,
    exchange,
    level,
    levelled_optimum,
    minimax_problem,
    spread_reference,
)
from dpopt.polynomials.solver_answers import linear_solvers
from dpopt.programs import Availability, AvailabilityStatus, Capability, Termination
from dpopt.programs.results import NO_LIMITS, Point, SolveLimits, SolveResult
from dpopt.programs.solver import Program


def program(seed: int) -> tuple[list[Fraction], list[list[Fraction]], list[Fraction]]:
    generator = np.random.default_rng(seed)
    rows, variables = (int(one) for one in generator.integers(1, 9, 2))

    def numbers(low: int, size: int) -> list[Fraction]:
        return [
            Fraction(int(a), int(b))
            for a, b in zip(generator.integers(low, 6, size), generator.integers(1, 5, size), strict=True)
        ]

    return numbers(0, variables), [numbers(-5, variables) for _ in range(rows)], numbers(-5, rows)


@pytest.mark.parametrize("seed", range(60))
def test_the_optimum_is_that_of_highs_and_proves_itself(seed: int) -> None:
    from scipy.optimize import linprog

    cost, rows, right = program(seed)
    answer = linprog(
        [float(one) for one in cost],
        A_ub=[[-float(one) for one in row] for row in rows],
        b_ub=[-float(one) for one in right],
    )
    generator = np.random.default_rng(seed)
    for begun in range(3):
        exact = ExactProgram(cost, rows, right)
        if begun:  # anything at all
            exact.pivot_towards(generator.permutation(len(cost)).tolist(), generator.permutation(len(rows)).tolist())
        if answer.status == 2:
            with pytest.raises(NoSolutionError, match="point"):
                exact.solve()
            continue
        found = exact.solve()
        x, y = found.point, found.multipliers
        assert min(x) >= 0
        assert min(y) >= 0
        for row, b in zip(rows, right, strict=True):
            assert sum((a * one for a, one in zip(row, x, strict=True)), start=Fraction(0)) >= b
        for j, c in enumerate(cost):
            assert sum((row[j] * one for row, one in zip(rows, y, strict=True)), start=Fraction(0)) <= c
        value = sum((c * one for c, one in zip(cost, x, strict=True)), start=Fraction(0))
        assert value == sum((b * one for b, one in zip(right, y, strict=True)), start=Fraction(0))
        assert float(value) == pytest.approx(float(answer.fun or 0), abs=1e-9)


def test_a_right_guess_leaves_nothing_to_do() -> None:
    """minimize x + y subject to x + 2 y >= 4, 3 x + y >= 6: (8/5, 6/5)."""
    one = Fraction(1)
    exact = ExactProgram([one, one], [[one, 2 * one], [3 * one, one]], [4 * one, 6 * one])
    exact.pivot_towards([0, 1], [0, 1])
    found = exact.solve()
    assert (found.point, found.multipliers, found.pivots) == (
        (Fraction(8, 5), Fraction(6, 5)),
        (Fraction(2, 5), Fraction(1, 5)),
        0,
    )


# Error: the largest k for which each degree suffices (OR, the value at 0 kept); 64 stands for 64 or more.
LARGEST_WIDTHS = {
    Fraction(1, 2): {1: 3, 2: 10, 3: 21, 4: 37, 5: 58, 6: 64},
    Fraction(1, 10): dict(zip(range(1, 13), (1, 2, 4, 7, 11, 16, 22, 29, 36, 45, 54, 64), strict=True)),
    Fraction(1, 20): dict(zip(range(1, 16), (1, 2, 3, 5, 8, 11, 15, 20, 25, 30, 37, 44, 51, 59, 64), strict=True)),
    Fraction(1, 100): dict(
        zip(range(1, 21), (1, 2, 3, 4, 5, 7, 9, 12, 14, 17, 21, 25, 29, 33, 38, 43, 49, 54, 60, 64), strict=True)
    ),
}


# r, k: degrees for the errors .1, .05, .01.
AT_LEAST = {
    (2, 8): (6, 7, 8),
    (2, 16): (9, 10, 12),
    (2, 32): (13, 15, 18),
    (2, 64): (18, 21, 26),
    (3, 8): (7, 8, 8),
    (3, 16): (11, 12, 14),
    (3, 32): (16, 18, 21),
    (3, 64): (23, 25, 30),
    (4, 8): (8, 8, 8),
    (4, 16): (12, 14, 15),
    (4, 32): (18, 20, 23),
    (4, 64): (26, 29, 34),
}
LEAST_ERRORS = {
    4: (0.6, 0.2, 0.0667, 0),
    5: (0.667, 0.286, 0.111, 0.0323, 0),
    6: (0.714, 0.333, 0.143, 0.0526, 0.0159, 0),
    8: (0.778, 0.429, 0.212, 0.101, 0.0407, 0.0145, 0.0039, 0),
    16: (0.882, 0.636, 0.412, 0.253, 0.146, 0.0919, 0.0531, 0.0268, 0.0141),
    32: (0.939, 0.790, 0.613, 0.451, 0.326, 0.231, 0.157, 0.112, 0.0791),
}


@pytest.mark.parametrize("width", range(2, 13))
def test_the_closed_facts_hold_exactly(width: int) -> None:
    target = Target.disjunction(width)
    errors = [best_polynomial(target, degree).objective for degree in range(width + 1)]
    assert errors[0] == 1
    assert errors[1] == Fraction(width - 1, width + 1)
    assert errors[width - 1] == Fraction(1, 2**width - 1)
    assert errors[width] == 0
    for degree, error in enumerate(errors):
        free = best_polynomial(target, degree, free_constant=True)
        assert free.objective == error / (1 + error)
        verify(free)
    assert best_polynomial(Target.conjunction(width), width - 1).objective == Fraction(1, 2**width)


@pytest.mark.parametrize("width", LEAST_ERRORS)
def test_the_least_errors_are_the_known_ones(width: int) -> None:
    for degree, expected in enumerate(LEAST_ERRORS[width], start=1):
        found = best_polynomial(Target.disjunction(width), degree)
        verify(found)
        assert float(found.objective) == pytest.approx(expected, abs=6e-4, rel=6e-3)
        assert found.polynomial.error(found.problem.target).value == found.objective


def test_the_table_of_least_degrees_is_the_known_one_and_proved() -> None:
    """OR, k = 1..64 and four errors: each entry with its two witnesses, checked by `verify_least_degree`."""
    entries = list(degree_table("or", range(1, 65)))
    assert len(entries) == 4 * 64
    for entry in entries:
        largest = LARGEST_WIDTHS[entry.found.error_limit]
        assert entry.found.degree == min(degree for degree, width in largest.items() if entry.width <= width)
        assert entry.chebyshev is not None
        assert entry.chebyshev >= entry.found.degree
    differing = {(entry.width, entry.found.error_limit) for entry in entries if entry.chebyshev != entry.found.degree}
    assert {width for width, error in differing if error == Fraction(1, 2)} == {10}
    assert not {width for width, error in differing if error == Fraction(1, 10)}
    assert {width for width, error in differing if error == Fraction(1, 20)} == {20, 25, 37, 44, 51, 59}


@pytest.mark.parametrize("needed", [2, 3, 4])
def test_the_tables_of_at_least_r_of_k_are_the_known_ones(needed: int) -> None:
    entries = list(degree_table(f"atleast:{needed}", range(1, 65)))
    assert {entry.width for entry in entries} == set(range(needed, 65))
    found = {(entry.width, entry.found.error_limit): entry.found.degree for entry in entries}
    for (r, width), degrees in AT_LEAST.items():
        if r == needed:
            assert tuple(found[width, error] for error in ERRORS[1:]) == degrees
    assert {found[width, Fraction(1, 2)] for width in range(needed, 65)} == {0}


@pytest.mark.parametrize(("error", "degree"), [("1e-3", 26), ("1e-4", 30), ("1e-6", 38)])
def test_small_errors_follow_the_square_root_of_the_logarithm(error: str, degree: int) -> None:
    found = least_degree(Target.disjunction(64), Fraction(error), start=20)
    verify_least_degree(found)
    assert found.degree == degree


@pytest.mark.parametrize("keeps_zero", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_the_least_error_is_the_largest_levelled_error_of_all_references(seed: int, keeps_zero: bool) -> None:
    """Brute force over all references; the values are any, ties and zeros among them."""
    generator = np.random.default_rng(seed)
    width = int(generator.integers(1, 8))
    target = Target.table(generator.integers(-2, 3, width + 1).tolist())
    for degree in range(width + 1):
        found = best_polynomial(target, degree, free_constant=not keeps_zero)
        verify(found)
        number, first = (degree + 1, 1) if keeps_zero else (degree + 2, 0)
        sizes = [
            level(target, points, keeps_zero=keeps_zero).size
            for points in combinations(range(first, width + 1), number)
        ]
        assert found.objective == max(sizes, default=Fraction(0))


@pytest.mark.parametrize("width", [30, 60, 90])
@pytest.mark.parametrize("part", ["or", "and", "half", "most"])
def test_optima_are_proved_where_nearly_all_points_are_nodes(width: int, part: str) -> None:
    """Least errors down to 1e-27, which floating-point numbers do not tell from 0."""
    name = {"half": f"atleast:{width // 2}", "most": f"atleast:{5 * width // 9}"}.get(part, part)
    for degree in (width - 8, width - 4, width - 1):
        for free in (True, False):
            found = best_polynomial(Target.named(name, width), degree, free_constant=free)
            verify(found)
            assert 0 < found.objective < 1


@pytest.mark.parametrize("keeps_zero", [False, True])
def test_any_reference_to_begin_with_leads_to_the_same_optimum(keeps_zero: bool) -> None:
    target, degree = Target.at_least(3, 20), 7
    expected = best_polynomial(target, degree, free_constant=not keeps_zero).objective
    generator = np.random.default_rng(4)
    number, first = (degree + 1, 1) if keeps_zero else (degree + 2, 0)
    for _ in range(20):
        start = np.sort(generator.choice(np.arange(first, 21), number, replace=False)).tolist()
        found = levelled_optimum(target, start, keeps_zero=keeps_zero)
        assert found.size == expected
        assert lower_bound(minimax_problem(target, degree, free_constant=not keeps_zero), found.witness) == expected


@pytest.mark.parametrize("name", linear_solvers())
def test_every_linear_solver_leads_to_the_same_proof(name: str) -> None:
    for target, degree in ((Target.disjunction(12), 5), (Target.at_least(2, 12), 6), (Target.conjunction(7), 3)):
        found = best_polynomial(target, degree, solver=name)
        verify(found)
        assert found.objective == best_polynomial(target, degree).objective


@pytest.mark.parametrize("kind", ["zeros", "noise", "huge", "nan", "short", "none"])
def test_what_a_solver_says_is_judged_in_exact_arithmetic(kind: str) -> None:
    target = Target.disjunction(8)
    best = best_polynomial(target, 4)
    found = solver_answer(best.problem, Liar(kind))
    assert (found.solver, found.ended) == ("liar", "failed" if kind == "none" else "optimal")
    if kind in {"nan", "short", "none"}:
        assert (found.polynomial, found.objective) == (None, None)
        return
    assert found.polynomial is not None
    assert found.polynomial.at(0) == 0
    assert found.objective == found.polynomial.error(target).value >= best.objective


def test_a_broken_limit_is_stated() -> None:
    problem = least_coefficients(Target.disjunction(4), 2, Fraction(1, 2), (Fraction(1),) * 3, solver=None).problem
    found = solver_answer(problem, Liar("zeros"))
    assert found.objective == 0
    assert found.breach == Fraction(1, 2)  # an error of 1, where 1/2 is allowed


class Liar:
    """A solver whose answers are wrong in a way of its own choice."""

    name = "liar"
    capabilities = frozenset({Capability.LP})

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "")

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        point = LIES[self.kind](program.objective.size)  # type: ignore[union-attr]
        ended = Termination.FAILED if point is None else Termination.OPTIMAL
        objective = None if point is None else 0.0
        return SolveResult(ended, None, point, objective, None, "liar", "1", "", 0.0)


LIES: dict[str, Callable[[int], Point | None]] = {
    "zeros": np.zeros,
    "noise": lambda number: np.random.default_rng(1).normal(size=number),
    "huge": lambda number: np.full(number, 1e300),
    "nan": lambda number: np.full(number, np.nan),
    "short": lambda number: np.zeros(number - 1),
    "none": lambda number: None,
}


@pytest.mark.parametrize("kind", LIES)
def test_a_solver_that_lies_costs_time_and_nothing_else(kind: str) -> None:
    found = least_degree(Target.disjunction(16), Fraction(1, 20), solver=Liar(kind))
    verify_least_degree(found)
    assert (found.degree, found.best.objective) == (8, Fraction(35, 1307))


@pytest.mark.parametrize("start", [0, 3, 8, 16])
def test_the_least_degree_does_not_depend_on_where_the_search_begins(start: int) -> None:
    found = least_degree(Target.disjunction(16), Fraction(1, 20), start=start)
    verify_least_degree(found)
    assert found.degree == 8
    assert found.below is not None
    problem = minimax_problem(Target.disjunction(16), 7)
    assert lower_bound(problem, found.below) == Fraction(243, 4573)


def test_a_degree_of_zero_needs_no_proof_below() -> None:
    found = least_degree(Target.at_least(2, 5), Fraction(1, 2))
    verify_least_degree(found)
    assert (found.degree, found.below) == (0, None)
    exact = least_degree(Target.disjunction(5), Fraction(0))
    verify_least_degree(exact)
    assert exact.degree == 5


def test_an_error_that_is_reached_exactly_is_allowed_and_one_a_little_smaller_is_not() -> None:
    assert least_degree(Target.disjunction(6), Fraction(1, 3)).degree == 2
    assert least_degree(Target.disjunction(6), Fraction(1, 3) - Fraction(1, 10**30)).degree == 3


def test_broken_least_degrees_are_not_verified() -> None:
    found = least_degree(Target.disjunction(16), Fraction(1, 20))
    assert found.below is not None
    halved = Witness(found.below.points, tuple(one / 2 for one in found.below.weights))
    broken = [
        replace(found, below=None),
        replace(found, below=halved),
        replace(found, below=found.best.witness),
        replace(found, error_limit=Fraction(1, 100)),
        replace(found, error_limit=Fraction(1, 10)),
        replace(found, best=best_polynomial(Target.disjunction(16), 9)),
    ]
    for one in broken:
        with pytest.raises(PolynomialError):
            verify_least_degree(one)


FOUR = Target.disjunction(4)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: best_polynomial(FOUR, -1), PolynomialError, "from 0 to k = 4"),
        (lambda: best_polynomial(FOUR, 5), PolynomialError, "from 0 to k = 4"),
        (lambda: least_degree(FOUR, Fraction(-1, 2)), PolynomialError, "0 or more"),
        (lambda: best_polynomial(FOUR, 2, solver="local-search"), PolynomialError, "linear"),
        (lambda: best_polynomial(FOUR, 2, solver="nothing"), SolverUnavailableError, "solver"),
        (lambda: ExactProgram([Fraction(-1)], [[Fraction(1)]], [Fraction(1)]), ProgramError, "costs"),
    ],
)
def test_numbers_out_of_range_are_refused(call: Callable[[], object], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()


def test_the_points_to_begin_with_are_distinct_and_dense_at_the_ends() -> None:
    for last in range(1, 30):
        for first in (0, 1):
            for number in range(1, last - first + 2):
                points = spread_reference(first, last, number)
                assert len(set(points)) == number
                assert list(points) == sorted(points)
                assert points[0] >= first
                assert points[-1] <= last


@pytest.mark.parametrize("keeps_zero", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_an_exchange_takes_the_largest_error_keeps_the_signs_alternating_and_raises_the_level(
    seed: int, keeps_zero: bool
) -> None:
    generator = np.random.default_rng(seed)
    target, first = Target.table(generator.integers(-3, 4, 16).tolist()), int(keeps_zero)
    for number in range(1 + (not keeps_zero), 15):
        points = np.sort(generator.choice(np.arange(first, 16), number, replace=False)).tolist()
        before = level(target, points, keeps_zero=keeps_zero)
        reference = exchange(before)
        assert list(reference) == sorted(set(reference))
        assert len(reference) == number
        if max(map(abs, before.errors)) == before.level:
            continue
        signs = dict(zip(before.reference, before.signs, strict=True))
        kept = [signs.get(s, 1 if before.errors[s] > 0 else -1) for s in reference]
        assert all(a == -b for a, b in pairwise(kept))
        assert max(abs(before.errors[s]) for s in reference) == max(map(abs, before.errors))
        assert level(target, reference, keeps_zero=keeps_zero).size > before.size
