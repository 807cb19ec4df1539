"""MixedIntegerProgram: shapes and values that do not fit are refused; violation says by how much a point fails."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from dpopt.errors import ProgramError
from dpopt.programs import MixedIntegerProgram
from tests.programs.mixed_integer_programs import INFINITY, dense, mixed_integer_programs

PROGRAM = dense([1, 2], [[1, 1], [0, 3]], [(-INFINITY, 4), (1, 2)], [(0, 3), (-1, INFINITY)], [True, False])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"objective": np.array([1.0, np.nan])}, "finite"),
        ({"coefficients": np.array([1.0, 0.0, 3.0])}, "is 0"),
        ({"coefficients": np.array([1.0, np.inf, 3.0])}, "finite"),
        ({"coefficients": np.array([1.0, 3.0])}, "coefficients has 2 elements; expected 3"),
        ({"columns": np.array([0, 2, 1], dtype=np.int32)}, "column index"),
        ({"columns": np.array([0, 0, 1], dtype=np.int32)}, "twice in one row"),
        ({"row_starts": np.array([0, 3, 2])}, "row_starts"),
        ({"row_starts": np.array([0, 3])}, "row_starts has 2"),
        ({"row_lower": np.array([5.0, 1.0])}, r"row 0 has bounds \[5.0, 4.0\]"),
        ({"upper": np.array([np.nan, 1.0])}, "variable 0"),
        ({"lower": np.array([np.inf, 1.0]), "upper": np.array([np.inf, 1.0])}, "variable 0"),
        ({"lower": np.zeros((1, 2))}, "2 dimensions"),
        ({"integrality": np.array([0.5, 1.0])}, "'integrality' must be an array of bool"),
        ({"row_names": ("a",)}, "row_names"),
        ({"column_names": ("a",)}, "column_names"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ProgramError, match=says):
        replace(PROGRAM, **changes)


@pytest.mark.parametrize(
    ("point", "violation"),
    [
        ([1, 0.5], 0.0),
        ([3, 1.5], 2.5),  # second row: 4.5 > 2
        ([1.25, 0.5], 0.25),  # not whole
        ([4, 0.5], 1.0),  # above its upper bound, and the first row is broken by 0.5
        ([1, -2], 7.0),  # second row: -6 < 1
        ([1, np.nan], np.inf),
    ],
)
def test_the_violation_is_that_of_the_worst_row_bound_or_fraction(
    point: list[float], violation: float
) -> None:
    assert PROGRAM.violation(np.array(point)) == pytest.approx(violation)


def test_a_program_without_rows_is_broken_by_bounds_alone() -> None:
    program = dense([1.0], [], [], [(0, 1)], [False])
    assert (program.violation(np.array([0.5])), program.violation(np.array([2.0]))) == (0.0, 1.0)


def test_a_point_of_another_length_is_refused() -> None:
    with pytest.raises(ProgramError, match="2 variables"):
        PROGRAM.evaluate(np.array([1.0]))


@given(mixed_integer_programs())
def test_a_program_survives_pickling_and_stays_read_only(program: MixedIntegerProgram) -> None:
    copy = pickle.loads(pickle.dumps(program))
    assert copy.fingerprint() == program.fingerprint()
    assert not copy.objective.flags.writeable


def test_the_fingerprint_is_the_same_everywhere_and_for_ever() -> None:
    assert PROGRAM.fingerprint() == "45f0a9e4c3b17f9e40eaf6449af5ca640c186dfe30b3436f464858ddd1d87f27"


def test_the_fingerprint_ignores_names_and_the_sign_of_zero_and_nothing_else() -> None:
    same = [
        replace(PROGRAM, row_names=("a", "b"), column_names=("c", "d")),
        replace(PROGRAM, lower=np.array([-0.0, -1.0])),
    ]
    others = [
        replace(PROGRAM, maximize=False),
        replace(PROGRAM, objective=np.array([1.0, 3.0])),
        replace(PROGRAM, integrality=np.array([True, True])),
        replace(PROGRAM, row_upper=np.array([4.0, 3.0])),
    ]
    assert {program.fingerprint() for program in same} == {PROGRAM.fingerprint()}
    assert len({PROGRAM.fingerprint(), *(other.fingerprint() for other in others)}) == 5
