"""Compound moves of the local search: one code is given, and what it breaks is repaired. Compiled.

Where rules tie attributes together (two columns that determine each other, an age below 15 with four columns
"missing"), no single attribute can change. A compound move gives one attribute the code that the search wants; while
a required gate is false, it takes one of them and changes another attribute so that the gate's sum rises: the change
with the best gain, less a charge for each gate that it breaks in turn. A gate that needs a child to turn true hands
the question down to that child. No attribute is changed twice. If no change is left, everything is taken back.

Source: Glover (1996), "Ejection chains, reference structures and alternating path methods"; Järvisalo, Junttila and Niemelä
(2008), "Justification-based non-clausal local search for SAT" (from a false gate down to a change).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.solvers.local_search.kernels import Index, State, next_unit
from dpopt.solvers.local_search.rules_kernels import Rules, Status, breaks, move


@kernel
def noise(temperature: float, random: NDArray[np.uint64]) -> float:
    """Return a Gumbel variable times the temperature: the largest of noisy scores follows the Boltzmann law."""
    if temperature <= 0.0:
        return 0.0
    return -temperature * math.log(-math.log(next_unit(random) + 2.0**-60))


@kernel
def best_term(
    index: Index,
    state: State,
    rules: Rules,
    status: Status,
    gate: int,
    temperature: float,
    charge: float,
    window: int,
    random: NDArray[np.uint64],
) -> tuple[float, int, int]:
    """Return score, attribute and column of the best change of one attribute that raises the gate's own terms.

    At most `window` terms are looked at, from a random one on. The score is the gain less `charge` for every gate
    that breaks, plus noise; the attribute is -1 if there is no such change.
    """
    top, attribute, chosen = -np.inf, -1, -1
    low, high = rules.term_start[gate], rules.term_start[gate + 1]
    term = low
    if high - low > window:
        term += np.int64(next_unit(random) * (high - low))
    for _ in range(min(high - low, window)):
        other = rules.term_attribute[term]
        first, old = index.first_column[other], state.chosen[other]
        base = rules.value_start[term] - first
        current = rules.values[base + old]
        if rules.most[term] > current and status.locked[other] < status.clock[0]:
            for column in range(first, index.first_column[other + 1]):
                if rules.values[base + column] > current:
                    lost = charge * breaks(index, state, rules, status, other, column)
                    score = state.gain[column] - state.gain[old] - lost + noise(temperature, random)
                    if score > top:
                        top, attribute, chosen = score, int(other), column
        term = term + 1 if term + 1 < high else low
    return top, attribute, chosen


@kernel
def prospect(index: Index, state: State, rules: Rules, status: Status, gate: int, charge: float) -> float:
    """Return about what it takes to turn a false gate true: gains of the changes needed less a charge for each."""
    needed = rules.bounds[gate] - status.total[gate]
    capacity, steps, worth = np.int64(0), 0, 0.0
    for term in range(rules.term_start[gate], rules.term_start[gate + 1]):
        other = rules.term_attribute[term]
        first, old = index.first_column[other], state.chosen[other]
        base = rules.value_start[term] - first
        current = rules.values[base + old]
        if rules.most[term] > current and status.locked[other] < status.clock[0]:
            best = -np.inf
            for column in range(first, index.first_column[other + 1]):
                if rules.values[base + column] > current:
                    best = max(best, np.float64(state.gain[column] - state.gain[old]))
            capacity += rules.most[term] - current
            worth += best
            steps += 1
    for entry in range(rules.child_start[gate], rules.child_start[gate + 1]):
        child = rules.children[entry]
        if status.total[child] < rules.bounds[child]:
            capacity += rules.coefficients[entry]
            steps += 1
    if capacity < needed:
        return -np.inf
    return float((worth - charge * steps) * needed / capacity)


@kernel
def best_repair(
    index: Index,
    state: State,
    rules: Rules,
    status: Status,
    gate: int,
    temperature: float,
    charge: float,
    window: int,
    random: NDArray[np.uint64],
) -> tuple[int, int]:
    """Return the attribute and the column that help a false gate best; attribute -1 if nothing does."""
    while True:
        top, attribute, column = best_term(
            index, state, rules, status, gate, temperature, charge, window, random
        )
        below = -1
        for entry in range(rules.child_start[gate], rules.child_start[gate + 1]):
            child = rules.children[entry]
            if status.total[child] < rules.bounds[child]:
                score = prospect(index, state, rules, status, child, charge)
                score += charge + noise(temperature, random)
                if score > top:
                    top, below = score, int(child)
        if below < 0:
            return attribute, column
        gate = below


@kernel
def compound_move(
    index: Index,
    state: State,
    rules: Rules,
    status: Status,
    attribute: int,
    column: int,
    temperature: float,
    charge: float,
    window: int,
    longest: int,
    random: NDArray[np.uint64],
) -> tuple[int, int]:
    """Give the attribute a code and repair the rules; return the change of the objective and the number of changes.

    From a record that obeys the rules to another one; after `longest` changes or without a way on, everything is
    taken back and the number is returned as a negative one.
    """
    status.clock[0] += 1
    number, gained = 0, np.int64(0)
    while True:
        status.locked[attribute] = status.clock[0]
        status.trail[number] = attribute
        status.before[number] = state.chosen[attribute]
        number += 1
        gained += move(index, state, rules, status, attribute, column)
        if status.number[0] == 0:
            return int(gained), number
        if number >= longest:
            break
        gate = status.broken[np.int64(next_unit(random) * status.number[0])]
        attribute, column = best_repair(
            index, state, rules, status, gate, temperature, charge, window, random
        )
        if attribute < 0:
            break
    take_back(index, state, rules, status, number)
    return 0, -number


@kernel
def take_back(index: Index, state: State, rules: Rules, status: Status, number: int) -> None:
    """Undo the compound move that has just been made, of this number of changes."""
    for place in range(number - 1, -1, -1):
        move(index, state, rules, status, status.trail[place], status.before[place])


@kernel
def walk(
    index: Index,
    state: State,
    rules: Rules,
    status: Status,
    steps: int,
    temperature: float,
    charge: float,
    window: int,
    random: NDArray[np.uint64],
) -> int:
    """Walk towards a record that obeys the rules; return the number of steps taken, at most `steps`.

    A step takes a broken gate at random and makes the best change that raises its sum. Gates that are often broken
    weigh more and more; an attribute just changed rests for some steps.
    """
    for step in range(steps):
        if status.number[0] == 0:
            return step
        status.clock[0] += 1
        gate = status.broken[np.int64(next_unit(random) * status.number[0])]
        status.weight[gate] += 1
        attribute, column = best_repair(
            index, state, rules, status, gate, temperature, charge, window, random
        )
        if attribute >= 0:
            move(index, state, rules, status, attribute, column)
            status.locked[attribute] = status.clock[0] + np.int64(next_unit(random) * 6)
    return steps
