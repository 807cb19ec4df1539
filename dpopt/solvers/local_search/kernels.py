"""The inner loops of the local search, compiled. Importing this module imports numba.

The search keeps, for every flat column c = (attribute, code), its *gain*: the change of the objective when the
attribute takes that code, up to a constant per attribute. With D_j(r) = weight of clause j when r + 1 of its literals
are true minus its weight when r are, and r_j the number of true literals of clause j on the *other* attributes,

    gain[c] = sum over clauses j with a literal at c of (+1 for "=", -1 for "!=") * D_j(r_j).

The gains of an attribute do not depend on its own code, because no clause names an attribute twice. One look at the
gains of an attribute therefore gives the exact distribution of a heat-bath move, and a change of code touches only the
gains that meet a clause at the old or at the new column. A sweep over 41 attributes with 390 columns and 1,750 clauses
takes a few microseconds.

A literal is kept as one number: its column for "=", the complement ~column for "!="; an entry of a column likewise as
its clause or ~clause. So `x >> 31` is 0 or -1, and `x ^ (x >> 31)` is the column. Padding points to a spare column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import copy_into, kernel, part

RESOLUTION = 64
"""Boltzmann factors are read from a table, in steps of 1/64 of the exponent."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_TO_UNIT = 2.0**-53
_ONE = 2.0**32  # Boltzmann factor 1 in the table


class Index(NamedTuple):
    """A reduced MaxCsp laid out for the search: d attributes, c flat columns, m clauses, e literals."""

    first_column: NDArray[np.int64]  # (d + 1,) attribute a has the columns first_column[a] .. first_column[a + 1] - 1
    column_start: NDArray[np.int64]  # (c + 1,) first entry of each column
    entries: NDArray[np.int32]  # (e,) clause of each literal (complemented for "!="), sorted by column
    literals: NDArray[np.int32]  # (m, k) column of each literal (complemented for "!="); c in padding
    weights: NDArray[np.int64]  # (m,)
    accepted: NDArray[np.int64]  # (m,) bit r: true with r true literals
    rise: NDArray[np.int64]  # (m,) bit r: turns true when the number of true literals goes from r to r + 1
    fall: NDArray[np.int64]  # (m,) bit r: turns false then


class State(NamedTuple):
    """Where the search stands."""

    chosen: NDArray[np.int64]  # (d,) flat column of each attribute's code
    is_chosen: NDArray[np.int64]  # (c + 1,) 1 for chosen columns; the last is the spare column
    true_literals: NDArray[np.int64]  # (m,)
    gain: NDArray[np.int64]  # (c + 1,) the spare column collects rubbish


@kernel
def next_unit(random: NDArray[np.uint64]) -> float:
    """Return the next number of splitmix64 as a multiple of 2**-53 in [0, 1); `random` (1,) is its state."""
    random[0] += _GOLDEN
    word = random[0]
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    word ^= word >> np.uint64(31)
    return np.float64(word >> np.uint64(11)) * _TO_UNIT


@kernel
def restart(index: Index, state: State) -> int:
    """Compute the state anew from `state.chosen`; return the objective."""
    spare = state.gain.size - 1
    state.gain[:] = 0
    state.is_chosen[:] = 0
    for attribute in range(state.chosen.size):
        state.is_chosen[state.chosen[attribute]] = 1
    objective = 0
    for clause in range(index.weights.size):
        count = 0
        for i in range(index.literals.shape[1]):
            literal = np.int64(index.literals[clause, i])
            column = literal ^ (literal >> 31)
            if column != spare:
                count += state.is_chosen[column] ^ ((literal >> 31) & 1)
        state.true_literals[clause] = count
        if (index.accepted[clause] >> count) & 1:
            objective += index.weights[clause]
        for i in range(index.literals.shape[1]):
            literal = np.int64(index.literals[clause, i])
            mark = literal >> 31
            column = literal ^ mark
            if column != spare:
                others = count - (state.is_chosen[column] ^ (mark & 1))
                step = ((index.rise[clause] >> others) & 1) - ((index.fall[clause] >> others) & 1)
                state.gain[column] += (1 + 2 * mark) * index.weights[clause] * step
    return objective


@part
def change(index: Index, state: State, attribute: int, column: int) -> int:
    """Give the attribute the code of another `column`; return the change of the objective."""
    old = state.chosen[attribute]
    difference = state.gain[column] - state.gain[old]
    for side in range(2):  # "=" literals at the old column turn false, those at the new one true; "!=" the other way
        moving = column if side else old
        for entry in range(index.column_start[moving], index.column_start[moving + 1]):
            place = np.int64(index.entries[entry])
            clause = place ^ (place >> 31)
            before = state.true_literals[clause]
            after = before + (2 * side - 1) * (1 + 2 * (place >> 31))
            state.true_literals[clause] = after
            rise, fall = index.rise[clause], index.fall[clause]
            if ((rise | fall) & ((2 << max(before, after)) - 1)) == 0:
                continue  # too few true literals for one literal more to matter
            weight = index.weights[clause]
            for i in range(index.literals.shape[1]):
                literal = np.int64(index.literals[clause, i])
                mark = literal >> 31
                other = literal ^ mark
                if other != moving:  # the moving attribute's own gains stay
                    own = state.is_chosen[other] ^ (mark & 1)
                    step_after = ((rise >> (after - own)) & 1) - ((fall >> (after - own)) & 1)
                    step_before = ((rise >> (before - own)) & 1) - ((fall >> (before - own)) & 1)
                    state.gain[other] += (1 + 2 * mark) * weight * (step_after - step_before)
    state.is_chosen[old] = 0
    state.is_chosen[column] = 1
    state.chosen[attribute] = column
    return int(difference)


@part
def draw_of_two(advantage: float, table: NDArray[np.int64], unit: float) -> bool:
    """Return True with probability 1 / (1 + exp(-advantage / RESOLUTION))."""
    factor = np.float64(table[np.int64(min(abs(advantage), np.float64(table.size - 1)))])
    worse = unit * (factor + _ONE) < factor
    return (advantage > 0.0) != worse


@part
def draw_of_many(
    gain: NDArray[np.int64], scale: float, table: NDArray[np.int64], unit: float, sums: NDArray[np.int64]
) -> int:
    """Return i with probability proportional to exp(gain[i] * scale / RESOLUTION); `sums` is room to work in.

    No branch depends on the numbers: mispredicted branches would cost more than all the arithmetic.
    """
    last = np.float64(table.size - 1)
    top = gain[0]
    for i in range(1, gain.size):
        top = max(top, gain[i])
    total = np.int64(0)
    for i in range(gain.size):
        total += table[np.int64(min((top - gain[i]) * scale, last))]
        sums[i] = total
    target = np.int64(unit * total)
    place = 0
    for i in range(gain.size):
        place += sums[i] <= target
    return place


@part
def widest(index: Index) -> int:
    """Return the largest number of codes of an attribute."""
    most = 0
    for attribute in range(index.first_column.size - 1):
        most = max(most, index.first_column[attribute + 1] - index.first_column[attribute])
    return most


@kernel
def anneal(
    index: Index,
    state: State,
    objective: int,
    scales: NDArray[np.float64],
    table: NDArray[np.int64],
    random: NDArray[np.uint64],
    best: NDArray[np.int64],
    best_objective: int,
) -> tuple[int, int]:
    """Do one sweep of heat-bath moves per entry of `scales`; return the objective and the best objective.

    `scales` holds RESOLUTION / temperature; `table` holds 2**32 exp(-i / RESOLUTION), rounded, and ends with 0. `best`
    (d,) is overwritten with the columns of every sweep that ends above `best_objective`.
    """
    sums = np.empty(widest(index), dtype=np.int64)
    for sweep in range(scales.size):
        for attribute in range(state.chosen.size):
            low, high = index.first_column[attribute], index.first_column[attribute + 1]
            unit = next_unit(random)
            if high - low == 2:
                advantage = (state.gain[low + 1] - state.gain[low]) * scales[sweep]
                column = low + draw_of_two(advantage, table, unit)
            else:
                column = low + draw_of_many(state.gain[low:high], scales[sweep], table, unit, sums)
            if column != state.chosen[attribute]:
                objective += change(index, state, attribute, column)
        if objective > best_objective:
            best_objective = objective
            copy_into(best, state.chosen)
    return objective, best_objective


@part
def best_column(index: Index, state: State, attribute: int) -> int:
    """Return the column of the attribute with the largest gain: the chosen one if none is larger, else the first."""
    column = state.chosen[attribute]
    for other in range(index.first_column[attribute], index.first_column[attribute + 1]):
        if state.gain[other] > state.gain[column]:
            column = other
    return int(column)


@kernel
def descend(index: Index, state: State, objective: int) -> int:
    """Give one attribute after another its best code until no single change improves; return the objective."""
    quiet = 0
    attribute = 0
    while quiet < state.chosen.size:
        column = best_column(index, state, attribute)
        quiet += 1
        if column != state.chosen[attribute]:
            objective += change(index, state, attribute, column)
            quiet = 1
        attribute = attribute + 1 if attribute + 1 < state.chosen.size else 0
    return objective


@kernel
def partner_bounds(index: Index) -> NDArray[np.int64]:
    """Return how much a change to or from each column adds at most to what one other attribute can gain, (c,)."""
    columns, attributes = index.column_start.size - 1, index.first_column.size - 1
    owner, added = np.empty(columns, dtype=np.int64), np.empty(attributes, dtype=np.int64)
    bounds = np.zeros(columns, dtype=np.int64)
    for attribute in range(attributes):
        owner[index.first_column[attribute] : index.first_column[attribute + 1]] = attribute
    for column in range(columns):
        added[:] = 0
        for entry in range(index.column_start[column], index.column_start[column + 1]):
            place = np.int64(index.entries[entry])
            clause = place ^ (place >> 31)
            most = abs(index.weights[clause]) * ((index.rise[clause] != 0) + (index.fall[clause] != 0))
            for i in range(index.literals.shape[1]):
                literal = np.int64(index.literals[clause, i])
                other = literal ^ (literal >> 31)
                if other not in (column, columns):
                    added[owner[other]] += most
                    bounds[column] = max(bounds[column], added[owner[other]])
    return bounds


@kernel
def descend_by_pairs(index: Index, state: State, objective: int) -> int:
    """Change two attributes at once where that improves, from a local optimum of single changes to one of pairs."""
    bounds = partner_bounds(index)
    improved = True
    while improved:
        improved = False
        for attribute in range(state.chosen.size):
            for column in range(index.first_column[attribute], index.first_column[attribute + 1]):
                old = state.chosen[attribute]
                if column == old or state.gain[column] - state.gain[old] + bounds[column] + bounds[old] <= 0:
                    continue  # no partner makes up for the loss
                loss = change(index, state, attribute, column)
                partner, reward = -1, -loss
                for other in range(state.chosen.size):
                    if other != attribute:
                        top = state.gain[state.chosen[other]] + reward
                        for place in range(index.first_column[other], index.first_column[other + 1]):
                            if state.gain[place] > top:
                                top = state.gain[place]
                                partner = other
                        reward = top - state.gain[state.chosen[other]]
                if partner < 0:
                    change(index, state, attribute, old)
                else:
                    objective += loss + change(index, state, partner, best_column(index, state, partner))
                    objective = descend(index, state, objective)
                    improved = True
    return objective
