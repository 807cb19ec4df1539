"""MPS text: what is written reads back as the same program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from dpopt.errors import ProgramError
from dpopt.programs import MixedIntegerProgram, mps_text, write_mps
from tests.programs.mixed_integer_programs import INFINITY, dense, mixed_integer_programs

PROGRAM = dense([1, 0], [[1, 1], [0, 3]], [(-INFINITY, 4), (1, 2)], [(0, 3), (-1, INFINITY)], [True, False])


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
            news = {
                "FR": (-INFINITY, INFINITY),
                "MI": (-INFINITY, high),
                "LO": (value, high),
                "UP": (low, value),
            }
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
    assert mps_text(PROGRAM).startswith(b"* negated objective of a maximization\nNAME dpopt FREE\n")
    assert mps_text(replace(PROGRAM, maximize=False)).startswith(b"* objective of a minimization\n")


def test_a_file_holds_the_text(tmp_path: Path) -> None:
    write_mps(PROGRAM, tmp_path / "program.mps", name="example")
    assert (tmp_path / "program.mps").read_bytes() == mps_text(PROGRAM, name="example")


def test_names_are_written() -> None:
    text = mps_text(replace(PROGRAM, row_names=("first", "second"), column_names=("x[0]", "y")))
    assert b" x[0] first 1\n" in text
    assert b" PL bound y\n" in text


@pytest.mark.parametrize("bad", ["", "two words", "größe", "tab\there"])
def test_a_name_that_mps_cannot_hold_is_refused(bad: str) -> None:
    with pytest.raises(ProgramError, match="name"):
        mps_text(replace(PROGRAM, column_names=("x", bad)))
    with pytest.raises(ProgramError, match="name"):
        mps_text(PROGRAM, name=bad)


@pytest.mark.parametrize("names", [("x", "x"), ("x", "objective")])
def test_a_name_that_is_taken_is_refused(names: tuple[str, str]) -> None:
    with pytest.raises(ProgramError, match="used twice, or 'objective'"):
        mps_text(replace(PROGRAM, row_names=names))
