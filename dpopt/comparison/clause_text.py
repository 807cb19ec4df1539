"""Weighted clauses and records as compact text, for the larger instances of the catalogue.

One line per clause: its weight, its literals "attribute=code" or "attribute!=code", and, where they are not those agreed
on for the whole text, the accepted numbers of true literals after a colon. Attributes and codes are numbered from 0:

    2 17=3 20!=5 35=0
    -1 4=1 17!=3 :0,1
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.queries.clauses import LARGEST_WIDTH, Clauses

_LINE = re.compile(r"(-?\d{1,18})((?: \d{1,9}!?=\d{1,9})*)(?: :((?:\d{1,2}(?:,\d{1,2})*)?))?")
_LITERAL = re.compile(r"(\d+)(!?)=(\d+)")
_RECORD = re.compile(r"(?:\d{1,9}=\d{1,9}\s*)*")


def clauses_from_text(text: str, accepted: Sequence[int] | None) -> tuple[Clauses, NDArray[np.int64]]:
    """Return the clauses of a text, and their weights (m,).

    Parameters
    ----------
    text
        One line per clause.
    accepted
        Accepted numbers of true literals of the clauses that name none; None: those are conjunctions.

    Raises
    ------
    ProgramError
        A line is of another form, or accepts a number that it cannot have.
    WorkloadError
        A clause names an attribute twice.
    """
    lines = text.strip("\n").splitlines()
    matches = [_LINE.fullmatch(line) for line in lines]
    if None in matches:
        wrong = matches.index(None)
        raise ProgramError(
            f"clause {wrong} is {lines[wrong]!r:.60}; expected a weight and literals such as '2 17=3 20!=5'"
        )
    parts = [match.groups() for match in matches if match is not None]
    widths = np.array([literals.count("=") for _, literals, _ in parts], dtype=np.int64)
    width = max(1, int(widths.max(initial=0)))
    if width > LARGEST_WIDTH:
        raise ProgramError(f"clause {int(widths.argmax())} has more than {LARGEST_WIDTH} literals")
    used = np.arange(width) < widths[:, None]
    found = [_LITERAL.findall(literals) for _, literals, _ in parts]
    flat = [literal for literals in found for literal in literals]
    attributes = np.full(used.shape, -1, dtype=np.int32)
    values, signs = np.zeros(used.shape, dtype=np.int32), np.zeros(used.shape, dtype=np.bool_)
    attributes[used] = [int(attribute) for attribute, _, _ in flat]
    values[used] = [int(value) for _, _, value in flat]
    signs[used] = [not negated for _, negated, _ in flat]
    numbers = [
        accepted if own is None else [int(number) for number in own.split(",") if number]
        for _, _, own in parts
    ]
    masks = [_mask(one, int(size), row) for row, (one, size) in enumerate(zip(numbers, widths, strict=True))]
    weights = np.array([int(weight) for weight, _, _ in parts], dtype=np.int64)
    return Clauses(attributes, values, signs, np.array(masks, dtype=np.uint32)), weights


def text_from_clauses(
    clauses: Clauses, weights: NDArray[np.int64], accepted: Sequence[int] | None = None
) -> str:
    """Return the text from which `clauses_from_text` reads these clauses, with the same agreed numbers."""
    lines = []
    for row, weight in enumerate(weights.tolist()):
        used = clauses.attributes[row] >= 0
        literals = [
            f" {attribute}{'=' if sign else '!='}{value}"
            for attribute, value, sign in zip(
                clauses.attributes[row][used].tolist(),
                clauses.values[row][used].tolist(),
                clauses.signs[row][used].tolist(),
                strict=True,
            )
        ]
        mask = int(clauses.accepted[row])
        numbers = [number for number in range(len(literals) + 1) if mask >> number & 1]
        agreed = [len(literals)] if accepted is None else sorted(set(accepted))
        own = "" if numbers == agreed else f" :{','.join(map(str, numbers))}"
        lines.append(f"{weight}{''.join(literals)}{own}\n")
    return "".join(lines)


def record_from_text(text: str, attributes: int) -> NDArray[np.int32]:
    """Return the record (d,) that a text of "attribute=code" gives; attributes that it leaves out have code 0.

    Raises
    ------
    ProgramError
        The text is of another form, or names an attribute that is not there.
    """
    if _RECORD.fullmatch(text.strip()) is None:
        raise ProgramError(f"a record is text such as '3=5 7=1'; found {text!r:.60}")
    record = np.zeros(attributes, dtype=np.int32)
    for attribute, _, code in _LITERAL.findall(text):
        if int(attribute) >= attributes:
            raise ProgramError(f"the record names attribute {attribute}; there are {attributes}")
        record[int(attribute)] = int(code)
    return record


def text_from_record(record: NDArray[np.int32]) -> str:
    """Return the text from which `record_from_text` reads this record."""
    named = np.flatnonzero(record)
    return " ".join(
        f"{attribute}={code}" for attribute, code in zip(named.tolist(), record[named].tolist(), strict=True)
    )


def _mask(numbers: Sequence[int] | None, width: int, row: int) -> int:
    if numbers is None:
        return 1 << width
    if any(not 0 <= number <= width for number in numbers):
        raise ProgramError(f"clause {row}: accepted numbers of true literals lie between 0 and {width}")
    return sum(1 << number for number in set(numbers))
