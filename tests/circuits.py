"""Rules built by hand: small circuits, random ones, and what they say in plain Python."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.programs import MaxCsp
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit, starts

Sizes = Sequence[int]


@dataclass(frozen=True)
class Amount:
    """A number for each code of one attribute; a literal has the numbers 0 and 1."""

    attribute: int
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Gate:
    """True if the amounts, and 1 for each true gate among the parts, add up to the bound."""

    bound: int
    parts: tuple[Amount | Gate, ...]


Part = Amount | Gate


def among(attribute: int, codes: Iterable[int], sizes: Sizes) -> Amount:
    """Return the literal "attribute is one of these codes"."""
    chosen = set(codes)
    return Amount(attribute, tuple(int(code in chosen) for code in range(sizes[attribute])))


def outside(attribute: int, codes: Iterable[int], sizes: Sizes) -> Amount:
    """Return the literal "attribute is none of these codes"."""
    return among(attribute, set(range(sizes[attribute])) - set(codes), sizes)


def every(*parts: Part) -> Gate:
    return Gate(len(parts), parts)


def some(*parts: Part) -> Gate:
    return Gate(1, parts)


def at_most(most: int, amounts: Iterable[Amount]) -> Gate:
    return Gate(-most, tuple(Amount(one.attribute, tuple(-x for x in one.numbers)) for one in amounts))


def exactly_when(left: tuple[int, Iterable[int]], right: tuple[int, Iterable[int]], sizes: Sizes) -> list[Gate]:
    """Return the gates of "(attribute, codes) exactly when (attribute, codes)"."""
    (a, left_codes), (b, right_codes) = (left[0], set(left[1])), (right[0], set(right[1]))
    return [
        some(outside(a, left_codes, sizes), among(b, right_codes, sizes)),
        some(among(a, left_codes, sizes), outside(b, right_codes, sizes)),
    ]


def determines(a: int, b: int, table: Mapping[int, int], sizes: Sizes) -> list[Gate]:
    """Return the gates of "the code of a determines that of b", one for each code of a."""
    return [some(outside(a, [v], sizes), among(b, [w], sizes)) for v, w in table.items()]


def circuit_of(rules: Mapping[str, Sequence[Gate]]) -> ThresholdCircuit:
    """Return the circuit in which all gates of every rule are required."""
    if not rules:
        return NO_RULES
    rows: list[tuple[int, int, bool, list[tuple[int, NDArray[np.int64]]], dict[int, int]]] = []

    def add(gate: Gate, rule: int, required: bool) -> int:
        terms: dict[int, NDArray[np.int64]] = {}
        children: dict[int, int] = {}
        for part in gate.parts:
            if isinstance(part, Gate):
                children[add(part, rule, False)] = 1
            else:
                numbers = np.array(part.numbers, dtype=np.int64)
                terms[part.attribute] = terms.get(part.attribute, 0) + numbers
        rows.append((gate.bound, rule, required, sorted(terms.items()), children))
        return len(rows) - 1

    for number, gates in enumerate(rules.values()):
        for gate in gates:
            add(gate, number, True)
    values = [numbers for row in rows for _, numbers in row[3]]
    return ThresholdCircuit(
        tuple(rules),
        np.array([row[0] for row in rows]),
        np.array([row[2] for row in rows]),
        np.array([row[1] for row in rows]),
        starts(np.array([len(row[3]) for row in rows])),
        np.array([attribute for row in rows for attribute, _ in row[3]], dtype=np.int32),
        starts(np.array([numbers.size for numbers in values], dtype=np.int64)),
        np.concatenate([*values, np.zeros(0, dtype=np.int64)]),
        starts(np.array([len(row[4]) for row in rows])),
        np.array([child for row in rows for child in row[4]], dtype=np.int32),
        np.array([one for row in rows for one in row[4].values()], dtype=np.int64),
    )


def naive_truth(gate: Gate, record: NDArray[np.int32]) -> bool:
    """Return whether a gate is true of a record, in plain Python."""
    total = 0
    for part in gate.parts:
        if isinstance(part, Gate):
            total += naive_truth(part, record)
        else:
            total += part.numbers[int(record[part.attribute])]
    return total >= gate.bound


@st.composite
def amounts(draw: st.DrawFn, sizes: Sizes) -> Amount:
    """Draw a literal, or numbers of either sign."""
    attribute = draw(st.integers(0, len(sizes) - 1))
    least, most = draw(st.sampled_from([(0, 1), (0, 1), (-1, 0), (-3, 5)]))
    numbers = draw(st.lists(st.integers(least, most), min_size=sizes[attribute], max_size=sizes[attribute]))
    return Amount(attribute, tuple(numbers))


def gates(sizes: Sizes) -> st.SearchStrategy[Gate]:
    """Draw nested gates."""
    leaves: st.SearchStrategy[Part] = amounts(sizes)
    return st.recursive(
        st.lists(leaves, min_size=1, max_size=4).flatmap(_gate),
        lambda inner: st.lists(st.one_of(leaves, inner), min_size=1, max_size=4).flatmap(_gate),
        max_leaves=4,
    )


def _gate(parts: list[Part]) -> st.SearchStrategy[Gate]:
    return st.integers(-1, len(parts) + 1).map(lambda bound: Gate(bound, tuple(parts)))


def circuits(sizes: Sizes, most: int = 3) -> st.SearchStrategy[ThresholdCircuit]:
    """Draw circuits of up to `most` rules; some of them no record obeys."""
    return st.lists(st.lists(gates(sizes), min_size=1, max_size=3), max_size=most).map(
        lambda rules: circuit_of({f"rule {number}": rule for number, rule in enumerate(rules)})
    )


def every_record(sizes: Iterable[int]) -> NDArray[np.int32]:
    """Return all records over these sizes, one per row."""
    rows = list(itertools.product(*(range(int(size)) for size in sizes)))
    return np.array(rows, dtype=np.int32).reshape(len(rows), -1)


def feasible_records(program: MaxCsp) -> Iterator[NDArray[np.int32]]:
    """Yield the records that obey every rule of the program."""
    records = every_record(program.sizes.tolist())
    yield from records[~program.rules.broken(records).any(axis=1)]


def best_feasible_value(program: MaxCsp) -> int | None:
    """Return the optimum by enumeration; None if no record obeys the rules."""
    return max(map(program.objective, feasible_records(program)), default=None)
