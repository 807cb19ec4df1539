"""Hard rules in the local search, compiled: sums of gates, compound moves, annealing, descent among feasible records.

Sums: the search keeps the sum of every gate of the circuit. When an attribute changes its code, the sums of the gates
that have a term of it change, and where a gate turns, so do those of its parents. For each attribute the gates that it
can reach in this way are listed in advance, children before parents, so that one pass over the list is enough; the work
grows with the gates that an attribute touches, not with the width of a rule.

Compound moves: where rules tie attributes together (two columns that determine each other, an age below 15 with four
columns "missing"), no single attribute can change. A compound move gives one attribute the code that the search wants;
while a required gate is false, it takes one of them and changes another attribute so that the gate's sum rises: the
change with the best gain, less a charge for each gate that it breaks in turn. A gate that needs a child to turn true
hands the question down to that child. No attribute is changed twice. If no change is left, everything is taken back.

Annealing: a visit of an attribute draws its code from the heat-bath distribution as if there were no rules. A code that
breaks none is taken. For a code that breaks some, a compound move is tried: the drawn code has paid for its own gain in
the draw, so the move is kept with probability min(1, exp(change of everything else / temperature)). If it fails, the
attribute draws again among the codes that break nothing, which is the heat-bath distribution given the rules. Compound
moves cost more than visits: they are paid from a credit that grows with every visit.

Source: Glover (1996), "Ejection chains, reference structures and alternating path methods"; Järvisalo, Junttila and
Niemelä (2008), "Justification-based non-clausal local search for SAT" (from a false gate down to a change).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import copy_into, kernel, part
from dpopt.solvers.local_search.kernels import RESOLUTION, Index, State, change, draw_of_many, next_unit, widest


class Rules(NamedTuple):
    """The circuit of a reduced MaxCsp laid out for the search: g gates, t terms, c entries of children, d attributes."""

    bounds: NDArray[np.int64]  # (g,)
    required: NDArray[np.bool_]  # (g,)
    term_start: NDArray[np.int64]  # (g + 1,) terms of each gate
    term_attribute: NDArray[np.int64]  # (t,)
    value_start: NDArray[np.int64]  # (t + 1,) values of each term, one for each code of its attribute
    values: NDArray[np.int64]
    most: NDArray[np.int64]  # (t,) largest value of each term
    child_start: NDArray[np.int64]  # (g + 1,) children of each gate
    children: NDArray[np.int64]  # (c,)
    coefficients: NDArray[np.int64]  # (c,)
    parent_start: NDArray[np.int64]  # (g + 1,) parents of each gate
    parents: NDArray[np.int64]  # (c,)
    parent_coefficients: NDArray[np.int64]  # (c,)
    reach_start: NDArray[np.int64]  # (d + 1,) gates that each attribute can turn, children before parents
    reach_gate: NDArray[np.int64]
    reach_term: NDArray[np.int64]  # the attribute's term of that gate; -1 if it acts through children alone


class Status(NamedTuple):
    """Where the search stands with the rules."""

    total: NDArray[np.int64]  # (g,) sum of each gate
    weight: NDArray[np.int64]  # (g,) what a broken gate counts; 1 unless a feasible record is looked for
    step: NDArray[np.int64]  # (g,) room to work in, 0 between calls
    broken: NDArray[np.int64]  # (g,) required gates that are false, number[0] of them, in no order
    place: NDArray[np.int64]  # (g,) where a broken gate stands in that list
    number: NDArray[np.int64]  # (1,)
    clock: NDArray[np.int64]  # (1,)
    locked: NDArray[np.int64]  # (d,) an attribute may not be changed again while this is at least clock[0]
    trail: NDArray[np.int64]  # (d,) attributes that the compound move under way has changed
    before: NDArray[np.int64]  # (d,) and their columns before it


class Ruled(NamedTuple):
    """A problem under rules, and where the search stands in it."""

    laid_out: Index
    state: State
    rules: Rules
    status: Status


class Repairs(NamedTuple):
    """How repairs are chosen: by the gain, less `charge` for every gate that breaks, plus noise of this temperature.

    At most `window` terms of a gate are looked at, from a random one on.
    """

    temperature: float
    charge: float
    window: int
    random: NDArray[np.uint64]


@kernel
def restart_rules(ruled: Ruled) -> int:
    """Compute sums and broken gates anew from `state.chosen`; return the number of broken gates."""
    index, state, rules, status = ruled
    status.step[:] = 0
    status.number[0] = 0
    for gate in range(rules.bounds.size):
        total = np.int64(0)
        for term in range(rules.term_start[gate], rules.term_start[gate + 1]):
            attribute = rules.term_attribute[term]
            code = state.chosen[attribute] - index.first_column[attribute]
            total += rules.values[rules.value_start[term] + code]
        for entry in range(rules.child_start[gate], rules.child_start[gate + 1]):
            child = rules.children[entry]
            if status.total[child] >= rules.bounds[child]:
                total += rules.coefficients[entry]
        status.total[gate] = total
        if rules.required[gate] and total < rules.bounds[gate]:
            note_turn(status, gate, False)
    return int(status.number[0])


@part
def turn_gates(ruled: Ruled, attribute: int, column: int, made: bool) -> int:
    """Follow a change of code through the gates, and write it there if it is `made`; return the same as `breaks`."""
    index, state, rules, status = ruled
    old, first = state.chosen[attribute], index.first_column[attribute]
    result = np.int64(0)
    for place in range(rules.reach_start[attribute], rules.reach_start[attribute + 1]):
        gate = rules.reach_gate[place]
        step = status.step[gate]
        status.step[gate] = 0
        term = rules.reach_term[place]
        if term >= 0:
            base = rules.value_start[term] - first
            step += rules.values[base + column] - rules.values[base + old]
        if step == 0:
            continue
        was = status.total[gate] >= rules.bounds[gate]
        after = status.total[gate] + step >= rules.bounds[gate]
        if made:
            status.total[gate] += step
        if after == was:
            continue
        turn = np.int64(1) if after else np.int64(-1)
        for entry in range(rules.parent_start[gate], rules.parent_start[gate + 1]):
            status.step[rules.parents[entry]] += turn * rules.parent_coefficients[entry]
        if rules.required[gate]:
            result -= turn * status.weight[gate]
            if made:
                note_turn(status, gate, after)
    return int(result)


@part
def breaks(ruled: Ruled, attribute: int, column: int) -> int:
    """Return the weight of the required gates that this column would turn false, minus that of those it turns true."""
    return turn_gates(ruled, attribute, column, False)


@part
def move(ruled: Ruled, attribute: int, column: int) -> int:
    """Give the attribute the code of another column, whatever the rules say; return the change of the objective."""
    turn_gates(ruled, attribute, column, True)
    return change(ruled.laid_out, ruled.state, attribute, column)


@part
def note_turn(status: Status, gate: int, after: bool) -> None:
    """Take a required gate off the list of broken gates (it has turned true), or put it there."""
    number = status.number[0]
    if after:
        last = status.broken[number - 1]
        status.broken[status.place[gate]] = last
        status.place[last] = status.place[gate]
        status.number[0] = number - 1
    else:
        status.broken[number] = gate
        status.place[gate] = number
        status.number[0] = number + 1


@part
def noise(temperature: float, random: NDArray[np.uint64]) -> float:
    """Return a Gumbel variable times the temperature: the largest of noisy scores follows the Boltzmann distribution."""
    if temperature <= 0.0:
        return 0.0
    return -temperature * math.log(-math.log(next_unit(random) + 2.0**-60))


@part
def best_term(ruled: Ruled, gate: int, repairs: Repairs) -> tuple[float, int, int]:
    """Return score, attribute and column of the best change of one attribute that raises the gate's own terms.

    The attribute is -1 if there is no such change.
    """
    index, state, rules, status = ruled
    temperature, charge, window, random = repairs
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
                    lost = charge * breaks(ruled, other, column)
                    score = state.gain[column] - state.gain[old] - lost + noise(temperature, random)
                    if score > top:
                        top, attribute, chosen = score, int(other), column
        term = term + 1 if term + 1 < high else low
    return top, attribute, chosen


@part
def prospect(ruled: Ruled, gate: int, charge: float) -> float:
    """Return about the cost of turning a false gate true: gains of the changes needed less a charge for each."""
    index, state, rules, status = ruled
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


@part
def best_repair(ruled: Ruled, gate: int, repairs: Repairs) -> tuple[int, int]:
    """Return the attribute and the column that help a false gate best; attribute -1 if nothing does."""
    rules, status = ruled.rules, ruled.status
    while True:
        top, attribute, column = best_term(ruled, gate, repairs)
        below = -1
        for entry in range(rules.child_start[gate], rules.child_start[gate + 1]):
            child = rules.children[entry]
            if status.total[child] < rules.bounds[child]:
                score = prospect(ruled, child, repairs.charge)
                score += repairs.charge + noise(repairs.temperature, repairs.random)
                if score > top:
                    top, below = score, int(child)
        if below < 0:
            return attribute, column
        gate = below


@part
def compound_move(ruled: Ruled, attribute: int, column: int, longest: int, repairs: Repairs) -> tuple[int, int]:
    """Give the attribute a code and repair the rules; return the change of the objective and the number of changes.

    From a record that obeys the rules to another one; after `longest` changes or without a way on, everything is taken
    back and the number is returned as a negative one.
    """
    state, status = ruled.state, ruled.status
    status.clock[0] += 1
    number, gained = 0, np.int64(0)
    while True:
        status.locked[attribute] = status.clock[0]
        status.trail[number] = attribute
        status.before[number] = state.chosen[attribute]
        number += 1
        gained += move(ruled, attribute, column)
        if status.number[0] == 0:
            return int(gained), number
        if number >= longest:
            break
        gate = status.broken[np.int64(next_unit(repairs.random) * status.number[0])]
        attribute, column = best_repair(ruled, gate, repairs)
        if attribute < 0:
            break
    take_back(ruled, number)
    return 0, -number


@part
def take_back(ruled: Ruled, number: int) -> None:
    """Undo the compound move that has just been made, of this number of changes."""
    for place in range(number - 1, -1, -1):
        move(ruled, ruled.status.trail[place], ruled.status.before[place])


@kernel
def walk(ruled: Ruled, steps: int, repairs: Repairs) -> int:
    """Walk towards a record that obeys the rules; return the number of steps taken, at most `steps`.

    A step takes a broken gate at random and makes the best change that raises its sum. Gates that are often broken
    weigh more and more; an attribute just changed rests for some steps.
    """
    status, random = ruled.status, repairs.random
    for step in range(steps):
        if status.number[0] == 0:
            return step
        status.clock[0] += 1
        gate = status.broken[np.int64(next_unit(random) * status.number[0])]
        status.weight[gate] += 1
        attribute, column = best_repair(ruled, gate, repairs)
        if attribute >= 0:
            move(ruled, attribute, column)
            status.locked[attribute] = status.clock[0] + np.int64(next_unit(random) * 6)
    return steps


CREDIT = 0.4
"""Changes of codes that compound moves may make per visit of an attribute, on average."""

WINDOW = 64
"""Terms of a gate that a compound move looks at while annealing."""

LONGEST = 32
"""Changes of one compound move while annealing."""

EVERYTHING = 1 << 40


@kernel
def anneal_feasibly(
    ruled: Ruled,
    objective: int,
    scales: NDArray[np.float64],
    table: NDArray[np.int64],
    charge: float,
    random: NDArray[np.uint64],
    best: NDArray[np.int64],
    best_objective: int,
) -> tuple[int, int]:
    """Do one sweep per entry of `scales` from a record that obeys the rules; as `kernels.anneal`.

    `charge` is what a compound move pays for each gate that a repair breaks, in units of the objective.
    """
    index, state, rules, _ = ruled
    most = widest(index)
    sums, gains = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    columns = np.empty(most, dtype=np.int64)
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
            if breaks(ruled, attribute, column) == 0:
                objective += move(ruled, attribute, column)
                continue
            if credit > 0.0:
                paid = state.gain[column] - state.gain[old]
                repairs = Repairs(temperature, charge, WINDOW, random)
                gained, number = compound_move(ruled, attribute, column, longest, repairs)
                credit -= abs(number)
                if number > 0:
                    rest = gained - paid
                    if rest >= 0 or next_unit(random) < math.exp(rest / temperature):
                        objective += gained
                        continue
                    take_back(ruled, number)
                    credit -= number
            number = 0
            for other in range(low, high):
                if other == old or breaks(ruled, attribute, other) == 0:
                    gains[number] = state.gain[other]
                    columns[number] = other
                    number += 1
            if number > 1:
                column = columns[draw_of_many(gains[:number], scale, table, next_unit(random), sums)]
                if column != old:
                    objective += move(ruled, attribute, column)
        if objective > best_objective:
            best_objective = objective
            copy_into(best, state.chosen)
    return objective, best_objective


@kernel
def descend_feasibly(ruled: Ruled, objective: int, attribute: int) -> int:
    """Give one attribute after another, from this one on, its best feasible code until no single change improves."""
    index, state, quiet = ruled.laid_out, ruled.state, 0
    while quiet < state.chosen.size:
        old = state.chosen[attribute]
        column = old
        for other in range(index.first_column[attribute], index.first_column[attribute + 1]):
            if state.gain[other] > state.gain[column] and breaks(ruled, attribute, other) == 0:
                column = other
        quiet += 1
        if column != old:
            objective += move(ruled, attribute, column)
            quiet = 1
        attribute = attribute + 1 if attribute + 1 < state.chosen.size else 0
    return objective


@kernel
def descend_by_compound_moves(ruled: Ruled, objective: int, charge: float, random: NDArray[np.uint64]) -> int:
    """Try every column as a compound move followed by descent, from record to better record until none improves."""
    index, state, repairs = ruled.laid_out, ruled.state, Repairs(0.0, charge, EVERYTHING, random)
    before = state.chosen.copy()
    quiet, attribute, column = 0, 0, 0
    while quiet < index.first_column[-1]:
        quiet += 1
        if column != state.chosen[attribute]:
            gained, number = compound_move(ruled, attribute, column, state.chosen.size, repairs)
            if number > 0:
                # The attribute itself comes last, else it would often take its old code back at once.
                following = attribute + 1 if attribute + 1 < state.chosen.size else 0
                now = descend_feasibly(ruled, objective + gained, following)
                if now > objective:
                    objective = now
                    copy_into(before, state.chosen)
                    quiet = 0
                else:
                    for other in range(before.size):
                        if state.chosen[other] != before[other]:
                            move(ruled, other, before[other])
        column += 1
        if column == index.first_column[attribute + 1]:
            attribute = attribute + 1 if attribute + 1 < state.chosen.size else 0
            column = index.first_column[attribute]
    return objective
