"""Tables of counts over sets of attributes, and a bound on their largest sum by weak duality, in whole numbers.

The problem and its dual stand in `dpopt.queries.sensitivity.clauses`. Importing this module imports numba.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.queries.clauses import WIDEST
from dpopt.queries.counting.compiled import population_count

_NONE = np.int64(-(1 << 62))


class ClauseSets(NamedTuple):
    """m clauses ordered by their sets of attributes, their literals ordered by attribute; made by `gather`.

    Set s has the axes first_axis[s] to first_axis[s + 1] - 1 and the clauses first_clause[s] to first_clause[s + 1] -
    1. Axis x belongs to attribute axis_attribute[x]; its positions are the codes named[first_named[x]:first_named[x +
    1]] that the clauses name, increasing, and last "any other code", which exists if real_other[x]. The table of set s
    has a cell for each choice of positions, the last axis running fastest, from first_cell[s] on. Each position of each
    axis has a message, axis x from first_message[x] on. Of the clauses `positions` (m, k) are those of each literal's
    code on its axis, and `signs` (m, k) and `accepted` (m,) as in `Clauses`.
    """

    offsets: NDArray[np.int64]
    """Shape (d + 1,). Where the codes of each attribute start in an array over all codes."""
    order: NDArray[np.int64]
    """Shape (m,). Which of the clauses given to `gather` each clause is."""
    first_axis: NDArray[np.int64]
    axis_attribute: NDArray[np.int64]
    first_named: NDArray[np.int64]
    named: NDArray[np.int64]
    real_other: NDArray[np.bool_]
    first_message: NDArray[np.int64]
    first_cell: NDArray[np.int64]
    first_clause: NDArray[np.int64]
    positions: NDArray[np.int32]
    signs: NDArray[np.bool_]
    accepted: NDArray[np.uint32]

    @property
    def number(self) -> int:
        """The number of sets S."""
        return self.first_axis.size - 1

    def numbers_of_cells(self) -> NDArray[np.float64]:
        """Return for each set the number of cells of its table, in floating point, (S,)."""
        return np.multiply.reduceat(np.diff(self.first_message).astype(np.float64), self.first_axis[:-1])

    def cells_with_records(self) -> NDArray[np.int64]:
        """Return for each set how many cells exist, (S,)."""
        return np.multiply.reduceat(np.diff(self.first_named) + self.real_other, self.first_axis[:-1])

    def tables(self) -> NDArray[np.int32]:
        """Return for each cell of each table how many clauses of its set are true there."""
        tables = np.zeros(int(self.first_cell[-1]), dtype=np.int32)
        fill_tables(self, tables)
        return tables

    def distances(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return for each chosen set the largest number of its clauses that differ between two cells, else 0; (S,)."""
        found = np.zeros(self.number, dtype=np.int64)
        largest_distances(self, chosen, found)
        return found


@kernel
def fill_tables(sets: ClauseSets, tables: NDArray[np.int32]) -> None:
    """Write how many clauses of each set are true in each cell of its table.

    A clause is a function of the w indicators "the code is the one that literal j names". As a polynomial in them it
    has a coefficient for each set T of literals, which is added to the cell with the named codes on T and "other"
    elsewhere; adding "other" to every named position, axis by axis, then evaluates.
    """
    coefficients = np.empty(1 << WIDEST, dtype=np.int64)
    strides = np.empty(WIDEST, dtype=np.int64)
    lengths = np.empty(WIDEST, dtype=np.int64)
    for s in range(sets.first_axis.size - 1):
        width = _lengths(sets, s, lengths)
        table = tables[sets.first_cell[s] : sets.first_cell[s + 1]]
        cells = np.int64(1)
        for j in range(width - 1, -1, -1):
            strides[j] = cells
            cells *= lengths[j]
        for i in range(sets.first_clause[s], sets.first_clause[s + 1]):
            for subset in range(1 << width):
                true_literals = np.uint32(0)
                for j in range(width):
                    true_literals += np.uint32(((subset >> j) & 1 == 1) == sets.signs[i, j])
                coefficients[subset] = np.int64((sets.accepted[i] >> true_literals) & np.uint32(1))
            for j in range(width):
                for subset in range(1 << width):
                    if (subset >> j) & 1:
                        coefficients[subset] -= coefficients[subset ^ (1 << j)]
            for subset in range(1 << width):
                if coefficients[subset] != 0:
                    cell = np.int64(0)
                    for j in range(width):
                        position = np.int64(sets.positions[i, j]) if (subset >> j) & 1 else lengths[j] - 1
                        cell += strides[j] * position
                    table[cell] += coefficients[subset]
        for j in range(width):
            block = strides[j] * lengths[j]
            for start in range(0, cells, block):
                other = start + block - strides[j]
                for place in range(start, other):
                    table[place] += table[other + (place - start) % strides[j]]


@kernel
def _lengths(sets: ClauseSets, s: int, lengths: NDArray[np.int64]) -> int:
    """Write how many positions each axis of a set has, and return how many axes there are."""
    first: int = sets.first_axis[s]
    width: int = sets.first_axis[s + 1] - first
    for j in range(width):
        lengths[j] = sets.first_message[first + j + 1] - sets.first_message[first + j]
    return width


@kernel
def _advance(digits: NDArray[np.int64], lengths: NDArray[np.int64], width: int) -> None:
    """Go to the next cell of a table, the last axis running fastest."""
    for j in range(width - 1, -1, -1):
        digits[j] += 1
        if digits[j] < lengths[j]:
            break
        digits[j] = 0


@kernel
def largest_entries(
    sets: ClauseSets, tables: NDArray[np.int32], scale: int, messages: NDArray[np.int64], largest: NDArray[np.int64]
) -> None:
    """Write for each set the largest scale * entry - sum of messages of the cell's positions, over existing cells."""
    digits, lengths = np.empty(WIDEST, dtype=np.int64), np.empty(WIDEST, dtype=np.int64)
    for s in range(sets.first_axis.size - 1):
        first, width = sets.first_axis[s], _lengths(sets, s, lengths)
        last, cell = first + width - 1, sets.first_cell[s]
        message, count = sets.first_message[last], lengths[width - 1] - (0 if sets.real_other[last] else 1)
        digits[:width] = 0
        best = _NONE
        while cell < sets.first_cell[s + 1]:  # a row along the last axis
            outer, exists = np.int64(0), True
            for j in range(width - 1):
                outer += messages[sets.first_message[first + j] + digits[j]]
                exists &= digits[j] < lengths[j] - 1 or sets.real_other[first + j]
            if exists:
                for place in range(count):
                    value = scale * np.int64(tables[cell + place]) - messages[message + place] - outer
                    best = max(best, value)
            cell += lengths[width - 1]
            _advance(digits, lengths, width - 1)
        largest[s] = best


@kernel
def sum_messages(sets: ClauseSets, messages: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
    """Write the sum of the messages to every code: sums[offsets[a] + v] over all axes of attribute a."""
    sums[:] = 0
    for axis in range(sets.axis_attribute.size):
        start, end = sets.offsets[sets.axis_attribute[axis]], sets.offsets[sets.axis_attribute[axis] + 1]
        begin, stop = sets.first_named[axis], sets.first_named[axis + 1]
        message = sets.first_message[axis]
        sums[start:end] += messages[message + stop - begin]
        for x in range(begin, stop):
            sums[start + sets.named[x]] += messages[message + x - begin] - messages[message + stop - begin]


@kernel
def sweep_messages(
    sets: ClauseSets,
    tables: NDArray[np.int32],
    scale: int,
    messages: NDArray[np.int64],
    sums: NDArray[np.int64],
    reverse: bool,
) -> None:
    """Update the messages of every set once, in order or in reverse: block coordinate descent on the dual.

    With u what the other sets send to a code (the largest over the codes of "other") and M the largest scale * entry +
    sum of u over the cells at a position, the new message is M / w - u: the set's own term becomes 0 and no block does
    better.
    """
    first_named, named, first_message = sets.first_named, sets.named, sets.first_message
    digits, lengths = np.empty(WIDEST, dtype=np.int64), np.empty(WIDEST, dtype=np.int64)
    begins = np.empty(WIDEST + 1, dtype=np.int64)
    number = sets.first_axis.size - 1
    room = 0
    for s in range(number):
        room = max(room, first_message[sets.first_axis[s + 1]] - first_message[sets.first_axis[s]])
    incoming = np.empty(room, dtype=np.int64)
    margins = np.empty(room, dtype=np.int64)
    for turn in range(number):
        s = number - 1 - turn if reverse else turn
        first, width = sets.first_axis[s], _lengths(sets, s, lengths)
        begins[0] = 0
        for j in range(width):
            axis, count = first + j, lengths[j] - 1
            start, end = sets.offsets[sets.axis_attribute[axis]], sets.offsets[sets.axis_attribute[axis] + 1]
            begin, message, x = begins[j], first_message[axis], first_named[axis]
            begins[j + 1] = begin + lengths[j]
            others = _NONE
            for code in range(end - start):
                if x < first_named[axis + 1] and named[x] == code:
                    place = x - first_named[axis]
                    incoming[begin + place] = sums[start + code] - messages[message + place]
                    x += 1
                else:
                    others = max(others, sums[start + code])
            incoming[begin + count] = others - messages[message + count] if sets.real_other[axis] else _NONE
        margins[: begins[width]] = _NONE
        inner, cell = begins[width - 1], sets.first_cell[s]
        count = lengths[width - 1] - (0 if sets.real_other[first + width - 1] else 1)
        digits[:width] = 0
        while cell < sets.first_cell[s + 1]:  # a row along the last axis
            outer, exists = np.int64(0), True
            for j in range(width - 1):
                term = incoming[begins[j] + digits[j]]
                exists &= term != _NONE
                outer += term if term != _NONE else 0
            if exists:
                best = _NONE
                for place in range(count):
                    value = scale * np.int64(tables[cell + place]) + incoming[inner + place] + outer
                    margins[inner + place] = max(margins[inner + place], value)
                    best = max(best, value)
                for j in range(width - 1):
                    margins[begins[j] + digits[j]] = max(margins[begins[j] + digits[j]], best)
            cell += lengths[width - 1]
            _advance(digits, lengths, width - 1)
        for j in range(width):
            axis, count = first + j, lengths[j] - 1
            start, end = sets.offsets[sets.axis_attribute[axis]], sets.offsets[sets.axis_attribute[axis] + 1]
            begin, message = begins[j], first_message[axis]
            moved = np.int64(0)
            if sets.real_other[axis]:
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
def largest_distances(sets: ClauseSets, chosen: NDArray[np.bool_], found: NDArray[np.int64]) -> None:
    """Write for each chosen set the most clauses that differ between two of its cells, by comparing all pairs."""
    digits, lengths = np.empty(WIDEST, dtype=np.int64), np.empty(WIDEST, dtype=np.int64)
    for s in range(sets.first_axis.size - 1):
        if not chosen[s]:
            continue
        width = _lengths(sets, s, lengths)
        cells = np.int64(1)
        for j in range(width):
            lengths[j] -= np.int64(not sets.real_other[sets.first_axis[s] + j])
            cells *= lengths[j]
        clauses = sets.first_clause[s + 1] - sets.first_clause[s]
        words = (clauses + 63) // 64
        patterns = np.zeros((cells, words), dtype=np.uint64)
        digits[:width] = 0
        for cell in range(cells):
            for i in range(clauses):
                row = sets.first_clause[s] + i
                true_literals = np.uint32(0)
                for j in range(width):
                    true_literals += np.uint32((digits[j] == sets.positions[row, j]) == sets.signs[row, j])
                bit = np.uint64((sets.accepted[row] >> true_literals) & np.uint32(1))
                patterns[cell, i // 64] |= bit << np.uint64(i % 64)
            _advance(digits, lengths, width)
        best = np.int64(0)
        for one in range(cells):
            for two in range(one):
                distance = np.int64(0)
                for word in range(words):
                    distance += np.int64(population_count(patterns[one, word] ^ patterns[two, word]))
                best = max(best, distance)
        found[s] = best
