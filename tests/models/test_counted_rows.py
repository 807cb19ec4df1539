"""TH-5 to TH-8: clauses of any mask choose the number of their true literals."""

from __future__ import annotations

import numpy as np
import pytest

from dpopt.models import Formulation, max_csp_as_mip, point_from_record
from tests.models.linear_programs import optimum, relaxed, with_x
from tests.models.test_clause_rows import single
from tests.models.test_max_csp_as_mip import rows_of

INFINITY = float("inf")


@pytest.mark.parametrize("formulation", Formulation)
def test_th_5_to_th_7_the_rows_are_those_of_the_page(formulation: Formulation) -> None:
    """None or all three of "x1 = 1, x2 != 1, x3 = 1"; columns 0-5: x, 6: c, 7-10: y."""
    mip = max_csp_as_mip(single(0b1001, [True, False, True]), formulation)
    assert [rows_of(mip, row) for row in range(3, mip.number_of_rows)] == [
        ({7: 1, 8: 1, 9: 1, 10: 1}, 1, 1),
        ({1: 1, 3: -1, 5: 1, 8: -1, 9: -2, 10: -3}, -1, -1),
        ({6: 1, 7: -1, 10: -1}, 0, 0),
    ]


def test_th_7_a_negative_weight_changes_nothing_in_the_rows() -> None:
    mask = 0b1001
    plus, minus = (max_csp_as_mip(single(mask, [True] * 3, weight)) for weight in (1, -1))
    assert [rows_of(plus, row) for row in range(6)] == [rows_of(minus, row) for row in range(6)]


def test_th_8_y_must_be_whole_and_c_need_not() -> None:
    program = single(0b1001, [True] * 3)
    mip = max_csp_as_mip(program)
    assert mip.integrality.tolist() == [True] * 6 + [False] + [True] * 4
    x = np.array([1.0, 0, 0, 1, 1, 0])  # one of three
    assert optimum(with_x(mip, x)) == 0
    assert optimum(with_x(relaxed(mip), x)) == pytest.approx(1)  # two thirds of none and one third of all


def test_the_point_of_a_record_has_the_number_of_true_literals() -> None:
    program = single(0b1001, [True, False, True])
    point = point_from_record(program, np.array([1, 1, 1], dtype=np.int32))
    assert point.tolist() == [0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0]
