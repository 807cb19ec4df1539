"""From rules to the circuit that solvers read: negations pushed down to the literals, then gates.

Rules share nothing. A required "and" becomes several required gates, and so does "this, or all of those".
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import SchemaError
from dpopt.schema.attribute import Attribute
from dpopt.schema.rules.code_sets import Columns
from dpopt.schema.rules.nodes import FALSE, TRUE, And, InSet, Nodes, Or, Sum
from dpopt.schema.rules.rule import Rule, rule_titles
from dpopt.schema.rules.threshold_circuit import LARGEST_SUM, NO_RULES, ThresholdCircuit, starts
from dpopt.schema.rules.translation import Translation

MOST_NUMBERS = 2**24
"""The circuit of a rule holds at most this many numbers of codes."""
MOST_SPLIT = 64
"""Splitting makes at most this many gates of a rule that are more than its own parts."""
MOST_COPIES = 2**18
"""Splitting copies at most this many parts of a rule."""


def compile_rules(
    rules: Sequence[Rule], attributes: Sequence[Attribute], index: Callable[[str], int]
) -> ThresholdCircuit:
    """Return the circuit of rules, in their order, over the attributes of a schema; `index` gives a name's position."""
    if not rules:
        return NO_RULES
    titles = rule_titles(rules)
    columns = Columns(attributes, index)
    gates = _Gates(columns.sizes)
    for number, (rule, title) in enumerate(zip(rules, titles, strict=True)):
        try:
            gates.add(rule, number, columns)
        except SchemaError as problem:
            name = f" ({title!r})" if rule.name else ""
            title_part = "" if rule.name else f" [the rule: {title}]"
            raise SchemaError(f"rule number {number + 1}{name}: {problem}{title_part}") from problem
    return gates.circuit(titles)


class _Gates:
    """Collects the gates of all rules."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self._sizes = sizes
        self._numbers = 0
        self._bounds: list[int] = []
        self._required: list[bool] = []
        self._rules: list[int] = []
        self._terms: list[list[tuple[int, NDArray[np.int64]]]] = []
        self._children: list[list[tuple[int, int]]] = []

    def add(self, rule: Rule, number: int, columns: Columns) -> None:
        """Add the gates of one rule."""
        nodes = Nodes(self._sizes)
        root = Translation(nodes, columns).rule(rule.form)
        made: dict[int, int] = {}
        self._numbers = 0
        for node in dict.fromkeys(_Splitting(nodes).required(root)) or (TRUE,):
            self._new(node, nodes, number, made)  # never a child of another gate
            self._required[-1] = True

    def circuit(self, titles: tuple[str, ...]) -> ThresholdCircuit:
        """Return the circuit of the gates added so far."""
        terms = list(itertools.chain.from_iterable(self._terms))
        children = list(itertools.chain.from_iterable(self._children))
        lengths = np.array([values.size for _, values in terms], dtype=np.int64)
        values = np.concatenate([values for _, values in terms]) if terms else np.zeros(0, dtype=np.int64)
        return ThresholdCircuit(
            titles,
            freeze(np.array(self._bounds, dtype=np.int64)),
            freeze(np.array(self._required, dtype=np.bool_)),
            freeze(np.array(self._rules, dtype=np.int32)),
            starts(np.array([len(listed) for listed in self._terms], dtype=np.int64)),
            freeze(np.array([attribute for attribute, _ in terms], dtype=np.int32)),
            starts(lengths),
            freeze(values),
            starts(np.array([len(listed) for listed in self._children], dtype=np.int64)),
            freeze(np.array([child for child, _ in children], dtype=np.int32)),
            freeze(np.array([coefficient for _, coefficient in children], dtype=np.int64)),
        )

    def _gate(self, number: int, nodes: Nodes, rule: int, made: dict[int, int]) -> int:
        """Return the number of a node's gate, which is added if there is none."""
        if number not in made:
            made[number] = self._new(number, nodes, rule, made)
        return made[number]

    def _new(self, number: int, nodes: Nodes, rule: int, made: dict[int, int]) -> int:
        """Add the gate of a node, after those of its parts; return its number."""
        node = nodes[number]
        if isinstance(node, Sum):
            bound, terms = node.bound, [(attribute, list(values)) for attribute, values in node.terms]
            parts = dict(node.children)
        else:
            inputs = node.parts if isinstance(node, And | Or) else (number,)
            sets = [found for found in map(nodes.__getitem__, inputs) if isinstance(found, InSet)]
            terms = [(found.attribute, self._bits(found)) for found in sets]
            parts = {part: 1 for part in inputs if isinstance(node, And | Or) and not isinstance(nodes[part], InSet)}
            bound = {TRUE: 0, FALSE: 1}.get(number, len(inputs) if isinstance(node, And) else 1)
        self._require_small(bound, terms, parts)
        children = [(self._gate(part, nodes, rule, made), coefficient) for part, coefficient in parts.items()]
        self._bounds.append(bound)
        self._required.append(False)
        self._rules.append(rule)
        self._terms.append([(attribute, np.array(values, dtype=np.int64)) for attribute, values in terms])
        self._children.append(sorted(children))
        return len(self._bounds) - 1

    def _bits(self, literal: InSet) -> list[int]:
        return [literal.codes >> code & 1 for code in range(self._sizes[literal.attribute])]

    def _require_small(self, bound: int, terms: Sequence[tuple[int, list[int]]], parts: dict[int, int]) -> None:
        total = bound + sum(max(values) for _, values in terms) + sum(parts.values())
        if total >= LARGEST_SUM:
            raise SchemaError(
                "the numbers of a comparison are too large to be added exactly (2**53 in the finest common unit); "
                "round edges, representatives or coefficients to coarser units"
            )
        self._numbers += sum(len(values) for _, values in terms)
        if self._numbers > MOST_NUMBERS:
            raise SchemaError(
                f"more than {MOST_NUMBERS:,} numbers are needed; declare coarser values, or fewer combinations"
            )


class _Splitting:
    """Splits the requirement of one rule into required gates, within bounds that keep the circuit linear in the rule.

    Solvers read "A or B" and "A or C" better than "A or (B and C)"; but where two gates share the "and", as those of a
    nested "exactly if" do, splitting on and on doubles them at each level.
    """

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._gates = MOST_SPLIT
        self._copies = MOST_COPIES

    def required(self, root: int) -> list[int]:
        """Return nodes that must all be true if and only if the root must be."""
        node = self._nodes[root]
        parts = node.parts if isinstance(node, And) else (root,)
        return [one for part in parts for one in self._split(part)]

    def _split(self, root: int) -> list[int]:
        """Return an "or" in which every "and" that is the only one of its "or" is split; itself if that is too much.

        It is not too much where there are at most as many nodes as the different "and" have parts.
        """
        done: list[int] = []
        waiting = [root]
        sizes: dict[int, int] = {}
        copies = 0
        while waiting:
            node = waiting.pop()
            found = self._only_and(node)
            if found is None:
                done += [] if node == TRUE else [node]
                continue
            rest, together, parts = found
            sizes[together] = len(parts)
            copies += len(rest) * len(parts)
            most = max(self._gates, sum(sizes.values()))
            if copies > self._copies or len(done) + len(waiting) + len(parts) > most:
                return [root]
            waiting += [self._nodes.any_of([*rest, part]) for part in reversed(parts)]
        self._copies -= copies
        if len(done) > sum(sizes.values()):
            self._gates -= len(done)
        return done

    def _only_and(self, number: int) -> tuple[list[int], int, tuple[int, ...]] | None:
        """Return the other parts of an "or" with a single "and", that "and" and its parts; None of other nodes."""
        node = self._nodes[number]
        if not isinstance(node, Or):
            return None
        every = [(part, found.parts) for part in node.parts if isinstance(found := self._nodes[part], And)]
        if len(every) != 1:
            return None
        ((together, parts),) = every
        return [part for part in node.parts if part != together], together, parts
