"""Hard rules in the local search: gate sums kept step by step, and what a code would break. Compiled.

The search keeps the sum of every gate of the circuit. When an attribute changes its code, the sums of the gates that
have a term of it change, and where a gate turns, so do those of its parents. For each attribute the gates that it can
reach in this way are listed in advance, children before parents, so that one pass over the list is enough; the work
grows with the gates that an attribute touches, not with the width of a rule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.solvers.local_search.kernels import Index, State, change


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
    weight: NDArray[np.int64]  # (g,) what a broken gate counts; 1 except while a legal record is looked for
    step: NDArray[np.int64]  # (g,) room to work in, 0 between calls
    broken: NDArray[np.int64]  # (g,) required gates that are false, number[0] of them, in no order
    place: NDArray[np.int64]  # (g,) where a broken gate stands in that list
    number: NDArray[np.int64]  # (1,)
    clock: NDArray[np.int64]  # (1,)
    locked: NDArray[np.int64]  # (d,) an attribute may not be changed again while this is at least clock[0]
    trail: NDArray[np.int64]  # (d,) attributes that the compound move under way has changed
    before: NDArray[np.int64]  # (d,) and their columns before it


@kernel
def restart_rules(index: Index, state: State, rules: Rules, status: Status) -> int:
    """Compute sums and broken gates anew from `state.chosen`; return the number of broken gates."""
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
            status.place[gate] = status.number[0]
            status.broken[status.number[0]] = gate
            status.number[0] += 1
    return int(status.number[0])


@kernel
def breaks(index: Index, state: State, rules: Rules, status: Status, attribute: int, column: int) -> int:
    """Return the weight of the required gates that this column would turn false, minus that of those it turns true."""
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
        after = status.total[gate] + step >= rules.bounds[gate]
        if after == (status.total[gate] >= rules.bounds[gate]):
            continue
        turn = np.int64(1) if after else np.int64(-1)
        for entry in range(rules.parent_start[gate], rules.parent_start[gate + 1]):
            status.step[rules.parents[entry]] += turn * rules.parent_coefficients[entry]
        if rules.required[gate]:
            result -= turn * status.weight[gate]
    return int(result)


@kernel
def move(index: Index, state: State, rules: Rules, status: Status, attribute: int, column: int) -> int:
    """Give the attribute the code of another column, whatever the rules say; return the change of the objective."""
    old, first = state.chosen[attribute], index.first_column[attribute]
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
        status.total[gate] += step
        after = status.total[gate] >= rules.bounds[gate]
        if after == was:
            continue
        turn = np.int64(1) if after else np.int64(-1)
        for entry in range(rules.parent_start[gate], rules.parent_start[gate + 1]):
            status.step[rules.parents[entry]] += turn * rules.parent_coefficients[entry]
        if rules.required[gate]:
            note_turn(status, gate, after)
    return change(index, state, attribute, column)


@kernel
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
