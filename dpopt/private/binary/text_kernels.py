"""The compiled loops over text: lines to fields, fields to numbers. Importing this module imports numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.queries.compilation import kernel

PART, SEPARATOR, NEWLINE, TRIMMED = 0, 1, 2, 3
"""Kinds of bytes. What is trimmed belongs to a field inside of it only."""

QUOTE = 34


@kernel
def split_lines(
    block: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    runs: bool,
    quotes: bool,
    data: NDArray[np.uint8],
    ends: NDArray[np.int32],
    counts: NDArray[np.int32],
) -> tuple[int, int, bool]:
    """Divide lines into fields; the bytes of all fields go to `data`, one after the other.

    Parameters
    ----------
    block : (b,) uint8
        Whole lines, each ended by a newline.
    kinds : (256,) uint8
        The kind of each byte.
    runs
        Whether separators in a row are one, and fields are never empty; else each separator ends a field, and a line without
        anything but trimmed bytes has no field.
    quotes
        Whether a field may stand in quotes, with quotes doubled inside of it.
    data : (b,) uint8
        Written to.
    ends : (b + 2,) int32
        ends[i + 1] is set to the end of field i in `data`.
    counts : (b + 1,) int32
        counts[l] is set to the number of fields of line l.

    Returns
    -------
    fields, lines : int
    whole : bool
        False if a quote is not closed properly; then in the line after the last one that is counted.
    """
    fields = lines = here = position = begin = last = 0
    quoted = closed = False
    ends[0] = 0
    while position < block.size:
        byte = block[position]
        kind = kinds[byte]
        position += 1
        if quoted:
            if (
                byte == QUOTE and block[position] != QUOTE
            ):  # a newline follows the last byte that can be a quote
                quoted, closed = False, True
                last = begin
            elif kind == NEWLINE:
                return fields, lines, False
            else:
                if byte == QUOTE:
                    position += 1
                data[begin] = byte
                begin += 1
            continue
        start = ends[fields]
        if kind == PART:
            if closed:
                return fields, lines, False
            if quotes and byte == QUOTE and begin == start:
                quoted = True
                continue
            data[begin] = byte
            begin += 1
            last = begin
        elif kind == TRIMMED:
            if begin > start and not closed:
                data[begin] = byte
                begin += 1
        else:
            begin = max(last, start)
            empty = begin == start and not closed
            if not (empty and (runs or (kind == NEWLINE and here == 0))):
                fields += 1
                here += 1
                ends[fields] = begin
            closed = False
            last = begin
            if kind == NEWLINE:
                counts[lines] = here
                lines += 1
                here = 0
    return fields, lines, True


@kernel
def numbers_of_fields(
    data: NDArray[np.uint8], ends: NDArray[np.int32], first: int, width: int
) -> NDArray[np.int32]:
    """Return the number of each field less `first`, -1 where it is no whole number from `first` to `first` + `width` - 1."""
    found = np.empty(ends.size - 1, np.int32)
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
