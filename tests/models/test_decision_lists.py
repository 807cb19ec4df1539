"""Coefficients of decision lists as a linear program (DL-1 to DL-7): known and exact optima, the textbook, enumeration."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from dpopt.errors import ProgramError
from dpopt.models.polynomials.decision_lists import ListProgram, decision_lists
from dpopt.polynomials.decision_lists import rounded
from dpopt.polynomials.exact_optimum import ExactProgram
from dpopt.queries.decision_lists.coefficients import ListCoefficients
from dpopt.solvers.registry import get_solver
from tests.models.catalogue import MODELS
from tests.models.polynomial_vertices import known_optima, numbers
from tests.tiny_lists import counted, family_of, output_at, points_of, rows_of, value_of

PAGE = MODELS / "decision_lists"
KNOWN = known_optima(PAGE / "known_optima.csv")


def stated(row: dict[str, str]) -> ListProgram:
    weights = np.array([float(one) for one in numbers(row["weights"])])
    return decision_lists(int(row["k"]), int(row["r"]), weights, gaussian=False, replaced=False)


def solved(stated: ListProgram) -> tuple[float, np.ndarray]:
    point = np.asarray(get_solver("highs").solve(stated.model.linear).require_solution(), dtype=np.float64)
    return stated.model.linear.evaluate(point), point


def exact_optimum(stated: ListProgram) -> Fraction:
    """Return the optimum in fractions: variables without bounds are differences of two that are at least 0."""
    program = stated.model.linear
    matrix = np.zeros((program.number_of_rows, program.number_of_variables))
    matrix[program.row_of_entry(), program.columns] = program.coefficients
    free = np.isinf(program.lower)
    rows = np.hstack((matrix, -matrix[:, free])).tolist()
    cost = [Fraction(one) for one in program.objective.tolist()] + [Fraction(0)] * int(free.sum())
    right = [Fraction(one) for one in program.row_lower.tolist()]
    found = ExactProgram(cost, [[Fraction(one) for one in row] for row in rows], right).solve()
    return sum((c * x for c, x in zip(cost, found.point, strict=True)), start=Fraction(0))


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: f"k={row['k']}, r={row['r']}, {row['weights']}")
def test_error_and_noise_have_their_known_sum(row: dict[str, str]) -> None:
    """DL-1 to DL-7 by HiGHS and in exact arithmetic."""
    expected = Fraction(row["objective"])
    program = stated(row)
    assert solved(program)[0] == pytest.approx(float(expected), abs=1e-8)
    if len(program.model.linear.objective) < 90:
        assert exact_optimum(program) == expected


def coefficients_of(program: ListProgram, length: int, changes: int) -> ListCoefficients:
    _, point = solved(program)
    family = family_of(length, length, "lists", changes)
    return rounded(family, program.coefficients(point))


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(("length", "changes"), [(2, 1), (2, 2), (3, 1), (3, 2), (3, 3)])
def test_the_objective_bounds_what_every_row_does(length: int, changes: int, gaussian: bool) -> None:
    """E of DL-3 is the worst error of all rows at all points; S_j of DL-5 to DL-7 is no less than what any row counts."""
    weights = np.array([1 / 64, 1 / 32, 1 / 16])
    program = decision_lists(length, changes, weights, gaussian=gaussian, replaced=False)
    objective, _ = solved(program)
    coefficients = coefficients_of(program, length, changes)
    family, unit = coefficients.family, 2**coefficients.bits
    rows = rows_of(family)
    error = max(
        abs(value_of(coefficients, row, point) / unit - output_at(row, point))
        for row in rows
        for point in points_of(family)
    )
    total = error
    for j, weight in enumerate(weights.tolist()):
        vectors = np.array([counted(coefficients, row, j) for row in rows]) / unit
        total += weight * (np.sqrt((vectors**2).sum(axis=1)) if gaussian else np.abs(vectors).sum(axis=1)).max()
    assert total <= objective + 1e-4
    cheaper = decision_lists(length, changes, weights * 1e-6, gaussian=gaussian, replaced=False)
    alone, _ = solved(cheaper)
    least = coefficients_of(cheaper, length, changes)
    exact = max(
        abs(value_of(least, row, point) / 2**least.bits - output_at(row, point))
        for row in rows
        for point in points_of(family)
    )
    assert exact == pytest.approx(alone, abs=1e-4)  # noise costs nothing: the error alone, attained


def test_one_conjunction_of_negations_says_that_none_is_true() -> None:
    """DL-6: of size k, with sensitivity 1; without negations it is inclusion and exclusion, with 2^k - 1."""
    weights = np.full(4, 1e-3)
    for negations, expected in ((True, 1.0), (False, None)):
        program = decision_lists(3, 1, weights, gaussian=False, replaced=True, negations=negations)
        objective, point = solved(program)
        c = program.coefficients(point)
        if expected is not None:
            assert objective == pytest.approx(1e-3 * (3 + 1), rel=1)
        else:
            assert objective > 4e-3
            assert not c[:, :, 1:].any()


def test_replaced_rows_pay_for_both_ends_of_the_empty_conjunction() -> None:
    """DL-7: with nothing but the constant, b_1 and its opposite lie 1 apart however c_{0,0} is chosen."""
    for replaced in (False, True):
        program = decision_lists(1, 1, np.array([0.01, np.inf]), gaussian=True, replaced=replaced)
        objective, point = solved(program)
        assert not program.coefficients(point)[:, 1:].any()
        assert objective == pytest.approx(0.5 + 0.01 * 1.0, abs=1e-6)


def test_sizes_that_are_not_counted_have_no_coefficients() -> None:
    program = decision_lists(3, 3, np.array([0.01, np.inf, 0.02]), gaussian=True, replaced=False)
    assert {a + b for _, a, b in program.places} == {0, 2}


@pytest.mark.parametrize(
    ("length", "changes", "weights"),
    [
        (0, 0, [0.0]), (2, 3, [0.0]), (2, 0, [0.0]), (1, 1, [0.0, 1.0, 1.0]), (1, 1, [-1.0]), (1, 1, [np.inf]),
        (1, 1, []),
    ],
)  # fmt: skip
def test_numbers_out_of_range_are_refused(length: int, changes: int, weights: list[float]) -> None:
    with pytest.raises(ProgramError):
        decision_lists(length, changes, np.array(weights), gaussian=True, replaced=False)


def test_its_size_is_as_the_page_says() -> None:
    program = decision_lists(8, 8, np.full(6, 0.01), gaussian=True, replaced=False).model.linear
    text = " ".join((PAGE / "README.md").read_text(encoding="utf-8").split())
    assert f"{program.number_of_variables} variables, {program.number_of_rows} rows" in text
    assert sum(comb(i, 0) * (j + 1) for i in range(1, 9) for j in range(min(i, 5) + 1)) == len(
        decision_lists(8, 8, np.full(6, 0.01), gaussian=True, replaced=False).places
    )
