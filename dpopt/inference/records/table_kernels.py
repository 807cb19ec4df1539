"""Compiled tables of marginals and costs of codes in them; one-way sums, and the nearest probability vectors.

Importing this module imports numba.

The table of a marginal keeps for every cell its *price*: SCALE * (count - target + 1/2) as a whole number, where count
is the number of records in the cell and target what it should be. With the record under consideration taken out, the
price of its cell is what f changes by if it is put there: ((R + 1)^2 - R^2) / 2 = R + 1/2. Whole numbers do not drift,
whatever the number of moves.

A marginal of k attributes has k tables, in each of which another attribute runs fastest: the prices of all codes of an
attribute, given the others, are then one run of memory. A *slot* is a pair of a marginal and one of its attributes; it
owns one of these tables. The place of the current record in every slot's table is kept step by step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import LANES, kernel, part, sum_rows


class Tables(NamedTuple):
    """M marginals with e slots laid out for the search; d attributes, c groups of slots of equal attribute and codes.

    Slots are in the order of their groups, groups in that of their attributes: a visit of an attribute reads one
    stretch of each array. Padding names the spare group c, whose only position is 0.
    """

    prices: NDArray[np.int32]  # (p + LANES,) the tables of all slots; int64 where int32 does not hold them
    scale: int  # SCALE, even
    weights: NDArray[np.float64]  # (e,) what a unit of price counts
    firsts: NDArray[np.int64]  # (e,) where the slot's table begins
    others: NDArray[np.int64]  # (e, k - 1) groups of the marginal's other attributes
    other_steps: NDArray[np.int64]  # (e, k - 1) by how much the cell moves with the position in that group
    slots: NDArray[np.int64]  # (M, k) the slots of the marginal; -1 in padding
    steps: NDArray[np.int64]  # (e, k) by how much the cell moves with the position in each of the marginal's groups
    group_start: NDArray[np.int64]  # (d + 1,) groups of each attribute
    group_attribute: NDArray[np.int64]  # (c,)
    slot_start: NDArray[np.int64]  # (c + 1,) slots of each group
    code_start: NDArray[np.int64]  # (c + 1,) codes of each group, by position
    group_code: NDArray[np.int64]
    place_start: NDArray[np.int64]  # (c,) first of the positions of each group
    group_place: NDArray[np.int64]  # position of every code of the attribute, -1 if cells leave it out


class Place(NamedTuple):
    """Where one record stands in the tables, and where it is counted: at home. Visits change no price.

    The group c is spare: it is always at home at position 0.
    """

    position: NDArray[np.int64]  # (c + 1,) position of the record's code in each group, -1 if it is left out
    home: NDArray[np.int64]  # (c + 1,) the same of the code with which it is counted
    state: NDArray[np.int64]  # (c + 1,) 1 if it is not at home, plus LEFT_OUT if the code is left out
    rows: NDArray[np.int64]  # room to work in, as long as there are slots in a group
    charges: NDArray[np.float64]  # the same
    sums: NDArray[np.float64]  # room to work in, as long as the largest group, rounded up to LANES


LEFT_OUT = 1 << 16


@part
def positions_of(
    tables: Tables, first_column: NDArray[np.int64], chosen: NDArray[np.int64], positions: NDArray[np.int64]
) -> None:
    """Write the position in each group (c + 1,) of a record of these flat columns (d,)."""
    for group in range(tables.group_attribute.size):
        attribute = tables.group_attribute[group]
        code = chosen[attribute] - first_column[attribute]
        positions[group] = tables.group_place[tables.place_start[group] + code]


@part
def put(tables: Tables, place: Place, first_column: NDArray[np.int64], chosen: NDArray[np.int64]) -> None:
    """Let a record of these flat columns (d,) be at home there."""
    positions_of(tables, first_column, chosen, place.home)
    for group in range(tables.group_attribute.size):
        place.position[group] = place.home[group]
        place.state[group] = LEFT_OUT if place.home[group] < 0 else 0


@part
def enter(tables: Tables, home: NDArray[np.int64], position: NDArray[np.int64], first: int, last: int) -> None:
    """Count a record that was at home at some positions (c + 1,) at others, in the tables of the slots first .. last - 1."""
    for group in range(tables.group_attribute.size):
        begin, end = max(first, tables.slot_start[group]), min(last, tables.slot_start[group + 1])
        for slot in range(begin, end):
            before, was = tables.firsts[slot] + home[group], home[group]
            after, now = tables.firsts[slot] + position[group], position[group]
            for turn in range(tables.others.shape[1]):
                other, step = np.uint64(tables.others[slot, turn]), tables.other_steps[slot, turn]
                before += home[other] * step
                after += position[other] * step
                was |= home[other]  # negative where a code is left out
                now |= position[other]
            if before == after and (was ^ now) >= 0:
                continue
            if was >= 0:
                tables.prices[np.uint64(before)] -= tables.scale
            if now >= 0:
                tables.prices[np.uint64(after)] += tables.scale


TOGETHER = 1024
"""Records that are counted at a time: where they stand stays in the cache, and so does the table of a slot."""


@kernel
def count_all(tables: Tables, records: NDArray[np.int32], first: int, last: int) -> None:
    """Add records (r, d) to the prices of their cells, each once, in the tables of the slots first .. last - 1."""
    groups = tables.group_attribute.size
    positions = np.zeros((groups + 1, TOGETHER), dtype=np.int64)
    cells, sign = np.empty(TOGETHER, dtype=np.int64), np.empty(TOGETHER, dtype=np.int64)
    for first_row in range(0, records.shape[0], TOGETHER):
        number = min(TOGETHER, records.shape[0] - first_row)
        for group in range(groups):
            attribute, place = tables.group_attribute[group], tables.place_start[group]
            for row in range(number):
                positions[group, row] = tables.group_place[place + records[first_row + row, attribute]]
        for group in range(groups):
            begin, end = max(first, tables.slot_start[group]), min(last, tables.slot_start[group + 1])
            for slot in range(begin, end):
                for row in range(number):
                    cells[row] = tables.firsts[slot] + positions[group, row]
                    sign[row] = positions[group, row]
                for turn in range(tables.others.shape[1]):
                    own, step = positions[tables.others[slot, turn]], tables.other_steps[slot, turn]
                    for row in range(number):
                        cells[row] += own[row] * step
                        sign[row] |= own[row]  # negative where a code is left out
                for row in range(number):
                    if sign[row] >= 0:
                        tables.prices[np.uint64(cells[row])] += tables.scale


@part
def add_rows(tables: Tables, place: Place, slots: int, size: int) -> None:
    """Write the sums of this number of rows of prices, each times its charge, to `place.sums`."""
    prices = tables.prices
    if size == 2:  # eight lanes would be four times the work
        zero = one = 0.0
        for slot in range(slots):
            row, weight = np.uint64(place.rows[slot]), place.charges[slot]
            zero += weight * prices[row]
            one += weight * prices[row + np.uint64(1)]
        place.sums[0], place.sums[1] = zero, one
        return
    for first in range(0, size, LANES):
        sum_rows(prices, place.rows, place.charges, slots, first, place.sums)


@part
def add_costs(tables: Tables, place: Place, attribute: int, own: int, costs: NDArray[np.float64]) -> None:
    """Add the tables' charges for each code of the attribute to `costs`, the others unchanged.

    With `own` 1 the record counts at home in the prices, and is taken out of them.
    """
    for group in range(tables.group_start[attribute], tables.group_start[attribute + 1]):
        size = tables.code_start[group + 1] - tables.code_start[group]
        number, counted = 0, 0.0
        for slot in range(tables.slot_start[group], tables.slot_start[group + 1]):
            state, row = 0, tables.firsts[slot]
            for turn in range(tables.others.shape[1]):
                other = tables.others[slot, turn]
                state += place.state[other]
                row += place.position[other] * tables.other_steps[slot, turn]
            if state < LEFT_OUT:
                place.rows[number] = row
                place.charges[number] = tables.weights[slot]
                number += 1
                if state == 0:
                    counted += tables.weights[slot]
        add_rows(tables, place, number, size)
        home = place.home[group]
        if own and home >= 0:
            place.sums[home] -= counted * tables.scale
        first = tables.code_start[group]
        for i in range(size):
            costs[tables.group_code[first + i]] += place.sums[i]


@part
def shift(tables: Tables, place: Place, attribute: int, new: int) -> None:
    """Give the record another code; it stays counted at home."""
    for group in range(tables.group_start[attribute], tables.group_start[attribute + 1]):
        position = tables.group_place[tables.place_start[group] + new]
        place.position[group] = position
        place.state[group] = np.int64(position != place.home[group]) + (LEFT_OUT if position < 0 else 0)


@kernel
def write_prices(
    tables: Tables,
    first_marginal: int,
    starts: NDArray[np.int64],
    shapes: NDArray[np.int64],
    values: NDArray[np.float64],
    factor: float,
    offset: int,
) -> None:
    """Write `offset` less `factor` times a value, rounded, to the cells of the marginals from `first_marginal` on.

    The cells of the m marginals, of shapes (m, k), begin at starts (m,) of `values`. With factor N * SCALE and offset
    SCALE / 2 these are the prices without records of values that are shares.
    """
    digits = np.zeros(shapes.shape[1], dtype=np.int64)
    for marginal in range(starts.size):
        slots = tables.slots[first_marginal + marginal]
        cells, width = 1, 0
        for turn in range(slots.size):
            if slots[turn] >= 0:
                cells *= shapes[marginal, turn]
                width += 1
        for slot in slots[:width]:
            index = tables.firsts[slot]
            digits[:] = 0
            for cell in range(cells):
                tables.prices[index] = offset - rounded(values[starts[marginal] + cell] * factor)
                for turn in range(width - 1, -1, -1):
                    digits[turn] += 1
                    index += tables.steps[slot, turn]
                    if digits[turn] < shapes[marginal, turn]:
                        break
                    index -= digits[turn] * tables.steps[slot, turn]
                    digits[turn] = 0


@kernel
def rounded(number: float) -> int:
    """Return the nearest whole number, the larger one of two."""
    return math.floor(number + 0.5)


@kernel
def squared_errors(
    tables: Tables,
    first_marginal: int,
    starts: NDArray[np.int64],
    cells: NDArray[np.int64],
    values: NDArray[np.float64],
    records: float,
) -> float:
    """Return the sum of (count / records - value)^2 over the cells of some marginals, counts taken from the prices exactly."""
    total = 0.0
    for marginal in range(starts.size):
        slot = -1  # the slot of the last attribute: its table is in the order of the cells
        for turn in range(tables.slots.shape[1]):
            if tables.slots[first_marginal + marginal, turn] >= 0:
                slot = tables.slots[first_marginal + marginal, turn]
        place = tables.firsts[slot]
        for cell in range(cells[marginal]):
            value = values[starts[marginal] + cell]
            target = rounded(value * (records * tables.scale))
            number = (np.int64(tables.prices[place + cell]) - tables.scale // 2 + target) // tables.scale
            total += (number / records - value) ** 2
    return total


@kernel
def add_one_way_sums(
    attributes: NDArray[np.int32],
    shapes: NDArray[np.int64],
    starts: NDArray[np.int64],
    values: NDArray[np.float64],
    weight: float,
    domain_starts: NDArray[np.int64],
    columns: NDArray[np.int64],
    sums: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> None:
    """Add the one-way sums of marginals (m, k), each over the number of cells in it, to `sums` (c,), and their counts.

    `columns` holds the flat column of each code of the domains, whose attribute a begins at domain_starts[a].
    """
    largest = 1
    for marginal in range(shapes.shape[0]):
        for turn in range(shapes.shape[1]):
            largest = max(largest, shapes[marginal, turn])
    totals = np.empty(largest)
    for marginal in range(shapes.shape[0]):
        first, last = starts[marginal], starts[marginal + 1]
        after = last - first
        for turn in range(attributes.shape[1]):
            attribute = attributes[marginal, turn]
            if attribute < 0:
                break
            size = shapes[marginal, turn]
            after //= size
            totals[:size] = 0.0
            cell = first
            while cell < last:
                for position in range(size):
                    total = 0.0
                    for other in range(cell, cell + after):
                        total += values[other]
                    totals[position] += total
                    cell += after
            counts = weight * size / (last - first)  # one over the variance of a sum
            for position in range(size):
                column = columns[domain_starts[attribute] + position]
                sums[column] += counts * totals[position]
                weights[column] += counts


@kernel
def nearest_one_way(
    offsets: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    sums: NDArray[np.float64],
    weights: NDArray[np.float64],
    one_way: NDArray[np.float64],
) -> None:
    """Write to `one_way` (c,) a probability vector for each attribute, near sums / weights on its allowed columns."""
    for attribute in range(offsets.size - 1):
        first, last = offsets[attribute], offsets[attribute + 1]
        known, unknown, total = 0, 0, 0.0
        shares = np.empty(last - first)
        for column in range(first, last):
            if allowed[column] and weights[column] > 0.0:
                shares[known] = sums[column] / weights[column]
                total += max(shares[known], 0.0)
                known += 1
            elif allowed[column]:
                unknown += 1
        # Subtracting one number from all, and cutting at 0, is the projection onto the simplex.
        level = 0.0
        if known and (unknown == 0 or total > 1.0):
            level, above, left = -np.inf, known + 1, known
            while left < above:  # those at most the level are cut, which raises it for the others
                above, left, running = left, 0, -1.0
                for i in range(known):
                    if shares[i] > level:
                        running += shares[i]
                        left += 1
                level = running / left
            total = 1.0
        for column in range(first, last):
            if allowed[column]:
                if weights[column] > 0.0:
                    one_way[column] = max(sums[column] / weights[column] - level, 0.0)
                else:
                    one_way[column] = (1.0 - total) / unknown
        mass = 0.0
        for column in range(first, last):
            mass += one_way[column]
        for column in range(first, last):
            one_way[column] /= mass
