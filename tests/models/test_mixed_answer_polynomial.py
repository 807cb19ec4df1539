"""AQ-3, AQ-4: polynomials in two numbers as good as those of a cone solver, with an approximation that holds exactly."""

from __future__ import annotations

import warnings
from fractions import Fraction
from math import comb, inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models.polynomials.answer_polynomial import LARGEST_QUERY, best_answer
from dpopt.models.polynomials.mixed_answer_polynomial import MixedAnswerPolynomial, best_mixed_answer
from dpopt.polynomials.targets import Target
from tests.models.test_histogram_textbooks import textbook

Table = tuple[tuple[Fraction | None, ...], ...]


def table_of(target: Target, negated: int) -> Table:
    """Return f(s, u) of a predicate of which so many conditions are counted with their negations."""
    counted = target.width - negated
    return tuple(
        tuple(target.values[s + negated - u] for u in range(negated + 1)) for s in range(counted + 1)
    )


def deviations_of(table: Table, level: float, growth: float, sizes: int) -> NDArray[np.float64]:
    """Return u_ij: a root of the number of counts, times noise that grows with the size; inf beyond the sizes."""
    k, l = len(table) - 1, len(table[0]) - 1  # noqa: E741
    return np.array(
        [
            [
                level * growth ** (i + j) * sqrt(comb(k, i) * comb(l, j)) if i + j <= sizes else inf
                for j in range(l + 1)
            ]
            for i in range(k + 1)
        ]
    )


@st.composite
def programs(draw: st.DrawFn) -> tuple[Table, NDArray[np.float64], float]:
    width = draw(st.integers(1, 6))
    target = Target.at_least(draw(st.integers(1, width)), width)
    negated = draw(st.integers(0, width))
    table = table_of(target, negated)
    if draw(st.booleans()):
        table = ((None,) * (negated + 1), *table)  # one more literal, which always holds
    level, growth = 10 ** draw(st.floats(-4, 0)), draw(st.floats(0.7, 3))
    return table, deviations_of(table, level, growth, draw(st.integers(1, width))), draw(st.floats(0.5, 5))


def reference(table: Table, deviations: NDArray[np.float64], zeta: float) -> tuple[float, bool]:
    """Return what CVXPY and Clarabel find for AQ-3 subject to AQ-4, and whether it is accurate."""
    import cvxpy

    k, l = len(table) - 1, len(table[0]) - 1  # noqa: E741
    used = [(i, j) for i in range(k + 1) for j in range(l + 1) if i + j == 0 or np.isfinite(deviations[i, j])]
    largest = np.array([comb(k, i) * comb(l, j) for i, j in used], dtype=float)
    scaled, gamma = cvxpy.Variable(len(used)), cvxpy.Variable()
    weights = np.array([0.0, *(deviations[pair] for pair in used[1:])]) / largest
    limits = []
    for s, row in enumerate(table):
        for u, value in enumerate(row):
            if value is not None:
                basis = np.array([comb(s, i) * comb(u, j) for i, j in used]) / largest
                limits.append(cvxpy.abs(basis @ scaled - float(value)) <= gamma)
    program = cvxpy.Problem(
        cvxpy.Minimize(gamma + zeta * cvxpy.norm(cvxpy.multiply(weights, scaled), 2)), limits
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        program.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-9, tol_feas=1e-10)
    return float(program.value), program.status == cvxpy.OPTIMAL


def check(answer: MixedAnswerPolynomial, table: Table, deviations: NDArray[np.float64]) -> None:
    """Evaluate AQ-4 in Fractions, and the deviation by hand."""
    exact = [[Fraction(one) for one in row] for row in answer.coefficients]
    worst = max(
        abs(
            sum(a * comb(s, i) * comb(u, j) for i, row in enumerate(exact) for j, a in enumerate(row)) - value
        )
        for s, values in enumerate(table)
        for u, value in enumerate(values)
        if value is not None
    )
    assert worst <= Fraction(answer.approximation) <= worst * (1 + Fraction(1, 2**40))
    for i, j, _ in answer.terms():
        assert np.isfinite(deviations[i, j])
    variance = sum((a * deviations[i, j]) ** 2 for i, j, a in answer.terms())
    assert answer.deviation == pytest.approx(sqrt(variance), rel=1e-12)


@settings(max_examples=80)
@given(program=programs())
def test_no_polynomial_of_a_cone_solver_is_better(
    program: tuple[Table, NDArray[np.float64], float],
) -> None:
    table, deviations, zeta = program
    answer = best_mixed_answer(table, deviations, zeta)
    check(answer, table, deviations)
    optimum, accurate = reference(table, deviations, zeta)
    assert answer.bound(zeta) <= optimum * (1 + 1e-6) + 1e-9
    assert answer.bound(zeta) >= optimum * (1 - 1e-6) - 1e-9 or not accurate


@pytest.mark.parametrize("noise", [1e-6, 1e-3, 0.1])
@pytest.mark.parametrize(("width", "sizes"), [(1, 1), (4, 2), (8, 5)])
def test_without_negations_it_is_the_program_of_one_number(width: int, sizes: int, noise: float) -> None:
    for target in (Target.conjunction(width), Target.disjunction(width)):
        table = table_of(target, 0)
        deviations = deviations_of(table, noise, 2.0, sizes)
        two = best_mixed_answer(table, deviations, 3.0)
        one = best_answer(target.values, deviations[1 : sizes + 1, 0], 3.0)
        assert two.bound(3.0) == pytest.approx(one.bound(3.0), rel=1e-6, abs=1e-9)
        assert MixedAnswerPolynomial.of(one).bound(3.0) == one.bound(3.0)
        assert MixedAnswerPolynomial.of(one).terms() == [
            (j, 0, a) for j, a in enumerate(one.coefficients) if j and a
        ]


def test_where_all_sizes_have_little_noise_it_is_inclusion_and_exclusion_over_the_negations() -> None:
    table = table_of(Target.conjunction(4), 2)
    answer = best_mixed_answer(table, deviations_of(table, 1e-7, 1.0, 4), 3.0)
    assert answer.approximation == 0
    assert [(i, j, a) for i, j, a in answer.terms() if abs(a) > 1e-9] == [(2, 0, 1), (2, 1, -1), (2, 2, 1)]


def test_it_is_no_worse_than_inclusion_and_exclusion_over_polynomials_and_mostly_better() -> None:
    """2^l conjunctions, each by a polynomial of its own with the same counts: the errors add up."""
    table = table_of(Target.conjunction(6), 3)
    deviations = deviations_of(table, 0.003, 1.8, 4)
    apart = 0.0
    for extra in range(4):
        target = Target.conjunction(3 + extra)
        single = [0.003 * 1.8**j * sqrt(comb(3 + extra, j)) if j <= 4 else inf for j in range(1, 4 + extra)]
        apart += comb(3, extra) * best_answer(target.values, np.array(single), 3.0).bound(3.0)
    assert best_mixed_answer(table, deviations, 3.0).bound(3.0) < 0.5 * apart


def test_sixteen_conditions_of_both_kinds_are_answered() -> None:
    table = table_of(Target.conjunction(16), 8)
    deviations = deviations_of(table, 1e-4, 1.5, 6)
    answer = best_mixed_answer(table, deviations, 2.7)
    check(answer, table, deviations)
    assert answer.bound(2.7) < 0.3


@pytest.mark.parametrize(
    ("table", "deviations", "zeta"),
    [
        (((None, None),), np.ones((1, 2)), 1.0),
        (((Fraction(0),),), np.ones((1, 1)), 1.0),
        (((Fraction(0), Fraction(1)),), np.ones((2, 2)), 1.0),
        (((Fraction(0), Fraction(1)),), np.array([[1.0, 0.0]]), 1.0),
        (((Fraction(0), Fraction(1)),), np.array([[1.0, float("nan")]]), 1.0),
        (((Fraction(0), Fraction(1)),), np.ones((1, 2)), inf),
        (((Fraction(0),),) * (LARGEST_QUERY + 2), np.ones((LARGEST_QUERY + 2, 1)), 1.0),
    ],
)
def test_bad_input_is_refused(table: Table, deviations: NDArray[np.float64], zeta: float) -> None:
    with pytest.raises(ProgramError, match=f"expected 1 to {LARGEST_QUERY} literals"):
        best_mixed_answer(table, deviations, zeta)


@pytest.mark.solver("cbc")
def test_the_textbook_finds_the_same_polynomials() -> None:
    """AQ-3, AQ-4, with pairs that do not occur and sizes that are not counted."""
    with_none: Table = ((None, None), *table_of(Target.conjunction(2), 1))
    cases = [
        (table_of(Target.conjunction(4), 2), 0.01, 2.0, 3),
        (table_of(Target.disjunction(5), 1), 0.002, 1.5, 2),
        (with_none, 0.02, 1.3, 3),
    ]
    problems, own = [], []
    for table, level, growth, sizes in cases:
        deviations = deviations_of(table, level, growth, sizes)
        floats = [[None if one is None else float(one) for one in row] for row in table]
        problems.append((floats, deviations.tolist(), 2.5))
        own.append(best_mixed_answer(table, deviations, 2.5))
    found = textbook("answer_polynomial", *problems, function="solve_mixed")
    for mine, (bound, gamma, _) in zip(own, found, strict=True):
        assert mine.bound(2.5) == pytest.approx(bound, rel=1e-5)
        assert mine.approximation == pytest.approx(gamma, rel=1e-2, abs=1e-6)
