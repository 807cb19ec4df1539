"""Rows that follow from "one code per attribute" for clauses that have a literal in common: BR-10 to BR-12.

Page: models/best_response. In terms of what the weights reward (`RewardedClauses`; u_j = c_j or 1 - c_j):

    BR-10   conjunctions that share a literal and need different codes of an attribute:   sum of u_j <= lit
    BR-11   conjunction p that makes all literals of disjunction q but one false:         u_q + u_p <= 1 + that lit
    BR-12   disjunctions that share a literal, each with "b != v" for another v:          sum of u_q <= sum of their literals

BR-10 dominates BR-3 and BR-5 for every clause that stands in such a row; the other two are added to BR-4 and BR-6.

Of the clauses of BR-10 at most one can be true (`exclusive_clauses`). They are found by sorting, and arranged so that
no row is longer than it must be and every clause that has such a companion stands in some row.

Literals are numbers so that clauses can be sorted (`literal_keys`). In the rows of this module and of
`pairwise_lifting` a literal is a key: 2 * column + 1 for "a = v", 2 * column for "a != v", where column is that of x[a,
v]. Over an attribute with two codes "a != v" is written as "a = the other code", which is the same number by BR-2.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dpopt.models.best_responses.rewarded_clauses import RewardedClauses
from dpopt.programs.building import Flags, Indices, Numbers, RowBlock
from dpopt.programs.max_csp import MaxCsp

REPEATS = 4
"""Most rows of one literal and one attribute that contain a clause. A clause is repeated only if another code of the
attribute has more clauses; each repetition makes such a row tighter."""


@dataclass(frozen=True, slots=True, eq=False)
class ExclusiveClauses:
    """Rows of clauses; within a row all have one literal in common, and each needs another code of some attribute."""

    literal: Indices
    """Shape (r,). Key of the literal that the clauses of each row have in common."""
    row: Indices
    clause: Indices
    place: Indices
    """Shape (e,). Entries, by row: the row, the clause, and the place of the common literal in the clause."""


def exclusive_clauses(keys: Indices, chosen: Flags, weights: Numbers, attribute_of_column: Indices) -> ExclusiveClauses:
    """Return rows of two or more clauses each; the heaviest clauses of each code stand together.

    `keys` (m, k) are those of the literals of conjunctions (`literal_keys`), -1 in padding, `chosen` (m,) the clauses
    to arrange, `weights` (m,) what each is worth, `attribute_of_column` (columns,) the attribute of each flat column.
    """
    m, k = keys.shape
    columns = attribute_of_column.size
    rank = np.empty(m, dtype=np.int64)
    by_weight = np.argsort(-weights, kind="stable")
    rank[by_weight] = np.arange(m)
    if m * k * columns * columns >= 2**61:
        return _NONE
    # One number for (common literal, column of the needed code, rank, place of the literal), so that one sort does.
    found = [np.zeros(0, dtype=np.int64)]
    for common in range(k):
        for needed in range(k):
            if common != needed:
                at = np.flatnonzero(
                    chosen & (keys[:, common] >= 0) & (keys[:, needed] % 2 == 1) & (keys[:, needed] >= 0)
                )
                cell = keys[at, common] * columns + keys[at, needed] // 2
                found.append((cell * m + rank[at]) * k + common)
    packed = np.sort(np.concatenate(found))
    place, cell, clause = packed % k, packed // (m * k), by_weight[packed // k % m]
    return _arranged(cell, clause, place, columns, attribute_of_column)


_NONE = ExclusiveClauses(*(np.zeros(0, dtype=np.int64) for _ in range(4)))


def _arranged(
    cell_of: Indices, clause: Indices, place: Indices, columns: int, attribute_of_column: Indices
) -> ExclusiveClauses:
    """Arrange clauses that are sorted by cell (literal, code): row i of a group has the i-th clause of every code."""
    if cell_of.size == 0:
        return _NONE
    starts = np.flatnonzero(np.diff(cell_of, prepend=-1))
    sizes = np.diff(starts, append=cell_of.size)
    cell = cell_of[starts]
    literal, attribute = cell // columns, attribute_of_column[cell % columns]
    new = np.concatenate(
        (np.ones(1, dtype=np.bool_), (literal[1:] != literal[:-1]) | (attribute[1:] != attribute[:-1]))
    )
    group = np.cumsum(new) - 1
    heights = np.maximum.reduceat(sizes, np.flatnonzero(new))  # rows of the group
    first_row = np.cumsum(heights) - heights
    length = np.minimum(heights[group], REPEATS * sizes)
    step = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    entry = np.repeat(starts, length) + step % np.repeat(sizes, length)
    row = np.repeat(first_row[group], length) + step
    return _without_repetitions(np.repeat(literal[new], heights), row, clause[entry], place[entry])


def _without_repetitions(literal: Indices, row: Indices, clause: Indices, place: Indices) -> ExclusiveClauses:
    """Drop rows of one clause, and rows that repeat another (found through two attributes)."""
    counts = np.bincount(row, minlength=literal.size)
    # A sum of whole numbers below 2**53 that nearly tells sets apart: two rows that it confuses cost one of them.
    mark = (np.arange(int(clause.max(initial=0)) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(28)
    marks = np.bincount(row, weights=mark[clause].astype(np.float64), minlength=literal.size)
    order = np.lexsort((marks, literal))
    again = np.zeros(literal.size, dtype=np.bool_)
    again[order[1:]] = (np.diff(literal[order]) == 0) & (np.diff(marks[order]) == 0)
    kept = (counts > 1) & ~again
    number = np.cumsum(kept) - 1
    entries = np.flatnonzero(kept[row])
    entries = entries[np.argsort(row[entries], kind="stable")]
    return ExclusiveClauses(literal[kept], number[row[entries]], clause[entries], place[entries])


@dataclass(frozen=True, slots=True, eq=False)
class LiteralKeys:
    """Keys of the literals of some clauses, and of their complements."""

    keys: Indices
    """Shape (m, k). Key of each literal as the weight rewards it; -1 beyond a clause's width."""
    complements: Indices
    """Shape (m, k). Key of the complement of each literal; -1 beyond a clause's width."""
    attribute_of_column: Indices
    """Shape (columns,). Attribute of each flat column."""


def literal_keys(program: MaxCsp, rewarded: RewardedClauses, widest: int) -> LiteralKeys:
    """Return the keys of the literals that the weights of a program reward, the first `widest` of each clause."""
    attribute = np.repeat(np.arange(program.sizes.size, dtype=np.int64), program.sizes)
    offsets = program.offsets()
    columns, sides = rewarded.columns[:, :widest], rewarded.sides[:, :widest]
    used, equal = sides != 0, sides > 0
    of = attribute[columns] if attribute.size else columns
    two = used & (program.sizes[of] == 2 if attribute.size else used)
    other = 2 * offsets[of] + 1 - columns
    keys = np.where(two, 2 * np.where(equal, columns, other) + 1, 2 * columns + equal)
    complements = np.where(two, 2 * np.where(equal, other, columns) + 1, 2 * columns + ~equal)
    return LiteralKeys(np.where(used, keys, -1), np.where(used, complements, -1), attribute)


def as_terms(keys: Indices) -> tuple[Indices, Numbers, Numbers]:
    """Return column, side and constant of literals given as keys: constant + side * x[column], arrays of their shape."""
    equal = keys % 2 == 1
    return keys // 2, np.where(equal, 1.0, -1.0), (~equal).astype(np.float64)


WIDEST = 8
"""Clauses with more literals keep their rows of BR-3 to BR-6: the number of pairs of literals grows with the square."""
MOST_PARTNERS = 4
"""Most conjunctions that a disjunction is paired with for each of its literals, the heaviest."""


def clique_rows(program: MaxCsp, rewarded: RewardedClauses, first_clause: int) -> tuple[list[RowBlock], Flags]:
    """Return the rows, and which conjunctions need no others, (m,); `first_clause` is the column of c_0."""
    literals = literal_keys(program, rewarded, WIDEST)
    narrow = (rewarded.widths > 1) & (rewarded.widths <= WIDEST)
    conjunctions, disjunctions = rewarded.conjunctions() & narrow, rewarded.disjunctions() & narrow
    blocks = [
        _cliques(rewarded, literals, conjunctions, first_clause),
        _partners(rewarded, literals, conjunctions, disjunctions, first_clause),
        _joint_disjunctions(rewarded, literals, disjunctions, first_clause),
    ]
    return blocks, conjunctions


def _cliques(rewarded: RewardedClauses, literals: LiteralKeys, conjunctions: Flags, first_clause: int) -> RowBlock:
    """Return BR-10, and BR-3 or BR-5 for the literals of conjunctions that no row of BR-10 holds."""
    found = exclusive_clauses(literals.keys, conjunctions, rewarded.weights, literals.attribute_of_column)
    alone = conjunctions[:, None] & (literals.keys >= 0)
    alone[found.clause, found.place] = False
    clause, place = np.nonzero(alone)
    literal = np.concatenate((found.literal, literals.keys[clause, place]))
    row = np.concatenate((found.row, found.literal.size + np.arange(clause.size)))
    return _bounded(
        rewarded, row, np.concatenate((found.clause, clause)), np.arange(literal.size), literal, first_clause
    )


def _partners(
    rewarded: RewardedClauses, literals: LiteralKeys, conjunctions: Flags, disjunctions: Flags, first_clause: int
) -> RowBlock:
    """Return BR-11: for each disjunction q and literal of it, conjunctions with the complements of all its other literals."""
    base = 2 * literals.attribute_of_column.size
    conjunction, disjunction, omitted = [_EMPTY], [_EMPTY], [_EMPTY]
    for width in np.unique(rewarded.widths[disjunctions]).tolist():
        if width < 3 or base ** (width - 1) >= 2**62:
            continue  # with one common literal the row follows from BR-3 and BR-6
        falsified, asking, left_out = _sets(
            literals.complements, disjunctions & (rewarded.widths == width), width - 1, base
        )
        needed, offering, _ = _sets(literals.keys, conjunctions & (rewarded.widths >= width - 1), width - 1, base)
        order = np.lexsort((-rewarded.weights[offering], needed))
        needed, offering = needed[order], offering[order]
        low = np.searchsorted(needed, falsified, side="left")
        number = np.minimum(np.searchsorted(needed, falsified, side="right") - low, MOST_PARTNERS)
        step = np.arange(int(number.sum())) - np.repeat(np.cumsum(number) - number, number)
        conjunction.append(offering[np.repeat(low, number) + step])
        disjunction.append(np.repeat(asking, number))
        omitted.append(np.repeat(literals.keys[asking, left_out], number))
    p, q, literal = (np.concatenate(parts) for parts in (conjunction, disjunction, omitted))
    rows = np.arange(p.size)
    return _bounded(
        rewarded,
        np.concatenate((rows, rows)),
        np.concatenate((p, q)),
        rows,
        literal,
        first_clause,
        more=np.ones(p.size),
    )


_EMPTY = np.zeros(0, dtype=np.int64)


def _sets(keys: Indices, chosen: Flags, size: int, base: int) -> tuple[Indices, Indices, Indices]:
    """Return each set of `size` literals of the chosen clauses as one number, its clause, and the first place left out."""
    clauses = np.flatnonzero(chosen)
    ordered = np.sort(keys[clauses], axis=1)  # padding first
    places = np.argsort(keys[clauses], axis=1, kind="stable")
    numbers, owners, left_out = [_EMPTY], [_EMPTY], [_EMPTY]
    for picked in combinations(range(keys.shape[1]), size):
        full = ordered[:, picked[0]] >= 0
        number = np.zeros(int(full.sum()), dtype=np.int64)
        for place in picked:
            number = number * base + ordered[full, place]
        # In a clause of size + 1 literals one is left out; elsewhere nobody asks.
        rest = next((place for place in reversed(range(keys.shape[1])) if place not in picked), 0)
        numbers.append(number)
        owners.append(clauses[full])
        left_out.append(places[full, rest])
    return np.concatenate(numbers), np.concatenate(owners), np.concatenate(left_out)


def _joint_disjunctions(
    rewarded: RewardedClauses, literals: LiteralKeys, disjunctions: Flags, first_clause: int
) -> RowBlock:
    """Return BR-12: the complements of the literals of these disjunctions are conjunctions that exclude each other."""
    found = exclusive_clauses(literals.complements, disjunctions, rewarded.weights, literals.attribute_of_column)
    keys = literals.keys[found.clause]
    used = keys >= 0
    size = 2 * literals.attribute_of_column.size
    distinct = np.unique((found.row[:, None] * size + keys)[used])  # a literal that several have counts once
    return _bounded(rewarded, found.row, found.clause, distinct // max(size, 1), distinct % max(size, 1), first_clause)


def _bounded(
    rewarded: RewardedClauses,
    row: Indices,
    clause: Indices,
    literal_row: Indices,
    literal: Indices,
    first_clause: int,
    *,
    more: Numbers | None = None,
) -> RowBlock:
    """Return the rows  sum of u over the clauses of a row <= sum of its literals (keys) + more."""
    number = int(max(row.max(initial=-1), literal_row.max(initial=-1))) + 1
    column, side, constant = as_terms(literal)
    sign = rewarded.signs[clause]
    upper = np.zeros(number) if more is None else more.copy()
    np.add.at(upper, literal_row, constant)
    np.subtract.at(upper, row[sign < 0], 1.0)  # u = 1 - c
    return RowBlock(
        np.concatenate((row, literal_row)),
        np.concatenate((first_clause + clause, column)),
        np.concatenate((sign, -side)),
        np.full(number, -np.inf),
        upper,
    )
