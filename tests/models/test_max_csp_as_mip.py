"""BR-1 to BR-9: each record is a feasible point of the same objective, and no other c is feasible and better."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.models import Formulation, max_csp_as_mip, point_from_record, record_from_point
from dpopt.programs import MaxCsp, MixedIntegerProgram
from dpopt.queries import Clauses
from tests.models.catalogue import all_records
from tests.models.draws import conjunctive_problems
from tests.strategies import clauses_of

BOTH = st.sampled_from([Formulation.PER_LITERAL, Formulation.AGGREGATED])


@given(conjunctive_problems(), BOTH)
def test_br_1_br_2_br_7_every_record_is_a_feasible_point_of_the_same_objective(
    program: MaxCsp, formulation: Formulation
) -> None:
    mip = max_csp_as_mip(program, formulation)
    for record in all_records(program.sizes):
        point = point_from_record(program, record)
        assert mip.violation(point) == 0
        assert mip.evaluate(point) == program.objective(record)
        assert record_from_point(program, point).tolist() == record.tolist()


@given(conjunctive_problems(max_clauses=4), BOTH)
def test_br_3_to_br_9_no_clause_variable_can_be_better_than_the_truth(
    program: MaxCsp, formulation: Formulation
) -> None:
    """Moving c_j off the truth to the side that its weight rewards breaks a row (by half a step: not only if whole)."""
    mip = max_csp_as_mip(program, formulation)
    step = 0.5 if formulation is Formulation.PER_LITERAL else 1.0
    x = int(program.offsets()[-1])
    for record in all_records(program.sizes):
        point = point_from_record(program, record)
        for j, weight in enumerate(program.weights):
            better = point.copy()
            better[x + j] += step * np.sign(weight)
            assert mip.violation(better) > 0


@given(conjunctive_problems(max_clauses=3), BOTH)
def test_br_2_a_point_with_two_codes_or_none_is_infeasible(program: MaxCsp, formulation: Formulation) -> None:
    mip = max_csp_as_mip(program, formulation)
    point = np.zeros(mip.number_of_variables)
    assert mip.violation(point) >= 1
    point[: int(program.offsets()[-1])] = 1
    assert (mip.violation(point) >= 1) == bool((program.sizes > 1).any() or mip.violation(point))


@given(conjunctive_problems())
def test_the_size_is_that_of_the_page(program: MaxCsp) -> None:
    m, d, codes = len(program.clauses), program.sizes.size, int(program.sizes.sum())
    widths = program.clauses.widths()
    negation = program.clauses.accepted != 1 << widths
    every = (program.weights > 0) != negation
    tight = max_csp_as_mip(program, Formulation.PER_LITERAL)
    loose = max_csp_as_mip(program, Formulation.AGGREGATED)
    assert tight.number_of_rows == d + int(np.where(every, widths, 1).sum())
    assert loose.number_of_rows == d + m - int((every & (widths == 0)).sum())
    assert (tight.number_of_variables, int(tight.integrality.sum())) == (codes + m, codes)
    assert (loose.number_of_variables, int(loose.integrality.sum())) == (codes + m, codes + m)


def rows_of(mip: MixedIntegerProgram, row: int) -> tuple[dict[int, float], float, float]:
    span = slice(int(mip.row_starts[row]), int(mip.row_starts[row + 1]))
    entries = dict(zip(mip.columns[span].tolist(), mip.coefficients[span].tolist(), strict=True))
    return entries, float(mip.row_lower[row]), float(mip.row_upper[row])


INFINITY = float("inf")


@pytest.mark.parametrize(
    ("weight", "mask", "formulation", "expected"),
    [
        # Columns 0, 1: attribute 0; 2, 3: attribute 1; 4: c. Literals: x1 and 1 - x2.
        (
            2,
            4,
            Formulation.PER_LITERAL,
            [({1: -1, 4: 1}, -INFINITY, 0), ({2: 1, 4: 1}, -INFINITY, 1)],
        ),  # BR-3
        (-2, 4, Formulation.PER_LITERAL, [({1: -1, 2: 1, 4: 1}, 0, INFINITY)]),  # BR-4
        (-2, 3, Formulation.PER_LITERAL, [({1: 1, 4: 1}, 1, INFINITY), ({2: -1, 4: 1}, 0, INFINITY)]),  # BR-5
        (2, 3, Formulation.PER_LITERAL, [({1: 1, 2: -1, 4: 1}, -INFINITY, 1)]),  # BR-6
        (2, 4, Formulation.AGGREGATED, [({1: -1, 2: 1, 4: 2}, -INFINITY, 1)]),  # BR-8
        (-2, 4, Formulation.AGGREGATED, [({1: -1, 2: 1, 4: 1}, 0, INFINITY)]),  # BR-4
        (-2, 3, Formulation.AGGREGATED, [({1: 1, 2: -1, 4: 2}, 1, INFINITY)]),  # BR-9
        (2, 3, Formulation.AGGREGATED, [({1: 1, 2: -1, 4: 1}, -INFINITY, 1)]),  # BR-6
    ],
)
def test_the_rows_are_those_of_the_page(
    weight: int, mask: int, formulation: Formulation, expected: list[tuple[dict[int, float], float, float]]
) -> None:
    program = MaxCsp(
        np.array([2, 2]), clauses_of([([(0, 1, True), (1, 0, False)], mask)]), np.array([weight])
    )
    mip = max_csp_as_mip(program, formulation)
    assert [rows_of(mip, row) for row in range(2, mip.number_of_rows)] == expected
    assert [rows_of(mip, row) for row in range(2)] == [({0: 1, 1: 1}, 1, 1), ({2: 1, 3: 1}, 1, 1)]  # BR-2
    assert mip.objective.tolist() == [0, 0, 0, 0, weight]  # BR-1
    assert (mip.lower.tolist(), mip.upper.tolist()) == ([0] * 5, [1] * 5)  # BR-7


def test_rounding_errors_of_a_solver_do_no_harm_to_the_record() -> None:
    program = MaxCsp(np.array([3, 2]), clauses_of([([(0, 0, True)], 2)]), np.array([1]))
    point = np.array([1e-9, 0.9999999, 0.0, -1e-12, 1.0000001, 0.5])
    assert record_from_point(program, point).tolist() == [1, 1]


def test_a_hundred_thousand_clauses_become_rows_without_a_loop() -> None:
    generator = np.random.default_rng(3)
    sizes = np.full(40, 10)
    attributes = np.argsort(generator.random((100_000, 40)), axis=1)[:, :3]
    values = generator.integers(0, 10, size=(100_000, 3))
    signs = generator.random((100_000, 3)) < 0.5
    weights = np.where(generator.random(100_000) < 0.5, -1, 1)
    program = MaxCsp(sizes, Clauses.conjunctions(attributes, values, signs), weights)
    mip = max_csp_as_mip(program)
    record = generator.integers(0, sizes).astype(np.int32)
    point = point_from_record(program, record)
    assert mip.violation(point) == 0
    assert mip.evaluate(point) == program.objective(record)
