"""Monotone nodes over sets of codes, simplified when they are made: an intermediate form between formulas and gates.

Negations are gone: a formula asks for the node that is true if it is, or for the node that is true if it is not. A set
of codes is a whole number with one bit per code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

MOST_CLAUSES = 32
"""A sum over two attributes becomes at most this many clauses, else it stays a sum."""


@dataclass(frozen=True, slots=True)
class Constant:
    """Always true, or never."""

    true: bool


@dataclass(frozen=True, slots=True)
class InSet:
    """The attribute has one of the codes: neither all of them nor none."""

    attribute: int
    codes: int


@dataclass(frozen=True, slots=True)
class And:
    """Every part is true; no part is an And, each attribute stands in one InSet at most."""

    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """A part is true; no part is an Or, each attribute stands in one InSet at most."""

    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """The numbers of the codes, and those of the true children, add up to the bound."""

    bound: int
    """At least 2."""
    terms: tuple[tuple[int, tuple[int, ...]], ...]
    """Attributes, increasing, with a number from 0 to the bound for each code."""
    children: tuple[tuple[int, int], ...]
    """Nodes with coefficients from 1 to the bound."""


Node: TypeAlias = Constant | InSet | And | Or | Sum
FALSE, TRUE = 0, 1


class Nodes:
    """The nodes of one rule, each with a number; the same node is made once, and parts come before wholes."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._nodes: list[Node] = []
        self._numbers: dict[Node, int] = {}
        self._number(Constant(true=False))
        self._number(Constant(true=True))

    def __getitem__(self, number: int) -> Node:
        return self._nodes[number]

    def every_code(self, attribute: int) -> int:
        """Return the set of all codes of an attribute."""
        return (1 << self._sizes[attribute]) - 1

    def in_set(self, attribute: int, codes: int) -> int:
        """Return the node "attribute has one of these codes"."""
        if codes == 0:
            return FALSE
        return TRUE if codes == self.every_code(attribute) else self._number(InSet(attribute, codes))

    def all_of(self, parts: Iterable[int]) -> int:
        """Return the node that is true if every part is."""
        return self._joined(parts, every=True)

    def any_of(self, parts: Iterable[int]) -> int:
        """Return the node that is true if a part is."""
        return self._joined(parts, every=False)

    def at_least(self, number: int, parts: Sequence[int]) -> int:
        """Return the node that is true if at least this many of the parts are; parts may repeat."""
        children: dict[int, int] = {}
        for part in parts:
            children[part] = children.get(part, 0) + 1
        return self.sum_at_least(number, {}, children)

    def sum_at_least(self, bound: int, numbers: Mapping[int, Sequence[int]], children: Mapping[int, int]) -> int:
        """Return the node that is true if numbers and coefficients of true children add up to the bound.

        An attribute has a number of either sign for each code, a child a coefficient of 1 at least.
        """
        terms = {attribute: list(values) for attribute, values in numbers.items()}
        bound, gates = self._with_literals_as_terms(bound, terms, children)
        for attribute, values in list(terms.items()):
            least = min(values)
            bound -= least
            if max(values) == least:
                del terms[attribute]
            else:
                terms[attribute] = [value - least for value in values]
        if bound <= 0:
            return TRUE
        if self._largest(terms, gates) < bound:
            return FALSE
        bound = _tightened(bound, terms, gates)
        return self._simplest(bound, terms, gates)

    def _simplest(self, bound: int, terms: Mapping[int, Sequence[int]], gates: Mapping[int, int]) -> int:
        """Return the node of a sum whose numbers lie in 0 .. bound."""
        if bound == 1 or (len(terms) == 1 and not gates):
            literals = [self._reaching(attribute, terms[attribute], bound) for attribute in terms]
            return self.any_of([*literals, *gates])
        if self._largest(terms, gates) == bound:
            literals = [self._reaching(attribute, values, max(values)) for attribute, values in terms.items()]
            return self.all_of([*literals, *gates])
        if len(terms) == 2 and not gates:
            (one, other), levels = sorted(terms), min(len(set(values)) for values in terms.values())
            if levels <= MOST_CLAUSES:
                if len(set(terms[other])) == levels:
                    one, other = other, one
                return self._clauses(bound, one, other, terms)
        ordered = tuple((attribute, tuple(terms[attribute])) for attribute in sorted(terms))
        return self._number(Sum(bound, ordered, tuple(sorted(gates.items()))))

    def _clauses(self, bound: int, one: int, other: int, terms: Mapping[int, Sequence[int]]) -> int:
        """Return a sum over two attributes as "and" of "or": each number of one is exceeded, or the other is enough."""
        return self.all_of(
            self.any_of(
                (self._reaching(one, terms[one], level + 1), self._reaching(other, terms[other], bound - level))
            )
            for level in sorted(set(terms[one]))
        )

    def _reaching(self, attribute: int, values: Sequence[int], least: int) -> int:
        return self.in_set(attribute, sum(1 << code for code, value in enumerate(values) if value >= least))

    def _with_literals_as_terms(
        self, bound: int, terms: dict[int, list[int]], children: Mapping[int, int]
    ) -> tuple[int, dict[int, int]]:
        """Move literals among the children into the terms; return the bound and the children that stay.

        In a sum that only counts, a literal stays a child where the term would no longer count one condition (two
        numbers, one apart), so that solvers which can count but not weigh still take it. Literals over one or two
        attributes alone need no sum in the end.
        """
        nodes = [self[child] for child in children]
        attributes = {node.attribute for node in nodes if isinstance(node, InSet)}
        several = len(attributes) > 2 or any(isinstance(node, And | Or | Sum) for node in nodes)
        counts = several and not terms and all(number == 1 for number in children.values())
        gates: dict[int, int] = {}
        for child, coefficient in children.items():
            node = self[child]
            if isinstance(node, Constant):
                bound -= coefficient * node.true
            elif isinstance(node, InSet):
                before = terms.get(node.attribute, [0] * self._sizes[node.attribute])
                after = [value + coefficient * (node.codes >> code & 1) for code, value in enumerate(before)]
                if counts and max(after) - min(after) > 1:
                    gates[child] = coefficient
                else:
                    terms[node.attribute] = after
            else:
                gates[child] = coefficient
        return bound, gates

    def _joined(self, parts: Iterable[int], *, every: bool) -> int:
        """Return "and" or "or" of nodes: nested ones flattened, literals over one attribute made one."""
        absorbing, neutral = (FALSE, TRUE) if every else (TRUE, FALSE)
        sets: dict[int, int] = {}
        others: dict[int, None] = {}
        waiting = list(parts)[::-1]
        while waiting:
            part = waiting.pop()
            node = self[part]
            if part == absorbing:
                return absorbing
            if isinstance(node, And if every else Or):
                waiting += node.parts[::-1]
            elif isinstance(node, InSet):
                known = sets.get(node.attribute, self.every_code(node.attribute) if every else 0)
                sets[node.attribute] = known & node.codes if every else known | node.codes
            elif part != neutral:
                others[part] = None
        literals = [self.in_set(attribute, codes) for attribute, codes in sorted(sets.items())]
        if absorbing in literals:
            return absorbing
        kept = [*(literal for literal in literals if literal != neutral), *others]
        if len(kept) <= 1:
            return kept[0] if kept else neutral
        return self._number((And if every else Or)(tuple(kept)))

    def _largest(self, terms: Mapping[int, Sequence[int]], gates: Mapping[int, int]) -> int:
        return sum(max(values) for values in terms.values()) + sum(gates.values())

    def _number(self, node: Node) -> int:
        number = self._numbers.setdefault(node, len(self._nodes))
        if number == len(self._nodes):
            self._nodes.append(node)
        return number


def _tightened(bound: int, terms: dict[int, list[int]], gates: dict[int, int]) -> int:
    """Cut numbers down to the bound and divide by their common divisor, in place; return the new bound."""
    for values in terms.values():
        values[:] = [min(value, bound) for value in values]
    for child, coefficient in gates.items():
        gates[child] = min(coefficient, bound)
    common = math.gcd(*(value for values in terms.values() for value in values), *gates.values())
    for values in terms.values():
        values[:] = [value // common for value in values]
    for child in gates:
        gates[child] //= common
    return -(-bound // common)
