"""A linear, mixed-integer or quadratic program as free MPS text, which every solver reads.

MPS has no common way to say "maximize": the file always minimizes, with the objective negated where the program
maximizes, and says so in a comment. Numbers are written with as many digits as it takes to read the same double back.
Everything is done on arrays: a section is a table of bytes, one line per row, with the blanks that padding leaves
squeezed out; 100,000 clauses become text in a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.quadratic import MultipliedOut, QuadraticProgram

Text = NDArray[np.bytes_]
Chosen = tuple[Text, NDArray[np.int64]]
"""Texts, and the number of the one that each line takes."""


def write_mps(program: MixedIntegerProgram | QuadraticProgram, path: Path, *, name: str = "dpopt") -> None:
    """Write the program to a file as free MPS (see `mps_text`)."""
    path.write_bytes(mps_text(program, name=name))


def mps_text(
    program: MixedIntegerProgram | QuadraticProgram,
    *,
    name: str = "dpopt",
    columns: Sequence[str] = (),
    rows: Sequence[str] = (),
) -> bytes:
    """Return the program as free MPS, ASCII, in minimization form; squares multiplied out, in a section QUADOBJ.

    The objective of a program that maximizes is negated. Names have no blanks; left out: x0, x1, ... and r0, r1, ...

    Source: the free MPS format as read by CBC, HiGHS, CPLEX and Gurobi.
    """
    linear, goal = program.linear, MultipliedOut.of(program)
    costs = -goal.costs if linear.maximize else goal.costs
    labels = _names(rows, "r", linear.number_of_rows, "row")
    titles = _names(columns, "x", linear.number_of_variables, "column")
    _names((name,), "", 1, "model")
    sense = "negated objective of a maximization" if linear.maximize else "objective of a minimization"
    head = [f"* {sense}".encode("ascii"), b"NAME " + name.encode("ascii") + b" FREE", b"ROWS", b" N objective"]
    ranges = _ranges(linear, labels)
    return b"".join(
        (
            b"\n".join(head),
            b"\n",
            _row_lines(linear, labels),
            b"COLUMNS\n",
            _column_lines(linear, costs, labels, titles),
            b"RHS\n",
            f" rhs objective {-goal.constant!r}\n".encode() if goal.constant else b"",
            _right_hand_sides(linear, labels),
            b"RANGES\n" if ranges else b"",  # PuLP's reader knows no such section
            ranges,
            b"BOUNDS\n",
            _bound_lines(linear, titles),
            _squares(goal, titles),
            b"ENDATA\n",
        )
    )


def _squares(goal: MultipliedOut, columns: Text) -> bytes:
    """List one triangle of Q, where the objective is x Q x / 2 + ..."""
    if not goal.rows.size:
        return b""
    values = np.where(goal.rows == goal.columns, 2.0, 1.0) * goal.coefficients
    return b"QUADOBJ\n" + _lines(b" ", (columns, goal.rows), b" ", (columns, goal.columns), b" ", _numbers(values))


def _names(given: Sequence[str], prefix: str, size: int, kind: str) -> Text:
    if not given:
        numbered: Text = np.strings.add(prefix.encode(), np.arange(size).astype("S"))
        return numbered
    if len(given) != size:
        raise ProgramError(f"found {len(given)} {kind} names; expected {size}, or none")
    bad = [name for name in given if not name or not name.isascii() or not name.isprintable() or " " in name]
    if bad or len(set(given)) != len(given) or "objective" in given:
        shown = repr(bad[0]) if bad else "a name used twice, or 'objective'"
        raise ProgramError(f"{kind} name {shown}: MPS names are ASCII words without blanks, each used once")
    return np.array(given, dtype="S")


def _row_types(program: MixedIntegerProgram) -> Text:
    equal = program.row_lower == program.row_upper
    upper, lower = np.isfinite(program.row_upper), np.isfinite(program.row_lower)
    return np.select([equal, upper, lower], [b"E", b"L", b"G"], default=b"N").astype("S1")


def _row_lines(program: MixedIntegerProgram, rows: Text) -> bytes:
    return _lines(b" ", _row_types(program), b" ", rows)


def _column_lines(program: MixedIntegerProgram, costs: NDArray[np.float64], rows: Text, columns: Text) -> bytes:
    """List objective and matrix entries by column, integer columns between markers."""
    n, r = program.number_of_variables, program.number_of_rows
    # Integer columns first, then by column; the objective entry leads, so that no column is left out.
    place = np.empty(n, dtype=np.int64)
    place[np.argsort(~program.integrality, kind="stable")] = np.arange(n)
    keys = np.concatenate((place * (r + 1), place[program.columns] * (r + 1) + program.row_of_entry() + 1))
    order = np.argsort(keys)
    row = keys[order] % (r + 1)
    column = np.concatenate((np.arange(n), program.columns.astype(np.int64)))[order]
    value = np.concatenate((costs, program.coefficients))[order]
    labels = np.concatenate((np.array([b"objective"]), rows))
    whole = int(np.count_nonzero(program.integrality[column]))
    texts = [
        _lines(b" ", (columns, column[part]), b" ", (labels, row[part]), b" ", _numbers(value[part]))
        for part in (slice(0, whole), slice(whole, None))
    ]
    if whole:
        texts.insert(1, b" MARKER 'MARKER' 'INTEND'\n")
        texts.insert(0, b" MARKER 'MARKER' 'INTORG'\n")
    return b"".join(texts)


def _right_hand_sides(program: MixedIntegerProgram, rows: Text) -> bytes:
    side = np.where(np.isfinite(program.row_upper), program.row_upper, program.row_lower)
    used = np.isfinite(side) & (side != 0)
    return _lines(b" rhs ", rows[used], b" ", _numbers(side[used]))


def _ranges(program: MixedIntegerProgram, rows: Text) -> bytes:
    both = np.isfinite(program.row_lower) & np.isfinite(program.row_upper) & (program.row_lower < program.row_upper)
    return _lines(b" range ", rows[both], b" ", _numbers((program.row_upper - program.row_lower)[both]))


def _bound_lines(program: MixedIntegerProgram, columns: Text) -> bytes:
    """List the bounds of every variable explicitly: readers disagree about defaults of integer columns."""
    lower, upper = program.lower, program.upper
    free = np.isinf(lower) & np.isinf(upper)
    low = np.isinf(lower) & ~free
    infinite = np.isinf(upper) & ~free
    given_low = np.isfinite(lower)
    given_high = np.isfinite(upper)
    return b"".join(
        (
            _lines(b" FR bound ", columns[free]),
            _lines(b" MI bound ", columns[low]),
            _lines(b" LO bound ", columns[given_low], b" ", _numbers(lower[given_low])),
            _lines(b" UP bound ", columns[given_high], b" ", _numbers(upper[given_high])),
            _lines(b" PL bound ", columns[infinite]),
        )
    )


def _numbers(values: NDArray[np.float64]) -> Chosen:
    """Return the shortest text that reads back as the same double, per value."""
    distinct, place = np.unique(values + 0.0, return_inverse=True)
    texts = [repr(value).removesuffix(".0") for value in distinct.tolist()]
    return np.array(texts, dtype="S") if texts else np.empty(0, dtype="S1"), place


def _lines(*parts: bytes | Text | Chosen) -> bytes:
    """Return one line for each element of the arrays: the parts one after the other, and a line end.

    A part is a constant, texts (n,), or texts of which each line takes one: texts and their numbers (n,).
    """
    chosen = [(part, None) if isinstance(part, np.ndarray) else part for part in parts if not isinstance(part, bytes)]
    size = next(len(texts) if numbers is None else len(numbers) for texts, numbers in chosen)
    if size == 0:
        return b""
    pieces: list[NDArray[np.uint8]] = []
    for part in (*parts, b"\n"):
        if isinstance(part, bytes):
            pieces.append(np.broadcast_to(np.frombuffer(part, dtype=np.uint8), (size, len(part))))
        else:
            texts, numbers = (part, None) if isinstance(part, np.ndarray) else part
            table = np.ascontiguousarray(texts).view(np.uint8).reshape(len(texts), -1)
            pieces.append(table if numbers is None else table[numbers])
    flat = np.concatenate(pieces, axis=1).reshape(-1)
    text: bytes = flat[flat != 0].tobytes()  # shorter texts are padded with zeros
    return text
