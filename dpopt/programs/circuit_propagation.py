"""Rules reasoned about by the ranges of their sums: gates that are decided, codes that no legal record has.

A gate whose smallest sum reaches its bound is always true, one whose largest sum does not is never true. A required
gate that needs a child makes the child required. Decided gates, and terms that are the same for every code, become
part of the bounds of their parents.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.programs.circuit_reduction import part_of
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit


def simplified(rules: ThresholdCircuit) -> tuple[ThresholdCircuit, str | None]:
    """Return rules that the same records obey, and None; or the name of a rule that no record obeys.

    Rules that every record obeys are gone, and so are gates that nothing needs.
    """
    while rules.number_of_rules:
        low, high = rules.term_ranges()
        least, most = rules.sum_ranges()
        term_gate, parent, children = rules.gate_of_term(), rules.gate_of_child(), rules.children
        always, never = least >= rules.bounds, most < rules.bounds
        needed = (most[parent] - rules.coefficients < rules.bounds[parent]) & rules.required[parent]
        required = rules.required.copy()
        required[children[needed]] = True
        if (never & required).any():
            return rules, rules.names[int(rules.rule_of[np.argmax(never & required)])]

        true = always | required
        open_entry = ~true[children] & ~never[children]
        used = np.zeros(len(rules), dtype=np.bool_)
        used[children[open_entry]] = True
        gates = (required & ~always) | (used & ~required)
        terms = low != high
        if gates.all() and terms.all() and open_entry.all() and (required == rules.required).all():
            return rules, None
        bounds = rules.bounds.copy()
        np.subtract.at(bounds, term_gate[~terms], low[~terms])
        np.subtract.at(bounds, parent[true[children]], rules.coefficients[true[children]])
        rules = part_of(rules, bounds, required, gates, terms & gates[term_gate], open_entry & gates[parent])
    return rules, None


def impossible_columns(rules: ThresholdCircuit, offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which flat columns (attribute, code) would make some required gate false whatever the others are."""
    result = np.zeros(int(offsets[-1]), dtype=np.bool_)
    if not rules.number_of_rules:
        return result
    lengths = np.diff(rules.value_starts)
    term = np.repeat(np.arange(lengths.size), lengths)
    gate = rules.gate_of_term()[term]
    slack = np.where(rules.required, rules.sum_ranges()[1] - rules.bounds, np.iinfo(np.int64).max)
    lost = rules.term_ranges()[1][term] - rules.values
    entry = np.flatnonzero(lost > slack[gate])
    code = entry - rules.value_starts[:-1][term[entry]]
    result[offsets[rules.term_attributes[term[entry]]] + code] = True
    return freeze(result)
