"""Mixed-integer programs: what does not fit is refused, violations are those of the worst row, MPS text reads back the same."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from dpopt import models
from dpopt.errors import ProgramError
from dpopt.programs import MixedIntegerProgram, mps_text, write_mps
from dpopt.programs.certificate import certify_point
from dpopt.programs.quadratic import QuadraticProgram, Scaled
from dpopt.programs.results import SolveResult
from dpopt.queries.ranges.tree import Tree
from dpopt.solvers.registry import get_solver
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
def test_the_violation_is_that_of_the_worst_row_bound_or_fraction(point: list[float], violation: float) -> None:
    assert PROGRAM.violation(np.array(point)) == pytest.approx(violation)


def test_a_program_without_rows_is_broken_by_bounds_alone() -> None:
    program = dense([1.0], [], [], [(0, 1)], [False])
    assert (program.violation(np.array([0.5])), program.violation(np.array([2.0]))) == (0.0, 1.0)


def test_a_point_of_another_length_is_refused() -> None:
    with pytest.raises(ProgramError, match="variables"):
        PROGRAM.evaluate(np.array([1.0]))


@given(mixed_integer_programs())
def test_a_program_survives_pickling_and_stays_read_only(program: MixedIntegerProgram) -> None:
    copy = pickle.loads(pickle.dumps(program))
    assert copy.fingerprint() == program.fingerprint()
    assert not copy.objective.flags.writeable


def test_the_fingerprint_is_the_same_everywhere_and_for_ever() -> None:
    assert PROGRAM.fingerprint() == "45f0a9e4c3b17f9e40eaf6449af5ca640c186dfe30b3436f464858ddd1d87f27"


def test_the_fingerprint_ignores_the_sign_of_zero_and_nothing_else() -> None:
    same = [replace(PROGRAM, lower=np.array([-0.0, -1.0]))]
    others = [
        replace(PROGRAM, maximize=False),
        replace(PROGRAM, objective=np.array([1.0, 3.0])),
        replace(PROGRAM, integrality=np.array([True, True])),
        replace(PROGRAM, row_upper=np.array([4.0, 3.0])),
    ]
    assert {program.fingerprint() for program in same} == {PROGRAM.fingerprint()}
    assert len({PROGRAM.fingerprint(), *(other.fingerprint() for other in others)}) == 5


WRITTEN = dense([1, 0], [[1, 1], [0, 3]], [(-INFINITY, 4), (1, 2)], [(0, 3), (-1, INFINITY)], [True, False])


def read_mps(text: bytes) -> MixedIntegerProgram:
    """Read free MPS in the plainest way: a dense matrix, names in order of appearance."""
    rows: dict[str, str] = {}
    columns: dict[str, bool] = {}
    entries: dict[tuple[str, str], float] = {}
    sides: dict[str, float] = {}
    ranges: dict[str, float] = {}
    bounds: dict[str, tuple[float, float]] = {}
    section, whole = "", False
    for line in text.decode("ascii").splitlines():
        if line.startswith("*"):
            continue
        fields = line.split()
        if not line.startswith(" "):
            section = fields[0] if fields else ""
        elif section == "ROWS":
            rows[fields[1]] = fields[0]
        elif section == "COLUMNS" and fields[1] == "'MARKER'":
            whole = fields[2] == "'INTORG'"
        elif section == "COLUMNS":
            columns[fields[0]] = whole
            entries[fields[1], fields[0]] = float(fields[2])
        elif section == "RHS":
            sides[fields[1]] = float(fields[2])
        elif section == "RANGES":
            ranges[fields[1]] = float(fields[2])
        elif section == "BOUNDS":
            low, high = bounds.get(fields[2], (0.0, INFINITY))
            value = float(fields[3]) if len(fields) > 3 else INFINITY
            news = {"FR": (-INFINITY, INFINITY), "MI": (-INFINITY, high), "LO": (value, high), "UP": (low, value)}
            bounds[fields[2]] = news.get(fields[0], (low, INFINITY))
    names = sorted(columns, key=lambda name: int(name[1:]))
    intervals = []
    for name, kind in list(rows.items())[1:]:
        side, width = sides.get(name, 0.0), ranges.get(name, INFINITY)
        low_high = {"E": (side, side), "L": (side - width, side), "G": (side, side + width)}
        intervals.append(low_high.get(kind, (-INFINITY, INFINITY)))
    matrix = [[entries.get((row, name), 0.0) for name in names] for row in list(rows)[1:]]
    objective = [entries["objective", name] for name in names]
    pairs = [bounds[name] for name in names]
    return dense(objective, matrix, intervals, pairs, [columns[name] for name in names], maximize=False)


@given(mixed_integer_programs())
def test_a_program_reads_back_in_minimization_form(program: MixedIntegerProgram) -> None:
    sign = -1.0 if program.maximize else 1.0
    back = read_mps(mps_text(program))
    # A row with two bounds is written as one bound and a width: rounded once.
    assert np.allclose(back.row_lower, program.row_lower, rtol=1e-12, atol=1e-9)
    expected = replace(program, maximize=False, objective=sign * program.objective, row_lower=back.row_lower)
    assert back.fingerprint() == expected.fingerprint()


def test_the_text_says_when_the_objective_is_negated() -> None:
    assert mps_text(WRITTEN).startswith(b"* negated objective of a maximization\nNAME dpopt FREE\n")
    assert mps_text(replace(WRITTEN, maximize=False)).startswith(b"* objective of a minimization\n")


def test_a_file_holds_the_text(tmp_path: Path) -> None:
    write_mps(WRITTEN, tmp_path / "program.mps", name="example")
    assert (tmp_path / "program.mps").read_bytes() == mps_text(WRITTEN, name="example")


def test_names_are_written() -> None:
    text = mps_text(WRITTEN, rows=("first", "second"), columns=("x[0]", "y"))
    assert b" x[0] first 1\n" in text
    assert b" PL bound y\n" in text


@pytest.mark.parametrize("bad", ["", "two words", "größe", "tab\there"])
def test_a_name_that_mps_cannot_hold_is_refused(bad: str) -> None:
    with pytest.raises(ProgramError, match="name"):
        mps_text(WRITTEN, columns=("x", bad))
    with pytest.raises(ProgramError, match="name"):
        mps_text(WRITTEN, name=bad)


def test_names_are_as_many_as_rows() -> None:
    with pytest.raises(ProgramError, match="found 1"):
        mps_text(WRITTEN, rows=("only",))


@pytest.mark.parametrize("names", [("x", "x"), ("x", "objective")])
def test_a_name_that_is_taken_is_refused(names: tuple[str, str]) -> None:
    with pytest.raises(ProgramError, match="twice"):
        mps_text(WRITTEN, rows=names)


# A program in other units has the same values, rows and duals.


def tree_program() -> tuple[QuadraticProgram, SolveResult]:
    """Return a tree with variances from .01 to 10,000, and its optimum."""
    tree, generator = Tree.balanced(64, 2), np.random.default_rng(3)
    variances = np.empty(len(tree))
    for depth, level in enumerate(tree.levels):
        variances[level] = (0.01, 1.0, 1e4)[depth % 3]
    model = models.tree_consistency(tree, 30 * generator.random(len(tree)), variances, nonnegative=True)
    assert isinstance(model.program, QuadraticProgram)
    return model.program, model.solve().result


def test_points_values_and_violations_go_over() -> None:
    program, _ = tree_program()
    scaled, generator = Scaled.of(program), np.random.default_rng(4)
    for _ in range(20):
        inside = generator.normal(size=program.number_of_variables)
        point = scaled.columns * inside
        assert scaled.program.evaluate(inside) == pytest.approx(program.evaluate(point), rel=1e-12)
        own, other = program.linear.matrix() @ point, scaled.program.linear.matrix() @ inside
        np.testing.assert_allclose(np.asarray(other), scaled.rows * np.asarray(own), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("solver", ["clarabel", "osqp", "scs", "cvxpy-highs"])
def test_points_and_duals_come_back_in_the_units_of_the_program(solver: str) -> None:
    program, best = tree_program()
    found = get_solver(solver).solve(program)
    assert found.objective == pytest.approx(best.objective, rel=1e-6)
    bound = certify_point(program, found).proven_bound
    assert bound is not None
    assert float(bound) == pytest.approx(best.objective, rel=1e-6)


def test_units_are_powers_of_two_and_bring_entries_together() -> None:
    program, _ = tree_program()
    scaled = Scaled.of(program)
    for units in (scaled.columns, scaled.rows):
        assert (np.frexp(units)[0] == 0.5).all()
    entries = np.abs(scaled.program.linear.coefficients)
    curvature = scaled.program.weights * scaled.program.square_coefficients**2
    assert program.weights.max() / program.weights.min() == pytest.approx(1e6)
    assert 0.25 <= curvature.max() <= 4
    assert entries.max() <= 4
