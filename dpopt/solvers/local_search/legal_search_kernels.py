"""Annealing and descent inside the records that obey the rules. Compiled.

A visit of an attribute draws its code from the heat-bath law as if there were no rules. A code that breaks none is
taken. For a code that breaks some, a compound move is tried: the drawn code has paid for its own gain in the draw, so
the move is kept with probability min(1, exp(change of everything else / temperature)). If it fails, the attribute
draws again among the codes that break nothing, which is the heat-bath law given the rules.

Compound moves cost more than visits: they are paid from a credit that grows with every visit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.solvers.local_search.compound_move_kernels import compound_move, take_back
from dpopt.solvers.local_search.kernels import RESOLUTION, Index, State, change, draw_of_many, next_unit
from dpopt.solvers.local_search.rules_kernels import Rules, Status, breaks, move

CREDIT = 0.4
"""Changes of codes that compound moves may make per visit of an attribute, on average."""

WINDOW = 64
"""Terms of a gate that a compound move looks at while annealing."""

LONGEST = 32
"""Changes of one compound move while annealing."""

EVERYTHING = 1 << 40


@kernel
def anneal_legally(
    index: Index,
    state: State,
    rules: Rules,
    status: Status,
    objective: int,
    scales: NDArray[np.float64],
    table: NDArray[np.int64],
    charge: float,
    random: NDArray[np.uint64],
    best: NDArray[np.int64],
    best_objective: int,
) -> tuple[int, int]:
    """Do one sweep per entry of `scales` from a record that obeys the rules; as `local_search_kernels.anneal`.

    `charge` is what a compound move pays for each gate that a repair breaks, in units of the objective.
    """
    widest = np.max(np.diff(index.first_column))
    sums, gains = np.empty(widest, dtype=np.int64), np.empty(widest, dtype=np.int64)
    columns = np.empty(widest, dtype=np.int64)
    longest = min(LONGEST, state.chosen.size)
    credit = 0.0
    for sweep in range(scales.size):
        scale = scales[sweep]
        temperature = RESOLUTION / scale
        for attribute in range(state.chosen.size):
            low, high = index.first_column[attribute], index.first_column[attribute + 1]
            old = state.chosen[attribute]
            column = low + draw_of_many(state.gain[low:high], scale, table, next_unit(random), sums)
            credit += CREDIT
            if column == old:
                continue
            if rules.reach_start[attribute] == rules.reach_start[attribute + 1]:
                objective += change(index, state, attribute, column)
                continue
            if breaks(index, state, rules, status, attribute, column) == 0:
                objective += move(index, state, rules, status, attribute, column)
                continue
            if credit > 0.0:
                paid = state.gain[column] - state.gain[old]
                gained, number = compound_move(
                    index,
                    state,
                    rules,
                    status,
                    attribute,
                    column,
                    temperature,
                    charge,
                    WINDOW,
                    longest,
                    random,
                )
                credit -= abs(number)
                if number > 0:
                    rest = gained - paid
                    if rest >= 0 or next_unit(random) < math.exp(rest / temperature):
                        objective += gained
                        continue
                    take_back(index, state, rules, status, number)
                    credit -= number
            number = 0
            for other in range(low, high):
                if other == old or breaks(index, state, rules, status, attribute, other) == 0:
                    gains[number] = state.gain[other]
                    columns[number] = other
                    number += 1
            if number > 1:
                column = columns[draw_of_many(gains[:number], scale, table, next_unit(random), sums)]
                if column != old:
                    objective += move(index, state, rules, status, attribute, column)
        if objective > best_objective:
            best_objective = objective
            best[:] = state.chosen
    return objective, best_objective


@kernel
def descend_legally(
    index: Index, state: State, rules: Rules, status: Status, objective: int, attribute: int
) -> int:
    """Give one attribute after another, from this one on, its best legal code until no single change improves."""
    quiet = 0
    while quiet < state.chosen.size:
        old = state.chosen[attribute]
        column = old
        for other in range(index.first_column[attribute], index.first_column[attribute + 1]):
            if (
                state.gain[other] > state.gain[column]
                and breaks(index, state, rules, status, attribute, other) == 0
            ):
                column = other
        quiet += 1
        if column != old:
            objective += move(index, state, rules, status, attribute, column)
            quiet = 1
        attribute = attribute + 1 if attribute + 1 < state.chosen.size else 0
    return objective


@kernel
def descend_by_compound_moves(
    index: Index,
    state: State,
    rules: Rules,
    status: Status,
    objective: int,
    charge: float,
    random: NDArray[np.uint64],
) -> int:
    """Try every column as a compound move followed by descent, from record to better record until none improves."""
    before = state.chosen.copy()
    quiet, attribute, column = 0, 0, 0
    while quiet < index.first_column[-1]:
        quiet += 1
        if column != state.chosen[attribute]:
            gained, number = compound_move(
                index,
                state,
                rules,
                status,
                attribute,
                column,
                0.0,
                charge,
                EVERYTHING,
                state.chosen.size,
                random,
            )
            if number > 0:
                # The attribute itself comes last, else it would often take its old code back at once.
                following = attribute + 1 if attribute + 1 < state.chosen.size else 0
                now = descend_legally(index, state, rules, status, objective + gained, following)
                if now > objective:
                    objective = now
                    before[:] = state.chosen
                    quiet = 0
                else:
                    for other in range(before.size):
                        if state.chosen[other] != before[other]:
                            move(index, state, rules, status, other, before[other])
        column += 1
        if column == index.first_column[attribute + 1]:
            attribute = attribute + 1 if attribute + 1 < state.chosen.size else 0
            column = index.first_column[attribute]
    return objective
