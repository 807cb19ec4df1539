"""Rows and variables of hard rules: the gates of a `ThresholdCircuit` as linear inequalities, merged where they share a side.

Page: models/best_response_with_rules (RU-1 to RU-6). Write f_i(v) for what input i of a gate adds at code v, less the
least it ever adds (for a child: its coefficient where z = 1, else 0), and n for what the gate needs beyond the least of
all its inputs:

    required gate:     sum of f over the inputs >= n                              RU-1
    inner gate g:      sum of f over the inputs >= n z_g                          RU-2
    z_g between 0 and 1, whole                                                    RU-3

AGGREGATED has these alone. The others cut f_i off at n, as more than is needed helps nothing (RU-4), and with the spare
s = sum of the largest f_i (not cut off) less n add, for every input whose largest value exceeds s,

    z_g <= sum of x[a_i, v] over the codes v with f_i(v) >= largest - s, or z_g <= z of the child,     RU-5

with 1 in place of z_g for a required gate. If s = 0 the gate is an "and", and RU-5 replaces RU-1 and RU-2. z_g must be
whole only if n > 1 and s > 0.

z_g needs one direction, z_g = 1 only if the gate is true: the circuit is monotone.

CLIQUE merges required gates "A in S or B in T" that share S or T (RU-6, `merged_implications`). A functional dependency
"A decides B" is one such rule for every code v of A, "A != v or B = image(v)". Row by row they say x[A, v] <= x[B,
image(v)]. Together, for every code b of B: the sum of x[A, v] over all v with the image b is <= x[B, b], which is as
tight as it gets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.models.best_responses.rewarded_clauses import Formulation
from dpopt.programs.building import Flags, Indices, RowBlock, stacked
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit

_Shared = tuple[int, int, bytes]
"""Attribute and codes (as bytes) of a side that several rules share, and the attribute of their other side between."""


def merged_implications(rules: ThresholdCircuit, needs: Indices, offsets: Indices) -> tuple[list[RowBlock], Flags]:
    """Return the merged rows, and which gates they replace, (G,).

    `needs` (G,) is what each gate needs once all inputs are least, `offsets` (d + 1,) the column of code 0 of each
    attribute.
    """
    pairs = rules.required & (needs == 1) & (np.diff(rules.term_starts) == 2) & (np.diff(rules.child_starts) == 0)
    low, _ = rules.term_ranges()
    shared: list[tuple[_Shared, _Shared]] = []  # of each pair: its first side with the second, and the reverse
    others: dict[_Shared, list[NDArray[np.bool_]]] = {}
    for gate in np.flatnonzero(pairs).tolist():
        first = int(rules.term_starts[gate])
        a, b = (int(rules.term_attributes[term]) for term in (first, first + 1))
        left, right = (_codes(rules, term, int(low[term])) for term in (first, first + 1))
        shared.append(((a, b, left.tobytes()), (b, a, right.tobytes())))
        for key, codes in zip(shared[-1], (right, left), strict=True):
            others.setdefault(key, []).append(codes)
    # A pair that merges on one side alone is held by that row; one that merges on neither stays as it is.
    kept = dict.fromkeys(key for both in shared for key in ([key for key in both if len(others[key]) > 1] or both[:1]))
    blocks = [_row(offsets, key, np.logical_and.reduce(others[key])) for key in kept]
    return [stacked(blocks)] if blocks else [], pairs


def _codes(rules: ThresholdCircuit, term: int, low: int) -> NDArray[np.bool_]:
    """Return which codes of a term's attribute make its condition true."""
    span = slice(int(rules.value_starts[term]), int(rules.value_starts[term + 1]))
    return rules.values[span] > low


def _row(offsets: Indices, shared: _Shared, codes: NDArray[np.bool_]) -> RowBlock:
    """Return  sum of x[A, v] over S + sum of x[B, w] over T >= 1  with S shared and T the codes."""
    first, second, side = shared
    column = np.concatenate(
        (offsets[first] + np.flatnonzero(np.frombuffer(side, dtype=np.bool_)), offsets[second] + np.flatnonzero(codes))
    )
    zeros = np.zeros(column.size, dtype=np.int64)
    return RowBlock(zeros, column, np.ones(column.size), np.ones(1), np.full(1, np.inf))


@dataclass(frozen=True, slots=True, eq=False)
class GateInputs:
    """The inputs of all gates with the least that they add taken off; a required child is no input, it is always true."""

    needs: Indices
    """Shape (G,). The sum that each gate still needs; at most 0: it is always true."""
    spare: Indices
    """Shape (G,). Sum of the largest values of the inputs, less the need; below 0: the gate is never true."""
    inputs: Indices
    """Shape (i,). Gate of each input: first all terms, then all children that are not required."""
    largest: Indices
    """Shape (i,). Largest value of each input."""
    owner: Indices
    """Shape (e,). Input of each entry."""
    column: Indices
    """Shape (e,). Variable of each entry: x[a, v] or z of a child."""
    value: Indices
    """Shape (e,). The amount that the input adds if that variable is 1; at least 0."""


def gate_variables(rules: ThresholdCircuit, formulation: Formulation) -> Flags:
    """Return for each gate that is not required, in order, whether its variable must be whole (RU-3)."""
    inner = ~rules.required
    if formulation is Formulation.AGGREGATED:
        return np.ones(int(inner.sum()), dtype=np.bool_)
    given = gate_inputs(rules, np.zeros(rules.term_attributes.max(initial=-1) + 2, dtype=np.int64), 0)
    whole: Flags = ((given.needs > 1) & (given.spare > 0))[inner]
    return whole


def rule_rows(rules: ThresholdCircuit, offsets: Indices, first_gate: int, formulation: Formulation) -> list[RowBlock]:
    """Return the rows of all gates.

    `offsets` (d + 1,) are the columns of code 0 of the attributes, `first_gate` that of the z of the first gate that is
    not required; the others follow in order.
    """
    if not rules.number_of_rules:
        return []
    given = gate_inputs(rules, offsets, first_gate)
    gate_column = _gate_columns(rules, first_gate)
    if formulation is Formulation.AGGREGATED:
        return [_sums(given, gate_column, given.needs > 0, given.value)]
    cut = np.minimum(given.value, given.needs[given.inputs[given.owner]])
    merged: list[RowBlock] = []
    done = np.zeros(len(rules), dtype=np.bool_)
    if formulation is Formulation.CLIQUE:
        merged, done = merged_implications(rules, given.needs, offsets)
    return [
        _sums(given, gate_column, (given.needs > 0) & (given.spare != 0) & ~done, cut),
        _single_inputs(given, gate_column),
        *merged,
    ]


def gate_inputs(rules: ThresholdCircuit, offsets: Indices, first_gate: int) -> GateInputs:
    """Return the inputs of the gates; arguments as for `rule_rows`."""
    low, high = rules.term_ranges()
    term_gate = rules.gate_of_term().astype(np.int64)
    parent = rules.gate_of_child().astype(np.int64)
    needs = rules.bounds.copy()
    np.subtract.at(needs, term_gate, low)
    given = rules.required[rules.children]
    np.subtract.at(needs, parent[given], rules.coefficients[given])

    lengths = np.diff(rules.value_starts)
    term = np.repeat(np.arange(lengths.size), lengths)
    code = np.arange(rules.values.size) - rules.value_starts[:-1][term]
    inputs = np.concatenate((term_gate, parent[~given]))
    largest = np.concatenate((high - low, rules.coefficients[~given]))
    spare = -needs
    np.add.at(spare, inputs, largest)
    return GateInputs(
        needs,
        spare,
        inputs,
        largest,
        np.concatenate((term, lengths.size + np.arange(int((~given).sum())))),
        np.concatenate(
            (offsets[rules.term_attributes][term] + code, _gate_columns(rules, first_gate)[rules.children[~given]])
        ),
        np.concatenate((rules.values - low[term], rules.coefficients[~given])),
    )


def _gate_columns(rules: ThresholdCircuit, first_gate: int) -> Indices:
    """Return the column of z of each gate; -1 for those that are required."""
    inner = ~rules.required
    return np.where(inner, first_gate + np.cumsum(inner) - 1, -1)


def _sums(given: GateInputs, gate_column: Indices, chosen: Flags, values: NDArray[np.int64]) -> RowBlock:
    """Return RU-1 and RU-2 for the chosen gates."""
    number = np.cumsum(chosen) - 1
    entry = chosen[given.inputs[given.owner]]
    inner = np.flatnonzero(chosen & (gate_column >= 0))
    required = gate_column[chosen] < 0
    return RowBlock(
        np.concatenate((number[given.inputs[given.owner[entry]]], number[inner])),
        np.concatenate((given.column[entry], gate_column[inner])),
        np.concatenate((values[entry], -given.needs[inner])).astype(np.float64),
        np.where(required, given.needs[chosen], 0).astype(np.float64),
        np.full(required.size, np.inf),
    )


def _single_inputs(given: GateInputs, gate_column: Indices) -> RowBlock:
    """Return RU-5 for every input that its gate cannot do without."""
    gate = given.inputs
    chosen = (given.needs[gate] > 0) & (given.largest > given.spare[gate])
    number = np.cumsum(chosen) - 1
    enough = given.value >= (given.largest - given.spare[gate])[given.owner]
    entry = np.flatnonzero(enough & chosen[given.owner])
    inner = np.flatnonzero(chosen & (gate_column[gate] >= 0))
    required = gate_column[gate[chosen]] < 0
    return RowBlock(
        np.concatenate((number[given.owner[entry]], number[inner])),
        np.concatenate((given.column[entry], gate_column[gate[inner]])),
        np.concatenate((np.ones(entry.size), -np.ones(inner.size))),
        required.astype(np.float64),
        np.full(required.size, np.inf),
    )
