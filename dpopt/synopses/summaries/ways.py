"""In which ways a query is a function of how many sets of literals hold, and which noisy counts each way adds up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.queries.conjunctions.literals import ChosenLiterals, Condition, LiteralGroups

MOST_TERMS = 5_000_000
"""Conjunctions that one answer adds up, at most."""

Sets = tuple[tuple[int, ...], ...]
Table = tuple[tuple[Fraction | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Way:
    """A query as a function f(s, u) of how many sets of literals hold, at most one literal of each."""

    counted: Sets
    """k sets whose literals say that a condition holds, or if there is no other kind does not hold. The last `always`
    hold for every record: all values of an attribute."""
    negated: Sets
    """l sets whose literals say that a condition does not hold, if others say that one holds."""
    always: int
    values: Table
    """f(s, u), (k + 1, l + 1), for s of the counted and u of the negated sets; None where that cannot occur."""

    def terms(self, most: int) -> NDArray[np.int64]:
        """Return how many conjunctions take a literal of i of the counted and j of the negated sets, (k + 1, l + 1).

        0 for i + j above `most`, and a number that is too large for 64 bits is the largest that fits.
        """
        one, two = (symmetric([len(each) for each in sets], len(sets)) for sets in (self.counted, self.negated))
        limit = int(np.iinfo(np.int64).max)
        return np.array(
            [[min(limit, p * q) if i + j <= most else 0 for j, q in enumerate(two)] for i, p in enumerate(one)],
            dtype=np.int64,
        )

    def numbers(self, groups: LiteralGroups, i: int, j: int) -> NDArray[np.int64]:
        """Return the numbers of the conjunctions of i of the counted and j of the negated sets, one after another."""
        terms = int(self.terms(i + j)[i, j])
        if terms > MOST_TERMS:
            raise WorkloadError(
                f"the conditions stand for {terms:,} conjunctions of {i + j} values, at most {MOST_TERMS:,}; narrow "
                f"them"
            )
        chosen = [
            _products(tuple(sorted((*some, *others))))
            for some in combinations(self.counted, i)
            for others in combinations(self.negated, j)
        ]
        return groups.numbers(np.concatenate(chosen))

    def sets_of(self, groups: LiteralGroups, size: int) -> Iterator[NDArray[np.int64]]:
        """Yield the numbers of the conjunctions of each set of `size` sets, in the order of their combinations."""
        every = (*self.counted, *self.negated)
        if all(len(one) == 1 for one in every):
            rows = np.sort(np.array(list(combinations([one[0] for one in every], size)), dtype=np.int64), axis=1)
            yield from groups.numbers(rows)[:, None]
            return
        for some in combinations(every, size):
            yield groups.numbers(_products(tuple(sorted(some))))


def ways_of(
    conditions: Sequence[Condition],
    target: Sequence[Fraction],
    literals: ChosenLiterals,
    most: int,
    *,
    fixed_size: bool,
) -> list[Way]:
    """Return the ways to answer a query; the number of conditions that hold decides it, by `target`.

    Conditions are counted as asked as far as possible, or negated as far as possible; each with 0, 1, ... conditions
    more that hold for every record, all values of an attribute with few, so that a query of few literals is answered
    from larger conjunctions where those have less noise.

    Without a `fixed_size`, a public number of records (replace-one), records that are missing from n0 satisfy no
    literal and are to count nothing: f(0, 0) = 0. Where f(0, 0) is 0, or no record has it and 0 is asked for all the
    same, bounds hold for any number of records up to n0. If no way is such, all are returned, and take n0 for the
    number of records.
    """
    found: list[Way] = []
    for as_asked in (True, False):
        counted = [one for one in conditions if _is_counted(one, as_asked=as_asked)]
        negated = [one for one in conditions if not _is_counted(one, as_asked=as_asked)]
        sets = tuple(one.true_by for one in counted if one.true_by is not None)
        others = tuple(one.false_by for one in negated if one.false_by is not None)
        values = tuple(tuple(target[s + len(others) - u] for u in range(len(others) + 1)) for s in range(len(sets) + 1))
        way = Way(sets, others, 0, values)
        if not sets:  # one kind alone, of which the number that holds is counted down
            way = Way(others, (), 0, tuple((value,) for value in reversed(target)))
        if all(way.counted != other.counted for other in found):
            found += [way, *_padded(way, {one.group for one in conditions}, literals, most)]
    if fixed_size:
        return found
    counting_nothing = [
        way if way.values[0][0] is not None else _with_nothing(way) for way in found if not way.values[0][0]
    ]
    return counting_nothing or found


def symmetric(numbers: Sequence[int], most: int) -> list[int]:
    """Return the elementary symmetric polynomials of the numbers, of degrees 0 to `most`."""
    found = [1, *([0] * most)]
    for number in numbers:
        for degree in range(most, 0, -1):
            found[degree] += number * found[degree - 1]
    return found


def _is_counted(condition: Condition, *, as_asked: bool) -> bool:
    if as_asked:
        return condition.true_by is not None
    return condition.false_by is None


def _padded(way: Way, used: set[int], literals: ChosenLiterals, most: int) -> list[Way]:
    groups = literals.groups
    free = [
        group
        for group, size in enumerate(groups.sizes)
        if group not in used and size == literals.schema.attributes[group].size
    ]
    free.sort(key=lambda group: groups.sizes[group])
    found: list[Way] = []
    nowhere: tuple[Fraction | None, ...] = (None,) * (len(way.negated) + 1)
    for group in free[: max(0, most - len(way.counted) - len(way.negated))]:
        first = int(sum(groups.sizes[:group]))
        literal_set = tuple(range(first, first + groups.sizes[group]))
        way = Way((*way.counted, literal_set), way.negated, way.always + 1, (nowhere, *way.values))
        if int(way.terms(most).max()) > MOST_TERMS:
            break
        found.append(way)
    return found


def _with_nothing(way: Way) -> Way:
    first = (Fraction(0), *way.values[0][1:])
    return Way(way.counted, way.negated, way.always, (first, *way.values[1:]))


def _products(sets: Sets) -> NDArray[np.int64]:
    """Return all conjunctions that take one literal of each set, (q, size)."""
    return np.stack(np.meshgrid(*sets, indexing="ij"), axis=-1).reshape(-1, len(sets)).astype(np.int64)
