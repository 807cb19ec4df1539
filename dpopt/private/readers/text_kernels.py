"""The compiled loops over text: lines to fields, fields to numbers. Importing this module imports numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel

PART, SEPARATOR, TRIMMED, COMMENT = 0, 1, 2, 3
"""Kinds of bytes. Trimmed bytes belong to a field only inside of it; a comment begins only at the begin of a line."""

GOOD, OPEN_QUOTE, AFTER_QUOTE = 0, 1, 2
"""The state of a record: it has fields; a quote is not closed in it; a character follows a closed quote."""

_NEWLINE, _RETURN, _QUOTE = 10, 13, 34


@kernel
def split_lines(
    block: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    runs: bool,
    quotes: bool,
    multiline: bool,
    data: NDArray[np.uint8],
    ends: NDArray[np.int32],
    firsts: NDArray[np.int32],
    starts: NDArray[np.int32],
    bad: NDArray[np.uint8],
) -> int:
    """Divide records into fields and return their number; the bytes of all fields go to `data`, one after the other.

    Each record is divided independently: it ends with its line, whatever stands in it, unless `multiline`. A line ends
    with a newline, and a carriage return right before it. A byte order mark at the begin of a record is left out. A
    quote is an ordinary character but at the begin of a field. Comments, and lines without anything but trimmed bytes,
    have no field.

    The `block` (b,) has whole lines, each ended by a newline, `kinds` (256,) the kind of each byte. With `runs`,
    separators in a row are one, and fields are never empty (but in quotes); else each separator ends a field. With
    `quotes`, a field may stand in quotes, with quotes doubled inside of it; with `multiline` it may then hold line ends,
    and the last record may be torn: it is not counted. Written are `data` (b,); in `ends` (b + 2,) at i + 1 the end of
    field i in `data`; in `firsts` (lines + 1,) at r + 1 the number of fields of records up to r; in `starts` (lines +
    1,) at r + 1 the end of record r in `block`; in `bad` (lines,) what becomes of record r. A bad one has no fields.
    """
    fields = records = position = begin = last = 0
    quoted = closed = False
    state = GOOD
    ends[0] = firsts[0] = starts[0] = 0
    while position < block.size:
        byte = block[position]
        if (
            position == starts[records]
            and byte == 0xEF
            and position + 2 < block.size
            and block[position + 1] == 0xBB
            and block[position + 2] == 0xBF
        ):
            position += 3
            byte = block[position]
        position += 1
        if quoted:
            if byte == _QUOTE:  # a newline follows the last byte that can be a quote
                if block[position] == _QUOTE:
                    position += 1
                    data[begin] = byte
                    begin += 1
                else:
                    quoted, closed = False, True
                    last = begin
            elif byte == _NEWLINE and not multiline:
                quoted = False
                state = OPEN_QUOTE
            else:
                data[begin] = byte
                begin += 1
            if state == GOOD:
                continue
        start = ends[fields]
        ended = byte == _NEWLINE or (byte == _RETURN and block[position] == _NEWLINE)
        kind = kinds[byte]
        if not ended and kind == COMMENT:
            if fields == firsts[records] and begin == start and not closed:
                while block[position] != _NEWLINE:
                    position += 1
                continue
            kind = PART
        if not ended and kind == PART:
            if closed:
                state = AFTER_QUOTE
                while block[position] != _NEWLINE:
                    position += 1
                position += 1
                ended = True
            elif quotes and byte == _QUOTE and begin == start:
                quoted = True
                continue
            else:
                data[begin] = byte
                begin += 1
                last = begin
                continue
        elif not ended and kind == TRIMMED:
            if begin > start and not closed:
                data[begin] = byte
                begin += 1
            continue
        elif byte == _RETURN and ended:
            position += 1
        if state != GOOD:
            fields = firsts[records]
            begin = ends[fields]
        else:
            begin = max(last, start)
            empty = begin == start and not closed
            if not (empty and (runs or (ended and fields == firsts[records]))):
                fields += 1
                ends[fields] = begin
        closed = False
        last = begin
        if ended:
            bad[records] = state
            records += 1
            firsts[records] = fields
            starts[records] = position
            state = GOOD
    return records


@kernel
def numbers_of_fields(data: NDArray[np.uint8], ends: NDArray[np.int32], first: int, width: int) -> NDArray[np.int64]:
    """Return the number of each field less `first`, -1 where it is not a whole number from `first` to `first` + `width` - 1."""
    found = np.empty(ends.size - 1, np.int64)
    for field in range(found.size):
        number = np.int64(0)
        fits = ends[field + 1] > ends[field]
        for place in range(ends[field], ends[field + 1]):
            digit = np.int64(data[place]) - 48
            if digit < 0 or digit > 9:
                fits = False
                break
            number = 10 * number + digit
            if number >= first + width:
                fits = False
                break
        found[field] = number - first if fits and number >= first else -1
    return found
