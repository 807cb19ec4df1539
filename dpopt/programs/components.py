"""Parts of a MaxCsp without a common clause or gate, each solved apart, and the optimum of a small one by enumeration."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.reduction import part_of, with_codes
from dpopt.queries.clauses import Clauses
from dpopt.schema.rules.threshold_circuit import NO_RULES


@dataclass(frozen=True, slots=True, eq=False)
class Component:
    """A part of a problem."""

    problem: MaxCsp
    """The part as a problem of its own."""
    attributes: NDArray[np.int32]
    """Shape (d',). Its attributes in the whole problem, increasing."""


def components(program: MaxCsp) -> tuple[Component, ...]:
    """Return the parts of a problem, those with the fewest clauses first.

    Two attributes are in the same part if a chain of clauses and gates connects them. An objective is the sum over the
    parts plus the weight of the clauses without a literal that are true; a record obeys the rules if its parts do.
    Clauses without literals, and gates without terms below them, are in no part: presolve removes both.
    """
    labels = attribute_labels(program)
    parts, part_of_attribute = np.unique(labels, return_inverse=True)
    used = program.clauses.attributes[:, 0] >= 0
    part_of_clause = np.where(used, part_of_attribute[program.clauses.attributes[:, 0]], -1)
    if parts.size == 1 and used.all():
        return (Component(program, freeze(np.arange(program.sizes.size, dtype=np.int32))),)
    gate_part = _part_of_gate(program, part_of_attribute)
    sizes = np.bincount(part_of_clause[used], minlength=parts.size)
    return tuple(
        _component(program, part, part_of_attribute, part_of_clause, gate_part)
        for part in np.argsort(sizes, kind="stable").tolist()
    )


def attribute_labels(program: MaxCsp) -> NDArray[np.int64]:
    """Return a number for each attribute, (d,), that is the same for connected ones: the smallest attribute's."""
    attributes, rules, d = program.clauses.attributes, program.rules, program.sizes.size
    both = attributes[:, 1:] >= 0
    left = np.concatenate((attributes[:, :-1][both], rules.term_attributes, d + rules.gate_of_child())).astype(np.int64)
    right = np.concatenate((attributes[:, 1:][both], d + rules.gate_of_term(), d + rules.children)).astype(np.int64)
    labels = np.arange(d + len(rules))
    while True:
        least = np.minimum(labels[left], labels[right])
        following = labels.copy()
        for end in (labels[left], labels[right], left, right):
            np.minimum.at(following, end, least)
        following = following[following]
        if (following == labels).all():
            return freeze(labels[:d])
        labels = following


def _part_of_gate(program: MaxCsp, part_of_attribute: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the part of each gate, (g,); -1 where no term is connected with it."""
    rules = program.rules
    part = np.full(len(rules), -1, dtype=np.int64)
    part[rules.gate_of_term()] = part_of_attribute[rules.term_attributes]
    while True:  # a gate without terms of its own is where its children are, and the other way round
        before = part.copy()
        np.maximum.at(part, rules.gate_of_child(), part[rules.children])
        np.maximum.at(part, rules.children, part[rules.gate_of_child()])
        if (part == before).all():
            return part


def _component(
    program: MaxCsp,
    part: int,
    part_of_attribute: NDArray[np.int64],
    part_of_clause: NDArray[np.int64],
    gate_part: NDArray[np.int64],
) -> Component:
    attributes = np.flatnonzero(part_of_attribute == part).astype(np.int32)
    number = np.full(program.sizes.size, -1, dtype=np.int32)
    number[attributes] = np.arange(attributes.size, dtype=np.int32)
    chosen = np.flatnonzero(part_of_clause == part)
    clauses = program.clauses.take(chosen)
    renumbered = np.where(clauses.attributes >= 0, number[clauses.attributes], -1).astype(np.int32)
    sizes = program.sizes[attributes]
    rules, gates = NO_RULES, gate_part == part
    if gates.any():
        whole = program.rules
        terms, entries = gates[whole.gate_of_term()], gates[whole.gate_of_child()]
        rules = part_of(whole, whole.bounds, whole.required, gates, terms, entries)
        codes = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rules = with_codes(rules, number, sizes, codes.astype(np.int32))
    return Component(
        MaxCsp(
            freeze(sizes),
            Clauses(freeze(renumbered), clauses.values, clauses.signs, clauses.accepted),
            freeze(program.weights[chosen]),
            rules,
        ),
        freeze(attributes),
    )


MOST_RECORDS = 2048
MOST_LITERALS = 500_000  # of all records together


def is_small(program: MaxCsp) -> bool:
    """Return whether every record of the problem can be looked at in about a millisecond."""
    if program.sizes.size > 60:
        return False
    records = math.prod(program.sizes.tolist())
    literals = program.clauses.attributes.size + program.rules.term_attributes.size
    return bool(records <= MOST_RECORDS and records * literals <= MOST_LITERALS)


def best_record(program: MaxCsp, record: NDArray[np.int32]) -> NDArray[np.int32] | None:
    """Return an optimal record (d,): the given one if it is optimal, else the first; None if no record is feasible.

    Parameters
    ----------
    program
        A small problem: its records are written down one by one.
    record : (d,) int32
        Preferred among equals.
    """
    grid = np.indices(program.sizes.tolist(), dtype=np.int32)
    records = np.ascontiguousarray(grid.reshape(program.sizes.size, -1).T)
    values = _objectives(program, records)
    feasible = ~program.rules.broken(records).any(axis=1)
    if not feasible.any():
        return None
    best = feasible & (values == values[feasible].max())
    own = int(np.ravel_multi_index(tuple(record.tolist()), tuple(program.sizes.tolist())))
    return freeze(records[own if best[own] else int(np.argmax(best))].copy())


def _objectives(program: MaxCsp, records: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the objective of each record (r, d); (r,) int64."""
    clauses = program.clauses
    used = clauses.attributes >= 0
    true = (records[:, clauses.attributes] == clauses.values) == clauses.signs
    count = np.count_nonzero(true & used, axis=2)
    result: NDArray[np.int64] = ((clauses.accepted >> count) & 1).astype(np.int64) @ program.weights
    return result
