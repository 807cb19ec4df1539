"""A MixedIntegerProgram as free MPS text, which every solver reads.

MPS has no common way to say "maximize": the file always minimizes, with the objective negated where the program
maximizes, and says so in a comment. Numbers are written with as many digits as it takes to read the same double
back. Everything is done on arrays: 100,000 clauses become text in about a second.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.mixed_integer import MixedIntegerProgram

Text = NDArray[np.bytes_]


def write_mps(program: MixedIntegerProgram, path: Path, *, name: str = "dpopt") -> None:
    """Write the program to a file as free MPS (see `mps_text`)."""
    path.write_bytes(mps_text(program, name=name))


def mps_text(program: MixedIntegerProgram, *, name: str = "dpopt") -> bytes:
    """Return the program as free MPS, ASCII, in minimization form.

    Parameters
    ----------
    program
        The program. Its objective is negated if it maximizes.
    name
        Name of the model, without blanks.

    Raises
    ------
    ProgramError
        A name that MPS cannot hold (blank, empty, not ASCII, twice).

    Source: the free MPS format as read by CBC, HiGHS, CPLEX and Gurobi.
    """
    rows = _names(program.row_names, "r", program.number_of_rows, "row")
    columns = _names(program.column_names, "x", program.number_of_variables, "column")
    _names((name,), "", 1, "model")
    sense = "negated objective of a maximization" if program.maximize else "objective of a minimization"
    head = [
        f"* {sense}".encode("ascii"),
        b"NAME " + name.encode("ascii") + b" FREE",
        b"ROWS",
        b" N objective",
    ]
    ranges = _ranges(program, rows)
    sections = (
        head,
        _row_lines(program, rows),
        [b"COLUMNS"],
        _column_lines(program, rows, columns),
        [b"RHS"],
        _right_hand_sides(program, rows),
        [b"RANGES"] if ranges else [],  # PuLP's reader knows no such section
        ranges,
        [b"BOUNDS"],
        _bound_lines(program, columns),
        [b"ENDATA", b""],
    )
    return b"\n".join(line for section in sections for line in section)


def _names(given: tuple[str, ...], prefix: str, size: int, kind: str) -> Text:
    if not given:
        numbered: Text = np.strings.add(prefix.encode(), np.arange(size).astype("S"))
        return numbered
    bad = [name for name in given if not name or not name.isascii() or not name.isprintable() or " " in name]
    if bad or len(set(given)) != len(given) or "objective" in given:
        shown = repr(bad[0]) if bad else "a name used twice, or 'objective'"
        raise ProgramError(f"{kind} name {shown}: MPS names are ASCII words without blanks, each used once")
    return np.array(given, dtype="S")


def _row_types(program: MixedIntegerProgram) -> Text:
    equal = program.row_lower == program.row_upper
    upper, lower = np.isfinite(program.row_upper), np.isfinite(program.row_lower)
    return np.select([equal, upper, lower], [b"E", b"L", b"G"], default=b"N").astype("S1")


def _row_lines(program: MixedIntegerProgram, rows: Text) -> list[bytes]:
    return _join(b" ", _row_types(program), b" ", rows)


def _column_lines(program: MixedIntegerProgram, rows: Text, columns: Text) -> list[bytes]:
    """List objective and matrix entries by column, integer columns between markers."""
    sign = -1.0 if program.maximize else 1.0
    n = program.number_of_variables
    row = np.concatenate((np.full(n, -1, dtype=np.int64), program.row_of_entry()))
    column = np.concatenate((np.arange(n, dtype=np.int64), program.columns.astype(np.int64)))
    value = np.concatenate((sign * program.objective, program.coefficients))
    # Integer columns first, then by column; the objective entry (row -1) leads, so that no column is left out.
    order = np.lexsort((row, column, ~program.integrality[column]))
    row, column, value = row[order], column[order], value[order]
    labels = np.concatenate((rows, np.array([b"objective"])))  # index -1 is the objective
    lines = _join(b" ", columns[column], b" ", labels[row], b" ", _numbers(value))
    whole = int(np.count_nonzero(program.integrality[column]))
    if whole:
        lines.insert(whole, b" MARKER 'MARKER' 'INTEND'")
        lines.insert(0, b" MARKER 'MARKER' 'INTORG'")
    return lines


def _right_hand_sides(program: MixedIntegerProgram, rows: Text) -> list[bytes]:
    side = np.where(np.isfinite(program.row_upper), program.row_upper, program.row_lower)
    used = np.isfinite(side) & (side != 0)
    return _join(b" rhs ", rows[used], b" ", _numbers(side[used]))


def _ranges(program: MixedIntegerProgram, rows: Text) -> list[bytes]:
    both = (
        np.isfinite(program.row_lower)
        & np.isfinite(program.row_upper)
        & (program.row_lower < program.row_upper)
    )
    return _join(b" range ", rows[both], b" ", _numbers((program.row_upper - program.row_lower)[both]))


def _bound_lines(program: MixedIntegerProgram, columns: Text) -> list[bytes]:
    """List the bounds of every variable explicitly: readers disagree about defaults of integer columns."""
    lower, upper = program.lower, program.upper
    free = np.isinf(lower) & np.isinf(upper)
    low = np.isinf(lower) & ~free
    infinite = np.isinf(upper) & ~free
    given_low = np.isfinite(lower)
    given_high = np.isfinite(upper)
    return [
        *_join(b" FR bound ", columns[free]),
        *_join(b" MI bound ", columns[low]),
        *_join(b" LO bound ", columns[given_low], b" ", _numbers(lower[given_low])),
        *_join(b" UP bound ", columns[given_high], b" ", _numbers(upper[given_high])),
        *_join(b" PL bound ", columns[infinite]),
    ]


def _numbers(values: NDArray[np.float64]) -> Text:
    """Return the shortest text that reads back as the same double, per value."""
    distinct, place = np.unique(values + 0.0, return_inverse=True)
    texts = [repr(value).removesuffix(".0") for value in distinct.tolist()]
    return np.array(texts, dtype="S")[place] if texts else np.empty(0, dtype="S1")


def _join(*parts: bytes | Text) -> list[bytes]:
    total: Text | bytes = parts[0]
    for part in parts[1:]:
        total = np.strings.add(total, part)
    lines: list[bytes] = np.atleast_1d(np.asarray(total)).tolist()
    return lines
