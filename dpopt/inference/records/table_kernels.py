"""Compiled tables of marginals and what a code costs in them; one-way sums, and the nearest probability vectors.

Importing this module imports numba.

The table of a marginal keeps for every cell its *price*: SCALE * (count - target + 1/2) as a whole number, where count is the
number of records in the cell and target what it should be. With the record under consideration taken out, the price of
its cell is what f changes by if it is put there: ((R + 1)^2 - R^2) / 2 = R + 1/2. Whole numbers do not drift, whatever the
number of moves.

A marginal of k attributes has k tables, in each of which another attribute runs fastest: the prices of all codes of an
attribute, given the others, are then one run of memory. A *slot* is a pair of a marginal and one of its attributes; it
owns one of these tables. The place of the current record in every slot's table is kept step by step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


class Tables(NamedTuple):
    """M marginals with e slots laid out for the search; d attributes, c groups of slots of equal attribute and codes.

    Slots are in the order of their groups, groups in that of their attributes: a visit of an attribute reads one stretch
    of each array.
    """

    prices: NDArray[np.int32]  # (p,) the tables of all slots; int64 where int32 does not hold them
    scale: int  # SCALE, even
    weights: NDArray[np.float64]  # (e,) what a unit of price counts
    marginals: NDArray[np.int64]  # (e,) the slot's marginal
    firsts: NDArray[np.int64]  # (e,) where the slot's table begins
    groups: NDArray[np.int64]  # (e, k) groups of the marginal's attributes, in its order; -1 in padding
    steps: NDArray[np.int64]  # (e, k) by how much the cell moves with the position in that group
    peers: NDArray[np.int64]  # (e, k) the slots of the same marginal, the own one too; -1 in padding
    peer_steps: NDArray[np.int64]  # (e, k) by how much their cells move with the position in the own group
    last_slots: NDArray[np.int64]  # (M,) the slot whose table is in the order of the cells
    group_start: NDArray[np.int64]  # (d + 1,) groups of each attribute
    group_attribute: NDArray[np.int64]  # (c,)
    slot_start: NDArray[np.int64]  # (c + 1,) slots of each group
    code_start: NDArray[np.int64]  # (c + 1,) codes of each group, by position
    group_code: NDArray[np.int64]
    place_start: NDArray[np.int64]  # (c,) first of the positions of each group
    group_place: NDArray[np.int64]  # position of every code of the attribute, -1 if cells leave it out


class Place(NamedTuple):
    """Where one record stands in the tables."""

    cell: NDArray[np.int64]  # (e,) place in each slot's table; codes that a marginal leaves out add nothing
    missing: NDArray[
        np.int64
    ]  # (M,) how many codes of the record the marginal leaves out: it is in a cell if this is 0
    position: NDArray[np.int64]  # (c,) position of the record's code in each group, -1 if it is left out
    sums: NDArray[np.float64]  # room to work in, as long as the largest group


@kernel
def put(tables: Tables, place: Place, first_column: NDArray[np.int64], chosen: NDArray[np.int64]) -> None:
    """Find the place of a record of these flat columns (d,)."""
    place.missing[:] = 0
    for group in range(place.position.size):
        attribute = tables.group_attribute[group]
        code = chosen[attribute] - first_column[attribute]
        position = tables.group_place[tables.place_start[group] + code]
        place.position[group] = position
        if position < 0:
            for slot in range(tables.slot_start[group], tables.slot_start[group + 1]):
                place.missing[tables.marginals[slot]] += 1
    for slot in range(tables.firsts.size):
        cell = tables.firsts[slot]
        for turn in range(tables.groups.shape[1]):
            group = tables.groups[slot, turn]
            if group < 0:
                break
            cell += max(place.position[group], 0) * tables.steps[slot, turn]
        place.cell[slot] = cell


@kernel
def count_all(
    tables: Tables, place: Place, first_column: NDArray[np.int64], records: NDArray[np.int32]
) -> None:
    """Add records (r, d) to the prices of their cells, each once."""
    chosen = np.empty(records.shape[1], dtype=np.int64)
    for row in range(records.shape[0]):
        for attribute in range(chosen.size):
            chosen[attribute] = first_column[attribute] + records[row, attribute]
        put(tables, place, first_column, chosen)
        for slot in range(tables.firsts.size):
            if place.missing[tables.marginals[slot]] == 0:
                tables.prices[place.cell[slot]] += tables.scale


@kernel
def add_costs(tables: Tables, place: Place, attribute: int, own: int, costs: NDArray[np.float64]) -> None:
    """Add to `costs` what the tables charge for each code of the attribute, the others as they are.

    With `own` 1 the record counts in the prices, and is taken out of them.
    """
    for group in range(tables.group_start[attribute], tables.group_start[attribute + 1]):
        size = tables.code_start[group + 1] - tables.code_start[group]
        position = place.position[group]
        left_out = np.int64(position < 0)
        present = max(position, 0)
        sums = place.sums
        for i in range(size):
            sums[i] = 0.0
        total, zero, one = 0.0, 0.0, 0.0
        for slot in range(tables.slot_start[group], tables.slot_start[group + 1]):
            if place.missing[tables.marginals[slot]] == left_out:
                base = np.uint64(place.cell[slot] - present)
                weight = tables.weights[slot]
                total += weight
                if size == 2:  # a loop of two turns costs more than its work
                    zero += weight * tables.prices[base]
                    one += weight * tables.prices[base + np.uint64(1)]
                else:
                    for i in range(size):
                        sums[np.uint64(i)] += weight * tables.prices[base + np.uint64(i)]
        if size == 2:
            sums[0], sums[1] = zero, one
        if own and not left_out:
            sums[position] -= total * tables.scale
        first = tables.code_start[group]
        for i in range(size):
            costs[tables.group_code[first + i]] += sums[i]


@kernel
def shift(tables: Tables, place: Place, attribute: int, new: int, own: int) -> None:
    """Give the record another code; with `own` 1, it counts in the prices and is moved there too."""
    step = tables.scale * own
    for group in range(tables.group_start[attribute], tables.group_start[attribute + 1]):
        before = place.position[group]
        after = tables.group_place[tables.place_start[group] + new]
        place.position[group] = after
        difference = max(after, 0) - max(before, 0)
        more_missing = np.int64(after < 0) - np.int64(before < 0)
        for slot in range(tables.slot_start[group], tables.slot_start[group + 1]):
            marginal = tables.marginals[slot]
            was, now = place.missing[marginal] == 0, place.missing[marginal] + more_missing == 0
            place.missing[marginal] += more_missing
            for turn in range(tables.peers.shape[1]):
                peer = tables.peers[slot, turn]
                if peer < 0:
                    break
                if was:
                    tables.prices[place.cell[peer]] -= step
                place.cell[peer] += difference * tables.peer_steps[slot, turn]
                if now:
                    tables.prices[place.cell[peer]] += step


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

    The cells of the m marginals, of shapes (m, k), begin at starts (m,) of `values`. With factor N * SCALE and offset SCALE / 2
    these are the prices without records of values that are shares.
    """
    digits = np.zeros(shapes.shape[1], dtype=np.int64)
    for marginal in range(starts.size):
        peers = tables.peers[tables.last_slots[first_marginal + marginal]]
        cells, width = 1, 0
        for turn in range(peers.size):
            if peers[turn] >= 0:
                cells *= shapes[marginal, turn]
                width += 1
        for slot in peers[:width]:
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
        place = tables.firsts[tables.last_slots[first_marginal + marginal]]
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
    """Add the one-way sums of marginals (m, k), each over the number of cells in it, to `sums` (c,), and what they count.

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
            ordered = np.sort(shares[:known])[::-1]
            running = 0.0
            for i in range(known):
                running += ordered[i]
                if ordered[i] > (running - 1.0) / (i + 1):
                    level = (running - 1.0) / (i + 1)
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
