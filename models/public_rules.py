"""Public hard rules for the instances: implications, counts, comparisons and alternatives that bind a population.

A rule is made from a public table: it holds for most of the records, so it cuts off what is rare; the records that break a
rule are then left out of the population.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpopt.public_random import permutation, public_stream
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit, starts

BROKEN = 20  # a count or a comparison is broken by at most one record in so many
Terms = dict[int, NDArray[np.int64]]


@dataclass(slots=True)
class _Gates:
    """The gates of a circuit while it is put together."""

    names: list[str] = field(default_factory=list)
    bounds: list[int] = field(default_factory=list)
    required: list[bool] = field(default_factory=list)
    rule_of: list[int] = field(default_factory=list)
    terms: list[Terms] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)

    def add(self, terms: Terms, bound: int, *, children: tuple[int, ...] = (), required: bool = True) -> int:
        """Add a gate of the rule that is being put together, and return its number."""
        self.bounds.append(bound)
        self.required.append(required)
        self.rule_of.append(len(self.names))
        self.terms.append(dict(sorted(terms.items())))
        self.children.append(list(children))
        return len(self.bounds) - 1

    def circuit(self) -> ThresholdCircuit:
        """Return the circuit."""
        values = [values for terms in self.terms for values in terms.values()]
        children = [child for group in self.children for child in group]
        return ThresholdCircuit(
            tuple(self.names),
            np.array(self.bounds, dtype=np.int64),
            np.array(self.required),
            np.array(self.rule_of, dtype=np.int32),
            starts(np.array([len(terms) for terms in self.terms], dtype=np.int64)),
            np.array([attribute for terms in self.terms for attribute in terms], dtype=np.int32),
            starts(np.array([len(one) for one in values], dtype=np.int64)),
            np.concatenate(values),
            starts(np.array([len(group) for group in self.children], dtype=np.int64)),
            np.array(children, dtype=np.int32),
            np.ones(len(children), dtype=np.int64),
        )


def public_rules(
    sizes: NDArray[np.int32], table: NDArray[np.int64], number: int
) -> tuple[ThresholdCircuit, NDArray[np.bool_]]:
    """Return rules over five public random attributes each, and which records (r, d) of the table obey all of them."""
    gates, stream = _Gates(), public_stream(1, "rules of the catalogue")
    kinds = (_implication, _count, _comparison, _alternatives)
    for place in range(number):
        attributes = permutation(stream, sizes.size)[:5].tolist()
        kinds[place % 4](gates, attributes, table, sizes)
    circuit = gates.circuit()
    broken = circuit.broken(table.astype(np.int32))
    return circuit, np.asarray(np.logical_not(broken.any(axis=1)))


def _frequent(column: NDArray[np.int64], size: int, percent: int) -> NDArray[np.int64]:
    """Return 1 for the most frequent codes, as many as cover this share of the records, and 0 for the others."""
    counts = np.bincount(column, minlength=size)
    order = np.argsort(-counts, kind="stable")
    before = np.cumsum(counts[order]) - counts[order]
    chosen = np.zeros(size, dtype=np.int64)
    chosen[order[100 * before < percent * column.size]] = 1
    return chosen


def _implication(gates: _Gates, attributes: list[int], table: NDArray[np.int64], sizes: NDArray[np.int32]) -> None:
    """If a has one of its rarer codes, then b has one of the codes that go with them."""
    a, b = attributes[:2]
    usual = _frequent(table[:, a], int(sizes[a]), 50)
    rare = usual[table[:, a]] == 0
    then = _frequent(table[rare, b], int(sizes[b]), 95)
    gates.add({a: usual, b: then}, 1)
    gates.names.append(f"a rare code of attribute {a} implies a usual one of {b}")


def _count(gates: _Gates, attributes: list[int], table: NDArray[np.int64], sizes: NDArray[np.int32]) -> None:
    """At least r of five attributes have a frequent code."""
    terms = {a: _frequent(table[:, a], int(sizes[a]), 70) for a in attributes}
    bound = max(1, _low(terms, table))
    gates.add(terms, bound)
    gates.names.append(f"at least {bound} of the attributes {sorted(terms)} have a frequent code")


def _comparison(gates: _Gates, attributes: list[int], table: NDArray[np.int64], sizes: NDArray[np.int32]) -> None:
    """The codes of two attributes less that of a third are not too small."""
    terms = {a: sign * np.arange(int(sizes[a])) for a, sign in zip(attributes[:3], (1, 1, -1), strict=True)}
    bound = _low(terms, table)
    gates.add(terms, bound)
    gates.names.append(
        f"the codes of attributes {attributes[0]} and {attributes[1]}, less that of {attributes[2]}, sum to {bound}"
    )


def _alternatives(gates: _Gates, attributes: list[int], table: NDArray[np.int64], sizes: NDArray[np.int32]) -> None:
    """Two attributes are both as usual, or two others are, or a fifth one is."""
    usual = {a: _frequent(table[:, a], int(sizes[a]), 80) for a in attributes}
    a, b, c, d, e = attributes
    both = tuple(gates.add({x: usual[x], y: usual[y]}, 2, required=False) for x, y in ((a, b), (c, d)))
    gates.add({e: usual[e]}, 1, children=both)
    gates.names.append(f"attributes {a} and {b} are as usual, or {c} and {d}, or {e}")


def _low(terms: Terms, table: NDArray[np.int64]) -> int:
    """Return a bound that one record in `BROKEN` misses at most."""
    sums = np.sort(sum(values[table[:, a]] for a, values in terms.items()))
    return int(sums[sums.size // BROKEN])
