"""All decision lists of tiny families, what they give at points, and what they count, one by one from the definitions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial
from itertools import combinations, pairwise, permutations, product
from math import comb

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.measurements.conjunction_measurement import ListTable
from dpopt.private.tables.list_table import PrivateLists
from dpopt.queries.decision_lists.coefficients import ListCoefficients
from dpopt.queries.decision_lists.families import ListFamily, RowKind
from dpopt.synopses.decision_lists.list_plan import ListPlan
from tests.exact_counts_loss import AMPLE, TinyTables
from tests.tiny_runs import ADD_REMOVE

Row = tuple[tuple[tuple[int, bool], ...], tuple[int, ...]]
"""Literals (variable, whether it is the variable itself), and one bit more than literals."""
Table = tuple[Row, ...]


def family_of(variables: int, length: int, rows: str = "lists", changes: int | None = None) -> ListFamily:
    return ListFamily.of([f"x{v}" for v in range(1, variables + 1)], length, rows, changes)


def rows_of(family: ListFamily) -> list[Row]:
    """Return every row in which no variable stands twice."""
    found = []
    for length in range(family.length + 1):
        for chosen in permutations(range(len(family.variables)), length):
            for signs in product((False, True), repeat=length):
                literals = tuple(zip(chosen, signs, strict=True))
                found += [(literals, bits) for bits in outputs(family, length)]
    return found


def outputs(family: ListFamily, length: int) -> list[tuple[int, ...]]:
    """Return the bits of a row of so many literals."""
    if family.kind is RowKind.DISJUNCTIONS:
        return [(1,) * length + (0,)] if length else [(1,)]
    if family.kind is RowKind.CONJUNCTIONS:
        return [(0,) * length + (1,)] if length else [(0,)]
    every = product((0, 1), repeat=length + 1)
    return [bits for bits in every if sum(a != b for a, b in pairwise(bits)) <= family.changes]


def output_at(row: Row, point: tuple[int, ...]) -> int:
    """Return what a row gives at a point."""
    literals, bits = row
    for (variable, itself), bit in zip(literals, bits, strict=False):
        if (point[variable] == 1) == itself:
            return bit
    return bits[-1]


def points_of(family: ListFamily) -> list[tuple[int, ...]]:
    return list(product((0, 1), repeat=len(family.variables)))


def random_coefficients(
    family: ListFamily, size: int, seed: int, *, bits: int = 2, largest: int = 5
) -> ListCoefficients:
    values = np.random.default_rng(seed).integers(-largest, largest + 1, (family.length + 1,) + (size + 1,) * 2)
    for i, a, b in np.ndindex(values.shape):
        if i == 0 or a + b > min(i, size):
            values[i, a, b] = 0
    return ListCoefficients(family, values.astype(np.int64), bits)


def conjunctions_of(family: ListFamily, size: int) -> list[tuple[tuple[int, bool], ...]]:
    """Return the conjunctions of a size in the order of their numbers."""
    sets = sorted(combinations(range(len(family.variables)), size), key=lambda one: one[::-1])
    signs = [one[::-1] for one in product((False, True), repeat=size)]
    return [tuple(zip(one, two, strict=True)) for one in sets for two in signs]


def counted(coefficients: ListCoefficients, row: Row, size: int) -> list[int]:
    """Return what a row counts in each conjunction of a size: change by change, by the definition."""
    literals, bits = row
    values = coefficients.values.tolist()
    found = []
    for conjunction in conjunctions_of(coefficients.family, size):
        total = bits[0] << coefficients.bits if size == 0 else 0
        for i in range(1, len(bits)):
            stands = dict(literals[:i])
            if all(variable in stands for variable, _ in conjunction):
                a = sum(stands[variable] == itself for variable, itself in conjunction)
                total += (bits[i] - bits[i - 1]) * values[i][a][size - a]
        found.append(total)
    return found


def value_of(coefficients: ListCoefficients, row: Row, point: tuple[int, ...]) -> int:
    """Return x(y) in units as the coefficients have it: b_1 + sum_i d_i q_i(s)."""
    literals, bits = row
    found = bits[0] << coefficients.bits
    for i in range(1, len(bits)):
        true = sum((point[variable] == 1) == itself for variable, itself in literals[:i])
        q = sum(
            int(value) * comb(true, a) * comb(i - true, b) for (a, b), value in np.ndenumerate(coefficients.values[i])
        )
        found += (bits[i] - bits[i - 1]) * q
    return found


def arrays_of(
    family: ListFamily, rows: Iterable[Row]
) -> tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.uint8], NDArray[np.int64]]:
    """Return variables, signs, bits and lengths, what stands after a row's end being the end's bit."""
    listed = list(rows)
    variables = np.zeros((len(listed), family.length), dtype=np.int32)
    positive = np.zeros(variables.shape, dtype=np.bool_)
    bits = np.zeros((len(listed), family.length + 1), dtype=np.uint8)
    for number, (literals, outs) in enumerate(listed):
        for place, (variable, itself) in enumerate(literals):
            variables[number, place], positive[number, place] = variable, itself
        bits[number] = [*outs, *[outs[-1]] * (family.length - len(literals))]
    return variables, positive, bits, np.array([len(one[0]) for one in listed], dtype=np.int64)


def private(family: ListFamily, rows: Iterable[Row]) -> PrivateLists:
    return PrivateLists.from_arrays(family, *arrays_of(family, rows))


def text_of(family: ListFamily, row: Row) -> str:
    """Return a row as a line of a file."""
    names = [("" if itself else "!") + family.variables[variable] for variable, itself in row[0]]
    if family.kind is RowKind.DISJUNCTIONS:
        return " | ".join(names)
    if family.kind is RowKind.CONJUNCTIONS:
        return " & ".join(("" if not itself else "!") + family.variables[variable] for variable, itself in row[0])
    parts = [f"{name}:{bit}" for name, bit in zip(names, row[1], strict=False)]
    return ", ".join([*parts, f"else:{row[1][-1]}"])


# Families and tables that are small enough for exact losses.

FAMILIES: dict[str, ListFamily] = {
    "lists": family_of(2, 2),
    "one change": family_of(2, 2, "lists", 1),
    "disjunctions": family_of(4, 2, "disjunctions"),
    "conjunctions": family_of(4, 2, "conjunctions"),
}


@lru_cache
def coefficients_of(kind: str) -> ListCoefficients:
    """Return small ones, under which a row counts several units in conjunctions of each size."""
    return random_coefficients(FAMILIES[kind], 2, 1, bits=1, largest=2)


def tiny_plan(
    kind: str, relation: NeighbouringRelation, *, gaussian: bool, scales: tuple[float, ...] = (8.0, 8.0, 8.0)
) -> ListPlan:
    """Return a plan within an ample budget."""
    return ListPlan(
        coefficients=coefficients_of(kind),
        relation=relation,
        budget=AMPLE[gaussian],
        gaussian=gaussian,
        sizes=(0, 1, 2),
        scales=scales,
        size=2,
        points=1,
    )


def list_neighbours(family: ListFamily, relation: NeighbouringRelation) -> list[tuple[Table, Table]]:
    """Return a row beside each other one, and each with another one in its place."""
    rows = rows_of(family)
    first = rows[len(rows) // 2]
    if relation is ADD_REMOVE:
        return [((first,), (first, row)) for row in rows]
    return [((first, one), (first, other)) for one, other in combinations(rows, 2)]


def list_tables(kind: str) -> TinyTables:
    """Return rows of a family, held for counts of conjunctions; the largest losses of many are looked at."""
    coefficients = coefficients_of(kind)
    return TinyTables(
        partial(list_neighbours, coefficients.family),
        partial(private, coefficients.family),
        lambda rows: ListTable.of(rows, coefficients),
        most=4,
    )
