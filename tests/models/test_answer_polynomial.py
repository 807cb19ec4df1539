"""AQ-1 to AQ-4: polynomials as good as those of a cone solver, and approximations that hold in exact arithmetic."""

from __future__ import annotations

import warnings
from fractions import Fraction
from math import comb, inf, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models.polynomials.answer_polynomial import LARGEST_QUERY, AnswerPolynomial, best_answer, best_mixed_answer
from dpopt.polynomials.targets import Target
from tests.models.catalogue import worked

Values = tuple[Fraction | None, ...]
Table = tuple[Values, ...]
NAMED = st.integers(1, 12).flatmap(lambda k: st.integers(1, k).map(lambda needed: Target.at_least(needed, k).values))
TABLES = st.lists(st.integers(0, 100).map(lambda part: Fraction(part, 100)), min_size=2, max_size=13)


@st.composite
def targets(draw: st.DrawFn) -> Values:
    """Draw a predicate or any table of values; of some, not all numbers of true literals occur."""
    values: list[Fraction | None] = list(draw(st.one_of(NAMED, TABLES)))
    if draw(st.booleans()):
        kept = draw(st.integers(0, len(values) - 1))
        values = [value if s == kept or draw(st.booleans()) else None for s, value in enumerate(values)]
    return tuple(values)


@st.composite
def programs(draw: st.DrawFn) -> tuple[Values, NDArray[np.float64], float]:
    """Draw a target, deviations that grow with the size, some infinite, and a number of deviations."""
    target = draw(targets())
    sizes = draw(st.integers(1, min(len(target), 8)))
    level = 10 ** draw(st.floats(-4, 0))
    factors = draw(st.lists(st.floats(0.3, 10), min_size=sizes, max_size=sizes))
    counted = draw(st.lists(st.integers(0, 4).map(bool), min_size=sizes, max_size=sizes))
    roots = [sqrt(max(1, comb(len(target) - 1, j))) for j in range(1, sizes + 1)]
    deviations = [
        level * root * factor if one else inf for root, factor, one in zip(roots, factors, counted, strict=True)
    ]
    return target, np.array(deviations), draw(st.floats(0.5, 6))


def check(answer: AnswerPolynomial, target: Values, deviations: NDArray[np.float64]) -> None:
    """Evaluate AQ-2 in Fractions, and the deviation by hand."""
    assert len(answer.coefficients) <= min(len(target) - 1, deviations.size) + 1
    check_mixed(answer, alone(target), column(target, deviations))


def alone(target: Values) -> Table:
    """Return f(s, u) of a query none of whose conditions is counted with its negation."""
    return tuple((value,) for value in target)


def column(target: Values, deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return u_i0 for it."""
    each = np.full((len(target), 1), inf)
    each[1 : deviations.size + 1, 0] = deviations[: len(target) - 1]
    return each


@settings(max_examples=150)
@given(program=programs())
def test_no_polynomial_of_a_cone_solver_is_better(program: tuple[Values, NDArray[np.float64], float]) -> None:
    """AQ-1 within 1e-6 of the optimum, relatively, or of 1e-9 where it is next to nothing."""
    target, deviations, zeta = program
    answer = best_answer(target, deviations, zeta)
    check(answer, target, deviations)
    assert answer.bound(zeta) == answer.approximation + zeta * answer.deviation
    optimum, accurate = mixed_reference(alone(target), column(target, deviations), zeta)
    assert answer.bound(zeta) <= optimum * (1 + 1e-6) + 1e-9
    assert answer.bound(zeta) >= optimum * (1 - 1e-6) - 1e-9 or not accurate


@pytest.mark.parametrize("noise", [1e-9, 1e-7, 1e-5, 1e-3, 0.1, 10.0])
@pytest.mark.parametrize(("needed", "k", "sizes"), [(16, 16, 6), (1, 16, 6), (8, 16, 16), (3, 10, 10), (1, 2, 1)])
def test_noise_of_any_amount_is_weighed(needed: int, k: int, sizes: int, noise: float) -> None:
    """Never worse than inclusion and exclusion, a constant, or what is best with ten times the noise; stated exactly."""
    target = Target.at_least(needed, k).values
    deviations = noise * np.sqrt([comb(k, j) for j in range(1, sizes + 1)])
    answer = best_answer(target, deviations, 3.0)
    check(answer, target, deviations)
    allowed = 1 + 1e-6
    assert answer.bound(3.0) <= 0.5 * allowed
    if sizes == k:
        differences = [sum((-1) ** (j - i) * comb(j, i) * (i >= needed) for i in range(j + 1)) for j in range(1, k + 1)]
        assert answer.bound(3.0) <= 3.0 * float(np.linalg.norm(differences * deviations)) * allowed
    louder = best_answer(target, 10 * deviations, 3.0)
    assert answer.bound(3.0) <= (louder.approximation + 0.3 * louder.deviation) * allowed


def test_without_much_noise_inclusion_and_exclusion_are_exact() -> None:
    for needed, k, expected in [
        (3, 3, (0.0, 0.0, 0.0, 1.0)),
        (1, 3, (0.0, 1.0, -1.0, 1.0)),
        (2, 3, (0.0, 0.0, 1.0, -2.0)),
    ]:
        answer = best_answer(Target.at_least(needed, k).values, np.full(k, 1e-6), 2.0)
        assert answer.coefficients == expected
        assert answer.approximation == 0


def test_with_much_noise_a_constant_answers() -> None:
    answer = best_answer(Target.conjunction(5).values, np.full(3, 1e6), 2.0)
    assert answer.approximation == pytest.approx(0.5)
    assert answer.deviation == pytest.approx(0, abs=1e-6)


def test_numbers_that_do_not_occur_are_left_out() -> None:
    """With two conditions that always hold, "all four of them" is a table of the numbers from 2 on."""
    padded: Values = (None, None, Fraction(0), Fraction(0), Fraction(1))
    noise = np.array([0.001, 0.001])
    free = best_answer(padded, noise, 1.0)
    assert list(free.coefficients) == [3, -2, 1]  # the one parabola through three points
    assert free.approximation == 0
    check(free, padded, noise)
    whole = best_answer((Fraction(0), Fraction(0), *padded[2:]), noise, 1.0)
    assert whole.approximation > 0.05


def test_a_single_number_that_occurs_is_answered_by_a_constant() -> None:
    answer = best_answer((None, Fraction(3, 4)), np.array([1.0]), 1.0)
    assert (answer.coefficients[0], answer.bound(1.0)) == (0.75, 0.0)


def test_sizes_that_were_not_counted_have_no_part() -> None:
    answer = best_answer(Target.conjunction(3).values, np.array([inf, 0.01, inf]), 1.0)
    assert len(answer.coefficients) == 3
    assert answer.coefficients[1] == 0
    nothing = best_answer(Target.conjunction(3).values, np.array([inf, inf]), 1.0)
    assert nothing.coefficients == (0.5,)


def test_the_worked_example_is_that_of_the_page() -> None:
    own = best_answer((Fraction(0), Fraction(0), Fraction(1)), np.array([0.1, 0.5]), 1.0)
    text = " ".join(worked("answer_polynomial").split())
    assert "0.2333 + 0.0574 = 0.2907" in text
    root = (3.04 - sqrt(3.04**2 - 4 * 3.0704 * 0.75)) / (2 * 3.0704)
    assert own.coefficients == pytest.approx((-root / 2, root, 1 - 2 * root), abs=1e-4)
    assert own.coefficients == pytest.approx((-0.2333, 0.4667, 0.0667), abs=1e-4)
    assert (own.approximation, own.deviation) == pytest.approx((0.2333, 0.0574), abs=1e-4)


def table_of(target: Target, negated: int) -> Table:
    """Return f(s, u) of a predicate of which so many conditions are counted with their negations."""
    counted = target.width - negated
    return tuple(tuple(target.values[s + negated - u] for u in range(negated + 1)) for s in range(counted + 1))


def deviations_of(table: Table, level: float, growth: float, sizes: int) -> NDArray[np.float64]:
    """Return u_ij: a root of the number of counts, times noise that grows with the size; inf beyond the sizes."""
    k, l = len(table) - 1, len(table[0]) - 1  # noqa: E741
    return np.array(
        [
            [level * growth ** (i + j) * sqrt(comb(k, i) * comb(l, j)) if i + j <= sizes else inf for j in range(l + 1)]
            for i in range(k + 1)
        ]
    )


@st.composite
def mixed_programs(draw: st.DrawFn) -> tuple[Table, NDArray[np.float64], float]:
    width = draw(st.integers(1, 6))
    target = Target.at_least(draw(st.integers(1, width)), width)
    negated = draw(st.integers(0, width))
    table = table_of(target, negated)
    if draw(st.booleans()):
        table = ((None,) * (negated + 1), *table)  # one more literal, which always holds
    level, growth = 10 ** draw(st.floats(-4, 0)), draw(st.floats(0.7, 3))
    return table, deviations_of(table, level, growth, draw(st.integers(1, width))), draw(st.floats(0.5, 5))


def mixed_reference(table: Table, deviations: NDArray[np.float64], zeta: float) -> tuple[float, bool]:
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
    program = cvxpy.Problem(cvxpy.Minimize(gamma + zeta * cvxpy.norm(cvxpy.multiply(weights, scaled), 2)), limits)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        program.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-9, tol_feas=1e-10)
    return float(program.value), program.status == cvxpy.OPTIMAL


def check_mixed(answer: AnswerPolynomial, table: Table, deviations: NDArray[np.float64]) -> None:
    """Evaluate AQ-4 in Fractions, and the deviation by hand."""
    exact = [[Fraction(one) for one in row] for row in answer.table]
    worst = max(
        abs(sum(a * comb(s, i) * comb(u, j) for i, row in enumerate(exact) for j, a in enumerate(row)) - value)
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
@given(program=mixed_programs())
def test_no_polynomial_in_two_numbers_of_a_cone_solver_is_better(
    program: tuple[Table, NDArray[np.float64], float],
) -> None:
    table, deviations, zeta = program
    answer = best_mixed_answer(table, deviations, zeta)
    check_mixed(answer, table, deviations)
    optimum, accurate = mixed_reference(table, deviations, zeta)
    assert answer.bound(zeta) <= optimum * (1 + 1e-6) + 1e-9
    assert answer.bound(zeta) >= optimum * (1 - 1e-6) - 1e-9 or not accurate


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
    check_mixed(answer, table, deviations)
    assert answer.bound(2.7) < 0.3


NO, YES = Fraction(0), Fraction(1)


@pytest.mark.parametrize(
    ("search", "target", "deviations", "zeta"),
    [
        (best_answer, (NO,), [1.0], 1.0),
        (best_answer, (None, None), [1.0], 1.0),
        (best_answer, (NO,) * (LARGEST_QUERY + 2), [1.0], 1.0),
        *((best_answer, (NO, YES), [deviation], 1.0) for deviation in (0.0, -1.0, float("nan"))),
        *((best_answer, (NO, YES), [1.0], zeta) for zeta in (0.0, inf, float("nan"))),
        (best_mixed_answer, ((None, None),), np.ones((1, 2)), 1.0),
        (best_mixed_answer, ((NO,),), np.ones((1, 1)), 1.0),
        (best_mixed_answer, ((NO, YES),), np.ones((2, 2)), 1.0),
        (best_mixed_answer, ((NO, YES),), [[1.0, 0.0]], 1.0),
        (best_mixed_answer, ((NO, YES),), [[1.0, float("nan")]], 1.0),
        (best_mixed_answer, ((NO, YES),), np.ones((1, 2)), inf),
        (best_mixed_answer, ((NO,),) * (LARGEST_QUERY + 2), np.ones((LARGEST_QUERY + 2, 1)), 1.0),
    ],
)
def test_bad_input_is_refused(search: Any, target: Any, deviations: Any, zeta: float) -> None:
    with pytest.raises(ProgramError, match=f"expected 1 to {LARGEST_QUERY} literals"):
        search(target, np.array(deviations), zeta)
