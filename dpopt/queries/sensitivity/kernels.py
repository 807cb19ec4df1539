"""Tables of counts over sets of attributes, and a bound on their largest sum by weak duality, in whole numbers.

The problem and its dual stand in `dpopt.queries.sensitivity.clauses`. Set s of attributes has the axes first_axis[s] to
first_axis[s + 1] - 1. Axis x belongs to attribute axis_attribute[x] and names the codes
named[first_named[x]:first_named[x + 1]], in increasing order; its positions are these codes and, last, "any other code", which
real_other[x] says exists.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.queries.clauses import WIDEST

_NONE = np.int64(-(1 << 62))


@kernel
def fill_tables(
    first_axis: NDArray[np.int64],
    first_named: NDArray[np.int64],
    first_cell: NDArray[np.int64],
    first_clause: NDArray[np.int64],
    positions: NDArray[np.int32],
    signs: NDArray[np.bool_],
    accepted: NDArray[np.uint32],
    tables: NDArray[np.int32],
) -> None:
    """Write how many clauses of each set are true in each cell of its table; clauses are ordered by set.

    positions and signs are (m, k), in the order of the axes. A clause is a function of the w indicators "the code is the one
    that literal j names". As a polynomial in them it has a coefficient for each set T of literals, which is added to the cell
    with the named codes on T and "other" elsewhere; adding "other" to every named position, axis by axis, then evaluates.
    """
    coefficients = np.empty(1 << WIDEST, dtype=np.int64)
    strides = np.empty(WIDEST, dtype=np.int64)
    lengths = np.empty(WIDEST, dtype=np.int64)
    for s in range(first_axis.size - 1):
        width = first_axis[s + 1] - first_axis[s]
        table = tables[first_cell[s] : first_cell[s + 1]]
        cells = np.int64(1)
        for j in range(width - 1, -1, -1):
            axis = first_axis[s] + j
            lengths[j] = first_named[axis + 1] - first_named[axis] + 1
            strides[j] = cells
            cells *= lengths[j]
        for i in range(first_clause[s], first_clause[s + 1]):
            for subset in range(1 << width):
                true_literals = np.uint32(0)
                for j in range(width):
                    true_literals += np.uint32(((subset >> j) & 1 == 1) == signs[i, j])
                coefficients[subset] = np.int64((accepted[i] >> true_literals) & np.uint32(1))
            for j in range(width):
                for subset in range(1 << width):
                    if (subset >> j) & 1:
                        coefficients[subset] -= coefficients[subset ^ (1 << j)]
            for subset in range(1 << width):
                if coefficients[subset] != 0:
                    cell = np.int64(0)
                    for j in range(width):
                        position = np.int64(positions[i, j]) if (subset >> j) & 1 else lengths[j] - 1
                        cell += strides[j] * position
                    table[cell] += coefficients[subset]
        for j in range(width):
            block = strides[j] * lengths[j]
            for start in range(0, cells, block):
                other = start + block - strides[j]
                for place in range(start, other):
                    table[place] += table[other + (place - start) % strides[j]]


@kernel
def largest_entries(
    first_axis: NDArray[np.int64],
    first_named: NDArray[np.int64],
    real_other: NDArray[np.bool_],
    first_cell: NDArray[np.int64],
    tables: NDArray[np.int32],
    scale: int,
    messages: NDArray[np.int64],
    first_message: NDArray[np.int64],
    largest: NDArray[np.int64],
) -> None:
    """Write for each set the largest scale * entry - sum of the messages of the cell's positions, over cells that exist."""
    digits = np.empty(WIDEST, dtype=np.int64)
    for s in range(first_axis.size - 1):
        first, width = first_axis[s], first_axis[s + 1] - first_axis[s]
        digits[:width] = 0
        best = _NONE
        for cell in range(first_cell[s], first_cell[s + 1]):
            value = scale * np.int64(tables[cell])
            exists = True
            for j in range(width):
                value -= messages[first_message[first + j] + digits[j]]
                last = first_named[first + j + 1] - first_named[first + j]
                exists &= digits[j] < last or real_other[first + j]
            if exists and value > best:
                best = value
            for j in range(width - 1, -1, -1):
                digits[j] += 1
                if digits[j] <= first_named[first + j + 1] - first_named[first + j]:
                    break
                digits[j] = 0
        largest[s] = best


@kernel
def sum_messages(
    axis_attribute: NDArray[np.int64],
    first_named: NDArray[np.int64],
    named: NDArray[np.int64],
    messages: NDArray[np.int64],
    first_message: NDArray[np.int64],
    offsets: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Write the sum of the messages to every code: sums[offsets[a] + v] over all axes of attribute a."""
    sums[:] = 0
    for axis in range(axis_attribute.size):
        start, end = offsets[axis_attribute[axis]], offsets[axis_attribute[axis] + 1]
        begin, stop = first_named[axis], first_named[axis + 1]
        message = first_message[axis]
        sums[start:end] += messages[message + stop - begin]
        for x in range(begin, stop):
            sums[start + named[x]] += messages[message + x - begin] - messages[message + stop - begin]


@kernel
def sweep_messages(
    first_axis: NDArray[np.int64],
    axis_attribute: NDArray[np.int64],
    first_named: NDArray[np.int64],
    named: NDArray[np.int64],
    real_other: NDArray[np.bool_],
    first_cell: NDArray[np.int64],
    tables: NDArray[np.int32],
    scale: int,
    messages: NDArray[np.int64],
    first_message: NDArray[np.int64],
    offsets: NDArray[np.int64],
    sums: NDArray[np.int64],
    reverse: bool,
) -> None:
    """Update the messages of every set once, in order or in reverse: block coordinate descent on the dual.

    With u what the other sets send to a code (the largest over the codes of "other") and M the largest scale * entry + sum of u
    over the cells at a position, the new message is M / w - u: the set's own term becomes 0 and no block does better.
    """
    digits = np.empty(WIDEST, dtype=np.int64)
    begins = np.empty(WIDEST + 1, dtype=np.int64)
    room = 0
    for s in range(first_axis.size - 1):
        first, last = first_axis[s], first_axis[s + 1]
        room = max(room, first_named[last] - first_named[first] + last - first)
    incoming = np.empty(room, dtype=np.int64)
    margins = np.empty(room, dtype=np.int64)
    sets = first_axis.size - 1
    for turn in range(sets):
        s = sets - 1 - turn if reverse else turn
        first, width = first_axis[s], first_axis[s + 1] - first_axis[s]
        begins[0] = 0
        for j in range(width):
            axis = first + j
            count = first_named[axis + 1] - first_named[axis]
            start, end = offsets[axis_attribute[axis]], offsets[axis_attribute[axis] + 1]
            begin, message, x = begins[j], first_message[axis], first_named[axis]
            begins[j + 1] = begin + count + 1
            others = _NONE
            for code in range(end - start):
                if x < first_named[axis + 1] and named[x] == code:
                    place = x - first_named[axis]
                    incoming[begin + place] = sums[start + code] - messages[message + place]
                    x += 1
                else:
                    others = max(others, sums[start + code])
            incoming[begin + count] = others - messages[message + count] if real_other[axis] else _NONE
        margins[: begins[width]] = _NONE
        digits[:width] = 0
        for cell in range(first_cell[s], first_cell[s + 1]):
            value = scale * np.int64(tables[cell])
            exists = True
            for j in range(width):
                term = incoming[begins[j] + digits[j]]
                exists &= term != _NONE
                value += term if term != _NONE else 0
            if exists:
                for j in range(width):
                    margins[begins[j] + digits[j]] = max(margins[begins[j] + digits[j]], value)
            for j in range(width - 1, -1, -1):
                digits[j] += 1
                if digits[j] < begins[j + 1] - begins[j]:
                    break
                digits[j] = 0
        for j in range(width):
            axis = first + j
            count = first_named[axis + 1] - first_named[axis]
            start, end = offsets[axis_attribute[axis]], offsets[axis_attribute[axis] + 1]
            begin, message = begins[j], first_message[axis]
            moved = np.int64(0)
            if real_other[axis]:
                new = margins[begin + count] // width - incoming[begin + count]
                moved = new - messages[message + count]
                messages[message + count] = new
                sums[start:end] += moved
            for x in range(first_named[axis], first_named[axis + 1]):
                place = x - first_named[axis]
                new = margins[begin + place] // width - incoming[begin + place]
                sums[start + named[x]] += new - messages[message + place] - moved
                messages[message + place] = new


@kernel
def largest_distances(
    first_axis: NDArray[np.int64],
    first_named: NDArray[np.int64],
    real_other: NDArray[np.bool_],
    chosen: NDArray[np.bool_],
    first_clause: NDArray[np.int64],
    positions: NDArray[np.int32],
    signs: NDArray[np.bool_],
    accepted: NDArray[np.uint32],
    found: NDArray[np.int64],
) -> None:
    """Write for each chosen set the largest number of its clauses that differ between two of its cells; compares all pairs."""
    digits = np.empty(WIDEST, dtype=np.int64)
    for s in range(first_axis.size - 1):
        if not chosen[s]:
            continue
        first, width = first_axis[s], first_axis[s + 1] - first_axis[s]
        cells = np.int64(1)
        for j in range(width):
            cells *= first_named[first + j + 1] - first_named[first + j] + np.int64(real_other[first + j])
        clauses = first_clause[s + 1] - first_clause[s]
        words = (clauses + 63) // 64
        patterns = np.zeros((cells, words), dtype=np.uint64)
        digits[:width] = 0
        for cell in range(cells):
            for i in range(clauses):
                row = first_clause[s] + i
                true_literals = np.uint32(0)
                for j in range(width):
                    true_literals += np.uint32((digits[j] == positions[row, j]) == signs[row, j])
                bit = np.uint64((accepted[row] >> true_literals) & np.uint32(1))
                patterns[cell, i // 64] |= bit << np.uint64(i % 64)
            for j in range(width - 1, -1, -1):
                digits[j] += 1
                named = first_named[first + j + 1] - first_named[first + j]
                if digits[j] < named + np.int64(real_other[first + j]):
                    break
                digits[j] = 0
        best = np.int64(0)
        for one in range(cells):
            for two in range(one):
                distance = np.int64(0)
                for word in range(words):
                    distance += _bits(patterns[one, word] ^ patterns[two, word])
                best = max(best, distance)
        found[s] = best


@kernel
def _bits(word: np.uint64) -> np.int64:
    """Return the number of bits that are set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
