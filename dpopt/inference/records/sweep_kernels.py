"""Compiled sweeps of the record search without and under hard rules, and descent of single records with fixed prices.

Importing this module imports numba.

Under hard rules sweeps go from feasible records to feasible records. A visit of a record gives each attribute its best
code among those that break no rule (or draws from the distribution of those). Where a code that breaks some would be
better still, a compound move is tried: the code is given, what it breaks is repaired by changes of other attributes
(`dpopt.solvers.local_search.rules_kernels`), all attributes take their best feasible codes, and the record is kept if f
is lower than before. Otherwise everything is taken back.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import copy_into, kernel, lean_kernel, meet, part, take_number
from dpopt.inference.records.clause_kernels import (
    Listed,
    Monomials,
    Sight,
    Truth,
    add_slopes,
    begin_costs,
    enter_clauses,
    enter_monomials,
    leave,
    look,
    see,
    turn,
)
from dpopt.inference.records.table_kernels import Place, Tables, add_costs, enter, positions_of, put, shift
from dpopt.solvers.local_search.kernels import next_unit
from dpopt.solvers.local_search.rules_kernels import (
    EVERYTHING,
    Repairs,
    Ruled,
    breaks,
    compound_move,
    move,
    restart_rules,
    walk,
)


class Choices(NamedTuple):
    """The form of records: d attributes, c flat columns."""

    first_column: NDArray[np.int64]  # (d + 1,)
    attributes: NDArray[np.int64]  # the attributes that some query names and that have a choice
    code_start: NDArray[np.int64]  # (d + 1,)
    codes: NDArray[np.int64]  # allowed codes of each attribute
    log_prior: NDArray[np.float64]  # (c,) used at a positive temperature only


class Counters(NamedTuple):
    """Where records are counted, and where the record under consideration stands there.

    A visit changes where the record stands, and no count: the record stays counted at home, where it stood when the
    visit began, and is taken out of the prices there. So threads visit different records at once.
    """

    own: int  # 1: that record is one of those that are counted; 0: the counters only price records
    tables: Tables
    place: Place
    listed: (
        Listed | None
    )  # None, as the other three, without any clause: nothing is compiled for them; else maybe empty
    truth: Truth | None
    monomials: Monomials | None
    sight: Sight | None


@part
def open_counters(counters: Counters, choices: Choices, chosen: NDArray[np.int64]) -> None:
    """Let a record be at home at these columns (d,)."""
    put(counters.tables, counters.place, choices.first_column, chosen)
    look(counters.listed, counters.truth, chosen, counters.own)
    see(counters.monomials, counters.sight, chosen)


@part
def price_codes(
    counters: Counters, choices: Choices, chosen: NDArray[np.int64], attribute: int, costs: NDArray[np.float64]
) -> None:
    """Write the change of N^2 f for each code of the attribute to `costs`, others unchanged; up to a constant."""
    first = choices.first_column[attribute]
    begin_costs(counters.truth, first, costs)
    add_costs(counters.tables, counters.place, attribute, counters.own, costs)
    add_slopes(counters.monomials, counters.sight, chosen[attribute], first, counters.own, costs)


@part
def change_code(counters: Counters, choices: Choices, chosen: NDArray[np.int64], attribute: int, column: int) -> None:
    """Give the record another column; it stays counted at home."""
    first = choices.first_column[attribute]
    old = chosen[attribute]
    shift(counters.tables, counters.place, attribute, column - first)
    turn(counters.listed, counters.truth, old, column, counters.own)
    leave(counters.monomials, counters.sight, chosen, attribute, column, counters.own)
    chosen[attribute] = column


@part
def columns_of(choices: Choices, record: NDArray[np.int32], chosen: NDArray[np.int64]) -> None:
    """Write the flat columns of a record (d,)."""
    for attribute in range(chosen.size):
        chosen[attribute] = choices.first_column[attribute] + record[attribute]


@part
def write_codes(choices: Choices, chosen: NDArray[np.int64], record: NDArray[np.int32]) -> None:
    """Write the record of these flat columns (d,)."""
    for attribute in range(chosen.size):
        record[attribute] = chosen[attribute] - choices.first_column[attribute]


@part
def cheapest(costs: NDArray[np.float64], codes: NDArray[np.int64], old: int, least: float) -> int:
    """Return the first allowed code of least cost; the old one if none is cheaper by more than the share `least`."""
    code = old
    for i in range(codes.size):
        if costs[codes[i]] < costs[code]:
            code = codes[i]
    return code if costs[code] < costs[old] - least * abs(costs[old]) else old


LEAST_EXPONENT = -40.0
"""Of a code's probability over that of the likeliest; any less likely one is drawn never."""


@part
def draw(
    costs: NDArray[np.float64],
    codes: NDArray[np.int64],
    log_prior: NDArray[np.float64],
    temperature: float,
    unit: float,
    room: NDArray[np.float64],
) -> int:
    """Return a code with probability proportional to prior * exp(-cost / temperature), to 1e-5 of itself.

    exp(x) is the 256th power of four terms of the series of exp(x / 256): arithmetic alone, the same on every machine,
    and on several codes at a time.
    """
    number, inverse = codes.size, 1.0 / temperature
    top = -np.inf
    for i in range(number):
        room[i] = log_prior[codes[i]] - costs[codes[i]] * inverse
        top = max(top, room[i])
    for i in range(number):
        exponent = room[i] - top
        x = max(LEAST_EXPONENT, exponent) * (1.0 / 256)
        power = 1.0 + x * (1.0 + x * (1.0 / 2 + x * (1.0 / 6 + x * (1.0 / 24))))
        power *= power
        power *= power
        power *= power
        power *= power
        power *= power
        power *= power
        power *= power
        room[i] = power * power
    rest = 0.0
    for i in range(number):
        rest += room[i]
    rest *= unit
    for i in range(number):
        rest -= room[i]
        if rest < 0.0:
            return int(codes[i])
    return int(codes[number - 1])


class Room(NamedTuple):
    """Room to work in, for d attributes and c columns."""

    costs: NDArray[np.float64]  # (largest number of codes,)
    weights: NDArray[np.float64]  # the same
    feasible_codes: NDArray[np.int64]  # the same
    chosen: NDArray[np.int64]  # (d,) columns of the record that is visited
    before: NDArray[np.int64]  # (d,)
    after: NDArray[np.int64]  # (d,)
    promise: NDArray[np.float64]  # (d,) how much a code that breaks rules would be better
    wanted: NDArray[np.int64]  # (d,) and which column it is
    left: NDArray[np.float64]  # (d,) promises that are still to be tried
    random: NDArray[np.uint64]  # (1,) state of the draws


class Team(NamedTuple):
    """How the threads of one sweep divide its work: all records in an order, `block` of them at a time.

    The records of a block are visited against the counts at its beginning, and then counted where they ended. So the
    result does not depend on the number of threads, nor on which of them does what. Where there are clauses, blocks are
    of one record.
    """

    order: NDArray[np.int64]
    block: int
    threads: int
    numbers: NDArray[np.int64]  # what is taken next, and who is there, NUMBERS of each block; 0 at first
    seeds: NDArray[np.uint64]  # (r,) of the draws of each record


class Rate(NamedTuple):
    """How far a visit goes."""

    passes: int  # over all attributes at most, as long as codes change
    least: float  # share by which another code must be cheaper
    temperature: float  # N^2 times that of the settings; 0 takes the best code
    gain: float  # what makes a price the gain of a compound move


NUMBERS = 4
PIECES = 8
"""Of the tables, when the records of a block are counted anew."""

ROWS = 2
"""Records that a thread takes at a time."""


@part
def settle(
    team: Team,
    counters: Counters,
    choices: Choices,
    room: Room,
    records: NDArray[np.int32],
    after: NDArray[np.int32],
    begin: int,
) -> None:
    """Wait for the visits of the block that begins at a place of the order, and count its records where they ended."""
    numbers = NUMBERS * (begin // team.block)
    meet(team.numbers, numbers + 1, team.threads)
    if counters.own == 0:
        return
    # With clauses blocks are of one record, whose visit is at hand.
    enter_clauses(counters.listed, counters.truth)
    enter_monomials(counters.monomials, counters.sight)
    tables, place, old, new = counters.tables, counters.place, room.before, room.after
    end = min(begin + team.block, team.order.size)
    piece = take_number(team.numbers, numbers + 2, 1)
    while piece < PIECES:
        first, last = tables.firsts.size * piece // PIECES, tables.firsts.size * (piece + 1) // PIECES
        for visited in range(begin, end):
            row = team.order[visited]
            columns_of(choices, records[row], old)
            columns_of(choices, after[row], new)
            moved = False
            for attribute in range(old.size):
                moved |= old[attribute] != new[attribute]
            if moved:
                positions_of(tables, choices.first_column, old, place.home)
                positions_of(tables, choices.first_column, new, place.position)
                enter(tables, place.home, place.position, first, last)
        piece = take_number(team.numbers, numbers + 2, 1)
    meet(team.numbers, numbers + 3, team.threads)


LONGEST = 100
"""Passes over all attributes of a record; a descent ends on a local optimum, and far sooner."""

GAIN = 1024.0
"""Compound moves choose their repairs by gains in whole numbers: the record search hands them 1,024 times a record's."""

CHARGE = 4096.0
"""Cost to a repair of breaking another rule: four records' worth."""

ATTEMPTS = 3
"""Compound moves that a visit tries, those that promise most first."""


@part
def open_rules(feasible: Ruled | None, chosen: NDArray[np.int64]) -> None:
    """Start from a record of these columns (d,)."""
    if feasible is None:
        return
    copy_into(feasible.state.chosen, chosen)
    restart_rules(feasible)


@part
def give(
    counters: Counters, choices: Choices, feasible: Ruled, chosen: NDArray[np.int64], attribute: int, column: int
) -> None:
    """Give the record another code in the tables, and in the rules where it has it not yet."""
    if feasible.state.chosen[attribute] != column:
        move(feasible, attribute, column)
    change_code(counters, choices, chosen, attribute, column)


@part
def visit(
    counters: Counters,
    choices: Choices,
    feasible: Ruled,
    room: Room,
    chosen: NDArray[np.int64],
    temperature: float,
    gain: float,
    random: NDArray[np.uint64],
) -> float:
    """Give each attribute its best feasible code, or draw one; return the change of N^2 f.

    Notes in `room` which attributes would rather have a code that breaks rules, and in the gains what codes are worth.
    """
    _, state, rules, _ = feasible
    changed = 0.0
    room.promise[:] = 0.0
    for attribute in choices.attributes:
        first, last = choices.first_column[attribute], choices.first_column[attribute + 1]
        costs = room.costs[: last - first]
        old = chosen[attribute] - first
        price_codes(counters, choices, chosen, attribute, costs)
        for code in range(last - first):
            state.gain[first + code] = np.int64(math.floor((costs[old] - costs[code]) * gain + 0.5))
        free = rules.reach_start[attribute] == rules.reach_start[attribute + 1]
        new, wanted, number = old, old, 0
        for i in range(choices.code_start[attribute], choices.code_start[attribute + 1]):
            code = choices.codes[i]
            if temperature <= 0.0 and costs[code] >= costs[new]:
                continue
            if code == old or free or breaks(feasible, attribute, first + code) == 0:
                new = code
                room.feasible_codes[number] = code
                number += 1
            elif costs[code] < costs[wanted]:
                wanted = code
        best = costs[new]
        before = costs[old]
        if temperature > 0.0:
            best = np.inf
            for i in range(number):
                best = min(best, costs[room.feasible_codes[i]])
        if costs[wanted] < best:
            room.promise[attribute] = best - costs[wanted]
            room.wanted[attribute] = first + wanted
        if temperature > 0.0 and number > 1:
            prior = choices.log_prior[first:last]
            feasible_codes = room.feasible_codes[:number]
            new = draw(costs, feasible_codes, prior, temperature, next_unit(random), room.weights)
            changed += costs[new] - before
        elif temperature <= 0.0:
            changed += best - before
        else:
            new = old
        if new != old:
            give(counters, choices, feasible, chosen, attribute, first + new)
    return changed


@part
def try_compound(
    counters: Counters,
    choices: Choices,
    feasible: Ruled,
    room: Room,
    chosen: NDArray[np.int64],
    temperature: float,
    gain: float,
    random: NDArray[np.uint64],
    attribute: int,
) -> tuple[bool, float]:
    """Try the code that an attribute would rather have; return whether the record changed, and the change of N^2 f."""
    copy_into(room.before, chosen)
    _, number = compound_move(
        feasible, attribute, room.wanted[attribute], chosen.size, Repairs(0.0, CHARGE, EVERYTHING, random)
    )
    if number <= 0:
        return False, 0.0
    changed = 0.0
    copy_into(room.after, feasible.state.chosen)
    for other in range(chosen.size):
        if room.after[other] != chosen[other]:
            first = choices.first_column[other]
            costs = room.costs[: choices.first_column[other + 1] - first]
            old = chosen[other] - first
            price_codes(counters, choices, chosen, other, costs)
            changed += costs[room.after[other] - first] - costs[old]
            give(counters, choices, feasible, chosen, other, room.after[other])
    changed += visit(counters, choices, feasible, room, chosen, 0.0, gain, random)
    if changed < 0.0 or (temperature > 0.0 and next_unit(random) < math.exp(-changed / temperature)):
        return True, changed
    for other in range(chosen.size):
        if chosen[other] != room.before[other]:
            give(counters, choices, feasible, chosen, other, room.before[other])
    return False, 0.0


@part
def respond_feasibly(
    counters: Counters,
    choices: Choices,
    feasible: Ruled,
    room: Room,
    chosen: NDArray[np.int64],
    temperature: float,
    gain: float,
    random: NDArray[np.uint64],
) -> float:
    """Visit a record once, and try compound moves where single ones are stuck; return the change of N^2 f."""
    wishes = room.promise
    changed = visit(counters, choices, feasible, room, chosen, temperature, gain, random)
    for _ in range(ATTEMPTS):
        attribute = int(np.argmax(wishes))
        if wishes[attribute] <= 0.0:
            break
        copy_into(room.left, wishes)
        room.left[attribute] = 0.0
        kept, gained = try_compound(counters, choices, feasible, room, chosen, temperature, gain, random, attribute)
        changed += gained
        if not kept:
            copy_into(wishes, room.left)
    return changed


@part
def respond(
    counters: Counters,
    choices: Choices,
    feasible: Ruled | None,
    room: Room,
    chosen: NDArray[np.int64],
    rate: Rate,
    random: NDArray[np.uint64],
) -> bool:
    """Pass over a record once; return whether another pass may still change it."""
    if feasible is not None:
        changed = respond_feasibly(counters, choices, feasible, room, chosen, rate.temperature, rate.gain, random)
        return changed * rate.gain <= -1e-9
    moved = False
    for attribute in choices.attributes:
        first, last = choices.first_column[attribute], choices.first_column[attribute + 1]
        costs = room.costs[: last - first]
        old = chosen[attribute] - first
        price_codes(counters, choices, chosen, attribute, costs)
        start, stop = choices.code_start[attribute], choices.code_start[attribute + 1]
        allowed = choices.codes[start:stop]
        if rate.temperature > 0.0:
            prior = choices.log_prior[first:last]
            new = draw(costs, allowed, prior, rate.temperature, next_unit(random), room.weights)
        else:
            new = cheapest(costs, allowed, old, rate.least)
        if new != old:
            change_code(counters, choices, chosen, attribute, first + new)
            moved = True
    return moved


@lean_kernel
def sweep(
    team: Team,
    counters: Counters,
    choices: Choices,
    feasible: Ruled | None,
    room: Room,
    records: NDArray[np.int32],
    after: NDArray[np.int32],
    rate: Rate,
) -> None:
    """Write to `after` the records (r, d), each with its best code in each attribute, or a draw; see `Team`.

    Under rules (`feasible`, which is not compiled where it is None) records are feasible before and after, and compound
    moves are tried. Each thread of the team has counters with the same counts, `feasible` and room of its own.
    """
    chosen, random = room.chosen, room.random
    for begin in range(0, team.order.size, team.block):
        numbers = NUMBERS * (begin // team.block)
        end = min(begin + team.block, team.order.size)
        first_row = begin + take_number(team.numbers, numbers, ROWS)
        while first_row < end:
            for place in range(first_row, min(first_row + ROWS, end)):
                row = team.order[place]
                random[0] = team.seeds[row]
                columns_of(choices, records[row], chosen)
                open_counters(counters, choices, chosen)
                open_rules(feasible, chosen)
                for _ in range(rate.passes):
                    if not respond(counters, choices, feasible, room, chosen, rate, random):
                        break
                write_codes(choices, chosen, after[row])
            first_row = begin + take_number(team.numbers, numbers, ROWS)
        settle(team, counters, choices, room, records, after, begin)


@kernel
def make_feasible(
    choices: Choices,
    feasible: Ruled,
    records: NDArray[np.int32],
    steps: int,
    found: NDArray[np.bool_],
    random: NDArray[np.uint64],
) -> None:
    """Walk each record (r, d) towards the rules, codes of more gain first; write to `found` where that succeeded."""
    chosen = np.empty(records.shape[1], dtype=np.int64)
    for row in range(records.shape[0]):
        columns_of(choices, records[row], chosen)
        feasible.status.clock[0] += 1
        feasible.status.weight[:] = 1
        open_rules(feasible, chosen)
        walk(feasible, steps, Repairs(GAIN, CHARGE, EVERYTHING, random))
        found[row] = feasible.status.number[0] == 0
        write_codes(choices, feasible.state.chosen, records[row])
