"""A program in bounded whole numbers as an OPB file, for pseudo-Boolean solvers.

OPB minimizes, over variables of 0 and 1, rows with ">=" or "=" and whole numbers. A whole variable between l and u is
l + sum_k 2^k b_k, with a row that keeps the sum at most u - l. The objective of a maximization is negated, and what the
bits leave out of it stands in a comment: objective = constant - value of the file (or + for a minimization).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpopt.errors import ProgramError
from dpopt.programs.mixed_integer import MixedIntegerProgram

_Terms = list[tuple[int, int]]
"""Coefficient and number of a bit, from 1."""


@dataclass(frozen=True, slots=True)
class _Bits:
    """A whole variable: least value, number of its first bit, number of bits, largest value."""

    least: int
    first: int
    number: int
    most: int

    @property
    def fits(self) -> bool:
        """Whether every choice of bits is a value."""
        return self.most - self.least == (1 << self.number) - 1

    def times(self, coefficient: int) -> _Terms:
        return [(coefficient << k, self.first + k) for k in range(self.number)]


def opb_text(program: MixedIntegerProgram, columns: Sequence[str] = ()) -> bytes:
    """Return the program as an OPB file, its variables explained by name; ProgramError if it is none in bounded whole numbers.

    Source: the format of the pseudo-Boolean competitions (Roussel and Manquinho 2012).
    """
    reason = program.why_not_whole(columns)
    if reason is not None:
        raise ProgramError(f"an .opb file holds linear programs in bounded whole numbers only; {reason}")
    variables, first = [], 1
    ends = np.ceil(program.lower).astype(int).tolist(), np.floor(program.upper).astype(int).tolist()
    for low, high in zip(*ends, strict=True):
        variables.append(_Bits(low, first, (high - low).bit_length(), high))
        first += variables[-1].number
    sign = -1 if program.maximize else 1
    costs = program.objective.astype(np.int64).tolist()
    constant = sum(cost * variable.least for cost, variable in zip(costs, variables, strict=True))
    rows = [row for place in range(program.number_of_rows) for row in _row(program, place, variables)]
    rows += [_line(one.times(-1), ">=", one.least - one.most) for one in variables if not one.fits]
    goal = [term for cost, one in zip(costs, variables, strict=True) for term in one.times(sign * cost) if cost]
    titles = columns or [f"x{number}" for number in range(len(variables))]
    head = [f"* #variable= {first - 1} #constraint= {len(rows)}"]
    head += [f"* objective = {constant} {'-' if program.maximize else '+'} value of this file"]
    head += [f"* {_meaning(title, variable)}" for title, variable in zip(titles, variables, strict=True)]
    text = "\n".join([*head, f"min: {_sum(goal)} ;", *rows, ""])
    return text.encode("ascii", "backslashreplace")


def _meaning(title: str, variable: _Bits) -> str:
    bits = [str(variable.least)] * bool(variable.least or not variable.number)
    bits += [f"{weight} x{bit}" if weight > 1 else f"x{bit}" for weight, bit in variable.times(1)]
    return f"{' '.join(title.split())} is {' + '.join(bits)}"


def _row(program: MixedIntegerProgram, place: int, variables: Sequence[_Bits]) -> list[str]:
    """Return a row of the program as one or two rows of the file."""
    entries = slice(int(program.row_starts[place]), int(program.row_starts[place + 1]))
    pairs = zip(program.columns[entries].tolist(), program.coefficients[entries].astype(np.int64).tolist(), strict=True)
    terms: _Terms = []
    shift = 0
    for column, coefficient in pairs:
        terms += variables[column].times(coefficient)
        shift += coefficient * variables[column].least
    low, high = float(program.row_lower[place]), float(program.row_upper[place])
    if low == high and low == np.round(low):
        return [_line(terms, "=", int(low) - shift)]
    found = [_line(terms, ">=", int(np.ceil(low)) - shift)] if np.isfinite(low) else []
    turned = [(-coefficient, bit) for coefficient, bit in terms]
    return found + ([_line(turned, ">=", shift - int(np.floor(high)))] if np.isfinite(high) else [])


def _sum(terms: _Terms) -> str:
    return " ".join(f"{coefficient:+d} x{bit}" for coefficient, bit in terms)


def _line(terms: _Terms, relation: str, side: int) -> str:
    return f"{_sum(terms)} {relation} {side} ;"
